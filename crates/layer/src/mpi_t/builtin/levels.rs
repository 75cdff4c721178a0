//! Pending operations of the process, over all communicators: requests and receives, with
//! watermarks.

use crate::base::topic::Topic;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::record::traffic;
use crate::record::traffic::levels::Level;
use crate::record::traffic::state::{PENDING, POSTED};
use mpiscope_image::layout::Recording;
use mpiscope_image::traffic::Traffic;
use mpit::{Binding, Datatype, Instrument, Member, PvarClass, PvarSpec, Registry, Result, WatchList};
use std::sync::atomic::Ordering;

/// A level of the process.
pub struct Pending {
    value: Value,
    watch: Option<&'static WatchList>,
    interest: Interest,
}

impl Instrument for Pending {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(1))
    }

    fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
        Ok(traffic::state::get().map_or(0, |state| (self.value)(state.totals)))
    }

    fn interest(&self, wanted: bool) {
        self.interest.set(wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        self.watch
    }
}

fn pending(totals: &Traffic) -> u64 {
    totals.pending.get()
}

fn posted(totals: &Traffic) -> u64 {
    totals.posted.get()
}

type Value = fn(&Traffic) -> u64;

/// Registers the levels and their watermarks.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let levels: [(&str, &str, Topic, Value, &'static Level); 2] = [
        (
            "mpiscope_pending_requests",
            "Requests that were started and that the program has not yet seen complete",
            Topic::Requests,
            pending,
            &PENDING,
        ),
        (
            "mpiscope_posted_receives",
            "Receives that were posted and have not been seen complete, including blocking ones",
            Topic::Messages,
            posted,
            &POSTED,
        ),
    ];
    for (name, what, topic, value, level) in levels {
        let watch = &level.watch;
        let classes = [
            ("", PvarClass::LEVEL, "now", None),
            ("_high", PvarClass::HIGHWATERMARK, "the most since the start", Some(watch)),
            ("_low", PvarClass::LOWWATERMARK, "the fewest since the start", Some(watch)),
        ];
        for (end, class, when, watch) in classes {
            let name = format!("{name}{end}");
            let desc = format!(
                "{what}: {when}. Costs nothing beyond the recording of objects, about 20 ns per request"
            );
            let spec = PvarSpec::new(name.as_str(), class, Datatype::UNSIGNED).desc(desc);
            let level_of = Pending { value, watch, interest: Interest::new(Recording::OBJECTS.0) };
            if let Some(index) = publish_one("a level of the process", registry.add_pvar(spec, level_of)) {
                categories.add(topic, Member::Pvar(index));
            }
            if let Ok(index) = registry.pvar_index(&name, PvarClass::HIGHWATERMARK) {
                level.high.store(i32::try_from(index).unwrap_or(-1), Ordering::Relaxed);
            }
        }
    }
}
