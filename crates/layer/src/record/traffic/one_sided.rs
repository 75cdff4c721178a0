//! The ring of one-sided operations and of the calls that synchronize them.

use super::ledger;
use super::state::{self, Held, Step};
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use mpi_abi::Abi;
use mpiscope_image::Writer;
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::one_sided::{OneSided, OneSidedKind};
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
    fn write(&self, writer: &'static Writer, fill: impl FnOnce(&OneSided)) {
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

/// Adds a record of a call; `fill` sets the fields that not all calls have. Nothing in it may call MPI.
pub fn note<A: Abi>(call: &Call<A>, window: (u64, u64), kind: OneSidedKind, fill: impl Fn(&OneSided)) {
    state::with(call, || Note { window, kind, fill });
}

struct Note<F> {
    /// Identity and number of collective calls.
    window: (u64, u64),
    kind: OneSidedKind,
    fill: F,
}

impl<A: Abi, F: Fn(&OneSided)> Step<A> for Note<F> {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let from = fortran_call_site::here(call);
        held.one_sided.write(held.writer, |record| {
            record.window.set(self.window.0);
            record.kind.set(self.kind.0);
            record.function.set(u32::from(call.function().0) + 1);
            record.target.set(0);
            record.flags.set(0);
            record.from.set(from);
            record.since.set(call.since);
            record.until.set(call.returned());
            record.collectives.set(self.window.1);
            (self.fill)(record);
        });
    }
}
