//! Offsets in CPython's structures, by version, for the usual build (with the GIL, without debugging).
//! Another build is detected when its first frame is read.

/// Offset in a structure, in bytes.
pub type Offset = u64;

/// Offsets that differ between versions.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// In `PyThreadState`: the id of its thread, as defined by [`Layout::identity`].
    pub thread: Offset,
    /// What `thread` contains.
    pub identity: Identity,
    /// In `PyThreadState`: the innermost frame, or a structure that contains it.
    pub frame: Offset,
    /// Offset of the frame pointer in the structure at `frame`; `None` if that is the frame itself.
    pub chained: Option<Offset>,
    /// In a frame: the calling frame.
    pub previous: Offset,
    /// In a frame: its code object.
    pub code: Offset,
    /// In a frame: the current instruction.
    pub instruction: Instruction,
    /// In a frame: the byte that marks a frame that is not Python code, in versions that have such frames.
    pub owner: Option<Offset>,
    /// In `PyCodeObject`: a number unique to the code object, in versions that have one.
    pub version: Option<Offset>,
    /// In `PyCodeObject`: the first line.
    pub first_line: Offset,
    /// In `PyCodeObject`: the file name.
    pub file: Offset,
    /// In `PyCodeObject`: the function's name.
    pub name: Offset,
    /// In `PyCodeObject`: the line table.
    pub lines: Offset,
    /// Format of the line table.
    pub form: Lines,
    /// In `PyASCIIObject` and `PyCompactUnicodeObject`: the first character.
    pub text: [Offset; 2],
}

/// How a thread state identifies its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// By the kernel's thread id.
    Kernel,
    /// By `pthread_self`.
    Posix,
}

/// How a frame records its current instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// As an address; the first instruction is at an offset in the code object.
    Address {
        /// Offset in the frame.
        at: Offset,
        /// Offset of the first instruction in the code object.
        first: Offset,
    },
    /// As an index of instructions of fixed size.
    Number {
        /// Offset in the frame.
        at: Offset,
        /// Size of an instruction in bytes.
        bytes: u32,
    },
}

/// Format of the line table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// `co_lnotab`, until 3.9.
    Steps,
    /// `co_linetable` of 3.10.
    Ranges,
    /// `co_linetable` since 3.11.
    Locations,
}

/// `owner` of a frame that the interpreter created for itself, `FRAME_OWNED_BY_CSTACK`.
pub const OF_THE_INTERPRETER: u8 = 3;

/// All structures begin with reference count and type.
pub const TYPE: Offset = 8;
/// In `PyBytesObject` and `PyASCIIObject`: the length.
pub const LENGTH: Offset = 16;
/// In `PyBytesObject`: the bytes.
pub const BYTES: Offset = 32;
/// In `PyASCIIObject`: its state, which tells the representation.
pub const STATE: Offset = 32;

/// 3.8 to 3.10, where frames are objects.
const OBJECTS: Layout = Layout {
    thread: 176,
    identity: Identity::Posix,
    frame: 24,
    chained: None,
    previous: 24,
    code: 32,
    instruction: Instruction::Number { at: 104, bytes: 1 },
    owner: None,
    version: None,
    first_line: 40,
    file: 104,
    name: 112,
    lines: 120,
    form: Lines::Steps,
    text: [48, 72],
};

/// 3.11, where frames are on a separate stack of the interpreter.
const STACKED: Layout = Layout {
    thread: 160,
    identity: Identity::Kernel,
    frame: 56,
    chained: Some(8),
    previous: 48,
    code: 32,
    instruction: Instruction::Address { at: 56, first: 184 },
    owner: Some(69),
    version: None,
    first_line: 72,
    file: 112,
    name: 120,
    lines: 136,
    form: Lines::Locations,
    text: [48, 72],
};

/// 3.12.
const SINCE_12: Layout = Layout {
    thread: 144,
    chained: Some(0),
    previous: 8,
    code: 0,
    instruction: Instruction::Address { at: 56, first: 192 },
    owner: Some(70),
    version: Some(92),
    first_line: 68,
    text: [40, 56],
    ..STACKED
};

/// 3.10, with instruction indices and a new table format.
const WITH_RANGES: Layout =
    Layout { instruction: Instruction::Number { at: 96, bytes: 2 }, form: Lines::Ranges, ..OBJECTS };

/// 3.13.
const SINCE_13: Layout = Layout {
    thread: 160,
    frame: 72,
    chained: None,
    instruction: Instruction::Address { at: 56, first: 200 },
    ..SINCE_12
};

impl Layout {
    /// Returns the layout of version `3.minor`, if known.
    #[must_use]
    pub fn of(minor: u32) -> Option<&'static Self> {
        Some(match minor {
            8 | 9 => &OBJECTS,
            10 => &WITH_RANGES,
            11 => &STACKED,
            12 => &SINCE_12,
            13 => &SINCE_13,
            _ => return None,
        })
    }
}
