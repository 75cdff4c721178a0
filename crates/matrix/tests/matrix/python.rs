//! mpi4py, unchanged from its wheel.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{self, Abi, Library, Mpi4py};
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;
use serde_json::Value;

use crate::programs::{same_behavior, same_calls};
use crate::skipped;
use crate::subject::{Form, Subject, word};

const RANKS: usize = 2;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let checks: [(&str, Check); 2] = [
        ("mpi4py_runs_unchanged_and_is_counted", check),
        ("calls_of_a_python_program_have_its_own_lines", lines),
    ];
    let trial = |(name, check): (&str, Check)| {
        let name = format!("{}::{name}", library.name);
        let Some(mpi4py) = mpi::mpi4py() else { return skipped(name, "mpi4py was not fetched") };
        if let Some(reason) = unusable(library) {
            return skipped(name, reason);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, &mpi4py))
    };
    checks.into_iter().map(trial).collect()
}

type Check = fn(&Subject, &Library, &Mpi4py) -> Result<()>;

/// The reason why mpi4py's wheel does not run on the library, if any.
pub fn unusable(library: &Library) -> Option<&'static str> {
    match library.abi {
        Abi::Standard => Some("the wheel has no module for the standard ABI"),
        Abi::Mpich if library.bin.is_none() => {
            Some("the wheel's module needs libmpi.so.12, Debian has libmpich.so.12")
        }
        Abi::Mpich | Abi::OpenMpi => None,
    }
}

fn check(subject: &Subject, library: &Library, mpi4py: &Mpi4py) -> Result<()> {
    let words = [word(&mpi4py.python), word(&paths::programs().join("mpi4py_calls.py"))];
    let adjust = |command: &mut Command| mpi4py.set_environment(library, command);
    let bare = subject.launch(library, RANKS, Form::Bare, &words, &adjust)?;
    ensure!(bare.outcome.success(), "the bare script failed: {}", bare.outcome.describe());
    let seen = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
    same_behavior(&bare, &seen)?;
    same_calls(&seen, RANKS)
}

/// Checks that the report has every line that calls MPI, with the calls of all ranks, and also the lines
/// where unfreed objects were created.
fn lines(subject: &Subject, library: &Library, mpi4py: &Mpi4py) -> Result<()> {
    let program = paths::programs().join("mpi4py_lines.py");
    let adjust = |command: &mut Command| mpi4py.set_environment(library, command);
    let words = [word(&mpi4py.python), word(&program)];
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let report: Value = serde_json::from_slice(&fs::read(ran.out().join("report.json"))?)?;
    let calls = |function: &str, place: &str| -> u64 {
        let sites = report["sites"].as_array().into_iter().flatten();
        let here = sites.filter(|site| {
            let name = site["function"].as_str().unwrap_or_default();
            name.trim_end_matches("_c") == function && site["place"] == place
        });
        here.filter_map(|site| site["calls"].as_u64()).sum()
    };
    let text = fs::read_to_string(&program)?;
    let noted =
        text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.split_once("# MPI_")?.1)));
    let mut wanted = Vec::new();
    for (line, said) in noted {
        let (function, count) = said.split_once(' ').context("a comment has a function and a number")?;
        wanted.push((format!("MPI_{function}"), format!("mpi4py_lines.py:{line}"), count.parse::<u64>()?));
    }
    wanted.extend((1..=6).map(|line| ("MPI_Comm_test_inter".into(), format!("made.py:{line}"), 1)));
    ensure!(wanted.len() > 12, "{wanted:?}");
    for (function, place, count) in &wanted {
        let (counted, all) = (calls(function, place), count * RANKS as u64);
        ensure!(
            counted == all,
            "{function} at {place}: {counted} calls instead of {all}\n{}",
            report["sites"]
        );
    }
    let split =
        &wanted.iter().find(|(function, ..)| function == "MPI_Comm_split").context("no MPI_Comm_split")?.1;
    ensure!(report["leaks"].to_string().contains(split.as_str()), "{}", report["leaks"]);
    Ok(())
}
