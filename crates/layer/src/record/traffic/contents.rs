//! Whether the buffers of nonblocking sends (MPI standard, 3.7.2), of what collectives with requests send (6.12) and
//! of one-sided operations (12.3) stay unchanged until the program knows that the operations are complete.
//!
//! A hash of the buffer is taken when the operation has been started and again when it is known to be complete.
//! What blocking sends send and nonblocking receives have received is hashed, too, so that a reader can compare both
//! ends of a message; see also [`watched`](super::watched).
//!
//! The kernel is asked first whether each page can be read, so that memory of other kinds, such as that of a GPU,
//! is left out and memory that the program has released does no harm. (A thread that releases the buffer of an
//! operation while another one completes it breaks the library as well.)
#![allow(unsafe_code)]

use crate::base::own_memory;
use crate::base::settings;
use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::layout::Recording;
use mpiscope_image::one_sided::{Completes, OneSided, OneSidedFlag, OneSidedKind};
use mpiscope_image::traffic::{Entry, EntryFlag};

/// Size of the pieces of a buffer: that of the smallest pages.
const PIECE: u64 = 4096;
/// Number of pieces of a buffer that are compared; in a larger buffer there are gaps between them.
const MOST: u64 = 256;

/// Whether buffers are compared.
#[inline(always)]
pub fn recorded() -> bool {
    settings::records(Recording::CONTENTS)
}

/// A send or a collective with a request was started, or a blocking send is about to begin, and this is its entry in
/// the ledger.
#[inline(never)]
pub fn sent(entry: &Entry) {
    const OTHER: u32 = EntryFlag::PARTITIONED.0 | EntryFlag::WRITTEN.0;
    hash_unless(entry, OTHER);
}

/// A receive has completed, and this is its entry in the ledger.
#[inline(never)]
pub fn received(entry: &Entry) {
    const OTHER: u32 = EntryFlag::PARTITIONED.0 | EntryFlag::BLOCKING.0 | EntryFlag::ERROR.0;
    hash_unless(entry, OTHER);
}

fn hash_unless(entry: &Entry, other: u32) {
    let is_known = entry.flags.get() & (EntryFlag::GAPLESS.0 | other) == EntryFlag::GAPLESS.0;
    if is_known && entry.buffer.get() != 0 && entry.bytes.get() != 0 {
        entry.digest.set(digest(entry.buffer.get(), entry.bytes.get()).unwrap_or(0));
    }
}

/// This call shows the program that the operation is complete. The entry must be open.
#[inline(always)]
pub fn completed<A: Abi>(entry: &Entry, call: &Call<A>) {
    // A send that blocks or is complete at start completes in the call that starts it.
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
        None => State::Released,
        Some(now) if now != before => State::Changed,
        Some(_) => State::Unchanged,
    }
}

/// An operation with a buffer of `bytes` without gaps was started.
pub fn given(record: &OneSided, bytes: u64) {
    if recorded() && record.buffer.get() != 0 && bytes != 0 && bytes == record.bytes.get() {
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
    known_complete(record);
    true
}

/// A call completes an operation at the origin: compares its buffer.
pub fn known_complete(record: &OneSided) {
    let flag = match state(record.buffer.get(), record.bytes.get(), record.digest.get()) {
        State::Unchanged => 0,
        State::Changed => OneSidedFlag::CHANGED.0,
        State::Released => OneSidedFlag::RELEASED.0,
    };
    record.flags.set(record.flags.get() | flag);
    record.digest.set(0);
}

/// Returns a hash that is not zero; `None` if some of the memory cannot be read.
fn digest(address: u64, bytes: u64) -> Option<u64> {
    address.checked_add(bytes)?;
    let hash = pieces(bytes).try_fold(bytes, |hash, (at, len)| within_pages(hash, address + at, len))?;
    Some(hash.max(1))
}

/// Adds the bytes of a piece, in a way that does not depend on where pages begin: the other end of a message is elsewhere.
fn within_pages(hash: u64, at: u64, len: u64) -> Option<u64> {
    // SAFETY: all of it can be read.
    is_readable(at, len).then(|| unsafe { add(hash, at as *const u8, len as usize) })
}

/// Whether all bytes from an address on can be read.
pub fn is_readable(at: u64, len: u64) -> bool {
    let Some(last) = at.checked_add(len.saturating_sub(1)) else { return false };
    let pages = at / PIECE + 1..=last / PIECE;
    own_memory::is_readable(at as usize)
        && pages.into_iter().all(|page| own_memory::is_readable((page * PIECE) as usize))
}

/// Adds bytes to a hash. They may change meanwhile.
///
/// # Safety
///
/// The bytes must be readable.
unsafe fn add(mut hash: u64, from: *const u8, len: usize) -> u64 {
    let words = len / size_of::<u64>();
    for number in 0..words {
        // SAFETY: the caller's promise; the address need not be aligned.
        hash = mix(hash, unsafe { from.cast::<Unaligned>().add(number).read_volatile() }.0);
    }
    let rest = words * size_of::<u64>()..len;
    // SAFETY: the caller's promise.
    let last = rest.fold(0, |last, at| last << 8 | u64::from(unsafe { from.add(at).read_volatile() }));
    mix(hash, last)
}

/// A word at any address.
#[repr(C, packed)]
#[derive(Clone, Copy)]
struct Unaligned(u64);

/// Adds a word to a hash. Each step can be undone, so a single changed word always changes the hash.
fn mix(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

/// Returns start and length of each piece.
fn pieces(bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let count = bytes.div_ceil(PIECE).min(MOST);
    let step = if count < MOST { PIECE } else { (bytes - PIECE) / (MOST - 1) };
    (0..count).map(move |number| {
        let at = number * step;
        (at, (bytes - at).min(PIECE))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_of_a_buffer_that_is_compared_entirely_changes_the_hash() {
        let page = PIECE as usize;
        let mut buffer = vec![7; 2 * page + 13];
        let hash = |buffer: &[u8]| digest(buffer.as_ptr() as u64, buffer.len() as u64);
        let before = hash(&buffer);
        assert!(before.is_some());
        for place in [0, 1, page - 1, page, 2 * page, buffer.len() - 1] {
            buffer[place] = 8;
            assert_ne!(hash(&buffer), before, "byte {place}");
            buffer[place] = 7;
        }
        assert_eq!(hash(&buffer), before);
    }

    #[test]
    fn the_hash_does_not_depend_on_where_the_buffer_is() {
        let text: Vec<u8> = (0..3 * PIECE).map(|at| (at % 251) as u8).collect();
        let mut at_other_places = vec![0; text.len() + 100];
        for shift in [1, 8, 77] {
            at_other_places[shift..shift + text.len()].copy_from_slice(&text);
            let moved = digest(at_other_places.as_ptr() as u64 + shift as u64, text.len() as u64);
            assert_eq!(moved, digest(text.as_ptr() as u64, text.len() as u64));
        }
    }

    #[test]
    fn memory_that_cannot_be_read_has_no_hash() {
        assert_eq!(digest(8, 64), None);
        assert_eq!(digest(u64::MAX, 64), None);
    }

    #[test]
    fn pieces_cover_a_small_buffer_and_reach_both_ends_of_a_large_one() {
        assert_eq!(pieces(10).collect::<Vec<_>>(), [(0, 10)]);
        assert_eq!(pieces(PIECE + 1).collect::<Vec<_>>(), [(0, PIECE), (PIECE, 1)]);
        for bytes in [MOST * PIECE - 1, MOST * PIECE, MOST * PIECE + 1, 1 << 40] {
            let all: Vec<_> = pieces(bytes).collect();
            let end = all.last().map_or(0, |(at, len)| at + len);
            assert!(all.len() as u64 == MOST && bytes - end < MOST, "{bytes} bytes");
        }
    }
}
