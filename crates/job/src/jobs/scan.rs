//! One scan of the processes of this host: every image is a memory file named `mpiscope:JOB`, and a process
//! that holds one shows it in `/proc/PID/fd` to its owner and to root. Each process is inspected once,
//! regardless of the number of images, and what was read serves everything that a command asks about the host.
//!
//! Names prove nothing: any process can create or display a file with such a name. A job belongs to a *user*,
//! the owner of its memory files, and only processes of that user count as holders.

use crate::base::parallel;
use crate::jobs::acquire::{JobKey, WhoIs};
use crate::jobs::job_image::{Holder, JobImage, LINK, MemoryFile};
use crate::jobs::other_worlds::{Connected, Spawned, Which};
use mpiscope_image::layout::State;
use mpiscope_target::procfs::{self, StatusLines};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, OnceLock};

/// Number of processes that a thread inspects at a time.
const AT_A_TIME: usize = 32;

/// The images that one scan has found.
#[derive(Debug, Default)]
pub struct Scan(Vec<Found>);

/// An image that was found.
#[derive(Debug)]
pub struct Found {
    /// The owner and name of its job.
    pub job: JobKey,
    /// The image.
    pub image: JobImage,
    told: OnceLock<Option<Told>>,
}

/// What an image told when it was opened.
#[derive(Debug)]
pub struct Told {
    /// The identity of its process, with the pid of its own namespace.
    pub who: WhoIs,
    /// What the process has spawned and is still connected to.
    pub spawned: Vec<Spawned>,
    /// Its open connections to other jobs.
    pub connected: Vec<Connected>,
}

impl Scan {
    /// Scans the processes that are visible to this user.
    #[must_use]
    pub fn now() -> Self {
        let mut pids = procfs::list().unwrap_or_default();
        pids.sort_unstable();
        let parts: Vec<&[u32]> = pids.chunks(AT_A_TIME).collect();
        let held =
            parallel::work(&parts, |pids| pids.iter().flat_map(|pid| images_of(*pid)).collect::<Vec<_>>());
        let mut found: BTreeMap<(JobKey, MemoryFile), JobImage> = BTreeMap::new();
        for (job, file, holder) in held.into_iter().flatten() {
            let image = found.entry(((file.owner, job), file)).or_insert_with(|| JobImage::in_memory(file));
            image.holders.push(holder);
        }
        let all = found.into_iter().map(|((job, _), image)| Found { job, image, told: OnceLock::new() });
        Self(all.collect())
    }

    /// The images, ordered by job.
    pub fn images(&self) -> impl Iterator<Item = &Found> {
        self.0.iter()
    }

    /// The images of a job.
    pub fn of_job(&self, owner: u32, name: &str) -> impl Iterator<Item = &Found> {
        self.images().filter(move |found| found.job.0 == owner && found.job.1 == name)
    }
}

impl Found {
    /// What the image told when this was first asked; `None` if it cannot be read.
    pub fn told(&self) -> Option<&Told> {
        self.told.get_or_init(|| Told::by(&self.image)).as_ref()
    }
}

impl Told {
    fn by(image: &JobImage) -> Option<Self> {
        let image = image.open().ok()?;
        let who = WhoIs::of(&image)?;
        // A process that has left MPI is connected with no other.
        let inside = State(image.header().ok()?.state.get()) == State::INITIALIZED;
        let connected = if inside { Connected::of(&image) } else { Vec::new() };
        Some(Self { spawned: Spawned::of(&image, &who.entry.world, Which::Live), connected, who })
    }
}

/// Returns the images that a process holds and whose owner it shares: the name of the job, the file, and the
/// holder. Processes of other users show nothing.
fn images_of(pid: u32) -> Vec<(String, MemoryFile, Holder)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    // Most processes hold none, and nothing else is read of them.
    let mut process: Option<Option<(u32, Arc<[u32]>)>> = None;
    let mut image = |entry: fs::DirEntry| {
        let path = entry.path();
        let link = fs::read_link(&path).ok()?;
        let name = link.as_os_str().as_bytes().strip_prefix(LINK.as_bytes())?;
        let job = String::from_utf8_lossy(name.strip_suffix(b" (deleted)").unwrap_or(name)).into_owned();
        let (user, numbers) = process.get_or_insert_with(|| user_and_numbers(pid)).clone()?;
        let file = MemoryFile::of(&fs::metadata(&path).ok()?).filter(|file| file.owner == user)?;
        // The descriptor may have been reused in the meantime.
        (fs::read_link(&path).ok()? == link).then_some((job, file, Holder { pid, path, numbers }))
    };
    entries.filter_map(|e| image(e.ok()?)).collect()
}

fn user_and_numbers(pid: u32) -> Option<(u32, Arc<[u32]>)> {
    let status = StatusLines::of(pid).ok()?;
    Some((status.user()?, status.namespace_pids().into()))
}
