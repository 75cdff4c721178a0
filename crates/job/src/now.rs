//! What is now: what every thread of a rank is doing, in the terms of the standard.

use crate::names::Names;
use crate::process::{Process, ThreadFacts};
use crate::significant::{Role, fields};
use mpi_abi::{FunctionId, ObjectKind};
use mpiscope_image::layout::{Call, State};
use serde::{Deserialize, Serialize};

/// A rank at this moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankNow {
    /// Rank in `MPI_COMM_WORLD`, if known.
    pub rank: Option<u32>,
    /// Size of the world, if known.
    pub size: Option<u32>,
    /// Name of the world.
    pub world: String,
    /// Number of the world in the job, by [`Worlds`](crate::Worlds); 0 until somebody has numbered them.
    pub world_number: usize,
    /// Host.
    pub host: String,
    /// Process id.
    pub pid: u32,
    /// How far the process came, for people.
    pub state: String,
    /// Whether the process is there.
    pub alive: bool,
    /// Something is wrong: it ended without `MPI_Finalize`, or called `MPI_Abort`.
    pub problem: bool,
    /// Threads that are in MPI, or the main thread if none is; in a core file also the thread that died.
    pub threads: Vec<ThreadNow>,
}

/// A thread at this moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadNow {
    /// Number of the thread, from zero in the order of first MPI calls.
    pub thread: u64,
    /// The kernel's id.
    pub tid: u32,
    /// The open call, if there is one.
    pub call: Option<CallNow>,
    /// Outside of MPI, before `MPI_Finalize`: the call that returned last. What its handles stood for may be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_call: Option<CallNow>,
    /// Outside of MPI: the source line, or module and offset, of the call that ended last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_place: Option<String>,
    /// Seconds since the call began or, outside of MPI, since the last one ended.
    pub age_s: Option<f64>,
}

/// An open call, or one that has returned. A field is `None` when the function has no such argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallNow {
    /// Name in the C binding.
    pub function: String,
    /// Communicator, window, file or session.
    pub object: Option<String>,
    /// Other rank or root.
    pub peer: Option<PeerNow>,
    /// Where a send-receive receives from.
    pub source: Option<PeerNow>,
    /// Tag: a number, or `MPI_ANY_TAG`.
    pub tag: Option<String>,
    /// Elements, or requests.
    pub count: Option<i64>,
    /// Datatype by name, or `derived 0x…`.
    pub datatype: Option<String>,
    /// Calls below this one: it is made by a user callback.
    pub nested: u32,
    /// Address behind the call in the program.
    pub return_address: u64,
    /// Source line, or module and offset.
    pub place: Option<String>,
    /// The description changed while it was copied: parts of it may belong to different calls.
    pub torn: bool,
}

/// A rank that a call names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PeerNow {
    /// Rank in the call's communicator, as the program gave it.
    pub rank: i64,
    /// `MPI_ANY_SOURCE`, `MPI_PROC_NULL`, `MPI_ROOT`.
    pub name: Option<String>,
    /// Rank in `MPI_COMM_WORLD`, if the communicator's members are known and are not those of the world.
    pub world_rank: Option<u64>,
    /// It is the root of a collective.
    pub root: bool,
}

impl RankNow {
    /// What `process` is doing; `alive` says whether it is still there.
    pub fn new(process: &Process, names: &Names<'_>, alive: bool) -> Self {
        let open = process.threads.iter().filter(|t| t.call.is_some() && !process.finalized());
        let mut threads: Vec<ThreadNow> = open.map(|t| thread_now(process, t, names)).collect();
        if threads.is_empty() {
            threads.extend(process.threads.first().map(|t| thread_now(process, t, names)));
        }
        let clean = matches!(process.state, State::FINALIZED | State::UNCLAIMED);
        Self {
            rank: process.rank,
            size: process.size,
            world: process.world.clone(),
            world_number: 0,
            host: process.host.clone(),
            pid: process.pid,
            state: if alive || clean { format!("{:?}", process.state) } else { gone(process) },
            alive,
            problem: process.state == State::ABORTED || (!alive && !clean),
            threads,
        }
    }
}

impl RankNow {
    /// Adds a thread that the layer knows, if it is not there: the one that died tells its last call also while others are in MPI.
    pub fn add_thread(&mut self, tid: u32, process: &Process, names: &Names<'_>) {
        let known = self.threads.iter().any(|t| t.tid == tid);
        let thread = process.threads.iter().find(|t| t.tid == tid && !known);
        self.threads.extend(thread.map(|t| thread_now(process, t, names)));
    }
}

fn gone(process: &Process) -> String {
    match process.abort_code {
        Some(code) => format!("aborted with {code}"),
        None => "gone without MPI_Finalize".to_owned(),
    }
}

fn thread_now(process: &Process, thread: &ThreadFacts, names: &Names<'_>) -> ThreadNow {
    let age = || process.clock.end_ns().saturating_sub(process.clock.ns_at(thread.since)) as f64 / 1e9;
    let behind = thread.call.is_none().then_some(thread.return_address);
    let last = thread.last.as_ref().filter(|_| !process.finalized());
    ThreadNow {
        thread: thread.index,
        tid: thread.tid,
        age_s: (thread.since != 0).then(age),
        last_call: last.map(|call| call_now(process, call, thread.torn, names)),
        last_place: behind.filter(|address| *address != 0).and_then(|address| names.place(address)),
        call: thread.call.as_ref().map(|call| call_now(process, call, thread.torn, names)),
    }
}

fn call_now(process: &Process, call: &Call, torn: bool, names: &Names<'_>) -> CallNow {
    let name = process.called(call);
    let set = FunctionId::from_name(&name).and_then(FunctionId::function).map(fields).unwrap_or_default();
    let comm = (set.object == Some(ObjectKind::COMM)).then(|| names.comm(call.object.get())).flatten();
    let peer = |value: u64, root: bool| {
        let rank = value as i64;
        let member = usize::try_from(rank).ok().and_then(|i| comm?.members.get(i).copied());
        PeerNow { rank, name: names.rank(rank), world_rank: member, root }
    };
    let [source, source_tag, ..] = &call.extra;
    let tag = |value: u64| names.tag(value as i64);
    let tags = set.tag.then(|| match (tag(call.tag.get()), tag(source_tag.get())) {
        (sent, received) if set.receive && sent != received => format!("{sent}/{received}"),
        (sent, _) => sent,
    });
    CallNow {
        object: set.object.map(|kind| names.object(kind, call.object.get())),
        peer: set.peer.map(|role| peer(call.peer.get(), role == Role::Root)),
        source: set.receive.then(|| peer(source.get(), false)),
        tag: tags,
        count: set.count.then_some(call.count.get() as i64),
        datatype: set.datatype.then(|| names.datatype(call.datatype.get())),
        nested: call.nested.get(),
        return_address: call.return_address.get(),
        place: names.place(call.return_address.get()),
        function: name,
        torn,
    }
}
