//! Events about objects.

use crate::events::types::{
    CommFreed, CommNamed, DatatypeCommitted, FileClosed, FileOpened, ObjectAttached, ObjectCreated,
    ObjectFreed, ObjectNamed, ProcessesAccepted, ProcessesConnected, ProcessesJoined, ProcessesSpawned,
    WinFreed,
};
use crate::events::{anybody, raise};
use crate::record::objects::live;
use mpi_abi::{FunctionId, f};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;

/// An object was made, or found for the first time.
#[inline(always)]
pub fn created(kind: SectionKind, head: &Head) {
    if anybody() {
        made(kind, head);
    }
}

#[cold]
fn made(section: SectionKind, head: &Head) {
    let (handle, object, parent) = (head.handle.get(), head.uid.get(), head.parent.get());
    let function = head.made_by.get().wrapping_sub(1);
    if let Some(kind) = live::number(section) {
        raise(0, 0, || ObjectCreated {
            kind,
            function: i32::from(function.cast_signed()),
            handle,
            object,
            parent,
        });
    }
    if section == SectionKind::FILES {
        raise(0, 0, || FileOpened { handle, object });
    }
    if section == SectionKind::COMMS {
        met(FunctionId(function), handle);
    }
}

/// Raises an event for how processes met, if this function made a communicator between them.
fn met(function: FunctionId, comm: u64) {
    match function {
        f::MPI_Comm_spawn | f::MPI_Comm_spawn_multiple => raise(0, 0, || ProcessesSpawned { comm }),
        f::MPI_Comm_connect => raise(0, 0, || ProcessesConnected { comm }),
        f::MPI_Comm_accept => raise(0, 0, || ProcessesAccepted { comm }),
        f::MPI_Comm_join => raise(0, 0, || ProcessesJoined { comm }),
        _ => {}
    }
}

/// An object was freed.
#[inline(always)]
pub fn freed(kind: SectionKind, head: &Head) {
    if anybody() {
        gone(kind, head);
    }
}

#[cold]
fn gone(section: SectionKind, head: &Head) {
    let (handle, object) = (head.handle.get(), head.uid.get());
    if let Some(kind) = live::number(section) {
        raise(0, 0, || ObjectFreed { kind, handle, object });
    }
    match section {
        SectionKind::COMMS => {
            raise(object, 0, || CommFreed { handle, object, comm_id: head.identity.get() });
        }
        SectionKind::WINDOWS => raise(object, 0, || WinFreed { handle, object }),
        SectionKind::FILES => raise(object, 0, || FileClosed { handle, object }),
        _ => {}
    }
}

/// An object got a name.
#[inline(always)]
pub fn named(section: SectionKind, head: &Head) {
    if anybody() {
        let (handle, object) = (head.handle.get(), head.uid.get());
        if let Some(kind) = live::number(section) {
            raise(0, 0, || ObjectNamed { kind, handle, object });
        }
        if section == SectionKind::COMMS {
            raise(object, 0, || CommNamed { handle, object, comm_id: head.identity.get() });
        }
    }
}

/// Something was attached to an object.
#[inline(always)]
pub fn attached(section: SectionKind, head: &Head) {
    if anybody()
        && let Some(kind) = live::number(section)
    {
        raise(0, 0, || ObjectAttached { kind, handle: head.handle.get(), object: head.uid.get() });
    }
}

/// A datatype was committed.
#[inline(always)]
pub fn committed(head: &Head) {
    raise(0, 0, || DatatypeCommitted { handle: head.handle.get() });
}
