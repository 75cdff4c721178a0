//! The Intel MPI Benchmarks, a program of somebody else: they run to the end, measure the same kind of numbers, and are
//! counted exactly.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::{paths, report, run};

use crate::subject::{Form, LIMIT, Subject, word};
use crate::tool;

const RANKS: usize = 2;
/// The layer adds nanoseconds to microseconds, but the machine may be shared: a figure this many times as long is
/// another thing.
const RANGE: f64 = 20.0;
const BENCHMARKS: [&str; 4] = ["PingPong", "Sendrecv", "Allreduce", "Alltoall"];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    if library.imb("IMB-MPI1").is_none() {
        return Vec::new();
    }
    let make = |benchmark: &'static str| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        Trial::test(
            format!("{}::imb_{}_runs_to_the_end", library.name, benchmark.to_lowercase()),
            move || check(&subject, &library, benchmark).map_err(|error| format!("{error:#}").into()),
        )
    };
    let mut trials: Vec<Trial> = BENCHMARKS.into_iter().map(make).collect();
    for ranks in [2, 5] {
        let library = Arc::clone(library);
        trials.push(Trial::test(
            format!("{}::imb_{ranks}_ranks_are_counted_as_a_tool_counts_them", library.name),
            move || counted(&library, ranks).map_err(|error| format!("{error:#}").into()),
        ));
    }
    trials
}

/// Benchmarks of all kinds of calls under a tool that keeps its own ledger and compares our variables with it.
fn counted(library: &Library, ranks: usize) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let source = paths::programs().join("mpi_t/ledger_tool.c");
    let ledger = tool::shared(library, &source, dir.path())?;
    let mut command = library.launch(ranks);
    command.env("LD_LIBRARY_PATH", library.lib_dir()).arg("env");
    command.arg(format!("LD_PRELOAD={}:{}", ledger.display(), tool::layer()?.display()));
    command.arg(library.imb("IMB-MPI1").context("IMB-MPI1 has gone")?);
    command.args(["PingPong", "Sendrecv", "Exchange", "Bcast", "Allreduce", "Alltoall"]);
    command.args(["-iter", "50", "-msglog", "0:10", "-time", "1"]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    let ledgers: Vec<&str> =
        outcome.stdout.lines().filter(|line| line.starts_with("ledger of rank")).collect();
    ensure!(ledgers.len() == ranks, "{} ledgers of {ranks} ranks\n{}", ledgers.len(), outcome.describe());
    for line in ledgers {
        ensure!(line.ends_with(" 0 differences"), "{}", outcome.describe());
        ensure!(!line.contains(" 0 messages"), "nothing was exchanged: {line}");
    }
    Ok(())
}

fn check(subject: &Subject, library: &Library, benchmark: &str) -> Result<()> {
    let binary = library.imb("IMB-MPI1").context("IMB-MPI1 has gone")?;
    let mut words = vec![word(&binary), benchmark.into()];
    words.extend(["-iter", "200", "-msglog", "0:12", "-time", "2"].map(OsString::from));
    let adjust = |command: &mut Command| {
        command.env("LD_LIBRARY_PATH", library.lib_dir());
    };
    let bare = subject.launch(library, RANKS, Form::Bare, &words, &adjust)?;
    ensure!(bare.outcome.success(), "the bare benchmark fails: {}", bare.outcome.describe());
    let seen = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
    ensure!(seen.outcome.success(), "fails under the layer: {}", seen.outcome.describe());
    let (without, with) = (rows(&bare.outcome.stdout), rows(&seen.outcome.stdout));
    ensure!(!without.is_empty(), "no table in the output of the bare benchmark: {}", bare.outcome.describe());
    ensure!(without.len() == with.len(), "{} rows became {}", without.len(), with.len());
    for ((bytes, bare), (same, seen)) in without.iter().zip(&with) {
        ensure!(bytes == same, "the row of {bytes} bytes became one of {same}");
        ensure!(*seen <= bare * RANGE + 20.0, "{bytes} bytes took {bare} µs, and {seen} µs under the layer");
    }
    let report = report::read(&seen.out())?;
    ensure!(report.ranks.len() == RANKS, "{} ranks in the report", report.ranks.len());
    Ok(())
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
