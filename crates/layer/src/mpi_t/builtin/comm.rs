//! Variables bound to a communicator: traffic with each of its ranks, and collectives.

use crate::base::topic::Topic;
use crate::mpi_t::bound::{self, Bound};
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::mpi_t::ticks;
use crate::record::traffic::collectives::listen_to_waits;
use crate::record::traffic::wait_listener::WaitListener;
use mpiscope_image::derive::bound::{COLLECTIVES, COMM_SIZE, PEERS};
use mpiscope_image::layout::Recording;
use mpiscope_image::traffic::Peer;
use mpit::{
    Bind, Binding, Datatype, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Unit, Verbosity,
};
use std::sync::atomic::Ordering;

const OBJECTS: u32 = Recording::OBJECTS.0;

/// A value for each rank of a communicator.
pub struct PerRank(fn(&Peer) -> u64, Interest);

impl Instrument for PerRank {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        Bound::of(object).map(|bound| Binding::sampled(bound.size))
    }

    fn sample(&self, object: u64, element: usize) -> Result<u64> {
        Ok(Bound::of(object)?.peer(element).map_or(0, self.0))
    }

    fn interest(&self, wanted: bool) {
        self.1.set(wanted);
    }
}

/// A value of a communicator as a whole.
pub struct Whole {
    value: fn(&Bound) -> u64,
    interest: Interest,
    /// Whether it needs the time of collectives.
    waits: bool,
}

impl Instrument for Whole {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        Bound::of(object).map(|_| Binding::sampled(1))
    }

    fn sample(&self, object: u64, _element: usize) -> Result<u64> {
        Bound::of(object).map(self.value)
    }

    fn interest(&self, wanted: bool) {
        if self.waits {
            let listener: WaitListener = bound::waited;
            listen_to_waits(wanted.then_some(listener));
        }
        self.interest.set(wanted);
    }
}

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let add = |topic: Topic, added: Result<usize>| {
        if let Some(index) = publish_one("a variable of communicators", added) {
            categories.add(topic, Member::Pvar(index));
        }
    };
    for (spec, backend) in messages() {
        add(Topic::Messages, registry.add_pvar(spec, backend));
    }
    let value = |bound: &Bound| (COLLECTIVES.value)(bound.comm());
    let entered = Whole { value, interest: Interest::new(OBJECTS), waits: false };
    add(Topic::Collectives, registry.add_pvar(collectives(), entered));
    let value = |bound: &Bound| ticks::units(bound.waited.load(Ordering::Relaxed));
    let waited = Whole { value, interest: Interest::new(OBJECTS | Recording::TIMES.0), waits: true };
    add(Topic::Collectives, registry.add_pvar(collective_wait(), waited));
    let size = Whole { value: |bound| bound.size as u64, interest: Interest::new(0), waits: false };
    add(Topic::Objects, registry.add_pvar(comm_size(), size));
}

fn counter(name: &str, desc: &str) -> PvarSpec {
    PvarSpec::new(name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG).desc(desc).bind(Bind::MPI_COMM)
}

/// The variables with an element for each rank.
fn messages() -> impl Iterator<Item = (PvarSpec, PerRank)> {
    let what = [
        "Messages whose send was started",
        "Bytes of messages whose send was started",
        "Messages received",
        "Bytes of messages received",
    ];
    PEERS.iter().zip(what).map(|(variable, what)| {
        let desc = format!(
            "{what}, by rank of the communicator (of the remote group of an intercommunicator), point to point, by \
             this process. Costs nothing beyond the recording of objects, about 10 ns per message"
        );
        (counter(variable.name, &desc), PerRank(variable.value, Interest::new(OBJECTS)))
    })
}

fn collectives() -> PvarSpec {
    counter(
        COLLECTIVES.name,
        "Collective operations that this process has entered on the communicator, blocking and nonblocking ones, \
         constructors, and every start of a persistent one. Costs nothing beyond the recording of objects",
    )
}

fn collective_wait() -> PvarSpec {
    PvarSpec::new("mpiscope_collective_wait", PvarClass::TIMER, Datatype::DOUBLE)
        .desc(
            "Seconds that this process spent in blocking collective operations on the communicator, waiting for others and \
             working. About 20 ns per collective while it is started",
        )
        .bind(Bind::MPI_COMM)
        .unit(Unit::Scaled(ticks::UNIT))
}

fn comm_size() -> PvarSpec {
    PvarSpec::new(COMM_SIZE, PvarClass::SIZE, Datatype::UNSIGNED)
        .desc("Number of ranks of the communicator (of the remote group of an intercommunicator). Costs nothing")
        .bind(Bind::MPI_COMM)
        .continuous(true)
        .verbosity(Verbosity::USER_DETAIL)
}
