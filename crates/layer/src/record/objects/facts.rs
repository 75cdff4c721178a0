//! The one place that every change of an object goes through, once the record has it.
//!
//! One small function a fact. Whoever wants to hear of objects (events of the tool interface) listens here; the
//! hooks only say what happened.

use super::live;
use crate::events;
use crate::events::types::{RmaEpochClosed, RmaEpochOpened};
use crate::record::observe;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;

/// An object was made (or found for the first time).
#[inline(always)]
pub fn created(kind: SectionKind, head: &'static Head) {
    live::made(kind, head);
    observe::created(kind, head);
}

/// The program freed an object.
#[inline(always)]
pub fn freed(kind: SectionKind, head: &'static Head) {
    live::gone(kind, head);
    observe::freed(kind, head);
}

/// An object got a name.
#[inline(always)]
pub fn named(kind: SectionKind, head: &'static Head) {
    observe::named(kind, head);
}

/// Something that belongs to an object was attached or changed: error handler, info, attribute, view.
#[inline(always)]
pub fn attached(kind: SectionKind, head: &'static Head) {
    observe::attached(kind, head);
}

/// A datatype was committed.
#[inline(always)]
pub fn committed(head: &'static Head) {
    observe::committed(head);
}

/// An epoch of a window began (bits of [`Epoch`](mpiscope_image::objects::Epoch)).
#[inline(always)]
pub fn epoch_opened(head: &'static Head, epoch: u32) {
    events::raise(head.uid.get(), 0, || RmaEpochOpened {
        epoch: epoch.cast_signed(),
        object: head.uid.get(),
    });
}

/// An epoch of a window ended.
#[inline(always)]
pub fn epoch_closed(head: &'static Head, epoch: u32) {
    events::raise(head.uid.get(), 0, || RmaEpochClosed {
        epoch: epoch.cast_signed(),
        object: head.uid.get(),
    });
}
