//! Hooks around the functions that make, change and free communicators.
#![allow(unsafe_code)]

use super::members::{Members, common_name, distinction};
use super::{Origin, PARENTS_NAME, enter, enter_copy, name_by_key, next_name, topology};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::interpose::real;
use crate::record::objects::tables::{self, COMMS};
use crate::record::objects::{
    Site, attributes, errhandlers, facts, free, hash, infos, new_handle, output, recorder, succeeded,
};
use crate::record::process;
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::Writer;
use mpiscope_image::layout::{Chars, SectionKind};
use mpiscope_image::objects::Comm;
use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering;

/// Returns the new communicator, unless this process is not in it.
fn made<A: Abi>(place: *const A::Handle) -> Option<A::Handle> {
    new_handle(ObjectKind::COMM, place).map(A::Handle::from_raw)
}

/// `MPI_Comm_dup`.
pub fn dup<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, new: *mut A::Handle) {
    let parent = tables::comm::<A>(comm);
    let name = next_name(call, result, parent);
    let Some(writer) = succeeded::<A>(result) else { return };
    copied(writer, call, parent, name, new);
}

fn copied<A: Abi>(
    writer: &'static Writer,
    call: &Call<A>,
    parent: Option<&'static Comm>,
    name: u64,
    new: *const A::Handle,
) -> Option<&'static Comm> {
    let handle = made::<A>(new)?;
    let record = match parent {
        Some(parent) => enter_copy(writer, Site::of(call), handle.raw(), parent, name)?,
        None => enter::<A>(writer, Site::of(call), handle, &Origin::of(None), |_| 0)?,
    };
    facts::created(SectionKind::COMMS, &record.head);
    if let Some(parent) = parent.filter(|parent| parent.attributes.get() != 0) {
        let to = (&record.attributes, &record.head);
        attributes::copied::<A>(
            writer,
            SectionKind::COMMS,
            (&parent.attributes, &parent.head),
            to,
            handle.raw(),
            Site::of(call),
        );
    }
    Some(record)
}

/// `MPI_Comm_dup_with_info`.
pub fn dup_with_info<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    info: A::Handle,
    new: *mut A::Handle,
) {
    let parent = tables::comm::<A>(comm);
    let name = next_name(call, result, parent);
    let Some(writer) = succeeded::<A>(result) else { return };
    if let Some(record) = copied(writer, call, parent, name, new) {
        given_info(record, info.raw());
    }
}

/// `MPI_Comm_idup`, `MPI_Comm_idup_with_info`: initializes the handle, since the library may not write it
/// before the operation completes.
fn before_idup_at<A: Abi>(new: *mut A::Handle) {
    if let (Some(null), false) = (real::predefined::<A>("MPI_COMM_NULL"), new.is_null()) {
        // SAFETY: a place for a handle, whose value is undefined until the operation completes.
        unsafe { new.write(null) };
    }
}

/// `MPI_Comm_idup`.
pub fn before_idup<A: Abi>(_: &Call<A>, _: &mut A::Handle, new: &mut *mut A::Handle, _: &mut *mut A::Handle) {
    before_idup_at::<A>(*new);
}

/// `MPI_Comm_idup_with_info`.
pub fn before_idup_with_info<A: Abi>(
    _: &Call<A>,
    _: &mut A::Handle,
    _: &mut A::Handle,
    new: &mut *mut A::Handle,
    _: &mut *mut A::Handle,
) {
    before_idup_at::<A>(*new);
}

/// `MPI_Comm_idup`: entered at the start, where all members agree on the order. All libraries seen so far
/// return the handle at once; if one does not, its communicator is adopted on first use.
pub fn idup<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, new: *mut A::Handle, _: *mut A::Handle) {
    dup(call, result, comm, new);
}

/// `MPI_Comm_idup_with_info`.
pub fn idup_with_info<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    info: A::Handle,
    new: *mut A::Handle,
    _: *mut A::Handle,
) {
    dup_with_info(call, result, comm, info, new);
}

fn given_info(comm: &'static Comm, info: u64) {
    let Some(writer) = recorder() else { return };
    comm.head.seq.write(|| infos::given(writer, info, (&comm.info, &comm.info_uid), &comm.hints));
}

fn given_errhandler(comm: &'static Comm, errhandler: u64) {
    comm.head.seq.write(|| {
        comm.errhandler.set(errhandler);
        comm.errhandler_uid.set(errhandlers::uid(errhandler));
    });
}

/// Enters the result of a call that is collective over `parent` and divides or reorders its members.
fn derived<A: Abi>(
    call: &Call<A>,
    result: c_int,
    parent: A::Handle,
    colour: c_int,
    new: *const A::Handle,
) -> Option<&'static Comm> {
    let from = parent;
    let parent = tables::comm::<A>(parent);
    // Processes that get no communicator count it too.
    let name = next_name(call, result, parent);
    let writer = succeeded::<A>(result)?;
    let handle = made::<A>(new)?;
    let origin = Origin { colour, ..Origin::of(parent) };
    enter::<A>(writer, Site::of(call), handle, &origin, |members| {
        let parent = parent.map(|parent| (parent, from));
        let which = || distinction::<A>(writer, members, handle, parent, colour);
        if name == 0 { 0 } else { hash::mix(name, which()) }
    })
}

fn with_topology<A: Abi>(record: Option<&'static Comm>, new: *const A::Handle) {
    if let (Some(writer), Some(record), Some(handle)) = (recorder(), record, made::<A>(new)) {
        topology::record::<A>(writer, record, handle);
    }
}

/// `MPI_Comm_create`.
pub fn create<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, group: A::Handle, new: *mut A::Handle) {
    if is_group::<A>(group) {
        derived(call, result, comm, 0, new);
    } else {
        // The other members count this call, so it is counted here too.
        next_name(call, result, tables::comm::<A>(comm));
    }
}

/// Whether this is a known group. Nothing is entered if not: a library may make a communicator from an
/// invalid group, and crash when asked for its members.
fn is_group<A: Abi>(group: A::Handle) -> bool {
    tables::group::<A>(group).is_some()
}

/// `MPI_Comm_split`.
pub fn split<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    colour: c_int,
    _: c_int,
    new: *mut A::Handle,
) {
    derived(call, result, comm, colour, new);
}

/// `MPI_Comm_split_type`.
pub fn split_type<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    split_type: c_int,
    _: c_int,
    info: A::Handle,
    new: *mut A::Handle,
) {
    if let Some(record) = derived(call, result, comm, split_type, new) {
        given_info(record, info.raw());
    }
}

/// `MPI_Intercomm_merge`.
pub fn merge<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, _: c_int, new: *mut A::Handle) {
    let parent = tables::comm::<A>(comm);
    let name = next_name(call, result, parent);
    let Some(writer) = succeeded::<A>(result) else { return };
    if let Some(handle) = made::<A>(new) {
        enter::<A>(writer, Site::of(call), handle, &Origin::of(parent), |_| name);
    }
}

/// `MPI_Cart_create`, `MPI_Cart_sub`, `MPI_Graph_create`.
pub fn arrange<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, new: *mut A::Handle) {
    with_topology::<A>(derived(call, result, comm, 0, new), new);
}

/// `MPI_Dist_graph_create`, `MPI_Dist_graph_create_adjacent`.
pub fn dist_graph<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    info: A::Handle,
    new: *mut A::Handle,
) {
    let record = derived(call, result, comm, 0, new);
    with_topology::<A>(record, new);
    if let Some(record) = record {
        given_info(record, info.raw());
    }
}

/// `MPI_Comm_create_group`: collective over the members only.
pub fn create_group<A: Abi>(
    call: &Call<A>,
    result: c_int,
    comm: A::Handle,
    group: A::Handle,
    tag: c_int,
    new: *mut A::Handle,
) {
    let Some(writer) = succeeded::<A>(result).filter(|_| is_group::<A>(group)) else { return };
    let Some(handle) = made::<A>(new) else { return };
    let parent = tables::comm::<A>(comm);
    let origin = Origin { colour: tag, ..Origin::of(parent) };
    enter::<A>(writer, Site::of(call), handle, &origin, |members| {
        let Some(parent) = parent.filter(|parent| parent.head.identity.get() != 0) else { return 0 };
        let name = common_name::<A>(writer, members, handle, (parent, comm));
        let parent = parent.head.identity.get();
        name_by_key(hash::words([parent, u64::from(call.function().0), i64::from(tag) as u64, name]))
    });
}

/// Returns the name of the world, for communicators without a parent.
fn world_name() -> u64 {
    process::record().map_or(0, |p| hash::text(p.world.text().as_bytes()))
}

/// Maximum number of bytes read of a text by which members find each other.
const TEXT: usize = 1024;

/// A thread enters a call whose members find each other by a text.
pub fn by_text<A: Abi>(call: &Call<A>, tag: *const c_char) {
    call.set_sequence(hash::text(c_string::text(tag, TEXT).as_bytes()));
}

/// `MPI_Comm_create_from_group`.
pub fn create_from_group<A: Abi>(
    call: &Call<A>,
    result: c_int,
    group: A::Handle,
    tag: *const c_char,
    info: A::Handle,
    errhandler: A::Handle,
    new: *mut A::Handle,
) {
    if !is_group::<A>(group) {
        return;
    }
    from_groups(call, result, tag, (info, errhandler), new, |members| Some(members.local_name()));
}

/// Enters a communicator made from groups alone; `name` computes a name from its members that is the same on
/// all of them.
fn from_groups<A: Abi>(
    call: &Call<A>,
    result: c_int,
    tag: *const c_char,
    (info, errhandler): (A::Handle, A::Handle),
    new: *mut A::Handle,
    name: impl FnOnce(&Members) -> Option<u64>,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(handle) = made::<A>(new) else { return };
    let tag = hash::text(c_string::text(tag, TEXT).as_bytes());
    let record = enter::<A>(writer, Site::of(call), handle, &Origin::of(None), |members| {
        let key = |name| hash::words([world_name(), u64::from(call.function().0), tag, name]);
        name(members).map_or(0, |name| name_by_key(key(name)))
    });
    if let Some(record) = record {
        given_info(record, info.raw());
        given_errhandler(record, errhandler.raw());
    }
}

/// `MPI_Intercomm_create`.
pub fn intercomm_create<A: Abi>(
    call: &Call<A>,
    result: c_int,
    local: A::Handle,
    peer: A::Handle,
    tag: c_int,
    new: *mut A::Handle,
) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(handle) = made::<A>(new) else { return };
    // The peer communicator is significant at the leader only.
    let origin = Origin { parent: tables::comm::<A>(local), other: tables::comm::<A>(peer), colour: tag };
    enter::<A>(writer, Site::of(call), handle, &origin, |members| {
        let function = u64::from(call.function().0);
        members
            .both_names()
            .map_or(0, |both| name_by_key(hash::words([world_name(), function, i64::from(tag) as u64, both])))
    });
}

/// `MPI_Intercomm_create_from_groups`.
pub fn intercomm_create_from_groups<A: Abi>(
    call: &Call<A>,
    result: c_int,
    tag: *const c_char,
    info: A::Handle,
    errhandler: A::Handle,
    new: *mut A::Handle,
) {
    from_groups(call, result, tag, (info, errhandler), new, Members::both_names);
}

/// `MPI_Comm_spawn`, `MPI_Comm_spawn_multiple`, `MPI_Comm_accept`, `MPI_Comm_connect`: an intercommunicator
/// to processes of another world.
pub fn connect<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, new: *mut A::Handle) {
    let parent = tables::comm::<A>(comm);
    let name = next_name(call, result, parent);
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(handle) = made::<A>(new) else { return };
    enter::<A>(writer, Site::of(call), handle, &Origin::of(parent), |_| name);
}

/// `MPI_Comm_join`.
pub fn join<A: Abi>(call: &Call<A>, result: c_int, _: c_int, new: *mut A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(handle) = made::<A>(new) else { return };
    enter::<A>(writer, Site::of(call), handle, &Origin::of(None), |_| {
        let rank = process::record().map_or(0, |process| u64::from(process.rank.get()));
        name_by_key(hash::words([world_name(), u64::from(call.function().0), rank]))
    });
}

/// `MPI_Comm_get_parent`: returns the same handle each time.
pub fn get_parent<A: Abi>(call: &Call<A>, result: c_int, parent: *mut A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(handle) = made::<A>(parent) else { return };
    let site = Site::of(call);
    if let Some(record) = tables::comm::<A>(handle) {
        // Entered at the start: from now on it is the program's.
        let head = &record.head;
        if head.made_by.get() == 0 {
            head.seq.write(|| {
                head.made_by.set(site.function as u16);
                head.made_at.set(site.at);
                head.made_from.set(site.from);
            });
            facts::created(SectionKind::COMMS, head);
        }
    } else {
        let theirs = PARENTS_NAME.load(Ordering::Relaxed);
        let name = if theirs != 0 { theirs } else { hash::mix(world_name(), 3) };
        enter::<A>(writer, site, handle, &Origin::of(None), |_| name);
    }
}

/// `MPI_Comm_free`, `MPI_Comm_disconnect`.
pub fn before_free<A: Abi>(call: &Call<A>, comm: &mut *mut A::Handle) {
    free::before(call, &COMMS, output(*comm));
}

/// `MPI_Comm_free`, `MPI_Comm_disconnect`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::COMM, place), &COMMS, |writer, comm| {
        attributes::drop_all(writer, &comm.attributes, Site::of(call));
    });
}

/// `MPI_Comm_set_name`.
pub fn set_name<A: Abi>(_: &Call<A>, result: c_int, comm: A::Handle, name: *const c_char) {
    if succeeded::<A>(result).is_none() {
        return;
    }
    let Some(record) = tables::comm::<A>(comm) else { return };
    let name = Chars::new(c_string::text(name, 128).as_bytes());
    record.head.seq.write(|| record.name.set(&name));
    facts::named(SectionKind::COMMS, &record.head);
}

/// `MPI_Comm_set_info`.
pub fn set_info<A: Abi>(_: &Call<A>, result: c_int, comm: A::Handle, info: A::Handle) {
    if succeeded::<A>(result).is_none() {
        return;
    }
    let Some(record) = tables::comm::<A>(comm) else { return };
    given_info(record, info.raw());
    facts::attached(SectionKind::COMMS, &record.head);
}
