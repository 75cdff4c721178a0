//! The Intel MPI Benchmarks, a program of somebody else: they run to the end and measure the same kind of numbers.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::report;

use crate::subject::{Form, Subject, word};

const RANKS: usize = 2;
/// The layer adds nanoseconds to microseconds. A benchmark whose middle row takes this many times as long does another
/// thing.
const RANGE: f64 = 3.0;
/// Two ranks that wait for each other on a machine that others use too: the middle row of one run may be anything.
const TRIES: usize = 3;
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
    let mut ratios = Vec::new();
    for _ in 0..TRIES {
        let bare = subject.launch(library, RANKS, Form::Bare, &words, &adjust)?;
        ensure!(bare.outcome.success(), "the bare benchmark fails: {}", bare.outcome.describe());
        let seen = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
        ensure!(seen.outcome.success(), "fails under the layer: {}", seen.outcome.describe());
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

/// How many times as long the second table's rows took, in the middle.
fn middle_ratio(bare: &[(u64, f64)], seen: &[(u64, f64)]) -> Result<f64> {
    ensure!(!bare.is_empty(), "no table in the output of the bare benchmark");
    let sizes = |rows: &[(u64, f64)]| rows.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>();
    ensure!(sizes(bare) == sizes(seen), "rows of {:?} bytes became {:?}", sizes(bare), sizes(seen));
    // A row of nothing is rounded to nothing.
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
