//! Tables that only grow, in chunks that never move: readers need no lock, and an index stays valid.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::codes::Error;

const FIRST: usize = 32;
const CHUNKS: usize = 22;

/// Converts an index from a caller, which may be negative or too large.
pub(crate) fn index(from: impl TryInto<usize>) -> Result<usize, Error> {
    from.try_into().map_err(|_| Error::INVALID_INDEX)
}

/// Returns the chunk of an index and the position in it. Chunk `k` holds `FIRST << k` entries.
#[inline(always)]
fn place(index: usize) -> (usize, usize) {
    let shifted = index.wrapping_add(FIRST);
    // Zero only for indices beyond any table; `| 1` keeps `ilog2` from panicking then.
    let top = (shifted | 1).ilog2();
    ((top as usize).wrapping_sub(FIRST.ilog2() as usize), shifted ^ (1 << top))
}

/// Number of slot lookups in any table by this thread: tests count steps, not time.
#[cfg(test)]
pub(crate) fn looked() -> usize {
    LOOKS.get()
}

#[cfg(test)]
pub(crate) fn look() {
    LOOKS.set(LOOKS.get() + 1);
}

#[cfg(test)]
thread_local! {
    static LOOKS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// An append-only list. One thread at a time may append (under the owner's lock); any thread may read.
pub(crate) struct AppendVec<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; CHUNKS],
    length: AtomicUsize,
}

impl<T> AppendVec<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], length: AtomicUsize::new(0) }
    }

    /// Number of entries that can be read.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, place) = place(index);
        self.chunks.get(chunk)?.get()?.get(place)?.get()
    }

    /// Appends a value. Returns its index, or the value if the table is full or another thread is appending.
    pub(crate) fn push(&self, value: T) -> Result<usize, T> {
        let index = self.length.load(Ordering::Relaxed);
        let (chunk, place) = place(index);
        let Some(chunk_cell) = self.chunks.get(chunk) else { return Err(value) };
        let entries = chunk_cell.get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        let Some(entry) = entries.get(place) else { return Err(value) };
        entry.set(value)?;
        self.length.store(index + 1, Ordering::Release);
        Ok(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map_while(|i| self.get(i))
    }
}

/// A table of slots that start out empty (`T::default()`) and are never unmapped.
pub(crate) struct SlotTable<T> {
    chunks: [OnceLock<Box<[T]>>; CHUNKS],
    length: AtomicUsize,
}

impl<T: Default> Default for SlotTable<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Default> SlotTable<T> {
    pub(crate) const fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], length: AtomicUsize::new(0) }
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        #[cfg(test)]
        look();
        let (chunk, place) = place(index);
        self.chunks.get(chunk)?.get()?.get(place)
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Adds one more slot to the table. Only under the owner's lock. Returns `None` if the table is full.
    pub(crate) fn grow(&self) -> Option<usize> {
        let index = self.length.load(Ordering::Relaxed);
        let (chunk, _) = place(index);
        self.chunks.get(chunk)?.get_or_init(|| (0..FIRST << chunk).map(|_| T::default()).collect());
        self.length.store(index + 1, Ordering::Release);
        Some(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map_while(|i| self.get(i))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_map_to_places_without_gap_or_overlap() {
        let mut expected = (0, 0);
        for index in 0..10_000 {
            assert_eq!(place(index), expected);
            expected.1 += 1;
            if expected.1 == FIRST << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }

    #[test]
    fn entries_keep_their_address_while_the_table_grows() {
        let table = AppendVec::new();
        table.push(0usize).unwrap();
        let first: *const usize = table.get(0).unwrap();
        for i in 1..5000 {
            assert_eq!(table.push(i), Ok(i));
        }
        assert!(std::ptr::eq(first, table.get(0).unwrap()));
        assert_eq!(table.iter().copied().sum::<usize>(), 5000 * 4999 / 2);
        assert_eq!(table.get(5000), None);
        assert_eq!(table.get(usize::MAX), None);
        assert_eq!(table.get(usize::MAX - 31), None);
    }
}
