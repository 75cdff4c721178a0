//! Whether the program writes the buffers of receives before it knows that they are complete (MPI standard, 3.7.2).
//!
//! The library writes such a buffer at a time of its own, so a change proves nothing. But a byte that, when the program
//! asks for the completion, is neither what it was when the receive was posted nor what it is once the receive is
//! complete, has been written by somebody else. So a few bytes of the buffer are kept from the first two of these
//! moments; of several calls that ask, from the first that finds a change. What is written after the message has
//! arrived is found by comparing both ends of the message: see [`contents`].
#![allow(unsafe_code)]

use super::contents::{self, is_readable};
use crate::record::objects::tables;
use mpiscope_image::objects::{Datatype, SIZE_UNKNOWN};
use mpiscope_image::traffic::{EntryFlag, Request, RequestKind};
use std::cell::Cell;

/// Number of receives watched at a time: a power of two.
const RECEIVES: usize = 4096;
/// Number of bytes kept of a buffer.
const BYTES: usize = 64;
/// Length of the pieces in which they are taken from a larger one.
const PIECE: u64 = 8;

type Sample = [u8; BYTES];

/// The receives, each in the place given by the number of its operation.
pub struct Watched(Box<[Watch]>);

#[derive(Clone)]
struct Watch {
    /// Number of the operation; zero if none.
    operation: Cell<u64>,
    /// Size of the buffer in bytes.
    bytes: Cell<u64>,
    posted: Cell<Sample>,
    /// When the program asked for the completion.
    asked: Cell<Sample>,
}

impl Watched {
    /// Returns an empty table; without places if buffers are not compared.
    pub fn new() -> Self {
        const EMPTY: Sample = [0; BYTES];
        let none = Watch {
            operation: Cell::default(),
            bytes: Cell::default(),
            posted: Cell::new(EMPTY),
            asked: Cell::new(EMPTY),
        };
        Self(vec![none; if contents::recorded() { RECEIVES } else { 0 }].into())
    }

    fn place(&self, operation: u64) -> Option<&Watch> {
        self.0.get(operation as usize & self.0.len().wrapping_sub(1))
    }

    fn find(&self, request: &Request) -> Option<&Watch> {
        let operation = request.operation();
        self.place(operation).filter(|watch| operation != 0 && watch.operation.get() == operation)
    }

    /// A request's operation was started.
    #[inline(never)]
    pub fn started(&self, request: &Request) {
        const RECEIVES: [RequestKind; 3] = [RequestKind::RECV, RequestKind::MRECV, RequestKind::SENDRECV];
        let Some(watch) = self.place(request.operation()) else { return };
        if !RECEIVES.contains(&RequestKind(request.kind.get())) {
            return;
        }
        let sample = room(request).and_then(|bytes| Some((bytes, sample(request.buffer.get(), bytes)?)));
        watch.operation.set(0);
        if let Some((bytes, sample)) = sample {
            watch.bytes.set(bytes);
            watch.posted.set(sample);
            watch.asked.set(sample);
            watch.operation.set(request.operation());
        }
    }

    /// The program is about to ask whether a request is complete.
    #[inline(never)]
    pub fn asked(&self, request: &Request) {
        if let Some(watch) = self.find(request)
            && watch.asked.get() == watch.posted.get()
            && let Some(sample) = sample(request.buffer.get(), watch.bytes.get())
        {
            watch.asked.set(sample);
        }
    }

    /// A receive is complete. Returns the flags that its entry in the ledger gets for it.
    #[inline(never)]
    pub fn completed(&self, request: &Request) -> u32 {
        let Some(watch) = self.find(request) else { return 0 };
        let now = sample(request.buffer.get(), watch.bytes.get());
        watch.operation.set(0);
        let is_changed = now.is_some_and(|now| differs(&watch.posted.get(), &watch.asked.get(), &now));
        if is_changed { EntryFlag::CHANGED.0 } else { 0 }
    }
}

/// Whether one of the bytes asked about is neither the byte before nor the one afterward.
fn differs(posted: &Sample, asked: &Sample, now: &Sample) -> bool {
    let mut all = posted.iter().zip(asked).zip(now);
    all.any(|((posted, asked), now)| asked != posted && asked != now)
}

/// Returns the size of a receive buffer without gaps; `None` for others.
fn room(request: &Request) -> Option<u64> {
    let datatype =
        tables::DATATYPES.find(request.datatype.get()).filter(|found| Datatype::is_one_element(found))?;
    let size = Some(datatype.size.get()).filter(|size| *size != SIZE_UNKNOWN)?;
    size.checked_mul(request.count.get()).filter(|bytes| *bytes != 0 && request.buffer.get() != 0)
}

/// Returns some of the bytes of a buffer, all of a small one; `None` if they cannot be read.
fn sample(address: u64, bytes: u64) -> Option<Sample> {
    let mut sample = [0; BYTES];
    let mut left = sample.iter_mut();
    for (at, len) in pieces(bytes) {
        let from = address.checked_add(at)?;
        if !is_readable(from, len) {
            return None;
        }
        for (number, place) in left.by_ref().take(len as usize).enumerate() {
            // SAFETY: these bytes can be read. They may change meanwhile.
            *place = unsafe { (from as *const u8).add(number).read_volatile() };
        }
    }
    Some(sample)
}

/// Returns start and length of the pieces.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let all = bytes <= BYTES as u64;
    let count = if all { 1 } else { BYTES as u64 / PIECE };
    let len = if all { bytes } else { PIECE };
    let step = bytes.saturating_sub(len) / (count - 1).max(1);
    (0..count).map(move |number| (number * step, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_buffer_is_kept_whole_and_of_a_large_one_both_ends() {
        assert_eq!(pieces(13).collect::<Vec<_>>(), [(0, 13)]);
        assert_eq!(pieces(64).collect::<Vec<_>>(), [(0, 64)]);
        let all: Vec<_> = pieces(1000).collect();
        assert_eq!((all.len(), all.first(), all.last()), (8, Some(&(0, 8)), Some(&(987, 8))));
    }

    #[test]
    fn a_sample_has_the_bytes_of_its_pieces_and_memory_that_cannot_be_read_has_none() {
        let buffer: Vec<u8> = (0..100).collect();
        let sample_of = |bytes: usize| sample(buffer.as_ptr() as u64, bytes as u64);
        let small = sample_of(10).unwrap_or([9; BYTES]);
        assert_eq!(small.get(..11), Some(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0][..]));
        let large = sample_of(100).unwrap_or([0; BYTES]);
        assert_eq!((large.first(), large.last()), (Some(&0), Some(&98)));
        assert_eq!(sample(8, 64), None);
    }

    #[test]
    fn only_a_byte_that_is_neither_old_nor_received_shows_that_the_program_wrote_it() {
        let of = |byte: u8| [byte; BYTES];
        assert!(differs(&of(1), &of(2), &of(3)));
        assert!(!differs(&of(1), &of(1), &of(3)), "the message arrived in the call");
        assert!(!differs(&of(1), &of(3), &of(3)), "before the call");
        let mut half = of(1);
        half.get_mut(32..).into_iter().for_each(|half| half.fill(3));
        assert!(!differs(&of(1), &half, &of(3)), "half of it before the call");
    }
}
