//! User functions that the MPI library calls: operators, attribute copy and delete functions, error handlers,
//! generalized requests, data representations.
//!
//! They run inside a hooked call, so the depth guard would hide the MPI calls that they make. Each such
//! function is therefore replaced by a *trampoline*, which sets the depth to 0 while the user's function
//! runs. The number of trampolines is fixed, with one for each distinct function; once they are used up,
//! functions are passed on unwrapped and the loss is counted.
#![allow(unsafe_code)]

use crate::base::image;
use crate::interpose::arch;
use crate::interpose::frame::Call;
use crate::interpose::resolver::{linked_in, name_of, object_of, symbol};
use crate::interpose::slots::Slots;
use mpi_abi::Abi;
use mpiscope_image::layout::Loss;
use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The user's functions, by trampoline.
pub static TARGETS: Slots<{ arch::TRAMPOLINES }> = Slots::new();
/// Number of entries of [`TARGETS`] in use; changed under [`LOCK`].
static USED: AtomicUsize = AtomicUsize::new(0);
static LOCK: Mutex<()> = Mutex::new(());

/// Returns the user's function behind a trampoline, or the address itself if it is not a trampoline.
pub fn target(address: usize) -> usize {
    let first = arch::trampoline(0);
    let used = USED.load(Ordering::Acquire);
    if address < first || address >= arch::trampoline(used) {
        return address;
    }
    TARGETS.load((address - first) / (arch::trampoline(1) - first))
}

/// Replaces `function` by its trampoline. Special values and the library's own functions are left alone.
fn wrap(function: &mut *const c_void) {
    let address = function.addr();
    if address < 4096 || target(address) != address || belongs_to_library(*function) {
        return;
    }
    let Ok(_held) = LOCK.lock() else { return };
    let used = USED.load(Ordering::Acquire);
    let index = (0..used).find(|i| TARGETS.load(*i) == address).unwrap_or(used);
    if index == arch::TRAMPOLINES {
        if let Some(writer) = image::writer() {
            writer.lose(Loss::CALLBACKS, 1);
        }
        return;
    }
    if index == used {
        TARGETS.store(index, address);
        USED.store(used + 1, Ordering::Release);
    }
    *function = arch::trampoline(index) as *const c_void;
}

/// Predefined functions (`MPI_COMM_DUP_FN` and so on) are recognized by their address, so they must stay
/// unchanged.
fn belongs_to_library(function: *const c_void) -> bool {
    if linked_in() {
        // The program's own functions are in the same object; those of an MPI library have these prefixes.
        let name = name_of(function).unwrap_or_default();
        return [&b"MPI"[..], b"PMPI", b"OMPI_"].iter().any(|begin| name.as_bytes().starts_with(begin));
    }
    let library = symbol(c"PMPI_Init").and_then(|init| object_of(init));
    library.is_some() && object_of(function) == library
}

/// `MPI_Op_create`, `MPI_Op_create_c`.
pub fn op_create<A: Abi>(_: &Call<A>, function: &mut *const c_void, _: &mut c_int, _: &mut *mut A::Handle) {
    wrap(function);
}

/// `MPI_Comm_create_errhandler` and similar.
pub fn errhandler_create<A: Abi>(_: &Call<A>, function: &mut *const c_void, _: &mut *mut A::Handle) {
    wrap(function);
}

/// `MPI_Comm_create_keyval` and similar.
pub fn keyval_create<A: Abi>(
    _: &Call<A>,
    copy: &mut *const c_void,
    delete: &mut *const c_void,
    _: &mut *mut c_int,
    _: &mut *const c_void,
) {
    wrap(copy);
    wrap(delete);
}

/// `MPI_Grequest_start`.
pub fn grequest_start<A: Abi>(
    _: &Call<A>,
    query: &mut *const c_void,
    free: &mut *const c_void,
    cancel: &mut *const c_void,
    _: &mut *const c_void,
    _: &mut *mut A::Handle,
) {
    wrap(query);
    wrap(free);
    wrap(cancel);
}

/// `MPI_Register_datarep`, `MPI_Register_datarep_c`.
pub fn register_datarep<A: Abi>(
    _: &Call<A>,
    _: &mut *const std::ffi::c_char,
    read: &mut *const c_void,
    write: &mut *const c_void,
    extent: &mut *const c_void,
    _: &mut *const c_void,
) {
    wrap(read);
    wrap(write);
    wrap(extent);
}
