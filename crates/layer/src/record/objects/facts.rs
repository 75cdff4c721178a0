//! The single place that every change of an object passes through, once its record is up to date.
//!
//! There is one small function per fact. Listeners to object events (the tool interface) are called from
//! here; the hooks only report what happened.

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

/// Something belonging to an object was attached or changed: error handler, info, attribute, view.
#[inline(always)]
pub fn attached(kind: SectionKind, head: &'static Head) {
    observe::attached(kind, head);
}

/// A datatype was committed.
#[inline(always)]
pub fn committed(head: &'static Head) {
    observe::committed(head);
}

/// An epoch of a window began; `epoch` has bits of [`Epoch`](mpiscope_image::objects::Epoch).
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
