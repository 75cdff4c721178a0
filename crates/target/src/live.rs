//! A running process, read through the kernel without stopping it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::elf::{self, CodeFile, Mapped};
use crate::maps::{self, Mapping};
use crate::modules;
use crate::process_memory::{self, Refusal};
use crate::procfs::{self, Stat};
use crate::{ByteOrder, Error, Module, Result, Target, permission};

/// The files with code that processes of this host have mapped: each is opened and read once for all
/// processes. Meant for one inspection; a file that is overwritten in place is not read again.
#[derive(Debug, Default)]
pub struct Files(Mutex<HashMap<FileId, Arc<CodeFile>>>);

/// Device and inode, path, and whether the file was deleted.
type FileId = ((u64, u64), PathBuf, bool);

/// Maximum number of files kept: no honest job has more.
const MOST_FILES: usize = 1 << 14;

impl Files {
    fn of(&self, pid: u32, mapping: &Mapping) -> Result<Arc<CodeFile>> {
        let id = (mapping.inode, mapping.path.clone(), mapping.deleted);
        let known = |files: &HashMap<FileId, Arc<CodeFile>>| files.get(&id).cloned();
        if let Some(file) = known(&self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(file);
        }
        let file = CodeFile::new(open_mapping(pid, mapping)?)?;
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if files.len() < MOST_FILES {
            files.insert(id, file.clone());
        }
        Ok(file)
    }
}

/// A running process of this host.
///
/// The process is never stopped, so data may change between two reads: readers of structures must verify what
/// they read.
#[derive(Debug)]
pub struct Live {
    pid: u32,
    executable: Option<PathBuf>,
    width: usize,
    order: ByteOrder,
    started: u64,
    files: Arc<Files>,
    /// What was mapped when it was opened, if that is to serve all lookups.
    mapped: Option<(Vec<Mapping>, OnceLock<Vec<Module>>)>,
}

impl Live {
    /// Opens a process that the caller may trace.
    ///
    /// # Errors
    /// [`Error::NoProcess`]; [`Error::Permission`] with the rule that forbids it and a remedy.
    pub fn open(pid: u32) -> Result<Self> {
        Self::open_among(pid, Arc::default())
    }

    /// Opens one of many processes that share files.
    ///
    /// # Errors
    /// The same as those of [`Live::open`].
    pub fn open_among(pid: u32, files: Arc<Files>) -> Result<Self> {
        Self::described(pid, files, &procfs::stat(pid)?).map(|(live, _)| live)
    }

    /// Like [`Live::open_among`], for one short look: all lookups use the files that were mapped when it was
    /// opened.
    ///
    /// # Errors
    /// The same as those of [`Live::open`]; a process that has ended and is waiting to be reaped is none.
    pub fn open_briefly(pid: u32, files: Arc<Files>) -> Result<Self> {
        let stat = procfs::stat(pid)?;
        if stat.has_ended() {
            return Err(Error::NoProcess { pid });
        }
        let (live, maps) = Self::described(pid, files, &stat)?;
        Ok(Self { mapped: Some((maps, OnceLock::new())), ..live })
    }

    fn described(pid: u32, files: Arc<Files>, stat: &Stat) -> Result<(Self, Vec<Mapping>)> {
        let maps = read_maps(pid)?;
        let executable = procfs::executable(pid).ok();
        // A process between exit and wait has no memory; a kernel thread never had any.
        let groups = modules::group(&maps);
        let own = |group: &&Vec<Mapping>| group.first().map(|first| &first.path) == executable.as_ref();
        let group = groups.iter().find(own).or(groups.first()).and_then(|group| group.first());
        let header_at = group.ok_or(Error::NoProcess { pid })?.start;
        let mut header = [0; 64];
        read(pid, header_at, &mut header)?;
        let (width, order) = elf::identity(&header).unwrap_or((size_of::<usize>(), ByteOrder::HOST));
        let live = Self { pid, executable, width, order, started: stat.start_ticks, files, mapped: None };
        Ok((live, maps))
    }

    /// Whether this is still the process that was opened, and not another that reuses its pid.
    pub fn is_alive(&self) -> bool {
        procfs::stat(self.pid).is_ok_and(|stat| stat.start_ticks == self.started && !stat.has_ended())
    }
}

/// Returns the modules of a process. Requires permission to read `/proc`, which is less than the permission
/// to read its memory.
#[cfg(test)]
pub(crate) fn modules_of(pid: u32) -> Result<Vec<Module>> {
    modules_among(pid, &Files::default())
}

fn modules_among(pid: u32, files: &Files) -> Result<Vec<Module>> {
    let maps = read_maps(pid)?;
    let executable = procfs::executable(pid).ok();
    Ok(modules::modules(&maps, executable.as_deref(), |mapping| files.of(pid, mapping)))
}

fn read_maps(pid: u32) -> Result<Vec<Mapping>> {
    Ok(maps::parse(&procfs::maps(pid)?))
}

fn read(pid: u32, address: u64, buf: &mut [u8]) -> Result<()> {
    let len = buf.len();
    process_memory::read(pid, address, buf).map_err(|refusal| match refusal {
        Refusal::Address => Error::Unreadable { address, len, why: "nothing is mapped there" },
        Refusal::Gone => Error::NoProcess { pid },
        Refusal::Forbidden => permission::refused(pid),
    })
}

/// Opens the exact file that is mapped. Its path is relative to the mount namespace of the process; a file
/// that was deleted or replaced is accessible only through the mapping itself, which requires a privilege, or
/// as the executable.
fn open_mapping(pid: u32, mapping: &Mapping) -> Result<Mapped> {
    if !mapping.deleted {
        let relative = mapping.path.strip_prefix("/").unwrap_or(&mapping.path);
        let inside = Mapped::open(&Path::new(&format!("/proc/{pid}/root")).join(relative));
        return inside.or_else(|_| Mapped::open(&mapping.path));
    }
    let Mapping { start, end, .. } = mapping;
    let file = Mapped::open(Path::new(&format!("/proc/{pid}/map_files/{start:x}-{end:x}")));
    file.or_else(|error| match procfs::executable(pid) {
        Ok(executable) if executable == mapping.path => Mapped::open(Path::new(&format!("/proc/{pid}/exe"))),
        _ => Err(error),
    })
}

impl Target for Live {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        read(self.pid, address, buf)
    }

    fn width(&self) -> usize {
        self.width
    }

    fn byte_order(&self) -> ByteOrder {
        self.order
    }

    fn modules(&self) -> Result<Vec<Module>> {
        modules_among(self.pid, &self.files)
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        let open = |mapping: &Mapping| self.files.of(self.pid, mapping);
        let modules = |maps: &[Mapping]| modules::modules(maps, self.executable.as_deref(), open);
        let find = |maps: &[Mapping], modules: &[Module]| {
            modules::symbol(modules, name, |module| {
                let first = maps.iter().find(|mapping| mapping.start == module.start);
                first.map_or_else(|| CodeFile::open(&module.path), open)
            })
        };
        match &self.mapped {
            Some((maps, known)) => find(maps, known.get_or_init(|| modules(maps))),
            None => {
                let maps = read_maps(self.pid)?;
                find(&maps, &modules(&maps))
            }
        }
    }

    fn pid(&self) -> Option<u32> {
        Some(self.pid)
    }

    fn executable(&self) -> Option<PathBuf> {
        self.executable.clone()
    }
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
