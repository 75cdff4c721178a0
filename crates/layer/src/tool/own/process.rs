//! The process: what it is doing, how much of its time is MPI's, what was lost.

use super::calls::NO_FUNCTION;
use super::categories::{Categories, Place};
use super::publish_one;
use super::text::Text;
use crate::tool::recording::Interest;
use crate::{clock, identity, image, threads};
use mpi_abi::{FUNCTIONS, FunctionId, Waits};
use mpiscope_image::layout::{Loss, Recording, State, Thread};
use mpit::{
    Binding, Datatype, Enumeration, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Unit,
    Verbosity,
};

/// A current value, computed when it is read.
pub struct Now {
    value: fn() -> u64,
    interest: Interest,
}

impl Instrument for Now {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::computed(self.value))
    }

    fn interest(&self, wanted: bool) {
        self.interest.tell(wanted);
    }
}

/// The first two, then those of [`Waits`], then the end.
const STATES: [&str; 9] = [
    "not initialised",
    "computing",
    "in an MPI call that does not wait",
    "blocked in a send",
    "blocked in a receive or probe",
    "blocked completing requests",
    "blocked in a collective",
    "blocked in one-sided synchronisation",
    "finalized",
];

/// The thread that called `MPI_Init`, else the first that called MPI.
fn main_thread() -> Option<&'static Thread> {
    let main = identity::process().map_or(u64::MAX, |process| process.main_thread.get());
    usize::try_from(main).ok().and_then(|main| threads::all().nth(main)).or_else(|| threads::all().next())
}

/// The number of the function that a thread is in.
fn function_of(thread: &Thread) -> Option<FunctionId> {
    u16::try_from(thread.call.open()?).ok().map(FunctionId)
}

/// The state of a thread in a call, counted from the third of [`STATES`].
fn blocking(function: FunctionId) -> usize {
    let waits = FUNCTIONS.get(usize::from(function.0)).map_or(Waits::NOTHING, |f| Waits::of(f.name));
    2 + usize::from(waits.0)
}

fn state() -> u64 {
    let header = image::writer().map_or(State::STARTED.0, |writer| writer.header().state.get());
    let state = match State(header) {
        State::UNCLAIMED | State::STARTED => 0,
        State::FINALIZED => 8,
        _ => main_thread().and_then(function_of).map_or(1, blocking),
    };
    state as u64
}

fn function() -> u64 {
    let now = main_thread().and_then(function_of);
    now.map_or(i64::from(NO_FUNCTION) as u64, |function| u64::from(function.0))
}

/// Time in MPI of all threads, as a part of the time that they exist.
fn share() -> u64 {
    let begun = image::writer().map_or(0, |writer| writer.header().clock.start_ticks.get());
    let elapsed = clock::now().saturating_sub(begun) as f64;
    let (threads, inside) = threads::all()
        .map(|thread| thread.mpi_ticks.get())
        .fold((0u32, 0u64), |(threads, sum), ticks| (threads + 1, sum.saturating_add(ticks)));
    let all = elapsed * f64::from(threads.max(1));
    let share = if begun == 0 || all <= 0.0 { 0.0 } else { (inside as f64 / all).min(1.0) };
    share.to_bits()
}

fn lost() -> u64 {
    let Some(writer) = image::writer() else { return 0 };
    // As many tombstones are kept as was asked for: the others are no loss.
    let kinds = (0..).zip(&writer.header().lost).filter(|(kind, _)| Loss(*kind) != Loss::TOMBSTONES);
    kinds.map(|(_, count)| count.get()).fold(0, u64::wrapping_add)
}

/// The function that the process is in; its enumeration also names the elements of the arrays by function.
pub fn publish_function(registry: &Registry, categories: &mut Categories, names: Option<usize>) {
    let Some(names) = names else { return };
    let spec = PvarSpec::new("mpiscope_function", PvarClass::STATE, Datatype::INT)
        .desc("The MPI function that the main thread is in. Costs nothing beyond the recording of calls")
        .verbosity(Verbosity::USER_DETAIL)
        .enumeration(names)
        .unit(Unit::Bits)
        .continuous(true);
    let added = registry.add_pvar(spec, Now { value: function, interest: Interest::new(Recording::CALLS.0) });
    if let Some(index) = publish_one("the current function", added) {
        categories.add(Place::CALLS, Member::Pvar(index));
    }
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let add = |place: Place, spec: PvarSpec, value: fn() -> u64, bits: Recording| {
        if let Some(index) =
            publish_one("a state", registry.add_pvar(spec, Now { value, interest: Interest::new(bits.0) }))
        {
            categories.add(place, Member::Pvar(index));
        }
    };
    let states = Enumeration::new("mpiscope_state").items(STATES);
    if let Some(states) = publish_one("the states' names", registry.add_enumeration(states)) {
        let spec = PvarSpec::new("mpiscope_state", PvarClass::STATE, Datatype::INT)
            .desc("What the main thread of the process is doing. Costs nothing beyond the recording of calls")
            .enumeration(states)
            .continuous(true);
        add(Place::PROCESS, spec, state, Recording::CALLS);
    }
    let spec = PvarSpec::new("mpiscope_mpi_share", PvarClass::PERCENTAGE, Datatype::DOUBLE)
        .desc(
            "Time in completed MPI calls of all threads, as a part of the time since the first MPI call of the process \
             times the number of threads that called MPI: 0.0 to 1.0. About 20 ns per call",
        )
        .unit(Unit::Bits)
        .continuous(true);
    add(Place::CALLS, spec, share, Recording(Recording::CALLS.0 | Recording::TIMES.0));
    let spec = PvarSpec::new("mpiscope_lost_records", PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG)
        .desc("Records that found no room: calls, objects, messages, names. Costs nothing")
        .continuous(true);
    add(Place::RECORDING, spec, lost, Recording(0));
    let spec = PvarSpec::new("mpiscope_version", PvarClass::GENERIC, Datatype::CHAR)
        .desc("Version of mpiscope. Costs nothing")
        .continuous(true);
    let added = registry.add_custom_pvar(spec.readonly(true), Text(env!("CARGO_PKG_VERSION")));
    if let Some(index) = publish_one("the version", added) {
        categories.add(Place::RECORDING, Member::Pvar(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::f;

    #[test]
    fn a_call_is_sorted_by_what_it_waits_for() {
        let state = |function| STATES[blocking(function)];
        assert_eq!(state(f::MPI_Recv_c), "blocked in a receive or probe");
        assert_eq!(state(f::MPI_Allreduce), "blocked in a collective");
        assert_eq!(state(f::MPI_Iallreduce), "in an MPI call that does not wait");
        assert_eq!(state(f::MPI_Waitsome), "blocked completing requests");
    }
}
