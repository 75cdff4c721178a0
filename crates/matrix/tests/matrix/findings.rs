//! Erroneous programs that do not hang: the findings of `mpiscope run` at their end.
//!
//! The programs state the expected findings in the comment before each part (see `broken.c`).

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::run::Outcome;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run};
use tempfile::TempDir;

use crate::comments::{Source, Words};
use crate::subject::{Form, Subject, word};

static SOURCES: [Source; 12] = [
    Source::c("broken.c"),
    Source::c("broken_buffers.c"),
    Source::c("broken_collective_buffers.c"),
    Source::c("broken_creations.c"),
    Source::c("broken_layouts.c"),
    Source::c("broken_ready.c"),
    Source::c("broken_receives.c"),
    Source::c("broken_rejected.c"),
    Source::c("broken_rma.c"),
    Source::c("broken_shares.c"),
    Source::c("broken_threads.c"),
    Source { file: "broken_f08.f90", needs: Needs::F08 },
];

const LIMIT: Duration = Duration::from_secs(60);

/// The contents of a comment in the program.
struct Expected {
    source: &'static Source,
    name: String,
    ranks: usize,
    kind: String,
    whose: Option<String>,
    says: String,
    check: bool,
    dies: bool,
    without: Vec<String>,
    line: Option<usize>,
}

/// Correct programs, and their contents.
const CORRECT: [(&str, &str); 10] = [
    ("collectives_agree", "collectives_that_agree"),
    ("given_up", "sends_that_were_given_up"),
    ("ordered_buffers", "buffers_that_are_reused_in_time"),
    ("ordered_collective_buffers", "buffers_of_collectives_that_are_reused_in_time"),
    ("ordered_handles", "handles_that_stand_for_new_objects"),
    ("ordered_layouts", "layouts_whose_elements_do_not_overlap"),
    ("ordered_ready", "ready_sends_whose_receives_are_posted"),
    ("ordered_receives", "receive_buffers_that_are_used_in_time"),
    ("ordered_rma", "one_sided_operations_that_are_ordered"),
    ("ordered_threads", "collectives_of_threads_that_are_ordered"),
];

/// One trial for each part.
pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let of = |source: &'static Source| source.read("finding", |text, here| parse(source, text, here));
    let all: Result<Vec<_>> = SOURCES.iter().map(of).collect();
    let all = match all {
        Ok(all) => all.into_iter().flatten(),
        Err(error) => return vec![checked("programs_with_findings_can_be_read", move || Err(error))],
    };
    let trial = |expected: Expected| {
        let name = format!("{}::a_finding_is_made_of_{}", library.name, expected.name);
        if expected.without.contains(&library.name) {
            return crate::skipped(name, "this library rejects the program, or hangs");
        }
        if let Some(reason) = expected.source.needs.missing_in(library) {
            return crate::skipped(name, reason);
        }
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(name, move || one(&subject, &library, &expected))
    };
    let correct = |(program, what): (&'static str, &str)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        let name = format!("{}::nothing_is_found_in_{what}", library.name);
        if program == "given_up" && library.name.starts_with("mpich-5.0") {
            return crate::skipped(name, "this library crashes there, without the layer too");
        }
        checked(name, move || is_correct(&subject, &library, program))
    };
    all.map(trial).chain(CORRECT.map(correct)).collect()
}

fn is_correct(subject: &Subject, library: &Library, name: &'static str) -> Result<()> {
    const RANKS: usize = 4;
    let program = Program { name, ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    for check in ["0", "1"] {
        let set = |command: &mut Command| {
            command.env("MPISCOPE_RECORD_MESSAGES", check).env("MPISCOPE_RECORD_CONTENTS", check);
        };
        let ran = subject.launch(library, RANKS, Form::AroundLauncher, &[word(&binary)], &set)?;
        ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
        let found = report::read(&ran.out())?.findings;
        ensure!(found.is_empty(), "unexpected findings: {found:#?}");
    }
    Ok(())
}

fn parse(source: &'static Source, text: &str, here: &dyn Fn(&str) -> Option<usize>) -> Result<Expected> {
    let (head, says) = text.split_once(" says ").with_context(|| format!("nothing is said: {text}"))?;
    let words = Words::of(head)?;
    Ok(Expected {
        source,
        line: here(&words.name),
        whose: words.after("ranks"),
        says: says.to_owned(),
        check: words.has("check"),
        dies: words.has("dies"),
        without: words.without(),
        name: words.name,
        ranks: words.ranks,
        kind: words.kind,
    })
}

fn one(subject: &Subject, library: &Library, expected: &Expected) -> Result<()> {
    let Ran { outcome, found, out } = ran(subject, library, expected, expected.check)?;
    let of_kind: Vec<_> = found.iter().filter(|finding| finding.kind == expected.kind).collect();
    ensure!(
        of_kind.len() == 1,
        "{} findings of this kind in {found:#?}\n{}",
        of_kind.len(),
        outcome.describe()
    );
    for finding in of_kind {
        ensure!(finding.sentence.contains(&expected.says), "'{}' is missing in {finding:#?}", expected.says);
        let whose = expected.whose.as_deref().unwrap_or_default();
        ensure!(finding.ranks == whose, "ranks {} instead of {whose}: {finding:#?}", finding.ranks);
        let line = expected.line.map(|line| format!("{}:{line}", expected.source.file));
        let shown = finding.line.as_deref().unwrap_or_default();
        ensure!(line.as_ref().is_none_or(|line| shown.ends_with(line)), "not at {line:?}: {finding:#?}");
        // A long sentence is wrapped.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(&outcome.stderr).contains(&words(&finding.sentence)) || expected.kind == "not-freed";
        ensure!(said, "the text report does not contain it: {}", outcome.describe());
    }
    let others: Vec<_> =
        found.iter().filter(|f| f.kind != expected.kind && f.kind != "not-freed" && !expected.dies).collect();
    ensure!(others.is_empty(), "unexpected findings: {others:#?}");
    if expected.kind == "call-failed" && expected.dies {
        let whose = expected.whose.as_deref().unwrap_or_default();
        ends_first(&outcome, whose)?;
        is_blamed(out.path(), whose)?;
    }
    if expected.check {
        let found = ran(subject, library, expected, false)?.found;
        ensure!(found.iter().all(|f| f.kind != expected.kind), "found even without --check: {found:#?}");
    }
    Ok(())
}

/// The rank in whose call the library ended the job is the first to end, although the launcher may kill others before it.
fn ends_first(outcome: &Outcome, whose: &str) -> Result<()> {
    let first = outcome.stderr.lines().find_map(|line| line.trim_start().strip_prefix("first to end: rank "));
    let is_it = |first: &str| first.split(',').next() == Some(whose);
    ensure!(first.is_none_or(is_it), "not rank {whose}: {}", outcome.describe());
    Ok(())
}

/// `mpiscope why` on the folder of the ended job names the same rank.
fn is_blamed(out: &Path, whose: &str) -> Result<()> {
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    let outcome = run::bounded(command.arg("why").arg(out).arg("--json"), LIMIT)?;
    let said: serde_json::Value = serde_json::from_str(&outcome.stdout).context(outcome.describe())?;
    let blamed = &said["culprits"][0]["ranks"];
    ensure!(said["kind"] == "rank-gone" && blamed == whose, "not rank {whose}: {}", said["verdict"]);
    Ok(())
}

/// A run and its findings.
struct Ran {
    outcome: Outcome,
    found: Vec<report::Finding>,
    out: TempDir,
}

fn ran(subject: &Subject, library: &Library, expected: &Expected, check: bool) -> Result<Ran> {
    let source = expected.source;
    let program = Program { name: source.program(), ranks: expected.ranks, needs: source.needs };
    let binary = subject.binary(&program, library)?;
    let out = tempfile::tempdir()?;
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    command.arg("run").args(check.then_some("--check")).arg("--out").arg(out.path());
    library.set_environment(&mut command);
    let words: [OsString; 2] = [binary.into(), expected.name.clone().into()];
    command.arg(&library.mpirun).args(library.launch_arguments(expected.ranks)).args(words);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(!outcome.timed_out && (outcome.success() || expected.dies), "{}", outcome.describe());
    let found = report::read(out.path())?.findings;
    Ok(Ran { outcome, found, out })
}
