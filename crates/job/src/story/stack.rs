//! The stack of a dead thread, by the unwind tables that every program and library carries, stripped or not.
//!
//! Walks through signal handlers: a library that catches `SIGSEGV`, prints something and raises it again (UCX does)
//! leaves the first fault further up the stack, and [`Stack::fault`] is that one.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, Evaluation, EvaluationResult, Expression,
    LittleEndian, Pointer, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow, Value,
};
use mpiscope_target::{ByteOrder, Core, Crash, Module, Target, Thread};
use std::collections::HashMap;

/// Frames that are followed at most: enough for people, and an end for damaged stacks.
const MOST_FRAMES: usize = 256;
/// Unwind tables are not longer than this.
const LONGEST_TABLE: u64 = 256 << 20;
/// Steps of one expression.
const MOST_STEPS: u32 = 10_000;
/// `AT_SYSINFO_EHDR`: where the kernel's own library lies.
const AT_VDSO: u64 = 33;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// The instruction: where the thread was, or where a call returns to.
    pub pc: u64,
    /// `pc` is a return address: the call is before it.
    pub returns: bool,
}

/// What the stack of a thread tells.
#[derive(Debug, Default)]
pub struct Stack {
    /// Innermost first.
    pub frames: Vec<Frame>,
    /// The signal whose handler the thread was in, if it was in one: the outermost.
    pub fault: Option<Crash>,
    /// Index in `frames` of the place of `fault`.
    pub fault_frame: usize,
}

/// The machine, as far as walking needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// Told by the number of registers in the note.
    fn of(core: &Core, thread: &Thread) -> Option<Self> {
        match (core.width(), core.byte_order(), thread.registers.len()) {
            (8, ByteOrder::Little, 27) => Some(Self::X86_64),
            (8, ByteOrder::Little, 34) => Some(Self::Aarch64),
            _ => None,
        }
    }

    fn sp(self) -> Register {
        Register(if self == Self::X86_64 { 7 } else { 31 })
    }

    /// The registers of a thread by their DWARF numbers, without the instruction pointer.
    fn registers(self, thread: &Thread) -> HashMap<Register, u64> {
        // Of x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8..r15, by their place in `user_regs_struct`.
        const X86_64: [usize; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];
        let at = |number: usize| match self {
            Self::X86_64 => X86_64.get(number).copied(),
            Self::Aarch64 => (number < 32).then_some(number),
        };
        let value = |number: usize| Some((Register(number as u16), *thread.registers.get(at(number)?)?));
        (0..32).filter_map(value).collect()
    }

    /// Where the kernel put `siginfo_t`, from the stack pointer of the frame that returns from a signal.
    fn siginfo(self, sp: u64) -> u64 {
        if self == Self::X86_64 { sp.wrapping_add(304) } else { sp }
    }
}

/// Walks the stack of `thread`.
pub fn walk(core: &Core, modules: &[Module], thread: &Thread) -> Stack {
    let mut stack = Stack::default();
    let Some(pc) = thread.pc else { return stack };
    stack.frames.push(Frame { pc, returns: false });
    let Some(machine) = Machine::of(core, thread) else { return stack };
    let mut walker = Walker { core, modules, machine, tables: HashMap::new() };
    let mut state = Some((pc, false, machine.registers(thread)));
    while let Some((pc, returns, registers)) = state.take().filter(|_| stack.frames.len() < MOST_FRAMES) {
        let sp = registers.get(&machine.sp()).copied().unwrap_or(0);
        let Some(up) = walker.up(pc, returns, &registers) else { break };
        if up.pc == 0 || (up.registers.get(&machine.sp()).copied().unwrap_or(0) <= sp && !up.signal) {
            break;
        }
        stack.frames.push(Frame { pc: up.pc, returns: !up.signal });
        if let Some(fault) = up.signal.then(|| fault(core, machine.siginfo(sp))).flatten() {
            (stack.fault, stack.fault_frame) = (Some(fault), stack.frames.len() - 1);
        }
        state = Some((up.pc, !up.signal, up.registers));
    }
    stack
}

/// The signal that a handler was called for.
fn fault(core: &Core, siginfo: u64) -> Option<Crash> {
    let (signal, code) = (core.read_i32(siginfo).ok()?, core.read_i32(siginfo.wrapping_add(8)).ok()?);
    let raised = code > 0 && [4, 5, 7, 8, 11].contains(&signal);
    let address = core.read_u64(siginfo.wrapping_add(16)).ok().filter(|_| raised);
    (raised && (1..=64).contains(&signal)).then_some(Crash {
        signal,
        code,
        fault_address: address,
        sender: None,
    })
}

struct Walker<'a> {
    core: &'a Core,
    modules: &'a [Module],
    machine: Machine,
    tables: HashMap<u64, Option<Tables>>,
}

/// The unwind tables of a module.
struct Tables {
    hdr_at: u64,
    hdr: Vec<u8>,
    frames_at: u64,
    frames: Vec<u8>,
}

/// The next frame.
struct Up {
    pc: u64,
    registers: HashMap<Register, u64>,
    /// The frame below was the return from a signal handler: `pc` is where the signal struck.
    signal: bool,
}

impl Walker<'_> {
    fn up(&mut self, pc: u64, returns: bool, registers: &HashMap<Register, u64>) -> Option<Up> {
        let at = pc.checked_sub(u64::from(returns))?;
        let start = match self.modules.iter().find(|module| module.contains(at)) {
            Some(module) => module.start,
            None => self.core.auxiliary(AT_VDSO).filter(|start| at.checked_sub(*start) < Some(1 << 16))?,
        };
        let (core, machine) = (self.core, self.machine);
        let tables = self.tables.entry(start).or_insert_with(|| Tables::read(core, start));
        tables.as_ref()?.up(core, machine, at, registers)
    }
}

impl Tables {
    /// Finds the tables by the program headers in memory.
    fn read(core: &Core, start: u64) -> Option<Self> {
        const PT_LOAD: u32 = 1;
        const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
        if core.read_bytes(start, 4, 4).ok()? != b"\x7fELF" {
            return None;
        }
        let first = start.checked_add(core.read_u64(start.checked_add(32)?).ok()?)?;
        let count = core.read_u16(start.checked_add(56)?).ok()?;
        let header = |index: u16| {
            let at = first.checked_add(u64::from(index) * 56)?;
            let kind = core.read_u32(at).ok()?;
            Some((kind, core.read_u64(at + 16).ok()?, core.read_u64(at + 40).ok()?))
        };
        let headers: Vec<(u32, u64, u64)> = (0..count.min(256)).map_while(header).collect();
        let lowest = headers.iter().filter(|h| h.0 == PT_LOAD).map(|h| h.1).min()?;
        let bias = start.wrapping_sub(lowest & !0xfff);
        let (_, hdr_at, len) = *headers.iter().find(|h| h.0 == PT_GNU_EH_FRAME)?;
        let hdr = core.read_bytes(bias.wrapping_add(hdr_at), len, LONGEST_TABLE).ok()?;
        let hdr_at = bias.wrapping_add(hdr_at);
        let bases = BaseAddresses::default().set_eh_frame_hdr(hdr_at);
        let parsed = EhFrameHdr::new(&hdr, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(frames_at) = parsed.eh_frame_ptr() else { return None };
        let holds = |h: &&(u32, u64, u64)| {
            h.0 == PT_LOAD && frames_at.wrapping_sub(bias).checked_sub(h.1) < Some(h.2)
        };
        let (_, segment, size) = headers.iter().find(holds)?;
        let len = bias.wrapping_add(*segment).wrapping_add(*size).wrapping_sub(frames_at);
        let frames = core.read_bytes(frames_at, len, LONGEST_TABLE).ok()?;
        Some(Self { hdr_at, hdr, frames_at, frames })
    }

    fn up(&self, core: &Core, machine: Machine, at: u64, registers: &HashMap<Register, u64>) -> Option<Up> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.hdr_at).set_eh_frame(self.frames_at);
        let hdr = EhFrameHdr::new(&self.hdr, LittleEndian).parse(&bases, 8).ok()?;
        let mut frames = EhFrame::new(&self.frames, LittleEndian);
        frames.set_address_size(8);
        let fde = hdr.table()?.fde_for_address(&frames, &bases, at, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&frames, &bases, &mut context, at).ok()?;
        let reader = Values { core, registers, frames: &frames, encoding: fde.cie().encoding() };
        let cfa = reader.cfa(row)?;
        let mut above = registers.clone();
        above.insert(machine.sp(), cfa);
        for (register, rule) in row.registers() {
            match reader.register(*register, rule, cfa) {
                Some(value) => above.insert(*register, value),
                None => above.remove(register),
            };
        }
        let pc = *above.get(&fde.cie().return_address_register())?;
        // Addresses of returns may be signed on aarch64; no user address has these bits.
        let pc = if machine == Machine::Aarch64 { pc & 0x00ff_ffff_ffff_ffff & ((1 << 52) - 1) } else { pc };
        Some(Up { pc, registers: above, signal: fde.is_signal_trampoline() })
    }
}

/// Evaluates rules in one frame.
struct Values<'a> {
    core: &'a Core,
    registers: &'a HashMap<Register, u64>,
    frames: &'a EhFrame<Slice<'a>>,
    encoding: gimli::Encoding,
}

impl Values<'_> {
    fn cfa(&self, row: &UnwindTableRow<usize>) -> Option<u64> {
        match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(self.registers.get(register)?.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    fn register(&self, register: Register, rule: &RegisterRule<usize>, cfa: u64) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => self.registers.get(&register).copied(),
            RegisterRule::Offset(offset) => self.core.read_u64(cfa.wrapping_add_signed(*offset)).ok(),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(other).copied(),
            RegisterRule::Expression(e) => self.core.read_u64(self.evaluate(e, Some(cfa))?).ok(),
            RegisterRule::ValExpression(e) => self.evaluate(e, Some(cfa)),
            _ => None,
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, first: Option<u64>) -> Option<u64> {
        let expression: Expression<Slice<'_>> = expression.get(self.frames).ok()?;
        let mut evaluation: Evaluation<Slice<'_>> = expression.evaluation(self.encoding);
        evaluation.set_max_iterations(MOST_STEPS);
        if let Some(first) = first {
            evaluation.set_initial_value(first);
        }
        let mut result = evaluation.evaluate().ok()?;
        for _ in 0..MOST_STEPS {
            result = match result {
                EvaluationResult::Complete => return evaluation.value_result()?.to_u64(u64::MAX).ok(),
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = *self.registers.get(&register)?;
                    evaluation.resume_with_register(Value::Generic(value)).ok()?
                }
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let value = self.core.read_number(address, usize::from(size)).ok()?;
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        None
    }
}
