//! Initialization and finalization: `MPI_Init`, `MPI_Session_init`, `MPI_Finalize`, `MPI_Session_finalize`,
//! `MPI_Abort`, `MPI_Pcontrol`.
#![allow(unsafe_code)]

use crate::base::{clock, image, image_memory};
use crate::debugger;
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::interpose::tls::Tls;
use crate::record::local;
use crate::record::{modules, observe, process, python_call_site, trace};
use mpi_abi::{Abi, f};
use mpiscope_image::Writer;
use mpiscope_image::layout::State;
use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of open sessions.
static SESSIONS: AtomicUsize = AtomicUsize::new(0);
/// Whether the program is between `MPI_Init` and `MPI_Finalize`: it then uses MPI, whatever sessions do.
static WORLD: AtomicBool = AtomicBool::new(false);

/// `MPI_Init`.
pub fn before_init<A: Abi>(call: &Call<A>, _: &mut *mut c_int, _: &mut *mut *mut *mut c_char) {
    debugger::entering();
    entered(call);
}

/// `MPI_Init_thread`.
pub fn before_init_thread<A: Abi>(
    call: &Call<A>,
    _: &mut *mut c_int,
    _: &mut *mut *mut *mut c_char,
    _: &mut c_int,
    _: &mut *mut c_int,
) {
    debugger::entering();
    entered(call);
}

/// Starts the process's time at the start of the call rather than now, since the call's time is part of it.
fn entered<A: Abi>(call: &Call<A>) {
    let begun = if call.since == 0 { clock::now() } else { call.since };
    if let Some(process) = process::record() {
        process.seq.write(|| {
            process.init_enter.set(begun);
            process.main_thread.set(local::index(Tls::get()));
        });
    }
}

/// `MPI_Init`.
pub fn after_init<A: Abi>(_: &Call<A>, result: c_int, _: *mut c_int, _: *mut *mut *mut c_char) {
    initialized::<A>(result);
}

/// `MPI_Init_thread`.
pub fn after_init_thread<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: *mut c_int,
    _: *mut *mut *mut c_char,
    _: c_int,
    _: *mut c_int,
) {
    initialized::<A>(result);
}

/// `MPI_Session_init`: the process may begin with its first session.
pub fn before_session_init<A: Abi>(call: &Call<A>) {
    if process::record().is_some_and(|p| p.init_enter.get() == 0) {
        debugger::entering_session();
        entered(call);
    }
}

/// `MPI_Session_init`: a program may never have a world. Rank and size stay those reported by the launcher.
pub fn after_session_init<A: Abi>(_: &Call<A>, result: c_int, _: A::Handle, _: A::Handle, _: *mut A::Handle) {
    if result != A::SUCCESS {
        return;
    }
    let first = SESSIONS.fetch_add(1, Ordering::AcqRel) == 0 && !WORLD.load(Ordering::Acquire);
    let (Some(writer), Some(process)) = (image::writer(), process::record()) else { return };
    if process.init_leave.get() == 0 {
        started(|| {});
        debugger::announce_session();
    } else if first {
        // The process had closed all sessions and starts over.
        process.seq.write(|| process.finalize_leave.set(0));
        writer.header().state.set(State::INITIALIZED.0);
    }
}

/// `MPI_Session_finalize`: closing the last session ends the process's use of MPI if it has no world.
pub fn after_session_finalize<A: Abi>(_: &Call<A>, result: c_int, _: *mut A::Handle) {
    if result != A::SUCCESS {
        return;
    }
    let left = SESSIONS.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| n.checked_sub(1));
    if left == Ok(1) && !WORLD.load(Ordering::Acquire) {
        image_memory::tell_if_full();
        over();
    }
}

fn initialized<A: Abi>(result: c_int) {
    if result != A::SUCCESS {
        debugger::failed();
        return;
    }
    WORLD.store(true, Ordering::Release);
    let (mut rank, mut size, mut level) = (-1, 0, A::THREAD_SINGLE);
    if let Some(world) = real::comm_world::<A>() {
        real::comm_rank::<A>(world, &mut rank);
        real::comm_size::<A>(world, &mut size);
    }
    real::query_thread::<A>(&mut level);
    if let Some(world) = debugger::introduce::<A>(rank, size) {
        process::name_world(&world);
    }
    let levels = [A::THREAD_SINGLE, A::THREAD_FUNNELED, A::THREAD_SERIALIZED, A::THREAD_MULTIPLE];
    started(|| {
        let Some(process) = process::record() else { return };
        if let (Ok(rank), Ok(size)) = (u32::try_from(rank), u32::try_from(size)) {
            process.rank.set(rank);
            process.size.set(size);
        }
        process.thread_level.set(levels.iter().position(|l| *l == level).unwrap_or(0) as u32);
    });
    crate::record::start::initialized::<A>();
    debugger::announce(rank);
}

/// Records that the process can communicate from now on.
fn started(fill: impl FnOnce()) {
    let (Some(writer), Some(process)) = (image::writer(), process::record()) else { return };
    modules::list(writer);
    python_call_site::start();
    clock::latest(&writer.header().clock);
    process.seq.write(|| {
        fill();
        process.init_leave.set(clock::now());
        // Sessions may have ended before.
        process.finalize_leave.set(0);
    });
    writer.header().state.set(State::INITIALIZED.0);
}

/// `MPI_Finalize`.
pub fn before_finalize<A: Abi>(_: &Call<A>) {
    let (Some(writer), Some(process)) = (image::writer(), process::record()) else { return };
    if writer.header().state.get() == State::FINALIZED.0 {
        // An error of the program, which must remain visible: most libraries end the process.
        return;
    }
    let begun = clock::now();
    image_memory::tell_if_full();
    modules::list(writer);
    python_call_site::start();
    process.seq.write(|| process.finalize_enter.set(begun));
    clock::latest(&writer.header().clock);
    go_on(writer, State::FINALIZING);
}

/// `MPI_Finalize`: the process goes on communicating if it has open sessions.
pub fn after_finalize<A: Abi>(_: &Call<A>, result: c_int) {
    if result != A::SUCCESS {
        return;
    }
    WORLD.store(false, Ordering::Release);
    if SESSIONS.load(Ordering::Acquire) == 0 {
        over();
    } else if let Some(writer) = image::writer() {
        go_on(writer, State::INITIALIZED);
    }
}

/// The process has left MPI.
fn over() {
    debugger::left();
    if let (Some(writer), Some(process)) = (image::writer(), process::record()) {
        process.seq.write(|| process.finalize_leave.set(clock::now()));
        clock::latest(&writer.header().clock);
        go_on(writer, State::FINALIZED);
    }
}

/// Changes the state, unless the process has called `MPI_Abort`: with MPICH 5.0 that returns before the
/// process is killed, and the program may reach `MPI_Finalize` meanwhile.
fn go_on(writer: &Writer, state: State) {
    if writer.header().state.get() != State::ABORTED.0 {
        writer.header().state.set(state.0);
    }
}

/// `MPI_Abort`: usually does not return.
pub fn before_abort<A: Abi>(_: &Call<A>, _: &mut A::Handle, code: &mut c_int) {
    let (Some(writer), Some(process)) = (image::writer(), process::record()) else { return };
    let begun = clock::now();
    process.seq.write(|| {
        process.abort_code.set(i64::from(*code) as u64);
        if process.aborted_at.get() == 0 {
            process.aborted_at.set(begun);
        }
    });
    clock::latest(&writer.header().clock);
    writer.header().state.set(State::ABORTED.0);
}

/// From this level on, `MPI_Pcontrol` sets a mark: 0 and 1 control the trace.
const MARK: c_int = 2;

/// `MPI_Pcontrol`: counted; pauses a trace, and marks the program's iterations.
pub fn pcontrol(level: c_int) {
    trace::control(level);
    if level >= MARK
        && let Some(process) = process::record()
    {
        process.marked_at.set(clock::now());
        process.marks.atomic().fetch_add(1, Ordering::Relaxed);
    }
    let call = Call::<mpi_abi::Mpich>::enter(f::MPI_Pcontrol);
    call.publish(|_| {});
    observe::call_started(&call);
    observe::leave(&call, f::MPI_Pcontrol, <mpi_abi::Mpich as Abi>::SUCCESS);
}
