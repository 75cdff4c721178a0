//! Words that are written by one process and read by another.
//!
//! All fields of a record are such words. Inside the process they are relaxed atomics (so that reads by a
//! debugger or a signal handler are not data races); a reader elsewhere copies their bytes.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

/// A 64-bit word of an image.
#[repr(transparent)]
#[derive(Default)]
pub struct W64(AtomicU64);

/// A 32-bit word of an image.
#[repr(transparent)]
#[derive(Default)]
pub struct W32(AtomicU32);

/// A 16-bit word of an image.
#[repr(transparent)]
#[derive(Default)]
pub struct W16(AtomicU16);

macro_rules! word {
    ($word:ident, $int:ty, $atomic:ty) => {
        impl $word {
            /// Creates a word with this value.
            pub const fn new(value: $int) -> Self {
                Self(<$atomic>::new(value))
            }

            /// The value, without any ordering.
            #[inline(always)]
            pub fn get(&self) -> $int {
                self.0.load(Ordering::Relaxed)
            }

            /// Stores `value`, without any ordering.
            #[inline(always)]
            pub fn set(&self, value: $int) {
                self.0.store(value, Ordering::Relaxed);
            }

            /// Adds to a word that only this thread writes: a load and a store, without a locked instruction.
            #[inline(always)]
            pub fn add_mine(&self, value: $int) {
                self.set(self.get().wrapping_add(value));
            }

            /// The word as an atomic, for the few that several threads write.
            #[inline(always)]
            pub fn atomic(&self) -> &$atomic {
                &self.0
            }
        }

        impl std::fmt::Debug for $word {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{:#x}", self.get())
            }
        }

        impl Clone for $word {
            fn clone(&self) -> Self {
                Self::new(self.get())
            }
        }
    };
}

word!(W64, u64, AtomicU64);
word!(W32, u32, AtomicU32);
word!(W16, u16, AtomicU16);

/// The sequence number at the head of a record: odd while the record is being written.
#[repr(transparent)]
#[derive(Default, Debug, Clone)]
pub struct Seq(W64);

impl Seq {
    /// Opens the record for writing. Only the record's one writer may call this.
    #[inline(always)]
    pub fn begin(&self) {
        self.0.set(self.0.get().wrapping_add(1) | 1);
        fence(Ordering::Release);
    }

    /// Closes the record: all stores since [`begin`](Self::begin) become visible before the even number does.
    #[inline(always)]
    pub fn end(&self) {
        self.0.atomic().store((self.0.get() | 1).wrapping_add(1), Ordering::Release);
    }

    /// Opens the record for writing until the returned guard is dropped; it must not be opened again before
    /// that.
    ///
    /// The number is read only once, whereas [`begin`](Self::begin) and [`end`](Self::end) read it twice and
    /// so wait for the value just stored.
    #[inline(always)]
    pub fn open(&self) -> Open<'_> {
        let odd = self.0.get().wrapping_add(1) | 1;
        self.0.set(odd);
        fence(Ordering::Release);
        Open { seq: self, odd }
    }

    /// Runs `write` with the record open. Where a few instructions matter, prefer [`open`](Self::open):
    /// closures that are written once and used in many places are not inlined.
    #[inline(always)]
    pub fn write<R>(&self, write: impl FnOnce() -> R) -> R {
        let _open = self.open();
        write()
    }

    /// The current number.
    #[inline(always)]
    pub fn get(&self) -> u64 {
        self.0.get()
    }
}

/// Guard of a record that is open for writing: see [`Seq::open`].
pub struct Open<'a> {
    seq: &'a Seq,
    odd: u64,
}

impl Drop for Open<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.seq.0.atomic().store(self.odd.wrapping_add(1), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_is_odd_during_a_write_and_has_changed_afterward() {
        let seq = Seq::default();
        seq.begin();
        assert_eq!(seq.get(), 1);
        seq.end();
        assert_eq!(seq.get(), 2);
        seq.write(|| assert_eq!(seq.get(), 3));
        assert_eq!(seq.get(), 4);
    }

    #[test]
    fn an_interrupted_write_is_still_odd_after_the_next_begin() {
        let seq = Seq::default();
        seq.begin();
        seq.begin();
        assert_eq!(seq.get() % 2, 1);
        seq.end();
        assert_eq!(seq.get() % 2, 0);
    }
}
