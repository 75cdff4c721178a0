//! A core file: the memory of a process at its death.
//!
//! Core files of any width, byte order and machine are supported. Data that the kernel omits because it is
//! available elsewhere (code and constants of programs and libraries) is read from those files, if their
//! build ids still match. A truncated file, as after a full disk or a size limit, is read up to its end.

mod fields;
mod notes;
mod parse;
mod threads;

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::elf::{self, CodeFile, Mapped};
use crate::maps::Mapping;
use crate::{ByteOrder, Error, Module, Result, Target, modules};

pub use notes::{Crash, ProcessInfo, Sender};
pub use threads::Thread;

/// A module is mapped in a handful of pieces, but changes of protection may split them further.
const MAX_PIECES: usize = 64;

/// A range of the dead process's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First address.
    pub address: u64,
    /// Its length in memory, in bytes.
    pub size: u64,
    /// Number of bytes in the core file, from the first on.
    pub stored: u64,
    /// Whether the process could write it.
    pub writable: bool,
    /// Whether it held code.
    pub executable: bool,
    /// Offset of its bytes in the core file.
    offset: u64,
}

impl Segment {
    fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|from| from < self.size)
    }
}

/// An open core file.
#[derive(Debug)]
pub struct Core {
    path: PathBuf,
    file: File,
    length: u64,
    width: usize,
    order: ByteOrder,
    /// In address order.
    segments: Vec<Segment>,
    notes: notes::Notes,
    sysroot: PathBuf,
    modules: OnceLock<Vec<Module>>,
    /// Files that replace data missing in the core; `None` if they cannot.
    files: Mutex<HashMap<PathBuf, Option<Arc<Mapped>>>>,
}

impl Core {
    /// Opens a core file and reads its tables, but not its memory.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Elf`] for another kind of file or a damaged header; [`Error::NotCore`] for a
    /// program.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::with_sysroot(path, "/")
    }

    /// Like [`Core::open`], but looks for the program and its libraries below a directory other than `/`: for
    /// a core file from another host or a container.
    pub fn with_sysroot(path: impl AsRef<Path>, sysroot: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = elf::open_regular(path)?;
        let parsed = parse::parse(path, &file)?;
        Ok(Self {
            path: path.to_path_buf(),
            length: file.metadata().map_err(|source| Error::io(path, source))?.len(),
            file,
            width: parsed.width,
            order: parsed.order,
            segments: parsed.segments,
            notes: parsed.notes,
            sysroot: sysroot.as_ref().to_path_buf(),
            modules: OnceLock::new(),
            files: Mutex::default(),
        })
    }

    /// The path of the core file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The memory ranges, in address order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The threads; the one that received the signal comes first.
    pub fn threads(&self) -> &[Thread] {
        &self.notes.threads
    }

    /// What killed the process. `None` if the core file was taken from a process that survived (it was
    /// stopped to be inspected), or has no such note.
    pub fn crash(&self) -> Option<&Crash> {
        self.notes.crash.as_ref()
    }

    /// The identity of the process.
    pub fn process(&self) -> Option<&ProcessInfo> {
        self.notes.process.as_ref()
    }

    /// Number of bytes of a segment, from the first on, that are available: fewer than stored if the file was
    /// truncated.
    pub fn present(&self, segment: &Segment) -> u64 {
        segment.stored.min(self.length.saturating_sub(segment.offset))
    }

    /// Number of bytes missing at the end of the file, if it was truncated.
    pub fn missing(&self) -> Option<u64> {
        let ends = self.segments.iter().map(|segment| segment.offset.saturating_add(segment.stored));
        ends.max().and_then(|end| end.checked_sub(self.length)).filter(|missing| *missing > 0)
    }

    /// Returns a value of the auxiliary vector that the kernel passed to the program (`AT_ENTRY`, `AT_PHDR`,
    /// …).
    pub fn auxiliary(&self, key: u64) -> Option<u64> {
        self.notes.auxiliary.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn segment_at(&self, address: u64) -> Option<&Segment> {
        let behind = self.segments.partition_point(|segment| segment.address <= address);
        self.segments.get(behind.checked_sub(1)?).filter(|segment| segment.contains(address))
    }

    /// Fills as much of `buf` as one source has; returns how much that is, or why there is nothing.
    fn read_some(&self, address: u64, buf: &mut [u8]) -> Result<usize, &'static str> {
        let Some(segment) = self.segment_at(address) else {
            return self.read_file(address, u64::MAX, buf);
        };
        let from = address - segment.address;
        let left = usize::try_from(segment.stored.saturating_sub(from)).unwrap_or(usize::MAX);
        let len = left.min(buf.len());
        if let (1.., Some(at)) = (len, segment.offset.checked_add(from)) {
            match self.file.read_at(&mut buf[..len], at) {
                Ok(read @ 1..) => return Ok(read),
                _ if segment.writable => {
                    return Err("the core file is cut off before them; raise `ulimit -c`");
                }
                _ => {}
            }
        }
        // Writable memory may differ from the file.
        if segment.writable {
            return Err("the kernel left them out of the core file (see core(5), coredump_filter)");
        }
        self.read_file(address, segment.address.saturating_add(segment.size), buf)
    }

    /// Reads from the program or library that was mapped, up to `end`.
    fn read_file(&self, address: u64, end: u64, buf: &mut [u8]) -> Result<usize, &'static str> {
        let mapping = self.mapping_at(address).ok_or("they are not in the core file")?;
        let file = self
            .file_of(mapping)
            .ok_or("the program or library that holds them is missing or has changed")?;
        let offset = mapping.offset.checked_add(address - mapping.start);
        let bytes = offset.and_then(|offset| file.get(usize::try_from(offset).ok()?..)).unwrap_or_default();
        let inside = usize::try_from(mapping.end.min(end) - address).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(inside).min(buf.len())];
        buf[..bytes.len()].copy_from_slice(bytes);
        if bytes.is_empty() { Err("they are beyond the end of the mapped file") } else { Ok(bytes.len()) }
    }

    fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let mappings = &self.notes.mappings;
        let behind = mappings.partition_point(|mapping| mapping.start <= address);
        mappings.get(behind.checked_sub(1)?).filter(|mapping| address < mapping.end)
    }

    fn file_of(&self, mapping: &Mapping) -> Option<Arc<Mapped>> {
        let lock = || self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&mapping.path) {
            return known.clone();
        }
        let file = self.open_mapping(mapping).ok().map(Arc::new);
        lock().insert(mapping.path.clone(), file.clone());
        file
    }

    /// Opens the file of a mapping, if it is the one that was mapped: an ELF file with the same build id,
    /// which the core contains if it has the file's first page, as is the kernel's default.
    fn open_mapping(&self, mapping: &Mapping) -> Result<Mapped> {
        let relative = mapping.path.strip_prefix("/").unwrap_or(&mapping.path);
        let file = Mapped::open(&self.sysroot.join(relative))?;
        if elf::identity(&file) != Some((self.width, self.order)) {
            return Err(Error::elf(
                &mapping.path,
                "not a program or library for the same architecture as the one that was mapped",
            ));
        }
        let same = match (self.build_id(mapping), elf::build_id_of_head(&file)) {
            (Some(then), Some(now)) => then == now,
            _ => !mapping.deleted,
        };
        if !same {
            let reason =
                "it was rebuilt or replaced since the program died; give the folder that holds the old one";
            return Err(Error::elf(&mapping.path, reason));
        }
        Ok(file)
    }

    fn build_id(&self, mapping: &Mapping) -> Option<Vec<u8>> {
        elf::build_id_of_head(&self.first_page(mapping)?)
    }

    /// Returns the first page of the mapped file, or as much of it as the core contains.
    fn first_page(&self, mapping: &Mapping) -> Option<Vec<u8>> {
        // The pieces of a module are adjacent, so its beginning is the nearest below.
        let mappings = &self.notes.mappings;
        let behind = mappings.partition_point(|other| other.start <= mapping.start);
        let near = mappings.get(behind.saturating_sub(MAX_PIECES)..behind)?;
        let first = near.iter().rev().find(|other| other.offset == 0 && other.path == mapping.path)?;
        let segment = self.segment_at(first.start)?;
        let from = first.start - segment.address;
        let len = segment.stored.saturating_sub(from).min(4096);
        let mut head = vec![0; usize::try_from(len).ok()?];
        self.file.read_exact_at(&mut head, segment.offset.checked_add(from)?).ok()?;
        Some(head)
    }

    /// Whether a mapping contained code. The kernel writes an empty segment for what it omits; gdb's `gcore`
    /// does not, so the file must tell or, failing that, the fact that an ELF file was mapped there.
    fn is_code(&self, mapping: &Mapping) -> bool {
        if let Some(segment) = self.segment_at(mapping.start) {
            return segment.executable;
        }
        let file = self.file_of(mapping);
        let known = file.and_then(|file| elf::is_code(&file.object().ok()?, mapping.offset));
        known.unwrap_or_else(|| self.first_page(mapping).is_some_and(|head| elf::identity(&head).is_some()))
    }

    fn executable_path(&self) -> Option<&Path> {
        const AT_PHDR: u64 = 3;
        const AT_ENTRY: u64 = 9;
        let at = |key| self.mapping_at(self.auxiliary(key)?);
        at(AT_PHDR).or_else(|| at(AT_ENTRY)).map(|mapping| mapping.path.as_path())
    }
}

impl Target for Core {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        let mut done = 0;
        let len = buf.len();
        let error = |why| Error::Unreadable { address, len, why };
        while done < len {
            let at = address.checked_add(done as u64).ok_or(error("the address space ends before them"))?;
            done += self.read_some(at, &mut buf[done..]).map_err(error)?;
        }
        Ok(())
    }

    fn width(&self) -> usize {
        self.width
    }

    fn byte_order(&self) -> ByteOrder {
        self.order
    }

    fn modules(&self) -> Result<Vec<Module>> {
        let modules = self.modules.get_or_init(|| {
            let mut mappings = self.notes.mappings.clone();
            mappings.iter_mut().for_each(|mapping| mapping.executable = self.is_code(mapping));
            modules::modules(&mappings, self.executable_path(), |mapping| {
                CodeFile::new(self.open_mapping(mapping)?)
            })
        });
        Ok(modules.clone())
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        modules::symbol(&self.modules()?, name, |module| {
            let mapping = self.mapping_at(module.start);
            mapping.map_or_else(
                || CodeFile::open(&module.path),
                |mapping| CodeFile::new(self.open_mapping(mapping)?),
            )
        })
    }

    fn pid(&self) -> Option<u32> {
        self.process().map(|process| process.pid)
    }

    fn executable(&self) -> Option<PathBuf> {
        self.executable_path().map(Path::to_path_buf)
    }
}

#[cfg(test)]
mod tests;
