//! What every thread of a rank is currently doing, in the terms of the MPI standard.

use crate::model::objects::{Reference, SharedNames};
use crate::model::process::{Process, ThreadFacts};
use crate::model::rank::Rank;
use mpi_abi::{ObjectKind, Role};
use mpiscope_image::Source;
use mpiscope_image::derive::Activity;
use mpiscope_image::layout::{Call, State};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The current state of a rank.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankStatus {
    /// Rank in `MPI_COMM_WORLD`, if known.
    pub rank: Option<u32>,
    /// Size of the world, if known.
    pub size: Option<u32>,
    /// Name of the world.
    pub world: String,
    /// Number of the world in the job, by [`Worlds`](crate::Worlds); 0 before worlds are numbered.
    pub world_number: usize,
    /// Host name.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// How far the process has come, in words.
    pub state: String,
    /// Whether the process is alive.
    pub alive: bool,
    /// Whether something is wrong: it ended without `MPI_Finalize`, or called `MPI_Abort`.
    pub problem: bool,
    /// What the main thread is doing: the value of `mpiscope_state`.
    #[serde(default)]
    pub activity: String,
    /// Live threads that have called MPI, and one that has ended if it made the rank's last call.
    pub threads: Vec<ThreadStatus>,
    /// If no thread is in MPI, the number of the one whose call returned last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_thread: Option<u64>,
    /// Number of lost records, by kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub losses: BTreeMap<String, u64>,
    /// The names that its program gave to objects which other ranks may share.
    #[serde(skip)]
    pub names: SharedNames,
}

/// The current state of a thread.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadStatus {
    /// Number of the thread, from zero in the order of first MPI calls.
    pub thread: u64,
    /// The kernel's id.
    pub tid: u32,
    /// Whether it is the main thread: the one that called `MPI_Init`, otherwise the first that called MPI.
    #[serde(default)]
    pub main: bool,
    /// Seconds since it began to poll, if it repeatedly calls a function that does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polling_s: Option<f64>,
    /// The open call, if any.
    pub call: Option<CallStatus>,
    /// The call that returned last, if the thread is outside of MPI and before `MPI_Finalize`. Objects that
    /// it used may no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<CallStatus>,
    /// If outside of MPI: source line, or function (otherwise module) and offset, of the call that ended
    /// last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_place: Option<String>,
    /// Seconds since the call began or, outside of MPI, since the last one ended.
    pub age_s: Option<f64>,
    /// If outside of MPI or stopped, in a running process: what the operating system reports: `computing`,
    /// `sleeping in the system call read`, `stopped by a signal`; `polling` for a loop that polls and pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
}

/// An open call, or one that has returned. A field is `None` if the function has no such argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallStatus {
    /// Name in the C binding.
    pub function: String,
    /// Communicator, window, file or session.
    pub object: Option<Reference>,
    /// The other rank, or the root.
    pub peer: Option<PeerRank>,
    /// Source of a combined send and receive.
    pub source: Option<PeerRank>,
    /// Tag: a number, or `MPI_ANY_TAG`.
    pub tag: Option<String>,
    /// Number of elements or requests.
    pub count: Option<i64>,
    /// Datatype.
    pub datatype: Option<Reference>,
    /// Number of outer calls: greater than zero if it was made by a user callback.
    pub nested: u32,
    /// Return address of the call in the program.
    pub return_address: u64,
    /// Source line, or function (otherwise module) and offset.
    pub place: Option<String>,
    /// Whether the record changed while it was copied, so that parts may belong to different calls.
    pub torn: bool,
}

/// A rank that a call names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeerRank {
    /// Rank in the call's communicator, as passed by the program.
    pub rank: i64,
    /// `MPI_ANY_SOURCE`, `MPI_PROC_NULL` or `MPI_ROOT`.
    pub name: Option<String>,
    /// Rank in `MPI_COMM_WORLD`, if the communicator's members are known and differ from those of the world.
    pub world_rank: Option<u32>,
    /// Whether it is the root of a collective.
    pub root: bool,
}

impl RankStatus {
    /// Creates the status of a rank; `alive` is whether its process still exists.
    pub fn new<S: Source>(names: &Rank<'_, S>, alive: bool) -> Self {
        let process = names.process();
        let last_thread = process.last().map(|thread| thread.index);
        let lives = |t: &&ThreadFacts| t.tid != 0 || Some(t.index) == last_thread;
        let threads =
            process.threads.iter().filter(lives).map(|t| thread_status(process, t, names)).collect();
        let clean = matches!(process.state, State::FINALIZED | State::UNCLAIMED);
        Self {
            rank: process.rank,
            size: process.size,
            world: process.world.clone(),
            world_number: 0,
            host: process.host.clone(),
            pid: process.pid,
            state: if alive || clean { process.stage() } else { gone(process) },
            activity: format!("{:?}", process.activity()),
            last_thread,
            alive,
            problem: process.state == State::ABORTED || (!alive && !clean),
            threads,
            losses: process.losses.clone(),
            names: names.objects().names_of_shared(),
        }
    }
}

/// Gives shared objects the same name in the calls of all ranks, even if only some of them have named it.
pub fn share_names<'a>(ranks: impl Iterator<Item = &'a mut RankStatus>) -> SharedNames {
    let ranks: Vec<&mut RankStatus> = ranks.collect();
    let mut names = SharedNames::default();
    ranks.iter().for_each(|rank| names.join(&rank.names));
    for thread in ranks.into_iter().flat_map(|rank| &mut rank.threads) {
        let calls = [&mut thread.call, &mut thread.last_call].into_iter().flatten();
        calls.filter_map(|call| call.object.as_mut()).for_each(|object| names.give(object));
    }
    names
}

impl RankStatus {
    /// The status of a process that was started under the layer and has not called MPI; its rank is the
    /// launcher's, if known.
    pub fn silent(pid: u32, rank: Option<u32>, host: String) -> Self {
        Self {
            rank,
            size: None,
            world: String::new(),
            world_number: 0,
            host,
            pid,
            state: "has not called MPI".to_owned(),
            activity: format!("{:?}", Activity::NOT_INITIALIZED),
            losses: BTreeMap::new(),
            names: SharedNames::default(),
            last_thread: None,
            alive: true,
            problem: false,
            threads: Vec::new(),
        }
    }

    /// Adds what `doing` reports about the threads outside of MPI, and `stopped` about the others, if the process
    /// is running.
    pub fn outside(
        &mut self,
        process: &Process,
        doing: impl Fn(u32) -> String,
        stopped: impl Fn(u32) -> Option<String>,
    ) {
        if !self.alive || process.finalized() {
            return;
        }
        for thread in &mut self.threads {
            if thread.call.is_some() || thread.polling_s.is_some() {
                thread.doing = stopped(thread.tid);
                continue;
            }
            let said = doing(thread.tid);
            let facts = process.threads.iter().find(|facts| facts.index == thread.thread);
            let asks = facts.is_some_and(|facts| process.asking_since(facts).is_some());
            let said = if asks && said.starts_with("sleeping") { "polling".to_owned() } else { said };
            thread.doing = Some(said).filter(|said| !said.is_empty());
        }
    }

    /// Returns the threads to show: those in MPI or polling, otherwise the one whose call returned last,
    /// otherwise the main thread.
    pub fn busy(&self) -> Vec<&ThreadStatus> {
        let busy = |t: &&ThreadStatus| t.call.is_some() || t.polling_s.is_some();
        let threads: Vec<&ThreadStatus> = self.threads.iter().filter(busy).collect();
        if threads.is_empty() { self.last().or(self.main()).into_iter().collect() } else { threads }
    }

    /// The thread whose call returned last, if none is in MPI.
    pub fn last(&self) -> Option<&ThreadStatus> {
        self.threads.iter().find(|t| Some(t.thread) == self.last_thread)
    }

    /// The main thread.
    pub fn main(&self) -> Option<&ThreadStatus> {
        self.threads.iter().find(|t| t.main)
    }
}

fn gone(process: &Process) -> String {
    match process.abort_code {
        Some(code) => format!("aborted with {code}"),
        None => "gone without MPI_Finalize".to_owned(),
    }
}

fn thread_status<S: Source>(process: &Process, thread: &ThreadFacts, names: &Rank<'_, S>) -> ThreadStatus {
    let age = |since: u64| process.clock.end_ns().saturating_sub(process.clock.ns_at(since)) as f64 / 1e9;
    let open = thread.call.as_ref().filter(|_| !process.finalized());
    let behind = thread.call.is_none().then_some(thread.return_address);
    let last = thread.last.as_ref().filter(|_| !process.finalized());
    ThreadStatus {
        thread: thread.index,
        tid: thread.tid,
        main: process.main().is_some_and(|main| main.index == thread.index),
        polling_s: process.polling_since(thread).filter(|_| !process.finalized()).map(age),
        age_s: (thread.since != 0).then(|| age(thread.since)),
        last_call: last.map(|call| call_status(process, call, thread.torn, names)),
        last_place: behind.filter(|address| *address != 0).and_then(|address| names.place(address)),
        call: open.map(|call| call_status(process, call, thread.torn, names)),
        doing: None,
    }
}

fn call_status<S: Source>(process: &Process, call: &Call, torn: bool, names: &Rank<'_, S>) -> CallStatus {
    let name = process.called(call);
    let set = process.facts(call).map(|function| function.fields).unwrap_or_default();
    let comm = (set.object == Some(ObjectKind::COMM)).then(|| names.comm(call.object.get())).flatten();
    let peer = |value: u64, root: bool| {
        let rank = value as i64;
        let renumbers = comm.as_ref().filter(|comm| comm.renumbers());
        PeerRank {
            rank,
            name: names.peer(rank),
            world_rank: renumbers.and_then(|comm| comm.world_rank(rank)),
            root,
        }
    };
    let [source, source_tag, ..] = &call.extra;
    let tag = |value: u64| names.tag(value as i64);
    let tags = set.tag.then(|| match (tag(call.tag.get()), tag(source_tag.get())) {
        (sent, received) if set.receive && sent != received => format!("{sent}/{received}"),
        (sent, _) => sent,
    });
    CallStatus {
        object: set.object.and_then(|kind| names.reference(kind, call.object.get())),
        peer: set.peer.map(|role| peer(call.peer.get(), role == Role::Root)),
        source: set.receive.then(|| peer(source.get(), false)),
        tag: tags,
        count: set.count.then_some(call.count.get() as i64),
        datatype: set.datatype.then(|| names.reference(ObjectKind::DATATYPE, call.datatype.get())).flatten(),
        nested: call.nested.get(),
        return_address: call.return_address.get(),
        place: names.place(call.return_address.get()),
        function: name,
        torn,
    }
}
