//! Records of one-sided operations and of the calls that synchronize them.

use super::state::{self, Held, Step};
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use mpi_abi::Abi;
use mpiscope_image::one_sided::{OneSided, OneSidedKind};

/// Adds a record of a call; `fill` sets the fields that not all calls have. Nothing in it may call MPI.
pub fn note<A: Abi>(
    call: &Call<A>,
    window: (u64, u64),
    (kind, target): (OneSidedKind, u32),
    fill: impl Fn(&OneSided),
) {
    state::with(call, || Note { window, kind, target, fill });
}

struct Note<F> {
    /// Identity and number of collective calls.
    window: (u64, u64),
    kind: OneSidedKind,
    /// Zero if the call has none.
    target: u32,
    fill: F,
}

impl<A: Abi, F: Fn(&OneSided)> Step<A> for Note<F> {
    fn run<const QUIET: bool>(self, held: Held<QUIET>, call: &Call<A>) {
        let from = fortran_call_site::here(call);
        held.one_sided.complete(self.window.0, self.kind, self.target);
        held.one_sided.write(held.writer, |record| {
            record.window.set(self.window.0);
            record.kind.set(self.kind.0);
            record.function.set(u32::from(call.function().0) + 1);
            record.target.set(self.target);
            record.flags.set(0);
            record.from.set(from);
            record.since.set(call.since);
            record.until.set(call.returned());
            record.collectives.set(self.window.1);
            record.digest.set(0);
            record.waited_from.set(0);
            record.waited_in.set(0);
            record.waited_at.set(0);
            (self.fill)(record);
        });
    }
}
