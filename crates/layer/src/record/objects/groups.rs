//! Groups.
//!
//! A library may return one handle for several equal groups (`MPI_Comm_group` does). There is one record for
//! it, which counts the handles that the program has to free.
//!
//! Memory: a record, an index entry, and 8 bytes per member unless they are those of the world or of the
//! communicator.

use super::table::Object;
use super::{Site, arena, ask, comms, facts, free, new_handle, output, succeeded};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::objects::tables::{self, GROUPS};
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::layout::{SectionKind, Words};
use mpiscope_image::objects::{Comm, Flag, Group, Head};
use mpiscope_image::{W32, Writer};
use std::ffi::{c_char, c_int};

impl Object for Group {
    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_words(writer, &self.members);
        arena::release_text(writer, &self.name);
    }

    fn handles(&self) -> Option<&W32> {
        Some(&self.handles)
    }
}

/// Enters a predefined group: `MPI_GROUP_EMPTY`.
pub fn predefined(writer: &'static Writer, raw: u64, name: &str) {
    if GROUPS.find(raw).is_some() {
        return;
    }
    let record = GROUPS.insert(writer, raw, Site::NONE, |record| {
        record.head.flags.set(Flag::PREDEFINED.0);
        record.rank.set(u32::MAX);
        record.handles.set(1);
        arena::put_text(writer, &record.name, name.as_bytes());
    });
    if let Some(record) = record {
        facts::created(SectionKind::GROUPS, &record.head);
    }
}

/// What the library reports about a group.
struct Known {
    rank: u32,
    size: u32,
    members: Vec<u64>,
}

impl Known {
    fn ask<A: Abi>(group: A::Handle) -> Self {
        let (mut rank, mut size) = (-1, 0);
        ask::group_rank::<A>(group, &mut rank);
        real::group_size::<A>(group, &mut size);
        let members = comms::world_ranks::<A>(group, size);
        Self { rank: u32::try_from(rank).unwrap_or(u32::MAX), size: size.unsigned_abs(), members }
    }

    fn write(&self, writer: &'static Writer, record: &'static Group) {
        record.rank.set(self.rank);
        record.size.set(self.size);
        comms::store_ranks(writer, &self.members, &record.members);
    }
}

/// Returns the new group; `None` if there is none, or if the handle is already known: then one more handle is
/// counted.
fn fresh<A: Abi>(result: c_int, place: *const A::Handle) -> Option<(&'static Writer, A::Handle)> {
    let writer = succeeded::<A>(result)?;
    let raw = new_handle(ObjectKind::GROUP, place)?;
    GROUPS.share(raw).is_none().then(|| (writer, A::Handle::from_raw(raw)))
}

fn enter<A: Abi>(
    call: &Call<A>,
    writer: &'static Writer,
    group: A::Handle,
    parent: u64,
    fill: impl FnOnce(&'static Group),
) {
    let record = GROUPS.insert(writer, group.raw(), Site::of(call), |record| {
        record.head.parent.set(parent);
        record.handles.set(1);
        fill(record);
    });
    if let Some(record) = record {
        facts::created(SectionKind::GROUPS, &record.head);
    }
}

fn of_comm<A: Abi>(
    call: &Call<A>,
    result: c_int,
    place: *const A::Handle,
    comm: Option<&'static Comm>,
    part: impl FnOnce(&'static Comm) -> (u32, u32, &'static Words),
) {
    let Some(comm) = comm else { return };
    let Some((writer, group)) = fresh::<A>(result, place) else { return };
    let (rank, size, members) = part(comm);
    enter(call, writer, group, comm.head.uid.get(), |record| {
        record.rank.set(rank);
        record.size.set(size);
        arena::share(writer, members, &record.members);
    });
}

/// `MPI_Comm_group`.
pub fn comm_group<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, place: *mut A::Handle) {
    let part = |comm: &'static Comm| (comm.rank.get(), comm.size.get(), &comm.members);
    of_comm(call, result, place, tables::comm::<A>(comm), part);
}

/// `MPI_Comm_remote_group`.
pub fn comm_remote_group<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, place: *mut A::Handle) {
    let part = |comm: &'static Comm| (u32::MAX, comm.remote_size.get(), &comm.remote);
    of_comm(call, result, place, tables::comm::<A>(comm), part);
}

/// Enters a group made from `parent`. If the parent is unknown nothing is entered: a library may make a group
/// from an invalid object, and crash when asked for its members.
fn from<A: Abi>(call: &Call<A>, result: c_int, place: *const A::Handle, parent: Option<&'static Head>) {
    let Some(parent) = parent else { return };
    let Some((writer, group)) = fresh::<A>(result, place) else { return };
    let known = Known::ask::<A>(group);
    enter(call, writer, group, parent.uid.get(), |record| known.write(writer, record));
}

/// `MPI_Win_get_group`.
pub fn win_group<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, place: *mut A::Handle) {
    from(call, result, place, tables::window::<A>(win).map(|w| &w.head));
}

/// `MPI_File_get_group`.
pub fn file_group<A: Abi>(call: &Call<A>, result: c_int, file: usize, place: *mut A::Handle) {
    from(call, result, place, tables::file(file).map(|f| &f.head));
}

/// `MPI_Group_from_session_pset`.
pub fn from_pset<A: Abi>(
    call: &Call<A>,
    result: c_int,
    session: A::Handle,
    name: *const c_char,
    place: *mut A::Handle,
) {
    let Some(parent) = tables::session::<A>(session) else { return };
    let name = c_string::text(name, 1024);
    let Some((writer, group)) = fresh::<A>(result, place) else { return };
    let known = Known::ask::<A>(group);
    enter(call, writer, group, parent.head.uid.get(), |record| {
        known.write(writer, record);
        arena::put_text(writer, &record.name, name.as_bytes());
    });
}

/// `MPI_Group_incl`, `MPI_Group_excl`, `MPI_Group_range_incl`, `MPI_Group_range_excl`.
pub fn part<A: Abi>(
    call: &Call<A>,
    result: c_int,
    group: A::Handle,
    _: c_int,
    _: *const c_int,
    place: *mut A::Handle,
) {
    from(call, result, place, tables::group::<A>(group).map(|g| &g.head));
}

/// `MPI_Group_union`, `MPI_Group_intersection`, `MPI_Group_difference`.
pub fn of_two<A: Abi>(
    call: &Call<A>,
    result: c_int,
    first: A::Handle,
    second: A::Handle,
    place: *mut A::Handle,
) {
    let (Some(parent), Some(other)) = (tables::group::<A>(first), tables::group::<A>(second)) else { return };
    let (parent, other) = (parent.head.uid.get(), other.head.uid.get());
    let Some((writer, group)) = fresh::<A>(result, place) else { return };
    let known = Known::ask::<A>(group);
    enter(call, writer, group, parent, |record| {
        record.other_parent.set(other);
        known.write(writer, record);
    });
}

/// `MPI_Group_free`.
pub fn before_free<A: Abi>(call: &Call<A>, group: &mut *mut A::Handle) {
    free::before(call, &GROUPS, output(*group));
}

/// `MPI_Group_free`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::GROUP, place), &GROUPS, |_, _| {});
}
