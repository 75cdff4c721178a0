//! The ring of one-sided operations and of the calls that synchronize them.

use super::ledger;
use mpiscope_image::Writer;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::one_sided::OneSided;
use std::cell::Cell;

/// The ring; created with the first record.
#[derive(Default)]
pub struct Ring {
    records: Cell<&'static [OneSided]>,
    made: Cell<bool>,
    written: Cell<u64>,
}

impl Ring {
    /// Overwrites the oldest record.
    pub fn write(&self, writer: &'static Writer, fill: impl FnOnce(&OneSided)) {
        if !self.made.replace(true) {
            self.make(writer);
        }
        let place = self.written.get();
        let records = self.records.get();
        // The capacity is a power of two.
        let record = records.get(place as usize & records.len().wrapping_sub(1));
        if place >= records.len() as u64 {
            writer.lose(Loss::ONE_SIDED, 1);
        }
        let Some(record) = record else { return };
        self.written.set(place.wrapping_add(1));
        record.write(place.wrapping_add(1), fill);
    }

    /// Without room in the image the ring stays empty; every record is then lost.
    #[cold]
    fn make(&self, writer: &'static Writer) {
        let capacity = ledger::capacity();
        let made = writer.new_records::<OneSided>(SectionKind::ONE_SIDED, capacity, capacity);
        self.records.set(made.filter(|_| capacity != 0).unwrap_or_default());
    }
}
