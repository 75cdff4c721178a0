//! Reports of programs that lose no time waiting, and of one whose memory grows: the report must not name
//! problems that do not exist.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::Library;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run};

use crate::subject::{Form, LIMIT, Ran, Subject, word};

const RANKS: usize = 2;
/// A process may be preempted between its own reading of the clock and its call.
const SLACK: f64 = 0.05;

type Check = fn(&Subject, &Library) -> Result<()>;

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let checks: [(&str, Check); 2] = [
        ("equally_loaded_ranks_have_no_waits_beyond_those_they_measured", check_balanced),
        ("only_a_rank_whose_memory_grows_is_named_with_its_rate", check_growing),
    ];
    let trial = |(name, check): (&str, Check)| {
        let (subject, library) = (Arc::clone(subject), Arc::clone(library));
        checked(format!("{}::{name}", library.name), move || check(&subject, &library))
    };
    checks.into_iter().map(trial).collect()
}

fn launch(
    subject: &Subject,
    library: &Library,
    name: &'static str,
    words: &[&str],
    check: bool,
) -> Result<Ran> {
    let program = Program { name, ranks: RANKS, needs: Needs::Nothing };
    let mut what = vec![word(&subject.binary(&program, library)?)];
    what.extend(words.iter().map(Into::into));
    let ran = subject.launch(library, RANKS, Form::AroundLauncher, &what, &|command| {
        if check {
            command.env("MPISCOPE_RECORD_MESSAGES", "1");
        }
    })?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    Ok(ran)
}

fn check_balanced(subject: &Subject, library: &Library) -> Result<()> {
    for recorded in [true, false] {
        let ran = launch(subject, library, "balanced", &[], recorded)?;
        let words: Vec<&str> = ran.outcome.stdout.split_whitespace().collect();
        let [receive, completion, apart] = words[..] else { anyhow::bail!("cannot parse {words:?}") };
        let apart: f64 = apart.parse()?;
        let report = report::read(&ran.out())?;
        let waits = report.waits.context("no waits in the report")?;
        ensure!(waits.messages == recorded, "{waits:#?}");
        // At the start, ranks differ widely.
        let looped = |wait: &&report::Wait| {
            ["MPI_Allreduce", "MPI_Sendrecv", "MPI_Win_fence", "MPI_Waitall", "MPI_Recv", "MPI_Bsend"]
                .contains(&wait.function.as_str())
        };
        let sampled = waits.sampled.as_ref();
        let found: f64 = waits.list.iter().filter(looped).map(|wait| wait.seconds).sum();
        let looked: f64 =
            sampled.iter().flat_map(|all| &all.list).filter(looped).map(|wait| wait.seconds).sum();
        let error = sampled.map_or(0.0, |all| all.error_s);
        ensure!(found <= 1.05 * apart + SLACK, "{found} s, but they were {apart} s apart: {waits:#?}");
        ensure!(
            looked <= 1.05 * apart + SLACK + error,
            "{looked} s, but they were {apart} s apart: {waits:#?}"
        );
        for line in [receive, completion] {
            let line = format!("balanced.c:{line}");
            let here = |wait: &&report::Wait| wait.line.as_ref().is_some_and(|place| place.ends_with(&line));
            let lost: f64 = waits.list.iter().filter(here).map(|wait| wait.seconds).sum();
            ensure!(lost <= SLACK, "nobody waited for {lost} s at {line}: {waits:#?}");
        }
        let text = text(&ran, "waits")?;
        ensure!(!text.contains("(0 %)"), "listed with none of the time: {text}");
    }
    Ok(())
}

fn text(ran: &Ran, section: &str) -> Result<String> {
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    command.env("COLUMNS", "400").arg("report").arg(ran.out()).args(["--section", section]);
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(outcome.stdout)
}

/// Bytes per step, and number of steps.
const STEP: f64 = 400_000.0;
const STEPS: f64 = 150.0;

fn check_growing(subject: &Subject, library: &Library) -> Result<()> {
    let ran = launch(subject, library, "growing", &[&STEP.to_string()], false)?;
    let seconds: f64 = ran.outcome.stdout.trim().parse()?;
    let rate = STEP * STEPS / seconds * 60.0;
    let windows = report::read(&ran.out())?.windows.context("no windows in the report")?;
    let [grows] = windows.growing.as_slice() else { anyhow::bail!("not exactly one rank: {windows:#?}") };
    let who = windows.ranks.get(grows.rank);
    ensure!(who.is_some_and(|who| *who == (RANKS - 1).to_string()), "rank {who:?}: {windows:#?}");
    let near = (grows.bytes_per_minute / rate - 1.0).abs() < 0.3;
    ensure!(near, "{} bytes a minute, not {rate}: {windows:#?}", grows.bytes_per_minute);
    let grown = grows.until_bytes.saturating_sub(grows.from_bytes) as f64;
    ensure!(grown > 0.3 * STEP * STEPS, "{grown} bytes: {windows:#?}");
    let text = text(&ran, "memory")?;
    ensure!(text.contains("rank 1") && text.contains("grow"), "{text}");
    Ok(())
}
