//! MPI objects: how many exist of each kind.

use super::categories::{Categories, Place};
use super::publish_one;
use crate::image;
use crate::tool::recording::Interest;
use mpi_abi::ObjectKind;
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::objects::{Flag, Head, Life};
use mpiscope_image::traffic::Request;
use mpit::{
    Binding, Datatype, Enumeration, Error, Instrument, Member, PvarClass, PvarSpec, Registry, Result,
    WatchList,
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
    // What no call of the program made is the library's.
    if head.flags.get() & Flag::PREDEFINED.0 != 0 || head.made_by.get() == 0 {
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

/// How many requests live. They come and go too often to be counted each time, so this looks at all of their records.
fn requests() -> u64 {
    let Some(writer) = image::writer() else { return 0 };
    let all = (0..).map_while(|index| writer.record::<Request>(SectionKind::REQUESTS, index));
    let live = all.filter(|request| request.head.life.get() == Life::LIVE.0);
    // One record stands for all requests with a handle that the library gives out again and again.
    let count = |request: &Request| match request.head.flags.get() & Flag::SHARED_HANDLE.0 {
        0 => 1,
        _ => u64::from(request.outstanding.get()),
    };
    live.map(count).sum()
}

/// How many objects there are of each kind.
pub struct Live(Interest);

impl Instrument for Live {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(KINDS.len()))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        match KINDS.get(element) {
            Some((SectionKind::REQUESTS, _)) => Ok(requests()),
            _ => LIVE.get(element).map(|live| live.load(Ordering::Acquire)).ok_or(Error::INVALID),
        }
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
    let classes = [
        (PvarClass::LEVEL, "now"),
        (
            PvarClass::HIGHWATERMARK,
            "the most since the start (of requests what there was at the start, see mpiscope_pending_requests)",
        ),
    ];
    for (class, when) in classes {
        let desc = format!(
            "MPI objects that the program has made and not freed, {when}, by kind (element \
             i is item i of the enumeration 'mpiscope_object_kind'): {}. About 10 ns per object made \
             or freed; requests are looked through at each read",
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
