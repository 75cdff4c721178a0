//! Unwinds one frame by the tables that every program and library contains, stripped or not.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, Evaluation, EvaluationResult, Expression,
    LittleEndian, Pointer, Register, RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
    UnwindTableRow, Value,
};
use mpiscope_target::Target;
use std::collections::HashMap;

/// Maximum size of unwind tables.
const LONGEST_TABLE: u64 = 256 << 20;
/// Maximum number of steps of one expression.
const MOST_STEPS: u32 = 10_000;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// The machine that a stack belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    X86_64,
    Aarch64,
}

impl Machine {
    /// DWARF number of the stack pointer.
    pub fn sp(self) -> Register {
        Register(if self == Self::X86_64 { 7 } else { 31 })
    }
}

/// The unwind tables of a module.
pub struct Tables {
    hdr_at: u64,
    hdr: Vec<u8>,
    frames_at: u64,
    frames: Vec<u8>,
}

/// The next frame.
pub struct Up {
    /// Where execution continues in this frame.
    pub pc: u64,
    /// Its registers, where known.
    pub registers: HashMap<Register, u64>,
    /// The frame below was the return from a signal handler: `pc` is where the signal arrived.
    pub signal: bool,
}

impl Tables {
    /// Finds the tables by the program headers in memory.
    pub fn read(target: &dyn Target, start: u64) -> Option<Self> {
        const PT_LOAD: u32 = 1;
        const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
        if target.read_bytes(start, 4, 4).ok()? != b"\x7fELF" {
            return None;
        }
        let first = start.checked_add(target.read_u64(start.checked_add(32)?).ok()?)?;
        let count = target.read_u16(start.checked_add(56)?).ok()?;
        let header = |index: u16| {
            let at = first.checked_add(u64::from(index) * 56)?;
            let kind = target.read_u32(at).ok()?;
            Some((kind, target.read_u64(at + 16).ok()?, target.read_u64(at + 40).ok()?))
        };
        let headers: Vec<(u32, u64, u64)> = (0..count.min(256)).map_while(header).collect();
        let lowest = headers.iter().filter(|h| h.0 == PT_LOAD).map(|h| h.1).min()?;
        let bias = start.wrapping_sub(lowest & !0xfff);
        let (_, hdr_at, len) = *headers.iter().find(|h| h.0 == PT_GNU_EH_FRAME)?;
        let hdr = target.read_bytes(bias.wrapping_add(hdr_at), len, LONGEST_TABLE).ok()?;
        let hdr_at = bias.wrapping_add(hdr_at);
        let bases = BaseAddresses::default().set_eh_frame_hdr(hdr_at);
        let parsed = EhFrameHdr::new(&hdr, LittleEndian).parse(&bases, 8).ok()?;
        let Pointer::Direct(frames_at) = parsed.eh_frame_ptr() else { return None };
        let holds = |h: &&(u32, u64, u64)| {
            h.0 == PT_LOAD && frames_at.wrapping_sub(bias).checked_sub(h.1) < Some(h.2)
        };
        let (_, segment, size) = headers.iter().find(holds)?;
        let len = bias.wrapping_add(*segment).wrapping_add(*size).wrapping_sub(frames_at);
        let frames = target.read_bytes(frames_at, len, LONGEST_TABLE).ok()?;
        Some(Self { hdr_at, hdr, frames_at, frames })
    }

    /// Unwinds from the frame whose instruction is `at` to its caller.
    pub fn up(
        &self,
        target: &dyn Target,
        machine: Machine,
        at: u64,
        registers: &HashMap<Register, u64>,
    ) -> Option<Up> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(self.hdr_at).set_eh_frame(self.frames_at);
        let hdr = EhFrameHdr::new(&self.hdr, LittleEndian).parse(&bases, 8).ok()?;
        let mut frames = EhFrame::new(&self.frames, LittleEndian);
        frames.set_address_size(8);
        let fde = hdr.table()?.fde_for_address(&frames, &bases, at, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = fde.unwind_info_for_address(&frames, &bases, &mut context, at).ok()?;
        let reader = Values { target, registers, frames: &frames, encoding: fde.cie().encoding() };
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
        // Return addresses may be signed on aarch64; no user address has these bits.
        let pc = if machine == Machine::Aarch64 { pc & 0x00ff_ffff_ffff_ffff & ((1 << 52) - 1) } else { pc };
        Some(Up { pc, registers: above, signal: fde.is_signal_trampoline() })
    }
}

/// Evaluates the rules of one frame.
struct Values<'a> {
    target: &'a dyn Target,
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
            RegisterRule::Offset(offset) => self.target.read_u64(cfa.wrapping_add_signed(*offset)).ok(),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(other).copied(),
            RegisterRule::Expression(e) => self.target.read_u64(self.evaluate(e, Some(cfa))?).ok(),
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
                    let value = self.target.read_number(address, usize::from(size)).ok()?;
                    evaluation.resume_with_memory(Value::Generic(value)).ok()?
                }
                _ => return None,
            };
        }
        None
    }
}
