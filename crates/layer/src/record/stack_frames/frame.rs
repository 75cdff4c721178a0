//! Where the frame of a function ends at one of its calls, and what it keeps there for its caller.

/// Bytes of the largest frame that is believed.
pub const LARGEST: u32 = 1 << 20;
/// All offsets are so many bytes, or a multiple.
const WORD: u32 = 8;

/// The register that the end of a frame is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// The stack pointer at the call.
    Stack,
    /// The frame pointer at the call.
    FramePointer,
}

/// Where the caller's frame pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FramePointer {
    /// Still in its register.
    Same,
    /// So many bytes before the end of the frame.
    Saved(u32),
    /// Nobody knows.
    Lost,
}

/// The frame of a function at one of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// What its end is counted from.
    pub base: Base,
    /// Bytes from there to where the caller's frame begins.
    pub end: u32,
    /// Bytes from the word with the caller's address to the end.
    pub returns: u32,
    /// The caller's frame pointer.
    pub pointer: FramePointer,
}

/// What is known of the registers at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer, which may hold anything in code that does without one.
    pub pointer: Option<u64>,
}

impl Frame {
    /// The address behind the call of this function, and the registers there. No word is read that is not between the stack pointer
    /// and `limit`, which is where the stack ends or before.
    ///
    /// # Safety
    ///
    /// All of the memory from the stack pointer to `limit` must be mapped.
    #[inline]
    pub unsafe fn up(self, at: Registers, limit: u64) -> Option<(u64, Registers)> {
        let base = match self.base {
            Base::Stack => at.stack,
            Base::FramePointer => at.pointer?,
        };
        let end = base.checked_add(self.end.into())?;
        if end > limit || end % u64::from(WORD) != 0 {
            return None;
        }
        let word = |before: u32| {
            let place = end.checked_sub(before.into()).filter(|place| *place >= at.stack)?;
            // SAFETY: aligned as the end is, not below the stack pointer, and a word or more below the limit.
            Some(unsafe { (place as *const u64).read() })
        };
        let caller = word(self.returns)?;
        let pointer = match self.pointer {
            FramePointer::Same => at.pointer,
            FramePointer::Saved(before) => word(before),
            FramePointer::Lost => None,
        };
        Some((caller, Registers { stack: end, pointer }))
    }

    /// As a number of less than 56 bits that is not zero.
    pub fn packed(self) -> u64 {
        let pointer = match self.pointer {
            FramePointer::Same => 0,
            FramePointer::Saved(before) => before / WORD,
            FramePointer::Lost => LOST,
        };
        let parts = [self.end / WORD, self.returns / WORD, pointer];
        let word = parts.into_iter().fold(0, |word, part| word << BITS | u64::from(part));
        word << 1 | u64::from(self.base == Base::FramePointer)
    }

    /// The frame that was [`packed`](Self::packed); nothing for zero.
    #[inline]
    pub fn unpacked(word: u64) -> Option<Self> {
        let part = |number: u32| (word >> (1 + number * BITS)) as u32 & ((1 << BITS) - 1);
        let pointer = match part(0) {
            0 => FramePointer::Same,
            LOST => FramePointer::Lost,
            words => FramePointer::Saved(words * WORD),
        };
        let base = if word & 1 == 0 { Base::Stack } else { Base::FramePointer };
        (word != 0).then_some(Self { base, end: part(2) * WORD, returns: part(1) * WORD, pointer })
    }
}

/// Bits of an offset in words.
const BITS: u32 = 18;
/// Stands for a frame pointer that is lost: no offset is as large.
const LOST: u32 = (1 << BITS) - 1;
const _: () = assert!(LARGEST / WORD < LOST);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_the_same_after_it_was_packed() {
        for base in [Base::Stack, Base::FramePointer] {
            for pointer in [FramePointer::Same, FramePointer::Saved(16), FramePointer::Lost] {
                let frame = Frame { base, end: LARGEST, returns: 8, pointer };
                assert!(frame.packed() < 1 << 56);
                assert_eq!(Frame::unpacked(frame.packed()), Some(frame));
            }
        }
        assert_eq!(Frame::unpacked(0), None);
    }

    #[test]
    fn the_step_to_the_caller_reads_nothing_below_the_stack_pointer_or_above_the_limit() {
        let words: [u64; 6] = [1, 2, 3, 4, 5, 6];
        let start = words.as_ptr() as u64;
        let limit = start + 48;
        let frame = |base, end| Frame { base, end, returns: 8, pointer: FramePointer::Saved(16) };
        // SAFETY: the stack is the array.
        let up = |frame: Frame, stack, pointer| unsafe { frame.up(Registers { stack, pointer }, limit) };
        let by_stack = frame(Base::Stack, 32);
        assert_eq!(up(by_stack, start, None), Some((4, Registers { stack: start + 32, pointer: Some(3) })));
        assert_eq!(up(by_stack, start + 24, None), None, "above the limit");
        let by_pointer = frame(Base::FramePointer, 16);
        let found = Some((6, Registers { stack: start + 48, pointer: Some(5) }));
        assert_eq!(up(by_pointer, start, Some(start + 32)), found);
        for nowhere in [None, Some(0), Some(start - 16), Some(start + 33), Some(start + 40), Some(u64::MAX)] {
            assert_eq!(up(by_pointer, start, nowhere), None, "{nowhere:x?}");
        }
    }
}
