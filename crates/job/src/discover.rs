//! The jobs of this user on this host, found without being told: every image is a memory file named
//! `mpiscope:JOB`, and whoever holds one shows it in `/proc/PID/fd`.
//!
//! The rank, its wrapper and the collector hold the same file; it counts once, by inode. Nobody is stopped and
//! no ptrace right is used.

use crate::Error;
use crate::source::{Bytes, open_fd};
use mpiscope_image::Image;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// What a link to an image's memory file begins with.
const LINK: &str = "/memfd:mpiscope:";

/// A job: everything whose memory files have the same name.
#[derive(Debug, Default)]
pub struct Job {
    /// Name of the job.
    pub name: String,
    /// Its images.
    pub images: Vec<Found>,
}

/// An image that some process holds.
#[derive(Debug)]
pub struct Found {
    /// The processes that hold it, and where each can be opened.
    pub holders: Vec<(u32, PathBuf)>,
    /// Number of the memory file.
    inode: u64,
}

impl Found {
    /// Whether some process still holds the image.
    pub fn held(&self) -> bool {
        self.holders.iter().any(|(_, path)| path.symlink_metadata().is_ok())
    }

    /// Opens the image through the first holder that lets us and still has it there: others who look at images open and
    /// close them all the time.
    pub fn open(&self) -> Result<Image<Bytes>, Error> {
        let mut last = Error::NotFound("the process that held the image is gone; try again".into());
        for (pid, path) in &self.holders {
            match fs::File::open(path) {
                Ok(file) if file.metadata().is_ok_and(|found| found.ino() == self.inode) => {
                    return open_fd(file.into(), &format!("image of process {pid}"));
                }
                Ok(_) => {}
                Err(why) => last = Error::File { path: path.clone(), why: why.to_string() },
            }
        }
        Err(last)
    }

    /// The id by which this host knows the holder that is process `pid` in its own name space.
    pub fn outer_pid(&self, pid: u32) -> Option<u32> {
        let holders = || self.holders.iter().map(|(holder, _)| *holder);
        holders().find(|holder| *holder == pid).or_else(|| holders().find(|h| inner_pid(*h) == Some(pid)))
    }

    /// Whether process `pid` (in its own name space) is there.
    pub fn alive(&self, pid: u32) -> bool {
        self.holders.iter().any(|(holder, _)| *holder == pid || inner_pid(*holder) == Some(pid))
            || maps(pid, self.inode)
    }
}

/// The id of a process in its own name space.
fn inner_pid(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

/// Whether the process has this image mapped: it may have closed the file. Another process that has got the number of
/// one that ended has an image of its own, if any.
fn maps(pid: u32, inode: u64) -> bool {
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| mapped(&maps, inode))
}

/// Whether one of the lines is of the memory file with this number.
fn mapped(maps: &str, inode: u64) -> bool {
    // Addresses, rights, offset, device, inode, path.
    let number = |line: &str| line.split_whitespace().nth(4)?.parse::<u64>().ok();
    maps.lines().any(|line| line.contains(LINK) && number(line) == Some(inode))
}

/// All jobs, by name.
pub fn discover() -> Vec<Job> {
    let mut found: BTreeMap<(String, u64), Found> = BTreeMap::new();
    for pid in processes() {
        for (job, path, inode) in images_of(pid) {
            let entry = found.entry((job, inode)).or_insert(Found { holders: Vec::new(), inode });
            entry.holders.push((pid, path));
        }
    }
    let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
    for ((name, _), image) in found {
        let job = jobs.entry(name.clone()).or_insert_with(|| Job { name, images: Vec::new() });
        job.images.push(image);
    }
    jobs.into_values().collect()
}

fn processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<u32> = entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// Images that a process holds: job, where to open it, inode. Processes of others show nothing.
fn images_of(pid: u32) -> Vec<(String, PathBuf, u64)> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let image = |entry: fs::DirEntry| {
        let path = entry.path();
        let link = fs::read_link(&path).ok()?;
        let name = link.to_str()?.strip_prefix(LINK)?;
        let job = name.strip_suffix(" (deleted)").unwrap_or(name).to_owned();
        let inode = fs::metadata(&path).ok()?.ino();
        // Another file may have got the number in between.
        (fs::read_link(&path).ok()? == link).then_some((job, path.clone(), inode))
    };
    entries.filter_map(|e| image(e.ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_image::layout::MAGIC;
    use std::io::Write;

    #[test]
    fn a_holder_that_has_another_file_there_by_now_is_passed_over() {
        let file = |text: &[u8]| {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text).unwrap();
            file
        };
        let (other, image) = (file(b"something else"), file(&MAGIC));
        let inode = image.as_file().metadata().unwrap().ino();
        let holders = vec![(1, other.path().to_owned()), (2, image.path().to_owned())];
        let why = Found { holders, inode }.open().err().unwrap().to_string();
        assert!(why.contains("process 2"), "{why}");
        let why = Found { holders: vec![(1, other.path().to_owned())], inode }.open().err().unwrap();
        assert!(why.to_string().contains("is gone"), "{why}");
    }

    #[test]
    fn a_process_that_maps_another_image_is_another_process() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 77 /usr/lib/libc.so.6\n\
                    7f10-7f20 rw-s 00000000 00:01 4711 /memfd:mpiscope:a-1 (deleted)\n";
        assert!(mapped(maps, 4711));
        assert!(!mapped(maps, 4712) && !mapped(maps, 77) && !mapped("", 4711));
    }
}
