//! The envelopes of the last messages sent and received.
//!
//! Always kept, unlike the ledger: six stores per message into a ring of a few kilobytes. From the rings of
//! both sides a reader can determine the outstanding messages between two ranks
//! (`mpiscope_image::derive::unexpected`).
#![allow(unsafe_code)]

use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::{Recent, Traffic};
use mpiscope_image::{W64, Writer};

/// Number of envelopes in each ring, a power of two.
pub const CAPACITY: usize = 512;

/// One ring; `None` if the image had no room.
#[derive(Clone, Copy)]
pub struct Ring(Option<&'static [Recent; CAPACITY]>);

/// Makes the rings of messages sent and received, and records their location in the totals.
pub fn make(writer: &'static Writer, totals: &Traffic) -> [Ring; 2] {
    let made = writer.new_array::<Recent>(SectionKind::ENVELOPES, 2 * CAPACITY, 2 * CAPACITY);
    let Some((index, first)) = made else { return [Ring(None); 2] };
    // SAFETY: the writer allocated this many contiguous records, all zero, for the lifetime of the process.
    let rings = unsafe { &*std::ptr::from_ref(first).cast::<[[Recent; CAPACITY]; 2]>() };
    totals.envelopes_first.set(index);
    totals.envelopes.set(CAPACITY as u64);
    rings.each_ref().map(|ring| Ring(Some(ring)))
}

impl Ring {
    /// Overwrites the oldest envelope; `data` is the message's size and call site.
    #[inline(always)]
    pub fn write(self, written: &W64, comm: u64, peer: i32, tag: i32, data: (u64, u64)) {
        let place = written.get();
        let entry = self.0.and_then(|ring| ring.get(place as usize % CAPACITY));
        if let Some(entry) = entry {
            entry.write(place, comm, peer, tag, data);
            written.set(place.wrapping_add(1));
        }
    }

    /// Invalidates the newest message with this envelope.
    #[cold]
    pub fn forget(self, written: &W64, comm: u64, peer: i32, tag: i32) {
        let Some(ring) = self.0 else { return };
        let (written, wanted) = (written.get(), (comm, peer.cast_unsigned()));
        let newest = (1..=CAPACITY as u64).filter_map(|back| written.checked_sub(back));
        let entry = newest.filter_map(|place| Some((place, ring.get(place as usize % CAPACITY)?)));
        let tag = tag.cast_unsigned();
        let mut same = entry.filter(|(place, entry)| entry.tag_of(*place, wanted.0, wanted.1) == Some(tag));
        if let Some((_, entry)) = same.next() {
            entry.peer.set(Recent::GONE);
        }
    }

    /// Returns the tags of the messages exchanged with a rank of a communicator, newest first.
    /// Async-signal-safe.
    pub fn tags(self, written: &W64, comm: u64, peer: u32) -> impl Iterator<Item = u32> {
        let written = written.get();
        let ring = self.0.map_or(&[][..], |ring| &ring[..]);
        (1..=ring.len() as u64)
            .map_while(move |back| written.checked_sub(back))
            .filter_map(move |place| ring.get(place as usize % CAPACITY)?.tag_of(place, comm, peer))
    }
}
