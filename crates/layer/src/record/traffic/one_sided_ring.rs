//! The ring of one-sided operations and of the calls that synchronize them.

use super::contents;
use super::ledger;
use mpiscope_image::Writer;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::one_sided::{Completes, OneSided, OneSidedFlag, OneSidedKind};
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

    /// Returns the number of the newest record for which `is` holds; zero if there is none among the newest few. Other
    /// threads may have written some meanwhile.
    pub fn newest(&self, is: impl Fn(&OneSided) -> bool) -> u64 {
        const FEW: u64 = 64;
        let written = self.written.get();
        let numbers = (written.saturating_sub(FEW)..written).rev().map(|place| place + 1);
        let found = |number: &u64| self.record(*number).is_some_and(&is);
        numbers.into_iter().find(found).unwrap_or(0)
    }

    /// A call `by`, given as return address and function number plus one, has completed the request of the operation
    /// with this number and start, and returned `at` that time: compares its buffer, unless another call had completed
    /// it at the origin.
    pub fn awaited(&self, number: u64, since: u64, by: (u64, u64), at: u64) {
        let Some(record) = self.record(number).filter(|record| record.since.get() == since) else {
            return;
        };
        record.write(number, |record| {
            record.waited_at.set(at);
            if record.digest.get() != 0 {
                contents::known_complete(record);
                record.waited_from.set(by.0);
                record.waited_in.set(by.1);
            }
        });
    }

    /// A call `by` has completed the first of the requests with a shared handle, the oldest of which has this number:
    /// until then the program could not know that any of the operations was complete.
    pub fn awaited_at_start(&self, first: u64, by: (u64, u64), at: u64) {
        for number in first.max(self.hashed.get())..=self.written.get() {
            let record = self.with_hash(number).filter(|record| record.is(OneSidedFlag::AT_START));
            if let Some(record) = record {
                self.awaited(number, record.since.get(), by, at);
            }
        }
    }

    /// The request of the operation with this number was complete when the call returned.
    pub fn complete_at_start(&self, number: u64) {
        if let Some(record) = self.with_hash(number) {
            record.flags.set(record.flags.get() | OneSidedFlag::AT_START.0);
        }
    }

    /// The buffer of the operation with this number and start is not compared.
    pub fn forget(&self, number: u64, since: u64) {
        if let Some(record) = self.with_hash(number).filter(|record| record.since.get() == since) {
            record.digest.set(0);
        }
    }

    /// Returns the record with a number, if it has a hash and has not been overwritten.
    fn with_hash(&self, number: u64) -> Option<&'static OneSided> {
        self.record(number).filter(|record| record.digest.get() != 0)
    }

    /// Returns the record with a number, if it has not been overwritten.
    fn record(&self, number: u64) -> Option<&'static OneSided> {
        let place = number.checked_sub(1)?;
        let records = self.records.get();
        let record = records.get(place as usize & records.len().wrapping_sub(1))?;
        (record.number.get() == number).then_some(record)
    }

    /// Without room in the image the ring stays empty; every record is then lost.
    #[cold]
    fn make(&self, writer: &'static Writer) {
        let capacity = ledger::capacity();
        let made = writer.new_records::<OneSided>(SectionKind::ONE_SIDED, capacity, capacity);
        self.records.set(made.filter(|_| capacity != 0).unwrap_or_default());
    }
}
