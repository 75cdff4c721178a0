//! ELF files: opened without trusting them, mapped, and searched for symbols.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use memmap2::Mmap;
use object::{Endianness, Object, ObjectSegment, ObjectSymbol, SymbolKind, SymbolSection};

use crate::maps::Mapping;
use crate::{ByteOrder, Error, Result};

/// Opens a regular file for reading. The path may come from a hostile core file, so this must neither block
/// on a FIFO nor affect a device.
pub fn open_regular(path: &Path) -> Result<std::fs::File> {
    // Checked before opening, because opening a device can have effects, and again afterward, because the
    // path may have changed.
    let check = |data: io::Result<std::fs::Metadata>| match data {
        Ok(data) if data.is_file() => Ok(()),
        Ok(_) => Err(Error::io(path, io::Error::other("not a regular file"))),
        Err(source) => Err(Error::io(path, source)),
    };
    check(std::fs::metadata(path))?;
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|source| Error::io(path, source))?;
    check(file.metadata())?;
    Ok(file)
}

/// A file in memory.
#[derive(Debug)]
pub struct Mapped {
    bytes: Contents,
    path: PathBuf,
}

#[derive(Debug)]
enum Contents {
    /// Read by the kernel page by page on demand.
    Map(Mmap),
    /// Read completely.
    Copy(Vec<u8>),
}

/// Longer files of another user are refused.
const LONGEST_COPY: u64 = 1 << 30;

impl Mapped {
    /// Opens a non-empty regular file. It is mapped if it belongs to this user or to root; another user's
    /// file is copied, because truncating a mapped file kills the reader.
    pub fn open(path: &Path) -> Result<Self> {
        let file = open_regular(path)?;
        let fail = |source| Error::io(path, source);
        let about = file.metadata().map_err(fail)?;
        let bytes = if [0, own_user()].contains(&about.uid()) {
            // SAFETY: the mapping is private and read-only. It cannot be guaranteed that the file keeps its
            // length while it is mapped; this is an installed program or library, which tools replace by
            // renaming, not by truncating.
            Contents::Map(unsafe { Mmap::map(&file) }.map_err(fail)?)
        } else {
            Contents::Copy(copy(file).map_err(fail)?)
        };
        Ok(Self { bytes, path: path.to_path_buf() })
    }

    /// Returns the parsed file: headers only, tables are read on demand.
    pub fn object(&self) -> Result<object::File<'_>> {
        object::File::parse(&**self).map_err(|reason| Error::elf(&self.path, reason))
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads a file completely.
fn copy(file: std::fs::File) -> io::Result<Vec<u8>> {
    if file.metadata()?.len() > LONGEST_COPY {
        let limit = format!("longer than {LONGEST_COPY} bytes, the limit for a file of another user");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, limit));
    }
    let mut copy = Vec::new();
    // It may still grow.
    file.take(LONGEST_COPY).read_to_end(&mut copy)?;
    Ok(copy)
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.bytes {
            Contents::Map(map) => map,
            Contents::Copy(copy) => copy,
        }
    }
}

/// Effective user id of the reader.
fn own_user() -> u32 {
    // SAFETY: no arguments, always succeeds.
    unsafe { libc::geteuid() }
}

/// Returns the address width and byte order, from the first bytes of an ELF file.
pub fn identity(header: &[u8]) -> Option<(usize, ByteOrder)> {
    let order = |data: u8| match data {
        object::elf::ELFDATA2LSB => Some(ByteOrder::Little),
        object::elf::ELFDATA2MSB => Some(ByteOrder::Big),
        _ => None,
    };
    match *header {
        [0x7f, b'E', b'L', b'F', object::elf::ELFCLASS32, data, ..] => Some((4, order(data)?)),
        [0x7f, b'E', b'L', b'F', object::elf::ELFCLASS64, data, ..] => Some((8, order(data)?)),
        _ => None,
    }
}

/// A file with code: the answers to repeated questions are cached.
#[derive(Debug)]
pub struct CodeFile {
    map: Mapped,
    segments: Vec<Segment>,
    /// The answers of [`CodeFile::symbol`].
    found: Mutex<HashMap<(Table, String), Option<u64>>>,
}

/// A segment: its range in the file and its preferred address in memory.
#[derive(Debug, Clone, Copy)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

impl CodeFile {
    /// Opens a regular file.
    ///
    /// # Errors
    /// When it cannot be read or is not an ELF file.
    pub fn open(path: &Path) -> Result<Arc<Self>> {
        Self::new(Mapped::open(path)?)
    }

    /// Uses a file that is already open.
    ///
    /// # Errors
    /// When it is not an ELF file.
    pub fn new(map: Mapped) -> Result<Arc<Self>> {
        let segment = |segment: object::Segment<'_, '_>| {
            let (offset, size) = segment.file_range();
            Segment { offset, size, address: segment.address() }
        };
        let segments = map.object()?.segments().map(segment).collect();
        Ok(Arc::new(Self { map, segments, found: Mutex::default() }))
    }

    /// Returns the address in the file of a defined function or object.
    ///
    /// # Errors
    /// When the file has become unreadable.
    pub fn symbol(&self, table: Table, name: &str) -> Result<Option<u64>> {
        let key = (table, name.to_owned());
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = found.get(&key) {
            return Ok(*known);
        }
        let address = find_symbol(&self.map.object()?, table, name);
        found.insert(key, address);
        Ok(address)
    }

    /// Returns the address in memory minus the address in the file, derived from one mapping of the file.
    /// `None` if the file's segments do not explain the mapping: then another file is mapped.
    pub fn bias(&self, mapping: &Mapping) -> Option<u64> {
        // The kernel maps whole pages, so a mapping may begin before its segment; some machines have larger
        // pages.
        [0x1000, 0x1_0000].into_iter().find_map(|page| {
            self.segments.iter().find_map(|Segment { offset, size, address }| {
                let inside = (offset - offset % page..offset.checked_add(*size)?).contains(&mapping.offset);
                let at = mapping.offset.wrapping_sub(*offset).wrapping_add(*address);
                inside.then(|| mapping.start.wrapping_sub(at))
            })
        })
    }
}

/// One of a file's two symbol tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// `.dynsym`, which a stripped library still has.
    Dynamic,
    /// `.symtab`.
    Full,
}

/// Returns the address in the file of a defined function or object by linear search in place, which needs no
/// memory.
fn find_symbol(object: &object::File<'_>, table: Table, name: &str) -> Option<u64> {
    let mut symbols = match table {
        Table::Dynamic => object.dynamic_symbols(),
        Table::Full => object.symbols(),
    };
    let found = symbols.find(|symbol| is_place(symbol) && symbol.name_bytes() == Ok(name.as_bytes()));
    found.map(|symbol| symbol.address())
}

/// Whether a symbol denotes an address in the module: not an import, a thread-local offset, a number or a
/// file name.
pub fn is_place<'data>(symbol: &impl ObjectSymbol<'data>) -> bool {
    let kinds = [SymbolKind::Text, SymbolKind::Data, SymbolKind::Unknown];
    kinds.contains(&symbol.kind()) && matches!(symbol.section(), SymbolSection::Section(_))
}

/// Whether the part of a file at this offset is code. `None` if no segment contains it.
pub fn is_code(object: &object::File<'_>, offset: u64) -> Option<bool> {
    let mut found = None;
    for segment in object.segments() {
        let (start, size) = segment.file_range();
        // Mappings begin at page boundaries, so the comparison starts at the page in which the segment
        // begins.
        if (start & !0xfff..start.saturating_add(size)).contains(&offset) {
            found = Some(found.unwrap_or(false) || segment.permissions().executable());
        }
    }
    found
}

/// Returns the build id of a file that begins with these bytes, which may be cut off after the notes.
pub fn build_id_of_head(head: &[u8]) -> Option<Vec<u8>> {
    match identity(head)? {
        (4, _) => notes_of_head::<object::elf::FileHeader32<Endianness>>(head),
        _ => notes_of_head::<object::elf::FileHeader64<Endianness>>(head),
    }
}

fn notes_of_head<Elf>(head: &[u8]) -> Option<Vec<u8>>
where
    Elf: object::read::elf::FileHeader<Endian = Endianness>,
{
    use object::read::elf::ProgramHeader;
    let header = Elf::parse(head).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, head).ok()?;
    segments.iter().find_map(|segment| {
        let mut notes = segment.notes(endian, head).ok()??;
        while let Ok(Some(note)) = notes.next() {
            if note.name() == object::elf::ELF_NOTE_GNU && note.n_type(endian) == object::elf::NT_GNU_BUILD_ID
            {
                return Some(note.desc().to_vec());
            }
        }
        None
    })
}

/// Returns the type of an ELF file (`ET_EXEC`, `ET_CORE`, …) from its first bytes.
pub fn file_type(header: &[u8]) -> Option<u16> {
    let (_, order) = identity(header)?;
    Some(order.number(header.get(16..18)?) as u16)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_overlong_file_of_another_user_is_rejected_and_not_read_in_part() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LONGEST_COPY + 1).unwrap();
        let refused = copy(file).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::FileTooLarge);
    }
}
