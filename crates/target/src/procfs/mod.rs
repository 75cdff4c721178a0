//! What `/proc` reports about processes, without permission to trace them.
//!
//! Process ids are those of the reader's PID namespace. A process in a container has another one inside it;
//! its ids in nested namespaces are in [`StatusLines::namespace_pids`]. Processes of sibling namespaces and
//! of other hosts are invisible: a missing id does not mean that the job has no such process.

mod environment;
mod stat;
pub(crate) mod status_lines;
mod whole;

pub use environment::Environment;
pub use stat::Stat;
pub use status_lines::StatusLines;
use whole::whole;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, Result, permission};

/// Reads the status line of a process, which is public.
pub fn stat(pid: u32) -> Result<Stat> {
    Stat::of(pid).map_err(|error| gone_or(pid, &of(pid, "stat"), error))
}

/// Reads the status file of a process.
pub fn status_lines(pid: u32) -> Result<StatusLines> {
    StatusLines::of(pid).map_err(|error| gone_or(pid, &of(pid, "status"), error))
}

/// Returns the effective user of a process. The owner of its directory in `/proc` differs: it is root if the
/// process is not dumpable.
pub fn user(pid: u32) -> Result<u32> {
    let user = status_lines(pid)?.user();
    let unknown = || Error::io(of(pid, "status"), io::Error::other("not in the form that Linux documents"));
    user.ok_or_else(unknown)
}

/// Reads the environment with which a process was started.
pub fn environment(pid: u32) -> Result<Environment> {
    read(pid, "environ").map(Environment::new)
}

/// Reads the memory map of a process.
pub fn maps(pid: u32) -> Result<Vec<u8>> {
    read(pid, "maps")
}

/// Returns the threads of a process, in no particular order.
pub fn threads(pid: u32) -> Result<Vec<u32>> {
    numbered(pid, &of(pid, "task"))
}

/// Whether a process with this id exists, even as a zombie.
pub fn exists(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn of(pid: u32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

fn read(pid: u32, name: &str) -> Result<Vec<u8>> {
    let path = of(pid, name);
    whole(&path).map_err(|error| gone_or(pid, &path, error))
}

/// Returns the error for a file of a process: the process is gone, access is not permitted, or else the
/// system's error.
pub(crate) fn gone_or(pid: u32, path: &Path, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ESRCH) if !exists(pid) => Error::NoProcess { pid },
        Some(libc::ESRCH) => Error::NoProcess { pid },
        Some(libc::EACCES | libc::EPERM) => permission::refused(pid),
        _ => Error::io(path, error),
    }
}

/// Returns all visible processes, in no particular order.
pub fn list() -> Result<Vec<u32>> {
    numbered(std::process::id(), Path::new("/proc"))
}

/// Returns the entries of a directory whose names are numbers.
fn numbered(pid: u32, folder: &Path) -> Result<Vec<u32>> {
    let entries = std::fs::read_dir(folder).map_err(|error| gone_or(pid, folder, error))?;
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// Returns the command and its arguments; empty for a kernel thread and for a process that has ended.
pub fn command_line(pid: u32) -> Result<Vec<OsString>> {
    let text = read(pid, "cmdline")?;
    let words = text.strip_suffix(b"\0").unwrap_or(&text);
    let word = |word: &[u8]| OsString::from_vec(word.to_vec());
    Ok(if text.is_empty() { Vec::new() } else { words.split(|byte| *byte == 0).map(word).collect() })
}

/// Returns the path of the program as seen by the process, without the kernel's suffix for a deleted file.
pub fn executable(pid: u32) -> Result<PathBuf> {
    let path = link(pid, "exe")?;
    let name = path.as_os_str().as_bytes();
    Ok(name.strip_suffix(b" (deleted)").map(|name| PathBuf::from(OsStr::from_bytes(name))).unwrap_or(path))
}

fn link(pid: u32, name: &str) -> Result<PathBuf> {
    let path = of(pid, name);
    std::fs::read_link(&path).map_err(|error| gone_or(pid, &path, error))
}

/// Returns the name of the reader's host. A process in another UTS namespace ([`in_namespace_of_reader`]) may
/// see a different name.
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
    /// The name with which it was created.
    pub name: String,
    /// The inode, equal for all descriptors of one memfd: several processes may hold it.
    pub inode: u64,
}

/// Returns the memfds of a process whose names start with `prefix`, by descriptor.
pub fn memfds(pid: u32, prefix: &str) -> Result<Vec<Memfd>> {
    let folder = of(pid, "fd");
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

/// Opens the file behind a descriptor of another process for reading. Neither a FIFO nor a terminal blocks
/// this.
pub fn open_fd(pid: u32, fd: u32) -> Result<File> {
    let path = of(pid, &format!("fd/{fd}"));
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags).open(&path);
    file.map_err(|error| gone_or(pid, &path, error))
}

#[cfg(test)]
mod tests;
