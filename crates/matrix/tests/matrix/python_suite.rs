//! mpi4py's own tests, unchanged from its source package: each has the same verdict bare and under the layer.
//!
//! They refer to every function in the way of extension modules: by references that may stay undefined. The
//! full suite takes minutes per library and runs only if `MPISCOPE_EVERY_SIZE` is set; otherwise only tests
//! whose functions not every library has are run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{self, Library, Mpi4py};
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;

use crate::python::unusable;
use crate::skipped;
use crate::subject::{Form, LIMIT, Subject, word};

const RANKS: [usize; 2] = [1, 2];
/// The full suite takes two minutes on an idle machine.
const FULL_LIMIT: Duration = Duration::from_secs(900);

/// Tests of functions that are new in the standard, specific to one family of libraries, or large-count only.
const SELECTION: [&str; 9] = [
    "test_buffer",
    "test_datatype.TestDatatype",
    "test_datatype.TestDatatypeCreate.testVector",
    "test_doc",
    "test_environ",
    "test_errorcode",
    "test_op",
    "test_pickle",
    "test_request",
];

/// Arguments of the full suite: spawned processes would be a separate job.
const ALL_BUT_SPAWNING: [&str; 2] = ["-e", "spawn"];

/// Results by rank and name of the test.
type Verdicts = BTreeMap<(u32, String), String>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let make = |ranks: usize| {
        let name = format!("{}::mpi4pys_own_tests_have_the_same_verdicts_on_{ranks}_ranks", library.name);
        if let Some(reason) = unusable(library) {
            return skipped(name, reason);
        }
        let (Some(mpi4py), Ok(tests)) = (mpi::mpi4py(), mpi::mpi4py_tests()) else {
            return skipped(name, "mpi4py or its tests were not fetched");
        };
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, &mpi4py, &tests, ranks))
    };
    RANKS.map(make).into()
}

fn check(subject: &Subject, library: &Library, mpi4py: &Mpi4py, tests: &Path, ranks: usize) -> Result<()> {
    let full = std::env::var_os("MPISCOPE_EVERY_SIZE").is_some();
    let limit = if full { FULL_LIMIT } else { LIMIT };
    let run = |form: Form| {
        let program = paths::programs().join("mpi4py_verdicts.py");
        let mut words = vec![word(&mpi4py.python), word(&program), word(tests)];
        words
            .extend(if full { ALL_BUT_SPAWNING.to_vec() } else { SELECTION.to_vec() }.iter().map(Into::into));
        let adjust = |command: &mut Command| mpi4py.set_environment(library, command);
        let ran = subject.launch_for(limit, library, ranks, form, &words, &adjust)?;
        let found = verdicts(ran.dir.path())?;
        ensure!(!ran.outcome.timed_out, "{form:?} did not end: {:?}", unfinished(&found));
        let tested = (0..ranks).all(|rank| found.keys().any(|(of, _)| *of == rank as u32));
        ensure!(tested, "{form:?}: a rank ran no tests: {}", ran.outcome.describe());
        anyhow::Ok((ran.outcome.code(), found))
    };
    let (bare, seen) = (run(Form::Bare)?, run(Form::AroundLauncher)?);
    let changed: Vec<_> = bare
        .1
        .keys()
        .chain(seen.1.keys())
        .filter(|test| bare.1.get(*test) != seen.1.get(*test))
        .map(|test| format!("{test:?}: {:?} bare, {:?} seen", bare.1.get(test), seen.1.get(test)))
        .collect();
    ensure!(changed.is_empty(), "verdicts changed: {changed:#?}");
    ensure!(bare.0 == seen.0, "exit status {} bare, {} under the layer", bare.0, seen.0);
    Ok(())
}

/// The results written by every rank; a test that has only begun keeps that as its result.
fn verdicts(folder: &Path) -> Result<Verdicts> {
    let mut all = Verdicts::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("verdicts.") {
            continue;
        }
        let text = fs::read_to_string(entry.path())?;
        let mut lines = text.lines();
        let first = lines.next().and_then(|line| line.strip_prefix("rank "));
        let rank: u32 = first.context("a rank ended before it knew its number")?.parse()?;
        for line in lines {
            let (test, verdict) = line.split_once(' ').context("a line without a verdict")?;
            let known = all.entry((rank, test.to_owned())).or_default();
            // If a part of a test fails, keep the failure.
            if known.is_empty() || known == "began" {
                verdict.clone_into(known);
            }
        }
    }
    Ok(all)
}

fn unfinished(verdicts: &Verdicts) -> Vec<&(u32, String)> {
    verdicts.iter().filter(|(_, verdict)| *verdict == "began").map(|(test, _)| test).collect()
}
