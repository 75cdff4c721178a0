//! The one place that every change of an object goes through, once the record has it.
//!
//! One small function a fact. Whoever wants to hear of objects (events of the tool interface) listens here; the
//! hooks only say what happened.

use crate::tool::own as tool;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::Head;

/// An object was made (or found for the first time).
#[inline(always)]
pub fn created(kind: SectionKind, head: &'static Head) {
    tool::objects::made(kind, head);
}

/// The program freed an object.
#[inline(always)]
pub fn freed(kind: SectionKind, head: &'static Head) {
    tool::objects::gone(kind, head);
}

/// An object got a name.
#[inline(always)]
pub fn named(_kind: SectionKind, _head: &'static Head) {}

/// Something that belongs to an object was attached or changed: error handler, info, attribute, view.
#[inline(always)]
pub fn attached(_kind: SectionKind, _head: &'static Head) {}

/// A datatype was committed.
#[inline(always)]
pub fn committed(_head: &'static Head) {}

/// An epoch of a window began (bits of [`Epoch`](mpiscope_image::objects::Epoch)).
#[inline(always)]
pub fn epoch_opened(_head: &'static Head, _epoch: u32) {}

/// An epoch of a window ended.
#[inline(always)]
pub fn epoch_closed(_head: &'static Head, _epoch: u32) {}
