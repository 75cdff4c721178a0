//! The launcher: which programs are launchers, and the standard error of the one above us.
//!
//! * [`command`]: where the program begins in a launcher's command; [`options`]: how many words each option
//!   takes.
//!
//! Output of ranks passes through the launcher, and a launcher that aborts a job stops forwarding it: the
//! report of a killed job would be lost just when it is needed. If the launcher runs on this host, the report
//! is written to the launcher's own standard error.

pub mod command;
pub mod options;

use mpiscope_job::sources::procfs;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
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
    // Appending is safe with concurrent writers; `O_NOCTTY` keeps a terminal from becoming ours.
    let mut options = OpenOptions::new();
    options.append(true).custom_flags(libc::O_NOCTTY);
    options.open(format!("/proc/{}/fd/2", found?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_is_recognized_by_its_full_or_truncated_name() {
        assert!(starts_jobs(OsStr::new("mpiexec.openmpi")) && !starts_jobs(OsStr::new("prted")));
        assert!(is_between("hydra_bstrap_pr") && is_between("mpirun.openmpi") && is_between("prted"));
        assert!(!is_between("bash") && !is_between("mpi"));
    }
}
