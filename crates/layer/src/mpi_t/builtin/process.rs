//! The process: its state, and MPI's share of its time.

use super::text::Text;
use crate::base::topic::Topic;
use crate::base::{clock, image};
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::record::traffic::polling;
use crate::record::{process, threads};
use mpi_abi::{FunctionId, Properties};
use mpiscope_image::derive::status::NO_FUNCTION;
use mpiscope_image::derive::{self, Activity, ThreadView};
use mpiscope_image::layout::{Recording, State};
use mpit::{
    Binding, Datatype, Enumeration, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Unit,
    Verbosity,
};

/// A current value, computed when it is read.
pub struct Current {
    value: fn() -> u64,
    interest: Interest,
}

impl Instrument for Current {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::computed(self.value))
    }

    fn interest(&self, wanted: bool) {
        self.interest.set(wanted);
    }
}

fn main_thread() -> Option<ThreadView<'static>> {
    let recorded = process::record().map_or(u64::MAX, |process| process.main_thread.get());
    derive::threads::main(recorded, threads::views())
}

/// The properties of a function from the function table.
fn class(function: u32) -> Properties {
    u16::try_from(function).map_or_else(|_| Properties::default(), |number| FunctionId(number).properties())
}

fn state() -> u64 {
    let header = image::writer().map_or(State::STARTED.0, |writer| writer.header().state.get());
    let spacing = polling::spacing();
    let status = derive::status::activity(State(header), main_thread(), (clock::now(), spacing), class);
    u64::from(status.0)
}

fn function() -> u64 {
    let now = main_thread().and_then(|thread| thread.open()?.open());
    now.map_or(i64::from(NO_FUNCTION.0) as u64, u64::from)
}

fn share() -> u64 {
    let Some(writer) = image::writer() else { return 0f64.to_bits() };
    let window = derive::Window::of(process::record(), &writer.header().clock, clock::now());
    derive::Share::of_rank(threads::views(), window).mpi_share().to_bits()
}

/// Registers the current function. Its enumeration also names the elements of the arrays by function.
pub fn publish_function(registry: &Registry, categories: &mut Categories, names: Option<usize>) {
    let Some(names) = names else { return };
    let spec = PvarSpec::new("mpiscope_function", PvarClass::STATE, Datatype::INT)
        .desc("The MPI function that the main thread is in. Costs nothing beyond the recording of calls")
        .verbosity(Verbosity::USER_DETAIL)
        .enumeration(names)
        .unit(Unit::Bits)
        .continuous(true);
    let added =
        registry.add_pvar(spec, Current { value: function, interest: Interest::new(Recording::CALLS.0) });
    if let Some(index) = publish_one("the current function", added) {
        categories.add(Topic::Calls, Member::Pvar(index));
    }
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let add = |topic: Topic, spec: PvarSpec, value: fn() -> u64, bits: Recording| {
        if let Some(index) = publish_one(
            "a state",
            registry.add_pvar(spec, Current { value, interest: Interest::new(bits.0) }),
        ) {
            categories.add(topic, Member::Pvar(index));
        }
    };
    let states =
        Enumeration::new("mpiscope_state").items(Activity::ALL.iter().filter_map(|status| status.name()));
    if let Some(states) = publish_one("the states' names", registry.add_enumeration(states)) {
        let spec = PvarSpec::new("mpiscope_state", PvarClass::STATE, Datatype::INT)
            .desc("What the main thread of the process is doing. Costs nothing beyond the recording of calls")
            .enumeration(states)
            .continuous(true);
        add(Topic::Process, spec, state, Recording::CALLS);
    }
    let spec = PvarSpec::new("mpiscope_mpi_share", PvarClass::PERCENTAGE, Datatype::DOUBLE)
        .desc(
            "Time in MPI calls, also in those that are open, as a part of the time of the threads that call MPI: each from \
             MPI_Init, or its own first MPI call after that, until its end: 0.0 to 1.0. About 20 ns per call",
        )
        .unit(Unit::Bits)
        .continuous(true);
    add(Topic::Calls, spec, share, Recording(Recording::CALLS.0 | Recording::TIMES.0));
    let spec = PvarSpec::new("mpiscope_version", PvarClass::GENERIC, Datatype::CHAR)
        .desc("Version of mpiscope. Costs nothing")
        .continuous(true);
    let added = registry.add_custom_pvar(spec.readonly(true), Text(env!("CARGO_PKG_VERSION")));
    if let Some(index) = publish_one("the version", added) {
        categories.add(Topic::Recording, Member::Pvar(index));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::f;

    #[test]
    fn a_call_is_classified_by_what_it_waits_for() {
        let state =
            |function: FunctionId| Activity::inside(class(u32::from(function.0)).waits).name().unwrap();
        assert_eq!(state(f::MPI_Recv_c), "blocked in a receive or probe");
        assert_eq!(state(f::MPI_Allreduce), "blocked in a collective");
        assert_eq!(state(f::MPI_Iallreduce), "in an MPI call that does not wait");
        assert_eq!(state(f::MPI_Waitsome), "blocked completing requests");
    }
}
