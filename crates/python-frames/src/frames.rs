//! The Python frames of a thread.

use crate::layout::{BYTES, Instruction, LENGTH, Layout, OF_THE_INTERPRETER, Offset, STATE, TYPE};
use crate::lines::line_of;
use crate::{Memory, is_of_a_library};

/// Maximum number of frames followed, including those that the interpreter creates for itself: in changing
/// memory the links may form a cycle.
const MOST_STEPS: u32 = 4096;
/// Maximum length of a source path and of a line table.
const LONGEST_PATH: u64 = 4096;
const LONGEST_TABLE: u64 = 1 << 20;

/// The frames of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// The layout for the interpreter's version.
    pub layout: &'static Layout,
    /// Address of the thread state, a `PyThreadState`.
    pub state: u64,
}

/// A frame of Python code.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    layout: &'static Layout,
    code: u64,
    /// The instruction, as defined by [`Instruction`].
    instruction: u64,
}

/// A location in Python code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The function's name, `<module>` at top level.
    pub function: Vec<u8>,
    /// The file, as passed to Python.
    pub file: Vec<u8>,
    /// The line, starting at 1.
    pub line: u32,
}

impl Place {
    /// Whether the code was not written by the user.
    #[must_use]
    pub fn is_of_a_library(&self) -> bool {
        is_of_a_library(&self.file)
    }
}

/// Reads fields of structures.
struct Fields<'a, M: ?Sized>(&'a M);

impl<M: Memory + ?Sized> Fields<'_, M> {
    #[inline(always)]
    fn word(&self, structure: u64, offset: Offset) -> Option<u64> {
        let at = structure.wrapping_add(offset);
        (structure != 0 && at.is_multiple_of(8)).then(|| self.0.word(at)).flatten()
    }

    #[inline(always)]
    fn half(&self, structure: u64, offset: Offset) -> Option<u32> {
        let word = self.word(structure, offset & !7)?;
        Some((word >> (8 * (offset & 4))) as u32)
    }

    #[inline(always)]
    fn byte(&self, structure: u64, offset: Offset) -> Option<u8> {
        Some((self.word(structure, offset & !7)? >> (8 * (offset & 7))) as u8)
    }
}

impl Frames {
    /// Walks the frames, innermost first.
    #[inline]
    pub fn walk<M: Memory + ?Sized>(self, memory: &M) -> impl Iterator<Item = Frame> {
        let memory = Fields(memory);
        let (mut next, mut left) = (self.innermost(&memory), MOST_STEPS);
        std::iter::from_fn(move || {
            loop {
                let at = next.filter(|at| *at != 0)?;
                left = left.checked_sub(1)?;
                next = memory.word(at, self.layout.previous);
                match self.layout.owner.map(|owner| memory.byte(at, owner)) {
                    Some(Some(OF_THE_INTERPRETER)) => {}
                    Some(None) => return None,
                    _ => return self.frame(&memory, at),
                }
            }
        })
    }

    fn innermost<M: Memory + ?Sized>(self, memory: &Fields<'_, M>) -> Option<u64> {
        let leads = memory.word(self.state, self.layout.frame)?;
        match self.layout.chained {
            Some(offset) if leads != 0 => memory.word(leads, offset),
            _ => Some(leads),
        }
    }

    fn frame<M: Memory + ?Sized>(self, memory: &Fields<'_, M>, at: u64) -> Option<Frame> {
        let code = memory.word(at, self.layout.code)?;
        let instruction = match self.layout.instruction {
            Instruction::Address { at: offset, .. } => memory.word(at, offset)?,
            Instruction::Number { at: offset, .. } => u64::from(memory.half(at, offset)?),
        };
        Some(Frame { layout: self.layout, code, instruction })
    }
}

impl Frame {
    /// Whether its code object has this type.
    pub fn is_of<M: Memory + ?Sized>(&self, memory: &M, code_type: u64) -> bool {
        Fields(memory).word(self.code, TYPE) == Some(code_type)
    }

    /// Returns a key that is unique to this instruction, even if other code is later allocated at the same
    /// address.
    #[inline]
    pub fn key<M: Memory + ?Sized>(&self, memory: &M) -> Option<u64> {
        let (layout, memory) = (self.layout, &Fields(memory));
        let file = memory.word(self.code, layout.file)?;
        let lines = memory.word(self.code, layout.lines)?;
        let first = u64::from(memory.half(self.code, layout.first_line)?);
        let words = [self.code, self.instruction, file, lines, first].into_iter().fold(0, mix);
        let mixed = match layout.version {
            Some(version) => mix(words, u64::from(memory.half(self.code, version)?)),
            None => beginning(memory, lines)?.fold(words, mix),
        };
        Some(mixed | 1)
    }

    /// Returns its function, file and line.
    pub fn place(&self, memory: &dyn Memory) -> Option<Place> {
        let (layout, memory) = (self.layout, &Fields(memory));
        let first_line = memory.half(self.code, layout.first_line)?;
        let table = memory.word(self.code, layout.lines)?;
        let length = memory.word(table, LENGTH).filter(|length| *length <= LONGEST_TABLE)?;
        let table = memory.0.bytes(table.wrapping_add(BYTES), length)?;
        let file = text(memory, layout, memory.word(self.code, layout.file)?)?;
        let function = text(memory, layout, memory.word(self.code, layout.name)?)?;
        // Before its first instruction a frame is at the line where its function begins.
        let line =
            self.offset().map_or(Some(first_line), |at| line_of(layout.form, &table, first_line, at))?;
        Some(Place { function, file, line })
    }

    /// Returns the position in bytes from the first instruction; `None` before it.
    fn offset(&self) -> Option<u32> {
        match self.layout.instruction {
            Instruction::Address { first, .. } => {
                u32::try_from(self.instruction.checked_sub(self.code.checked_add(first)?)?).ok()
            }
            Instruction::Number { bytes, .. } => {
                let number = u32::try_from(self.instruction).ok()?.cast_signed();
                u32::try_from(number).ok()?.checked_mul(bytes)
            }
        }
    }
}

/// For code objects without a unique number, the beginning of the line table distinguishes them: its length,
/// and a few words.
fn beginning<M: Memory + ?Sized>(memory: &Fields<'_, M>, table: u64) -> Option<impl Iterator<Item = u64>> {
    const WORDS: u64 = 4;
    let length = memory.word(table, LENGTH)?;
    let word = move |index: u64| {
        let word = memory.word(table, BYTES + 8 * index)?;
        // An aligned word is within one page; bytes past the table's end are masked out.
        let behind = 8 * (8 - length.saturating_sub(8 * index).min(8)) as u32;
        Some(word.checked_shl(behind).unwrap_or(0))
    };
    let words = (0..WORDS.min(length.div_ceil(8))).map_while(word);
    Some(words.chain([length]))
}

fn mix(mixed: u64, word: u64) -> u64 {
    (mixed.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Reads a Python string.
fn text(memory: &Fields<'_, dyn Memory + '_>, layout: &Layout, at: u64) -> Option<Vec<u8>> {
    let length = memory.word(at, LENGTH).filter(|length| *length <= LONGEST_PATH)?;
    let state = memory.half(at, STATE)?;
    let (kind, compact, ascii) = ((state >> 2) & 7, state & 0x20 != 0, state & 0x40 != 0);
    let [of_ascii, of_others] = layout.text;
    if !compact {
        return None;
    }
    if ascii {
        return memory.0.bytes(at.wrapping_add(of_ascii), length);
    }
    let bytes = memory.0.bytes(at.wrapping_add(of_others), length * u64::from(kind))?;
    let wide = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
    let chars = bytes.chunks_exact(kind.clamp(1, 4) as usize).map(|bytes| char::from_u32(wide(bytes)));
    Some(chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes())
}
