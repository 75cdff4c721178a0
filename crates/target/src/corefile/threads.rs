//! The threads of a dead process and their registers.

use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_LOONGARCH, EM_PPC, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64};

use super::fields::Fields;

/// A thread at the death of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its thread id (`gettid`).
    pub tid: u32,
    /// The signal that it was handling; 0 if none.
    pub signal: i32,
    /// The general registers in the order of the machine's `user_regs_struct`.
    pub registers: Vec<u64>,
    /// The instruction that it was at; `None` on a machine with an unknown register layout.
    pub pc: Option<u64>,
    /// Its stack pointer; `None` like `pc`.
    pub sp: Option<u64>,
}

/// No machine's note has more registers.
const MAX_REGISTERS: usize = 128;

/// Reads `struct elf_prstatus`: four signal fields, four process ids, four times, then the registers.
pub fn thread(note: Fields<'_>) -> Option<Thread> {
    let width = note.kind.width;
    let pids_at = 16 + 2 * width;
    let registers_at = pids_at + 16 + 8 * width;
    let register = |index: usize| note.number(registers_at + index * width, width);
    // The last field is one padded word: whether floating point registers are valid.
    let count = note.bytes.len().saturating_sub(registers_at) / width;
    let registers: Vec<u64> = (0..count.saturating_sub(1).min(MAX_REGISTERS)).map_while(register).collect();
    let (pc, sp) = match (note.kind.machine, width) {
        (EM_X86_64, 8) => (16, 19),
        (EM_386, 4) => (12, 15),
        (EM_AARCH64, 8) => (32, 31),
        (EM_ARM, 4) => (15, 13),
        (EM_PPC64, 8) | (EM_PPC, 4) => (32, 1),
        (EM_RISCV, _) => (0, 2),
        (EM_S390, 8) => (1, 17),
        (EM_LOONGARCH, 8) => (33, 3),
        _ => (usize::MAX, usize::MAX),
    };
    Some(Thread {
        tid: note.number(pids_at, 4)? as u32,
        signal: note.number(12, 2)? as i32,
        pc: registers.get(pc).copied(),
        sp: registers.get(sp).copied(),
        registers,
    })
}
