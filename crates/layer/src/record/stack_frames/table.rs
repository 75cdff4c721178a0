//! Looks up a frame in the unwind table: where, relative to the registers at a call, are the return address
//! and the end of the frame?
//!
//! Compilers describe for each function how its frame grows, instruction by instruction (DWARF call frame
//! information in `.eh_frame`, as specified by the Linux Standard Base). An entry consists of a common part
//! (CIE), which many functions share, and its own part (FDE).

use super::bytes::Bytes;
use super::frame::Frame;
use super::rules::{self, Units};
use std::ffi::c_void;
use std::ptr::null;

/// Returned by `_Unwind_Find_FDE` in addition to the entry.
#[repr(C)]
struct Bases {
    text: *const c_void,
    data: *const c_void,
    function: *const c_void,
}

unsafe extern "C" {
    /// Returns the table's entry for an address. Part of the unwinder that Rust's standard library is linked
    /// with.
    fn _Unwind_Find_FDE(at: *const c_void, bases: *mut Bases) -> *const u8;
}

/// Returns the frame of the function that a call returns to at `address`.
#[cold]
pub fn frame(address: u64) -> Option<Frame> {
    // The call is the instruction before.
    let at = address.checked_sub(1)?;
    let mut bases = Bases { text: null(), data: null(), function: null() };
    // SAFETY: any address may be passed; `bases` is filled when the result is not null.
    let entry = unsafe { _Unwind_Find_FDE(at as *const c_void, &mut bases) };
    if entry.is_null() {
        return None;
    }
    // SAFETY: an entry of a loaded module's table.
    let own = unsafe { without_length(entry) }?;
    let back = Bytes(own).u32()? as usize;
    // SAFETY: this number, the first after the length, is the distance back from itself to the common part.
    let common = unsafe { without_length(entry.wrapping_add(4).wrapping_sub(back)) }?;
    frame_by(common, own, at.checked_sub(bases.function.addr() as u64)?)
}

/// Returns the contents of an entry or common part, after its length.
///
/// # Safety
///
/// `part` must point to one.
unsafe fn without_length(part: *const u8) -> Option<&'static [u8]> {
    // SAFETY: it begins with its length.
    let len = unsafe { part.cast::<u32>().read_unaligned() };
    // SAFETY: this many bytes follow. All bits set announces a length of 64 bits, which no linker writes.
    (len != u32::MAX).then(|| unsafe { std::slice::from_raw_parts(part.wrapping_add(4), len as usize) })
}

/// Returns the frame, given the parts of an entry, `into` bytes from the beginning of the function.
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
    // The function's beginning and length.
    own.skip_pointer(encoding)?;
    own.skip_pointer(encoding)?;
    block(&mut own)?;
    rules::frame(Units { code, data, returns }, common, own, into)
}

/// Reads a block of bytes preceded by its length.
fn block<'a>(bytes: &mut Bytes<'a>) -> Option<Bytes<'a>> {
    let len = usize::try_from(bytes.unsigned()?).ok()?;
    bytes.take(len).map(Bytes)
}

/// Returns the encoding of addresses, given the letters of a common part and their values; `None` for
/// anything but an ordinary function.
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
            // The key with which return addresses are signed, if they are: signing itself is an instruction.
            b'B' => {}
            // Among others `S`: the kernel's code that a signal handler returns to.
            _ => return None,
        }
    }
    Some(encoding)
}
