//! The script for gdb, as far as it can be asked without an MPI library. Real programs are looked at by the test matrix.

use std::path::Path;
use std::process::Command;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../share/mpiscope-gdb.py");

/// What gdb prints; `None` where there is none that speaks Python.
fn gdb(script: &Path, line: &str) -> Option<String> {
    let output = Command::new("gdb")
        .args(["-nx", "-batch", "-ex"])
        .arg(format!("source {}", script.display()))
        .args(["-ex", "python print('speaks Python')", "-ex", line])
        .env_remove("MPISCOPE")
        .output()
        .ok()?;
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    told.contains("speaks Python").then_some(told)
}

#[test]
fn a_script_that_was_loaded_by_hand_finds_the_command_of_its_own_installation() {
    let dir = tempfile::TempDir::new().unwrap();
    let (share, bin) = (dir.path().join("share"), dir.path().join("bin"));
    std::fs::create_dir(&share).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let script = share.join("mpiscope-gdb.py");
    std::fs::copy(SCRIPT, &script).unwrap();
    std::os::unix::fs::symlink(MPISCOPE, bin.join("mpiscope")).unwrap();
    let Some(told) = gdb(&script, "python print('command', command())") else {
        eprintln!("skipped: there is no gdb with Python");
        return;
    };
    let wanted = format!("command {}", bin.join("mpiscope").display());
    assert!(told.contains(&wanted), "{told}");
}

#[test]
fn names_cannot_control_the_terminal() {
    let line = r#"python print(repr(clean("L\u00f6ser \x1b[31m\n\t.")))"#;
    let Some(told) = gdb(Path::new(SCRIPT), line) else {
        eprintln!("skipped: there is no gdb with Python");
        return;
    };
    assert!(told.contains("ser ?[31m??."), "{told}");
}
