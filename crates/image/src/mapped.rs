//! Records of an image in mapped memory, read in place: for readers that may neither allocate nor wait, like
//! the preload library when it inspects the images of other processes on its node, even in a signal handler.
//!
//! All other readers make copies ([`crate::Image`]). The bytes belong to another process and change while
//! they are read: each offset is checked against the length, and records consist of words that can be loaded
//! at any time.
#![allow(unsafe_code)]

use crate::layout::{DIRECTORY_LEN, HEADER_SIZE, Header, Section, SectionKind};
use crate::objects::{Comm, Life};
use crate::read::Record;
use crate::traffic::{Entry, Peer, Recent, Traffic};
use std::marker::PhantomData;

/// Number of entries of a sender's rings that are searched, counting backwards.
const FAR: u64 = 4096;

/// The bytes of an image.
#[derive(Debug, Clone, Copy)]
pub struct Mapped<'a> {
    base: *const u8,
    len: usize,
    bytes: PhantomData<&'a [u8]>,
}

/// A message as its receiver knows it.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Identity of the communicator.
    pub identity: u64,
    /// The receiver's rank.
    pub to: u32,
    /// Excludes earlier messages: the first `before` of all messages between the two…
    pub before: u64,
    /// …and those up to number `after` in the sender's ledger, counting from 1.
    pub after: u64,
    #[allow(missing_docs)]
    pub tag: u32,
    #[allow(missing_docs)]
    pub bytes: u64,
}

impl<'a> Mapped<'a> {
    /// The image at `base`.
    ///
    /// # Safety
    /// `base` must be page-aligned, and `len` bytes there must stay readable for `'a`. Other processes may
    /// write to them, a word at a time.
    #[must_use]
    pub unsafe fn new(base: *const u8, len: usize) -> Self {
        Self { base, len, bytes: PhantomData }
    }

    /// The record at an offset.
    fn at<T: Record>(&self, offset: u64) -> Option<&'a T> {
        let offset = usize::try_from(offset).ok()?;
        if offset.checked_add(size_of::<T>())? > self.len || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        // SAFETY: inside the bytes (checked), aligned like the page; every bit pattern of a record is valid.
        Some(unsafe { &*self.base.add(offset).cast::<T>() })
    }

    /// The header; `None` if the image is too short.
    #[must_use]
    pub fn header(&self) -> Option<&'a Header> {
        self.at(0)
    }

    fn sections(&self, kind: SectionKind) -> impl Iterator<Item = &'a Section> + use<'a> {
        let header = self.header();
        let count = header.map_or(0, |header| (header.sections.get() as usize).min(DIRECTORY_LEN));
        let sections = header.map_or(&[][..], |header| &header.directory);
        sections.iter().take(count).filter(move |section| section.kind.get() == kind.0)
    }

    /// All records of a table.
    pub fn all<T: Record + 'a>(self, kind: SectionKind) -> impl Iterator<Item = &'a T> {
        self.sections(kind).flat_map(move |section| {
            let (offset, step) = (section.offset.get(), u64::from(section.record_size.get()));
            let used = section.used.get().min((self.len / size_of::<T>()) as u64);
            (0..used).map_while(move |place| self.at(offset.checked_add(place.checked_mul(step)?)?))
        })
    }

    /// The record at an index of a table that may have several sections.
    fn record<T: Record>(&self, kind: SectionKind, index: u64) -> Option<&'a T> {
        self.at(self.offset_of(kind, index)?)
    }

    /// Offset of the record at an index.
    fn offset_of(&self, kind: SectionKind, index: u64) -> Option<u64> {
        let mut place = index;
        for section in self.sections(kind) {
            let capacity = section.capacity.get();
            if place < capacity {
                let step = u64::from(section.record_size.get());
                return section.offset.get().checked_add(place.checked_mul(step)?);
            }
            place -= capacity;
        }
        None
    }

    /// The tags of the messages that the process sent to `rank` of the communicator with this identity,
    /// newest first, if they are still kept.
    pub fn sent_tags(self, identity: u64, rank: u32) -> impl Iterator<Item = u32> {
        let totals = self.all::<Traffic>(SectionKind::TRAFFIC).next();
        let (capacity, written, first) = totals
            .map_or((0, 0, 0), |t| (t.envelopes.get(), t.envelopes_sent.get(), t.envelopes_first.get()));
        let offset = self.offset_of(SectionKind::ENVELOPES, first);
        let places = (1..=capacity.min(FAR)).map_while(move |back| written.checked_sub(back));
        places.filter_map(move |place| {
            // The records of a ring are contiguous.
            let behind = place.checked_rem(capacity)?.checked_mul(size_of::<Recent>() as u64)?;
            self.at::<Recent>(offset?.checked_add(behind)?)?.tag_of(place, identity, rank)
        })
    }

    /// Finds the first message in the process's ledger that matches and is not excluded. Returns its number
    /// in the ledger, counting from 1, and when the process began to send it, in ticks. `None` if the ledger
    /// does not go back far enough.
    #[must_use]
    pub fn find_sent(&self, message: &Sent) -> Option<(u64, u64)> {
        let totals = self.all::<Traffic>(SectionKind::TRAFFIC).next()?;
        let (capacity, written) = (totals.ledger_capacity.get(), totals.ledger_sent.get());
        let first = totals.ledger_first.get();
        let oldest = written.saturating_sub(capacity.min(FAR)).max(message.after);
        (oldest..written).find_map(|number| {
            let place = number.checked_rem(capacity)?;
            let entry: &Entry = self.record(SectionKind::LEDGER, first.checked_add(place)?)?;
            let before = entry.seq.get();
            let same = entry.comm.get() == message.identity
                && entry.peer.get() == message.to
                && u64::from(entry.nth.get()) > message.before
                && entry.tag.get() == message.tag
                && entry.bytes.get() == message.bytes;
            let at = entry.posted.get();
            (same && before.is_multiple_of(2) && entry.seq.get() == before).then_some((number + 1, at))
        })
    }

    /// The record that the process keeps of `rank` of the communicator with this identity.
    #[must_use]
    pub fn peer(&self, identity: u64, rank: usize) -> Option<&'a Peer> {
        if self.len < HEADER_SIZE {
            return None;
        }
        let same =
            |comm: &&Comm| comm.head.identity.get() == identity && comm.head.life.get() == Life::LIVE.0;
        let comm = self.all::<Comm>(SectionKind::COMMS).find(same)?;
        let first = comm.peers.get().checked_sub(1)?;
        if rank >= comm.size.get().max(comm.remote_size.get()) as usize {
            return None;
        }
        self.record(SectionKind::PEERS, first.checked_add(rank as u64)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C, align(4096))]
    struct Page([u8; 2 * HEADER_SIZE]);

    fn mapped(page: &Page, len: usize) -> Mapped<'_> {
        // SAFETY: aligned, and at most as long as the page.
        unsafe { Mapped::new(page.0.as_ptr(), len.min(page.0.len())) }
    }

    #[test]
    fn nothing_beyond_the_end_is_read_for_any_bytes() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut page = Page([0; 2 * HEADER_SIZE]);
        for round in 0..2000 {
            for byte in &mut page.0 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Small words lead into the sections more often than large ones.
                *byte = if round % 2 == 0 && random >> 60 != 0 { 0 } else { (random >> 33) as u8 & 0x13 };
            }
            for len in [0, 8, HEADER_SIZE - 1, HEADER_SIZE, page.0.len()] {
                let image = mapped(&page, len);
                assert!(image.sent_tags(1, 0).count() as u64 <= FAR);
                let wanted = Sent { identity: 0, to: 0, before: 0, after: 0, tag: 0, bytes: 0 };
                let _ = (
                    image.find_sent(&wanted),
                    image.peer(0, 0).is_some(),
                    image.all::<Comm>(SectionKind::COMMS).count(),
                );
            }
        }
    }

    #[test]
    fn an_image_too_short_for_its_header_is_empty() {
        let page = Page([0xff; 2 * HEADER_SIZE]);
        assert!(mapped(&page, size_of::<Header>() - 1).header().is_none());
        assert!(mapped(&page, 0).peer(0, 0).is_none());
    }
}
