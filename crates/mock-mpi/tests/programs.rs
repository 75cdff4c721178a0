//! Checks that a C program runs on the mock as on any MPI library.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::{paths, report, run};

const LIMIT: Duration = Duration::from_secs(60);

/// Finds `libmockmpi.so` near the test binary.
fn library() -> Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let mut dirs = exe.ancestors().skip(1).take(2).map(|dir| dir.join("libmockmpi.so"));
    dirs.find(|file| file.is_file()).context("cargo did not build libmockmpi.so")
}

fn compile(out: &Path) -> Result<()> {
    let library = library()?;
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Werror", "-pthread"]).arg("-I").arg(include);
    cc.arg(paths::programs().join("mock.c")).arg("-o").arg(out).arg(&library);
    let mut rpath = std::ffi::OsString::from("-Wl,-rpath,");
    rpath.push(library.parent().unwrap_or(Path::new("/")));
    let outcome = run::bounded(cc.arg(rpath), LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(())
}

#[test]
fn each_of_three_ranks_gets_its_rank_and_its_own_messages() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("mock");
    compile(&program)?;
    let expect = dir.path().join("expect");
    fs::create_dir(&expect)?;
    for rank in 0..3 {
        let mut command = Command::new(&program);
        command.env("PMI_RANK", rank.to_string()).env("PMI_SIZE", "3").env("MPISCOPE_EXPECT_DIR", &expect);
        let outcome = run::bounded(&mut command, LIMIT)?;
        ensure!(outcome.success(), "{}", outcome.describe());
        let line = if rank == 0 { "mock: 3 ranks, checksum 19\n" } else { "" };
        assert_eq!(outcome.stdout, line);
    }
    let said = report::expectations(&expect)?;
    assert_eq!(said.iter().map(|one| one.rank).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(said[0].calls.contains(&(vec!["MPI_Type_size".to_owned()], 1)), "the operator was not called");
    Ok(())
}
