//! The function that a thread is in, and the one it was in last.
//!
//! Both share one word: when a call ends, its number stays and a bit marks it as ended. So ending a call
//! stores a constant, just as clearing the word would, and the two states cannot be confused since the word
//! is only read here. The other fields stay, too, except [`since`](Call::since), which from then on holds the
//! time at which the call ended.

use crate::layout::Call;

/// Set in the word when the call has ended.
const ENDED: u32 = 1 << 31;

impl Call {
    /// A hash that, barring collisions, differs between calls made at different places or with different
    /// arguments; `first` is the first request of an array. Its low bits are the function's number, see
    /// [`Several`](crate::derive::polling::Several).
    #[inline(always)]
    pub fn asks_for(&self, first: u64) -> u64 {
        let [one, two, ..] = &self.extra;
        // Rotated, so that swapping a peer and a tag changes the hash.
        let arguments = first
            ^ self.return_address.get().rotate_left(7)
            ^ self.object.get().rotate_left(15)
            ^ self.count.get().rotate_left(23)
            ^ self.peer.get().rotate_left(31)
            ^ self.tag.get().rotate_left(39)
            ^ self.request.get().rotate_left(47)
            ^ one.get().rotate_left(53)
            ^ two.get().rotate_left(59);
        let folded = arguments ^ (arguments >> 48);
        (folded << 16) | u64::from(self.function.get() & 0xffff)
    }

    /// Number of the function that the thread is in.
    #[inline(always)]
    pub fn open(&self) -> Option<u32> {
        let word = self.function.get();
        if word & ENDED == 0 { word.checked_sub(1) } else { None }
    }

    /// Outside of MPI, the number of the function that returned last. `None` before the thread's first call,
    /// and in images of version 1, which do not keep it.
    pub fn ended(&self) -> Option<u32> {
        let word = self.function.get();
        if word & ENDED == 0 { None } else { (word & !ENDED).checked_sub(1) }
    }

    /// Records that the thread enters a function.
    #[inline(always)]
    pub fn begin(&self, function: u32) {
        self.function.set(function + 1);
    }

    /// Records that the function returns to the program.
    #[inline(always)]
    pub fn end(&self, function: u32) {
        self.function.set((function + 1) | ENDED);
    }

    /// Clears the call: the record is about to be used for another thread.
    pub fn forget(&self) {
        self.function.set(0);
        self.return_address.set(0);
    }

    /// Copies the function from another record, open or ended.
    pub fn as_in(&self, other: &Self) {
        self.function.set(other.function.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_call_is_not_open_and_its_function_is_still_known() {
        let call = Call::default();
        assert_eq!((call.open(), call.ended()), (None, None));
        for function in [0, 7, 767] {
            call.begin(function);
            assert_eq!((call.open(), call.ended()), (Some(function), None));
            call.end(function);
            assert_eq!((call.open(), call.ended()), (None, Some(function)));
        }
        call.forget();
        assert_eq!((call.open(), call.ended()), (None, None));
    }

    #[test]
    fn no_word_is_both_open_and_ended() {
        let call = Call::default();
        for word in [0, 1, ENDED, ENDED | 1, u32::MAX, u32::MAX >> 1] {
            call.function.set(word);
            assert!(call.open().is_none() || call.ended().is_none(), "{word:#x}");
        }
    }
}
