//! What the process communicates, over all communicators: sizes of messages, requests and receives that are pending.

use super::categories::{Categories, Place};
use super::publish_one;
use crate::tool::recording::Interest;
use crate::traffic;
use mpiscope_image::layout::Recording;
use mpiscope_image::traffic::{SIZE_CLASSES, Traffic};
use mpit::{
    Binding, Datatype, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Verbosity, WatchList,
};

use std::sync::atomic::{AtomicU64, Ordering};

/// Pending requests, for the watermarks: told by the hooks.
pub static PENDING: WatchList = WatchList::telling(traffic::state::reconsider);
/// Posted receives, likewise.
pub static POSTED: WatchList = WatchList::telling(traffic::state::reconsider);

/// Whether anybody listens to either.
pub fn are_watched() -> bool {
    PENDING.is_watched() || POSTED.is_watched()
}

/// Indices of their high watermarks.
pub static PENDING_HIGH: AtomicU64 = AtomicU64::new(0);
#[allow(missing_docs)]
pub static POSTED_HIGH: AtomicU64 = AtomicU64::new(0);

/// Something of the totals.
pub struct Total {
    count: usize,
    value: fn(&Traffic, usize) -> u64,
    watch: Option<&'static WatchList>,
    interest: Interest,
}

impl Instrument for Total {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(self.count))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        Ok(traffic::state::get().map_or(0, |state| (self.value)(state.totals, element)))
    }

    fn interest(&self, wanted: bool) {
        self.interest.tell(wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        self.watch
    }
}

fn pending(totals: &Traffic, _: usize) -> u64 {
    totals.pending.get()
}

fn posted(totals: &Traffic, _: usize) -> u64 {
    totals.posted.get()
}

fn sent_sizes(totals: &Traffic, class: usize) -> u64 {
    totals.sent_sizes.get(class).map_or(0, |count| count.get())
}

fn received_sizes(totals: &Traffic, class: usize) -> u64 {
    totals.received_sizes.get(class).map_or(0, |count| count.get())
}

type Value = fn(&Traffic, usize) -> u64;

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let add = |place: Place, spec: PvarSpec, count: usize, value: Value, watch| {
        let added = registry
            .add_pvar(spec, Total { count, value, watch, interest: Interest::new(Recording::OBJECTS.0) });
        if let Some(index) = publish_one("a total of messages", added) {
            categories.add(place, Member::Pvar(index));
        }
    };
    let sizes: [(&str, &str, Value); 2] = [
        ("mpiscope_message_sizes_sent", "sent", sent_sizes),
        ("mpiscope_message_sizes_received", "received", received_sizes),
    ];
    for (name, what, value) in sizes {
        let desc = format!(
            "Messages {what} by size: element 0 counts those of 0 bytes, element n those of 2^(n-1) to 2^n - 1 bytes. \
             Costs nothing beyond the recording of objects"
        );
        let spec = PvarSpec::new(name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG)
            .desc(desc)
            .verbosity(Verbosity::USER_DETAIL);
        add(Place::MESSAGES, spec, SIZE_CLASSES, value, None);
    }
    let levels: [(&str, &str, Place, Value, &'static WatchList, &AtomicU64); 2] = [
        (
            "mpiscope_pending_requests",
            "Requests that were started and that the program does not know to be complete",
            Place::REQUESTS,
            pending,
            &PENDING,
            &PENDING_HIGH,
        ),
        (
            "mpiscope_posted_receives",
            "Receives that were posted and have not been seen complete, blocking ones too",
            Place::MESSAGES,
            posted,
            &POSTED,
            &POSTED_HIGH,
        ),
    ];
    for (name, what, place, value, watch, high) in levels {
        let classes = [
            (PvarClass::LEVEL, "now", None),
            (PvarClass::HIGHWATERMARK, "the most since the start", Some(watch)),
            (PvarClass::LOWWATERMARK, "the fewest since the start", Some(watch)),
        ];
        for (class, when, watch) in classes {
            let desc = format!(
                "{what}: {when}. Costs nothing beyond the recording of objects, about 20 ns per request"
            );
            let spec = PvarSpec::new(name, class, Datatype::UNSIGNED).desc(desc);
            add(place, spec, 1, value, watch);
            if let Ok(index) = registry.pvar_index(name, PvarClass::HIGHWATERMARK) {
                high.store(index as u64, Ordering::Relaxed);
            }
        }
    }
}
