//! `mpiscope vars` as seen by a user when there is nothing to show.

use std::process::{Command, Output};

fn vars(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpiscope"));
    command.env("COLUMNS", "400").arg("vars").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn something_that_is_neither_library_nor_launcher_is_rejected_with_advice() {
    let output = vars(&["--library", "no-such-launcher"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("name a file such as"), "{}", said(&output));
}

#[test]
fn a_missing_library_file_is_named() {
    let output = vars(&["--library", "/nowhere/libmpi.so"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("/nowhere/libmpi.so"), "{}", said(&output));
}

#[test]
fn a_job_and_a_library_cannot_be_combined() {
    let output = vars(&["job", "--library", "libmpi.so"]);
    assert_eq!(output.status.code(), Some(2));
}
