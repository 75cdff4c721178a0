//! Calls: number and time, in total and by function.

use crate::base::topic::Topic;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::mpi_t::ticks;
use crate::record::{sites, threads};
use mpi_abi::{COUNT, FUNCTIONS, FunctionId, Moves, f};
use mpiscope_image::derive::Moved;
use mpiscope_image::derive::status::NO_FUNCTION;
use mpiscope_image::layout::{Recording, Thread};
use mpit::{
    Binding, Datatype, Enumeration, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Unit,
    Verbosity,
};

const CALLS: u32 = Recording::CALLS.0;
const TIMES: u32 = Recording::CALLS.0 | Recording::TIMES.0;

/// Reads a thread's value for a function.
type Of = fn(&Thread, usize) -> u64;

/// A total over all threads and functions.
type Total = fn() -> u64;

/// Totals over all threads, by function.
pub struct Sum {
    count: usize,
    of: Of,
    interest: Interest,
    /// Converts the sum to the raw value.
    unit: fn(u64) -> u64,
}

/// One total over all threads.
struct Scalar(Total, Interest);

/// The total of all calls, which is read most often.
struct Calls(Interest);

impl Instrument for Calls {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::shards(&threads::CALLS))
    }

    fn interest(&self, wanted: bool) {
        self.0.set(wanted);
    }
}

impl Instrument for Scalar {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::computed(self.0))
    }

    fn interest(&self, wanted: bool) {
        self.1.set(wanted);
    }
}

fn as_it_is(sum: u64) -> u64 {
    sum
}

impl Instrument for Sum {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(self.count))
    }

    fn sample(&self, _object: u64, element: usize) -> Result<u64> {
        Ok((self.unit)(sum(|thread| (self.of)(thread, element))))
    }

    fn interest(&self, wanted: bool) {
        self.interest.set(wanted);
    }
}

/// A total over all threads.
#[inline(always)]
fn sum(of: impl Fn(&Thread) -> u64) -> u64 {
    threads::all().map(of).fold(0, u64::wrapping_add)
}

fn time_total() -> u64 {
    ticks::units(sum(|thread| thread.mpi_ticks.get()))
}

fn bytes_total() -> u64 {
    sum(bytes)
}

fn calls_of(thread: &Thread, function: usize) -> u64 {
    thread.counters.get(function).map_or(0, |counter| counter.count.get())
}

fn ticks_of(thread: &Thread, function: usize) -> u64 {
    thread.counters.get(function).map_or(0, |counter| counter.ticks.get())
}

/// Directions in which the bytes of a function moved in a thread.
fn moved(thread: &Thread, function: usize) -> Moved {
    let counter = thread.counters.get(function).map_or(0, |counter| counter.bytes.get());
    if counter == 0 {
        return Moved::default();
    }
    let received = thread.received.get(function).map_or(0, |received| received.get());
    let moves = u16::try_from(function).map_or(Moves::NONE, |number| FunctionId(number).properties().moves);
    Moved::of(moves, counter, received)
}

fn sent_of(thread: &Thread, function: usize) -> u64 {
    moved(thread, function).sent
}

fn received_of(thread: &Thread, function: usize) -> u64 {
    moved(thread, function).received
}

fn sent_total() -> u64 {
    (0..COUNT).map(|function| sum(|thread| sent_of(thread, function))).fold(0, u64::wrapping_add)
}

fn received_total() -> u64 {
    (0..COUNT).map(|function| sum(|thread| received_of(thread, function))).fold(0, u64::wrapping_add)
}

fn bytes(thread: &Thread) -> u64 {
    thread.counters.iter().take(COUNT).map(|counter| counter.bytes.get()).fold(0, u64::wrapping_add)
}

fn counter(name: &str, desc: &str) -> PvarSpec {
    PvarSpec::new(name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG).desc(desc)
}

fn timer(name: &str, desc: &str) -> PvarSpec {
    PvarSpec::new(name, PvarClass::TIMER, Datatype::DOUBLE).desc(desc).unit(Unit::Scaled(ticks::UNIT))
}

fn publish_call(categories: &Categories, added: Result<usize>) {
    if let Some(index) = publish_one("a count of calls", added) {
        categories.add(Topic::Calls, Member::Pvar(index));
    }
}

/// Registers the totals.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    let names = Enumeration::new("mpiscope_function")
        .items(FUNCTIONS.iter().map(|function| function.name))
        .item(NO_FUNCTION.0, NO_FUNCTION.1);
    let names = publish_one("the functions' names", registry.add_enumeration(names));
    let add = |added: Result<usize>| publish_call(categories, added);
    add(registry.add_pvar(
        counter("mpiscope_calls_total", "Completed MPI calls of all threads. About 5 ns per call"),
        Calls(Interest::new(CALLS)),
    ));
    add(registry.add_pvar(
        timer(
            "mpiscope_time_total",
            "Seconds that all threads spent in completed MPI calls that were timed: not in those that only look something up \
             unless mpiscope_record_lookups is set; that of short calls that start a message (MPI_Isend, MPI_Irecv, MPI_Start) is \
             estimated from one in sixteen unless mpiscope_record_starts is set. About 20 ns per call",
        ),
        Scalar(time_total, Interest::new(TIMES)),
    ));
    let aggregate = PvarSpec::new("mpiscope_bytes", PvarClass::AGGREGATE, Datatype::UNSIGNED_LONG_LONG).desc(
        "Bytes that this process moved, of all functions together: messages sent, also by starts of persistent requests, and what \
         arrived; of collectives this process's part; of files and one-sided operations what the arguments name. About 10 ns per \
         message",
    );
    add(registry.add_pvar(aggregate, Scalar(bytes_total, Interest::new(CALLS | Recording::OBJECTS.0))));
    let directions: [(&str, &str, Total); 2] = [
        ("mpiscope_bytes_out", "out of this process: sent, put into windows, written into files", sent_total),
        (
            "mpiscope_bytes_in",
            "into this process: received, got from windows, read from files",
            received_total,
        ),
    ];
    for (name, way, total) in directions {
        let desc = format!(
            "The part of mpiscope_bytes that went {way}, without collectives. About 10 ns per message"
        );
        let spec = PvarSpec::new(name, PvarClass::AGGREGATE, Datatype::UNSIGNED_LONG_LONG).desc(desc);
        add(registry.add_pvar(spec, Scalar(total, Interest::new(CALLS | Recording::OBJECTS.0))));
    }
    super::process::publish_function(registry, categories, names);
}

/// Registers the arrays over all functions. They have hundreds of elements, for tools that read everything.
pub fn publish_arrays(registry: &Registry, categories: &mut Categories) {
    let add = |added: Result<usize>| publish_call(categories, added);
    add(registry.add_pvar(
        counter(
            "mpiscope_calls",
            "Completed MPI calls by function: element i is item i of the enumeration 'mpiscope_function'. About 5 ns \
             per call",
        )
        .verbosity(Verbosity::USER_ALL),
        Sum { count: COUNT, of: calls_of, interest: Interest::new(CALLS), unit: as_it_is },
    ));
    add(registry.add_pvar(
        timer(
            "mpiscope_time",
            "Seconds spent in completed MPI calls by function: element i is item i of the enumeration \
             'mpiscope_function'; a call made by a user callback counts for both functions. Functions that only look something \
             up are not timed unless mpiscope_record_lookups is set, and stay 0; short calls that start a message are estimated \
             from one in sixteen unless mpiscope_record_starts is set. About 20 ns per call",
        )
        .verbosity(Verbosity::USER_ALL),
        Sum { count: COUNT, of: ticks_of, interest: Interest::new(TIMES), unit: ticks::units },
    ));
    let directions: [(&str, &str, Of); 2] = [
        ("mpiscope_bytes_out_by_function", "mpiscope_bytes_out", sent_of),
        ("mpiscope_bytes_in_by_function", "mpiscope_bytes_in", received_of),
    ];
    for (name, total, of) in directions {
        let desc = format!(
            "The parts that {total} is the sum of: element i is item i of the enumeration 'mpiscope_function'. About 10 ns per message"
        );
        add(registry.add_pvar(
            counter(name, &desc).verbosity(Verbosity::USER_ALL),
            Sum { count: COUNT, of, interest: Interest::new(CALLS | Recording::OBJECTS.0), unit: as_it_is },
        ));
    }
}

/// Functions with separate variables, in addition to their elements in the arrays.
const IMPORTANT: [FunctionId; 24] = [
    f::MPI_Send,
    f::MPI_Recv,
    f::MPI_Sendrecv,
    f::MPI_Isend,
    f::MPI_Irecv,
    f::MPI_Wait,
    f::MPI_Waitall,
    f::MPI_Waitany,
    f::MPI_Waitsome,
    f::MPI_Test,
    f::MPI_Probe,
    f::MPI_Iprobe,
    f::MPI_Barrier,
    f::MPI_Bcast,
    f::MPI_Reduce,
    f::MPI_Allreduce,
    f::MPI_Gather,
    f::MPI_Allgather,
    f::MPI_Scatter,
    f::MPI_Alltoall,
    f::MPI_Alltoallv,
    f::MPI_Put,
    f::MPI_Get,
    f::MPI_Win_fence,
];

/// A total over all threads for one function.
struct OfFunction {
    function: usize,
    of: Of,
    interest: Interest,
    unit: fn(u64) -> u64,
}

impl Instrument for OfFunction {
    fn bind(&self, _object: u64) -> Result<Binding<'_>> {
        Ok(Binding::sampled(1))
    }

    fn sample(&self, _object: u64, _element: usize) -> Result<u64> {
        Ok((self.unit)(sum(|thread| (self.of)(thread, self.function))))
    }

    fn interest(&self, wanted: bool) {
        self.interest.set(wanted);
    }
}

/// Registers a counter of calls and a timer for each important function.
pub fn publish_important(registry: &Registry, categories: &mut Categories) {
    for function in IMPORTANT.map(|function| usize::from(function.0)) {
        let Some(name) = FUNCTIONS.get(function).map(|function| function.name) else { continue };
        let add = |spec: PvarSpec, of, bits, unit| {
            let instrument = OfFunction { function, of, interest: Interest::new(bits), unit };
            publish_call(categories, registry.add_pvar(spec.verbosity(Verbosity::USER_DETAIL), instrument));
        };
        let desc = format!("Completed calls of {name}. About 5 ns per MPI call");
        add(counter(&format!("mpiscope_{name}"), &desc), calls_of, CALLS, as_it_is);
        let estimated = u16::try_from(function).is_ok_and(|number| sites::is_short_start(FunctionId(number)));
        let how = if estimated {
            ", where these are short estimated from one in sixteen unless mpiscope_record_starts is set"
        } else {
            ""
        };
        let desc = format!("Seconds spent in completed calls of {name}{how}. About 20 ns per MPI call");
        add(timer(&format!("mpiscope_{name}_time"), &desc), ticks_of, TIMES, ticks::units);
    }
}
