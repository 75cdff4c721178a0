//! Communicators.
//!
//! # Names shared by all members
//!
//! `head.identity` is the same on every member and differs between communicators. It is computed, without
//! communication, from what all members know:
//!
//! | made by | identity from |
//! | --- | --- |
//! | start | the world's name (and the rank, for `MPI_COMM_SELF`) |
//! | a call that is collective over the parent | parent, function, number of earlier children of the parent, first member |
//! | `MPI_Comm_create_group`, `MPI_Comm_create_from_group` | parent or world, tag, members, number of earlier ones with the same |
//! | `MPI_Intercomm_create(_from_groups)` | tag, members of both sides, number of earlier ones with the same |
//! | spawn, accept, connect, join, get_parent | this side's parent, until the sides meet: then both adopt one side's name |
//!
//! Windows and files have one too: from the communicator's, their kind, and the number of earlier ones on it.
//!
//! Sides meet when the other one is known to run under this library (see `debugger::dynamic`); otherwise they
//! keep different names. Where the members are not all of one world they are distinguished by their ranks in
//! the parent.
//!
//! # Members
//!
//! Ranks in `MPI_COMM_WORLD` are stored once: a duplicate shares its parent's array, and the world's own
//! order needs no array at all.
//!
//! # Memory
//!
//! A record, an index entry, and 8 bytes per member unless the array is shared.

mod hooks;
mod members;
mod topology;

pub use hooks::*;
pub use members::{store_ranks, world_ranks};

use super::table::Object;
use super::{Site, arena, facts, hash};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::objects::tables::{self, COMMS};
use crate::record::process;
use crate::record::traffic::rejected::rejected;
use crate::record::traffic::{rings, spare_peers};
use members::Members;
use mpi_abi::{Abi, Handle};
use mpiscope_image::Writer;
use mpiscope_image::layout::{Chars, SectionKind};
use mpiscope_image::objects::{Comm, Flag, Head};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether `MPI_COMM_WORLD` may be used: a program that uses only sessions may not have it.
static WORLD_IS_THERE: AtomicBool = AtomicBool::new(false);
/// Number of ranks in the world.
static WORLD_SIZE: AtomicU64 = AtomicU64::new(0);

impl Object for Comm {
    const HAS_SITES: bool = true;

    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_words(writer, &self.members);
        arena::release_words(writer, &self.remote);
        arena::release_words(writer, &self.topology_args);
        arena::release_text(writer, &self.hints);
        spare_peers::give_back(self);
        rings::give_back(&self.history);
    }
}

/// Returns the name of a communicator on this process's side; zero if it has none.
pub fn name_of<A: Abi>(comm: A::Handle) -> u64 {
    tables::comm::<A>(comm).map_or(0, |comm| comm.head.identity.get())
}

/// Adopts the other side's name, if it has one. Only before the program has used the communicator.
pub fn rename<A: Abi>(comm: A::Handle, name: u64) {
    if let Some(comm) = tables::comm::<A>(comm).filter(|_| name != 0) {
        comm.head.seq.write(|| comm.head.identity.set(name));
    }
}

/// The parents' name for the intercommunicator to them; zero if unknown.
static PARENTS_NAME: AtomicU64 = AtomicU64::new(0);

/// Stores the name by which the processes that spawned this world identify the intercommunicator to them.
pub fn parents_call_it(name: u64) {
    PARENTS_NAME.store(name, Ordering::Relaxed);
}

/// Whether all members are known to belong to this process's world.
pub fn is_of_this_world<A: Abi>(comm: A::Handle) -> bool {
    tables::comm::<A>(comm).zip(super::recorder()).is_some_and(|(comm, writer)| {
        let inter = comm.head.flags.get() & Flag::INTER.0 != 0;
        !inter && !members::reaches_beyond(writer, comm)
    })
}

/// Whether `MPI_COMM_WORLD` may be used.
pub fn world_is_there() -> bool {
    WORLD_IS_THERE.load(Ordering::Relaxed)
}

/// Returns the record of a communicator; one whose creation was not seen is queried and entered. Only for
/// handles known to be communicators: a library may crash when asked about anything else.
#[inline]
pub fn find_or_adopt<A: Abi>(comm: A::Handle) -> Option<&'static Comm> {
    tables::comm::<A>(comm).or_else(|| adopt::<A>(comm))
}

/// Like [`find_or_adopt`], for what the program passes as a communicator: only predefined ones are adopted.
/// (Within `MPI_Init`, tools may use the world before it is entered.)
#[inline]
pub fn find_passed<A: Abi>(comm: A::Handle) -> Option<&'static Comm> {
    tables::comm::<A>(comm).or_else(|| if is_predefined(comm.raw()) { adopt::<A>(comm) } else { None })
}

/// Whether the library may be queried about a handle that the program passed to a successful call. If objects
/// are not recorded, that success has to suffice.
#[inline]
pub fn may_ask_about<A: Abi>(comm: A::Handle) -> bool {
    tables::comm::<A>(comm).is_some() || is_predefined(comm.raw()) || super::recorder().is_none()
}

/// `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
static PREDEFINED: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Looks up the predefined communicators. Called once, when the library was found.
pub fn start<A: Abi>() {
    for (place, name) in PREDEFINED.iter().zip(["MPI_COMM_WORLD", "MPI_COMM_SELF"]) {
        place.store(real::predefined_raw::<A>(name).unwrap_or(0), Ordering::Relaxed);
    }
}

fn is_predefined(raw: u64) -> bool {
    raw != 0 && PREDEFINED.iter().any(|known| known.load(Ordering::Relaxed) == raw)
}

/// Enters the predefined communicators.
pub fn initialized<A: Abi>(writer: &'static Writer) {
    let name = process::record().map_or(0, |p| hash::text(p.world.text().as_bytes()));
    let (mut rank, mut size) = (0, 0);
    if let Some(world) = real::comm_world::<A>() {
        WORLD_IS_THERE.store(true, Ordering::Relaxed);
        real::comm_rank::<A>(world, &mut rank);
        real::comm_size::<A>(world, &mut size);
        WORLD_SIZE.store(u64::try_from(size).unwrap_or(0), Ordering::Relaxed);
        predefined(writer, world.raw(), "MPI_COMM_WORLD", hash::mix(name, 1), rank, size);
    }
    if let Some(own) = real::predefined::<A>("MPI_COMM_SELF") {
        let name = hash::mix(hash::mix(name, 2), u64::from(rank.unsigned_abs()));
        let record = predefined(writer, own.raw(), "MPI_COMM_SELF", name, 0, 1);
        if let Some(record) = record
            && size != 1
        {
            record.head.seq.write(|| {
                arena::put(writer, &record.members, 1, [u64::from(rank.unsigned_abs())]);
            });
        }
    }
    enter_parent::<A>(writer);
}

/// Enters the intercommunicator to the processes that spawned this world, if they identify it: they may use it and
/// wait for this process, even if it never asks for it. It counts as the program's once it is asked for.
fn enter_parent<A: Abi>(writer: &'static Writer) {
    let theirs = PARENTS_NAME.load(Ordering::Relaxed);
    let Some(null) = real::predefined::<A>("MPI_COMM_NULL").filter(|_| theirs != 0) else { return };
    let mut parent = null;
    if real::comm_get_parent::<A>(&mut parent) == Some(A::SUCCESS) && parent != null {
        enter::<A>(writer, Site::NONE, parent, &Origin::of(None), |_| theirs);
    }
}

fn predefined(
    writer: &'static Writer,
    raw: u64,
    name: &str,
    identity: u64,
    rank: i32,
    size: i32,
) -> Option<&'static Comm> {
    if let Some(adopted) = COMMS.find(raw) {
        // A tool's wrapper of MPI_Init used it inside ours, before the world had its name.
        adopted.head.seq.write(|| adopted.head.identity.set(identity));
        return None;
    }
    let record = COMMS.insert(writer, raw, Site::NONE, |comm| {
        comm.head.flags.set(Flag::PREDEFINED.0);
        comm.head.identity.set(identity);
        comm.rank.set(rank.unsigned_abs());
        comm.size.set(size.unsigned_abs());
        comm.name.set(&Chars::new(name.as_bytes()));
    })?;
    facts::created(SectionKind::COMMS, &record.head);
    Some(record)
}

/// The origin of a new communicator.
struct Origin {
    parent: Option<&'static Comm>,
    other: Option<&'static Comm>,
    /// The argument that distinguishes siblings (color, split type or tag); 0 if there is none.
    colour: i32,
}

impl Origin {
    fn of(parent: Option<&'static Comm>) -> Self {
        Self { parent, other: None, colour: 0 }
    }
}

/// Returns the name of the communicator made by a call that is collective over `parent`; zero if the parent has
/// none. Failed calls count, as for [`next_name_on`].
fn next_name<A: Abi>(call: &Call<A>, result: c_int, parent: Option<&'static Comm>) -> u64 {
    let Some(parent) = parent.filter(|_| took_part::<A>(result)) else { return 0 };
    parent.children.add_mine(1);
    let name = parent.head.identity.get();
    if name == 0 {
        return 0;
    }
    hash::mix(hash::mix(name, u64::from(call.function().0)), u64::from(parent.children.get()))
}

/// Returns the name of the next window or file (`kind`) on a communicator; zero if the communicator has none.
///
/// Failed calls count too: whether a file can be opened may differ between members, but all of them make the
/// call. Only those that were [`rejected`] do not. Large-count variants are not distinguished, since members
/// may differ in that.
pub fn next_name_on<A: Abi>(comm: Option<&'static Comm>, kind: SectionKind, result: c_int) -> u64 {
    let Some(comm) = comm.filter(|_| took_part::<A>(result)) else { return 0 };
    comm.made_on.add_mine(1);
    let name = comm.head.identity.get();
    if name == 0 {
        return 0;
    }
    hash::words([name, u64::from(kind.0), u64::from(comm.made_on.get())])
}

/// Whether a call that is collective over a communicator took part in the collective.
fn took_part<A: Abi>(result: c_int) -> bool {
    result == A::SUCCESS || !rejected::<A>(result, SectionKind::COMMS)
}

/// Returns the name of a communicator that was made by its members alone. `key` is the same on all of them,
/// and they make those with the same key in the same order.
fn name_by_key(key: u64) -> u64 {
    static MADE: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());
    let Ok(mut made) = MADE.lock() else { return 0 };
    let count = made.entry(key).or_default();
    *count += 1;
    hash::mix(key, *count)
}

/// Enters a communicator, querying its members. `name` computes its identity from them.
fn enter<A: Abi>(
    writer: &'static Writer,
    site: Site,
    handle: A::Handle,
    origin: &Origin,
    name: impl FnOnce(&Members) -> u64,
) -> Option<&'static Comm> {
    let members = Members::of::<A>(handle);
    let identity = name(&members);
    let parent = origin.parent;
    let record = COMMS.insert(writer, handle.raw(), site, |comm| {
        comm.head.parent.set(parent.map_or(0, |p| p.head.uid.get()));
        comm.other_parent.set(origin.other.map_or(0, |o| o.head.uid.get()));
        comm.head.identity.set(identity);
        comm.colour.set(i64::from(origin.colour) as u64);
        members.store(writer, comm, parent);
        inherit(comm, parent);
    })?;
    facts::created(SectionKind::COMMS, &record.head);
    Some(record)
}

/// Enters a communicator with the members, topology etc. of its parent.
fn enter_copy(
    writer: &'static Writer,
    site: Site,
    raw: u64,
    parent: &'static Comm,
    identity: u64,
) -> Option<&'static Comm> {
    COMMS.insert(writer, raw, site, |comm| {
        comm.head.parent.set(parent.head.uid.get());
        comm.head.identity.set(identity);
        comm.head.flags.set(parent.head.flags.get() & Flag::INTER.0);
        comm.rank.set(parent.rank.get());
        comm.size.set(parent.size.get());
        comm.remote_size.set(parent.remote_size.get());
        comm.topology.set(parent.topology.get());
        arena::share(writer, &parent.members, &comm.members);
        arena::share(writer, &parent.remote, &comm.remote);
        arena::share(writer, &parent.topology_args, &comm.topology_args);
        comm.info.set(parent.info.get());
        comm.info_uid.set(parent.info_uid.get());
        arena::share_text(writer, &parent.hints, &comm.hints);
        inherit(comm, Some(parent));
    })
}

/// Copies what every new communicator inherits from its parent.
fn inherit(comm: &'static Comm, parent: Option<&'static Comm>) {
    if let Some(parent) = parent {
        comm.errhandler.set(parent.errhandler.get());
        comm.errhandler_uid.set(parent.errhandler_uid.get());
    }
}

#[cold]
fn adopt<A: Abi>(comm: A::Handle) -> Option<&'static Comm> {
    let writer = super::recorder()?;
    if comm.raw() == 0 || super::is_null(mpi_abi::ObjectKind::COMM, comm.raw()) {
        return None;
    }
    let record = enter::<A>(writer, Site::NONE, comm, &Origin::of(None), |_| 0)?;
    topology::record::<A>(writer, record, comm);
    // Larger than the longest name of any ABI (128).
    let (mut name, mut len) = ([0; 1024], 0);
    if real::comm_get_name::<A>(comm, name.as_mut_ptr(), &mut len) == Some(A::SUCCESS) {
        let name = Chars::new(c_string::text(name.as_ptr(), 128).as_bytes());
        record.head.seq.write(|| record.name.set(&name));
    }
    Some(record)
}
