//! The Intel MPI Benchmarks, as a third-party program: they run to the end, measure similar numbers, and are
//! counted exactly.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run};

use crate::subject::{Form, LIMIT, Subject, word};
use crate::tool;

const RANKS: usize = 2;
/// The layer adds nanoseconds to microseconds. If the median row of a benchmark takes this many times as
/// long, something else is wrong.
const RANGE: f64 = 3.0;
/// With two ranks that wait for each other on a shared machine, the median row of a single run may be
/// anything.
const TRIES: usize = 3;
const BENCHMARKS: [&str; 4] = ["PingPong", "Sendrecv", "Allreduce", "Alltoall"];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    if library.imb("IMB-MPI1").is_none() {
        return Vec::new();
    }
    let make = |benchmark: &'static str| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::imb_{}_runs_to_the_end", library.name, benchmark.to_lowercase()), move || {
            check(&subject, &library, benchmark)
        })
    };
    let mut trials: Vec<Trial> = BENCHMARKS.into_iter().map(make).collect();
    for ranks in [2, 5] {
        let library = Arc::clone(library);
        trials.push(checked(
            format!("{}::imb_{ranks}_ranks_are_counted_as_a_tool_counts_them", library.name),
            move || counted(&library, ranks),
        ));
    }
    trials
}

/// Benchmarks of all kinds of calls with a tool that keeps its own ledger and compares our variables with it.
fn counted(library: &Library, ranks: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let source = paths::programs().join("mpi_t/ledger_tool.c");
    let ledger = tool::shared(library, &source, dir.path())?;
    let mut command = library.launch(ranks);
    command.env("LD_LIBRARY_PATH", library.lib_dir()).arg("env");
    command.arg(format!("LD_PRELOAD={}:{}", ledger.display(), tool::layer()?.display()));
    command.arg(library.imb("IMB-MPI1").context("IMB-MPI1 is missing")?);
    command.args(["PingPong", "Sendrecv", "Exchange", "Bcast", "Allreduce", "Alltoall"]);
    command.args(["-iter", "50", "-msglog", "0:10", "-time", "1"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let ledgers: Vec<&str> =
        outcome.stdout.lines().filter(|line| line.starts_with("ledger of rank")).collect();
    ensure!(ledgers.len() == ranks, "{} ledgers of {ranks} ranks\n{}", ledgers.len(), outcome.describe());
    for line in ledgers {
        ensure!(line.ends_with(" 0 differences"), "{}", outcome.describe());
        ensure!(!line.contains(" 0 messages"), "no messages: {line}");
    }
    Ok(())
}

fn check(subject: &Subject, library: &Library, benchmark: &str) -> Result<()> {
    let binary = library.imb("IMB-MPI1").context("IMB-MPI1 is missing")?;
    let mut words = vec![word(&binary), benchmark.into()];
    words.extend(["-iter", "200", "-msglog", "0:12", "-time", "2"].map(OsString::from));
    let adjust = |command: &mut Command| {
        command.env("LD_LIBRARY_PATH", library.lib_dir());
    };
    let mut ratios = Vec::new();
    for _ in 0..TRIES {
        let bare = subject.launch(library, RANKS, Form::Bare, &words, &adjust)?;
        ensure!(bare.outcome.success(), "the bare benchmark failed: {}", bare.outcome.describe());
        let seen = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
        ensure!(seen.outcome.success(), "failed under the layer: {}", seen.outcome.describe());
        let report = report::read(&seen.out())?;
        ensure!(report.ranks.len() == RANKS, "{} ranks in the report", report.ranks.len());
        let ratio = middle_ratio(&rows(&bare.outcome.stdout), &rows(&seen.outcome.stdout))?;
        if ratio <= RANGE {
            return Ok(());
        }
        ratios.push(ratio);
    }
    bail!("the middle row took {ratios:.1?} times as long under the layer")
}

/// The median ratio of the rows' times of the second table to the first.
fn middle_ratio(bare: &[(u64, f64)], seen: &[(u64, f64)]) -> Result<f64> {
    ensure!(!bare.is_empty(), "no table in the output of the bare benchmark");
    let sizes = |rows: &[(u64, f64)]| rows.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>();
    ensure!(sizes(bare) == sizes(seen), "rows of {:?} bytes became {:?}", sizes(bare), sizes(seen));
    // An empty row is rounded to zero.
    let mut ratios: Vec<f64> = bare.iter().zip(seen).map(|((_, a), (_, b))| b / a.max(0.01)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().context("no row")
}

/// Bytes and the first time column of each row of the table.
fn rows(text: &str) -> Vec<(u64, f64)> {
    text.lines()
        .filter_map(|line| {
            let mut cells = line.split_whitespace();
            let bytes = cells.next()?.parse().ok()?;
            let _repetitions: u64 = cells.next()?.parse().ok()?;
            Some((bytes, cells.next()?.parse().ok()?))
        })
        .collect()
}
