//! Another user of this machine.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use mpiscope_testkit::trials;
use tempfile::TempDir;

pub const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// The user `nobody`.
pub const NOBODY: u32 = 65534;

/// Whether this process may act as another user.
pub fn available() -> bool {
    trials::another_user().is_none()
}

/// A program that is killed on drop, with its process group.
pub struct Running(Child);

impl Running {
    pub fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _gone = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _gone = self.0.wait();
    }
}

/// Makes a folder that everyone may enter, with copies of the example programs that other users
/// run.
pub fn folder(programs: &[&str]) -> TempDir {
    let dir = tempfile::Builder::new().prefix("mpiscope-stranger-").tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for program in programs {
        mpiscope_testkit::run::copy_program(&example(program), &dir.path().join(program)).unwrap();
    }
    dir
}

pub fn example(name: &str) -> PathBuf {
    Path::new(MPISCOPE).with_file_name("examples").join(name)
}

/// Starts a program as a user, in a separate process group.
pub fn start(command: &mut Command, user: u32) -> Running {
    command.process_group(0).stdin(Stdio::null());
    if user != rustix::process::geteuid().as_raw() {
        command.uid(user).gid(user);
    }
    Running(command.spawn().unwrap())
}

/// Returns the output of a command, which is killed if it does not end within 20 seconds.
pub fn soon(command: &mut Command) -> Output {
    let mut bounded = Command::new("timeout");
    bounded.args(["-s", "KILL", "20"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    let output = bounded.output().unwrap();
    assert!(output.status.code().is_some_and(|code| code != 137), "it did not end: {output:?}");
    output
}

/// Polls until `look` returns something.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < limit, "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
