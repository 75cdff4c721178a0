//! The interpreter's frames of a thread.

use super::layout::{BYTES, Instruction, LENGTH, Layout, OF_THE_INTERPRETER, STATE, TYPE};
use super::lines::line_of;
use super::memory::Memory;
use crate::base::own_memory;

/// Longest path of a source file, and longest table of lines, that is read.
const LONGEST_PATH: u64 = 4096;
const LONGEST_TABLE: u64 = 1 << 20;

/// The frames of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    pub layout: &'static Layout,
    /// The thread's state.
    pub state: u64,
}

/// A frame of Python code.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    layout: &'static Layout,
    code: u64,
    /// As [`Instruction`] has it.
    instruction: u64,
}

/// Where a frame is.
pub struct Place {
    pub file: Vec<u8>,
    pub line: u32,
}

impl Frames {
    /// From the innermost one on.
    pub fn walk(self, memory: &Memory) -> impl Iterator<Item = Frame> {
        let memory = *memory;
        let mut next = self.innermost(memory);
        std::iter::from_fn(move || {
            loop {
                let at = next.filter(|at| *at != 0)?;
                next = memory.word(at, self.layout.previous);
                match self.layout.owner.map(|owner| memory.byte(at, owner)) {
                    Some(Some(OF_THE_INTERPRETER)) => {}
                    Some(None) => return None,
                    _ => return self.frame(memory, at),
                }
            }
        })
    }

    fn innermost(self, memory: Memory) -> Option<u64> {
        let leads = memory.word(self.state, self.layout.frame)?;
        match self.layout.chained {
            Some(offset) if leads != 0 => memory.word(leads, offset),
            _ => Some(leads),
        }
    }

    fn frame(self, memory: Memory, at: u64) -> Option<Frame> {
        let code = memory.word(at, self.layout.code)?;
        let instruction = match self.layout.instruction {
            Instruction::Address { at: offset, .. } => memory.word(at, offset)?,
            Instruction::Number { at: offset, .. } => u64::from(memory.half(at, offset)?),
        };
        Some(Frame { layout: self.layout, code, instruction })
    }
}

impl Frame {
    /// Whether its code is an object of this type.
    pub fn is_of(&self, memory: &Memory, code_type: u64) -> bool {
        memory.word(self.code, TYPE) == Some(code_type)
    }

    /// What no other instruction has, nor one that comes to lie there when this code is gone.
    pub fn key(&self, memory: &Memory) -> Option<u64> {
        let layout = self.layout;
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

    /// Its file and line, read through the kernel.
    pub fn place(&self) -> Option<Place> {
        let (layout, memory) = (self.layout, Memory { trusted: false });
        let first_line = memory.half(self.code, layout.first_line)?;
        let table = memory.word(self.code, layout.lines)?;
        let length = memory.word(table, LENGTH).filter(|length| *length <= LONGEST_TABLE)?;
        let table = own_memory::bytes(table.wrapping_add(BYTES), length)?;
        let file = text(layout, memory.word(self.code, layout.file)?)?;
        // Before its first instruction a frame is at the line where its function begins.
        let line =
            self.offset().map_or(Some(first_line), |at| line_of(layout.form, &table, first_line, at))?;
        Some(Place { file, line })
    }

    /// Where it is, in bytes from the first instruction; none before it.
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

/// Of code that has no number of its own, the beginning of its table says that it is another: the length, and a few words.
fn beginning(memory: &Memory, table: u64) -> Option<impl Iterator<Item = u64>> {
    const WORDS: u64 = 4;
    let (memory, length) = (*memory, memory.word(table, LENGTH)?);
    let word = move |index: u64| {
        let word = memory.word(table, BYTES + 8 * index)?;
        // An aligned word lies in one page; what is behind the last byte is not the table's.
        let behind = 8 * (8 - length.saturating_sub(8 * index).min(8)) as u32;
        Some(word.checked_shl(behind).unwrap_or(0))
    };
    let words = (0..WORDS.min(length.div_ceil(8))).map_while(word);
    Some(words.chain([length]))
}

fn mix(mixed: u64, word: u64) -> u64 {
    (mixed.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A string of Python.
fn text(layout: &Layout, at: u64) -> Option<Vec<u8>> {
    let memory = Memory { trusted: false };
    let length = memory.word(at, LENGTH).filter(|length| *length <= LONGEST_PATH)?;
    let state = memory.half(at, STATE)?;
    let (kind, compact, ascii) = ((state >> 2) & 7, state & 0x20 != 0, state & 0x40 != 0);
    let [of_ascii, of_others] = layout.text;
    if !compact {
        return None;
    }
    if ascii {
        return own_memory::bytes(at.wrapping_add(of_ascii), length);
    }
    let bytes = own_memory::bytes(at.wrapping_add(of_others), length * u64::from(kind))?;
    let wide = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte));
    let chars = bytes.chunks_exact(kind.clamp(1, 4) as usize).map(|bytes| char::from_u32(wide(bytes)));
    Some(chars.map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes())
}
