//! Beginning and end of the tracking of communication.
#![allow(unsafe_code)]

use super::state::{self, State, hold};
use super::{requests, status};
use crate::interpose::frame::Call;
use crate::interpose::real;
use mpi_abi::{Abi, AbiKind, Handle, f};
use mpiscope_image::objects::{Flag, Life};
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// `MPI_Init`, `MPI_Init_thread`.
pub fn initialized<A: Abi>(_: &Call<A>, result: c_int) {
    if result == A::SUCCESS
        && let Some(state) = begin::<A>()
    {
        let mut level = A::THREAD_MULTIPLE;
        real::query_thread::<A>(&mut level);
        state.set_multiple(level == A::THREAD_MULTIPLE);
    }
}

/// `MPI_Session_init`: each session has its own level of thread support, so the worst is assumed.
pub fn session_initialized<A: Abi>(_: &Call<A>, result: c_int) {
    if result == A::SUCCESS
        && let Some(state) = begin::<A>()
    {
        state.set_multiple(true);
    }
}

fn begin<A: Abi>() -> Option<&'static State> {
    let null = |name| real::predefined::<A>(name).map_or(0, Handle::raw);
    state::start(|writer, totals| {
        let sizes = status::learn::<A>();
        status::publish(sizes, totals);
        let state = State::new(writer, totals, null("MPI_REQUEST_NULL"), null("MPI_MESSAGE_NULL"), sizes);
        match A::CODE {
            AbiKind::OPENMPI => openmpi_shared(&state.shared),
            // A program with sessions only has no MPI_COMM_SELF to test with.
            AbiKind::STANDARD if world_is_up::<A>() => probe_shared::<A>(&state.shared),
            _ => {}
        }
        state
    })
}

/// Whether `MPI_Init` has been called.
fn world_is_up<A: Abi>() -> bool {
    let mut flag = 0;
    real::initialized::<A>(&mut flag) == Some(A::SUCCESS) && flag != 0
}

/// Open MPI has variables for requests that are complete at start.
fn openmpi_shared(shared: &[Cell<u64>]) {
    let names = [c"ompi_request_empty", c"ompi_request_empty_send"];
    for (place, name) in shared.iter().zip(names) {
        place.set(crate::interpose::resolver::data_symbol(name).map_or(0, |address| address as u64));
    }
}

type Nonblocking<A> = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    <A as Abi>::Handle,
    c_int,
    c_int,
    <A as Abi>::Handle,
    *mut <A as Abi>::Handle,
) -> c_int;

/// The standard ABI does not define which handles are shared: two sends to and two receives from
/// `MPI_PROC_NULL` reveal them.
fn probe_shared<A: Abi>(shared: &[Cell<u64>]) {
    for (place, function) in shared.iter().zip([f::MPI_Isend, f::MPI_Irecv]) {
        if let Some(handle) = twice::<A>(function) {
            place.set(handle);
        }
    }
}

/// Returns the handle, if two operations with `MPI_PROC_NULL` return the same one.
fn twice<A: Abi>(function: mpi_abi::FunctionId) -> Option<u64> {
    let byte = real::predefined::<A>("MPI_BYTE")?;
    let own = real::predefined::<A>("MPI_COMM_SELF")?;
    let null = real::predefined::<A>("MPI_REQUEST_NULL")?;
    let mut requests = [null; 2];
    let mut handles = [0; 2];
    // SAFETY: the C types of the functions; nothing is sent to or received from MPI_PROC_NULL.
    unsafe {
        let start = real::function::<Nonblocking<A>>(function)?;
        let wait = real::function::<unsafe extern "C" fn(*mut A::Handle, *mut c_void) -> c_int>(f::MPI_Wait)?;
        for (request, handle) in requests.iter_mut().zip(&mut handles) {
            let nobody = std::ptr::null_mut();
            if start(nobody, 0, byte, A::PROC_NULL, 0, own, request) != A::SUCCESS {
                return None;
            }
            *handle = request.raw();
        }
        let mut status = status::Memory::default();
        for request in &mut requests {
            wait(request, status.as_mut_ptr().cast());
        }
    }
    (handles[0] == handles[1] && handles[0] != null.raw()).then_some(handles[0])
}

/// `MPI_Finalize` returned: requests that the program had freed while they were active are gone now.
pub fn finalizing<A: Abi>(call: &Call<A>, result: c_int) {
    if result != A::SUCCESS {
        return;
    }
    let Some(held) = hold() else { return };
    let mut marked = Vec::new();
    held.requests.for_each(|request| {
        if request.head.life.get() == Life::MARKED.0 && !request.is(Flag::SHARED_HANDLE) {
            marked.push(request);
        }
    });
    for request in marked {
        requests::untrack(&held, request);
        requests::settle(*held, call, request);
        requests::release(*held, call, request);
    }
}
