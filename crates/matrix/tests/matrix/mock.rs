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
    vec![checked("mock::every_function_is_counted_once", check)]
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
