//! Writes an image: lays it out, grows it, and hands out records.
//!
//! Everything here is the slow path: it takes a spin lock that is held for a few stores (never across a call
//! to anything but [`Grow`]). The hot path writes through references that were handed out earlier.
#![allow(unsafe_code)]

use crate::cell::{W32, W64};
use crate::layout::{
    BYTE_ORDER, Chars, DIRECTORY_LEN, HEADER_SIZE, Header, Loss, MAGIC, Note, Section, SectionKind, Text,
    VERSION, Words,
};
use crate::read::Record;
use std::mem::{align_of, size_of};
use std::sync::atomic::{AtomicBool, Ordering};

/// Extends the image.
pub trait Grow: Sync {
    /// Makes the first `len` bytes of the image accessible. Returns false if that is impossible.
    fn grow(&self, len: usize) -> bool;
}

/// The location of a new image's bytes.
pub struct NewImage {
    /// First byte; page-aligned, and zero-filled where accessible.
    pub base: *mut u8,
    /// Maximum size of the image.
    pub reserved: usize,
    /// Number of bytes accessible now; at least [`HEADER_SIZE`].
    pub accessible: usize,
    /// See [`Grow`].
    pub grow: &'static dyn Grow,
}

/// A writer of an image.
pub struct Writer {
    image: NewImage,
    locked: AtomicBool,
    accessible: std::sync::atomic::AtomicUsize,
    own: Directory,
}

/// The directory, in private memory: the header has a copy for readers, which any process of this user may
/// have overwritten since.
struct Directory {
    sections: [Section; DIRECTORY_LEN],
    count: W32,
    /// Length of the image.
    len: W64,
}

impl Directory {
    /// Takes over the directory from the header of an image that was already begun.
    fn of(header: &Header) -> Self {
        let sections = std::array::from_fn(|index| header.directory.get(index).cloned().unwrap_or_default());
        let count = header.sections.get().min(DIRECTORY_LEN as u32);
        let len = header.len.get().max(HEADER_SIZE as u64);
        Self { sections, count: W32::new(count), len: W64::new(len) }
    }
}

// SAFETY: the base pointer is valid from every thread for the life of the process, and all changes of shared
// state go through atomics or the lock.
unsafe impl Send for Writer {}
// SAFETY: as above.
unsafe impl Sync for Writer {}

struct Unlock<'a>(&'a AtomicBool);

impl Drop for Unlock<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Writer {
    /// Takes over the bytes of `image` and writes the header unless there is one already (made by `mpiscope
    /// run`).
    ///
    /// # Safety
    ///
    /// The accessible part at `image.base` must stay valid for reads and writes until the process ends, be
    /// page-aligned, and be written only by this `Writer` and through the references it hands out.
    pub unsafe fn new(image: NewImage) -> Option<Self> {
        if image.accessible < HEADER_SIZE || image.reserved < image.accessible {
            return None;
        }
        let accessible = image.accessible.into();
        // SAFETY: the header is accessible (checked above) and its fields are words.
        let own = Directory::of(unsafe { &*image.base.cast::<Header>() });
        let writer = Self { image, locked: AtomicBool::new(false), accessible, own };
        let header = writer.header();
        if header.version.get() == 0 {
            writer.write_header();
        }
        header.address.set(writer.image.base as u64);
        (header.magic.get() == u64::from_ne_bytes(MAGIC) && header.version.get() == VERSION).then_some(writer)
    }

    fn write_header(&self) {
        let header = self.header();
        header.byte_order.set(BYTE_ORDER);
        header.header_size.set(HEADER_SIZE as u32);
        header.pointer_size.set(size_of::<usize>() as u32);
        header.section_size.set(size_of::<Section>() as u32);
        header.len.set(HEADER_SIZE as u64);
        header.magic.set(u64::from_ne_bytes(MAGIC));
        header.version.atomic().store(VERSION, Ordering::Release);
    }

    /// The header of the image.
    pub fn header(&self) -> &'static Header {
        // SAFETY: `new` checked that the header is accessible; it stays mapped, and all its fields are words.
        unsafe { &*self.image.base.cast::<Header>() }
    }

    /// Counts a loss.
    pub fn lose(&self, loss: Loss, count: u64) {
        if let Some(word) = self.header().lost.get(loss.0 as usize) {
            word.atomic().fetch_add(count, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> Unlock<'_> {
        while self.locked.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Unlock(&self.locked)
    }

    fn sections(&self) -> &[Section] {
        let count = self.own.count.atomic().load(Ordering::Acquire) as usize;
        self.own.sections.get(..count).unwrap_or_default()
    }

    /// Records how many records of a section are in use, here and for readers.
    fn use_up(&self, section: &Section, used: u64) {
        section.used.atomic().store(used, Ordering::Release);
        let place = self.own.sections.iter().position(|own| std::ptr::eq(own, section));
        if let Some(copy) = place.and_then(|place| self.header().directory.get(place)) {
            copy.used.atomic().store(used, Ordering::Release);
        }
    }

    fn last_of(&self, kind: SectionKind) -> Option<&Section> {
        self.sections().iter().rev().find(|s| s.kind.get() == kind.0)
    }

    /// Adds a section; the lock must be held.
    fn add_section(&self, kind: SectionKind, record_size: usize, capacity: usize) -> Option<&Section> {
        let header = self.header();
        let index = self.own.count.get() as usize;
        let (own, copy) = (self.own.sections.get(index)?, header.directory.get(index)?);
        let offset = (self.own.len.get() as usize).checked_next_multiple_of(64)?;
        let end = offset.checked_add(record_size.checked_mul(capacity)?)?;
        if end > self.image.reserved {
            return None;
        }
        if end > self.accessible.load(Ordering::Relaxed) {
            let wanted = end.checked_next_multiple_of(1 << 16)?.min(self.image.reserved);
            if !self.image.grow.grow(wanted) {
                return None;
            }
            self.accessible.store(wanted, Ordering::Relaxed);
        }
        for entry in [own, copy] {
            entry.record_size.set(record_size as u32);
            entry.offset.set(offset as u64);
            entry.capacity.set(capacity as u64);
            entry.used.set(0);
        }
        self.own.len.set(end as u64);
        header.len.set(end as u64);
        own.kind.set(kind.0);
        copy.kind.atomic().store(kind.0, Ordering::Release);
        self.own.count.atomic().store(index as u32 + 1, Ordering::Release);
        header.sections.atomic().store(index as u32 + 1, Ordering::Release);
        Some(own)
    }

    /// Takes `count` contiguous records of one section, growing the table when it is full. The lock must be
    /// held. Returns the section and the index of the first record in it.
    fn take(&self, kind: SectionKind, size: usize, first: usize, count: usize) -> Option<(&Section, u64)> {
        if let Some(section) = self.last_of(kind) {
            let used = section.used.get();
            if used.checked_add(count as u64)? <= section.capacity.get() {
                self.use_up(section, used + count as u64);
                return Some((section, used));
            }
        }
        let capacity = self.last_of(kind).map_or(first, |s| (s.capacity.get() as usize).saturating_mul(2));
        let section = self.add_section(kind, size, capacity.max(count))?;
        self.use_up(section, count as u64);
        Some((section, 0))
    }

    /// Reserves room for `capacity` records that must be writable even when the image cannot grow any more.
    /// Returns false if there is no room.
    pub fn reserve<T: Record>(&self, kind: SectionKind, capacity: usize) -> bool {
        let _held = self.lock();
        self.add_section(kind, size_of::<T>(), capacity).is_some()
    }

    /// Returns a new, zero-filled record and its index in the table. The table starts with room for `first`
    /// records and doubles. `None` if the image is full; the caller must count the loss.
    pub fn new_record<T: Record>(&self, kind: SectionKind, first: usize) -> Option<(u64, &'static T)> {
        self.new_array(kind, first, 1)
    }

    /// Allocates `count` contiguous, zero-filled records, and returns the index of the first and the first
    /// itself. Otherwise like [`new_record`](Self::new_record).
    pub fn new_array<T: Record>(
        &self,
        kind: SectionKind,
        first: usize,
        count: usize,
    ) -> Option<(u64, &'static T)> {
        let _held = self.lock();
        let (section, place) = self.take(kind, size_of::<T>(), first, count)?;
        let before: u64 = self
            .sections()
            .iter()
            .take_while(|s| !std::ptr::eq(*s, section))
            .filter(|s| s.kind.get() == kind.0)
            .map(|s| s.capacity.get())
            .sum();
        Some((before + place, self.at::<T>(section.offset.get() + place * size_of::<T>() as u64)?))
    }

    /// Allocates `count` contiguous, zero-filled records, which the caller hands out itself. Readers consider
    /// them in use, so a record of zeros must mean "unused".
    pub fn new_records<T: Record>(
        &self,
        kind: SectionKind,
        first: usize,
        count: usize,
    ) -> Option<&'static [T]> {
        let _held = self.lock();
        let (section, place) = self.take(kind, size_of::<T>(), first, count)?;
        self.run(section.offset.get() + place * size_of::<T>() as u64, count)
    }

    /// Allocates `count` contiguous words in the words sections, which the caller fills.
    pub fn new_words(&self, count: usize) -> Option<&'static [W64]> {
        let _held = self.lock();
        let (section, place) = self.take(SectionKind::WORDS, size_of::<u64>(), 1 << 12, count)?;
        self.run(section.offset.get() + place * size_of::<u64>() as u64, count)
    }

    /// Returns `count` words at an offset, if they are inside the image.
    pub fn words_at(&self, offset: u64, count: usize) -> Option<&'static [W64]> {
        self.run(offset, count)
    }

    fn run<T: Record>(&self, offset: u64, count: usize) -> Option<&'static [T]> {
        let last = (count.checked_sub(1)? as u64).checked_mul(size_of::<T>() as u64)?.checked_add(offset)?;
        self.at::<T>(last)?;
        let first = self.at::<T>(offset)?;
        // SAFETY: the first and last record are in the mapping, so those between them are, too; otherwise as
        // in `at`.
        Some(unsafe { std::slice::from_raw_parts(first, count) })
    }

    /// Offset of something in the image from its first byte; meaningless for anything else.
    #[inline(always)]
    pub fn offset_of<T>(&self, place: &T) -> u64 {
        (std::ptr::from_ref(place).addr()).wrapping_sub(self.image.base.addr()) as u64
    }

    /// The record at an offset returned by [`offset_of`](Self::offset_of).
    #[inline(always)]
    pub fn at_offset<T: Record>(&self, offset: u64) -> Option<&'static T> {
        if offset == 0 { None } else { self.at(offset) }
    }

    /// The record `index` positions after the one at `first`, an offset that [`offset_of`](Self::offset_of)
    /// returned for a record of the same type: [`at_offset`](Self::at_offset) for the hottest paths.
    #[inline(always)]
    pub fn nth_after<T: Record>(&self, first: u64, index: u32) -> Option<&'static T> {
        let distance = index as usize * size_of::<T>();
        let offset = (first as usize & !(align_of::<T>() - 1)).wrapping_add(distance);
        // The header is always accessible.
        const { assert!(size_of::<T>() <= HEADER_SIZE) };
        if offset > self.accessible.load(Ordering::Relaxed).wrapping_sub(size_of::<T>()) {
            return None;
        }
        // SAFETY: in bounds (checked) and aligned (rounded), so inside the mapping, whose address is not
        // null; otherwise as in `at`.
        Some(unsafe {
            let record = self.image.base.add(offset).cast::<T>();
            std::hint::assert_unchecked(!record.is_null());
            &*record
        })
    }

    /// The record with this index in a table, if it has been handed out.
    pub fn record<T: Record>(&self, kind: SectionKind, index: u64) -> Option<&'static T> {
        let mut place = index;
        for section in self.sections().iter().filter(|s| s.kind.get() == kind.0) {
            if place < section.capacity.get() {
                let size = u64::from(section.record_size.get());
                return (place < section.used.get()).then(|| self.at(section.offset.get() + place * size))?;
            }
            place -= section.capacity.get();
        }
        None
    }

    fn at<T: Record>(&self, offset: u64) -> Option<&'static T> {
        let end = (offset as usize).checked_add(size_of::<T>())?;
        if end > self.accessible.load(Ordering::Relaxed) || !(offset as usize).is_multiple_of(align_of::<T>())
        {
            return None;
        }
        // SAFETY: in bounds and aligned (checked above); records are words or bytes, valid for every bit
        // pattern; the mapping lives as long as the process.
        Some(unsafe { &*self.image.base.add(offset as usize).cast::<T>() })
    }

    /// Copies text into the image. On failure, counts a loss.
    pub fn text(&self, text: &[u8]) -> Text {
        let result = Text::default();
        if let Some(offset) = self.copy_in(SectionKind::STRINGS, text, 1 << 14) {
            result.offset.set(offset);
            result.len.set(text.len() as u64);
        }
        result
    }

    /// Copies an array into the image. On failure, counts a loss.
    pub fn words(&self, words: &[u64]) -> Words {
        let result = Words::default();
        // SAFETY: a slice of u64 may be viewed as bytes.
        let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), size_of_val(words)) };
        if let Some(offset) = self.copy_in(SectionKind::WORDS, bytes, 1 << 12) {
            result.offset.set(offset);
            result.len.set(words.len() as u64);
        }
        result
    }

    fn copy_in(&self, kind: SectionKind, bytes: &[u8], first: usize) -> Option<u64> {
        if bytes.is_empty() {
            return None;
        }
        let unit = if kind == SectionKind::WORDS { size_of::<u64>() } else { 1 };
        let _held = self.lock();
        let Some((section, place)) = self.take(kind, unit, first, bytes.len() / unit) else {
            self.lose(Loss::STRINGS, 1);
            return None;
        };
        let offset = section.offset.get() + place * unit as u64;
        // SAFETY: `take` reserved these bytes for us alone; they are in the accessible part.
        unsafe {
            let to = self.image.base.add(offset as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        Some(offset)
    }

    /// Notes a message; repetitions are only counted.
    pub fn note(&self, ticks: u64, text: &str) {
        let text = Chars::new(text.as_bytes());
        for index in 0..64 {
            let Some(note) = self.record::<Note>(SectionKind::NOTES, index) else { break };
            if note.text == text {
                note.count.atomic().fetch_add(1, Ordering::Relaxed);
                return;
            }
        }
        let Some((_, note)) = self.new_record::<Note>(SectionKind::NOTES, 16) else {
            self.lose(Loss::NOTES, 1);
            return;
        };
        note.seq.write(|| {
            note.ticks.set(ticks);
            note.count.set(1);
            note.text.set(&text);
        });
    }
}
