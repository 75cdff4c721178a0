//! mpi4py from its wheel, unchanged.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{self, Abi, Library, Mpi4py};
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;

use crate::programs::{same_behaviour, same_calls};
use crate::skipped;
use crate::subject::{Form, Subject, word};

const RANKS: usize = 2;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let name = format!("{}::mpi4py_runs_unchanged_and_is_counted", library.name);
    let Some(mpi4py) = mpi::mpi4py() else {
        return vec![skipped(name, "mpi4py was not fetched")];
    };
    if let Some(reason) = unusable(library) {
        return vec![skipped(name, reason)];
    }
    let (subject, library) = (Arc::clone(subject), Arc::clone(library));
    vec![checked(name, move || check(&subject, &library, &mpi4py))]
}

/// Why mpi4py's wheel does not run on the library.
pub fn unusable(library: &Library) -> Option<&'static str> {
    match library.abi {
        Abi::Standard => Some("the wheel has no module for the standard ABI"),
        Abi::Mpich if library.bin.is_none() => {
            Some("the wheel's module wants libmpi.so.12, Debian has libmpich.so.12")
        }
        Abi::Mpich | Abi::OpenMpi => None,
    }
}

fn check(subject: &Subject, library: &Library, mpi4py: &Mpi4py) -> Result<()> {
    let words = [word(&mpi4py.python), word(&paths::programs().join("mpi4py_calls.py"))];
    let adjust = |command: &mut Command| mpi4py.set_environment(library, command);
    let bare = subject.launch(library, RANKS, Form::Bare, &words, &adjust)?;
    ensure!(bare.outcome.success(), "the bare script fails: {}", bare.outcome.describe());
    let seen = subject.launch(library, RANKS, Form::AroundLauncher, &words, &adjust)?;
    same_behaviour(&bare, &seen)?;
    same_calls(&seen, RANKS)
}
