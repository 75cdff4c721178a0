//! `mpiscope doctor` with each library's own launcher, and with another library's.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run, schema};
use serde_json::Value;

use crate::subject::{Form, LIMIT, Subject, word};

/// The trials of a library; `all` are the installed libraries.
pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>, all: &[Library]) -> Vec<Trial> {
    let name = |what: &str| format!("{}::{what}", library.name);
    let (checks, own) = (Arc::clone(subject), Arc::clone(library));
    let fine = move || its_own_launcher(&checks, &own);
    let mut trials = vec![checked(name("doctor_finds_nothing_wrong_with_its_own_launcher"), fine)];
    let open = |library: &Library| library.family == Family::OpenMpi;
    if let Some(other) = all.iter().find(|other| open(other) != open(library)).cloned() {
        let (checks, own, its) = (Arc::clone(subject), Arc::clone(library), other.clone());
        let wrong = move || another_launcher(&checks, &own, &its);
        trials.push(checked(name("doctor_names_a_launcher_of_another_library"), wrong));
        let alone = name("a_run_with_the_launcher_of_another_library_reports_that_it_is_not_one_job");
        trials.push(match library.name.starts_with("mpich-5") {
            true => crate::skipped(alone, "its MPI_Init fails under the other launcher"),
            false => {
                let (subject, own) = (Arc::clone(subject), Arc::clone(library));
                checked(alone, move || each_is_alone(&subject, &own, &other))
            }
        });
    }
    trials
}

const PROGRAM: Program = Program { name: "hang", ranks: 2, needs: Needs::Nothing };

fn its_own_launcher(subject: &Subject, library: &Library) -> Result<()> {
    let (status, checks) = doctor(subject, library, library)?;
    for check in ["layer", "program", "launcher", "ranks", "numbering", "preloading", "memory files"] {
        ensure!(checks.get(check).is_some_and(|said| said["result"] == "fine"), "{check}: {checks:#?}");
    }
    ensure!(status == Some(0), "status {status:?}: {checks:#?}");
    let found = checks.get("ranks").map(|check| check["found"].to_string()).unwrap_or_default();
    ensure!(found.contains("2 processes answered") && found.contains("[0-1]"), "{found}");
    Ok(())
}

/// The program is linked with `library`, the launcher is that of `other`.
fn another_launcher(subject: &Subject, library: &Library, other: &Library) -> Result<()> {
    let (status, checks) = doctor(subject, library, other)?;
    let fit = checks.get("launcher and library").context("launcher and library were not compared")?;
    // The name of a library with the standard ABI does not reveal its family.
    if library.name.ends_with("-abi") {
        ensure!(fit["result"] == "unknown", "{checks:#?}");
        return Ok(());
    }
    ensure!(status == Some(1) && fit["result"] == "problem", "status {status:?}: {checks:#?}");
    ensure!(fit["remedy"].to_string().contains("start it with"), "{checks:#?}");
    Ok(())
}

/// Nothing hangs and nothing fails: the only error is that the ranks do not belong to one job.
fn each_is_alone(subject: &Subject, library: &Library, launcher: &Library) -> Result<()> {
    const RANKS: usize = 3;
    let program = Program { name: "together", ranks: RANKS, needs: Needs::Nothing };
    let binary = subject.binary(&program, library)?;
    let ran = subject.launch(launcher, RANKS, Form::AroundLauncher, &[word(&binary)], &|_| {})?;
    ensure!(ran.outcome.success(), "{}", ran.outcome.describe());
    let found = report::read(&ran.out())?.findings;
    let [finding] = found.as_slice() else {
        bail!("not exactly one finding: {found:#?}\n{}", ran.outcome.describe())
    };
    ensure!(finding.kind == "not-one-job" && finding.ranks == "0, 1.0, 2.0", "{finding:#?}");
    ensure!(ran.outcome.stderr.contains("finding: not one job: 3 processes"), "{}", ran.outcome.describe());
    let saved = ran.out().join("evidence.mpiscope");
    let why = run::bounded(
        Command::new(paths::mpiscope().context("no mpiscope command")?).arg("why").arg(saved),
        LIMIT,
    )?;
    ensure!(why.code() == 1 && why.stdout.starts_with("not one job: 3 processes"), "{}", why.describe());
    Ok(())
}

/// Returns the exit status, and the checks by name.
fn doctor(
    subject: &Subject,
    library: &Library,
    launcher: &Library,
) -> Result<(Option<i32>, BTreeMap<String, Value>)> {
    let binary = subject.binary(&PROGRAM, library)?;
    let mut command = Command::new(paths::mpiscope().context("no mpiscope command")?);
    launcher.set_environment(&mut command);
    command.args(["doctor", "--json"]).arg(&launcher.mpirun).args(launcher.launch_arguments(2)).arg(binary);
    let outcome = run::bounded(&mut command, LIMIT)?;
    let report: Value = serde_json::from_str(&outcome.stdout).with_context(|| outcome.describe())?;
    schema::check(&report)?;
    let checks = report["checks"].as_array().cloned().unwrap_or_default();
    let named = |check: Value| Some((check["check"].as_str()?.to_owned(), check));
    Ok((Some(outcome.code()), checks.into_iter().filter_map(named).collect()))
}
