//! Calls that start a message: their number is exact, and their time, whether estimated or measured for each,
//! is no more than what the program itself measures. All sums agree.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::report::{self, Report};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, run};
use serde_json::Value;

use crate::subject::LIMIT;
use crate::tool::build;

/// Number of starts by rank 0 from each of the two places.
const CALLS: u64 = 32_000;

pub fn trials(library: &Arc<Library>) -> Vec<Trial> {
    let name = format!("{}::the_time_of_many_short_starts_is_estimated_and_all_sums_agree", library.name);
    let library = Arc::clone(library);
    vec![checked(name, move || sampled(&library))]
}

fn sampled(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let binary = dir.path().join("starts");
    build(library, &paths::programs().join("starts.c"), &binary, &["-O1"])?;
    let mpiscope = paths::mpiscope().context("no mpiscope command")?;
    for each in [false, true] {
        let out = dir.path().join(format!("out.{each}"));
        let mut command = Command::new(&mpiscope);
        command.args(["run", "--quiet", "--out"]).arg(&out);
        library.set_environment(&mut command);
        if each {
            command.env("MPISCOPE_RECORD_STARTS", "1");
        }
        command.arg(&library.mpirun).args(library.launch_arguments(2)).arg(&binary);
        command.arg((CALLS / 16).to_string());
        let outcome = run::bounded(&mut command, LIMIT)?;
        ensure!(outcome.success(), "{}", outcome.describe());
        let text = std::fs::read_to_string(out.join("report.json"))?;
        let sums: Report = serde_json::from_str(&text)?;
        let wrong = report::misplaced(&sums);
        ensure!(wrong.is_empty(), "{wrong:?}");
        let report: Value = serde_json::from_str(&text)?;
        for (function, word) in [("MPI_Isend", "isends"), ("MPI_Irecv", "irecvs")] {
            let printed = printed(&outcome.stdout, word).context(outcome.describe())?;
            agree(&report, function, printed, each)
                .with_context(|| format!("{function}, each timed: {each}"))?;
        }
        let few = total(&report, "MPI_Issend")?;
        ensure!(few["estimated"] == 0, "few calls must each be timed: {few}");
    }
    Ok(())
}

/// The number of calls made by rank 0, and the seconds around them.
fn printed(stdout: &str, word: &str) -> Option<(u64, f64)> {
    let line = stdout.lines().find_map(|line| line.strip_prefix(word))?;
    let (calls, seconds) = line.trim().split_once(' ')?;
    Some((calls.parse().ok()?, seconds.parse().ok()?))
}

fn total<'a>(report: &'a Value, function: &str) -> Result<&'a Value> {
    let functions = report["functions"].as_array().context("no functions")?;
    let found = functions.iter().find(|of| of["name"] == function).context("the function is missing")?;
    Ok(&found["total"])
}

fn agree(report: &Value, function: &str, (calls, seconds): (u64, f64), each: bool) -> Result<()> {
    let all = total(report, function)?;
    ensure!(all["count"] == 2 * calls, "{all}");
    let ranks = report["ranks"].as_array().context("no ranks")?;
    let first = ranks.iter().find(|rank| rank["rank"] == 0).context("no rank 0")?;
    let own = &first["calls"][function];
    let estimated = own["estimated"].as_u64().context("no number of estimates")?;
    // The number depends on the duration of the calls: if they are long, none is estimated.
    ensure!(estimated <= calls && (!each || estimated == 0), "{own}");
    let time = own["time_s"].as_f64().context("no time")?;
    ensure!(time > 0.0 && time <= 1.5 * seconds + 0.001, "{own}, the program measured {seconds}");
    let short = time / (calls as f64) < 0.3e-6;
    ensure!(each || !short || estimated > calls / 8, "all short calls were timed: {own}");
    Ok(())
}
