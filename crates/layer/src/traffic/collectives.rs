//! Hooks of collectives: their numbers on the communicator, and their requests.
//!
//! Every operation that is collective over a communicator gets the next number when it is entered, blocking or
//! not; a persistent one when its request is made, because that is what must happen in the same order on all
//! ranks. Constructors of communicators, windows and files count too. The number stands in `extra[3]` of the
//! call's record while a thread is in it.

use super::facts;
use super::lines::communicator;
use super::requests::{self, New};
use super::scratch;
use super::state::hold;
use crate::call::Call;
use crate::tool;
use crate::tool::events::observe;
use mpi_abi::{Abi, Handle};
use mpiscope_image::traffic::RequestKind;
use std::ffi::c_int;

/// A thread enters a collective.
#[inline(always)]
pub fn enter<A: Abi>(call: &Call<A>, comm: A::Handle) {
    let Some(held) = hold() else { return };
    let channel = communicator::<A>(&held, comm);
    let number = facts::collective_entered(&held, channel.comm);
    observe::collective_entered(call, &channel, number);
    call.set_sequence(number);
}

/// A thread leaves a collective.
#[inline(always)]
pub fn leave<A: Abi>(call: &Call<A>, _: c_int) {
    if tool::own::waits_wanted() && call.since != 0 {
        let spent = call.returned().saturating_sub(call.since);
        tool::bound::waited(call.thread().call.object.get(), spent);
    }
    if let Some(held) = hold() {
        facts::collective_left(&held, call.sequence());
        observe::collective_left(call, call.sequence());
    }
}

/// A collective with a request was started, or, if `persistent`, made.
#[inline(always)]
pub fn start<A: Abi>(
    call: &Call<A>,
    result: c_int,
    persistent: bool,
    comm: A::Handle,
    request: *const A::Handle,
) {
    let Some(held) = hold() else { return };
    let number = call.sequence();
    facts::collective_left(&held, number);
    observe::collective_left(call, number);
    if result != A::SUCCESS {
        return;
    }
    let noted = &call.thread().call;
    let new = New {
        object: comm.raw(),
        channel: communicator::<A>(&held, comm),
        // What the hook noted of the arguments: the root, the count and the datatype of most collectives.
        peer: noted.peer.get() as i32,
        count: noted.count.get().cast_signed(),
        datatype: noted.datatype.get(),
        order: number,
        entry: call.operation(),
        persistent,
        ..New::of(RequestKind::COLLECTIVE)
    };
    requests::create(*held, call, scratch::pointed(request), &new);
}

/// The communicator that a parameter points to.
#[inline(always)]
pub fn of<A: Abi>(comm: *const A::Handle) -> A::Handle {
    A::Handle::from_raw(scratch::pointed(comm))
}
