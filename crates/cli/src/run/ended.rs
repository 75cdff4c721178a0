//! How a process that is not our child ended, and the core file that it left.
#![allow(unsafe_code)]

use super::signals;
use mpiscope_job::jobs::evidence::ProcessEnd;
use mpiscope_job::model::process::Ending;
use mpiscope_job::sources::procfs;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// `struct pidfd_info` as of the kernel version that added exit codes (64 bytes).
#[repr(C)]
#[derive(Default)]
struct Info {
    mask: u64,
    cgroup: u64,
    ids: [u32; 11],
    exit_code: i32,
}

/// `PIDFD_INFO_EXIT`.
const EXIT: u64 = 1 << 3;
/// `PIDFD_GET_INFO`: `_IOWR(0xFF, 11, struct pidfd_info)` with the size above.
const GET_INFO: libc::c_ulong = (3 << 30) | ((size_of::<Info>() as libc::c_ulong) << 16) | (0xff << 8) | 11;

const _: () = assert!(size_of::<Info>() == 64);

/// Returns how the process behind a pidfd ended. Known once its parent has reaped it; requires Linux 6.15.
pub fn of_descriptor(pidfd: impl AsFd) -> Option<Ending> {
    let mut info = Info { mask: EXIT, ..Info::default() };
    // SAFETY: the structure has the size encoded in the request number.
    let done = unsafe { libc::ioctl(pidfd.as_fd().as_raw_fd(), GET_INFO as _, &raw mut info) };
    (done == 0 && info.mask & EXIT != 0).then(|| of_status(info.exit_code))
}

/// Returns how a process ended that its parent has not reaped yet.
pub fn of_zombie(pid: u32) -> Option<Ending> {
    let stat = procfs::stat(pid).ok().filter(|stat| stat.state == 'Z')?;
    stat.wait_status.map(of_status)
}

fn of_status(status: i32) -> Ending {
    if libc::WIFSIGNALED(status) {
        Ending::Signal(libc::WTERMSIG(status))
    } else {
        Ending::Exit(libc::WEXITSTATUS(status))
    }
}

/// Whether the kernel writes a core file for a process that ended like this, limits permitting.
pub fn dumps_core(ending: Ending) -> bool {
    const DUMPING: [i32; 10] = [
        libc::SIGQUIT,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGSEGV,
        libc::SIGSYS,
        libc::SIGXCPU,
        libc::SIGXFSZ,
    ];
    matches!(ending, Ending::Signal(signal) if DUMPING.contains(&signal))
}

/// Where a process would leave a core file; determined while the process lives.
#[derive(Debug, Clone)]
pub struct CorePlace {
    folder: PathBuf,
    pid: u32,
    since: SystemTime,
}

impl CorePlace {
    /// Determines the place for a process.
    pub fn of(pid: u32) -> Option<Self> {
        let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
        Some(Self { folder, pid, since: SystemTime::now() })
    }

    /// Returns the core file if it exists and is newer than the process.
    pub fn file(&self) -> Option<PathBuf> {
        let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").ok()?;
        let with_pid =
            fs::read_to_string("/proc/sys/kernel/core_uses_pid").is_ok_and(|text| text.trim() == "1");
        let file = self.folder.join(name(pattern.trim_end(), self.pid, with_pid)?);
        let fresh = |path: &Path| {
            let data = fs::metadata(path).ok()?;
            Some(data.is_file() && data.modified().ok()? >= self.since)
        };
        fresh(&file)?.then_some(file)
    }
}

/// Expands a core pattern for a process. `None` if the kernel pipes core files to a program, or if the
/// pattern has unknown specifiers.
fn name(pattern: &str, pid: u32, with_pid: bool) -> Option<String> {
    if pattern.starts_with('|') || pattern.is_empty() {
        return None;
    }
    let (mut name, mut has_pid, mut chars) = (String::new(), false, pattern.chars());
    while let Some(c) = chars.next() {
        match (c, c == '%') {
            (c, false) => name.push(c),
            _ => match chars.next()? {
                '%' => name.push('%'),
                'p' | 'P' | 'i' | 'I' => {
                    has_pid = true;
                    name.push_str(&pid.to_string());
                }
                'h' => name.push_str(rustix::system::uname().nodename().to_str().ok()?),
                'u' => name.push_str(&rustix::process::geteuid().as_raw().to_string()),
                _ => return None,
            },
        }
    }
    if with_pid && !has_pid {
        name.push_str(&format!(".{pid}"));
    }
    Some(name)
}

/// Whether the processes of this host were ended by a signal with which users and schedulers end whole jobs:
/// those of the other hosts have got it too.
pub fn told_to_end(ends: &[(u64, ProcessEnd)]) -> bool {
    let mut signals = ends.iter().filter_map(|(_, end)| match end.ending {
        Some(Ending::Signal(signal)) => Some(signal),
        _ => None,
    });
    signals.next().is_some_and(signals::ends_jobs) && signals.all(signals::ends_jobs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::process::Command;

    #[test]
    fn a_zombie_and_a_pidfd_reveal_how_the_process_ended() {
        for (script, ending) in [("exit 7", Ending::Exit(7)), ("kill -9 $$", Ending::Signal(9))] {
            let mut child = Command::new("sh").args(["-c", script]).spawn().unwrap();
            let pid = child.id();
            let fd = pidfd_open(Pid::from_raw(pid as i32).unwrap(), PidfdFlags::empty()).unwrap();
            let poll = &mut [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
            rustix::event::poll(poll, None).unwrap();
            assert_eq!(of_zombie(pid), Some(ending));
            child.wait().unwrap();
            // Older kernels do not report it.
            assert!(of_descriptor(&fd).is_none_or(|said| said == ending));
            assert_eq!(of_zombie(pid), None);
        }
    }

    #[test]
    fn the_name_of_a_core_file_follows_the_pattern() {
        assert_eq!(name("core", 7, false).as_deref(), Some("core"));
        assert_eq!(name("core", 7, true).as_deref(), Some("core.7"));
        assert_eq!(name("/var/c.%p.100%%", 7, true).as_deref(), Some("/var/c.7.100%"));
        assert_eq!(name("|/usr/lib/systemd/systemd-coredump %P", 7, false), None);
        assert_eq!(name("core.%t", 7, false), None);
    }
}
