//! The layer has no effect when preloaded into a program without MPI.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::run::{Outcome, bounded};
use mpiscope_testkit::trials::checked;

use crate::subject::Subject;

const LIMIT: Duration = Duration::from_secs(30);
const PYTHON: &str = "import ctypes, sys, threading; print(sys.version_info[0]); sys.exit(4)";

pub fn trials(_subject: &Arc<Subject>, libraries: &[Library]) -> Vec<Trial> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    let mut cases = vec![
        ("true".to_owned(), words(&["/bin/true"]), Vec::new()),
        (
            "bash".to_owned(),
            words(&["bash", "-c", "echo one; (echo two; exit 1) || echo three >&2; exit 5"]),
            Vec::new(),
        ),
        ("python".to_owned(), words(&["python3", "-c", PYTHON]), Vec::new()),
        ("a_missing_command".to_owned(), words(&["sh", "-c", "no-such-command-here"]), Vec::new()),
    ];
    for library in libraries {
        let launcher: OsString = library.mpirun.clone().into();
        cases.push((
            format!("the_launcher_of_{}", library.name),
            vec![launcher, "--version".into()],
            library.environment(),
        ));
    }
    cases
        .into_iter()
        .map(|(name, words, env)| {
            checked(format!("inert::{name}_runs_as_without_the_layer"), move || check(&words, &env))
        })
        .collect()
}

fn check(words: &[OsString], env: &[(&'static str, OsString)]) -> Result<()> {
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
    let bare = start(words, env, None)?;
    let seen = start(words, env, Some(layer.into()))?;
    ensure!(!bare.timed_out && !seen.timed_out, "did not end: {}", seen.describe());
    ensure!(bare.code() == seen.code(), "exit status {} became {}", bare.code(), seen.code());
    ensure!(bare.stdout == seen.stdout, "stdout changed:\n{}\n---\n{}", bare.stdout, seen.stdout);
    ensure!(bare.stderr == seen.stderr, "stderr changed:\n{}\n---\n{}", bare.stderr, seen.stderr);
    Ok(())
}

fn start(words: &[OsString], env: &[(&'static str, OsString)], layer: Option<OsString>) -> Result<Outcome> {
    let (program, arguments) = words.split_first().context("no program")?;
    let mut command = Command::new(program);
    command.args(arguments).envs(env.iter().cloned());
    if let Some(layer) = layer {
        command.env("LD_PRELOAD", layer);
    }
    Ok(bounded(&mut command, LIMIT)?)
}
