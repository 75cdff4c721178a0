//! MPI objects: how many exist of each kind.

use super::categories::{Categories, Place};
use super::publish_one;
use crate::tool::recording::Interest;
use mpi_abi::ObjectKind;
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::objects::{Flag, Head};
use mpit::{
    Binding, Datatype, Enumeration, Instrument, Member, PvarClass, PvarSpec, Registry, Result, WatchList,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// The kinds, in the order of the array's elements. Keyvals are `int`s, and no kind of handle.
const KINDS: [(SectionKind, Option<ObjectKind>); 12] = [
    (SectionKind::COMMS, Some(ObjectKind::COMM)),
    (SectionKind::GROUPS, Some(ObjectKind::GROUP)),
    (SectionKind::DATATYPES, Some(ObjectKind::DATATYPE)),
    (SectionKind::OPS, Some(ObjectKind::OP)),
    (SectionKind::REQUESTS, Some(ObjectKind::REQUEST)),
    (SectionKind::MESSAGES, Some(ObjectKind::MESSAGE)),
    (SectionKind::WINDOWS, Some(ObjectKind::WIN)),
    (SectionKind::FILES, Some(ObjectKind::FILE)),
    (SectionKind::INFOS, Some(ObjectKind::INFO)),
    (SectionKind::ERRHANDLERS, Some(ObjectKind::ERRHANDLER)),
    (SectionKind::SESSIONS, Some(ObjectKind::SESSION)),
    (SectionKind::KEYVALS, None),
];

static LIVE: [AtomicU64; KINDS.len()] = [const { AtomicU64::new(0) }; KINDS.len()];
static WATCH: WatchList = WatchList::new();

fn change(kind: SectionKind, head: &Head, by: u64) {
    if head.flags.get() & Flag::PREDEFINED.0 != 0 {
        return;
    }
    let Some(at) = KINDS.iter().position(|(section, _)| *section == kind) else { return };
    if let Some(live) = LIVE.get(at) {
        let now = live.fetch_add(by, Ordering::Relaxed).wrapping_add(by);
        WATCH.note(0, at as u32, now);
    }
}

/// The number of a kind in the enumeration of object kinds; -1 for none of them.
pub fn number(kind: SectionKind) -> i32 {
    KINDS.iter().position(|(section, _)| *section == kind).map_or(-1, |at| at as i32)
}

/// The program made an object.
#[inline]
pub fn made(kind: SectionKind, head: &Head) {
    change(kind, head, 1);
}

/// An object of the program is gone.
#[inline]
pub fn gone(kind: SectionKind, head: &Head) {
    change(kind, head, u64::MAX);
}

/// How many objects there are of each kind.
pub struct Live(Interest);

impl Instrument for Live {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::cells(&LIVE))
    }

    fn interest(&self, wanted: bool) {
        self.0.tell(wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        Some(&WATCH)
    }
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let kinds = KINDS.map(|(_, kind)| kind.map_or("keyval", ObjectKind::name));
    let names = Enumeration::new("mpiscope_object_kind").items(kinds);
    publish_one("the object kinds' names", registry.add_enumeration(names));
    for (class, when) in [(PvarClass::LEVEL, "now"), (PvarClass::HIGHWATERMARK, "the most since the start")] {
        let desc = format!(
            "MPI objects that the program has made and not freed, {when}, by kind: {}. About 10 ns per object made \
             or freed",
            kinds.join(", ")
        );
        let spec = PvarSpec::new("mpiscope_live_objects", class, Datatype::UNSIGNED).desc(desc);
        if let Some(index) =
            publish_one("live objects", registry.add_pvar(spec, Live(Interest::new(Recording::OBJECTS.0))))
        {
            categories.add(Place::OBJECTS, Member::Pvar(index));
        }
    }
}
