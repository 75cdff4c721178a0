//! One-sided operations: how many, and how many are not known to be complete.

use super::{WINDOWS, find};
use crate::bytes::Count;
use crate::call::Call;
use crate::objects::{arena, comms, succeeded};
use mpi_abi::Abi;
use mpiscope_image::objects::Window;
use mpiscope_image::{W64, Writer};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// Windows of more ranks have no count per target.
const MOST_TARGETS: u32 = 4096;

#[inline(always)]
fn operation<A: Abi>(result: c_int, win: A::Handle, rank: c_int, count: impl FnOnce(&Window) -> &W64) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = find::<A>(win) else { return };
    // No operation, nothing to complete.
    let Ok(target) = usize::try_from(rank) else { return };
    count(record).atomic().fetch_add(1, Ordering::Relaxed);
    record.pending.atomic().fetch_add(1, Ordering::Relaxed);
    if record.targets.offset.get() == 0 {
        make_targets::<A>(writer, record);
    }
    if let Some(target) = arena::get(writer, &record.targets).get(target) {
        target.atomic().fetch_add(1, Ordering::Relaxed);
    }
}

#[cold]
fn make_targets<A: Abi>(writer: &'static Writer, record: &'static Window) {
    let size = comms::COMMS.find(record.comm.get()).map_or(0, |comm| comm.size.get());
    if size <= MOST_TARGETS {
        WINDOWS.locked(|| {
            if record.targets.offset.get() == 0 {
                arena::put(writer, &record.targets, size as usize, std::iter::repeat_n(0, size as usize));
            }
        });
    }
}

/// Declares the hook of a function and that of its variant with a request.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $with_request:ident $field:ident ($($before:ty),*) ($($after:ty),*);)*) => {$(
        operations!(one $(#[$doc])* $name $field ($($before),*) ($($after),*) ());
        operations!(one $(#[$doc])* $with_request $field ($($before),*) ($($after),*) (*mut A::Handle));
    )*};
    (one $(#[$doc:meta])* $name:ident $field:ident ($($before:ty),*) ($($after:ty),*) ($($request:ty)?)) => {
        $(#[$doc])*
        pub fn $name<A: Abi>(
            _: &Call<A>,
            result: c_int,
            $(_: $before,)*
            rank: c_int,
            $(_: $after,)*
            win: A::Handle,
            $(_: $request,)?
        ) {
            operation::<A>(result, win, rank, |record| &record.$field);
        }
    };
}

operations! {
    /// `MPI_Put`.
    put rput puts (*const c_void, impl Count, A::Handle) (i64, impl Count, A::Handle);
    /// `MPI_Get`.
    get rget gets (*mut c_void, impl Count, A::Handle) (i64, impl Count, A::Handle);
    /// `MPI_Accumulate`.
    accumulate raccumulate accumulates
        (*const c_void, impl Count, A::Handle) (i64, impl Count, A::Handle, A::Handle);
    /// `MPI_Get_accumulate`.
    get_accumulate rget_accumulate accumulates
        (*const c_void, impl Count, A::Handle, *mut c_void, impl Count, A::Handle)
        (i64, impl Count, A::Handle, A::Handle);
}

/// `MPI_Fetch_and_op`.
pub fn fetch_and_op<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: *const c_void,
    _: *mut c_void,
    _: A::Handle,
    rank: c_int,
    _: i64,
    _: A::Handle,
    win: A::Handle,
) {
    operation::<A>(result, win, rank, |record| &record.accumulates);
}

/// `MPI_Compare_and_swap`.
pub fn compare_and_swap<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: *const c_void,
    _: *const c_void,
    _: *mut c_void,
    _: A::Handle,
    rank: c_int,
    _: i64,
    win: A::Handle,
) {
    operation::<A>(result, win, rank, |record| &record.accumulates);
}
