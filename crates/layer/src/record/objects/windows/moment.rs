//! Calls on windows at the wrong time that the library let pass: see `mpiscope_image::derive::epochs`.

use crate::interpose::frame::Call;
use crate::record::objects::arena;
use crate::record::objects::tables::WINDOWS;
use crate::record::traffic::faults;
use mpi_abi::{Abi, FunctionId, f};
use mpiscope_image::derive::epochs::{Open, Use, untimely};
use mpiscope_image::objects::{Epoch, Window};
use mpiscope_image::{W64, Writer};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Epochs in which a process may access the memory of every rank that the epoch is for.
const OPEN_TO_ALL: u32 = Epoch::FENCE.0 | Epoch::START.0 | Epoch::LOCK_ALL.0;

/// The functions that access memory with a request.
const REQUESTED: [FunctionId; 8] = [
    f::MPI_Rput,
    f::MPI_Rput_c,
    f::MPI_Rget,
    f::MPI_Rget_c,
    f::MPI_Raccumulate,
    f::MPI_Raccumulate_c,
    f::MPI_Rget_accumulate,
    f::MPI_Rget_accumulate_c,
];

/// Returns what is open, as far as it concerns calls that refer to the rank. Runs under the lock of the
/// window table.
pub fn open(writer: &'static Writer, window: &Window, target: c_int) -> Open {
    Open {
        epochs: window.epochs.get(),
        locked: target < 0 || lock_on(writer, window, target).is_some(),
        pending: window.pending.atomic().load(Ordering::Relaxed) != 0,
    }
}

/// Returns the lock held on a rank: see [`Window::locks`]. Runs under the lock of the window table.
pub fn lock_on(writer: &'static Writer, window: &Window, target: c_int) -> Option<u64> {
    let mut held = arena::get(writer, &window.locks).iter().map(W64::get);
    held.find(|lock| *lock as u32 == target.cast_unsigned())
}

/// Notes a call that was made at the wrong time. Must not run under the lock of the window table.
#[inline]
pub fn check<A: Abi>(call: &Call<A>, window: &Window, used: Use, target: c_int, before: Open) {
    if untimely(used, before).is_some() {
        faults::untimely(call, window.head.identity.get(), target, before);
    }
}

/// Checks an operation on the memory of a rank.
#[inline(always)]
pub fn access<A: Abi>(writer: &'static Writer, call: &Call<A>, window: &Window, target: c_int) {
    let asks = REQUESTED.contains(&call.function());
    if asks || window.epochs.get() & OPEN_TO_ALL == 0 {
        look::<A>(writer, call, window, target, if asks { Use::RequestedAccess } else { Use::Access });
    }
}

#[inline(never)]
fn look<A: Abi>(writer: &'static Writer, call: &Call<A>, window: &Window, target: c_int, used: Use) {
    let before = WINDOWS.locked(|| open(writer, window, target));
    check(call, window, used, target, before);
}
