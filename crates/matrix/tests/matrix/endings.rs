//! Programs that end abnormally: the exit status stays the same, there is a report or a clear message, and
//! nothing hangs.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::report;
use mpiscope_testkit::trials::checked;

use crate::programs::{compared, same_behavior, same_calls};
use crate::subject::{Form, Ran, Subject, word};

const RANKS: usize = 2;
const PROGRAM: Program = Program { name: "ending", ranks: RANKS, needs: Needs::Nothing };

/// The expected result.
#[derive(Clone, Copy)]
enum After {
    /// Equal output, all calls of all ranks, all finalized.
    Whole,
    /// All calls of all ranks, none finalized. The launcher may write to standard output.
    Unfinished,
    /// Like `Unfinished`, but the call that ended the job may or may not be counted.
    Aborted,
    /// No rank ever existed: a message from us, nothing on standard output.
    Sentence,
}

/// Name of the trial, arguments of the program, expected result.
const ENDINGS: [(&str, &[&str], After); 8] = [
    ("an_exit_status_is_passed_on", &["status", "9"], After::Whole),
    ("a_killed_rank_leaves_a_report", &["kill-one"], After::Unfinished),
    ("an_abort_leaves_a_report", &["abort-one", "7"], After::Aborted),
    ("an_exit_without_finalize_leaves_a_report", &["no-finalize", "0"], After::Unfinished),
    ("a_failing_exit_without_finalize_leaves_a_report", &["no-finalize", "5"], After::Unfinished),
    ("a_crash_before_init_is_reported", &["crash-before-init"], After::Sentence),
    ("an_exit_before_init_is_reported", &["exit-before-init", "3"], After::Sentence),
    ("a_program_without_mpi_is_reported", &["never-mpi", "0"], After::Sentence),
];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let make = |(name, arguments, after): (&str, &'static [&'static str], After)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::{name}", library.name), move || check(&subject, &library, arguments, after))
    };
    ENDINGS.into_iter().map(make).collect()
}

fn check(subject: &Subject, library: &Library, arguments: &[&str], after: After) -> Result<()> {
    let mut words = vec![word(&subject.binary(&PROGRAM, library)?)];
    words.extend(arguments.iter().map(OsString::from));
    let run_bare = || subject.launch(library, RANKS, Form::Bare, &words, &|_| ());
    let run = || {
        let bare = run_bare()?;
        ensure!(!bare.outcome.timed_out, "the bare program did not end: {}", bare.outcome.describe());
        Ok((bare, subject.launch(library, RANKS, Form::AroundLauncher, &words, &|_| ())?))
    };
    let (_, seen) = compared(run, |bare, seen| match after {
        After::Whole => same_behavior(bare, seen),
        After::Unfinished | After::Aborted | After::Sentence => status_of_the_bare_run(bare, seen, run_bare),
    })?;
    match after {
        After::Whole => {
            same_calls(&seen, RANKS)?;
            all_finalized(&seen, true)
        }
        After::Unfinished => {
            same_calls(&seen, RANKS)?;
            all_finalized(&seen, false)
        }
        After::Aborted => {
            calls_but_abort(&seen)?;
            // Also where the call returned before the process was killed.
            let said = seen.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
            ensure!(
                said.contains("called MPI_Abort with code 7 at ending.c:"),
                "no place of the abort: {said}"
            );
            all_finalized(&seen, false)
        }
        After::Sentence => {
            let said = seen.outcome.stderr.lines().any(|line| line.contains("mpiscope"));
            ensure!(said, "no message about what happened: {}", seen.outcome.describe());
            Ok(())
        }
    }
}

/// Maximum number of reruns of the bare program to collect the statuses its launcher returns.
const BARE_RUNS: usize = 8;

/// The status must be one that the bare run also returns. When several ranks end at once, a launcher may
/// return the status of any rank, or that of its own signal to the others, so the bare run gets several
/// tries.
fn status_of_the_bare_run(bare: &Ran, seen: &Ran, again: impl Fn() -> Result<Ran>) -> Result<()> {
    ensure!(!seen.outcome.timed_out, "the run under the layer did not end: {}", seen.outcome.describe());
    let mut codes = vec![bare.outcome.code()];
    while !codes.contains(&seen.outcome.code()) {
        let why = seen.outcome.describe();
        ensure!(codes.len() < BARE_RUNS, "exit statuses {codes:?} became {}: {why}", seen.outcome.code());
        codes.push(again()?.outcome.code());
    }
    Ok(())
}

fn all_finalized(seen: &Ran, finalized: bool) -> Result<()> {
    let report = report::read(&seen.out())?;
    let wrong: Vec<_> =
        report.ranks.iter().filter(|rank| rank.finalized != finalized).map(|r| r.rank).collect();
    ensure!(wrong.is_empty(), "finalized should be {finalized} on ranks {wrong:?}");
    Ok(())
}

fn calls_but_abort(seen: &Ran) -> Result<()> {
    let expected = report::expectations(&seen.expectations())?;
    ensure!(expected.len() == RANKS, "{} of {RANKS} processes wrote their calls", expected.len());
    let mut report = report::read(&seen.out())?;
    for rank in &mut report.ranks {
        let aborts = rank.calls.remove("MPI_Abort").map_or(0, |calls| calls.count);
        ensure!(aborts <= 1, "rank {:?} aborted {aborts} times", rank.rank);
    }
    let wrong = report::differences(&report, &expected);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
