//! A snapshot of the queues of one process, and the positions of the iterators in it.

use std::ffi::{c_char, c_int};

use mpi_abi::COUNTED;
use mpiscope_debug_interfaces::mqs::{
    self, Communicator, PendingOperation, ST_MATCHED, ST_PENDING, TAddr, TWord,
};
use mpiscope_image::layout::{State, source_line};
use mpiscope_job::Process;
use mpiscope_job::model::locate::{NoSymbols, place};
use mpiscope_job::model::objects::{Message, Pending, Queue, Reader, TargetContext};
use mpiscope_job::questions::arrived;
use mpiscope_job::questions::why::{Arrivals, Arrived};
use mpiscope_plugin_support::{ImageMemory, Unavailable, View, chars};
use mpiscope_target::Target;

/// A collective on a communicator: how often it was entered, and whether a thread is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collective {
    /// Number of blocking and nonblocking calls.
    pub count: u32,
    /// Whether a thread is in it.
    pub active: bool,
}

/// A communicator in the snapshot.
struct Row {
    queue: Queue,
    collectives: [Collective; COUNTED.len()],
}

/// The snapshot, and the positions of the iterators.
#[derive(Default)]
pub struct Picture {
    rows: Vec<Row>,
    row: usize,
    operations: Vec<PendingOperation>,
    operation: usize,
    /// The process, for asking the others of its job what they have sent to it.
    process: Option<Process>,
    /// Their answer, once the debugger has requested it.
    arrivals: Option<Option<Arrivals>>,
    /// Why there is no snapshot, for `mqs_process_has_queues`.
    pub trouble: Option<Unavailable>,
}

impl Picture {
    /// Takes a snapshot of the process and resets the iterators.
    pub fn take(view: &View) -> Self {
        match read(view) {
            Ok((rows, process)) => Self { rows, process: Some(process), ..Self::default() },
            Err(trouble) => Self { trouble: Some(trouble), ..Self::default() },
        }
    }

    /// Moves to the first communicator.
    pub fn begin(&mut self) -> c_int {
        self.row = 0;
        self.status()
    }

    /// Moves to the next communicator.
    pub fn next(&mut self) -> c_int {
        self.row = self.row.saturating_add(1);
        self.status()
    }

    fn status(&self) -> c_int {
        if self.row < self.rows.len() { mqs::OK } else { mqs::END_OF_LIST }
    }

    /// Returns the communicator at the iterator.
    pub fn communicator(&self) -> Option<Communicator> {
        let queue = &self.rows.get(self.row)?.queue;
        let comm = &queue.comm;
        Some(Communicator {
            // Equal on all processes, so that a debugger can combine their queues.
            unique_id: if comm.identity.0 != 0 { comm.identity.0 } else { comm.uid },
            local_rank: queue.rank.map_or(TWord::from(mqs::INVALID_PROCESS), TWord::from),
            size: TWord::from(comm.size.unwrap_or_default()),
            // The debugger shows it as a name, so without the quotes of a sentence.
            name: chars(&comm.name.clone().unwrap_or_else(|| comm.label())),
        })
    }

    /// Returns the ranks in the world of the communicator's (local) group.
    pub fn group(&self) -> Option<Vec<c_int>> {
        let members = self.rows.get(self.row)?.queue.members.as_ref()?;
        Some(members.iter().map(|rank| c_int::try_from(*rank).unwrap_or(mqs::INVALID_PROCESS)).collect())
    }

    /// Starts iterating over the operations of a class.
    pub fn begin_operations(&mut self, class: c_int) -> c_int {
        self.operation = 0;
        self.operations.clear();
        let Some(Row { queue, .. }) = self.rows.get(self.row) else { return mqs::NO_INFORMATION };
        let pending = |of: &Pending| pending(queue, of, &called_at(of, self.process.as_ref()));
        match class {
            mqs::PENDING_SENDS => self.operations = queue.sends.iter().map(pending).collect(),
            mqs::PENDING_RECEIVES => self.operations = queue.receives.iter().map(pending).collect(),
            mqs::UNEXPECTED_MESSAGES => return self.begin_unexpected(),
            _ => return mqs::NO_INFORMATION,
        }
        // The class is supported; `mqs_next_operation` reports that there are none.
        mqs::OK
    }

    /// Starts iterating over unexpected messages. Messages matched by a probe are in the process's own
    /// records, all others in those of their senders.
    fn begin_unexpected(&mut self) -> c_int {
        let arrivals =
            self.arrivals.get_or_insert_with(|| self.process.as_ref().and_then(arrived::arrived)).as_ref();
        let Some(Row { queue, .. }) = self.rows.get(self.row) else { return mqs::NO_INFORMATION };
        let complete = arrivals.is_some_and(|arrivals| arrivals.complete);
        let here = arrivals.iter().flat_map(|a| &a.messages).filter(|m| m.comm == queue.comm.identity.0);
        self.operations = queue.matched.iter().map(|m| matched(queue, m, complete)).collect();
        self.operations.extend(here.map(|m| unexpected(queue, m, complete)));
        // An empty list would claim that there are none.
        if self.operations.is_empty() && !complete { mqs::NO_INFORMATION } else { mqs::OK }
    }

    /// Returns the next operation.
    pub fn next_operation(&mut self) -> Option<PendingOperation> {
        let operation = self.operations.get(self.operation).copied()?;
        self.operation += 1;
        Some(operation)
    }

    /// Returns the state of a collective on the communicator at the iterator.
    pub fn collective(&self, which: c_int) -> Option<Collective> {
        let row = self.rows.get(self.row)?;
        row.collectives.get(usize::try_from(which).ok()?).copied()
    }
}

fn read(view: &View) -> Result<(Vec<Row>, Process), Unavailable> {
    let target = view.target()?;
    let target: &dyn Target = &target;
    let image = ImageMemory::open(target)?;
    let around = TargetContext::new(target);
    let reader = Reader::new(&image, &around)?;
    if reader.state().0 < State::INITIALIZED.0 {
        return Err(Unavailable::NoImage);
    }
    let mut rows = Vec::new();
    for queue in reader.queues()? {
        let mut collectives = [Collective::default(); COUNTED.len()];
        for (number, (collective, operation)) in collectives.iter_mut().zip(&COUNTED).enumerate() {
            collective.count = reader.entered(&queue.comm, number)?;
            collective.active = reader.is_inside(&queue.comm, operation.name())?;
        }
        rows.push(Row { queue, collectives });
    }
    let process = Process::read(&image, None)?;
    image.source().check()?;
    Ok((rows, process))
}

/// Translates a rank of the communicator to a rank of the world.
fn in_world(queue: &Queue, rank: i64) -> TWord {
    let place = usize::try_from(rank).ok();
    let partners = queue.partners.as_deref().unwrap_or_default();
    place.and_then(|place| partners.get(place).copied()).unwrap_or_else(|| TWord::from(mqs::INVALID_PROCESS))
}

fn word(value: u64) -> TWord {
    TWord::try_from(value).unwrap_or(TWord::MAX)
}

/// Where an operation was started: a return address for the debugger to look up, or a recorded source line.
fn called_at(of: &Pending, process: Option<&Process>) -> String {
    let line = process.filter(|_| source_line(of.from.0).is_some());
    let line = line.and_then(|process| place(&process.modules, &NoSymbols, of.from.0));
    line.map_or_else(|| format!("called before {}", of.from), |line| format!("called at {line}"))
}

fn pending(queue: &Queue, of: &Pending, called_at: &str) -> PendingOperation {
    let any = TWord::from(mqs::INVALID_PROCESS);
    let function = of.function.as_deref().unwrap_or("an operation");
    let called = match of.request {
        Some(request) => format!("{function}, request {request}"),
        None => format!("{function} is blocking"),
    };
    let what = match &of.datatype {
        Some(datatype) => format!("{} x {}", of.count, datatype.label()),
        None => "of unknown length".to_owned(),
    };
    let mut text = [[0; 64]; 5];
    for (line, from) in text.iter_mut().zip([&called, &what, called_at]) {
        *line = chars(from);
    }
    PendingOperation {
        status: ST_PENDING,
        desired_local_rank: of.peer.unwrap_or(any),
        desired_global_rank: of.peer.map_or(any, |peer| in_world(queue, peer)),
        tag_wild: c_int::from(of.tag.is_none()),
        desired_tag: of.tag.unwrap_or(0),
        desired_length: of.bytes.map_or(0, word),
        system_buffer: 0,
        buffer: of.buffer.map_or(0, |buffer| buffer.0 as TAddr),
        extra_text: text,
        ..PendingOperation::default()
    }
}

/// Note for when ranks of the job could not be read on this host.
const UNREADABLE_RANKS: &str = "ranks that cannot be read here may have sent more";

fn lines(of: [&str; 2]) -> [[c_char; 64]; 5] {
    let mut text = [[0; 64]; 5];
    for (line, from) in text.iter_mut().zip(of) {
        *line = chars(from);
    }
    text
}

/// A message that a probe has removed from the queue.
fn matched(queue: &Queue, message: &Message, complete: bool) -> PendingOperation {
    PendingOperation {
        status: ST_MATCHED,
        extra_text: lines([
            "matched by a probe, not yet received",
            if complete { "" } else { UNREADABLE_RANKS },
        ]),
        ..envelope(queue, message.source, message.tag, message.bytes)
    }
}

/// A message in its sender's records that matches no receive of this process.
fn unexpected(queue: &Queue, message: &Arrived, complete: bool) -> PendingOperation {
    PendingOperation {
        status: ST_PENDING,
        extra_text: lines([
            "sent, as its sender's records say",
            if complete { "" } else { UNREADABLE_RANKS },
        ]),
        ..envelope(queue, message.from.into(), message.tag.into(), message.bytes)
    }
}

fn envelope(queue: &Queue, source: i64, tag: i64, bytes: u64) -> PendingOperation {
    PendingOperation {
        desired_local_rank: source,
        desired_global_rank: in_world(queue, source),
        desired_tag: tag,
        desired_length: word(bytes),
        actual_local_rank: source,
        actual_global_rank: in_world(queue, source),
        actual_tag: tag,
        actual_length: word(bytes),
        ..PendingOperation::default()
    }
}
