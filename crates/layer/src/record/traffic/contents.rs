//! Whether the buffers of nonblocking sends (MPI standard, 3.7.2) and of one-sided operations (12.3) stay
//! unchanged until the program knows that the operations are complete.
//!
//! A hash of the buffer is taken when the operation has been started and again when it is known to be complete.
//! The kernel copies the bytes, so that memory which the processor cannot read, such as that of a GPU, is left
//! out instead of ending the program.

use crate::base::own_memory::{self, Unread};
use crate::base::settings;
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::layout::Recording;
use mpiscope_image::one_sided::{Completes, OneSided, OneSidedFlag, OneSidedKind};
use mpiscope_image::traffic::{Entry, EntryFlag};

/// Size of the pieces in which a buffer is copied.
const PIECE: usize = 4096;
/// Number of pieces of a buffer that are compared; in a larger buffer there are gaps between them.
const MOST: u64 = 256;

/// A send was started, and this is its entry in the ledger.
#[inline(always)]
pub fn sent(entry: &Entry) {
    if settings::records(Recording::CONTENTS) {
        note(entry);
    }
}

#[inline(never)]
fn note(entry: &Entry) {
    const OTHER: u32 = EntryFlag::BLOCKING.0 | EntryFlag::PARTITIONED.0;
    let is_known = entry.flags.get() & (EntryFlag::GAPLESS.0 | OTHER) == EntryFlag::GAPLESS.0;
    if is_known && entry.buffer.get() != 0 && entry.bytes.get() != 0 {
        entry.digest.set(digest(entry.buffer.get(), entry.bytes.get()).unwrap_or(0));
    }
}

/// This call shows the program that the send is complete. The entry must be open.
#[inline(always)]
pub fn completed<A: Abi>(entry: &Entry, call: &Call<A>) {
    // A send that is complete at start completes in the call that starts it.
    if entry.digest.get() != 0 && entry.posted.get() != call.since {
        compare(entry);
    }
}

#[inline(never)]
fn compare(entry: &Entry) {
    let flag = match state(entry.buffer.get(), entry.bytes.get(), entry.digest.get()) {
        State::Unchanged => return,
        State::Changed => EntryFlag::CHANGED,
        State::Released => EntryFlag::RELEASED,
    };
    entry.flags.set(entry.flags.get() | flag.0);
}

/// What has become of a buffer.
enum State {
    /// As far as is known.
    Unchanged,
    Changed,
    /// It can no longer be read.
    Released,
}

fn state(address: u64, bytes: u64, before: u64) -> State {
    match digest(address, bytes) {
        Ok(now) if now != before => State::Changed,
        Err(Unread::Unmapped) => State::Released,
        Ok(_) | Err(Unread::Refused) => State::Unchanged,
    }
}

/// An operation with a buffer of `bytes` without gaps was started. With a request, the call that completes it at
/// the origin is not known here.
pub fn given(record: &OneSided, bytes: u64) {
    if settings::records(Recording::CONTENTS)
        && record.buffer.get() != 0
        && bytes != 0
        && bytes == record.bytes.get()
        && !record.is(OneSidedFlag::REQUEST)
    {
        record.digest.set(digest(record.buffer.get(), bytes).unwrap_or(0));
    }
}

/// Compares the buffer of an operation if a call of this kind completes it at the origin, and returns whether it
/// does.
pub fn completed_by(record: &OneSided, window: u64, kind: OneSidedKind, target: u32) -> bool {
    let completes = match kind.completes() {
        Completes::All => true,
        Completes::OnTarget => record.target.get() == target,
        Completes::None => false,
    };
    if !completes || record.window.get() != window {
        return false;
    }
    let flag = match state(record.buffer.get(), record.bytes.get(), record.digest.get()) {
        State::Unchanged => 0,
        State::Changed => OneSidedFlag::CHANGED.0,
        State::Released => OneSidedFlag::RELEASED.0,
    };
    record.flags.set(record.flags.get() | flag);
    record.digest.set(0);
    true
}

/// Returns a hash that is not zero.
fn digest(address: u64, bytes: u64) -> Result<u64, Unread> {
    let mut copy = [0; PIECE];
    let mut hash = bytes;
    for (at, len) in pieces(bytes) {
        let piece = copy.get_mut(..len).ok_or(Unread::Refused)?;
        own_memory::fill(address.checked_add(at).ok_or(Unread::Unmapped)?, piece)?;
        let (words, rest) = piece.as_chunks::<8>();
        let last = rest.iter().fold(0, |last, byte| last << 8 | u64::from(*byte));
        hash = words.iter().fold(mix(hash, last), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    }
    Ok(hash.max(1))
}

/// Adds a word to a hash. Each step can be undone, so a single changed word always changes the hash.
fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// Returns start and length of each piece.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, usize)> {
    let size = PIECE as u64;
    let count = bytes.div_ceil(size).min(MOST);
    let step = if count < MOST { size } else { (bytes - size) / (MOST - 1) };
    (0..count).map(move |number| {
        let at = number * step;
        (at, (bytes - at).min(size) as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_of_a_buffer_that_is_compared_entirely_changes_the_hash() {
        let mut buffer = vec![7; 2 * PIECE + 13];
        let hash = |buffer: &[u8]| digest(buffer.as_ptr() as u64, buffer.len() as u64);
        let before = hash(&buffer);
        assert!(before.is_ok());
        for place in [0, 1, PIECE - 1, PIECE, 2 * PIECE, buffer.len() - 1] {
            buffer[place] = 8;
            assert_ne!(hash(&buffer), before, "byte {place}");
            buffer[place] = 7;
        }
        assert_eq!(hash(&buffer), before);
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_hash() {
        assert_eq!(digest(8, 64), Err(Unread::Unmapped));
        assert_eq!(digest(u64::MAX, 64), Err(Unread::Unmapped));
    }

    #[test]
    fn pieces_cover_a_small_buffer_and_reach_both_ends_of_a_large_one() {
        let size = PIECE as u64;
        assert_eq!(pieces(10).collect::<Vec<_>>(), [(0, 10)]);
        assert_eq!(pieces(size + 1).collect::<Vec<_>>(), [(0, PIECE), (size, 1)]);
        for bytes in [MOST * size - 1, MOST * size, MOST * size + 1] {
            let all: Vec<_> = pieces(bytes).collect();
            assert_eq!(all.len() as u64, MOST);
            assert_eq!(
                all.last().map(|(at, len)| at + *len as u64).map(|end| bytes - end < MOST),
                Some(true)
            );
        }
        let large: Vec<_> = pieces(1 << 40).collect();
        let (last, len) = large[large.len() - 1];
        assert!(large.len() as u64 == MOST && (1 << 40) - (last + len as u64) < MOST);
    }
}
