//! Events about calls: their beginning and end, and what is known from a call alone.

use super::number;
use crate::base::{image, settings};
use crate::events::types::{
    CallEnded, CallStarted, ErrorRaised, FileRead, FileWritten, ProcessesDisconnected, RecordsLost,
    RmaOperation, ThreadSeen,
};
use crate::events::{self, Event};
use crate::interpose::frame::{Call, LookUp, OpenedLookUp};
use crate::interpose::real;
use crate::record::fortran_call_site::{self, bindings};
use crate::record::local;
use crate::record::objects::table::Object;
use crate::record::objects::tables;
use crate::record::sites;
use crate::record::traffic::faults;
use mpi_abi::{Abi, FunctionId, Moves, f};
use mpiscope_image::layout::{Recording, Thread};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

/// The event types that [`about_subject`] raises.
const OF_SUBJECT: u64 =
    RmaOperation::KIND.bit() | ProcessesDisconnected::KIND.bit() | RecordsLost::KIND.bit();

/// Whether there is a listener for the beginning of calls. One load.
#[inline(always)]
fn starts_are_heard() -> bool {
    events::wanted() & CallStarted::KIND.bit() != 0
}

/// Whether the beginning of a call needs more than being recorded. Two loads.
#[inline(always)]
fn starts_are_more() -> bool {
    starts_are_heard() | bindings::exist()
}

/// The program entered a function.
#[inline(always)]
pub fn call_started<A: Abi>(call: &Call<A>) {
    if starts_are_more() {
        start_more(call.thread(), call.function(), call.since);
    }
}

/// [`call_started`] out of line, for functions that are slow or rarely called. Closes the call's record,
/// which has everything about the call.
#[inline(never)]
pub extern "C" fn started_rare(thread: &'static Thread, function: FunctionId, since: u64) {
    thread.call.seq.end();
    if starts_are_more() {
        start_more(thread, function, since);
    }
}

// Functions that hooks call out of line have the C calling convention: nothing unwinds out of them, so hooks
// need no landing pads.

#[cold]
#[inline(never)]
extern "C" fn start_more(thread: &Thread, function: FunctionId, since: u64) {
    if bindings::exist() {
        // Resolved now: when the record of an ended call or process is read, the stack is gone.
        let from =
            fortran_call_site::of(thread.call.return_address.get(), || thread.call.stack_pointer.get());
        thread.call.return_address.set(from);
    }
    if starts_are_heard() {
        raise_started(thread, function, since);
    }
}

fn raise_started(thread: &Thread, function: FunctionId, since: u64) {
    events::raise(0, since, || CallStarted {
        function: number(function),
        thread: thread.tid.get().cast_signed(),
        caller: thread.call.return_address.get(),
    });
    // Immediately: the call may never return.
    events::deliver_inside();
}

/// `function`, known when the hook is compiled, has returned `result` and all its hooks have run: closes the frame.
/// Unusual cases are left to a function that gets everything it needs in registers.
#[inline(always)]
pub fn leave<A: Abi>(call: &Call<A>, function: FunctionId, result: c_int) {
    if !sites::is_short_start(function) {
        return leave_timed(call, function, result);
    }
    let (since, until) = call.times();
    if !is_usual_start(call, result) {
        return leave_unusual::<A>(call.thread(), function, since, until, call.bytes(), result);
    }
    sites::close_start(call.tls(), call.thread(), function, since, until, call.bytes());
}

/// [`leave`] for a hook that several functions share.
#[inline(always)]
pub fn leave_shared<A: Abi>(call: &Call<A>, result: c_int) {
    let function = call.function();
    if !sites::is_short_start(function) || !is_usual_start(call, result) {
        return leave_timed(call, function, result);
    }
    let (since, until) = call.times();
    sites::close_start_shared(call.tls(), call.thread(), function, since, until, call.bytes());
}

/// Whether a call that starts a message and does not block can be closed without its end being timed.
#[inline(always)]
fn is_usual_start<A: Abi>(call: &Call<A>, result: c_int) -> bool {
    !events::anybody() && result == A::SUCCESS && !call.is_inside()
}

#[inline(always)]
fn leave_timed<A: Abi>(call: &Call<A>, function: FunctionId, result: c_int) {
    if events::anybody() || result != A::SUCCESS || !call.is_usual() {
        let (since, until) = call.times();
        return leave_unusual::<A>(call.thread(), function, since, until, call.bytes(), result);
    }
    let (since, until) = call.times();
    sites::close(call.tls(), call.thread(), function, since, until, call.bytes());
}

/// [`leave`] out of line, for functions that are slow or rarely called.
#[inline(never)]
pub extern "C" fn leave_rare<A: Abi>(
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
    result: c_int,
) {
    let call = Call::<A>::again(thread, function, since, until);
    call.name_bytes(bytes);
    leave_timed(&call, function, result);
}

/// Whether look-up calls are only counted: neither times nor events are wanted.
#[inline(always)]
pub fn look_ups_are_counted_only() -> bool {
    let timed = settings::records(Recording::LOOKUPS) && settings::records(Recording::TIMES);
    !timed && !events::anybody()
}

/// The program makes a look-up call on the object `handle`, which is only counted. Returns false if that is
/// left to [`begin_look_up`].
#[inline(always)]
pub fn looked_up(call: &LookUp, function: FunctionId, handle: u64) -> bool {
    sites::count_look_up(call, function, handle)
}

/// Opens the frame of a look-up call that is unusual or rarely made.
#[inline(never)]
pub extern "C" fn begin_look_up(function: FunctionId, handle: u64) -> OpenedLookUp {
    if !look_ups_are_counted_only() {
        return OpenedLookUp::recorded(function);
    }
    let call = LookUp::open();
    sites::count_look_up_rarely(call.tls(), function, handle);
    OpenedLookUp { thread: None, since: 0 }
}

/// Closes that frame.
#[inline(never)]
pub extern "C" fn end_look_up<A: Abi>(opened: OpenedLookUp, function: FunctionId, result: c_int) {
    match opened.thread {
        Some(thread) => leave_unusual::<A>(thread, function, opened.since, 0, 0, result),
        None => LookUp::open().close(),
    }
}

/// [`leave`] while events are wanted, for a call that failed, in a user callback, or if times come from the
/// system's clock.
#[cold]
#[inline(never)]
extern "C" fn leave_unusual<A: Abi>(
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    until: u64,
    bytes: u64,
    result: c_int,
) {
    let call = Call::<A>::again(thread, function, since, until);
    call.name_bytes(bytes);
    let until = call.returned();
    // Calls made by the library itself are its own business.
    if result != A::SUCCESS && !call.is_inside() {
        faults::failed(&call, result);
    }
    sites::count_rarely(call.tls(), thread, function, call.counted_since(), until, bytes);
    if events::anybody() {
        leave_heard(&call, result);
    } else {
        call.leave();
    }
}

/// [`leave`] while events are wanted. Events that need the call's record come first. Once nothing of the call
/// is open any more, its end and all pending events are delivered.
fn leave_heard<A: Abi>(call: &Call<A>, result: c_int) {
    if result != A::SUCCESS {
        failed(call, result);
    }
    let wanted = events::wanted();
    if wanted & OF_SUBJECT != 0 {
        about_subject(call, call.bytes(), result == A::SUCCESS);
    }
    let ends = wanted & CallEnded::KIND.bit() != 0;
    // Its stack frame is only known until the call has been left.
    let caller = if ends { fortran_call_site::here(call) } else { 0 };
    call.leave();
    if ends {
        raise_ended(call, caller);
    } else if wanted != 0 {
        events::deliver();
    }
}

/// A call was left and will not return.
pub fn left(thread: &Thread, function: FunctionId, since: u64, until: u64) {
    events::raise(0, until, || CallEnded {
        function: number(function),
        thread: thread.tid.get().cast_signed(),
        caller: thread.call.return_address.get(),
        bytes: 0,
        duration: until.wrapping_sub(since),
    });
}

fn raise_ended<A: Abi>(call: &Call<A>, caller: u64) {
    events::deliver_with(call.returned(), || CallEnded {
        function: number(call.function()),
        thread: call.thread().tid.get().cast_signed(),
        caller,
        bytes: local::all_moved(call.tls(), call.function(), call.bytes()),
        duration: call.returned().wrapping_sub(call.since),
    });
}

/// Raises events about the subject of a call that has returned. A call that failed has done nothing to it.
fn about_subject<A: Abi>(call: &Call<A>, bytes: u64, succeeded: bool) {
    if succeeded {
        about_use(call, bytes);
    }
    lost();
}

/// Raises events about the window or communicator that a call has used. They agree with the counters of that
/// object.
fn about_use<A: Abi>(call: &Call<A>, bytes: u64) {
    let (function, at) = (call.function(), call.returned());
    let noted = &call.thread().call;
    match function.properties().moves {
        Moves::PUT | Moves::GET | Moves::FETCH => {
            let target = noted.peer.get() as i32;
            // With `MPI_PROC_NULL` there is no operation.
            if let Some(win) = tables::WINDOWS.find(noted.object.get()).filter(|_| target >= 0) {
                let object = win.head().uid.get();
                events::raise(object, at, || RmaOperation {
                    function: number(function),
                    target,
                    bytes,
                    object,
                });
            }
        }
        _ if function == f::MPI_Comm_disconnect => {
            events::raise(0, at, || ProcessesDisconnected { comm: noted.object.get() });
        }
        _ => {}
    }
}

/// A call has read `bytes` of a file, or started to. Raised where the access is counted.
#[inline(always)]
pub fn file_read<A: Abi>(call: &Call<A>, object: u64, bytes: u64) {
    events::raise(object, call.returned(), || FileRead {
        function: number(call.function()),
        bytes,
        duration: call.returned().wrapping_sub(call.since),
        object,
    });
}

/// A call has written `bytes` of a file, or started to. Raised where the access is counted.
#[inline(always)]
pub fn file_written<A: Abi>(call: &Call<A>, object: u64, bytes: u64) {
    events::raise(object, call.returned(), || FileWritten {
        function: number(call.function()),
        bytes,
        duration: call.returned().wrapping_sub(call.since),
        object,
    });
}

/// Checks whether anything was lost since the last check.
fn lost() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    if !events::is_wanted::<RecordsLost>(0) {
        return;
    }
    let Some(writer) = image::writer() else { return };
    let now = writer.header().lost.iter().map(|kind| kind.get()).fold(0, u64::wrapping_add);
    let before = SEEN.swap(now, Ordering::Relaxed);
    if now > before {
        events::raise(0, 0, || RecordsLost { count: now - before });
    }
}

/// A function returned an error code.
fn failed<A: Abi>(call: &Call<A>, code: c_int) {
    events::raise(0, 0, || {
        let class = real::class_of::<A>(code);
        ErrorRaised { function: number(call.function()), code, class }
    });
}

/// A thread called MPI for the first time.
#[cold]
pub fn thread_seen(tid: u32) {
    events::raise(0, 0, || ThreadSeen { thread: tid.cast_signed() });
}
