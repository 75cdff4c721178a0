//! The stack of a dead or stopped thread, unwound by the tables that every program and library contains,
//! stripped or not.
//!
//! Unwinding continues through signal handlers: a library that catches `SIGSEGV`, prints a message and raises
//! it again (as UCX does) leaves the first fault further up the stack. [`Stack::fault`] is that fault.

use crate::sources::unwind::{Machine, Tables, Up};
use gimli::Register;
use mpiscope_target::{ByteOrder, Core, Crash, Module, Target, Thread};
use std::collections::HashMap;

/// Maximum number of frames: enough for people, and a bound for damaged stacks.
const MOST_FRAMES: usize = 256;
/// `AT_SYSINFO_EHDR`: the address of the vDSO.
const AT_VDSO: u64 = 33;

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The instruction: where the thread was, or a return address.
    pub pc: u64,
    /// `pc` is a return address: the call is before it.
    pub returns: bool,
}

/// An unwound stack.
#[derive(Debug, Default)]
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// The signal whose handler was running, if any; the outermost one.
    pub fault: Option<Crash>,
    /// Index in `frames` of the frame that received `fault`.
    pub fault_frame: usize,
    /// The stack pointer of that frame, otherwise of the innermost frame.
    pub pointer: Option<u64>,
}

impl Machine {
    /// Identifies the machine by the number of registers in the note.
    fn of(target: &dyn Target, registers: &[u64]) -> Option<Self> {
        match (target.width(), target.byte_order(), registers.len()) {
            (8, ByteOrder::Little, 27) => Some(Self::X86_64),
            (8, ByteOrder::Little, 34) => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// Maps a thread's registers to DWARF numbers, without the instruction pointer.
    fn registers(self, values: &[u64]) -> HashMap<Register, u64> {
        // On x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, as indices into `user_regs_struct`.
        const X86_64: [usize; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
        let at = |number: usize| match self {
            Self::X86_64 => X86_64.get(number).copied(),
            Self::Aarch64 => (number < 32).then_some(number),
        };
        let value = |number: usize| Some((Register(number as u16), *values.get(at(number)?)?));
        (0..32).filter_map(value).collect()
    }

    /// Address of the `siginfo_t` that the kernel stored, given the stack pointer of the signal return frame.
    fn siginfo(self, sp: u64) -> u64 {
        if self == Self::X86_64 { sp.wrapping_add(304) } else { sp }
    }
}

/// Walks the stack of `thread`.
pub fn walk(core: &Core, modules: &[Module], thread: &Thread) -> Stack {
    let Some(pc) = thread.pc else { return Stack::default() };
    walk_from(core, core.auxiliary(AT_VDSO), modules, pc, &thread.registers)
}

/// Walks a stack from the instruction `pc` with these registers, in the order of the machine's
/// `user_regs_struct`; `vdso` is the vDSO's address.
pub fn walk_from(
    target: &dyn Target,
    vdso: Option<u64>,
    modules: &[Module],
    pc: u64,
    registers: &[u64],
) -> Stack {
    let mut stack = Stack::default();
    stack.frames.push(Frame { pc, returns: false });
    let Some(machine) = Machine::of(target, registers) else { return stack };
    let mut walker = Walker { target, vdso, modules, machine, tables: HashMap::new() };
    let registers = machine.registers(registers);
    stack.pointer = registers.get(&machine.sp()).copied();
    let mut state = Some((pc, false, registers));
    while let Some((pc, returns, registers)) = state.take().filter(|_| stack.frames.len() < MOST_FRAMES) {
        let sp = registers.get(&machine.sp()).copied().unwrap_or(0);
        let Some(up) = walker.up(pc, returns, &registers) else { break };
        if up.pc == 0 || (up.registers.get(&machine.sp()).copied().unwrap_or(0) <= sp && !up.signal) {
            break;
        }
        stack.frames.push(Frame { pc: up.pc, returns: !up.signal });
        if let Some(fault) = up.signal.then(|| fault(target, machine.siginfo(sp))).flatten() {
            (stack.fault, stack.fault_frame) = (Some(fault), stack.frames.len() - 1);
            stack.pointer = up.registers.get(&machine.sp()).copied();
        }
        state = Some((up.pc, !up.signal, up.registers));
    }
    stack
}

/// Maximum size of a frame between the stack pointer and the first address used.
const FRAME: u64 = 64 << 10;
/// How far past the end of the stack an array in a frame may move the stack pointer.
const ARRAY: u64 = 256 << 20;

/// Whether a fault is a stack overflow: its address is near the stack pointer, in no memory of the program. A
/// stack pointer that is not in mapped memory itself has jumped past the end.
pub fn is_overflow(core: &Core, pointer: u64, fault: u64) -> bool {
    let mapped = |at: u64| {
        core.segments()
            .iter()
            .any(|s| s.writable && at.checked_sub(s.address).is_some_and(|from| from < s.size))
    };
    let beyond =
        !mapped(pointer) && (pointer.saturating_sub(FRAME)..pointer.saturating_add(ARRAY)).contains(&fault);
    // An address at the very bottom came from a null pointer.
    pointer > ARRAY && !mapped(fault) && (fault.abs_diff(pointer) <= FRAME || beyond)
}

/// Minimum size of a large stack.
const LARGE: u64 = 1 << 20;

/// Returns the size of the large stack whose lowest address is near a stack pointer. If the fault address is
/// lost, this is the only remaining evidence of an overflow.
pub fn at_the_end_of(core: &Core, pointer: u64) -> Option<u64> {
    const NEAR: u64 = 16 << 10;
    let near = |at: u64| pointer.saturating_add(NEAR) >= at && pointer < at.saturating_add(NEAR);
    core.segments().iter().find(|s| s.writable && s.size >= LARGE && near(s.address)).map(|s| s.size)
}

/// Returns the signal that a handler was invoked for.
fn fault(target: &dyn Target, siginfo: u64) -> Option<Crash> {
    let (signal, code) = (target.read_i32(siginfo).ok()?, target.read_i32(siginfo.wrapping_add(8)).ok()?);
    let raised = code > 0 && [4, 5, 7, 8, 11].contains(&signal);
    let address = target.read_u64(siginfo.wrapping_add(16)).ok().filter(|_| raised);
    (raised && (1..=64).contains(&signal)).then_some(Crash {
        signal,
        code,
        fault_address: address,
        sender: None,
    })
}

struct Walker<'a> {
    target: &'a dyn Target,
    vdso: Option<u64>,
    modules: &'a [Module],
    machine: Machine,
    tables: HashMap<u64, Option<Tables>>,
}

impl Walker<'_> {
    fn up(&mut self, pc: u64, returns: bool, registers: &HashMap<Register, u64>) -> Option<Up> {
        let at = pc.checked_sub(u64::from(returns))?;
        let start = match self.modules.iter().find(|module| module.contains(at)) {
            Some(module) => module.start,
            None => self.vdso.filter(|start| at.checked_sub(*start) < Some(1 << 16))?,
        };
        let (target, machine) = (self.target, self.machine);
        let tables = self.tables.entry(start).or_insert_with(|| Tables::read(target, start));
        tables.as_ref()?.up(target, machine, at, registers)
    }
}
