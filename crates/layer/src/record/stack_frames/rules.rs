//! Executes the unwind table's [steps](super::steps) up to an instruction, which gives the rules for the
//! frame there.

use super::bytes::Bytes;
use super::frame::{Base, Frame, FramePointer, LARGEST};
use super::steps::Step;

/// The table's number for the stack pointer.
const STACK_POINTER: u64 = if cfg!(target_arch = "x86_64") { 7 } else { 31 };
/// The table's number for the frame pointer.
const FRAME_POINTER: u64 = if cfg!(target_arch = "x86_64") { 6 } else { 29 };
/// Maximum depth of remembered rules.
const MOST_KEPT: usize = 4;

/// Properties shared by all instructions of a function.
#[derive(Clone, Copy)]
pub struct Units {
    /// Bytes per unit of code.
    pub code: u64,
    /// Bytes per unit of data.
    pub data: i64,
    /// Register number of the return address.
    pub returns: u64,
}

/// Where a register of the caller is.
#[derive(Clone, Copy, Default)]
enum Rule {
    /// Unspecified.
    #[default]
    Same,
    /// On the stack, at this offset in bytes from the frame's end.
    At(i64),
    /// Anywhere else.
    Elsewhere,
}

/// The rules needed here.
#[derive(Clone, Copy, Default)]
struct Rules {
    /// The register relative to which the frame's end is given.
    register: u64,
    /// The frame's end, in bytes from there; `None` if it has to be computed.
    end: Option<i64>,
    /// The return address; unknown while unspecified.
    returns: Rule,
    /// The caller's frame pointer.
    pointer: Rule,
}

impl Rules {
    fn frame(self) -> Option<Frame> {
        let base = match self.register {
            STACK_POINTER => Base::Stack,
            FRAME_POINTER => Base::FramePointer,
            _ => return None,
        };
        let end = u32::try_from(self.end?).ok().filter(|end| *end <= LARGEST && end % 8 == 0)?;
        let Rule::At(returns) = self.returns else { return None };
        let returns = before_end(returns).filter(|before| base == Base::FramePointer || *before <= end)?;
        let pointer = match self.pointer {
            Rule::Same => FramePointer::Same,
            Rule::At(offset) => before_end(offset).map_or(FramePointer::Lost, FramePointer::Saved),
            Rule::Elsewhere => FramePointer::Lost,
        };
        Some(Frame { base, end, returns, pointer })
    }

    /// Returns the rule of a register, if it is needed here.
    fn of(&mut self, register: u64, returns: u64) -> Option<&mut Rule> {
        match register {
            _ if register == returns => Some(&mut self.returns),
            FRAME_POINTER => Some(&mut self.pointer),
            _ => None,
        }
    }
}

/// Converts a word's offset from the end of a frame to its number of bytes before the end.
fn before_end(offset: i64) -> Option<u32> {
    let before = u32::try_from(offset.checked_neg()?).ok()?;
    (before % 8 == 0 && (8..=LARGEST).contains(&before)).then_some(before)
}

/// Returns the frame of a function at the instruction `into` bytes from its beginning, if its size is fixed.
/// `first` are the instructions shared by many functions, `then` those of this function.
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
            Step::Saved(register, offset) => {
                let rule = Rule::At(offset.checked_mul(units.data)?);
                self.set(register, |_| rule);
            }
            Step::Restored(register) => self.set(register, |mut first| {
                first.of(register, units.returns).map_or(Rule::Same, |rule| *rule)
            }),
            Step::Elsewhere(register) => self.set(register, |_| Rule::Elsewhere),
            Step::Nothing => {}
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

    /// Sets the rule of a register if it is needed here; `rule` gets the initial rules.
    fn set(&mut self, register: u64, rule: impl FnOnce(Rules) -> Rule) {
        let first = self.first;
        if let Some(place) = self.now.of(register, self.units.returns) {
            *place = rule(first);
        }
    }
}
