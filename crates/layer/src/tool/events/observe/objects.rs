//! Objects: what becomes of them.

use super::super::kinds::Kind;
use super::super::{Payload, anybody};
use super::note;
use crate::tool::own;
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
fn made(kind: SectionKind, head: &Head) {
    let (handle, object) = (head.handle.get(), head.uid.get());
    let function = head.made_by.get().wrapping_sub(1);
    told(kind, Kind::OBJECT_CREATED, |kind| {
        let payload = Payload::new().int(kind).int(function.cast_signed());
        payload.word(handle).word(object).word(head.parent.get())
    });
    if kind == SectionKind::FILES {
        note(Kind::FILE_OPENED, 0, 0, || Payload::new().word(handle).word(object));
    }
    if kind == SectionKind::COMMS
        && let Some(processes) = meeting(FunctionId(function as u16))
    {
        note(processes, 0, 0, || Payload::new().word(handle));
    }
}

/// The type that says how processes met in this call.
fn meeting(function: FunctionId) -> Option<Kind> {
    match function {
        f::MPI_Comm_spawn | f::MPI_Comm_spawn_multiple => Some(Kind::SPAWNED),
        f::MPI_Comm_connect => Some(Kind::CONNECTED),
        f::MPI_Comm_accept => Some(Kind::ACCEPTED),
        f::MPI_Comm_join => Some(Kind::JOINED),
        _ => None,
    }
}

/// An object was freed.
#[inline(always)]
pub fn freed(kind: SectionKind, head: &Head) {
    if anybody() {
        changed(Kind::OBJECT_FREED, kind, head);
        let bound = match kind {
            SectionKind::COMMS => Kind::COMM_FREED,
            SectionKind::WINDOWS => Kind::WIN_FREED,
            SectionKind::FILES => Kind::FILE_CLOSED,
            _ => return,
        };
        note(bound, head.uid.get(), 0, || Payload::new().word(head.handle.get()));
    }
}

/// An object got a name.
#[inline(always)]
pub fn named(kind: SectionKind, head: &Head) {
    if anybody() {
        changed(Kind::OBJECT_NAMED, kind, head);
        if kind == SectionKind::COMMS {
            note(Kind::COMM_NAMED, head.uid.get(), 0, || Payload::new().word(head.handle.get()));
        }
    }
}

/// Something was attached to an object.
#[inline(always)]
pub fn attached(kind: SectionKind, head: &Head) {
    if anybody() {
        changed(Kind::OBJECT_ATTACHED, kind, head);
    }
}

/// Something happened to an object of any kind.
#[cold]
fn changed(what: Kind, kind: SectionKind, head: &Head) {
    told(kind, what, |kind| Payload::new().int(kind).word(head.handle.get()).word(head.uid.get()));
}

/// Kinds that tools have no name for are parts of other objects.
fn told(kind: SectionKind, what: Kind, payload: impl FnOnce(i32) -> Payload) {
    let kind = own::objects::number(kind);
    if kind >= 0 {
        note(what, 0, 0, || payload(kind));
    }
}

/// A datatype was committed.
#[inline(always)]
pub fn committed(head: &Head) {
    note(Kind::DATATYPE_COMMITTED, 0, 0, || Payload::new().word(head.handle.get()));
}

/// An epoch of a window began or ended.
#[inline(always)]
pub fn epoch(kind: Kind, head: &Head, epoch: u32) {
    note(kind, head.uid.get(), 0, || Payload::new().int(epoch.cast_signed()));
}
