//! Calls of threads that the granted level of thread support forbids.
//!
//! The threads' ordinary records are the proof: which thread made a call, and that two threads are in calls at the
//! same moment, or together spent more time in calls than has passed. Only communication calls count: some
//! libraries allow others at any time, and the standard allows some of them.

use crate::model::process::{Process, ThreadFacts};
use crate::model::rank::Rank;
use mpi_abi::Class;
use mpiscope_image::layout::{self, SectionKind};
use mpiscope_image::sites::Site;
use mpiscope_image::{Function, Source};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Limits on the call site records read, and on the calls reported.
const MOST_RECORDS: u64 = 1 << 14;
const MOST: usize = 8;

/// The levels below `MPI_THREAD_MULTIPLE`.
const LEVELS: [&str; 3] = ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"];
const SERIALIZED: usize = 2;

/// A call that the level of thread support forbids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Forbidden {
    /// The level.
    pub level: String,
    /// The call.
    pub call: At,
    /// The call that another thread was in at the same time; `None` if the thread itself is the wrong one.
    pub with: Option<At>,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct At {
    /// The function.
    pub function: String,
    /// The line of the user's code.
    pub place: Option<String>,
}

impl Forbidden {
    /// Describes it as text for users.
    #[must_use]
    pub fn said(&self) -> String {
        let (call, level) = (&self.call, &self.level);
        match &self.with {
            None => {
                format!("{call} was called by a thread other than the one that initialized MPI, with {level}")
            }
            Some(other) => format!("{call} and {other} were called by two threads at once, with {level}"),
        }
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        write!(f, "{}{at}", self.function)
    }
}

/// Function and return address.
type Place = (u32, u64);

/// Reads the forbidden calls of a process; `over` says that its image no longer changes.
pub(super) fn read<S: Source>(rank: &Rank<'_, S>, over: bool) -> Vec<Forbidden> {
    let process = rank.process();
    let Some(level) = LEVELS.get(process.thread_level as usize).filter(|_| is_granted(process)) else {
        return Vec::new();
    };
    let threads: Vec<&ThreadFacts> =
        process.threads.iter().filter(|thread| communicates(process, thread)).collect();
    let forbidden = |call, with| Forbidden { level: (*level).to_owned(), call: at(rank, call), with };
    if process.thread_level as usize == SERIALIZED {
        let found = at_once(process, &threads, over, || sites(rank));
        return found.map(|(one, other)| forbidden(one, Some(at(rank, other)))).into_iter().collect();
    }
    let others: Vec<_> = threads.iter().filter(|thread| thread.index != process.main_thread).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let known = sites(rank);
    let made = known.iter().filter(|((thread, _), _)| others.iter().any(|other| other.index == *thread));
    let made = made.map(|((_, place), _)| *place);
    let open = others.iter().filter_map(|thread| open(process, thread));
    let mut calls: Vec<Place> = made.chain(open).collect();
    calls.sort_unstable();
    calls.dedup();
    calls.into_iter().take(MOST).map(|place| forbidden(place, None)).collect()
}

/// Whether the level is that of the world model, started by the main thread: sessions have their own levels.
fn is_granted(process: &Process) -> bool {
    let main = process.threads.iter().find(|thread| thread.index == process.main_thread);
    let has = |thread: &ThreadFacts, names: &[&str]| {
        let mut counted = thread.counters.iter().filter(|counted| counted.count > 0);
        counted.any(|counted| names.contains(&process.function(counted.function).as_str()))
    };
    let by_session = |thread| has(thread, &["MPI_Session_init"]);
    main.is_some_and(|main| has(main, &["MPI_Init", "MPI_Init_thread"]))
        && !process.threads.iter().any(by_session)
}

fn is_communication(function: &Function) -> bool {
    let classes = [
        Class::POINT_TO_POINT,
        Class::REQUESTS,
        Class::COLLECTIVE,
        Class::ONE_SIDED,
        Class::IO,
        Class::DYNAMIC,
    ];
    classes.contains(&function.properties.class)
}

fn communicates(process: &Process, thread: &ThreadFacts) -> bool {
    let known = |number: usize| process.functions.get(u32::try_from(number).ok()?);
    let made = thread.counters.iter().filter(|counted| counted.count > 0);
    open(process, thread).is_some()
        || made.filter_map(|counted| known(counted.function)).any(is_communication)
}

/// Returns the communication call that a thread is in.
fn open(process: &Process, thread: &ThreadFacts) -> Option<Place> {
    let call: &layout::Call = thread.call.as_ref().filter(|_| !thread.torn && thread.tid != 0)?;
    process.facts(call).filter(|function| is_communication(function))?;
    Some((call.open()?, call.return_address.get()))
}

/// Returns the calls of two threads that were in MPI at the same moment.
fn at_once(
    process: &Process,
    threads: &[&ThreadFacts],
    over: bool,
    sites: impl FnOnce() -> BTreeMap<(u64, Place), u64>,
) -> Option<(Place, Place)> {
    if threads.len() < 2 || !process.times {
        return None;
    }
    // All records were read after this time; a call that began later may have begun after another one ended.
    let looked = process.clock.ticks_at(process.clock.end_ns());
    let inside = threads.iter().filter(|thread| over || thread.since <= looked);
    let mut inside = inside.filter_map(|thread| open(process, thread));
    if let (Some(one), Some(other)) = (inside.next(), inside.next()) {
        return Some((one, other));
    }
    // From here on only completed calls are considered.
    let there_was = threads.iter().map(|thread| thread.since).max()?.saturating_sub(process.init_enter);
    let spent: u64 = threads.iter().map(|thread| timed(thread)).sum();
    // The counters of two processors may differ slightly.
    if there_was == 0 || spent <= there_was.saturating_add(there_was / 100) {
        return None;
    }
    let known = sites();
    let mut longest = threads.iter().filter_map(|thread| {
        let own = known.iter().filter(|((index, _), _)| *index == thread.index);
        let ((_, place), ticks) = own.max_by_key(|(_, ticks)| **ticks)?;
        Some((*ticks, *place))
    });
    let (mut one, mut other) = (longest.next()?, longest.next()?);
    for next in longest {
        if other.0 > one.0 {
            std::mem::swap(&mut one, &mut other);
        }
        if next.0 > other.0 {
            other = next;
        }
    }
    Some((one.1, other.1))
}

/// Ticks that a thread was seen to spend in calls: without those of functions whose time is an estimate.
fn timed(thread: &ThreadFacts) -> u64 {
    let estimated = thread.counters.iter().filter(|counted| counted.estimated > 0);
    let estimated = estimated.fold(0u64, |sum, counted| sum.saturating_add(counted.ticks));
    thread.mpi_ticks.saturating_sub(estimated)
}

/// Ticks by thread and place, of calls that communicate.
fn sites<S: Source>(rank: &Rank<'_, S>) -> BTreeMap<(u64, Place), u64> {
    let image = rank.image();
    let table = image.table::<Site>(SectionKind::SITES).unwrap_or_default();
    let mut found: BTreeMap<(u64, Place), u64> = BTreeMap::new();
    for index in 0..table.len().min(MOST_RECORDS) {
        let Ok(site) = image.get::<Site>(&table, index).map(|record| record.value) else { continue };
        let Some(function) = site.function.get().checked_sub(1) else { continue };
        let known = rank.process().functions.get(function);
        if site.count.get() > 0 && known.is_some_and(is_communication) {
            let ticks = found.entry((site.thread.get().into(), (function, site.from.get()))).or_default();
            *ticks = ticks.saturating_add(site.ticks.get());
        }
    }
    found
}

fn at<S: Source>(rank: &Rank<'_, S>, (function, from): Place) -> At {
    At { function: rank.process().function(function as usize), place: rank.place(from) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::base::clock::Moment;
    use crate::model::locate::NoSymbols;
    use crate::model::rank::SymbolContext;
    use crate::sources::image_source::open_fd;
    use crate::test_image::TestImage;
    use mpiscope_image::layout::Thread;

    /// A process with a second thread.
    struct Sample {
        image: TestImage,
        other: &'static Thread,
    }

    impl Sample {
        fn with(level: u32) -> Self {
            let image = TestImage::new("levels", 0, 2);
            image.thread_level(level);
            image.called("MPI_Init_thread", 1, 10, 0);
            let (_, other) = image.writer.new_record::<Thread>(SectionKind::THREADS, 2).unwrap();
            other.tid.set(7);
            Self { image, other }
        }

        fn thread(&self, thread: u32) -> &'static Thread {
            if thread == 0 { self.image.thread } else { self.other }
        }

        /// A thread has called a function.
        fn called(&self, thread: u32, name: &str, ticks: u64) {
            let function = self.image.number(name);
            self.thread(thread).counters[function].count.add_mine(1);
            self.thread(thread).mpi_ticks.add_mine(ticks);
            let (_, site) = self.image.writer.new_record::<Site>(SectionKind::SITES, 8).unwrap();
            site.thread.set(thread);
            site.count.set(1);
            site.ticks.set(ticks);
            site.function.set(function as u32 + 1);
        }

        fn inside(&self, thread: u32, name: &str) {
            let call = &self.thread(thread).call;
            call.begin(self.image.number(name) as u32);
            call.since.set(Moment::now().monotonic_ns);
        }

        fn forbidden(&self) -> Vec<String> {
            let image = open_fd(self.image.fd.try_clone().unwrap(), "sample").unwrap();
            let process = Process::read(&image, Some(Moment::now())).unwrap();
            let context = SymbolContext::new(&process, &NoSymbols);
            let found = read(&Rank::new(&image, &process, &context), true);
            found.iter().map(Forbidden::said).collect()
        }
    }

    #[test]
    fn a_call_by_another_thread_is_forbidden_if_only_one_may_call() {
        let funneled = Sample::with(1);
        funneled.called(0, "MPI_Send", 5);
        funneled.called(1, "MPI_Recv", 5);
        let wanted = "MPI_Recv was called by a thread other than the one that initialized MPI, with MPI_THREAD_FUNNELED";
        assert_eq!(funneled.forbidden(), [wanted]);
        let single = Sample::with(0);
        single.inside(1, "MPI_Barrier");
        assert!(single.forbidden()[0].starts_with("MPI_Barrier"), "its first call has not returned");
    }

    #[test]
    fn calls_that_any_thread_may_make_or_that_do_no_harm_are_allowed() {
        let sample = Sample::with(1);
        let allowed =
            ["MPI_Initialized", "MPI_Is_thread_main", "MPI_Info_create", "MPI_Error_string", "MPI_Wtime"];
        for name in allowed {
            sample.called(1, name, 5);
        }
        sample.called(0, "MPI_Barrier", 5);
        assert_eq!(sample.forbidden(), [""; 0]);
        let multiple = Sample::with(3);
        multiple.inside(0, "MPI_Barrier");
        multiple.inside(1, "MPI_Recv");
        assert_eq!(multiple.forbidden(), [""; 0]);
        let by_session = Sample::with(0);
        by_session.called(0, "MPI_Session_init", 5);
        by_session.called(1, "MPI_Recv", 5);
        assert_eq!(by_session.forbidden(), [""; 0], "a session has a level of its own");
    }

    #[test]
    fn serialized_threads_may_take_turns_but_not_be_in_mpi_at_once() {
        let serialized = Sample::with(2);
        serialized.called(0, "MPI_Send", 5);
        serialized.called(1, "MPI_Recv", 5);
        serialized.inside(1, "MPI_Recv");
        assert_eq!(serialized.forbidden(), [""; 0]);
        serialized.inside(0, "MPI_Barrier");
        let wanted =
            "MPI_Barrier and MPI_Recv were called by two threads at once, with MPI_THREAD_SERIALIZED";
        assert_eq!(serialized.forbidden(), [wanted]);
    }

    #[test]
    fn threads_that_spent_more_time_in_mpi_than_has_passed_were_there_at_once() {
        let spent = |each: u64| {
            let serialized = Sample::with(2);
            serialized.called(0, "MPI_Recv", each);
            serialized.called(1, "MPI_Bcast", each);
            serialized.other.call.since.set(Moment::now().monotonic_ns + 1_000_000);
            serialized.forbidden()
        };
        assert_eq!(spent(10), [""; 0]);
        assert_eq!(spent(10_000_000_000).len(), 1);
    }
}
