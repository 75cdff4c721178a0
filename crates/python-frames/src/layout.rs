//! Where CPython's structures have what is needed here, by version: the usual build, with the lock of the interpreter and without
//! its debugging. Another build is found out when its first frame is looked at.

/// How far into a structure something is.
pub type Offset = u64;

/// What differs from version to version.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// `PyThreadState`: whose it is, by [`Layout::identity`].
    pub thread: Offset,
    /// What `thread` holds.
    pub identity: Identity,
    /// `PyThreadState`: the innermost frame, or what leads to it.
    pub frame: Offset,
    /// Where a frame is in what `frame` leads to; none if that is the frame.
    pub chained: Option<Offset>,
    /// A frame: the one that called it.
    pub previous: Offset,
    /// A frame: its code.
    pub code: Offset,
    /// A frame: the instruction that it is at.
    pub instruction: Instruction,
    /// A frame: the byte that says that it is none of Python, as far as there are such.
    pub owner: Option<Offset>,
    /// `PyCodeObject`: a number that no other code gets, as far as there is one.
    pub version: Option<Offset>,
    /// `PyCodeObject`.
    pub first_line: Offset,
    /// Likewise: the file's name.
    pub file: Offset,
    /// Likewise: the name of the function.
    pub name: Offset,
    /// Likewise: the table that has the lines.
    pub lines: Offset,
    /// Its form.
    pub form: Lines,
    /// `PyASCIIObject` and `PyCompactUnicodeObject`: where their characters begin.
    pub text: [Offset; 2],
}

/// How a thread's state says whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The kernel's number.
    Kernel,
    /// `pthread_self`.
    Posix,
}

/// How a frame says where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instruction {
    /// An address; the code object has its first instruction at an offset.
    Address {
        /// Where the frame has it.
        at: Offset,
        /// Where the code has its first one.
        first: Offset,
    },
    /// A number, of which each stands for so many bytes.
    Number {
        /// Where the frame has it.
        at: Offset,
        /// Bytes of each.
        bytes: u32,
    },
}

/// The table that has the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// `co_lnotab`, until 3.9.
    Steps,
    /// `co_linetable` of 3.10.
    Ranges,
    /// `co_linetable` since 3.11.
    Locations,
}

/// `owner` of a frame that the interpreter has made for itself, `FRAME_OWNED_BY_CSTACK`.
pub const OF_THE_INTERPRETER: u8 = 3;

/// All structures begin with the count of references and the type.
pub const TYPE: Offset = 8;
/// `PyBytesObject`, `PyASCIIObject`: the length.
pub const LENGTH: Offset = 16;
/// `PyBytesObject`: the bytes.
pub const BYTES: Offset = 32;
/// `PyASCIIObject`: its form.
pub const STATE: Offset = 32;

/// 3.8 to 3.10, whose frames are objects.
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

/// 3.11, whose frames lie on a stack of the interpreter's own.
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

/// 3.10, with numbers of instructions and a table of its own.
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
    /// That of a version `3.minor`, as far as it is known.
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
