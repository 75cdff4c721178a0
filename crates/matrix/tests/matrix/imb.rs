//! The Intel MPI Benchmarks, a program of somebody else: they run to the end and measure the same kind of numbers.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::report;

use crate::subject::{Form, Subject, word};

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
    BENCHMARKS.into_iter().map(make).collect()
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
