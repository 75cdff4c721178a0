//! Where a function's frame ends at one of its calls, and where it saved the caller's registers.

/// Size in bytes of the largest frame considered valid.
pub const LARGEST: u32 = 1 << 20;
/// All offsets are multiples of this many bytes.
const WORD: u32 = 8;

/// The register relative to which the end of a frame is given.
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
    /// Saved this many bytes before the end of the frame.
    Saved(u32),
    /// Unknown.
    Lost,
}

/// The frame of a function at one of its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The register relative to which its end is given.
    pub base: Base,
    /// Bytes from there to where the caller's frame begins.
    pub end: u32,
    /// Bytes from the word with the return address to the end.
    pub returns: u32,
    /// Where the caller's frame pointer is.
    pub pointer: FramePointer,
}

/// What is known about the registers at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registers {
    /// The stack pointer.
    pub stack: u64,
    /// The frame pointer, which may have any value in code that does not use one.
    pub pointer: Option<u64>,
}

impl Frame {
    /// Returns the return address of this function and the registers of its caller. Only words between the
    /// stack pointer and `limit` are read; `limit` is the end of the stack or below.
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
            // SAFETY: aligned since the end is, not below the stack pointer, and at least a word below the
            // limit.
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

    /// Packs the frame into a nonzero number of less than 56 bits.
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

    /// Reverses [`packed`](Self::packed); `None` for zero.
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

/// Number of bits of an offset in words.
const BITS: u32 = 18;
/// Represents a lost frame pointer: no offset is this large.
const LOST: u32 = (1 << BITS) - 1;
const _: () = assert!(LARGEST / WORD < LOST);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_unchanged_after_packing() {
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
