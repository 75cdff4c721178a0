//! The layer on the mock library: tests its logic without an installed MPI.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::run::Outcome;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run};
use serde_json::Value;

use crate::subject::{LIMIT, Subject};

pub fn trials(_subject: &Arc<Subject>) -> Vec<Trial> {
    vec![
        checked("mock::every_function_is_counted_once", check),
        checked("mock::a_call_that_the_program_jumps_out_of_ends_at_its_next_call", left),
        checked("mock::a_stack_switch_in_a_user_function_is_not_mistaken_for_leaving_a_call", switched),
        checked("mock::a_signal_handler_on_its_own_stack_does_not_use_the_c_library", handled),
        checked("mock::settings_that_cannot_be_understood_are_reported_and_ignored", misspelled),
        checked("mock::a_library_of_an_unknown_abi_runs_as_without_the_layer", another_abi),
    ]
}

fn check() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let seen = ran(dir.path(), "mock.c", &[], &[])?;
    ensure!(seen.stdout == "mock: 1 ranks, checksum 19\n", "{}", seen.describe());
    let report = report::read(&dir.path().join("out"))?;
    ensure!(report.abi.as_deref() == Some("mpich"), "the reported ABI is {:?}", report.abi);
    Ok(())
}

/// Five receives that never return, of a fifth of a second each.
fn left() -> Result<()> {
    let dir = tempfile::tempdir()?;
    ran(dir.path(), "calls_left.c", &["--trace"], &[])?;
    let report: Value = serde_json::from_slice(&fs::read(dir.path().join("out/report.json"))?)?;
    let rank = &report["ranks"][0];
    let receives = rank["calls"]["MPI_Recv"]["time_s"].as_f64();
    ensure!(receives.is_some_and(|time| (1.0..1.5).contains(&time)), "{receives:?} s in receives");
    let threads = rank["by_thread"].as_array().context("no threads")?;
    ensure!(threads.iter().all(|thread| thread["in"].is_null()), "{threads:?}");
    let posted = &report["sections"]["messages"]["posted"];
    ensure!(*posted == 0, "receives are still posted: {posted}");
    Ok(())
}

fn switched() -> Result<()> {
    let dir = tempfile::tempdir()?;
    ran(dir.path(), "switched_stacks.c", &[], &[]).map(drop)
}

fn handled() -> Result<()> {
    let dir = tempfile::tempdir()?;
    ran(dir.path(), "signal_stack.c", &[], &[]).map(drop)
}

fn misspelled() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let numbers = ["MPISCOPE_SITES", "MPISCOPE_TOMBSTONES", "MPISCOPE_LEDGER", "MPISCOPE_EVENT_QUEUE"];
    let mut set: Vec<_> = numbers.map(|name| (name, "-1")).to_vec();
    set.extend([("MPISCOPE_RECORD_TIMES", "yes"), ("MPISCOPE_RECORD", "calls,tims")]);
    let seen = ran(dir.path(), "mock.c", &[], &set)?;
    let said = |sentence: &str| seen.stderr.lines().any(|line| line == format!("mpiscope: {sentence}"));
    for name in numbers {
        ensure!(said(&format!("{name}: '-1' is not a number; using the default")), "{}", seen.describe());
    }
    let switch = "MPISCOPE_RECORD_TIMES: 'yes' is not on or off; using the default";
    let word = "MPISCOPE_RECORD: unknown word 'tims'; using the default";
    ensure!(said(switch) && said(word), "{}", seen.describe());
    Ok(())
}

/// Runs a program on the mock library with variables set, and compares the reported calls with the program's own counts.
fn ran(dir: &Path, source: &str, options: &[&str], set: &[(&str, &str)]) -> Result<Outcome> {
    let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
    let mock = paths::mock_library().context("no libmockmpi.so; run `cargo xtask test`")?;
    let (program, expect, out) = (dir.join("program"), dir.join("expect"), dir.join("out"));
    fs::create_dir(&expect)?;
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-pthread", "-rdynamic", "-I"])
        .arg(paths::workspace().join("crates/mock-mpi/include"));
    cc.arg(paths::programs().join(source)).arg("-o").arg(&program).arg(&mock);
    let compiled = run::bounded(&mut cc, LIMIT)?;
    ensure!(compiled.success(), "{}", compiled.describe());

    let mut command = Command::new(mpiscope);
    command.arg("run").args(options).arg("--out").arg(&out).arg(&program);
    command.env("MPISCOPE_EXPECT_DIR", &expect).envs(set.iter().copied());
    command.env("LD_LIBRARY_PATH", mock.parent().context("libmockmpi.so has no parent directory")?);
    let seen = run::bounded(&mut command, LIMIT)?;
    ensure!(seen.success(), "{}", seen.describe());
    let report = report::read(&out)?;
    let wrong = report::differences(&report, &report::expectations(&expect)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(seen)
}

/// MPItrampoline is an example: it has the functions of MPI, and handles that do not fit into an `int`.
fn another_abi() -> Result<()> {
    let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
    let dir = tempfile::tempdir()?;
    let (library, program) = (dir.path().join("libother.so"), dir.path().join("other"));
    let source = paths::programs().join("other_abi.c");
    let mut shared = Command::new("cc");
    shared.args(["-shared", "-fPIC", "-DLIBRARY"]).arg(&source).arg("-o").arg(&library);
    let mut linked = Command::new("cc");
    linked.arg(&source).arg("-o").arg(&program).arg(&library);
    for command in [&mut shared, &mut linked] {
        let outcome = run::bounded(command, LIMIT)?;
        ensure!(outcome.success(), "{}", outcome.describe());
    }
    let seen = run::bounded(Command::new(mpiscope).arg("run").arg(&program), LIMIT)?;
    ensure!(seen.success() && seen.stdout == "rank 0, barrier 0\n", "{}", seen.describe());
    ensure!(
        seen.stderr.contains("follows an MPI ABI that this version does not know"),
        "{}",
        seen.describe()
    );
    Ok(())
}
