//! The launcher: which programs are launchers, and the standard error of the one above us.
//!
//! * [`command`]: where the program begins in a launcher's command; [`options`]: how many words each option
//!   takes.
//!
//! Output of ranks passes through the launcher, and a launcher that aborts a job stops forwarding it: the
//! report of a killed job would be lost just when it is needed. If the launcher runs on this host, the report
//! is written to the launcher's own standard error. If that is a file not opened for appending, as with
//! `mpirun ... > log 2>&1`, the launcher and its shell go on writing at their own position in it, so the report
//! must advance that position.

pub mod command;
pub mod options;

use mpiscope_job::sources::procfs;
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

/// Programs that users start jobs with.
const LAUNCHERS: [&str; 16] = [
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "orterun",
    "prterun",
    "prun",
    "srun",
    "aprun",
    "jsrun",
    "flux",
    "palsrun",
    "mpirun_rsh",
];
/// Programs that launchers start between themselves and the ranks.
const HELPERS: [&str; 5] = ["hydra_pmi_proxy", "hydra_bstrap_proxy", "orted", "prted", "prte"];

/// Whether a program of this name starts jobs: the ranks are its descendants, so it is not a rank itself.
pub fn starts_jobs(name: &OsStr) -> bool {
    LAUNCHERS.iter().any(|launcher| name == *launcher)
}

/// Whether the kernel's name of a process is that of a launcher or helper; it is truncated to 15 bytes.
fn is_between(name: &str) -> bool {
    LAUNCHERS.iter().chain(&HELPERS).any(|known| known.bytes().take(15).eq(name.bytes()))
}

/// Maximum length of a chain of parents.
const MOST_PARENTS: usize = 16;

/// Returns the standard error of the outermost launcher above this process, if we may open it.
pub fn standard_error() -> Option<File> {
    let mut pid = std::os::unix::process::parent_id();
    let mut found = None;
    for _ in 0..MOST_PARENTS {
        let Ok(stat) = procfs::stat(pid) else { break };
        if is_between(&stat.name) {
            found = Some(pid);
        } else if found.is_some() {
            break;
        }
        pid = stat.parent;
    }
    standard_error_of(found?)
}

fn standard_error_of(pid: u32) -> Option<File> {
    let path = format!("/proc/{pid}/fd/2");
    if fs::metadata(&path).is_ok_and(|about| about.is_file())
        && let Some(shared) = with_its_position(pid)
    {
        return Some(shared);
    }
    // Appending is safe with concurrent writers; `O_NOCTTY` keeps a terminal from becoming ours.
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(libc::O_NOCTTY);
    options.open(path).ok()
}

/// Returns a process's standard error with its position, unless every write to it appends anyway. The kernel
/// may refuse (before Linux 5.6, or where processes may not be traced).
fn with_its_position(pid: u32) -> Option<File> {
    let process = pidfd_open(Pid::from_raw(i32::try_from(pid).ok()?)?, PidfdFlags::empty()).ok()?;
    let file = pidfd_getfd(process, 2, PidfdGetfdFlags::empty()).ok()?;
    let appends = fcntl_getfl(&file).ok()?.contains(OFlags::APPEND);
    (!appends).then(|| File::from(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    #[test]
    fn what_a_launcher_writes_later_does_not_replace_the_report() {
        for appends in [false, true] {
            let log = tempfile::NamedTempFile::new().unwrap();
            let of_shell = OpenOptions::new().write(true).append(appends).open(log.path()).unwrap();
            let mut shell = Command::new("sh");
            shell.args(["-c", "echo before >&2; echo; read line; echo after >&2"]);
            let mut shell =
                shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(of_shell).spawn().unwrap();
            std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
            standard_error_of(shell.id()).unwrap().write_all(b"the report\n").unwrap();
            shell.stdin.take().unwrap().write_all(b"\n").unwrap();
            shell.wait().unwrap();
            assert_eq!(fs::read_to_string(log.path()).unwrap(), "before\nthe report\nafter\n");
        }
    }

    #[test]
    fn a_launcher_is_recognized_by_its_full_or_truncated_name() {
        assert!(starts_jobs(OsStr::new("mpiexec.openmpi")) && !starts_jobs(OsStr::new("prted")));
        assert!(is_between("hydra_bstrap_pr") && is_between("mpirun.openmpi") && is_between("prted"));
        assert!(!is_between("bash") && !is_between("mpi"));
    }
}
