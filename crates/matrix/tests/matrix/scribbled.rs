//! Programs whose image is overwritten while they run: output and exit status stay those of the bare run.
//!
//! The report may then contain anything. The test checks that it is written, or reported as impossible, and
//! that nothing hangs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, PROGRAMS, Program};
use mpiscope_testkit::trials::checked;

use crate::programs::{compared, same_behavior};
use crate::skipped;
use crate::subject::{Form, Subject, word};

/// Reads variables continuously; their values are not compared.
const TOOL: Program = Program { name: "tool_reads", ranks: 2, needs: Needs::Nothing };
/// Determines the written data.
const SEED: &str = "20";
/// Programs that are also run with everything recorded: those that use what is not recorded by default.
const WITH_ALL: [&str; 3] = ["p2p_completion", "p2p_modes", "rma"];
/// What these record.
const ALL: [(&str, &str); 2] = [("MPISCOPE_RECORD", "all"), ("MPISCOPE_TRACE", "1M")];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let trial = |(program, recorded): (Program, &'static [(&str, &str)])| {
        let with = if recorded.is_empty() { "" } else { "_with_everything_recorded" };
        let name =
            format!("{}::{}_does_the_same_while_its_image_is_written_over{with}", library.name, program.name);
        if let Some(reason) = program.needs.missing_in(library).or_else(|| program.known_fault(library)) {
            return skipped(name, reason);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, &program, recorded))
    };
    let with_all = PROGRAMS.into_iter().filter(|program| WITH_ALL.contains(&program.name));
    let by_default = PROGRAMS.into_iter().chain([TOOL]).map(|program| (program, &[][..]));
    by_default.chain(with_all.map(|program| (program, &ALL[..]))).map(trial).collect()
}

fn check(subject: &Subject, library: &Library, program: &Program, recorded: &[(&str, &str)]) -> Result<()> {
    let (binary, scribbler) = (subject.binary(program, library)?, scribbler(subject)?);
    let adjust = |command: &mut Command| {
        command.envs(program.environment(library).iter().copied());
    };
    let scribbled = |command: &mut Command| {
        adjust(command);
        command.env("LD_PRELOAD", &scribbler).env("MPISCOPE_SCRIBBLE", SEED);
        command.envs(recorded.iter().copied());
    };
    let run = || {
        let bare = subject.launch(library, program.ranks, Form::Bare, &[word(&binary)], &adjust)?;
        ensure!(bare.outcome.success(), "the bare program failed: {}", bare.outcome.describe());
        let seen =
            subject.launch(library, program.ranks, Form::AroundLauncher, &[word(&binary)], &scribbled)?;
        Ok((bare, seen))
    };
    compared(run, same_behavior).map(drop)
}

/// Builds the library that overwrites the image.
fn scribbler(subject: &Subject) -> Result<PathBuf> {
    let file = subject.folder().join("libscribble.so");
    let _one = subject.alone()?;
    if !file.is_file() {
        let source = paths::programs().join("scribble.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-pthread", "-o"]).arg(&file).arg(source);
        ensure!(cc.status().context("cc")?.success(), "the scribbler cannot be compiled");
    }
    Ok(file)
}
