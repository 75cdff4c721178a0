//! Lets the ranks of one host find each other without messages, through a file in shared memory.
//!
//! Before `MPI_Init`, every rank writes its [`ProcessDescriptor`] at its rank's offset into a file with a
//! name that all ranks of the world on this host can derive. It is in their user's
//! [folder](meeting_place::folder), so no other user can take the name first. No rank leaves `MPI_Init`
//! before all have entered it (all libraries exchange addresses in it), so the file is complete afterward.
//! Then the name is removed: it exists only while the job starts. Files left behind by jobs that are killed
//! during that time are removed by later jobs.
#![allow(unsafe_code)]

use super::process_descriptor::{self, ProcessDescriptor};
use crate::base::complaint::complain;
use crate::base::settings::{self, variable};
use crate::base::{limits, meeting_place};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Upper limit for a plausible number of ranks on a host.
const MOST: u64 = 1 << 20;

/// Suffix of the files' names.
const SUFFIX: &str = ".world";
/// Longer than any job needs to start.
const STALE: Duration = Duration::from_secs(3600);

/// The files of this world on this host. Ranks in a separate PID namespace know only one of its names.
pub struct Meeting {
    places: Vec<(File, PathBuf)>,
    /// Rank according to the launcher.
    pub rank: i32,
}

impl Meeting {
    /// Makes this process known to the others. `None` if the launcher reports no rank, or (with a complaint)
    /// there is no folder to meet in.
    pub fn enter() -> Option<Self> {
        let rank = number(&[c"PMIX_RANK", c"OMPI_COMM_WORLD_RANK", c"PMI_RANK"])?;
        let worlds = worlds();
        match meeting_place::folder().and_then(|folder| Self::enter_in(&folder, &worlds, rank)) {
            Ok(meeting) => (!meeting.places.is_empty()).then_some(meeting),
            Err(why) => {
                complain(&format!("the ranks on this host cannot find each other before MPI_Init: {why}"));
                None
            }
        }
    }

    fn enter_in(folder: &Path, worlds: &[Vec<u8>], rank: u32) -> io::Result<Self> {
        if rank == 0 {
            sweep(folder, STALE);
        }
        let places = worlds.iter().map(|world| Self::enter_at(folder, world, rank));
        let places = places.collect::<io::Result<_>>()?;
        Ok(Self { places, rank: i32::try_from(rank).map_err(io::Error::other)? })
    }

    fn enter_at(folder: &Path, world: &[u8], rank: u32) -> io::Result<(File, PathBuf)> {
        let path = folder.join(format!("{:016x}{SUFFIX}", meeting_place::key(world)));
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.mode(0o600).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
        let at_path = |why: io::Error| io::Error::new(why.kind(), format!("{}: {why}", path.display()));
        let file = options.open(&path).map_err(at_path)?;
        let at = u64::from(rank) * process_descriptor::SIZE as u64;
        let rank = i32::try_from(rank).map_err(io::Error::other)?;
        let own = ProcessDescriptor::own(rank);
        limits::without_signals(|| file.write_all_at(own.as_bytes(), at)).map_err(at_path)?;
        Ok((file, path))
    }

    /// Returns the descriptor of a rank, if it is on this host and has entered.
    pub fn descriptor(&self, rank: i32) -> Option<ProcessDescriptor> {
        let rank_at = u64::try_from(rank).ok().filter(|rank| *rank < MOST)?;
        self.places.iter().find_map(|(file, _)| {
            let mut bytes = [0; process_descriptor::SIZE];
            file.read_exact_at(&mut bytes, rank_at * process_descriptor::SIZE as u64).ok()?;
            ProcessDescriptor::from_bytes(&bytes).filter(|descriptor| descriptor.rank == rank)
        })
    }

    /// Removes the names. Every rank does this, since none knows whether it is the last on its host.
    pub fn leave(self) {
        for (_, path) in &self.places {
            // Another rank may have been first.
            let _gone = std::fs::remove_file(path);
        }
    }
}

/// Removes files of jobs that were killed while starting.
fn sweep(dir: &Path, age: Duration) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|e| e.file_name().to_string_lossy().ends_with(SUFFIX)) {
        let old =
            entry.metadata().and_then(|about| about.modified()).ok().and_then(|time| time.elapsed().ok());
        if old.is_some_and(|old| old > age) {
            // Another process may have removed it already, or it is not ours.
            let _gone = std::fs::remove_file(entry.path());
        }
    }
}

/// Number of ranks of the world on this host, according to the launcher.
pub fn local_size() -> Option<i32> {
    number(&[c"OMPI_COMM_WORLD_LOCAL_SIZE", c"MPI_LOCALNRANKS", c"PALS_LOCAL_SIZE"])
        .and_then(|n| i32::try_from(n).ok())
}

/// Identifies this world on this host: the launcher's namespace, or the launcher's process that started the
/// ranks (every spawned world has its own) with its start time. In the latter case, also the connection that
/// all ranks inherit from that process, which identifies the world to ranks that cannot see the process.
fn worlds() -> Vec<Vec<u8>> {
    if let Some(name) = variable(c"PMIX_NAMESPACE").filter(|name| !name.is_empty()) {
        return vec![name.into_bytes()];
    }
    // SAFETY: no arguments, always succeeds.
    let launcher = launcher().unwrap_or_else(|| unsafe { libc::getppid() });
    let started = process_descriptor::start_of(&launcher.to_string());
    let by_process = started.map(|started| format!("{launcher}@{started}").into_bytes());
    by_process.into_iter().chain(inherited()).collect()
}

/// The connection to Hydra's proxy, MPICH's or Intel's, which every rank below it inherits. Its inode number
/// is the same in all of them.
fn inherited() -> Option<Vec<u8>> {
    let names = [c"HYDI_CONTROL_FD", c"HYDRA_BSTRAP_UPSTREAM_FD"];
    let descriptor = number(&names)?;
    let link = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).ok()?.into_os_string().into_vec();
    link.starts_with(b"socket:[").then_some(link)
}

/// The process at the other end of the launcher's connection.
fn launcher() -> Option<i32> {
    let fd: i32 = variable(c"PMI_FD")?.to_str().ok()?.parse().ok()?;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the buffer has the stated length; the kernel checks the descriptor.
    let failed = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &mut len)
    };
    (failed == 0 && peer.pid > 0).then_some(peer.pid)
}

fn number(names: &[&CStr]) -> Option<u32> {
    names.iter().find_map(|name| settings::small_number(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> io::Result<PathBuf> {
        let dir = std::env::temp_dir().join(format!("mpiscope-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    #[test]
    fn only_old_files_of_this_kind_are_removed() -> io::Result<()> {
        let dir = scratch("sweep")?;
        for name in ["old.world", "new.world", "other"] {
            let file = File::create(dir.join(name))?;
            if name != "new.world" {
                file.set_modified(std::time::SystemTime::UNIX_EPOCH)?;
            }
        }
        sweep(&dir, STALE);
        let left = ["old.world", "new.world", "other"].map(|name| dir.join(name).exists());
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(left, [false, true, true]);
        Ok(())
    }

    #[test]
    fn ranks_that_know_only_one_name_of_their_world_see_the_others() -> io::Result<()> {
        let dir = scratch("names")?;
        let one = Meeting::enter_in(&dir, &["a".into(), "b".into()], 0)?;
        let other = Meeting::enter_in(&dir, &["b".into()], 1)?;
        let seen = [&one, &other].map(|meeting| [0, 1].map(|rank| meeting.descriptor(rank).is_some()));
        [one, other].into_iter().for_each(Meeting::leave);
        std::fs::remove_dir_all(&dir)?;
        assert_eq!(seen, [[true, true]; 2]);
        Ok(())
    }

    #[test]
    fn ranks_of_one_world_see_each_other_and_those_of_another_do_not() -> io::Result<()> {
        let dir = scratch("meeting")?;
        let [one, two, other] = [("a", 0), ("a", 1), ("b", 1)]
            .map(|(world, rank)| Meeting::enter_in(&dir, &[world.into()], rank));
        let (one, two, other) = (one?, two?, other?);
        let seen = [&one, &two, &other].map(|meeting| [0, 1].map(|rank| meeting.descriptor(rank).is_some()));
        [one, two, other].into_iter().for_each(Meeting::leave);
        let left = std::fs::read_dir(&dir)?.count();
        std::fs::remove_dir_all(&dir)?;
        assert_eq!((seen, left), ([[true, true], [true, true], [false, true]], 0));
        Ok(())
    }
}
