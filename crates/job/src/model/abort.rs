//! Where a program called `MPI_Abort`.
//!
//! In some libraries the call returns before the process is killed, and others may follow it. Then only the call site
//! still shows where the program gave up.

use super::process::{Process, ThreadFacts};
use super::rank::Rank;
use mpiscope_image::Source;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::sites::Site;

/// The name of the function.
pub const FUNCTION: &str = "MPI_Abort";

/// Limits the number of call site records read.
const MOST_RECORDS: u64 = 1 << 14;

/// Returns the source line of the process's call of `MPI_Abort`; `None` without one, or if it is not known.
pub fn place<S: Source>(rank: &Rank<'_, S>) -> Option<String> {
    let process = rank.process();
    process.abort_code?;
    let is_in_it =
        |thread: &&ThreadFacts| thread.call.as_ref().is_some_and(|call| process.called(call) == FUNCTION);
    let open = process.threads.iter().find(is_in_it).map(|thread| thread.return_address);
    open.or_else(|| site(rank)).and_then(|from| rank.place(from))
}

/// Returns the return address of a call of `MPI_Abort` that has returned.
fn site<S: Source>(rank: &Rank<'_, S>) -> Option<u64> {
    let number = rank.process().functions.iter().position(|function| function.name == FUNCTION)?;
    let number = u32::try_from(number).ok()?.checked_add(1)?;
    let image = rank.image();
    let table = image.table::<Site>(SectionKind::SITES).ok()?;
    let records =
        (0..table.len().min(MOST_RECORDS)).filter_map(|index| image.get::<Site>(&table, index).ok());
    let mut calls =
        records.filter(|record| record.value.function.get() == number && record.value.count.get() > 0);
    calls.next().map(|record| record.value.from.get())
}

/// Whether the thread called MPI again after `MPI_Abort` had returned: such a call does not explain the end.
pub fn is_over(process: &Process, thread: &ThreadFacts) -> bool {
    process.aborted_ns.is_some_and(|aborted_ns| process.clock.ns_at(thread.since) > aborted_ns)
}
