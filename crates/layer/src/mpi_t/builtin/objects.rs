//! MPI objects: how many of each kind exist.

use crate::base::topic::Topic;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::record::objects::live;
use mpi_abi::ObjectKind;
use mpiscope_image::layout::Recording;
use mpit::{
    Binding, Datatype, Enumeration, Error, Instrument, Member, PvarClass, PvarSpec, Registry, Result,
    WatchList,
};

/// Number of objects of each kind.
pub struct Live(Interest);

impl Instrument for Live {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(live::kinds().len()))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        live::count(element).ok_or(Error::INVALID)
    }

    fn interest(&self, wanted: bool) {
        self.0.set(wanted);
    }

    fn watch(&self) -> Option<&WatchList> {
        Some(&live::WATCH)
    }
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let kinds = live::kinds().map(ObjectKind::item_name);
    let names = Enumeration::new("mpiscope_object_kind").items(kinds);
    publish_one("the object kinds' names", registry.add_enumeration(names));
    let classes = [
        ("mpiscope_live_objects", PvarClass::LEVEL, "now"),
        (
            "mpiscope_live_objects_high",
            PvarClass::HIGHWATERMARK,
            "the most since the start (of requests what there was at the start, see mpiscope_pending_requests)",
        ),
    ];
    for (name, class, when) in classes {
        let desc = format!(
            "MPI objects that the program has made and not freed, {when}, by kind (element \
             i is item i of the enumeration 'mpiscope_object_kind'): {}. About 10 ns per object made \
             or freed; requests are looked through at each read",
            kinds.join(", ")
        );
        let spec = PvarSpec::new(name, class, Datatype::UNSIGNED).desc(desc);
        if let Some(index) =
            publish_one("live objects", registry.add_pvar(spec, Live(Interest::new(Recording::OBJECTS.0))))
        {
            categories.add(Topic::Objects, Member::Pvar(index));
        }
    }
}
