//! Statuses: the sender and size of a message.
//!
//! The size is in the private part of a status. Reading it there costs nothing; `MPI_Get_elements_x` costs
//! some nanoseconds. So its location is determined at start, with statuses filled by
//! `MPI_Status_set_elements_x`, and used only if every test status is read correctly.
#![allow(unsafe_code)]

use crate::interpose::real;
use mpi_abi::{Abi, f};
use mpiscope_image::traffic::Traffic;
use std::ffi::{c_int, c_void};

pub use super::scratch_memory::StatusMemory as Memory;

/// Words of 32 bits in the largest status.
const WORDS: usize = 8;

/// How the size can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// As described by the ABI.
    Described,
    /// In the 32-bit word `low`, as long as the words in the mask `rest` have the values they have for small
    /// sizes.
    Learnt {
        /// Index of the word.
        low: usize,
        /// Mask of the words that change for sizes that do not fit into it.
        rest: u32,
        /// The values of those words for small sizes.
        plain: [u32; WORDS],
    },
    /// Only by querying the library.
    Asked,
}

/// The contents of a status.
#[derive(Clone, Copy)]
pub struct Received {
    /// Rank of the sender.
    pub source: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
}

/// Reads a status int by int, as the library has just written it: a load that spans two of its stores would
/// have to wait until both have left the processor's store buffer.
#[inline(always)]
fn words<A: Abi>(status: *const c_void) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for (at, word) in words.iter_mut().enumerate().take(A::STATUS_SIZE / 4) {
        // SAFETY: the caller has a complete status there, which is aligned for the ints that it consists of.
        *word = unsafe { status.cast::<u32>().add(at).read_volatile() };
    }
    words
}

/// Reads the int at a byte offset of a status, separately like those of [`words`].
#[inline(always)]
fn int(status: *const c_void, offset: usize) -> i32 {
    // SAFETY: the offsets are those of ints inside a status, which is aligned for them.
    unsafe { status.byte_add(offset).cast::<i32>().read_volatile() }
}

/// Reads a status that the library has filled.
#[inline(always)]
pub fn read<A: Abi>(sizes: &Sizes, status: *const c_void) -> Received {
    Received {
        source: int(status, A::STATUS_SOURCE),
        tag: int(status, A::STATUS_TAG),
        bytes: bytes::<A>(sizes, status),
    }
}

/// Returns the error code in a status of an array; only valid if the call returned `MPI_ERR_IN_STATUS`.
pub fn error<A: Abi>(status: *const c_void) -> i32 {
    int(status, A::STATUS_ERROR)
}

/// Returns the size of the message in bytes.
#[inline(always)]
fn bytes<A: Abi>(sizes: &Sizes, status: *const c_void) -> u64 {
    match *sizes {
        Sizes::Described => {
            let mut bytes = [0; 4 * WORDS];
            for (bytes, word) in bytes.chunks_exact_mut(4).zip(words::<A>(status)) {
                bytes.copy_from_slice(&word.to_ne_bytes());
            }
            A::status_bytes(&bytes).unwrap_or(0)
        }
        Sizes::Learnt { low, rest, plain } => {
            let words = words::<A>(status);
            let small = words.iter().zip(plain).enumerate().all(|(i, (w, p))| rest >> i & 1 == 0 || *w == p);
            match words.get(low) {
                Some(word) if small => u64::from(*word),
                _ => ask::<A>(status),
            }
        }
        Sizes::Asked => ask::<A>(status),
    }
}

type GetElements<A> = unsafe extern "C" fn(*const c_void, <A as Abi>::Handle, *mut i64) -> c_int;
type SetElements<A> = unsafe extern "C" fn(*mut c_void, <A as Abi>::Handle, i64) -> c_int;

#[cold]
fn ask<A: Abi>(status: *const c_void) -> u64 {
    let Some(byte) = real::predefined::<A>("MPI_BYTE") else { return 0 };
    let mut count = 0;
    // SAFETY: the C type of the function; the status is complete.
    unsafe {
        let Some(get) = real::function::<GetElements<A>>(f::MPI_Get_elements_x) else { return 0 };
        if get(status, byte, &mut count) != A::SUCCESS {
            return 0;
        }
    }
    u64::try_from(count).unwrap_or(0)
}

/// Whether the operation of a status was cancelled.
#[cold]
pub fn cancelled(status: *const c_void) -> bool {
    let mut flag = 0;
    // SAFETY: the C type of the function; the status is complete.
    unsafe {
        let Some(test) =
            real::function::<unsafe extern "C" fn(*const c_void, *mut c_int) -> c_int>(f::MPI_Test_cancelled)
        else {
            return false;
        };
        test(status, &mut flag);
    }
    flag != 0
}

/// Whether a receive with this result has got a message.
#[inline(always)]
pub fn arrived<A: Abi>(result: i32) -> bool {
    result == A::SUCCESS || class(result) == A::ERR_TRUNCATE
}

/// Returns the class of an error code.
#[cold]
pub fn class(code: i32) -> i32 {
    let mut class = code;
    // SAFETY: the C type of the function.
    unsafe {
        if let Some(get) =
            real::function::<unsafe extern "C" fn(c_int, *mut c_int) -> c_int>(f::MPI_Error_class)
        {
            get(code, &mut class);
        }
    }
    class
}

/// Determines how sizes can be read.
pub fn learn<A: Abi>() -> Sizes {
    let small = [0u64, 1, 77, 0x1234_5678, 0x7fff_ffff];
    let large = [(5u64 << 32) + 3, 1 << 40];
    let Some(small): Option<Vec<_>> = small.iter().map(|n| Some((*n, filled::<A>(*n)?))).collect() else {
        return Sizes::Asked;
    };
    let Some(large): Option<Vec<_>> = large.iter().map(|n| Some((*n, filled::<A>(*n)?))).collect() else {
        return Sizes::Asked;
    };
    let all = || small.iter().chain(&large);
    let right =
        |sizes: &Sizes| all().all(|(size, status)| bytes::<A>(sizes, status.as_ptr().cast()) == *size);
    let described = A::status_bytes(&vec![0; A::STATUS_SIZE]).is_some();
    if described && right(&Sizes::Described) {
        return Sizes::Described;
    }
    let small: Vec<_> = small.iter().map(|(n, s)| (*n, words::<A>(s.as_ptr().cast()))).collect();
    let large: Vec<_> = large.iter().map(|(n, s)| (*n, words::<A>(s.as_ptr().cast()))).collect();
    match place(&small, &large) {
        Some(learnt) if right(&learnt) => learnt,
        _ => Sizes::Asked,
    }
}

/// Publishes that for readers of the image.
pub fn publish(sizes: Sizes, totals: &Traffic) {
    let Sizes::Learnt { low, rest, plain } = sizes else { return };
    totals.status_rest.set(rest);
    totals.status_plain.iter().zip(plain).for_each(|(to, from)| to.set(from));
    totals.status_word.set(low as u32 + 1);
}

/// Returns a status for a message of `size` bytes; `None` if the library cannot make one, or then reports
/// another size.
fn filled<A: Abi>(size: u64) -> Option<Memory> {
    let byte = real::predefined::<A>("MPI_BYTE")?;
    let mut status = Memory::default();
    // SAFETY: the C type of the function; the memory is large enough for every ABI's status.
    let result = unsafe {
        let set = real::function::<SetElements<A>>(f::MPI_Status_set_elements_x)?;
        set(status.as_mut_ptr().cast(), byte, i64::try_from(size).ok()?)
    };
    (result == A::SUCCESS && ask::<A>(status.as_ptr().cast()) == size).then_some(status)
}

/// Finds the word that holds small sizes, and the words that change for large ones.
fn place(small: &[(u64, [u32; WORDS])], large: &[(u64, [u32; WORDS])]) -> Option<Sizes> {
    let plain = small.first()?.1;
    let low = (0..WORDS).find(|i| small.iter().all(|(size, w)| w.get(*i) == Some(&(*size as u32))))?;
    let differs = |i: usize| large.iter().any(|(_, words)| words.get(i) != plain.get(i));
    let rest = (0..WORDS).filter(|i| *i != low && differs(*i)).fold(0, |mask, i| mask | 1 << i);
    (rest != 0).then_some(Sizes::Learnt { low, rest, plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(low: u32, high: u32) -> [u32; WORDS] {
        [9, 9, 0, low, high, 0, 0, 0]
    }

    #[test]
    fn the_words_for_the_size_and_for_large_sizes_are_found() {
        let small = [(0, status(0, 0)), (77, status(77, 0)), (0x7fff_ffff, status(0x7fff_ffff, 0))];
        let large = [((5 << 32) + 3, status(3, 10))];
        let found = place(&small, &large);
        assert_eq!(found, Some(Sizes::Learnt { low: 3, rest: 1 << 4, plain: status(0, 0) }));
    }

    #[test]
    fn a_layout_that_hides_the_size_is_not_guessed() {
        let small = [(0, status(0, 0)), (77, status(154, 0))];
        assert_eq!(place(&small, &[(1 << 40, status(0, 512))]), None);
        // Nothing distinguishes a large size from a small one.
        assert_eq!(place(&[(0, status(0, 0)), (1, status(1, 0))], &[(1 << 40, status(0, 0))]), None);
    }
}
