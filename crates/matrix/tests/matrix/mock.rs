//! The layer on the mock library: its logic, with no MPI installed.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::trials::checked;
use mpiscope_testkit::{paths, report, run};

use crate::subject::{LIMIT, Subject};

pub fn trials(_subject: &Arc<Subject>) -> Vec<Trial> {
    vec![
        checked("mock::every_function_is_counted_once", check),
        checked("mock::a_library_of_an_unknown_abi_runs_as_without_the_layer", another_abi),
    ]
}

fn check() -> Result<()> {
    let mpiscope = paths::mpiscope().context("no mpiscope command; run `cargo xtask test`")?;
    let mock = paths::mock_library().context("no libmockmpi.so; run `cargo xtask test`")?;
    let dir = tempfile::tempdir()?;
    let (program, expect, out) = (dir.path().join("mock"), dir.path().join("expect"), dir.path().join("out"));
    fs::create_dir(&expect)?;
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-pthread", "-I"]).arg(paths::workspace().join("crates/mock-mpi/include"));
    cc.arg(paths::programs().join("mock.c")).arg("-o").arg(&program).arg(&mock);
    let compiled = run::bounded(&mut cc, LIMIT)?;
    ensure!(compiled.success(), "{}", compiled.describe());

    let mut command = Command::new(mpiscope);
    command.args(["run", "--out"]).arg(&out).arg(&program);
    command.env("MPISCOPE_EXPECT_DIR", &expect);
    command.env("LD_LIBRARY_PATH", mock.parent().context("libmockmpi.so lies nowhere")?);
    let seen = run::bounded(&mut command, LIMIT)?;
    ensure!(seen.success(), "{}", seen.describe());
    ensure!(seen.stdout == "mock: 1 ranks, checksum 19\n", "{}", seen.describe());
    let report = report::read(&out)?;
    ensure!(report.abi.as_deref() == Some("mpich"), "the ABI is said to be {:?}", report.abi);
    let wrong = report::differences(&report, &report::expectations(&expect)?);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// MPItrampoline is such a library: it has the functions of MPI, and handles that do not fit into an `int`.
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
