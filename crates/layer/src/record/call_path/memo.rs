//! A memo of a thread's stack walks, so that the same walk need not be repeated.
//!
//! A walk is a chain of dependent loads. But its result depends on nothing except the words that it reads: if
//! the call is at the same place with the same stack pointer, and all those words are unchanged, the result
//! is the same. The words can be compared independently of each other.

use crate::record::stack_frames::frame::{Base, Frame, FramePointer, Registers};
use std::cell::RefCell;

/// Number of walks kept; a power of two.
const ROOM: usize = 64;
/// Maximum number of words of a walk that is kept.
const WORDS: usize = 32;

/// Where a stack walk begins.
#[derive(Clone, Copy)]
pub struct Start {
    /// The return address of the MPI call.
    pub site: u64,
    /// The registers there.
    pub registers: Registers,
}

/// The result of a walk.
#[derive(Default)]
pub struct Followed {
    /// Where MPI was called, past Fortran bindings.
    pub site: u64,
    /// Where the user's code called the library that contains `site`, if it did.
    pub caller: Option<u64>,
    /// The words that the walk read.
    pub read: Read,
}

/// The walks of a thread.
pub struct Memo([RefCell<Walk>; ROOM]);

impl Default for Memo {
    fn default() -> Self {
        Self([const { RefCell::new(Walk::NONE) }; ROOM])
    }
}

impl Memo {
    fn slot(&self, start: &Start) -> Option<&RefCell<Walk>> {
        let mixed = (start.site ^ start.registers.stack.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0.get((mixed >> 58) as usize)
    }

    /// Returns the result of an earlier walk from `start`, if it is still valid.
    #[inline]
    pub fn find(&self, start: &Start) -> Option<u64> {
        let walk = self.slot(start)?.try_borrow().ok()?;
        walk.is_as_from(start).then_some(walk.found)
    }

    /// Keeps a walk whose result is represented by `found`.
    pub fn keep(&self, start: &Start, followed: &Followed, found: u64) {
        if let (Some(Ok(mut slot)), Some(walk)) =
            (self.slot(start).map(RefCell::try_borrow_mut), followed.read.of(start, found))
        {
            *slot = walk;
        }
    }
}

/// One walk.
#[derive(Clone, Copy)]
struct Walk {
    site: u64,
    stack: u64,
    /// The frame pointer at its start, if the walk used it.
    pointer: Option<u64>,
    /// The address that represents the result.
    found: u64,
    count: usize,
    /// The words read: offset from the stack pointer, and value.
    words: [(u32, u64); WORDS],
}

impl Walk {
    const NONE: Self = Self { site: 0, stack: 0, pointer: None, found: 0, count: 0, words: [(0, 0); WORDS] };

    #[inline]
    fn is_as_from(&self, start: &Start) -> bool {
        let Registers { stack, pointer } = start.registers;
        let is_there = |(offset, value): &(u32, u64)| {
            // SAFETY: a word of this thread's stack above the stack pointer, which was read before.
            unsafe { (stack.wrapping_add(u64::from(*offset)) as *const u64).read() == *value }
        };
        self.site == start.site
            && self.stack == stack
            && (self.pointer.is_none() || self.pointer == pointer)
            && self.words.iter().take(self.count).all(is_there)
    }
}

/// The words that a walk depends on.
pub struct Read {
    count: usize,
    words: [(u32, u64); WORDS],
    /// Whether the walk used the frame pointer at the start.
    pointer: bool,
    /// Where the current frame's frame pointer was read from; `None` while it is still the one at the start.
    saved: Option<u64>,
}

impl Default for Read {
    fn default() -> Self {
        Self { count: 0, words: [(0, 0); WORDS], pointer: false, saved: None }
    }
}

impl Read {
    /// Records that a step by `frame` led from `below` to `above`, with return address `caller`.
    pub fn step(&mut self, start: &Start, frame: Frame, below: Registers, above: Registers, caller: u64) {
        let end = above.stack;
        if frame.base == Base::FramePointer {
            match (self.saved, below.pointer) {
                (Some(place), Some(value)) => self.push(start, place, value),
                _ => self.pointer = true,
            }
        }
        self.push(start, end.wrapping_sub(frame.returns.into()), caller);
        if let FramePointer::Saved(before) = frame.pointer {
            self.saved = Some(end.wrapping_sub(before.into()));
        }
    }

    fn push(&mut self, start: &Start, place: u64, value: u64) {
        let offset = u32::try_from(place.wrapping_sub(start.registers.stack));
        if let (Some(word), Ok(offset)) = (self.words.get_mut(self.count), offset) {
            *word = (offset, value);
            self.count += 1;
        } else {
            self.count = WORDS + 1;
        }
    }

    /// Returns the walk, or `None` if it is too long.
    fn of(&self, start: &Start, found: u64) -> Option<Walk> {
        let Start { site, registers } = *start;
        let pointer = registers.pointer.filter(|_| self.pointer);
        let (stack, count, words) = (registers.stack, self.count, self.words);
        (count <= WORDS).then_some(Walk { site, stack, pointer, found, count, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_walk_is_reused_only_while_everything_it_read_is_unchanged() {
        let mut stack = [1u64, 2, 3, 4, 5, 6];
        let at = stack.as_mut_ptr();
        let bottom = at as u64;
        // SAFETY: in the array: the frame pointer saved by the first frame.
        unsafe { at.add(1).write(bottom + 32) };
        let registers = Registers { stack: bottom, pointer: Some(bottom + 16) };
        let start = Start { site: 0x77, registers };
        let frame = |base, end| Frame { base, end, returns: 8, pointer: FramePointer::Saved(16) };
        let mut followed = Followed::default();
        let mut below = registers;
        for frame in [frame(Base::Stack, 24), frame(Base::FramePointer, 16)] {
            // SAFETY: the stack is the array.
            let (caller, above) = unsafe { frame.up(below, bottom + 48) }.unwrap_or((0, below));
            followed.read.step(&start, frame, below, above, caller);
            below = above;
        }
        let memo = Memo::default();
        memo.keep(&start, &followed, 0x99);
        assert_eq!(memo.find(&start), Some(0x99));
        let others = [
            Start { site: 0x78, ..start },
            Start { registers: Registers { stack: bottom + 8, ..registers }, ..start },
        ];
        assert!(others.iter().all(|other| memo.find(other).is_none()));
        // The first return address, then the saved frame pointer that led to the second frame.
        for index in [2, 1] {
            // SAFETY: in the array.
            let was = unsafe { at.add(index).replace(9) };
            assert_eq!(memo.find(&start), None, "word {index}");
            // SAFETY: as above.
            unsafe { at.add(index).write(was) };
            assert_eq!(memo.find(&start), Some(0x99));
        }
    }

    #[test]
    fn a_stack_walk_that_is_too_long_is_not_kept() {
        let start = Start { site: 1, registers: Registers { stack: 0, pointer: None } };
        let mut followed = Followed::default();
        let frame = Frame { base: Base::Stack, end: 8, returns: 8, pointer: FramePointer::Same };
        for _ in 0..=WORDS {
            followed.read.step(&start, frame, start.registers, Registers { stack: 8, pointer: None }, 5);
        }
        assert!(followed.read.of(&start, 1).is_none());
    }
}
