//! Finding records: every table is a list in order of first use, so a search reads the heads of all of them, in blocks.
//!
//! An index is made per kind when it is first needed and serves one look at the process. What it gives is verified: the
//! record is read again as a whole, with its sequence number, and must still have the handle that was looked for.

use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flag, Head, Life};
use mpiscope_image::{Error, Image, Source};
use std::collections::HashMap;
use std::mem::offset_of;

/// Bytes read at once.
const BLOCK: u64 = 256 << 10;
/// Bytes of one kind that are looked at. An image that claims more is damaged, or is not looked at to its end.
const MOST_BYTES: u64 = 4 << 30;
/// Records of one kind that are indexed.
const MOST_RECORDS: u64 = 1 << 23;

/// A record as the index knows it.
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
    /// The same on all processes that share it; zero if it is this process's own.
    pub identity: u64,
    /// Whether the layer knew it as predefined: its handle says that only where the process's symbols can be read.
    pub predefined: bool,
}

/// The records of one kind by handle and by uid.
#[derive(Debug, Default)]
pub struct Index {
    /// In order of the table.
    pub entries: Vec<Entry>,
    /// The best record for each handle: the living one, else the one freed last.
    by_handle: HashMap<u64, usize>,
    by_uid: HashMap<u64, usize>,
    /// Not all records were looked at.
    pub cut: bool,
}

impl Index {
    /// Reads the heads of all records of a kind.
    pub fn of<S: Source>(image: &Image<S>, kind: SectionKind) -> Result<Self, Error> {
        let mut index = Self::default();
        // The image's own reader judges the directory.
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

    /// The record that this handle stands for.
    pub fn by_handle(&self, handle: u64) -> Option<Entry> {
        self.by_handle.get(&handle).and_then(|place| self.entries.get(*place)).copied()
    }

    /// The record with this uid.
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

/// A handle that lives stands before one that is marked, that before freed ones, of those the youngest.
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

/// A field that names another object: where it stands in the records of a kind, and its bytes (4 or 8).
pub type Field = (SectionKind, usize, usize);

/// Records by the value of one field; those where it is zero are left out.
pub type ByField = HashMap<u64, Vec<Entry>>;

/// Sorts the records of a kind by a field. Made once for each field that is asked for, so that a listing of many objects
/// with their cross references stays linear.
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
        // Records that the index does not have are empty; so only the span that it has is read.
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

/// A number as this host, which wrote the image, stores it.
fn number(bytes: &[u8]) -> u64 {
    match (bytes.try_into(), bytes.try_into()) {
        (Ok(word), _) => u64::from_ne_bytes(word),
        (_, Ok(half)) => u64::from(u32::from_ne_bytes(half)),
        _ => 0,
    }
}
