//! What `/proc` tells about processes, without any right to trace them.
//!
//! Process numbers are those of the reader's PID namespace. A process in a container has another number inside it; the
//! numbers it has in the namespaces below are in [`Status::namespace_pids`]. Processes of sibling namespaces and of other
//! hosts cannot be seen at all: that a number is not found does not mean that the job has no such process.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, Module, Result, permission};

/// What the kernel says about a process to everybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The name of the program, up to 15 bytes; not to be confused with its path.
    pub name: String,
    /// One letter: `R` running, `S` sleeping, `D` waiting for a device, `T` stopped, `t` traced, `Z` ended, ….
    pub state: char,
    /// The process that started it, or that took it over; 0 when that is outside our PID namespace.
    pub parent: u32,
    /// When it started, in clock ticks since the host started. With the process number it is unique on a host.
    pub start_ticks: u64,
    /// The effective user.
    pub user: u32,
    /// Its numbers from our PID namespace inwards: one, unless it runs in a container within ours.
    pub namespace_pids: Vec<u32>,
}

impl Status {
    /// Whether it has ended and only waits to be collected.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// When it started, counted from the start of the host.
    pub fn started_after_boot(&self) -> Duration {
        // The kernel's unit for user space is 100 Hz on every supported machine, whatever it uses itself.
        Duration::from_millis(self.start_ticks.saturating_mul(10))
    }
}

/// What the kernel says about the process.
pub fn status(pid: u32) -> Result<Status> {
    let path = format!("/proc/{pid}/stat");
    let stat = read(pid, &path)?;
    let text = read(pid, &format!("/proc/{pid}/status"))?;
    let status = parse(&String::from_utf8_lossy(&stat), &String::from_utf8_lossy(&text));
    status.ok_or_else(|| Error::io(path, io::Error::other("not in the form that Linux documents")))
}

fn parse(stat: &str, status: &str) -> Option<Status> {
    // The name may hold blanks and brackets, so the fields are counted from the last bracket on.
    let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let line = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    let numbers = |text: &str| text.split_ascii_whitespace().filter_map(|field| field.parse().ok()).collect();
    Some(Status {
        name: name.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: fields.get(1)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        user: effective_user(status)?,
        namespace_pids: line("NSpid").map(numbers).unwrap_or_default(),
    })
}

/// The effective user of a process. Not the owner of its folder in `/proc`: that is root where the process hides its memory.
pub fn user(pid: u32) -> Result<u32> {
    let path = format!("/proc/{pid}/status");
    let text = read(pid, &path)?;
    let user = effective_user(&String::from_utf8_lossy(&text));
    user.ok_or_else(|| Error::io(path, io::Error::other("not in the form that Linux documents")))
}

fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn read(pid: u32, path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| gone_or(pid, Path::new(path), error))
}

/// The error for a file of a process: that the process is gone, that it may not be looked at, or else what the system says.
pub(crate) fn gone_or(pid: u32, path: &Path, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) if !Path::new(&format!("/proc/{pid}")).exists() => {
            Error::NoProcess { pid }
        }
        Some(libc::ESRCH) => Error::NoProcess { pid },
        Some(libc::EACCES | libc::EPERM) => permission::refused(pid),
        _ => Error::io(path, error),
    }
}

/// All processes that can be seen, in no particular order.
pub fn list() -> Result<Vec<u32>> {
    let entries = std::fs::read_dir("/proc").map_err(|error| Error::io("/proc", error))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The processes whose effective user is ours.
pub fn list_own() -> Result<Vec<u32>> {
    let user = std::fs::metadata("/proc/self").map_err(|error| Error::io("/proc/self", error))?.uid();
    let own = |pid: &u32| status(*pid).is_ok_and(|status| status.user == user);
    Ok(list()?.into_iter().filter(own).collect())
}

/// The command and its arguments; empty for a kernel thread and for a process that has ended.
pub fn command_line(pid: u32) -> Result<Vec<OsString>> {
    let text = read(pid, &format!("/proc/{pid}/cmdline"))?;
    let words = text.strip_suffix(b"\0").unwrap_or(&text);
    let word = |word: &[u8]| OsString::from_vec(word.to_vec());
    Ok(if text.is_empty() { Vec::new() } else { words.split(|byte| *byte == 0).map(word).collect() })
}

/// The program's file as the process names it; the kernel's mark for a deleted file is taken off.
pub fn executable(pid: u32) -> Result<PathBuf> {
    let path = link(pid, "exe")?;
    let name = path.as_os_str().as_bytes();
    Ok(name.strip_suffix(b" (deleted)").map(|name| PathBuf::from(OsStr::from_bytes(name))).unwrap_or(path))
}

/// The executable and libraries in the memory of a process. Unlike reading its memory, this is allowed under Yama.
pub fn modules(pid: u32) -> Result<Vec<Module>> {
    crate::live::modules(pid)
}

fn link(pid: u32, name: &str) -> Result<PathBuf> {
    let path = PathBuf::from(format!("/proc/{pid}/{name}"));
    std::fs::read_link(&path).map_err(|error| gone_or(pid, &path, error))
}

/// The name of the host that the reader runs on. A process in another UTS namespace ([`in_namespace_of_reader`]) may know
/// it by another.
pub fn hostname() -> Result<String> {
    let path = "/proc/sys/kernel/hostname";
    let name = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
    Ok(name.trim_end().to_owned())
}

/// Whether the process and the reader share a namespace of this kind (`pid`, `mnt`, `uts`, `user`, `net`).
pub fn in_namespace_of_reader(pid: u32, kind: &str) -> Result<bool> {
    let own = link(std::process::id(), &format!("ns/{kind}"))?;
    Ok(link(pid, &format!("ns/{kind}"))? == own)
}

/// A memfd that a process holds open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memfd {
    /// The descriptor in that process.
    pub fd: u32,
    /// The name that it was made with.
    pub name: String,
    /// The inode, the same for all descriptors of one memfd: several processes may hold it.
    pub inode: u64,
}

/// The memfds of a process whose names start with `prefix`, by descriptor.
pub fn memfds(pid: u32, prefix: &str) -> Result<Vec<Memfd>> {
    let folder = PathBuf::from(format!("/proc/{pid}/fd"));
    let entries = std::fs::read_dir(&folder).map_err(|error| gone_or(pid, &folder, error))?;
    let mut found: Vec<Memfd> = entries.flatten().filter_map(|entry| memfd(&entry.path(), prefix)).collect();
    found.sort_by_key(|memfd| memfd.fd);
    Ok(found)
}

fn memfd(path: &Path, prefix: &str) -> Option<Memfd> {
    let text = std::fs::read_link(path).ok()?;
    let name = text.to_str()?.strip_prefix("/memfd:")?;
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    let fd = path.file_name()?.to_str()?.parse().ok()?;
    let inode = std::fs::metadata(path).ok()?.ino();
    name.starts_with(prefix).then(|| Memfd { fd, name: name.to_owned(), inode })
}

/// Opens, for reading, the file behind a descriptor of another process. Neither a FIFO nor a terminal blocks this.
pub fn open_fd(pid: u32, fd: u32) -> Result<File> {
    let path = PathBuf::from(format!("/proc/{pid}/fd/{fd}"));
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(&path);
    file.map_err(|error| gone_or(pid, &path, error))
}

#[cfg(test)]
#[path = "procfs_tests.rs"]
mod tests;
