//! Which function a thread is in, and which one it was in last.
//!
//! Both are one word: when a call ends, its number stays and a bit says that it is over. So the end of a call is the store of
//! a constant, as it would be for a zero, and nobody mistakes the one for the other: the word is read here only. The other
//! fields stay too, but for [`since`](Call::since), which says from then on when the call ended.

use crate::layout::Call;

/// The bit of a call that has ended.
const ENDED: u32 = 1 << 31;

impl Call {
    /// A number that differs, but for chance, where two calls are made at other places or with other arguments; `first` is the
    /// first request of an array. Its low bits are the function's, see [`Several`](crate::derive::polling::Several).
    #[inline(always)]
    pub fn asks_for(&self, first: u64) -> u64 {
        let [one, two, ..] = &self.extra;
        // Turned, so that a peer and a tag that change places make another number.
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

    /// The number of the function that the thread is in.
    #[inline(always)]
    pub fn open(&self) -> Option<u32> {
        let word = self.function.get();
        if word & ENDED == 0 { word.checked_sub(1) } else { None }
    }

    /// Outside of MPI, the number of the function that returned last. None before the first call of the thread, and in images of
    /// version 1, which forgot it.
    pub fn ended(&self) -> Option<u32> {
        let word = self.function.get();
        if word & ENDED == 0 { None } else { (word & !ENDED).checked_sub(1) }
    }

    /// The thread enters a function.
    #[inline(always)]
    pub fn begin(&self, function: u32) {
        self.function.set(function + 1);
    }

    /// The function returns to the program.
    #[inline(always)]
    pub fn end(&self, function: u32) {
        self.function.set((function + 1) | ENDED);
    }

    /// No call is known: the record begins to be of another thread.
    pub fn forget(&self) {
        self.function.set(0);
        self.return_address.set(0);
    }

    /// The same function as in another record, open or ended.
    pub fn as_in(&self, other: &Self) {
        self.function.set(other.function.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_has_ended_is_not_open_and_its_function_is_still_known() {
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
