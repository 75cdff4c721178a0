//! Finds records: a table is ordered by first use, so a search reads the headers of all records, in blocks.
//!
//! An index per kind is created on demand and serves one inspection of the process. Its results are verified:
//! the record is read again completely, with its sequence number, and must still have the requested handle.

use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Head, Life};
use mpiscope_image::{Error, Image, Source};
use std::collections::HashMap;
use std::mem::offset_of;

/// Number of bytes read at once.
const BLOCK: u64 = 256 << 10;
/// Maximum number of bytes read for one kind. An image that claims more is damaged, or is not read to its
/// end.
const MOST_BYTES: u64 = 4 << 30;
/// Maximum number of records indexed per kind.
const MOST_RECORDS: u64 = 1 << 23;

/// An index entry for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Index in its table.
    pub index: u64,
    /// Its handle.
    pub handle: u64,
    /// Its uid.
    pub uid: u64,
    /// A [`Life`].
    pub life: u32,
    /// Equal on all processes that share the object; zero if it is local to this process.
    pub identity: u64,
    /// Whether the layer marked it as predefined: the handle alone tells that only if the process's symbols
    /// can be read.
    pub predefined: bool,
}

/// The records of one kind, by handle and by uid.
#[derive(Debug, Default)]
pub struct Index {
    /// In table order.
    pub entries: Vec<Entry>,
    /// The best record for each handle: the live one, otherwise the one freed last.
    by_handle: HashMap<u64, usize>,
    by_uid: HashMap<u64, usize>,
    /// Whether some records were not read.
    pub cut: bool,
}

impl Index {
    /// Reads the headers of all records of a kind.
    pub fn of<S: Source>(image: &Image<S>, kind: SectionKind) -> Result<Self, Error> {
        let mut index = Self::default();
        // Lets the image validate the directory.
        if image.table::<Head>(kind)?.is_empty() {
            return Ok(index);
        }
        let header = image.header()?;
        let sections = header.directory.iter().take(header.sections.get() as usize);
        let mut first = 0u64;
        let mut budget = MOST_BYTES;
        for section in sections.filter(|s| s.kind.get() == kind.0) {
            let (capacity, size) = (section.capacity.get(), u64::from(section.record_size.get()));
            let run =
                Run { first, offset: section.offset.get(), size, used: section.used.get().min(capacity) };
            index.run(image, &run, &mut budget)?;
            first = first.saturating_add(capacity);
        }
        index.sort();
        Ok(index)
    }

    fn run<S: Source>(&mut self, image: &Image<S>, run: &Run, budget: &mut u64) -> Result<(), Error> {
        let size = run.size.max(1);
        let block = (BLOCK / size).max(1);
        let mut at = 0;
        let mut buf = Vec::new();
        while at < run.used {
            let count = block.min(run.used - at);
            let bytes = count.saturating_mul(size);
            if bytes > *budget || self.entries.len() as u64 + count > MOST_RECORDS {
                self.cut = true;
                return Ok(());
            }
            *budget -= bytes;
            buf.resize(usize::try_from(bytes).unwrap_or(0), 0);
            image.source().read(run.offset + at * size, &mut buf).map_err(Error::Unreadable)?;
            let heads = buf.chunks_exact(usize::try_from(size).unwrap_or(1));
            let numbered = heads.zip(run.first + at..);
            self.entries.extend(numbered.filter_map(|(head, index)| entry(head, index)));
            at += count;
        }
        Ok(())
    }

    fn sort(&mut self) {
        for (place, entry) in self.entries.iter().enumerate() {
            self.by_uid.insert(entry.uid, place);
            let best = self.by_handle.entry(entry.handle).or_insert(place);
            let better = self.entries.get(*best).is_none_or(|old| rank(entry) > rank(old));
            if better {
                *best = place;
            }
        }
    }

    /// Returns the record that this handle denotes.
    pub fn by_handle(&self, handle: u64) -> Option<Entry> {
        self.by_handle.get(&handle).and_then(|place| self.entries.get(*place)).copied()
    }

    /// Returns the record with this uid.
    pub fn by_uid(&self, uid: u64) -> Option<Entry> {
        self.by_uid.get(&uid).and_then(|place| self.entries.get(*place)).copied()
    }
}

struct Run {
    first: u64,
    offset: u64,
    size: u64,
    used: u64,
}

/// Live records rank before marked ones, those before freed ones; newer freed ones before older.
fn rank(entry: &Entry) -> (u32, u64) {
    let life = match Life(entry.life) {
        Life::LIVE => 2,
        Life::MARKED => 1,
        _ => 0,
    };
    (life, entry.uid)
}

fn entry(head: &[u8], index: u64) -> Option<Entry> {
    let word = |at: usize| head.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let half = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let life = half(offset_of!(Head, life))?;
    (life != Life::EMPTY.0).then_some(())?;
    let (handle, uid) = (word(offset_of!(Head, handle))?, word(offset_of!(Head, uid))?);
    let identity = word(offset_of!(Head, identity))?;
    let predefined = half(offset_of!(Head, flags))? & Flag::PREDEFINED.0 != 0;
    Some(Entry { index, life, handle, uid, identity, predefined })
}

/// A field that names another object: section, offset in the record, and size in bytes (4 or 8).
pub type Field = (SectionKind, usize, usize);

/// Records by the value of one field, without those where it is zero.
pub type ByField = HashMap<u64, Vec<Entry>>;

/// Groups the records of a kind by a field. Cached for each requested field, so that listing many objects
/// with their cross references takes linear time.
pub fn by_field<S: Source>(image: &Image<S>, index: &Index, (kind, field, width): Field) -> ByField {
    let mut sorted = ByField::new();
    let Ok(header) = image.header() else { return sorted };
    let sections = header.directory.iter().take(header.sections.get() as usize);
    let mut first = 0u64;
    let mut entries = index.entries.iter().peekable();
    let mut buf = Vec::new();
    for section in sections.filter(|s| s.kind.get() == kind.0) {
        let (capacity, size) = (section.capacity.get(), u64::from(section.record_size.get()).max(1));
        let end = first.saturating_add(capacity);
        // Records that are not in the index are empty, so only the span of the index is read.
        while let Some(start) = entries.peek().map(|entry| entry.index).filter(|index| *index < end) {
            let count = (BLOCK / size).max(1).min(end - start);
            let offset = section.offset.get().saturating_add((start - first).saturating_mul(size));
            buf.resize(usize::try_from(count.saturating_mul(size)).unwrap_or(0), 0);
            if image.source().read(offset, &mut buf).is_err() {
                return sorted;
            }
            while let Some(entry) = entries.next_if(|entry| entry.index < start + count) {
                let at = usize::try_from((entry.index - start) * size).unwrap_or(usize::MAX);
                let bytes = at.checked_add(field).and_then(|at| buf.get(at..at.checked_add(width)?));
                if let Some(value) = bytes.map(number).filter(|value| *value != 0) {
                    sorted.entry(value).or_default().push(*entry);
                }
            }
        }
        first = end;
    }
    sorted
}

/// Decodes a number in the byte order of this host, which wrote the image.
fn number(bytes: &[u8]) -> u64 {
    match (bytes.try_into(), bytes.try_into()) {
        (Ok(word), _) => u64::from_ne_bytes(word),
        (_, Ok(half)) => u64::from(u32::from_ne_bytes(half)),
        _ => 0,
    }
}
