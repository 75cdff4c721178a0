//! The instructions of an unwind table (`DW_CFA_…`) that affect a frame's end or the location of the return
//! address.

use super::bytes::Bytes;

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The following rules apply this many units of code later.
    Advance(u64),
    /// A register is saved at an offset from the frame's end, in units of data.
    Saved(u64, i64),
    /// A register has its initial rule again.
    Restored(u64),
    /// A register is somewhere else, or undefined.
    Elsewhere(u64),
    /// Push all rules.
    Remember,
    /// Pop the rules that were pushed last.
    Recall,
    /// The frame ends at a register plus this many bytes.
    End(u64, i64),
    /// The same, in units of data.
    EndInUnits(u64, i64),
    /// The frame's end is relative to another register.
    EndRegister(u64),
    /// The frame ends this many bytes from the same register.
    EndOffset(i64),
    /// The same, in units of data.
    EndOffsetInUnits(i64),
    /// The frame's end has to be computed.
    EndComputed,
    /// Nothing relevant here.
    Nothing,
}

impl Step {
    /// Decodes the next instruction; `None` for one that is not understood.
    ///
    /// This includes the one after which return addresses are signed (AArch64).
    pub fn next(code: &mut Bytes<'_>) -> Option<Self> {
        let byte = code.u8()?;
        let low = u64::from(byte & 0x3f);
        Some(match byte >> 6 {
            1 => Self::Advance(low),
            2 => Self::Saved(low, code.unsigned()?.try_into().ok()?),
            3 => Self::Restored(low),
            _ => match byte {
                0x00 => Self::Nothing,
                0x02 => Self::Advance(code.u8()?.into()),
                0x03 => Self::Advance(code.u16()?.into()),
                0x04 => Self::Advance(code.u32()?.into()),
                0x0a => Self::Remember,
                0x0b => Self::Recall,
                0x05..=0x09 | 0x10 | 0x11 | 0x14..=0x16 => Self::of_register(byte, code)?,
                0x0c..=0x0f | 0x12 | 0x13 => Self::of_end(byte, code)?,
                // Size of the arguments on the stack: already included in the frame's end.
                0x2e => code.unsigned().map(|_| Self::Nothing)?,
                _ => return None,
            },
        })
    }

    fn of_register(byte: u8, code: &mut Bytes<'_>) -> Option<Self> {
        let register = code.unsigned()?;
        match byte {
            0x05 => return Some(Self::Saved(register, code.unsigned()?.try_into().ok()?)),
            0x11 => return Some(Self::Saved(register, code.signed()?)),
            0x06 => return Some(Self::Restored(register)),
            // In another register; the value is the frame's end plus an offset.
            0x09 | 0x14 => _ = code.unsigned()?,
            0x15 => _ = code.signed()?,
            // Computed.
            0x10 | 0x16 => skip_block(code)?,
            // Undefined, or unchanged.
            _ => {}
        }
        Some(Self::Elsewhere(register))
    }

    fn of_end(byte: u8, code: &mut Bytes<'_>) -> Option<Self> {
        Some(match byte {
            0x0c => Self::End(code.unsigned()?, code.unsigned()?.try_into().ok()?),
            0x0d => Self::EndRegister(code.unsigned()?),
            0x0e => Self::EndOffset(code.unsigned()?.try_into().ok()?),
            0x12 => Self::EndInUnits(code.unsigned()?, code.signed()?),
            0x13 => Self::EndOffsetInUnits(code.signed()?),
            _ => skip_block(code).map(|()| Self::EndComputed)?,
        })
    }
}

fn skip_block(code: &mut Bytes<'_>) -> Option<()> {
    let len = usize::try_from(code.unsigned()?).ok()?;
    code.take(len).map(|_| ())
}
