//! Large-count functions on libraries that have none.
//!
//! This library exports `MPI_Send_c` and its like on every MPI, since it is one file for all. Programs that look for
//! them by weak symbols would believe that the MPI library has them. So that such a program works as without us, the
//! call is carried out by the small-count function if the counts fit; if not, it fails with
//! `MPI_ERR_UNSUPPORTED_OPERATION`.
#![allow(unsafe_code, non_snake_case)]
#![allow(
    clippy::too_many_arguments,
    clippy::missing_safety_doc,
    clippy::let_and_return,
    clippy::useless_conversion
)]

use crate::{bytes, real, resolve};
use mpi_abi::{Abi, FunctionId, f};
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

include!("generated/narrow.rs");

/// A count that fits into an `int`.
fn int(count: i64) -> Option<c_int> {
    c_int::try_from(count).ok()
}

/// What a call returns whose counts do not fit.
fn too_large<A: Abi>() -> c_int {
    resolve::complain(
        "a large count was used, but this MPI library has no large-count functions; the call failed",
    );
    A::ERR_UNSUPPORTED_OPERATION
}

/// What a call returns when the small-count function is missing too.
fn missing<A: Abi>() -> c_int {
    A::ERR_UNSUPPORTED_OPERATION
}

/// An array of counts as `int`s.
struct Ints {
    ints: Option<Box<[c_int]>>,
    address: *const c_int,
    keep: bool,
}

/// How many arrays of non-blocking calls are kept: more than can be under way at once.
const KEPT: usize = 1 << 14;
/// Arrays of non-blocking calls, oldest first.
static KEEP: Mutex<VecDeque<Box<[c_int]>>> = Mutex::new(VecDeque::new());

impl Ints {
    fn pointer(&self) -> *const c_int {
        self.address
    }
}

impl Drop for Ints {
    fn drop(&mut self) {
        if self.keep
            && let Some(ints) = self.ints.take()
            && let Ok(mut kept) = KEEP.lock()
        {
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(ints);
        }
    }
}

/// Narrows `len` counts. A null pointer and an array that is not significant stay null.
fn ints(counts: *const i64, len: i64, keep: bool) -> Option<Ints> {
    let len = usize::try_from(len).unwrap_or(0);
    if counts.is_null() || len == 0 {
        return Some(Ints { ints: None, address: std::ptr::null(), keep });
    }
    // SAFETY: the standard requires this many counts.
    let counts = unsafe { std::slice::from_raw_parts(counts, len) };
    let ints: Box<[c_int]> = counts.iter().map(|count| int(*count)).collect::<Option<_>>()?;
    Some(Ints { address: ints.as_ptr(), ints: Some(ints), keep })
}

/// An `int` that the small-count function writes (and may read).
struct Out(c_int);

impl Out {
    fn new(wide: *mut i64) -> Self {
        // SAFETY: null, or the program's variable; what it holds matters only if the function reads it.
        Self(unsafe { wide.as_ref() }.and_then(|w| int(*w)).unwrap_or(0))
    }

    /// Null stays null, so that the library can find fault with it.
    fn pointer(&mut self, wide: *mut i64) -> *mut c_int {
        if wide.is_null() { std::ptr::null_mut() } else { &mut self.0 }
    }

    fn widen(&self, wide: *mut i64, success: bool) {
        // SAFETY: null, or the program's variable, which the function is to write.
        if success && let Some(wide) = unsafe { wide.as_mut() } {
            *wide = i64::from(self.0);
        }
    }
}

fn peers<A: Abi>(comm: A::Handle) -> i64 {
    bytes::peers::<A>(comm) as i64
}

fn members<A: Abi>(comm: A::Handle) -> i64 {
    bytes::members::<A>(comm) as i64
}

/// Arrays of the send side are not significant with `MPI_IN_PLACE`.
fn unless_in_place<A: Abi>(sendbuf: *const c_void, comm: A::Handle) -> i64 {
    if sendbuf.addr() == A::IN_PLACE { 0 } else { peers::<A>(comm) }
}

/// Arrays of gather and scatter are significant at the root only.
fn at_root<A: Abi>(root: c_int, comm: A::Handle) -> i64 {
    let mut rank = A::UNDEFINED;
    real::comm_rank::<A>(comm, &mut rank);
    let is_root = if real::is_inter::<A>(comm) { root == A::ROOT } else { root == rank };
    if is_root { peers::<A>(comm) } else { 0 }
}
