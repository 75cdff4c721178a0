//! The ring of errors seen in calls.

use crate::interpose::frame::Call;
use mpi_abi::Abi;
use mpiscope_image::Writer;
use mpiscope_image::faults::{Fault, FaultKind, RING};
use mpiscope_image::layout::SectionKind;
use std::cell::Cell;

/// The ring; created with the first fault.
#[derive(Default)]
pub struct Faults {
    records: Cell<&'static [Fault]>,
    made: Cell<bool>,
    written: Cell<u64>,
}

impl Faults {
    /// Notes a fault of a call, whose call site is `from`; one that is known already is only counted.
    pub fn note<A: Abi>(
        &self,
        writer: &'static Writer,
        call: &Call<A>,
        kind: FaultKind,
        from: u64,
        fill: impl FnOnce(&Fault),
    ) {
        if !self.made.replace(true) {
            let made = writer.new_records::<Fault>(SectionKind::FAULTS, RING, RING);
            self.records.set(made.unwrap_or_default());
        }
        let number = self.written.get().wrapping_add(1);
        self.written.set(number);
        let records = self.records.get();
        let same = |fault: &&Fault| fault.kind.get() == kind.0 && fault.from.get() == from;
        let known = records.iter().find(same);
        let times = known.map_or(0, |fault| fault.times.get());
        let Some(fault) = known.or_else(|| records.get(number as usize % RING)) else { return };
        fault.write(number, |fault| {
            fault.kind.set(kind.0);
            fault.function.set(u32::from(call.function().0) + 1);
            fault.from.set(from);
            fault.times.set(times.wrapping_add(1));
            fill(fault);
        });
    }
}
