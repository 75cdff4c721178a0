//! The trace of a job: each call of each thread, and the messages between them; only if `--trace` was given.
//!
//! ```text
//! rings of a process ──► RankTrace (rank) ──┐
//! ledgers ──► pairs of ends (questions::why)┴──► JobTrace (job) ──► jsonl · perfetto · otf2
//! ```
//!
//! Times are nanoseconds since the first call of the trace. Ranks on one host share a clock; those on
//! different hosts are as far apart as their hosts' clocks.

mod arrows;
pub mod jsonl;
pub mod otf2;
pub mod perfetto;
mod rank;
#[cfg(test)]
mod tests;

pub use arrows::{End, Message};
pub use mpiscope_image::trace::{messages_size, size, window};

use crate::jobs::job::Job;
use crate::jobs::live_process::Reader;
use crate::jobs::worlds::{self, Worlds};
use crate::model::locate::Locate;
use crate::model::objects::{SharedNames, quoted};
use crate::model::process::Process;
use crate::observation::{Observation, of_image, share_names};
use crate::questions::process_file::{OneJob, ProcessFile};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

/// A completed call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Call {
    /// The function.
    pub function: Arc<str>,
    /// `file:line`, or function (otherwise module) and offset.
    pub place: Option<Arc<str>>,
    /// The communicator, window or file.
    pub object: Option<Arc<str>>,
    /// Its identity if several processes share it, otherwise zero.
    pub identity: u64,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Destination, source, root or target, as rank of the communicator; `None` if it is a constant.
    pub peer: Option<i32>,
    /// The name of that constant, such as `MPI_ANY_SOURCE`.
    pub peer_name: Option<Arc<str>>,
    /// The tag passed by the program; `None` for `MPI_ANY_TAG`.
    pub tag: Option<i32>,
    /// Bytes moved by this process in the call, or by the receives that it started, as in reports.
    pub bytes: u64,
    /// Number of the collective on its communicator, modulo 2^32; the same on all members.
    pub collective: Option<u32>,
    /// Number of enclosing open calls, if a user callback made this call.
    pub nested: u16,
}

/// The remaining calls of a thread (or of several that used the same record one after the other).
#[derive(Debug, Default, PartialEq)]
pub struct ThreadTrace {
    /// Index of the thread's record.
    pub thread: u64,
    /// Thread id; zero if the thread has ended.
    pub tid: u32,
    /// Ordered by start time.
    pub calls: Vec<Call>,
    /// Number of older calls that have been overwritten.
    pub gone: u64,
}

/// The trace of a process.
#[derive(Debug, Default, PartialEq)]
pub struct RankTrace {
    /// Number of its world; see [`Worlds`].
    pub world: usize,
    /// Its rank in that world, if known.
    pub rank: Option<u32>,
    #[allow(missing_docs)]
    pub host: String,
    #[allow(missing_docs)]
    pub pid: u32,
    /// Threads with calls.
    pub threads: Vec<ThreadTrace>,
    /// Whether the oldest messages are no longer recorded, so that their calls have no arrows.
    pub messages_gone: bool,
}

/// The trace of a job.
#[derive(Debug, Default)]
pub struct JobTrace {
    /// Ordered by world and rank.
    pub ranks: Vec<RankTrace>,
    /// Messages with both ends known.
    pub messages: Vec<Message>,
    /// Communicators by identity.
    pub comms: BTreeMap<u64, Comm>,
    /// Start of the trace, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Number of hosts, each of which has its own clock.
    pub hosts: usize,
}

/// A communicator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comm {
    /// Name, as text for users.
    pub name: String,
    /// Rank in the communicator, and index in [`JobTrace::ranks`], of the processes that still know it,
    /// ordered by rank; for an intercommunicator those of both groups, where a rank may occur twice.
    pub members: Vec<(u32, usize)>,
    /// Whether it is an intercommunicator.
    pub inter: bool,
}

/// A trace, and what could not be read for it.
pub struct Looked {
    #[allow(missing_docs)]
    pub trace: JobTrace,
    /// What could not be read.
    pub errors: Vec<String>,
}

/// What was read of a process.
struct Seen {
    trace: RankTrace,
    observation: Observation,
    process: Process,
    comms: HashMap<u64, String>,
}

/// Reads all processes of a job.
#[must_use]
pub fn of_job(job: &Job) -> Looked {
    let symbols = job.symbols();
    let (reader, mut seen, mut errors) = (Reader::default(), Vec::new(), Vec::new());
    for found in &job.images {
        match reader.read(found) {
            Ok(Some(living)) => {
                let symbols = found.symbols().map_or(&*symbols, |own| own.as_ref() as &dyn Locate);
                let looked = living.look(symbols, |rank| Ok((rank::read(rank)?, rank.identities())));
                let observation = of_image(&living.image, &living.process, symbols);
                match looked {
                    Ok((trace, comms)) => {
                        seen.push(Seen { trace, observation, process: living.process, comms });
                    }
                    Err::<_, mpiscope_image::Error>(why) => errors.push(why.to_string()),
                }
            }
            Ok(None) => {}
            // The process has ended since the list was made.
            Err(_) if !found.held() => {}
            Err(why) => errors.push(why.to_string()),
        }
    }
    Looked { trace: joined(seen), errors }
}

/// Reads core files and saved images, each of one process.
#[must_use]
pub fn of_files(paths: &[PathBuf], symbols: &dyn Locate) -> Looked {
    let (mut seen, mut errors) = (Vec::new(), Vec::new());
    let mut one_job = OneJob::default();
    for path in paths {
        let read = ProcessFile::open(path).map_err(|why| why.to_string()).and_then(|file| {
            errors.extend(one_job.other(path, &file.process));
            let looked = file.look(symbols, |rank| Ok((rank::read(rank)?, rank.identities())));
            let observation = of_image(&file.image, &file.process, symbols);
            let (trace, comms) = looked.map_err(|why: mpiscope_image::Error| why.to_string())?;
            Ok(Seen { trace, observation, process: file.process, comms })
        });
        match read {
            Ok(one) => seen.push(one),
            Err(why) => errors.push(why),
        }
    }
    Looked { trace: joined(seen), errors }
}

impl JobTrace {
    /// Returns the number of calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.threads().map(|thread| thread.calls.len() as u64).sum()
    }

    /// Returns the number of overwritten calls.
    #[must_use]
    pub fn gone(&self) -> u64 {
        self.threads().map(|thread| thread.gone).fold(0, u64::saturating_add)
    }

    /// Returns the number of messages with an end missing from the trace.
    #[must_use]
    pub fn messages_cut(&self) -> usize {
        self.messages.iter().filter(|message| message.is_cut()).count()
    }

    fn threads(&self) -> impl Iterator<Item = &ThreadTrace> {
        self.ranks.iter().flat_map(|rank| &rank.threads)
    }
}

/// Converts all times to one time axis and pairs the messages.
fn joined(mut seen: Vec<Seen>) -> JobTrace {
    worlds::settle(&mut seen.iter_mut().map(|one| &mut one.process).collect::<Vec<_>>());
    seen.iter_mut().for_each(|one| one.observation.world.clone_from(&one.process.world));
    let worlds = Worlds::of(seen.iter().map(|one| &one.process));
    seen.iter_mut().for_each(|one| one.trace.world = worlds.number(&one.process.world));
    seen.sort_by_key(|one| (one.trace.world, one.trace.rank, one.trace.pid));
    let offsets = offsets(&seen);
    let offset = |one: &Seen| offsets.get(&one.process.host).copied().unwrap_or(0);
    let first = |one: &Seen| {
        let calls = one.trace.threads.iter().filter_map(|thread| thread.calls.first());
        Some(calls.map(|call| call.begin_ns).min()?.saturating_add_signed(offset(one)))
    };
    let start_unix_ns = seen.iter().filter_map(first).min().unwrap_or(0);
    let later: Vec<i64> =
        seen.iter().map(|one| offset(one).wrapping_sub(start_unix_ns.cast_signed())).collect();
    for (one, later) in seen.iter_mut().zip(&later) {
        for call in one.trace.threads.iter_mut().flat_map(|thread| &mut thread.calls) {
            call.begin_ns = call.begin_ns.saturating_add_signed(*later);
            call.end_ns = call.end_ns.saturating_add_signed(*later).max(call.begin_ns);
        }
    }
    let mut names = BTreeMap::new();
    seen.iter().for_each(|one| names.extend(one.comms.iter().map(|(comm, name)| (*comm, name.clone()))));
    let hosts = offsets.len();
    let (mut observations, mut ranks): (Vec<_>, Vec<_>) =
        seen.into_iter().map(|one| (one.observation, one.trace)).unzip();
    let given = share_names(&mut observations);
    for (identity, label) in &mut names {
        given.of(*identity).into_iter().for_each(|name| *label = quoted(name));
    }
    call_by(&given, &mut ranks);
    let messages = arrows::find(&observations, &ranks, &later, &names);
    add_received(&messages, &mut ranks);
    let comms = comms(&observations, names);
    JobTrace { ranks, messages, comms, start_unix_ns, hosts }
}

/// Adds to the calls that started receives what was received later: a call is recorded when it returns.
fn add_received(messages: &[Message], ranks: &mut [RankTrace]) {
    let call = |rank: &RankTrace, (thread, at): (usize, usize)| -> Option<u64> {
        Some(rank.threads.get(thread)?.calls.get(at)?.bytes)
    };
    let mut later: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
    for message in messages.iter().filter(|message| message.received_ns.is_some()) {
        let End { rank, call: got, .. } = message.received;
        // A blocking receive has counted it, also after a matching probe.
        let counted = got.and_then(|got| call(ranks.get(rank)?, got)).is_some_and(|bytes| bytes > 0);
        if let Some(posted) = message.posted.filter(|posted| Some(*posted) != got && !counted) {
            *later.entry((rank, posted.0, posted.1)).or_default() += message.bytes;
        }
    }
    for ((rank, thread, at), bytes) in later {
        let thread = ranks.get_mut(rank).and_then(|rank| rank.threads.get_mut(thread));
        if let Some(call) = thread.and_then(|thread| thread.calls.get_mut(at)) {
            call.bytes = call.bytes.saturating_add(bytes);
        }
    }
}

/// Gives shared objects these names in the calls of all ranks.
fn call_by(names: &SharedNames, ranks: &mut [RankTrace]) {
    let mut labels: HashMap<u64, Option<Arc<str>>> = HashMap::new();
    for call in ranks.iter_mut().flat_map(|rank| &mut rank.threads).flat_map(|thread| &mut thread.calls) {
        let label = || names.of(call.identity).map(|name| quoted(name).into());
        if let Some(shared) = labels.entry(call.identity).or_insert_with(label) {
            call.object = Some(Arc::clone(shared));
        }
    }
}

/// Returns the communicators, with the members that know them; the observations are in the order of the
/// ranks.
fn comms(observations: &[Observation], names: BTreeMap<u64, String>) -> BTreeMap<u64, Comm> {
    let named = |(identity, name)| (identity, Comm { name, ..Comm::default() });
    let mut all: BTreeMap<u64, Comm> = names.into_iter().map(named).collect();
    for (at, seen) in observations.iter().enumerate() {
        for comm in seen.communicators.iter().filter(|comm| comm.identity != 0) {
            let entry = all.entry(comm.identity).or_default();
            entry.inter |= comm.remote.is_some();
            entry.members.push((comm.rank, at));
        }
    }
    for comm in all.values_mut() {
        comm.members.sort_unstable();
        comm.members.dedup();
    }
    all
}

/// Returns the offset from each host's clock to nanoseconds since 1970. Processes of a host have read both
/// clocks at different times; the offset of one of them is used for all, so that their order is preserved.
fn offsets(seen: &[Seen]) -> HashMap<String, i64> {
    let mut offsets = HashMap::new();
    for one in seen {
        let clock = &one.process.clock;
        let offset = clock.start_unix_ns().wrapping_sub(clock.start_ns()).cast_signed();
        offsets.entry(one.process.host.clone()).or_insert(offset);
    }
    offsets
}
