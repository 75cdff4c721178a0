//! The symbols that debuggers look for in a rank: `MPI2DD_info`, `MPI2DD_breakpoint`, `MPIR_debug_gate`, the
//! plug-in paths.
//!
//! The specification is "An interface between a debugger and an MPI implementation" (draft of January 2007),
//! called *the document* here. [`block`] has its layouts, [`symbols`] the other names; [`table`] explains how
//! a table grows while it is being read.
//!
//! # Where the process table comes from
//!
//! Rank 0 of each world is a directory: its table contains the host, executable, process ID and rank of all
//! ranks when `MPI_Init` returns. Ranks on the same host find each other through shared memory
//! ([`rendezvous`]), at the cost of writing one page and without messages. Ranks on different hosts must
//! communicate, and so must parents with the worlds they spawn and jobs that connect ([`wire`], [`hello`],
//! [`dynamic`]). They do so only if the job may be acquired by a debugger: under `mpiscope run` (which sets
//! `MPISCOPE_ACQUIRE=1`), with `MPISCOPE_DEBUG` or `MPISCOPE_HOLD`, or if the debugger has set
//! `MPI2DD_FLAG_BEING_DEBUGGED`. Such messages are sent inside the hooked call and all waits are bounded;
//! parents, children and connecting jobs first make sure that the other side has this library ([`presence`]).
//! Otherwise nothing is sent and nothing waits, and a directory only knows the ranks of its own host.
//!
//! Rank 0 of the world that the launcher started is the metadirectory. The name of a world consists of the
//! host, process ID and start time of its rank 0; a rank that cannot know that process uses the launcher's
//! name for the world.

mod block;
pub mod dynamic;
mod gate;
mod hello;
mod presence;
mod process_descriptor;
mod relay;
mod rendezvous;
mod state;
mod symbols;
mod table;
mod wire;
mod world;

use crate::base::complaint::complain;
use crate::record::objects::comms;
use mpi_abi::Abi;
use mpiscope_debug_interfaces::mpi2dd::Reason;
use process_descriptor::ProcessDescriptor;
use rendezvous::Meeting;
use state::State;
use std::ffi::c_int;
use std::sync::Mutex;

/// The meeting of this world, from entering `MPI_Init`, or the first session, to leaving `MPI_Init`.
static MEETING: Mutex<Option<Meeting>> = Mutex::new(None);

/// Called when `MPI_Init` is entered.
pub fn entering() {
    gate::allow_tracer();
    if let Ok(mut meeting) = MEETING.lock() {
        if meeting.is_none() {
            *meeting = Meeting::enter();
        }
        dynamic::entering(meeting.as_ref().map(|meeting| meeting.rank));
    }
}

/// Called when the first session is opened: `MPI_Init` does not wait for the other ranks if the library has already
/// started, so that ranks would leave their meeting before others have entered it.
pub fn entering_session() {
    if let Ok(mut meeting) = MEETING.lock() {
        *meeting = Meeting::enter();
    }
}

/// Called when the process has left MPI: it may never have called `MPI_Init`.
pub fn left() {
    if let Some(meeting) = MEETING.lock().ok().and_then(|mut meeting| meeting.take()) {
        meeting.leave();
    }
}

/// Called in a forked child, which is no rank.
pub fn forked() {
    block::forget();
}

/// Called when `MPI_Init` has failed.
pub fn failed() {
    dynamic::entered();
    left();
}

/// Called when `MPI_Init` has done its work: finds out who the other ranks are and fills the block. Returns
/// the name of the world, if it is known.
pub fn introduce<A: Abi>(rank: c_int, size: c_int) -> Option<String> {
    let meeting = MEETING.lock().ok().and_then(|mut m| m.take());
    if rank < 0 {
        dynamic::entered();
        return None;
    }
    symbols::publish();
    let own = ProcessDescriptor::own(rank);
    let members = world::members::<A>(meeting.as_ref(), own, size);
    if let Some(meeting) = meeting {
        meeting.leave();
    }
    let world = members.first.map(|first| first.world());
    let known = world.clone().unwrap_or_else(crate::record::process::world);
    let mut state = State::new(own, known, members.first, members.first);
    let parent = hello::parent::<A>();
    let heard = parent
        .filter(|_| gate::beyond())
        .and_then(|parent| dynamic::born::<A>(parent, &state.hello(-1, 0), size));
    comms::parents_call_it(heard.as_ref().map_or(0, |hello| hello.name));
    dynamic::entered();
    if let Some(meta) = heard.as_ref().and_then(|hello| hello.meta) {
        state.meta = Some(meta);
    }
    state.publish(&members.descriptors, parent.is_some(), heard.as_ref());
    if rank == 0 && gate::acquirable() && members.descriptors.len() != usize::try_from(size).unwrap_or(0) {
        complain(&format!(
            "the process table for debuggers has {} of {size} ranks: the others run without libmpiscope.so",
            members.descriptors.len()
        ));
    }
    state::set(state);
    world
}

/// Stops in the debugger, if there is one, and holds the process at the gate if requested.
pub fn announce(rank: c_int) {
    block::stop(Reason::START);
    gate::hold(rank == 0);
}

/// Called when `MPI_Session_init` has returned in a program without a world (yet): there is no rank and no
/// table, but there are the plug-ins and the gate.
pub fn announce_session() {
    gate::allow_tracer();
    symbols::publish();
    announce(0);
}
