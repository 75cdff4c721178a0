//! The tables of a core file. Every count and size is checked against a limit and the file before it is used.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object::Endianness;
use object::elf::{ET_CORE, PT_LOAD, PT_NOTE};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader};

use super::Segment;
use super::fields::Kind;
use super::notes::Notes;
use crate::{ByteOrder, Error, Result, elf};

/// The kernel's limit on mappings is far below this.
const MAX_SEGMENTS: usize = 1 << 18;
/// A thread takes a few kilobytes of notes, so this suffices for tens of thousands.
const MAX_NOTES: u64 = 64 << 20;

pub struct Parsed {
    pub width: usize,
    pub order: ByteOrder,
    pub segments: Vec<Segment>,
    pub notes: Notes,
}

pub fn parse(path: &Path, file: &File) -> Result<Parsed> {
    let mut header = [0; 64];
    let read = file.read_at(&mut header, 0).map_err(|source| Error::io(path, source))?;
    let header = header.get(..read).unwrap_or_default();
    let none = || Error::elf(path, "not an ELF file, so not a core file; is it compressed? unpack it first");
    let (width, order) = elf::identity(header).ok_or_else(none)?;
    let kind = match elf::file_type(header) {
        Some(object::elf::ET_EXEC | object::elf::ET_DYN) => Some("a program or a library"),
        Some(object::elf::ET_REL) => Some("an object file"),
        Some(ET_CORE) => None,
        _ => Some("an ELF file of an unknown kind"),
    };
    if let Some(kind) = kind {
        return Err(Error::NotCore { path: path.to_path_buf(), kind });
    }
    let tables = match width {
        4 => tables::<object::elf::FileHeader32<Endianness>>(file),
        _ => tables::<object::elf::FileHeader64<Endianness>>(file),
    };
    let (machine, mut segments, areas) = tables.map_err(|reason| Error::elf(path, reason))?;
    segments.sort_by_key(|segment| segment.address);
    let mut notes = Notes::default();
    for area in areas {
        notes.add_area(&area, Kind { width, order, machine });
    }
    notes.finish();
    Ok(Parsed { width, order, segments, notes })
}

/// The machine, the segments of memory, and the bytes of each area of notes.
type Tables = (u16, Vec<Segment>, Vec<Vec<u8>>);

fn tables<Elf: FileHeader<Endian = Endianness>>(file: &File) -> Result<Tables, String> {
    let cache = ReadCache::new(file);
    let damaged = |what: object::read::Error| format!("damaged core file: {what}");
    let header = Elf::parse(&cache).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let count = header.phnum(endian, &cache).map_err(damaged)?;
    if count > MAX_SEGMENTS {
        return Err(format!("damaged core file: {count} segments"));
    }
    let (mut segments, mut areas, mut room) = (Vec::new(), Vec::new(), MAX_NOTES);
    for segment in header.program_headers(endian, &cache).map_err(damaged)? {
        match segment.p_type(endian) {
            PT_LOAD => segments.extend(memory(segment, endian)),
            PT_NOTE => areas.extend(notes(file, segment, endian, &mut room)),
            _ => {}
        }
    }
    if segments.is_empty() {
        return Err("the core file contains no memory; was it cut off? raise `ulimit -c`".to_owned());
    }
    Ok((header.e_machine(endian), segments, areas))
}

fn memory<P: ProgramHeader<Endian = Endianness>>(segment: &P, endian: Endianness) -> Option<Segment> {
    let (offset, stored) = segment.file_range(endian);
    let size: u64 = segment.p_memsz(endian).into();
    let flags = segment.p_flags(endian);
    (size > 0).then(|| Segment {
        address: segment.p_vaddr(endian).into(),
        size,
        stored: stored.min(size),
        writable: flags & object::elf::PF_W != 0,
        executable: flags & object::elf::PF_X != 0,
        offset,
    })
}

/// Returns the bytes of an area of notes, up to the end of the file and the room left for all notes.
fn notes<P>(file: &File, segment: &P, endian: Endianness, room: &mut u64) -> Option<Vec<u8>>
where
    P: ProgramHeader<Endian = Endianness>,
{
    let (offset, size) = segment.file_range(endian);
    let left = file.metadata().ok()?.len().saturating_sub(offset);
    let size = size.min(left).min(*room);
    *room -= size;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}
