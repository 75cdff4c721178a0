//! Finds the jobs on this host without any hint: every image is a memory file named `mpiscope:JOB`, and a
//! process that holds one shows it in `/proc/PID/fd` to its owner and to root. Each process is inspected
//! once, regardless of the number of images.
//!
//! Names prove nothing: any process can create or display a file with such a name. A job belongs to a *user*,
//! the owner of its memory files, and only processes of that user count as holders.

use crate::jobs::job::Job;
use crate::jobs::job_image::{JobImage, LINK, MemoryFile};
use mpiscope_target::procfs;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Returns all jobs visible to this user, ordered by user and name.
pub fn discover() -> Vec<Job> {
    let mut found: BTreeMap<(u32, String, MemoryFile), JobImage> = BTreeMap::new();
    for pid in processes() {
        for (job, path, file) in images_of(pid) {
            let key = (file.owner, job, file);
            let entry = found.entry(key).or_insert_with(|| JobImage::in_memory(file));
            entry.holders.push((pid, path));
        }
    }
    let mut jobs: BTreeMap<(u32, String), Job> = BTreeMap::new();
    for ((owner, name, _), image) in found {
        let job = jobs.entry((owner, name.clone()));
        job.or_insert_with(|| Job { name, owner, ..Job::default() }).images.push(image);
    }
    jobs.into_values().collect()
}

fn processes() -> Vec<u32> {
    let mut pids = procfs::list().unwrap_or_default();
    pids.sort_unstable();
    pids
}

/// Returns the images that a process holds and whose owner it shares: the job, the path to open, and the
/// file. Processes of other users show nothing.
fn images_of(pid: u32) -> Vec<(String, PathBuf, MemoryFile)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let Ok(user) = procfs::user(pid) else { return Vec::new() };
    let image = |entry: fs::DirEntry| {
        let path = entry.path();
        let link = fs::read_link(&path).ok()?;
        let name = link.as_os_str().as_bytes().strip_prefix(LINK.as_bytes())?;
        let job = String::from_utf8_lossy(name.strip_suffix(b" (deleted)").unwrap_or(name)).into_owned();
        let file = MemoryFile::of(&fs::metadata(&path).ok()?).filter(|file| file.owner == user)?;
        // The descriptor may have been reused in the meantime.
        (fs::read_link(&path).ok()? == link).then_some((job, path, file))
    };
    entries.filter_map(|e| image(e.ok()?)).collect()
}
