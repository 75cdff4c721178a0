//! The totals stored as words of the image: one variable for each entry of [`TOTALS`].

use crate::base::image;
use crate::base::topic::Topic;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::record::traffic;
use mpiscope_image::derive::totals::{Elements, Records, Subject, TOTALS, Total};
use mpit::{
    Binding, Datatype, Enumeration, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Verbosity,
};

/// An entry of the table.
struct Row(&'static Total, Interest);

impl Instrument for Row {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(self.0.elements.count()))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        let Some(writer) = image::writer() else { return Ok(0) };
        let traffic = traffic::state::get().map(|state| state.totals);
        Ok((self.0.value)(Records { header: writer.header(), traffic }, element))
    }

    fn interest(&self, wanted: bool) {
        self.1.set(wanted);
    }
}

fn topic(total: &Total) -> Topic {
    match total.subject {
        Subject::Messages => Topic::Messages,
        Subject::Recording => Topic::Recording,
    }
}

/// Registers the totals with one element.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    publish_all(registry, categories, |elements| matches!(elements, Elements::Single));
}

/// Registers the arrays.
pub fn publish_arrays(registry: &Registry, categories: &mut Categories) {
    publish_all(registry, categories, |elements| !matches!(elements, Elements::Single));
}

fn publish_all(registry: &Registry, categories: &mut Categories, which: fn(Elements) -> bool) {
    for total in TOTALS.iter().filter(|total| which(total.elements)) {
        if let Elements::Named(count, name, item) = total.elements {
            let items = (0..count).filter_map(|at| item(u32::try_from(at).ok()?));
            publish_one(name, registry.add_enumeration(Enumeration::new(name).items(items)));
        }
        let verbosity = match total.elements {
            Elements::Single => Verbosity::USER_BASIC,
            _ => Verbosity::USER_ALL,
        };
        let spec = PvarSpec::new(total.name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG)
            .desc(total.desc)
            .verbosity(verbosity)
            .continuous(total.needs.0 == 0);
        let row = Row(total, Interest::new(total.needs.0));
        if let Some(index) = publish_one(total.name, registry.add_pvar(spec, row)) {
            categories.add(topic(total), Member::Pvar(index));
        }
    }
}
