//! Members of communicators, as ranks of `MPI_COMM_WORLD`.

use super::WORLD_SIZE;
use crate::interpose::real;
use crate::record::objects::{arena, ask, hash, sessions};
use mpi_abi::{Abi, Handle};
use mpiscope_image::layout::Words;
use mpiscope_image::objects::{Comm, Flag};
use mpiscope_image::{W64, Writer};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Stands for a process outside this process's world.
const OUTSIDE: u64 = u64::MAX;

/// The members of a communicator, as reported by the library.
#[derive(Default)]
pub struct Members {
    rank: c_int,
    size: c_int,
    remote_size: c_int,
    inter: bool,
    local: Vec<u64>,
    remote: Vec<u64>,
}

impl Members {
    /// Queries the library.
    pub fn of<A: Abi>(comm: A::Handle) -> Self {
        let mut members = Self { inter: real::is_inter::<A>(comm), ..Self::default() };
        real::comm_rank::<A>(comm, &mut members.rank);
        real::comm_size::<A>(comm, &mut members.size);
        if members.inter {
            real::comm_remote_size::<A>(comm, &mut members.remote_size);
        }
        let world = world_group::<A>();
        members.local = listed::<A>(real::comm_group::<A>, comm, members.size, world);
        if members.inter {
            members.remote = listed::<A>(real::comm_remote_group::<A>, comm, members.remote_size, world);
        }
        if let Some(mut world) = world {
            real::group_free::<A>(&mut world);
        }
        members
    }

    /// Returns the world rank of the first member; `u64::MAX` if it is outside.
    pub fn first(&self) -> u64 {
        self.local.first().copied().unwrap_or(OUTSIDE)
    }

    /// Returns a name of the local group that every process that knows its members computes alike.
    pub fn local_name(&self) -> u64 {
        hash::words(self.local.iter().copied())
    }

    /// Returns a name of both groups of an intercommunicator that is the same on both sides; `None` if not
    /// all members are known.
    pub fn both_names(&self) -> Option<u64> {
        if self.local.iter().chain(&self.remote).any(|rank| *rank == OUTSIDE) {
            return None;
        }
        let (local, remote) = (self.local_name(), hash::words(self.remote.iter().copied()));
        Some(hash::words([local.min(remote), local.max(remote)]))
    }

    /// Stores the members in a record, sharing the parent's array if it is the same.
    pub fn store(&self, writer: &'static Writer, comm: &Comm, parent: Option<&'static Comm>) {
        comm.rank.set(self.rank.unsigned_abs());
        comm.size.set(self.size.unsigned_abs());
        comm.remote_size.set(self.remote_size.unsigned_abs());
        if self.inter {
            comm.head.flags.set(comm.head.flags.get() | Flag::INTER.0);
        }
        store(writer, &self.local, &comm.members, parent);
        store(writer, &self.remote, &comm.remote, parent);
    }
}

/// Whether a communicator has members outside this world.
pub fn reaches_beyond(writer: &'static Writer, comm: &Comm) -> bool {
    [&comm.members, &comm.remote]
        .iter()
        .any(|words| arena::get(writer, words).iter().any(|m| m.get() == OUTSIDE))
}

/// Returns what distinguishes the communicators that one call makes from `parent`: the first member, by its
/// rank in the world or, if the members may belong to different worlds, in the parent; for an
/// intercommunicator both sides.
pub fn distinction<A: Abi>(
    writer: &'static Writer,
    members: &Members,
    handle: A::Handle,
    parent: Option<(&Comm, A::Handle)>,
    colour: c_int,
) -> u64 {
    if members.inter {
        // Members of different worlds have only the color in common.
        return members.both_names().unwrap_or(i64::from(colour).cast_unsigned());
    }
    match parent {
        Some((record, parent)) if reaches_beyond(writer, record) => {
            ranks_in::<A>(handle, 1, parent).first().copied().unwrap_or(OUTSIDE)
        }
        _ => members.first(),
    }
}

/// Returns a name of the members of an intracommunicator that all of them compute alike.
pub fn common_name<A: Abi>(
    writer: &'static Writer,
    members: &Members,
    handle: A::Handle,
    parent: (&Comm, A::Handle),
) -> u64 {
    match parent {
        (record, parent) if reaches_beyond(writer, record) => {
            hash::words(ranks_in::<A>(handle, members.size, parent))
        }
        _ => members.local_name(),
    }
}

/// Returns the ranks in `parent` of the first `count` members of `comm`.
fn ranks_in<A: Abi>(comm: A::Handle, count: c_int, parent: A::Handle) -> Vec<u64> {
    let mut parents = A::Handle::from_raw(0);
    if real::comm_group::<A>(parent, &mut parents) != Some(A::SUCCESS) {
        return Vec::new();
    }
    let ranks = listed::<A>(real::comm_group::<A>, comm, count, Some(parents));
    real::group_free::<A>(&mut parents);
    ranks
}

/// Stores ranks in a record, unless they are those of the world.
pub fn store_ranks(writer: &'static Writer, list: &[u64], to: &Words) {
    store(writer, list, to, None);
}

fn store(writer: &'static Writer, list: &[u64], to: &Words, parent: Option<&'static Comm>) {
    let world = WORLD_SIZE.load(Ordering::Relaxed);
    if list.len() as u64 == world && list.iter().copied().eq(0..world) {
        return;
    }
    let same = parent.into_iter().flat_map(|p| [&p.members, &p.remote]).find(|words| {
        let words = arena::get(writer, words);
        words.len() == list.len() && words.iter().map(W64::get).eq(list.iter().copied())
    });
    match same {
        Some(words) => arena::share(writer, words, to),
        None => arena::put(writer, to, list.len(), list.iter().copied()),
    }
}

/// Returns the group of the world, which the caller frees; `None` if the process has none. A program that
/// uses only sessions has the process set `mpi://WORLD`.
fn world_group<A: Abi>() -> Option<A::Handle> {
    let mut group = A::Handle::from_raw(0);
    let result = if super::world_is_there() {
        real::comm_group::<A>(real::comm_world::<A>()?, &mut group)
    } else {
        ask::group_from_session_pset::<A>(sessions::any::<A>()?, c"mpi://WORLD".as_ptr(), &mut group)
    };
    if result != Some(A::SUCCESS) {
        return None;
    }
    if WORLD_SIZE.load(Ordering::Relaxed) == 0 {
        let mut size = 0;
        real::group_size::<A>(group, &mut size);
        WORLD_SIZE.store(u64::try_from(size).unwrap_or(0), Ordering::Relaxed);
    }
    Some(group)
}

/// Returns the world ranks of a group's members; empty if there is no world.
pub fn world_ranks<A: Abi>(group: A::Handle, size: c_int) -> Vec<u64> {
    let Some(mut world) = world_group::<A>() else { return Vec::new() };
    let list = translate::<A>(group, size, world);
    real::group_free::<A>(&mut world);
    list
}

/// Returns the ranks in `world` of the members of one of a communicator's groups.
fn listed<A: Abi>(
    get: impl FnOnce(A::Handle, &mut A::Handle) -> Option<c_int>,
    comm: A::Handle,
    size: c_int,
    world: Option<A::Handle>,
) -> Vec<u64> {
    let mut group = A::Handle::from_raw(0);
    if get(comm, &mut group) != Some(A::SUCCESS) {
        return Vec::new();
    }
    let list = world.map_or_else(Vec::new, |world| translate::<A>(group, size, world));
    real::group_free::<A>(&mut group);
    list
}

/// Returns the ranks in `world` of a group's members.
fn translate<A: Abi>(group: A::Handle, size: c_int, world: A::Handle) -> Vec<u64> {
    let ranks: Vec<c_int> = (0..size).collect();
    let mut found: Vec<c_int> = vec![A::UNDEFINED; ranks.len()];
    real::group_translate_ranks::<A>(group, size, ranks.as_ptr(), world, found.as_mut_ptr());
    found.into_iter().map(|rank| u64::try_from(rank).unwrap_or(OUTSIDE)).collect()
}
