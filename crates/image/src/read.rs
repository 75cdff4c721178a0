//! Reads an image: bytes that may be old, foreign, damaged, or changing while they are read.
#![allow(unsafe_code)]

use crate::layout::{
    BYTE_ORDER, Call, HEADER_SIZE, Header, MAGIC, OLDEST_VERSION, SectionKind, Text, ThreadHead, VERSION,
    Words,
};
use std::mem::{MaybeUninit, offset_of, size_of};
use std::sync::atomic::{Ordering, fence};

/// A source of an image's bytes.
pub trait Source {
    /// Fills `buf` with the bytes at `offset`, or returns why they cannot be read.
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String>;

    /// Number of bytes.
    fn len(&self) -> u64;

    /// Whether there are no bytes at all.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are bytes up to here. May be answered without asking for the [`len`](Self::len) of a file that
    /// only grows.
    fn reaches(&self, end: u64) -> bool {
        end <= self.len()
    }
}

impl Source for [u8] {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let bytes = usize::try_from(offset)
            .ok()
            .and_then(|start| self.get(start..start.checked_add(buf.len())?))
            .ok_or_else(|| format!("{} bytes at {offset} are beyond the end ({})", buf.len(), self.len()))?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl Source for Vec<u8> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        self.as_slice().read(offset, buf)
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        (**self).read(offset, buf)
    }

    fn len(&self) -> u64 {
        (**self).len()
    }

    fn reaches(&self, end: u64) -> bool {
        (**self).reaches(end)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        (**self).read(offset, buf)
    }

    fn len(&self) -> u64 {
        (**self).len()
    }

    fn reaches(&self, end: u64) -> bool {
        (**self).reaches(end)
    }
}

/// Why an image cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not begin with [`MAGIC`].
    NotAnImage,
    /// Written by another version of the preload library.
    Version(u32),
    /// Written on a machine with a different byte order or pointer size.
    Foreign(&'static str),
    /// A size or offset is impossible.
    Corrupt(String),
    /// The bytes cannot be read.
    Unreadable(String),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotAnImage => {
                f.write_str(
                    "this is not an image of mpiscope (it does not begin with MPISCOPE): name a file that `mpiscope save` \
                     or `mpiscope run --out` wrote, or a core file",
                )
            }
            Self::Version(found) => write!(
                f,
                "the image has layout version {found}, this program reads versions {OLDEST_VERSION} to {VERSION}: \
                 use the mpiscope that belongs to the libmpiscope.so of that process"
            ),
            Self::Foreign(what) => write!(f, "the image was written on a different kind of machine ({what})"),
            Self::Corrupt(what) => write!(f, "the image is damaged: {what}"),
            Self::Unreadable(why) => write!(f, "cannot read the image: {why}"),
        }
    }
}

impl std::error::Error for Error {}

/// A type that is stored in images.
///
/// # Safety
///
/// The type must be `repr(C)` and consist of words of [`crate::cell`] and bytes, and every bit pattern must
/// be valid. If [`SEQUENCED`](Self::SEQUENCED), it must begin with a [`Seq`](crate::Seq).
pub unsafe trait Record: Sized {
    /// Whether the record begins with a sequence number, by which a torn copy is detected.
    const SEQUENCED: bool;
    /// Size of the record when its kind was introduced, in bytes: fields added later read as zero from older
    /// images.
    const LEAST: usize = size_of::<Self>();
}

/// A copy of a record.
#[derive(Debug)]
pub struct Snapshot<T> {
    /// Index in its table.
    pub index: u64,
    /// Its offset in the image.
    pub offset: u64,
    /// The record's value.
    pub value: T,
    /// Whether the record kept changing while it was copied, so that `value` may be inconsistent.
    pub torn: bool,
}

/// How often a changing record is copied again.
const TRIES: u32 = 1000;
/// Upper limit for a plausible number of records in a table.
const MOST_RECORDS: u64 = 1 << 32;

/// A reader of an image.
pub struct Image<S> {
    source: S,
}

/// The records of one kind.
#[derive(Debug, Clone, Default)]
pub struct Table {
    runs: Vec<Run>,
}

#[derive(Debug, Clone)]
struct Run {
    offset: u64,
    record_size: u64,
    capacity: u64,
    used: u64,
}

impl Table {
    /// Number of records ever used.
    pub fn len(&self) -> u64 {
        let full: u64 = self.runs.iter().rev().skip(1).map(|r| r.capacity).sum();
        full + self.runs.last().map_or(0, |r| r.used)
    }

    /// Whether no record was ever used.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Offset and length of a record.
    fn place(&self, index: u64) -> Option<(u64, u64)> {
        let mut at = index;
        for run in &self.runs {
            if at < run.capacity {
                return (at < run.used).then_some((run.offset + at * run.record_size, run.record_size));
            }
            at -= run.capacity;
        }
        None
    }
}

/// Contiguous records, all copied at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    record_size: u64,
    bytes: Vec<u8>,
}

impl Piece {
    /// Splits the bytes into records.
    pub(crate) fn records<T: Record>(&self) -> Result<Vec<T>, Error> {
        let (image, count) = (Image { source: &self.bytes }, self.bytes.len() as u64 / self.record_size);
        (0..count).map(|index| image.copy(index * self.record_size, self.record_size)).collect()
    }
}

impl<S: Source> Image<S> {
    /// Checks the header and accepts or rejects the image.
    pub fn open(source: S) -> Result<Self, Error> {
        let image = Self { source };
        let mut magic = [0; 8];
        if image.source.len() < 8 {
            return Err(Error::NotAnImage);
        }
        image.source.read(0, &mut magic).map_err(Error::Unreadable)?;
        if magic != MAGIC {
            return Err(Error::NotAnImage);
        }
        if image.source.len() < HEADER_SIZE as u64 {
            return Err(Error::Corrupt(format!(
                "it is only {} bytes long, shorter than the header",
                image.source.len()
            )));
        }
        let header = image.header()?;
        if header.byte_order.get() == BYTE_ORDER.swap_bytes() {
            return Err(Error::Foreign("other byte order"));
        }
        if !(OLDEST_VERSION..=VERSION).contains(&header.version.get()) {
            return Err(Error::Version(header.version.get()));
        }
        if header.byte_order.get() != BYTE_ORDER || header.header_size.get() as usize != HEADER_SIZE {
            return Err(Error::Corrupt("the header is inconsistent".into()));
        }
        if header.pointer_size.get() != 8 {
            return Err(Error::Foreign("pointers are not 64 bits wide"));
        }
        Ok(image)
    }

    /// The source of the bytes.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// A copy of the header.
    pub fn header(&self) -> Result<Header, Error> {
        self.copy(0, size_of::<Header>() as u64)
    }

    /// The table of one kind, with its current length. It is empty if the image has no such section.
    pub fn table<T: Record>(&self, kind: SectionKind) -> Result<Table, Error> {
        self.runs(kind, T::LEAST as u64)
    }

    fn runs(&self, kind: SectionKind, size: u64) -> Result<Table, Error> {
        let header = self.header()?;
        let sections = header.directory.get(..header.sections.get() as usize).ok_or_else(|| {
            Error::Corrupt(format!(
                "the header gives an impossible number of sections: {}",
                header.sections.get()
            ))
        })?;
        let mut table = Table::default();
        let mut total = 0u64;
        for section in sections.iter().filter(|s| s.kind.get() == kind.0) {
            let run = Run {
                offset: section.offset.get(),
                record_size: u64::from(section.record_size.get()),
                capacity: section.capacity.get(),
                used: section.used.get().min(section.capacity.get()),
            };
            total = total.saturating_add(run.capacity);
            let end = run.capacity.checked_mul(run.record_size).and_then(|l| l.checked_add(run.offset));
            let fits = end.is_some_and(|end| self.source.reaches(end)) && run.offset >= HEADER_SIZE as u64;
            if !fits || total > MOST_RECORDS || run.record_size == 0 {
                return Err(Error::Corrupt(format!("the section of {kind:?} extends beyond the image")));
            }
            if run.record_size < size {
                return Err(Error::Corrupt(format!(
                    "records of {kind:?} have {} bytes, at least {size} are needed",
                    run.record_size
                )));
            }
            table.runs.push(run);
        }
        Ok(table)
    }

    /// A record of a table.
    pub fn get<T: Record>(&self, table: &Table, index: u64) -> Result<Snapshot<T>, Error> {
        let (offset, size) =
            table.place(index).ok_or_else(|| Error::Corrupt(format!("there is no record {index}")))?;
        self.snapshot(index, offset, size)
    }

    /// All records of one kind, in order.
    pub fn all<T: Record>(&self, kind: SectionKind) -> Result<Vec<Snapshot<T>>, Error> {
        let table = self.table::<T>(kind)?;
        (0..table.len()).filter(|i| table.place(*i).is_some()).map(|i| self.get(&table, i)).collect()
    }

    /// The raw records of a table, at most `most` of each section.
    pub(crate) fn pieces(&self, table: &Table, most: u64) -> Result<Vec<Piece>, Error> {
        let piece = |run: &Run| {
            // The table was checked to be inside the image: no more is allocated than exists.
            let mut bytes = vec![0; (run.used.min(most) * run.record_size) as usize];
            self.source.read(run.offset, &mut bytes).map_err(Error::Unreadable)?;
            Ok(Piece { record_size: run.record_size, bytes })
        };
        table.runs.iter().map(piece).collect()
    }

    /// The call that thread `index` is in.
    pub fn call(&self, threads: &Table, index: u64) -> Result<Snapshot<Call>, Error> {
        let head = self.thread(threads, index)?;
        let offset = head.offset + offset_of!(ThreadHead, call) as u64;
        Ok(Snapshot { index, offset, value: head.value.call, torn: head.torn })
    }

    /// Activity of thread `index`: a consistent copy of its call and its polling fields.
    pub fn thread(&self, threads: &Table, index: u64) -> Result<Snapshot<ThreadHead>, Error> {
        let (offset, _) =
            threads.place(index).ok_or_else(|| Error::Corrupt(format!("there is no thread {index}")))?;
        let guard = offset + offset_of!(ThreadHead, call) as u64;
        self.guarded(index, guard, (offset, size_of::<ThreadHead>() as u64))
    }

    /// The smaller one of a number of bytes and the size of the image.
    fn within(&self, bytes: u64) -> u64 {
        if self.source.reaches(bytes) { bytes } else { self.source.len() }
    }

    /// The text that a record refers to, at most `max` bytes of it.
    pub fn text(&self, text: &Text, max: usize) -> Result<String, Error> {
        // However large the claimed length and `max` are, no more than the size of the image is allocated.
        let len = usize::try_from(self.within(text.len.get())).unwrap_or(usize::MAX).min(max);
        let mut bytes = vec![0; if text.offset.get() == 0 { 0 } else { len }];
        self.source.read(text.offset.get(), &mut bytes).map_err(Error::Corrupt)?;
        Ok(crate::text(&bytes).into_owned())
    }

    /// The array that a record refers to, at most `max` words of it.
    pub fn words(&self, words: &Words, max: usize) -> Result<Vec<u64>, Error> {
        if words.offset.get() == 0 {
            return Ok(Vec::new());
        }
        let len = usize::try_from(words.len.get()).unwrap_or(usize::MAX).min(max);
        let mut bytes = vec![0; self.within(len.saturating_mul(8) as u64) as usize / 8 * 8];
        self.source.read(words.offset.get(), &mut bytes).map_err(Error::Corrupt)?;
        Ok(bytes.chunks_exact(8).map(|c| u64::from_ne_bytes(c.try_into().unwrap_or_default())).collect())
    }

    fn snapshot<T: Record>(&self, index: u64, offset: u64, size: u64) -> Result<Snapshot<T>, Error> {
        if !T::SEQUENCED {
            return Ok(Snapshot { index, offset, value: self.copy(offset, size)?, torn: false });
        }
        self.guarded(index, offset, (offset, size))
    }

    /// Copies a range of bytes consistently, using the sequence number at `guard`.
    fn guarded<T: Record>(
        &self,
        index: u64,
        guard: u64,
        (offset, size): (u64, u64),
    ) -> Result<Snapshot<T>, Error> {
        for _ in 0..TRIES {
            let before = self.word(guard)?;
            fence(Ordering::Acquire);
            let value = self.copy(offset, size)?;
            fence(Ordering::Acquire);
            if before % 2 == 0 && self.word(guard)? == before {
                return Ok(Snapshot { index, offset, value, torn: false });
            }
            std::hint::spin_loop();
        }
        Ok(Snapshot { index, offset, value: self.copy(offset, size)?, torn: true })
    }

    fn word(&self, offset: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.source.read(offset, &mut bytes).map_err(Error::Unreadable)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn copy<T: Record>(&self, offset: u64, size: u64) -> Result<T, Error> {
        let mut value = MaybeUninit::<T>::zeroed();
        let len = size_of::<T>().min(size as usize);
        // SAFETY: the bytes belong to `value`, are initialized (zero), and nothing else refers to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(value.as_mut_ptr().cast::<u8>(), len) };
        self.source.read(offset, bytes).map_err(Error::Unreadable)?;
        // SAFETY: every bit pattern is a valid record (the contract of `Record`).
        Ok(unsafe { value.assume_init() })
    }
}
