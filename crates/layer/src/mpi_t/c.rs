//! Utilities for all entry points: the frame of an exported function, and C pointers.
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, handles, raw_text};
use mpit::{Error, Result};
use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};

/// Exports functions under both of their names. The body returns a [`Result`]; initialization is
/// checked first.
macro_rules! entry_points {
    ($($(#[$doc:meta])* $name:ident $profiled:ident ($($p:ident: $t:ty),* $(,)?) $body:block)*) => {$(
        const _: () = {
            #[inline(always)]
            #[allow(clippy::too_many_arguments)]
            unsafe fn body($($p: $t),*) -> ::mpit::Result<()> {
                $crate::mpi_t::REGISTRY.lifecycle().check()?;
                $body
            }

            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($p: $t),*) -> ::std::ffi::c_int {
                // SAFETY: the caller's contract with the function of this name.
                $crate::mpi_t::c::answer(unsafe { body($($p),*) })
            }

            $(#[$doc])*
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $profiled($($p: $t),*) -> ::std::ffi::c_int {
                // SAFETY: the caller's contract with the function of this name.
                $crate::mpi_t::c::answer(unsafe { body($($p),*) })
            }
        };
    )*};
}
pub(super) use entry_points;

/// Converts a result for C: `MPI_SUCCESS` is 0 in every ABI.
#[inline(always)]
pub fn answer(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => failed(error),
    }
}

#[cold]
fn failed(error: Error) -> c_int {
    if error == Error::NOT_INITIALIZED {
        // Possibly the first call of all, and the numbers depend on the library.
        crate::interpose::resolver::resolve();
    }
    codes().error(error)
}

/// Stores through an OUT pointer, which may be null.
///
/// # Safety
///
/// `to` must be null or writable.
#[inline(always)]
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: the caller's contract. C callers need not align.
        unsafe { to.write_unaligned(value) };
    }
}

/// A count or an index as C `int`.
pub fn int(value: usize) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Returns a string by the interface's convention.
///
/// # Safety
///
/// `length` must be null, or readable and writable; `buffer` must be null or have `*length` bytes.
pub unsafe fn put_string(text: &str, buffer: *mut c_char, length: *mut c_int) {
    if length.is_null() {
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        let room = usize::try_from(*length).unwrap_or(0);
        let bytes = (!buffer.is_null() && room != 0)
            .then(|| std::slice::from_raw_parts_mut(buffer.cast::<u8>(), room));
        *length = mpit::strings::return_c_string(raw_text::bytes(text), bytes);
    }
}

/// Reads a name passed by the caller.
///
/// # Safety
///
/// `name` must be null or a C string.
pub unsafe fn name<'a>(name: *const c_char) -> Result<Cow<'a, str>> {
    if name.is_null() {
        return Err(Error::INVALID);
    }
    // SAFETY: the caller's contract.
    Ok(raw_text::keep(unsafe { CStr::from_ptr(name) }.to_bytes()))
}

/// Writes up to `length` elements of `from` as C `int`s.
///
/// # Safety
///
/// `to` must be null or have `length` elements.
pub unsafe fn put_indices(from: &[usize], length: c_int, to: *mut c_int) -> Result<()> {
    let room = usize::try_from(length).map_err(|_| Error::INVALID)?;
    if to.is_null() {
        return Ok(());
    }
    for (at, index) in from.iter().take(room).enumerate() {
        // SAFETY: below `length`.
        unsafe { to.add(at).write_unaligned(int(*index)) };
    }
    Ok(())
}

/// Stores the handle of a datatype.
///
/// # Safety
///
/// `to` must be null or have room for a handle.
pub unsafe fn put_datatype(to: *mut c_void, datatype: mpit::Datatype) {
    // SAFETY: the caller's contract.
    unsafe { handles::put(to, handles::datatype(datatype)) };
}

/// Stores the handle of an enumeration, by its index.
///
/// # Safety
///
/// `to` must be null or have room for a handle.
pub unsafe fn put_enumeration(to: *mut u64, enumeration: Option<usize>) {
    // SAFETY: the caller's contract.
    unsafe { put(to, handles::enumeration(enumeration)) };
}

/// The index of an enumeration, given its handle.
pub fn enumeration(word: u64) -> Result<usize> {
    let index = handles::enumeration_of(word).ok_or(Error::INVALID_HANDLE)?;
    REGISTRY.enumeration(index).map(|_| index).map_err(|_| Error::INVALID_HANDLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_library_is_passed_to_tools_unchanged() {
        let (given, mut out, mut length) = (c"caf\xe9 \xff", [0 as c_char; 16], 16);
        // SAFETY: a C string, and a buffer of its length.
        let kept = unsafe { name(given.as_ptr()) }.unwrap();
        // SAFETY: as above.
        unsafe { put_string(&kept, out.as_mut_ptr(), &mut length) };
        assert_eq!(length, 7);
        // SAFETY: the written text ends with NUL.
        assert_eq!(unsafe { CStr::from_ptr(out.as_ptr()) }, given);
    }
}
