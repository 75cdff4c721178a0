//! The ring of one-sided operations and of the calls that synchronize them.

use super::contents;
use super::ledger;
use mpiscope_image::Writer;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::one_sided::{Completes, OneSided, OneSidedKind};
use std::cell::Cell;

/// The ring; created with the first record.
#[derive(Default)]
pub struct Ring {
    records: Cell<&'static [OneSided]>,
    made: Cell<bool>,
    written: Cell<u64>,
    /// All records with a hash have this place or a later one.
    hashed: Cell<u64>,
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
        if record.digest.get() == 0 && self.hashed.get() == place {
            self.hashed.set(place.wrapping_add(1));
        }
    }

    /// A call completes operations at the origin: compares their buffers.
    pub fn complete(&self, window: u64, kind: OneSidedKind, target: u32) {
        if kind.completes() == Completes::None {
            return;
        }
        let (records, written) = (self.records.get(), self.written.get());
        let oldest = written.saturating_sub(records.len() as u64);
        let mut left = written;
        for place in (self.hashed.get().max(oldest)..written).rev() {
            let record = records.get(place as usize & records.len().wrapping_sub(1));
            let Some(record) = record.filter(|record| record.digest.get() != 0) else { continue };
            if !contents::completed_by(record, window, kind, target) {
                left = place;
            }
        }
        self.hashed.set(left);
    }

    /// Without room in the image the ring stays empty; every record is then lost.
    #[cold]
    fn make(&self, writer: &'static Writer) {
        let capacity = ledger::capacity();
        let made = writer.new_records::<OneSided>(SectionKind::ONE_SIDED, capacity, capacity);
        self.records.set(made.filter(|_| capacity != 0).unwrap_or_default());
    }
}
