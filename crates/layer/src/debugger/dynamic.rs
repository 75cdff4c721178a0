//! Spawned worlds, and jobs that connect and disconnect: keeps the tables correct on both sides.
//!
//! ```text
//!  parents: root ───────── exchange ───────── rank 0 :children       (spawn: in MPI_Comm_spawn and in MPI_Init)
//!             └─► holder                         └─► all other ranks
//!
//!  one job: rank 0 ─────── exchange ─────── rank 0 :another job      (connect, accept, join)
//!             └─► holder                       └─► holder
//! ```
//!
//! Nothing is exchanged until both leaders know that the other one also has this library ([`presence`]).
//!
//! The *holder* enters the edge in its tables. It is the metadirectory, if that takes part in the call;
//! otherwise it is the leader, which becomes a metadirectory too and lists the real one. A spawned world
//! belongs to the job of its parents, even after `MPI_Comm_disconnect`: the launcher runs them as one. A
//! connection between jobs ends with `MPI_Comm_disconnect` of the intercommunicator that the connecting call
//! returned.
//!
//! One side's name of the intercommunicator becomes the name on both sides: parents name it for their
//! children, the accepting side for the connecting one, the offering side for the joining one. The leaders'
//! messages contain the name; the side that adopts it distributes it among its ranks if all of them are in
//! the same world.

use super::block::{self, MPI2DD_info};
use super::{gate, hello, presence, state, wire};
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::objects::comms;
use hello::Hello;
use mpi_abi::{Abi, Handle};
use mpiscope_debug_interfaces::mpi2dd::Reason;
use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;
use std::time::Duration;
use wire::Pending;

/// How long the root may take to find out whether the other side is present.
const PATIENCE: Duration = Duration::from_secs(60);

/// Before `MPI_Comm_spawn`: the root makes itself known to the children.
#[allow(clippy::too_many_arguments)]
pub fn before_spawn<A: Abi>(
    _: &Call<A>,
    _: &mut *const c_char,
    _: &mut *const *const c_char,
    _: &mut c_int,
    _: &mut A::Handle,
    root: &mut c_int,
    comm: &mut A::Handle,
    _: &mut *mut A::Handle,
    _: &mut *mut c_int,
) {
    offer_children::<A>(*root, *comm);
}

/// Before `MPI_Comm_spawn_multiple`.
#[allow(clippy::too_many_arguments)]
pub fn before_spawn_multiple<A: Abi>(
    _: &Call<A>,
    _: &mut c_int,
    _: &mut *const *const c_char,
    _: &mut *const *const *const c_char,
    _: &mut *const c_int,
    _: &mut *const A::Handle,
    root: &mut c_int,
    comm: &mut A::Handle,
    _: &mut *mut A::Handle,
    _: &mut *mut c_int,
) {
    offer_children::<A>(*root, *comm);
}

fn offer_children<A: Abi>(root: c_int, comm: A::Handle) {
    if gate::beyond() && rank_in::<A>(comm) == root {
        presence::offer(presence::of_job());
    }
}

/// Before `MPI_Comm_accept`: the root makes itself known to connecting processes.
pub fn before_accept<A: Abi>(
    _: &Call<A>,
    port: &mut *const c_char,
    _: &mut A::Handle,
    root: &mut c_int,
    comm: &mut A::Handle,
    _: &mut *mut A::Handle,
) {
    if let Some(key) = key_of_root::<A>(*port, *root, *comm) {
        presence::offer(key);
    }
}

/// The key of a connection, at the root, which alone knows the port.
fn key_of_root<A: Abi>(port: *const c_char, root: c_int, comm: A::Handle) -> Option<presence::Key> {
    let meets = gate::beyond() && rank_in::<A>(comm) == root;
    meets.then(|| text(port)).flatten().map(presence::of_port)
}

/// Before `MPI_Comm_connect`: the root announces itself to the accepting side.
pub fn before_connect<A: Abi>(
    _: &Call<A>,
    port: &mut *const c_char,
    _: &mut A::Handle,
    root: &mut c_int,
    comm: &mut A::Handle,
    _: &mut *mut A::Handle,
) {
    if let Some(key) = key_of_root::<A>(*port, *root, *comm) {
        presence::come(key);
    }
}

/// Before `MPI_Comm_join`.
pub fn before_join<A: Abi>(_: &Call<A>, socket: &mut c_int, _: &mut *mut A::Handle) {
    if !gate::beyond() {
        return;
    }
    match presence::of_socket(*socket) {
        Some((key, true)) => presence::offer(key),
        Some((key, false)) => presence::come(key),
        None => {}
    }
}

/// `MPI_Comm_spawn`.
#[allow(clippy::too_many_arguments)]
pub fn after_spawn<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: *const c_char,
    _: *const *const c_char,
    _: c_int,
    _: A::Handle,
    root: c_int,
    comm: A::Handle,
    intercomm: *mut A::Handle,
    _: *mut c_int,
) {
    spawned::<A>(root, comm, made::<A>(result, intercomm));
}

/// `MPI_Comm_spawn_multiple`.
#[allow(clippy::too_many_arguments)]
pub fn after_spawn_multiple<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: c_int,
    _: *const *const c_char,
    _: *const *const *const c_char,
    _: *const c_int,
    _: *const A::Handle,
    root: c_int,
    comm: A::Handle,
    intercomm: *mut A::Handle,
    _: *mut c_int,
) {
    spawned::<A>(root, comm, made::<A>(result, intercomm));
}

/// `MPI_Comm_accept`.
pub fn after_accept<A: Abi>(
    _: &Call<A>,
    result: c_int,
    _: *const c_char,
    _: A::Handle,
    root: c_int,
    comm: A::Handle,
    newcomm: *mut A::Handle,
) {
    let offer = presence::offered();
    if let Some(inter) = made::<A>(result, newcomm) {
        let present = || offer.is_some_and(presence::Offer::taken);
        connected::<A>(Some((comm, root)), inter, present, Namer::Us, Reason::ACCEPT);
    }
}

/// `MPI_Comm_connect`.
pub fn after_connect<A: Abi>(
    _: &Call<A>,
    result: c_int,
    port: *const c_char,
    _: A::Handle,
    root: c_int,
    comm: A::Handle,
    newcomm: *mut A::Handle,
) {
    if let Some(inter) = made::<A>(result, newcomm) {
        let present = || text(port).is_some_and(|port| presence::take(presence::of_port(port)));
        connected::<A>(Some((comm, root)), inter, present, Namer::Them, Reason::CONNECT);
    }
    presence::came();
}

/// `MPI_Comm_join`.
pub fn after_join<A: Abi>(_: &Call<A>, result: c_int, socket: c_int, intercomm: *mut A::Handle) {
    let offer = presence::offered();
    if let Some(inter) = made::<A>(result, intercomm) {
        let namer = if offer.is_some() { Namer::Us } else { Namer::Them };
        let present = || match offer {
            Some(offer) => offer.taken(),
            None => presence::of_socket(socket).is_some_and(|(key, _)| presence::take(key)),
        };
        connected::<A>(None, inter, present, namer, Reason::JOIN);
    }
    presence::came();
}

/// `MPI_Comm_disconnect`: runs before the call, since the handle is null afterward.
pub fn before_disconnect<A: Abi>(_: &Call<A>, comm: &mut *mut A::Handle) {
    let Some(comm) = handle::<A>(*comm) else { return };
    if state::with(|state| state.remove_link(comm.raw())) == Some(true) {
        state::changed(Reason::METADIRECTORY_CHANGED);
    }
}

/// `MPI_Abort`.
pub fn before_abort<A: Abi>(_: &Call<A>, _: &mut A::Handle, code: &mut c_int) {
    let who = state::with(|state| format!("rank {} of world {}", state.own.rank, state.world));
    let text = format!("{} called MPI_Abort with code {code}", who.unwrap_or_else(|| "a process".into()));
    MPI2DD_info.abort_string.store(state::leak(text.as_bytes()), Ordering::SeqCst);
    block::stop(Reason::ABORT);
}

/// Called when `MPI_Init` is entered, perhaps by the first child of a spawn; `rank` is the launcher's.
pub fn entering(rank: Option<c_int>) {
    if gate::beyond() && rank.is_none_or(|rank| rank == 0) {
        presence::come_if_spawned(presence::of_job());
    }
}

/// Called when `MPI_Init` has done its work, or failed.
pub fn entered() {
    presence::came();
}

/// The children's side of a spawn, in `MPI_Init`. Returns the parents' hello, if there was one.
pub fn born<A: Abi>(parent: A::Handle, own: &Hello, size: c_int) -> Option<Hello> {
    let world = real::comm_world::<A>()?;
    if own.rank != 0 {
        return hello::hear::<A>(world, 0);
    }
    let heard = presence::take(presence::of_job()).then(|| hello::answer::<A>(parent, own)).flatten();
    hello::pass_on::<A>(world, 1..size, heard.as_ref());
    heard
}

/// The intercommunicator that a call created.
fn made<A: Abi>(result: c_int, place: *mut A::Handle) -> Option<A::Handle> {
    let inter = (result == A::SUCCESS).then(|| handle::<A>(place))??;
    (Some(inter) != real::predefined::<A>("MPI_COMM_NULL")).then_some(inter)
}

#[allow(unsafe_code)]
fn text<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: the standard requires a string at the root, and this is called only there; null is checked.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}

fn rank_in<A: Abi>(comm: A::Handle) -> c_int {
    let mut rank = -1;
    real::comm_rank::<A>(comm, &mut rank);
    rank
}

#[allow(unsafe_code)]
fn handle<A: Abi>(place: *mut A::Handle) -> Option<A::Handle> {
    // SAFETY: the standard requires the parameter to point to a handle; null is checked.
    unsafe { place.as_ref() }.copied()
}

fn spawned<A: Abi>(root: c_int, comm: A::Handle, inter: Option<A::Handle>) {
    let offer = presence::offered();
    let Some(inter) = inter else { return };
    let rank = rank_in::<A>(comm);
    let sequence = if rank == root { state::next_spawn() } else { -1 };
    if gate::beyond()
        && let Some(own) = state::with(|state| state.hello(sequence, comms::name_of::<A>(inter)))
    {
        let meet = || {
            let present = offer.is_some_and(presence::Offer::taken);
            present.then(|| hello::exchange::<A>(inter, 0, &own)).flatten()
        };
        let heard = hold::<A>(Some(comm), rank, root, meet);
        let directory = heard.and_then(|hello| hello.directory);
        let new = directory.and_then(|descriptor| state::with(|state| state.add_directory(&descriptor)));
        if new == Some(true) {
            state::changed(Reason::DIRECTORY_CHANGED);
        }
    }
    block::stop(Reason::SPAWN);
}

/// Handles a connection. `group` is our side and its root, which calls `present`; the leader is rank 0, which
/// the other side can address.
fn connected<A: Abi>(
    group: Option<(A::Handle, c_int)>,
    inter: A::Handle,
    present: impl FnOnce() -> bool,
    namer: Namer,
    reason: Reason,
) {
    let comm = group.map(|(comm, _)| comm);
    let rank = comm.map_or(0, rank_in::<A>);
    if gate::beyond()
        && let Some(own) = state::with(|state| state.hello(-1, comms::name_of::<A>(inter)))
    {
        let present = at_leader::<A>(group, rank, present);
        let meet = || present.then(|| hello::exchange::<A>(inter, 0, &own)).flatten();
        let met = if rank == 0 { meet() } else { None };
        if let Namer::Them = namer {
            let name = met.as_ref().map_or(0, |hello| hello.name);
            comms::rename::<A>(inter, common_name::<A>(comm, rank, name));
        }
        let heard = hold::<A>(comm, rank, 0, || met);
        let meta = heard.and_then(|hello| hello.meta);
        let new = meta.and_then(|descriptor| state::with(|state| state.add_link(inter.raw(), &descriptor)));
        if new == Some(true) {
            state::changed(Reason::METADIRECTORY_CHANGED);
        }
    }
    block::stop(reason);
}

/// The side that names an intercommunicator.
#[derive(Clone, Copy)]
enum Namer {
    Us,
    Them,
}

/// The name that the leader received, distributed to all ranks of our side; zero if there is none. Members of
/// several worlds get none, since one of the worlds may run without this library.
fn common_name<A: Abi>(comm: Option<A::Handle>, rank: c_int, heard: u64) -> u64 {
    let Some(comm) = comm.filter(|comm| comms::is_of_this_world::<A>(*comm)) else {
        return if rank == 0 { heard } else { 0 };
    };
    if rank != 0 {
        let name = wire::receive::<A>(comm, 0, size_of::<u64>(), hello::LONGER);
        return name.and_then(|name| name.try_into().ok()).map_or(0, u64::from_ne_bytes);
    }
    let mut size = 1;
    real::comm_size::<A>(comm, &mut size);
    let sends = (1..size).filter_map(|to| Pending::<A>::send(comm, to, heard.to_ne_bytes().to_vec()));
    wire::finish(&mut sends.collect::<Vec<_>>(), hello::PATIENCE);
    heard
}

/// Moves the root's answer to rank 0; false at all other ranks.
fn at_leader<A: Abi>(group: Option<(A::Handle, c_int)>, rank: c_int, ask: impl FnOnce() -> bool) -> bool {
    match group {
        Some((comm, root)) if root != 0 && rank == root => {
            wire::send::<A>(comm, 0, vec![u8::from(ask())], PATIENCE);
            false
        }
        Some((comm, root)) if root != 0 && rank == 0 => {
            wire::receive::<A>(comm, root, 1, PATIENCE).is_some_and(|said| said == [1])
        }
        _ => rank == 0 && ask(),
    }
}

/// Lets the leader exchange hellos with the other side, and returns the received one only at the holder.
fn hold<A: Abi>(
    comm: Option<A::Handle>,
    rank: c_int,
    leader: c_int,
    exchange: impl FnOnce() -> Option<Hello>,
) -> Option<Hello> {
    let holder = comm.and_then(|comm| metadirectory_in::<A>(comm)).unwrap_or(leader);
    let heard = if rank == leader { exchange() } else { None };
    if holder == leader {
        return heard;
    }
    let comm = comm?;
    if rank == leader {
        hello::pass_on::<A>(comm, [holder], heard.as_ref());
        return None;
    }
    (rank == holder).then(|| hello::hear::<A>(comm, leader))?
}

/// The metadirectory's rank in `comm`, if it is a member and in this world (others have no rank here).
fn metadirectory_in<A: Abi>(comm: A::Handle) -> Option<c_int> {
    let meta = state::with(|state| (state.meta, state.directory))?;
    let (Some(meta), Some(first)) = meta else { return None };
    if !meta.same(&first) {
        return None;
    }
    let world = real::comm_world::<A>()?;
    let (mut of_world, mut of_comm) = (A::Handle::from_raw(0), A::Handle::from_raw(0));
    let (from, mut found) = (0, A::UNDEFINED);
    if real::comm_group::<A>(world, &mut of_world) != Some(A::SUCCESS) {
        return None;
    }
    if real::comm_group::<A>(comm, &mut of_comm) == Some(A::SUCCESS) {
        real::group_translate_ranks::<A>(of_world, 1, &raw const from, of_comm, &raw mut found);
        real::group_free::<A>(&mut of_comm);
    }
    real::group_free::<A>(&mut of_world);
    (found != A::UNDEFINED && found >= 0).then_some(found)
}
