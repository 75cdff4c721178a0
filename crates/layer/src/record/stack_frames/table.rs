//! The unwind table's answer to one question: how far from the stack pointer, at this call, are the word with the
//! caller's address and the end of the frame?
//!
//! Compilers write for each function how its frame grows, instruction by instruction (DWARF call frame information in
//! `.eh_frame`, as the Linux Standard Base has it). An entry has a common part, which many functions share, and its own.

use super::bytes::Bytes;
use super::frame::Frame;
use super::rules::{self, Units};
use std::ffi::c_void;
use std::ptr::null;

/// What `_Unwind_Find_FDE` gives beside the entry.
#[repr(C)]
struct Bases {
    text: *const c_void,
    data: *const c_void,
    function: *const c_void,
}

unsafe extern "C" {
    /// The table's entry for an address. Of the unwinder that Rust's standard library is linked with.
    fn _Unwind_Find_FDE(at: *const c_void, bases: *mut Bases) -> *const u8;
}

/// The frame of the function that a call returns to at `address`.
#[cold]
pub fn frame(address: u64) -> Option<Frame> {
    // The call is the instruction before.
    let at = address.checked_sub(1)?;
    let mut bases = Bases { text: null(), data: null(), function: null() };
    // SAFETY: any address may be asked for; `bases` is filled when the answer is not null.
    let entry = unsafe { _Unwind_Find_FDE(at as *const c_void, &mut bases) };
    if entry.is_null() {
        return None;
    }
    // SAFETY: an entry of a loaded module's table.
    let own = unsafe { without_length(entry) }?;
    let back = Bytes(own).u32()? as usize;
    // SAFETY: this number, the first behind the length, says how far before itself the common part is.
    let common = unsafe { without_length(entry.wrapping_add(4).wrapping_sub(back)) }?;
    frame_by(common, own, at.checked_sub(bases.function.addr() as u64)?)
}

/// What follows the length of an entry, or of a common part.
///
/// # Safety
///
/// `part` must point at one.
unsafe fn without_length(part: *const u8) -> Option<&'static [u8]> {
    // SAFETY: it begins with its length.
    let len = unsafe { part.cast::<u32>().read_unaligned() };
    // SAFETY: as many bytes follow. All bits set announces a length of 64 bits, which no linker writes.
    (len != u32::MAX).then(|| unsafe { std::slice::from_raw_parts(part.wrapping_add(4), len as usize) })
}

/// The same for an entry whose parts are known, `into` bytes behind the function's beginning.
pub fn frame_by(common: &[u8], own: &[u8], into: u64) -> Option<Frame> {
    let (mut common, mut own) = (Bytes(common), Bytes(own));
    let (zero, version) = (common.u32()?, common.u8()?);
    if zero != 0 || !matches!(version, 1 | 3) {
        return None;
    }
    let len = common.0.iter().position(|byte| *byte == 0)?;
    let letters = common.take(len)?.strip_prefix(b"z")?;
    common.u8()?;
    let (code, data) = (common.unsigned()?, common.signed()?);
    let returns = if version == 1 { common.u8()?.into() } else { common.unsigned()? };
    let encoding = encoding(letters, block(&mut common)?)?;
    own.u32()?;
    // Where the function begins and how long it is.
    own.skip_pointer(encoding)?;
    own.skip_pointer(encoding)?;
    block(&mut own)?;
    rules::frame(Units { code, data, returns }, common, own, into)
}

/// Bytes with their number before them.
fn block<'a>(bytes: &mut Bytes<'a>) -> Option<Bytes<'a>> {
    let len = usize::try_from(bytes.unsigned()?).ok()?;
    bytes.take(len).map(Bytes)
}

/// How addresses are written, by the letters of a common part and their values; nothing for what is no ordinary function.
fn encoding(letters: &[u8], mut values: Bytes<'_>) -> Option<u8> {
    let mut encoding = 0;
    for letter in letters {
        match letter {
            b'R' => encoding = values.u8()?,
            b'L' => _ = values.u8()?,
            b'P' => {
                let of_pointer = values.u8()?;
                values.skip_pointer(of_pointer)?;
            }
            // By which key return addresses are signed, if they are: that is said where it happens.
            b'B' => {}
            // Among others `S`: the kernel's code behind a signal handler.
            _ => return None,
        }
    }
    Some(encoding)
}
