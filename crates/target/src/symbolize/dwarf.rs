//! Lines and inlined functions from debug information.

#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{Dwarf, EndianReader, RunTimeEndian, SectionId};
use object::{CompressionFormat, Object, ObjectSection};

use super::{debug_file, demangle};
use crate::elf::Mapped;
use crate::{Error, Result};

/// Maximum unpacked size of a section; the debug information of the largest programs is a few gigabytes in
/// total.
const MAX_UNPACKED: u64 = 2 << 30;
/// Deflate cannot exceed a ratio of about 1030 to 1, and real debug information is far below that.
const MAX_RATIO: u64 = 1100;

type Reader = EndianReader<RunTimeEndian, Section>;

/// The parsed debug information of a module.
pub type Lines = addr2line::Context<Reader>;

/// The bytes of a section: mapped from the file, or unpacked.
#[derive(Debug, Clone)]
pub enum Section {
    Mapped(Arc<Mapped>, Range<usize>),
    Unpacked(Arc<[u8]>),
}

impl Deref for Section {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(file, range) => file.get(range.clone()).unwrap_or_default(),
            Self::Unpacked(bytes) => bytes,
        }
    }
}

// SAFETY: both variants hand out bytes behind an `Arc` that is never written or moved; moving the `Section`
// moves only the pointer, and the range does not change after creation.
unsafe impl gimli::StableDeref for Section {}
// SAFETY: a clone shares the `Arc` and has the same range, so it hands out the same bytes at the same address.
unsafe impl gimli::CloneStableDeref for Section {}

/// Loads the debug information of a file; `None` if it has none.
pub fn load(root: &Path, file: &Arc<Mapped>) -> Result<Option<Lines>> {
    let object = file.object()?;
    // A file whose debug information was split off keeps the section header, but not its bytes.
    let has_lines = object
        .section_by_name(".debug_info")
        .is_some_and(|section| section.file_range().is_some_and(|(_, size)| size > 0));
    if !has_lines {
        return Ok(None);
    }
    let mut dwarf = sections(file)?;
    if let Ok(Some((name, id))) = object.gnu_debugaltlink()
        && let Some(shared) = debug_file::find_shared(root, name, id, file.path())
    {
        dwarf.set_sup(sections(&Arc::new(shared))?);
    }
    let context = addr2line::Context::from_dwarf(dwarf);
    context
        .map(Some)
        .map_err(|reason| Error::elf(file.path(), format!("damaged debug information: {reason}")))
}

fn sections(file: &Arc<Mapped>) -> Result<Dwarf<Reader>> {
    let object = file.object()?;
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    Dwarf::load(|id: SectionId| {
        let section = object.section_by_name(id.name());
        let bytes = section.map_or(Ok(Section::Unpacked(Arc::default())), |section| bytes(file, &section))?;
        Ok(EndianReader::new(bytes, endian))
    })
}

fn bytes<'data>(file: &Arc<Mapped>, section: &impl ObjectSection<'data>) -> Result<Section> {
    let error = |reason: &dyn ToString| Error::elf(file.path(), reason.to_string());
    let packed = section.compressed_data().map_err(|reason| error(&reason))?;
    if packed.format == CompressionFormat::None {
        let (offset, size) = section.file_range().unwrap_or_default();
        let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(size)).ok());
        let (start, end) = range.ok_or_else(|| error(&"a section outside the address space"))?;
        return Ok(Section::Mapped(file.clone(), start..end));
    }
    let limit = MAX_UNPACKED.min((packed.data.len() as u64).saturating_mul(MAX_RATIO));
    if packed.uncompressed_size > limit {
        return Err(error(&"a compressed section with an impossible size"));
    }
    let unpacked = packed.decompress().map_err(|reason| error(&reason))?;
    Ok(Section::Unpacked(Arc::from(unpacked)))
}

/// A function that contains an address, as far as known.
#[derive(Default)]
pub struct Function {
    pub name: Option<String>,
    pub file: Option<PathBuf>,
    pub line: Option<u32>,
}

/// Returns the functions that contain an address, innermost first: the function with the instruction, then
/// those that it is inlined into, each with the line of the inlined call.
pub fn functions(lines: &Lines, address: u64) -> impl Iterator<Item = Function> {
    let mut frames = lines.find_frames(address).skip_all_loads().ok();
    std::iter::from_fn(move || {
        let frame = frames.as_mut()?.next().ok().flatten()?;
        let name = frame.function.and_then(|name| {
            let name: Cow<'_, str> = name.raw_name().ok()?;
            Some(demangle(&name))
        });
        let (file, line) = frame.location.map_or((None, None), |place| (place.file, place.line));
        Some(Function { name, file: file.map(PathBuf::from), line: line.filter(|line| *line > 0) })
    })
}
