//! A process of another user, which may not be read. Root may read everything, so root runs this program
//! again as another user.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use mpiscope_target::{Error, Live, procfs};
use mpiscope_testkit::trials::{self, trial};

/// The user `nobody`.
const NOBODY: u32 = 65534;
const NAME: &str = "a_process_of_another_user_is_rejected_with_the_reason";

fn main() -> ExitCode {
    trials::run(vec![trial!(a_process_of_another_user_is_rejected_with_the_reason, needs somebody_else)])
}

fn is_root() -> bool {
    procfs::user(std::process::id()).unwrap() == 0
}

/// Returns a command that runs this program as `nobody`.
fn as_nobody() -> Command {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.uid(NOBODY).gid(NOBODY).current_dir("/");
    program
}

/// Requires that another user may run this program, or that we are not root.
fn somebody_else() -> Option<String> {
    let can = !is_root() || as_nobody().arg("--list").output().is_ok_and(|run| run.status.success());
    (!can).then(|| "another user may not run this program".to_owned())
}

fn a_process_of_another_user_is_rejected_with_the_reason() {
    if is_root() {
        let run = as_nobody().args(["--exact", NAME]).output().unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let refused = Live::open(1).unwrap_err();
    assert!(matches!(refused, Error::Permission { pid: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("user 0"), "{refused}");
    assert!(refused.to_string().contains("sudo"), "{refused}");
}
