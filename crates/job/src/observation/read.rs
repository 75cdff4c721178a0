//! Builds an observation from an image.

use super::communicators::Communicators;
use super::context::Context;
use super::requests;
use super::special::Special;
use super::{
    Call, Need, Observation, Receive, Stage, Thread, awaits_mpi, envelopes, faults, history, ledger, locks,
    one_sided, windows,
};
use super::{calls, collective_objects, message_calls, raised, thread_level};
use crate::model::abort;
use crate::model::locate::Locate;
use crate::model::process::{Process, ThreadFacts};
use crate::model::rank::{Rank, SymbolContext};
use mpi_abi::Moves;
use mpiscope_image::layout::State;
use mpiscope_image::{Image, Source};

/// Observes one process.
pub fn observe<S: Source>(rank: &Rank<'_, S>, context: &dyn Context) -> Observation {
    let process = rank.process();
    let special = Special::of(process.abi);
    let communicators = Communicators::read(rank);
    let requests = requests::Reader { rank, communicators: &communicators, special }.read();
    let calls = calls::Reader { rank, communicators: &communicators, requests: &requests, special, context };
    let mut threads: Vec<Thread> = process.threads.iter().map(|t| thread(t, &calls, context)).collect();
    let others = others(process, &threads, context);
    threads.extend(others);
    let message_calls = match context.compares_calls() {
        true => message_calls::read(rank, &communicators, &threads),
        false => Box::default(),
    };
    let envelopes = envelopes::read(rank);
    let on_objects = collective_objects::read(rank, &communicators);
    let ended = context.ended().filter(|_| !process.finalized());
    let mut observation = Observation {
        left: false,
        returned: None,
        clock_error_ns: None,
        job: process.job.clone(),
        world: process.world.clone(),
        begin_ns: process.begin_ns,
        rank: process.rank,
        size: process.size,
        launcher_rank: process.launcher_rank,
        host: process.host.clone(),
        pid: process.pid,
        stage: Stage::of(process.state),
        ended,
        bad_end: None,
        threads,
        posted: requests.posted,
        matched: requests.matched,
        collectives: requests.collectives,
        partitioned: requests.partitioned,
        not_started: Some(requests.not_started).filter(|found| !found.is_empty()).map(Box::new),
        windows: windows::read(rank, &communicators),
        history: history::read(rank),
        losses: process.losses.clone(),
        sent: envelopes.sent,
        received: envelopes.received,
        cancelled_receives: envelopes.cancelled_receives,
        message_calls,
        faults: faults::read(rank),
        forbidden: thread_level::read(rank, context.is_over()),
        ledger: None,
        one_sided: None,
        locks: Vec::new(),
        last: None,
        communicators: communicators.list.into_iter().chain(on_objects).collect(),
    };
    let receives = |name: &str| {
        let moves = process.functions.named(name).map(|function| function.properties.moves);
        matches!(moves, Some(Moves::RECEIVE | Moves::EXCHANGE))
    };
    observation.post_blocking(receives);
    observation
}

/// Threads that have never called MPI but may do so. Only for processes all of whose known threads wait:
/// another thread may yet end that wait.
fn others(process: &Process, threads: &[Thread], context: &dyn Context) -> Vec<Thread> {
    let waits = |thread: &Thread| thread.ended || thread.call.is_some() || awaits_mpi(&thread.doing);
    if !process.other_threads_may_call() || process.finalized() || !threads.iter().all(waits) {
        return Vec::new();
    }
    let seen = |tid| Thread { doing: context.doing(tid), at: context.at(tid), ..Thread::default() };
    context.others().into_iter().map(seen).collect()
}

/// Observes a process without asking the system.
pub fn of_messages<S: Source>(rank: &Rank<'_, S>) -> Observation {
    observe(rank, &Nobody { is_over: false })
}

/// Observes an image that is no longer written to, resolving its addresses to symbols.
pub fn of_image<S: Source>(image: &Image<S>, process: &Process, symbols: &dyn Locate) -> Observation {
    let context = SymbolContext::new(process, symbols);
    let rank = Rank::new(image, process, &context);
    let locks = locks::read(&locks::copy(image), process, &mut |from| rank.place(from));
    let (ledger, one_sided) = (ledger::read(&rank).map(Box::new), one_sided::read(&rank).map(Box::new));
    Observation { ledger, one_sided, locks, ..observe(&rank, &Nobody { is_over: true }) }
}

/// A context that answers nothing.
struct Nobody {
    is_over: bool,
}

impl Context for Nobody {
    fn compares_calls(&self) -> bool {
        false
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Observation {
    /// Adds blocking receives to the posted ones, after those posted earlier. `receives` tells whether a
    /// function does so: a probe waits for a message too, but leaves it in the queue.
    fn post_blocking(&mut self, receives: impl Fn(&str) -> bool) {
        let calls = self.threads.iter().filter_map(|thread| thread.call.as_ref());
        let waiting = calls.filter(|call| !call.polling && receives(&call.function));
        let needs = waiting.flat_map(|call| call.needs.iter().map(move |need| (call, need)));
        let blocking = needs.filter_map(|(call, need)| match need {
            // A receive with a request is already listed.
            Need::Message(receive) if receive.order == u64::MAX => {
                Some(Receive { place: call.place.as_deref().map(Box::from), ..receive.clone() })
            }
            _ => None,
        });
        let blocking: Vec<_> = blocking.collect();
        self.posted.extend(blocking);
    }
}

impl Stage {
    /// Returns the stage of a process in this state.
    #[must_use]
    pub fn of(state: State) -> Self {
        match state {
            State::UNCLAIMED => Self::Silent,
            State::STARTED => Self::Starting,
            State::FINALIZED => Self::Finalized,
            _ => Self::Running,
        }
    }
}

fn thread<S: Source>(facts: &ThreadFacts, calls: &calls::Reader<'_, '_, S>, context: &dyn Context) -> Thread {
    let process = calls.rank.process();
    let call = match context.ended().is_some() && abort::is_over(process, facts) {
        true => Some(Call {
            function: abort::FUNCTION.to_owned(),
            place: abort::place(calls.rank),
            ..Call::default()
        }),
        false => calls.call(facts),
    };
    let call = call.and_then(|call| match process.finalized() {
        false => Some(call),
        // Nothing is waited for any more, but the call may be what the library ended the process for.
        true => (!call.wrong.is_empty()).then(|| Call { needs: Vec::new(), any: false, ..call }),
    });
    let polls = process.polls(facts);
    let outside = call.is_none();
    Thread {
        calls: facts.calls.saturating_sub(polls),
        polls,
        steps: process.steps(facts),
        after: facts.last.as_ref().filter(|_| outside).map_or_else(String::new, |last| {
            let function = process.called(last);
            match calls.rank.place(facts.return_address) {
                Some(place) => format!("{function} at {place}"),
                None => function,
            }
        }),
        doing: match facts.tid {
            0 => String::new(),
            tid if outside => context.doing(tid),
            tid => context.stopped(tid).unwrap_or_default(),
        },
        at: if outside && facts.tid != 0 { context.at(facts.tid) } else { None },
        ended: facts.tid == 0,
        raised: raised::read(calls.rank, facts),
        call,
    }
}
