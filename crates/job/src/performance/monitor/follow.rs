//! Follows one process: copies what changes, and reads everything else only when it is new.

use super::messages::{Copied, Messages};
use super::windows::Reading;
use super::{Clocks, places};
use crate::base::clock::Moment;
use crate::base::modules::Modules;
use crate::jobs::job_image::maps;
use crate::jobs::placement;
use crate::model::process::{Process, ThreadFacts, threads};
use crate::model::rank::{Rank, SymbolContext};
use crate::observation::communicators::{members, remote, sources};
use crate::observation::ledger::{self, Called, Waited};
use crate::observation::{Communicator, Context, Observation, Stage, history, locks, observe};
use crate::performance::waits::{
    Spent, can_wait_for_messages, is_collective_that_waits, is_looked_at, makes_persistent_collective,
};
use crate::sources::image_source::{Bytes, open_fd};
use mpiscope_image::derive::Share;
use mpiscope_image::derive::members::is_inter;
use mpiscope_image::history as ring;
use mpiscope_image::layout::{self, ClockKind, SectionKind, State};
use mpiscope_image::objects::{Comm, Life};
use mpiscope_image::{Image, Table};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

/// Maximum number of communicators examined per process.
const MOST_COMMS: u64 = 1 << 12;

/// A process, accessed through its image.
pub struct Follower {
    file: File,
    /// The process on this host, once its process id is known to refer to it.
    process: Option<Living>,
    open: Option<Open>,
}

/// A process on this host.
struct Living {
    pid: u32,
    /// Readable once the process has ended; `None` if that cannot be observed.
    ends: Option<OwnedFd>,
}

impl Living {
    /// Returns the process with this id if it has mapped this file.
    fn of(pid: u32, inode: u64) -> Option<Self> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        let ends = pidfd_open(number, PidfdFlags::empty()).ok();
        // In another PID namespace the id may belong to another process.
        maps(pid, inode).then_some(Self { pid, ends })
    }

    fn has_ended(&self) -> bool {
        let now = Some(&Timespec::default());
        let readable = |ends| poll(&mut [PollFd::new(ends, PollFlags::IN)], now);
        self.ends.as_ref().is_some_and(|ends| readable(ends).is_ok_and(|count| count > 0))
    }
}

/// An image with the length it had when opened.
struct Open {
    bytes: u64,
    image: Image<Bytes>,
    process: Process,
    /// Number of modules and call paths that the process's are known to include.
    modules: u64,
    /// By function number: whether it is a waiting collective.
    collectives: Vec<bool>,
    /// By function number: whether it can wait for messages.
    waiting: Vec<bool>,
    /// By function number: whether its waits are found by sampling.
    looked_at: Vec<bool>,
    /// By function number: whether it creates persistent collectives.
    persistent: Vec<bool>,
    /// By identity.
    comms: HashMap<u64, Communicator>,
    places: HashMap<u64, String>,
    messages: Messages,
    called: HashMap<(u64, usize), Arc<Called>>,
}

/// The state of a process's threads at one moment.
#[derive(PartialEq, Eq)]
pub struct Stand {
    /// Whether it records individual messages.
    pub records: bool,
    /// Whether a thread is in a call whose waits are found by sampling.
    pub waits: bool,
    /// For each thread, when its last call began or ended, and the function if it is inside.
    calls: Vec<(u64, Option<u32>)>,
}

/// Data copied from a process.
pub struct Taken {
    now: Moment,
    rings: Vec<history::Copied>,
    messages: Option<Copied>,
    locks: Vec<locks::Copied>,
    /// When it last marked an iteration, in ticks, and the number of marks so far.
    marked: Option<(u64, u64)>,
    threads: Vec<ThreadFacts>,
}

impl Follower {
    /// Starts following a process.
    pub fn new(fd: OwnedFd) -> Self {
        Self { file: File::from(fd), process: None, open: None }
    }

    /// Copies what changes: the most recent collectives, the counters.
    pub fn take(&mut self, clocks: &Clocks) -> Option<Taken> {
        self.open(clocks)?;
        self.open.as_mut()?.take()
    }

    /// Opens the image if the process has called MPI; reopens it if it has grown or the process has moved on.
    fn open(&mut self, clocks: &Clocks) -> Option<()> {
        let about = self.file.metadata().ok()?;
        let bytes = about.len();
        if self.open.as_ref().is_some_and(|open| open.bytes == bytes && open.is_current()) {
            return Some(());
        }
        let image = open_fd(self.file.try_clone().ok()?.into(), "image").ok()?;
        let modules = Modules::count(&image);
        let mut process = Process::read(&image, Some(Moment::now())).ok()?;
        if !process.called_mpi() || !process.times {
            return None;
        }
        if self.process.is_none() {
            self.process = Living::of(process.pid, about.ino());
        }
        let counts = image.header().ok()?.clock.kind.get() == ClockKind::COUNTER.0;
        process.clock = if counts { clocks.counter.clone() } else { clocks.plain.clone() };
        let function = |number| process.functions.get(number).map(|function| function.base.as_str());
        let collectives = (0..).map_while(function).map(is_collective_that_waits).collect();
        let waiting = (0..).map_while(function).map(can_wait_for_messages).collect();
        let recorded = ledger::is_kept(&image);
        let persistent = (0..).map_while(function).map(makes_persistent_collective).collect();
        let looked_at = (0..).map_while(function).map(|name| is_looked_at(name, recorded)).collect();
        let before = self.open.take();
        let kept = |open: Open| (open.comms, open.places, open.messages, open.called);
        let (comms, places, messages, called) = before.map_or_else(Default::default, kept);
        self.open = Some(Open {
            bytes,
            image,
            process,
            modules,
            collectives,
            waiting,
            looked_at,
            persistent,
            comms,
            places,
            messages,
            called,
        });
        Some(())
    }

    /// Returns its state, opening the image if necessary.
    pub fn stand(&mut self, clocks: &Clocks, now: Moment) -> Option<Stand> {
        self.open(clocks)?;
        let open = self.open.as_mut()?;
        open.process.clock = open.process.clock.clone().at(now.monotonic_ns);
        let thread = |thread: ThreadFacts| match open.process.polling_since(&thread) {
            // A polling loop counts as unchanged as long as it does nothing else.
            Some(since) => (since, thread.polling.function),
            None => (thread.since, thread.call.as_ref().and_then(|call| call.open())),
        };
        let calls: Vec<_> = threads(&open.image).ok()?.into_iter().map(thread).collect();
        let inside = calls.iter().filter_map(|(_, function)| *function);
        // Some collectives are not numbered. Calls that may be such collectives, or complete them, are
        // sampled.
        let uncounted = open.makes_persistent() || open.comms.values().any(|comm| comm.callers().is_none());
        let one_of = |wanted: &[bool], function| wanted.get(function as usize) == Some(&true);
        let waits = inside.into_iter().any(|function| {
            let may_be = one_of(&open.collectives, function) || one_of(&open.waiting, function);
            one_of(&open.looked_at, function) || uncounted && may_be
        });
        Some(Stand { records: ledger::is_kept(&open.image), waits, calls })
    }

    /// Returns whether it is known to have ended, whatever its image says.
    pub fn has_ended(&self) -> bool {
        self.process.as_ref().is_some_and(Living::has_ended)
    }

    /// Observes all its current calls and requests, which takes much longer than a copy.
    pub fn whole(&mut self, now: Moment) -> Option<Observation> {
        let open = self.open.as_mut()?;
        open.process.threads = threads(&open.image).ok()?;
        open.read_modules();
        let context = SymbolContext::new(&open.process, &places::Noting);
        let rank = Rank::new(&open.image, &open.process, &context);
        Some(observe(&rank, &Running { now_ns: now.monotonic_ns }))
    }

    /// Interprets a copy.
    pub fn understand(&mut self, taken: &Taken) -> Option<(Observation, Reading)> {
        let open = self.open.as_mut()?;
        let resident = self.process.as_ref().and_then(|process| placement::resident(process.pid));
        Some((open.observation(taken), Reading { resident, ..open.reading(taken) }))
    }
}

/// Returns the communicator of a window or file.
fn parent(
    image: &Image<Bytes>,
    table: &Table,
    comms: &HashMap<u64, Communicator>,
    uid: u64,
) -> Option<Communicator> {
    let records = (0..table.len().min(MOST_COMMS)).filter_map(|index| image.get::<Comm>(table, index).ok());
    let identity = records.map(|record| record.value.head).find(|head| head.uid.get() == uid)?.identity.get();
    comms.get(&identity).filter(|comm| comm.remote.is_none()).cloned()
}

/// Returns the last call of a process with a single thread in MPI, if that is outside now. The program's line
/// is unknown if a Fortran binding made the call.
fn returned(
    process: &Process,
    threads: &[ThreadFacts],
    call: &mut dyn FnMut(u64, usize) -> Arc<Called>,
) -> Option<Waited> {
    let [thread] = threads else { return None };
    let (last, from) = (thread.last.as_ref()?, thread.return_address);
    let polls = || process.polling_since(thread).is_some();
    if thread.torn || thread.since == 0 || polls() || process.in_binding(from) {
        return None;
    }
    let until_ns = process.clock.ns_at(thread.since);
    let call = call(from, last.ended()? as usize);
    Some(Waited { from_ns: until_ns.checked_sub(1)?, until_ns, call })
}

/// A process that is not asked what it does outside MPI.
struct Running {
    now_ns: u64,
}

impl Context for Running {
    fn compares_calls(&self) -> bool {
        false
    }

    fn age(&self, process: &Process, since: u64) -> Option<f64> {
        Some(self.now_ns.saturating_sub(process.clock.ns_at(since)) as f64 / 1e9)
    }
}

impl Open {
    fn is_current(&self) -> bool {
        let state = self.image.header().ok().map(|header| header.state.get());
        // Inside `MPI_Init` a process learns its identity step by step.
        state == Some(self.process.state.0)
            && self.process.state != State::STARTED
            && self.process.rank.is_some()
    }

    /// Reads the modules and call paths if there are more than before. They are written before any record
    /// that refers to them, so after this every place in an earlier copy is known.
    fn read_modules(&mut self) {
        let count = Modules::count(&self.image);
        if count != self.modules
            && let Ok(modules) = Modules::read(&self.image)
        {
            (self.process.modules, self.modules) = (modules, count);
        }
    }

    /// Returns whether it has created a persistent collective.
    fn makes_persistent(&self) -> bool {
        let is_one = |function: usize| self.persistent.get(function) == Some(&true);
        let counted = threads(&self.image).unwrap_or_default();
        counted.iter().flat_map(|thread| &thread.counters).any(|one| one.count > 0 && is_one(one.function))
    }

    fn take(&mut self) -> Option<Taken> {
        let taken = self.copy();
        self.read_modules();
        taken
    }

    fn copy(&mut self) -> Option<Taken> {
        let image = &self.image;
        let table = image.table::<Comm>(SectionKind::COMMS).ok()?;
        let mut rings = Vec::new();
        for index in 0..table.len().min(MOST_COMMS) {
            let Ok(record) = image.get::<Comm>(&table, index) else { continue };
            let comm = record.value;
            let (identity, newest) = (comm.head.identity.get(), comm.collectives.get());
            let unused = comm.head.life.get() == Life::EMPTY.0;
            let alone = comm.size.get() < 2 && !is_inter(&comm);
            if record.torn || unused || identity == 0 || alone {
                continue;
            }
            let Ok(entered) = ring::read(image, comm.history.get(), newest) else { continue };
            rings.push((identity, newest, entered));
            self.comms.entry(identity).or_insert_with(|| Communicator {
                identity,
                rank: comm.rank.get(),
                members: members(image, &comm.members),
                size: comm.size.get(),
                remote: remote(image, &comm),
                sources: sources(image, &comm),
                ..Communicator::default()
            });
        }
        for ring in history::Ring::of_objects(image) {
            if !self.comms.contains_key(&ring.of)
                && let Some(parent) = parent(image, &table, &self.comms, ring.parent)
            {
                self.comms.insert(ring.of, Communicator { identity: ring.of, ..parent });
            }
            rings.extend(ring.copy(image));
        }
        let (messages, locks) = (self.messages.copy(image), locks::copy(image));
        let now = Moment::now();
        Some(Taken { now, rings, messages, locks, marked: self.marked(), threads: threads(image).ok()? })
    }

    fn marked(&self) -> Option<(u64, u64)> {
        let table = self.image.table::<layout::Process>(SectionKind::PROCESS).ok()?;
        let process = self.image.get::<layout::Process>(&table, 0).ok()?.value;
        let (at, count) = (process.marked_at.get(), process.marks.get());
        (count > 0 && at > 0).then_some((at, count))
    }

    fn observation(&mut self, taken: &Taken) -> Observation {
        let Self { process, comms, places, messages, called, .. } = self;
        comms.retain(|identity, _| taken.rings.iter().any(|(known, ..)| known == identity));
        // A place that is not known yet may be known next time.
        let mut place = |address: u64| {
            if let Some(known) = places.get(&address) {
                return Some(known.clone());
            }
            let noted = places::noted(&process.modules, address)?;
            places.insert(address, noted.clone());
            Some(noted)
        };
        let history =
            taken.rings.iter().filter(|(_, newest, _)| *newest > 0).map(|(comm, newest, entered)| {
                history::of_entered(*comm, *newest, entered, process, &mut place)
            });
        let history = history.collect();
        let locks = locks::read(&taken.locks, process, &mut place);
        let mut call = |from, function| {
            if let Some(known) = called.get(&(from, function)) {
                return Arc::clone(known);
            }
            let new = Arc::new(Called { function: process.function(function), place: place(from) });
            if from == 0 || new.place.is_some() {
                called.insert((from, function), Arc::clone(&new));
            }
            new
        };
        let returned = returned(process, &taken.threads, &mut call);
        let ledger = taken.messages.as_ref();
        Observation {
            returned,
            ledger: ledger.map(|copied| Box::new(messages.ledger(copied, &process.clock, &mut call))),
            world: process.world.clone(),
            rank: process.rank,
            size: process.size,
            host: process.host.clone(),
            pid: process.pid,
            stage: Stage::Running,
            history,
            locks,
            communicators: comms.values().cloned().collect(),
            ..Observation::default()
        }
    }

    fn reading(&self, taken: &Taken) -> Reading {
        let process = &self.process;
        let window = process.window(taken.now.monotonic_ns);
        let share = Share::of_rank(taken.threads.iter().map(ThreadFacts::view), window);
        let seconds = |ticks: u64| process.clock.seconds(ticks);
        let inside = |wanted: &[bool]| {
            let counters = taken.threads.iter().flat_map(|thread| &thread.counters);
            let those = counters.filter(|counted| wanted.get(counted.function) == Some(&true));
            those.map(|counted| seconds(counted.ticks)).sum()
        };
        Reading {
            process: 0,
            world: process.world.clone(),
            rank: process.rank,
            pid: process.pid,
            host: process.host.clone(),
            wall_s: seconds(window.ticks()),
            until_ns: process.clock.ns_at(window.end),
            time_s: seconds(share.time),
            mpi_s: seconds(share.mpi),
            polling_s: seconds(share.polling),
            spent: Spent { collectives: inside(&self.collectives), messages: inside(&self.waiting) },
            resident: None,
            marked: taken.marked.map(|(at, count)| (process.clock.ns_at(at), count)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::base::clock::TickClock;
    use crate::test_image::TestImage;
    use mpiscope_image::call_path::{self, CallPath};
    use mpiscope_image::history::{Entered, RING};

    /// Records that a library has called `MPI_Barrier` in a place where it had not called it before.
    fn barrier_in_a_new_place(rank: &TestImage, comm: &Comm, number: u64) {
        let (path, new) = rank.writer.new_record::<CallPath>(SectionKind::CALL_PATHS, 8).unwrap();
        new.caller.set(0x2000 + number);
        new.site.set(0x1000 + number);
        if number == 1 {
            let (first, _) = rank.writer.new_array::<Entered>(SectionKind::COLLECTIVES, RING, RING).unwrap();
            comm.history.set(first + 1);
        }
        let entered: &Entered = rank.writer.record(SectionKind::COLLECTIVES, number).unwrap();
        entered.write(number, |entered| {
            entered.from.set(call_path::address(path));
            entered.function.set(rank.number("MPI_Barrier") as u16 + 1);
            entered.entered.set(1);
        });
        comm.collectives.set(number);
    }

    #[test]
    fn the_last_call_is_known_once_it_has_returned() {
        let rank = TestImage::new("returned", 0, 2);
        let now = Moment::now();
        let clocks = Clocks {
            counter: TickClock::of_host(now, now, true),
            plain: TickClock::of_host(now, now, false),
        };
        let mut follower = Follower::new(rank.fd.try_clone().unwrap());
        let mut look = || {
            let taken = follower.take(&clocks).unwrap();
            follower.understand(&taken).unwrap().0.returned
        };
        rank.enters("MPI_Send", [0x4400_0000, 0, 1], 1, 7);
        assert_eq!(look(), None, "it has not");
        rank.leaves();
        let last = look().unwrap();
        assert_eq!((last.call.function.as_str(), last.until_ns - last.from_ns), ("MPI_Send", 1));
    }

    #[test]
    fn a_place_that_appears_while_the_process_is_read_is_known_in_the_copy_that_refers_to_it() {
        let rank = TestImage::new("appearing", 0, 2);
        let comm = rank.shares_comm(0x4400_0000, "MPI_COMM_WORLD", 2, 7);
        let now = Moment::now();
        let clocks = Clocks {
            counter: TickClock::of_host(now, now, true),
            plain: TickClock::of_host(now, now, false),
        };
        let mut follower = Follower::new(rank.fd.try_clone().unwrap());
        for number in 1..=2 {
            follower.open(&clocks).unwrap();
            barrier_in_a_new_place(&rank, comm, number);
            let taken = follower.open.as_mut().unwrap().take().unwrap();
            let (seen, _) = follower.understand(&taken).unwrap();
            let places: Vec<_> = seen.history[0].kinds.iter().map(|kind| kind.place.as_deref()).collect();
            let all = [Some("0x1001 (from 0x2001)"), Some("0x1002 (from 0x2002)")];
            assert_eq!(places, all[..number as usize], "collective {number}");
        }
    }
}
