//! What holds for a frame at one instruction: the table's [steps](super::steps) up to there, followed.

use super::bytes::Bytes;
use super::frames::Frame;
use super::steps::Step;

/// The number of the stack pointer in the table.
const STACK_POINTER: u64 = if cfg!(target_arch = "x86_64") { 7 } else { 31 };
/// The largest frame that is believed.
const LARGEST: i64 = 1 << 20;
/// Rules that a function keeps at most.
const MOST_KEPT: usize = 4;

/// What is the same for all instructions of a function.
#[derive(Clone, Copy)]
pub struct Units {
    /// Bytes of code in a unit.
    pub code: u64,
    /// Bytes of data in a unit.
    pub data: i64,
    /// The number of the return address among the registers.
    pub returns: u64,
}

/// The rules that are asked for.
#[derive(Clone, Copy, Default)]
struct Rules {
    /// The register that the frame's end is counted from.
    register: u64,
    /// The frame's end, in bytes from there; nothing if it has to be computed.
    end: Option<i64>,
    /// The return address, in bytes from the frame's end; nothing if it is not on the stack.
    returns: Option<i64>,
}

impl Rules {
    fn frame(self) -> Option<Frame> {
        let size = self.end.filter(|size| self.register == STACK_POINTER && *size <= LARGEST)?;
        let place = size.checked_add(self.returns?)?;
        let inside = place >= 0 && place % 8 == 0 && place.checked_add(8)? <= size;
        inside.then_some(Frame { size: size.try_into().ok()?, place: place.try_into().ok()? })
    }
}

/// The frame of a function at the instruction `into` bytes behind its beginning, if its size is fixed: `first` is what
/// holds at the beginning of many functions, `then` what follows in this one.
pub fn frame(units: Units, first: Bytes<'_>, then: Bytes<'_>, into: u64) -> Option<Frame> {
    let none = Rules::default();
    let mut walk = Walk { units, into, at: 0, now: none, first: none, kept: [none; MOST_KEPT], depth: 0 };
    walk.follow(first)?;
    walk.first = walk.now;
    walk.follow(then)?;
    walk.now.frame()
}

struct Walk {
    units: Units,
    into: u64,
    at: u64,
    now: Rules,
    first: Rules,
    kept: [Rules; MOST_KEPT],
    depth: usize,
}

impl Walk {
    fn follow(&mut self, mut steps: Bytes<'_>) -> Option<()> {
        while self.at <= self.into && !steps.0.is_empty() {
            let step = Step::next(&mut steps)?;
            self.take(step)?;
        }
        Some(())
    }

    fn take(&mut self, step: Step) -> Option<()> {
        let units = self.units;
        match step {
            Step::Advance(count) => self.at = self.at.checked_add(count.checked_mul(units.code)?)?,
            Step::Saved(register, offset) if register == units.returns => {
                self.now.returns = Some(offset.checked_mul(units.data)?);
            }
            Step::Restored(register) if register == units.returns => self.now.returns = self.first.returns,
            Step::Elsewhere(register) if register == units.returns => self.now.returns = None,
            Step::Saved(..) | Step::Restored(_) | Step::Elsewhere(_) | Step::Nothing => {}
            Step::Remember => {
                *self.kept.get_mut(self.depth)? = self.now;
                self.depth += 1;
            }
            Step::Recall => {
                self.depth = self.depth.checked_sub(1)?;
                self.now = *self.kept.get(self.depth)?;
            }
            Step::End(register, bytes) => (self.now.register, self.now.end) = (register, Some(bytes)),
            Step::EndInUnits(register, count) => {
                (self.now.register, self.now.end) = (register, Some(count.checked_mul(units.data)?));
            }
            Step::EndRegister(register) => self.now.register = register,
            Step::EndOffset(bytes) => self.now.end = Some(bytes),
            Step::EndOffsetInUnits(count) => self.now.end = Some(count.checked_mul(units.data)?),
            Step::EndComputed => self.now.end = None,
        }
        Some(())
    }
}
