//! Checks on emulated ranks: the tool information interface from inside; `ps`, `why`, `inspect` and evidence
//! files from outside.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::paths;
use mpiscope_testkit::run::{apart, bounded, end};
use serde_json::Value;

use super::emulated::Subject;

const LIMIT: Duration = Duration::from_secs(120);

/// A check and its name.
type Question = (&'static str, fn(&Subject<'_>) -> Result<()>);

pub const ALL: [Question; 2] = [
    ("the tool information interface has its variables and events", tool_interface),
    ("a hanging job is read from outside, and from a file on the other architecture", hanging),
];

/// MPI_T programs that check themselves.
const TOOLS: [&str; 5] = ["pvar_info", "cvars", "categories", "event_types", "strings"];

fn tool_interface(subject: &Subject<'_>) -> Result<()> {
    for name in TOOLS {
        let source = paths::programs().join("mpi_t").join(format!("{name}.c"));
        let program = subject.build(&source)?;
        let out = tempfile::tempdir()?;
        let outcome = bounded(&mut subject.under(2, &program, out.path()), LIMIT)?;
        ensure!(outcome.success(), "{name}: {}", outcome.describe());
    }
    Ok(())
}

fn hanging(subject: &Subject<'_>) -> Result<()> {
    let program = subject.build(&paths::workspace().join("examples/ring.c"))?;
    let work = tempfile::tempdir()?;
    let mut job = subject.under(2, &program, &work.path().join("out"));
    apart(&mut job, work.path());
    let mut job = job.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let asked = ask(subject, &mut job, work.path());
    end(&mut job)?;
    asked
}

fn ask(subject: &Subject<'_>, job: &mut Child, work: &Path) -> Result<()> {
    let name = waiting(subject, job)?;
    let verdict = json(subject.mpiscope(), &["why", "--json", &name])?;
    ensure!(verdict["kind"] == "deadlock", "{verdict}");
    let world = json(subject.mpiscope(), &["inspect", "--json", &name, "--handle", "MPI_COMM_WORLD"])?;
    ensure!(world["ranks"][1]["objects"][0]["size"] == 2, "{world}");
    let file = work.join("job.mpiscope");
    let file = file.to_str().context("the path is not UTF-8")?;
    let saved = bounded(subject.mpiscope().args(["save", &name, file]), LIMIT)?;
    ensure!(saved.code() <= 1, "{}", saved.describe());
    // The same file, read by the command for AArch64.
    let there = json(subject.command(), &["why", "--json", file])?;
    ensure!(there["verdict"] == verdict["verdict"], "{verdict}\n{there}");
    let ps = json(subject.command(), &["ps", "--json", file])?;
    ensure!(ps["ranks"][0]["threads"][0]["call"]["function"] == "MPI_Recv", "{ps}");
    Ok(())
}

/// Waits until both ranks are in a receive and returns the job's name.
fn waiting(subject: &Subject<'_>, job: &mut Child) -> Result<String> {
    let deadline = Instant::now() + LIMIT;
    let begin = format!("{}-", job.id());
    while Instant::now() < deadline {
        ensure!(job.try_wait()?.is_none(), "the job has ended");
        if let Ok(ps) = json(subject.mpiscope(), &["ps", "--json", "--here", &begin]) {
            let ranks = ps["ranks"].as_array().map(Vec::as_slice).unwrap_or_default();
            let waits = |rank: &Value| rank["threads"][0]["call"]["function"] == "MPI_Recv";
            if ranks.len() == 2 && ranks.iter().all(waits) {
                return Ok(ps["job"].as_str().context("the job has no name")?.to_owned());
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the ranks did not reach their receives within {} s", LIMIT.as_secs())
}

fn json(mut command: Command, words: &[&str]) -> Result<Value> {
    let outcome = bounded(command.args(words), LIMIT)?;
    ensure!(outcome.code() <= 1, "{}", outcome.describe());
    Ok(serde_json::from_str(&outcome.stdout)?)
}
