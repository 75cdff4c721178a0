//! Tables that grow while a debugger may be reading them.
//!
//! The block holds the address of a table in one word and its length in another. A reader may stop us between
//! the two stores, or read the two words at different times. Therefore:
//!
//! * an entry is complete before the length includes it;
//! * a table that moves or gets an entry publishes the address first and then the length; one that loses an
//!   entry, the length first;
//! * tables are never freed;
//! * there is always room for as many entries again after the last one, all zero, so that an old address
//!   combined with a new length still reads only zeros beyond the entries.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Capacity of the first table, in entries.
const FIRST: usize = 64;

/// The two words of the block that publish a table.
pub struct TableSlot<'a> {
    /// Address of the first entry.
    pub address: &'a AtomicUsize,
    /// Number of entries.
    pub len: &'a AtomicI32,
}

/// One growing table.
pub struct Table<T: Copy> {
    entries: Vec<T>,
    /// The published memory; leaked when it is replaced.
    memory: *mut T,
    /// Capacity of `memory`, at least twice the number of entries.
    room: usize,
}

// SAFETY: the memory belongs to this table alone and is only written through `&mut self`.
unsafe impl<T: Copy + Send> Send for Table<T> {}

impl<T: Copy> Table<T> {
    /// Creates an empty table, which is not published.
    pub const fn new() -> Self {
        Self { entries: Vec::new(), memory: std::ptr::null_mut(), room: 0 }
    }

    /// The entries in the table.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    /// Adds entries at the end.
    pub fn extend(&mut self, place: &TableSlot<'_>, new: impl IntoIterator<Item = T>) {
        let old = self.entries.len();
        self.entries.extend(new);
        if self.entries.len() * 2 > self.room {
            self.replace();
            place.address.store(self.memory as usize, Ordering::SeqCst);
        } else {
            self.copy(old);
        }
        place.len.store(self.entries.len() as i32, Ordering::SeqCst);
    }

    /// Removes the entries for which `unwanted` returns true. The old memory stays unchanged.
    pub fn remove(&mut self, place: &TableSlot<'_>, unwanted: impl Fn(&T) -> bool) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| !unwanted(entry));
        if self.entries.len() == before {
            return false;
        }
        self.replace();
        place.len.store(self.entries.len() as i32, Ordering::SeqCst);
        place.address.store(self.memory as usize, Ordering::SeqCst);
        true
    }

    /// Allocates new memory with all entries.
    fn replace(&mut self) {
        self.room = (self.entries.len() * 4).max(FIRST);
        // Zero everywhere after the entries: see the module.
        let mut memory = Vec::with_capacity(self.room);
        // SAFETY: within the capacity; `Vec` aligned it.
        unsafe { std::ptr::write_bytes::<T>(memory.as_mut_ptr(), 0, self.room) };
        self.memory = memory.as_mut_ptr();
        std::mem::forget(memory);
        self.copy(0);
    }

    /// Copies the entries starting at `first`.
    fn copy(&mut self, first: usize) {
        for (index, entry) in self.entries.iter().enumerate().skip(first).take(self.room) {
            // SAFETY: inside our memory, which no Rust reference points into.
            unsafe { self.memory.add(index).write(*entry) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Words(AtomicUsize, AtomicI32);

    impl Words {
        fn place(&self) -> TableSlot<'_> {
            TableSlot { address: &self.0, len: &self.1 }
        }

        fn read(&self, address: usize, len: i32) -> Vec<u64> {
            // SAFETY: tables are never freed, and are followed by zeros.
            (0..len as usize).map(|i| unsafe { *(address as *const u64).add(i) }).collect()
        }

        fn now(&self) -> (usize, i32) {
            (self.0.load(Ordering::SeqCst), self.1.load(Ordering::SeqCst))
        }
    }

    #[test]
    fn an_old_address_with_a_new_length_gives_old_entries_and_zeros() {
        let words = Words(AtomicUsize::new(0), AtomicI32::new(0));
        let mut table = Table::<u64>::new();
        for value in 1..200 {
            let (old, _) = words.now();
            table.extend(&words.place(), [value]);
            let (address, len) = words.now();
            assert_eq!(words.read(address, len), (1..=value).collect::<Vec<_>>());
            if old != 0 {
                let mixed = words.read(old, len);
                assert!(mixed.iter().zip(1..).all(|(got, want)| *got == want || *got == 0), "{mixed:?}");
            }
        }
    }

    #[test]
    fn a_removed_entry_is_gone_and_the_old_table_is_unchanged() {
        let words = Words(AtomicUsize::new(0), AtomicI32::new(0));
        let mut table = Table::<u64>::new();
        table.extend(&words.place(), [1, 2, 3]);
        let (old, len) = words.now();
        assert!(table.remove(&words.place(), |v| *v == 2));
        assert!(!table.remove(&words.place(), |v| *v == 7));
        let (address, short) = words.now();
        assert_eq!(words.read(address, short), [1, 3]);
        assert_eq!(words.read(old, len), [1, 2, 3]);
    }
}
