//! Hooks of collectives: their numbers on the communicator, and their requests.
//!
//! Every operation that is collective over a communicator gets the next number when it is entered, blocking
//! or not; a persistent one when its request is made, since that must happen in the same order on all ranks.
//! A persistent one is performed, and counted, each time it is started, with the same number. Constructors of
//! communicators, windows and files count too. While a thread is in the call, the number is in `extra[3]` of
//! the call's record. A call whose arguments the library rejects gives its number back.

use super::buffers;
use super::contents;
use super::facts;
use super::history;
use super::lines::communicator;
use super::rejected::rejected;
use super::requests::{self, New};
use super::scratch::{self, Scratch};
use super::state::{self, Held, State, Step, hold};
use super::wait_listener::{self, WaitListener};
use crate::events;
use crate::interpose::frame::Call;
use crate::record::objects::tables::COMMS;
use crate::record::observe::{self, Collective};
use mpi_abi::{Abi, FunctionId, Handle};
use mpiscope_image::layout::{SectionKind, Thread};
use mpiscope_image::objects::Datatype;
use mpiscope_image::traffic::{Request, RequestKind};
use std::ffi::c_int;

/// Sets the listener for the time that blocking collectives take; there is at most one.
pub fn listen_to_waits(listener: Option<WaitListener>) {
    wait_listener::set(listener);
    state::reconsider();
}

/// A thread enters a collective.
#[inline(always)]
pub fn enter<A: Abi>(call: &Call<A>, comm: A::Handle) {
    entered::<A, false>(call.thread(), call.function(), call.since, comm);
}

/// A thread initializes a persistent collective: it gets a number, but nothing is performed until it is
/// started.
#[inline(always)]
pub fn enter_initialisation<A: Abi>(call: &Call<A>, comm: A::Handle) {
    entered::<A, true>(call.thread(), call.function(), call.since, comm);
}

/// [`enter`], compiled once for all collectives.
#[inline(never)]
fn entered<A: Abi, const INITIALISES: bool>(
    thread: &'static Thread,
    function: FunctionId,
    since: u64,
    comm: A::Handle,
) {
    let call = &Call::<A>::again(thread, function, since, 0);
    state::with(call, || Enter::<A, INITIALISES> { comm, datatype: history::datatype(call) });
}

struct Enter<A: Abi, const INITIALISES: bool> {
    comm: A::Handle,
    /// Determined before the state is held, since its signature may require querying the library.
    datatype: Option<&'static Datatype>,
}

impl<A: Abi, const INITIALISES: bool> Step<A> for Enter<A, INITIALISES> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let channel = communicator::<A>(&held, self.comm);
        let number = facts::collective_numbered(channel.comm, call.function());
        history::write(&held, call, &channel, self.comm, number, self.datatype);
        call.set_sequence(number);
        if !INITIALISES {
            facts::collective_performed(&held);
        }
        // What follows is for events only. If the first listener comes while the call is under way, it is as if
        // the state had been quiet until then.
        if QUIET || !events::anybody() {
            return;
        }
        let Some(scratch) = scratch::of(call) else { return };
        scratch.begin(&held.operations, call);
        scratch.channel = channel;
        if !INITIALISES {
            observe::collective_entered(&under_way(call, scratch), call.since);
        }
    }
}

/// Describes the collective of a call.
#[inline(always)]
fn under_way<A: Abi>(call: &Call<A>, scratch: &Scratch) -> Collective {
    Collective {
        function: call.function(),
        root: call.thread().call.peer.get() as i32,
        comm: scratch.channel.uid,
        identity: scratch.channel.identity,
        number: call.sequence(),
        id: scratch.operation,
    }
}

/// The call failed. If the library rejected its arguments, the collective did not take place; a call that only
/// `initialises` one performs none in any case.
#[cold]
fn failed<A: Abi>(call: &Call<A>, code: c_int, initialises: bool) {
    if rejected::<A>(code, SectionKind::COMMS) {
        state::with(call, || Reject { initialises });
    }
}

struct Reject {
    initialises: bool,
}

impl<A: Abi> Step<A> for Reject {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        if let Some(comm) = COMMS.find(call.thread().call.object.get()) {
            facts::collective_rejected(comm, call.function(), call.sequence());
        }
        if !self.initialises {
            facts::collective_not_performed(&held);
        }
    }
}

/// The call of a collective returns.
struct Leave;

impl<A: Abi> Step<A> for Leave {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        history::left(&held, call);
    }
}

/// A thread leaves a collective. Without listeners nearly all there is to do is to record the time.
#[inline(always)]
pub fn leave<A: Abi>(call: &Call<A>, result: c_int) {
    if result != A::SUCCESS {
        failed(call, result, false);
    }
    if call.since != 0 {
        state::with(call, || Leave);
    }
    if !state::is_quiet() && (events::anybody() || wait_listener::get().is_some()) {
        left::<A>(call.thread(), call.function(), (call.since, call.returned()), call.bytes());
    }
}

/// [`leave`], compiled once for all collectives.
#[inline(never)]
fn left<A: Abi>(thread: &'static Thread, function: FunctionId, (since, until): (u64, u64), bytes: u64) {
    let call = &Call::<A>::again(thread, function, since, until);
    if call.since != 0
        && let Some(waited) = wait_listener::get()
    {
        waited(call.thread().call.object.get(), call.returned().saturating_sub(call.since));
    }
    if let (Some(_held), Some(scratch)) = (hold(), scratch::of(call))
        && scratch.is_of(call)
    {
        facts::collective_left(call, &under_way(call, scratch), bytes);
    }
}

/// A collective with a request was started or, if `persistent`, initialized.
#[inline(always)]
pub fn start<A: Abi>(
    call: &Call<A>,
    result: c_int,
    persistent: bool,
    comm: A::Handle,
    request: *const A::Handle,
) {
    // The bytes of a persistent one are counted when it is started.
    let bytes = if persistent { call.take_bytes() } else { call.bytes() };
    let times = (call.since, call.returned());
    let (thread, function, ended) = (call.thread(), call.function(), (result, bytes));
    if persistent {
        started::<A, true>(thread, function, times, ended, comm, request);
    } else {
        started::<A, false>(thread, function, times, ended, comm, request);
    }
}

/// [`start`], compiled once for all nonblocking and once for all persistent collectives.
#[inline(never)]
fn started<A: Abi, const PERSISTENT: bool>(
    thread: &'static Thread,
    function: FunctionId,
    (since, until): (u64, u64),
    (result, bytes): (c_int, u64),
    comm: A::Handle,
    request: *const A::Handle,
) {
    let call = &Call::<A>::again(thread, function, since, until);
    if result != A::SUCCESS {
        failed(call, result, PERSISTENT);
    }
    let request = scratch::pointed(request);
    state::with(call, || Started::<A, PERSISTENT> { result, bytes, comm, request });
}

struct Started<A: Abi, const PERSISTENT: bool> {
    result: c_int,
    bytes: u64,
    comm: A::Handle,
    request: u64,
}

impl<A: Abi, const PERSISTENT: bool> Step<A> for Started<A, PERSISTENT> {
    #[inline(always)]
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let (operation, channel) = if QUIET {
            (held.next_operation(), communicator::<A>(&held, self.comm))
        } else {
            let Some(scratch) = scratch::of(call) else { return };
            if !scratch.is_of(call) {
                // There was no listener when the call was entered.
                scratch.begin(&held.operations, call);
                scratch.channel = communicator::<A>(&held, self.comm);
            } else if !PERSISTENT {
                facts::collective_left(call, &under_way(call, scratch), self.bytes);
            }
            (scratch.operation, scratch.channel)
        };
        if self.result != A::SUCCESS {
            return;
        }
        if PERSISTENT {
            facts::collective_initialised(channel.comm);
        }
        let noted = &call.thread().call;
        let new = New {
            operation,
            object: self.comm.raw(),
            channel,
            // The arguments noted by the hook: root, count and datatype for most collectives.
            peer: noted.peer.get() as i32,
            count: noted.count.get().cast_signed(),
            datatype: noted.datatype.get(),
            bytes: self.bytes,
            order: call.sequence(),
            entry: call.operation(),
            persistent: PERSISTENT,
            ..New::of(RequestKind::COLLECTIVE)
        };
        requests::create(held, call, self.request, &new);
    }
}

/// A persistent collective was started.
pub fn restart<A: Abi>(held: &State, call: &Call<A>, request: &Request) {
    let comm = COMMS.find(request.object.get()).filter(|comm| comm.head.uid.get() == request.comm());
    let of = Collective {
        function: FunctionId(request.head.made_by.get().wrapping_sub(1)),
        root: request.peer.get().cast_signed(),
        comm: request.comm(),
        identity: request.comm_identity.get(),
        number: request.order.get(),
        id: request.operation(),
    };
    facts::collective_restarted(comm);
    facts::collective_performed(held);
    history::restarted(held, comm, of.number);
    if contents::recorded() {
        buffers::restarted(held, call, request);
    }
    observe::collective_entered(&of, call.since);
    facts::collective_left(call, &of, request.bytes.get());
}

/// Returns the communicator that a parameter points to.
#[inline(always)]
pub fn of<A: Abi>(comm: *const A::Handle) -> A::Handle {
    A::Handle::from_raw(scratch::pointed(comm))
}
