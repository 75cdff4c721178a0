//! Programs that end normally: output, exit status, and exactly the calls that were made.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{PROGRAMS, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report};

use crate::skipped;
use crate::subject::{Form, Ran, Subject, word};

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let trial = |program: Program| {
        let name = format!("{}::{}_counts_every_call_once", library.name, program.name);
        if let Some(reason) = program.needs.missing_in(library).or_else(|| program.known_fault(library)) {
            return skipped(name, reason);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || check(&subject, &library, &program))
    };
    PROGRAMS.into_iter().map(trial).chain([twice(subject, library), long_command(subject, library)]).collect()
}

/// Makes `argv` of `MPI_INFO_ENV` longer than `MPI_MAX_INFO_VAL`; on MPICH, `MPI_Info_get` with a shorter buffer ends the job.
fn long_command(subject: &Arc<Subject>, library: &Arc<Library>) -> Trial {
    let (subject, of) = (Arc::clone(subject), Arc::clone(library));
    checked(
        format!("{}::a_program_with_a_long_command_line_runs_as_without_the_layer", library.name),
        move || {
            let program =
                PROGRAMS.into_iter().find(|program| program.name == "misc").context("no such program")?;
            let what = [word(&subject.binary(&program, &of)?), "x".repeat(50_000).into()];
            let launch = |form| subject.launch(&of, program.ranks, form, &what, &|_| ());
            let (bare, seen) =
                compared(|| Ok((launch(Form::Bare)?, launch(Form::AroundLauncher)?)), same_behavior)?;
            ensure!(bare.outcome.success(), "{}", bare.outcome.describe());
            same_calls(&seen, program.ranks)
        },
    )
}

/// A program that is linked with the layer of one installation and started with that of another.
fn twice(subject: &Arc<Subject>, library: &Arc<Library>) -> Trial {
    let (subject, of) = (Arc::clone(subject), Arc::clone(library));
    checked(format!("{}::two_layers_in_a_process_count_every_call_once", library.name), move || {
        let program =
            PROGRAMS.into_iter().find(|program| program.name == "callbacks").context("no such program")?;
        let binary = subject.binary(&program, &of)?;
        let folder = tempfile::tempdir()?;
        let second = folder.path().join("libmpiscope.so");
        fs::copy(paths::libmpiscope().context("no libmpiscope.so")?, &second)?;
        let launch = |form, preloaded: Option<&Path>| {
            subject.launch(&of, program.ranks, form, &[word(&binary)], &|command| {
                if let Some(file) = preloaded {
                    command.env("LD_PRELOAD", file);
                }
            })
        };
        let run = || Ok((launch(Form::Bare, None)?, launch(Form::AroundLauncher, Some(&second))?));
        let (bare, seen) = compared(run, same_behavior)?;
        ensure!(bare.outcome.success(), "{}", bare.outcome.describe());
        same_calls(&seen, program.ranks)
    })
}

/// Compares the bare run with both forms of `mpiscope run`.
fn check(subject: &Subject, library: &Library, program: &Program) -> Result<()> {
    let binary = subject.binary(program, library)?;
    let adjust = |command: &mut Command| {
        command.envs(program.environment(library).iter().copied());
    };
    // One form also compares both ends of every message, with `--check`.
    let adjusted = |form: Form| {
        move |command: &mut Command| {
            adjust(command);
            if matches!(form, Form::UnderLauncher) {
                command.env("MPISCOPE_RECORD_MESSAGES", "1");
            }
        }
    };
    let launch = |form: Form| subject.launch(library, program.ranks, form, &[word(&binary)], &adjusted(form));
    let mut first = Some(launch(Form::Bare)?);
    for (form, name) in
        [(Form::AroundLauncher, "around the launcher"), (Form::UnderLauncher, "under the launcher")]
    {
        let run = || {
            let bare = match first.take() {
                Some(bare) => bare,
                None => launch(Form::Bare)?,
            };
            ensure!(bare.outcome.success(), "the bare program failed: {}", bare.outcome.describe());
            Ok((bare, launch(form)?))
        };
        let (bare, seen) = compared(run, same_behavior).context(name)?;
        same_calls(&seen, program.ranks).context(name)?;
        nothing_is_wrong(&seen, program).context(name)?;
        calls_have_places(&seen, program).context(name)?;
        first = Some(bare);
    }
    Ok(())
}

/// How often a difference must recur before it is attributed to the layer.
const TRIES: usize = 3;

/// Runs a program with and without the layer, compares, and returns the run under the layer. Effects of the
/// layer occur every time; a library that occasionally returns another result (seen with files on Intel's
/// `libmpi_abi`) must not be mistaken for one. Differences that did not recur are reported on stderr.
pub fn compared(
    mut run: impl FnMut() -> Result<(Ran, Ran)>,
    compare: impl Fn(&Ran, &Ran) -> Result<()>,
) -> Result<(Ran, Ran)> {
    for left in (0..TRIES).rev() {
        let (bare, seen) = run()?;
        match compare(&bare, &seen) {
            Ok(()) => return Ok((bare, seen)),
            Err(error) if left == 0 => return Err(error),
            Err(error) => eprintln!("retrying: {error:#}"),
        }
    }
    bail!("the program was never run")
}

/// Checks that standard output and exit status are those of the bare run.
pub fn same_behavior(bare: &Ran, seen: &Ran) -> Result<()> {
    let (bare, seen) = (&bare.outcome, &seen.outcome);
    ensure!(!seen.timed_out, "the run under the layer did not end: {}", seen.describe());
    ensure!(
        bare.code() == seen.code(),
        "exit status {} became {} under the layer: {}",
        bare.code(),
        seen.code(),
        seen.describe()
    );
    ensure!(
        bare.stdout == seen.stdout,
        "standard output changed.\n--- bare\n{}\n--- under the layer\n{}\n--- its stderr\n{}",
        bare.stdout,
        seen.stdout,
        seen.stderr
    );
    Ok(())
}

/// Checks that the places of each function add up to its calls, time and bytes each way, and that the
/// program's own lines are known.
fn calls_have_places(seen: &Ran, program: &Program) -> Result<()> {
    let report = report::read(&seen.out())?;
    let wrong = report::misplaced(&report);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    let source = program.source();
    let source = source.file_name().unwrap_or_default().to_string_lossy();
    // Their common code calls MPI as well.
    let is_own = |place: &&report::Place| place.place.contains(&*source) || place.place.contains("expect.h");
    let own = report.sites.iter().filter(is_own).count();
    ensure!(own * 2 > report.sites.len(), "few call sites in {source}: {:#?}", report.sites);
    Ok(())
}

/// Checks that there are no findings, except for objects the programs leave behind and calls that fail on
/// purpose.
fn nothing_is_wrong(seen: &Ran, program: &Program) -> Result<()> {
    let mut findings = report::read(&seen.out())?.findings;
    findings.retain(|finding| match finding.kind.as_str() {
        "not-freed" => false,
        // MPICH 5.0.2 returns MPI_SUCCESS if it called the program's own error handler.
        "call-failed" => !program.fails_on_purpose(),
        _ => true,
    });
    ensure!(findings.is_empty(), "a correct program has findings: {findings:#?}");
    Ok(())
}

/// Checks that the report has exactly the calls that each process counted, and that every rank ended
/// normally.
pub fn same_calls(seen: &Ran, ranks: usize) -> Result<()> {
    let expected = report::expectations(&seen.expectations())?;
    ensure!(expected.len() == ranks, "{} of {ranks} processes wrote their calls", expected.len());
    let report = report::read(&seen.out())
        .map_err(|error| error.context(format!("stderr of the run:\n{}", seen.outcome.stderr)))?;
    let wrong = report::differences(&report, &expected);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
