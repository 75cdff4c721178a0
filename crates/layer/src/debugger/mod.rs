//! What debuggers look for in a rank: `MPI2DD_info`, `MPI2DD_breakpoint`, `MPIR_debug_gate`, the plug-in paths.
//!
//! The document is "An interface between a debugger and an MPI implementation" (draft of January 2007), here *the
//! document*. [`block`] has its layouts, [`symbols`] the other names, [`table`] how a table grows while it is read.
//!
//! # Where the process table comes from
//!
//! Rank 0 of each world is a directory: its table has host, executable, process id and rank of all ranks when
//! `MPI_Init` returns. Ranks of one host find each other through shared memory ([`rendezvous`]), which costs a write
//! of one page and no message. Ranks of several hosts must talk, and so must parents with the worlds they spawn and
//! jobs that connect ([`wire`], [`hello`], [`dynamic`]); they do only when somebody may want to acquire the job:
//! under `mpiscope run` (which sets `MPISCOPE_ACQUIRE=1`), with `MPISCOPE_DEBUG` or `MPISCOPE_HOLD`, or when the
//! debugger has set `MPI2DD_FLAG_BEING_DEBUGGED`. Such messages go inside the hooked call and never wait without
//! an end; parents, children and those who connect first make sure that the other side has this library ([`presence`]).
//! Without any of that nothing is sent and nothing waits; then a directory knows the ranks of its own host.
//!
//! Rank 0 of the world that the launcher started is the metadirectory. The name of a world is host, process id and
//! start time of its rank 0; where a rank cannot know that one, it is what the launcher calls the world.

mod block;
pub mod dynamic;
mod gate;
mod hello;
mod presence;
mod process_descriptor;
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

/// The meeting of this world, between entering and leaving `MPI_Init`.
static MEETING: Mutex<Option<Meeting>> = Mutex::new(None);

/// `MPI_Init` is entered.
pub fn entering() {
    gate::allow_tracer();
    if let Ok(mut meeting) = MEETING.lock() {
        *meeting = Meeting::enter();
        dynamic::entering(meeting.as_ref().map(|meeting| meeting.rank));
    }
}

/// `MPI_Init` has failed.
pub fn failed() {
    dynamic::entered();
    if let Some(meeting) = MEETING.lock().ok().and_then(|mut meeting| meeting.take()) {
        meeting.leave();
    }
}

/// `MPI_Init` has done its work: finds out who the others are and fills the block. Gives the name of the world, if it
/// can be said.
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

/// Stops in the debugger, if there is one, and holds the process at the gate, if somebody wants that.
pub fn announce(rank: c_int) {
    block::stop(Reason::START);
    gate::hold(rank == 0);
}

/// `MPI_Session_init` has returned in a program without a world (yet): there is no rank and no table, but the
/// plug-ins and the gate are there.
pub fn announce_session() {
    gate::allow_tracer();
    symbols::publish();
    announce(0);
}
