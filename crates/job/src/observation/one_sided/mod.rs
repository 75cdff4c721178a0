//! The one-sided operations of a process and the calls that synchronize them; available only if messages are
//! recorded.

mod completions;

pub use completions::{Completed, completions, ends_at_origin};

use super::history::operation;
use super::ledger::{self, Called, Misuse};
use crate::model::rank::Rank;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{self, Epoch, Flavour, Life};
use mpiscope_image::one_sided::{self, Completes, MANY, OneSidedFlag, OneSidedKind, WHOLE_WORLD};
use mpiscope_image::{Image, Record, Source};
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of windows and of groups read.
const MOST: u64 = 1 << 12;

/// What is known of a process's one-sided communication.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OneSided {
    /// Its memory in each window, live or freed.
    pub memories: Vec<Memory>,
    /// Its calls, oldest first.
    pub calls: Vec<OneSidedCall>,
    /// Whether older calls have been overwritten.
    pub wrapped: bool,
}

/// The memory of a process in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// Identity of the window, the same on all members.
    pub window: u64,
    /// Address of its first byte; zero if it is dynamic.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// Displacement unit.
    pub unit: i64,
    /// Whether memory is attached to it later, so that displacements are addresses.
    pub dynamic: bool,
    /// Whether processes also access it with loads and stores.
    pub shared: bool,
    /// When the window was freed, in nanoseconds of `CLOCK_MONOTONIC`; `None` if it was not.
    pub freed_ns: Option<u64>,
}

/// A call on a window.
#[derive(Debug, Clone, PartialEq)]
pub struct OneSidedCall {
    /// Identity of the window.
    pub window: u64,
    /// Number of collective calls on the window that the process had entered: the same on all members between the same
    /// two fences.
    pub collectives: u64,
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`; zero if unknown.
    pub from_ns: u64,
    /// When it returned.
    pub until_ns: u64,
    /// Its function and line.
    pub call: Arc<Called>,
    /// What it does.
    pub does: Does,
}

/// What a call on a window does.
#[derive(Debug, Clone, PartialEq)]
pub enum Does {
    /// Accesses the memory of a member.
    Access(Access),
    /// Completes the operations on one member, or on all members.
    Completes {
        /// The member, as rank of the window; `None` for all.
        target: Option<u32>,
        /// Whether they are complete only at this process.
        locally: bool,
    },
    /// Begins epochs of access to members.
    Starts(Members),
    /// Begins an epoch in which members may access the memory of this process.
    Posts(Members),
    /// Ends that epoch.
    Waits,
    /// Locks the memory of a member, or of all.
    Locks {
        /// The member, as rank of the window; `None` for all.
        target: Option<u32>,
        /// Whether the lock is exclusive.
        exclusive: bool,
    },
    /// Attaches memory.
    Attaches {
        /// Address of its first byte.
        at: u64,
        /// Number of bytes.
        size: u64,
    },
    /// Detaches memory.
    Detaches {
        /// Address of its first byte.
        at: u64,
    },
}

/// Processes, by their ranks in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// All of the world.
    World,
    /// These.
    Ranks(Vec<u32>),
    /// Not known.
    Unknown,
}

/// An operation on the memory of a member.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Access {
    /// The member, as rank of the window.
    pub target: u32,
    /// Kind of operation.
    pub kind: Operation,
    /// Whether it has a request.
    pub request: bool,
    /// Epoch in which it was made.
    pub epoch: AccessEpoch,
    /// Displacement, in the target's units.
    pub disp: i64,
    /// First byte relative to the displacement.
    pub low: i64,
    /// Byte after the last one, likewise.
    pub high: i64,
    /// Number of bytes accessed: fewer than `high - low` if there are gaps.
    pub bytes: u64,
    /// Address of the origin's buffer; zero if unknown.
    pub buffer: u64,
    /// Address of `bytes` bytes without gaps that it reads at the origin; `None` if unknown or not one piece.
    pub given: Option<u64>,
    /// The same for those that it writes there.
    pub fetched: Option<u64>,
    /// What became of that buffer before the operation was complete at the origin.
    pub misuse: Option<Misuse>,
    /// The call that completed its request, if that completed it at the origin.
    pub waited: Option<Arc<Called>>,
    /// When the call that completed its request returned, in nanoseconds of `CLOCK_MONOTONIC`; `None` if that is not
    /// known.
    pub waited_ns: Option<u64>,
    /// Whether it writes bytes twice, because elements of a datatype overlap.
    pub repeats: bool,
}

/// Kind of an operation, as far as it matters for conflicts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// Writes.
    #[default]
    Put,
    /// Reads.
    Get,
    /// Combines, atomically for each element.
    Accumulate {
        /// The reduction operation, as text that is the same on all processes.
        op: String,
        /// Kind of the elements; zero if unknown.
        element: u32,
        /// Whether it fetches the previous values.
        fetches: bool,
    },
    /// Reads, atomically for each element.
    Fetch,
    /// `MPI_Compare_and_swap`.
    Swap,
}

/// The epoch in which an operation was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessEpoch {
    /// Not known.
    #[default]
    Unknown,
    /// Between two fences; the number is the same on all members.
    Fence(u64),
    /// Between `MPI_Win_start` and `MPI_Win_complete`.
    Started,
    /// Under a shared lock.
    Shared,
    /// Under an exclusive lock.
    Exclusive,
}

/// Reads a process's one-sided calls, if they are recorded.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Option<OneSided> {
    let image = rank.image();
    if !ledger::is_kept(image) {
        return None;
    }
    let (records, wrapped) = one_sided::read(image).ok()?;
    let mut reader = Reader { rank, called: HashMap::new(), operations: HashMap::new() };
    let mut calls: Vec<OneSidedCall> = Vec::new();
    for record in &records {
        if record.is(OneSidedFlag::FURTHER) {
            add_member(&mut calls, record.target.get());
        } else if let Some(does) = reader.does(record) {
            calls.push(reader.call(record, does));
        }
    }
    Some(OneSided { memories: memories(rank), calls, wrapped })
}

/// Adds a further member to the last call; its own record was overwritten if it is another call.
fn add_member(calls: &mut [OneSidedCall], member: u32) {
    if let Some(Does::Starts(Members::Ranks(ranks)) | Does::Posts(Members::Ranks(ranks))) =
        calls.last_mut().map(|call| &mut call.does)
    {
        ranks.push(member);
    }
}

struct Reader<'a, 'b, S: Source> {
    rank: &'a Rank<'b, S>,
    /// By address and function.
    called: HashMap<(u64, u32), Arc<Called>>,
    operations: HashMap<u64, String>,
}

impl<S: Source> Reader<'_, '_, S> {
    /// Resolves a return address and a function number plus one.
    fn called(&mut self, from: u64, function: u32) -> Arc<Called> {
        let called = self.called.entry((from, function)).or_insert_with(|| {
            let function = self.rank.process().function(function.wrapping_sub(1) as usize);
            Arc::new(Called { function, place: self.rank.place(from) })
        });
        Arc::clone(called)
    }

    fn call(&mut self, record: &one_sided::OneSided, does: Does) -> OneSidedCall {
        let process = self.rank.process();
        let called = self.called(record.from.get(), record.function.get());
        let ns = |ticks: u64| if ticks == 0 { 0 } else { process.clock.ns_at(ticks) };
        OneSidedCall {
            window: record.window.get(),
            collectives: record.collectives.get(),
            from_ns: ns(record.since.get()),
            until_ns: if record.since.get() == 0 { 0 } else { ns(record.until.get()) },
            call: called,
            does,
        }
    }

    fn does(&mut self, record: &one_sided::OneSided) -> Option<Does> {
        let kind = OneSidedKind(record.kind.get());
        let completed = match kind.completes() {
            Completes::All => Some(None),
            Completes::OnTarget => Some(Some(record.target.get())),
            Completes::None => None,
        };
        if let Some(target) = completed {
            return Some(Does::Completes { target, locally: kind.is_local() });
        }
        Some(match kind {
            OneSidedKind::START => Does::Starts(self.members(record)),
            OneSidedKind::POST => Does::Posts(self.members(record)),
            OneSidedKind::WAIT => Does::Waits,
            OneSidedKind::LOCK => Does::Locks {
                target: Some(record.target.get()),
                exclusive: record.is(OneSidedFlag::EXCLUSIVE),
            },
            OneSidedKind::LOCK_ALL => Does::Locks { target: None, exclusive: false },
            OneSidedKind::ATTACH => Does::Attaches { at: record.disp.get(), size: record.high.get() },
            OneSidedKind::DETACH => Does::Detaches { at: record.disp.get() },
            _ => Does::Access(self.access(kind, record)?),
        })
    }

    fn members(&self, record: &one_sided::OneSided) -> Members {
        match record.target.get() {
            MANY => Members::Unknown,
            WHOLE_WORLD => match group_size(self.rank.image(), record.disp.get()) {
                None => Members::Unknown,
                Some(0) => Members::Ranks(Vec::new()),
                Some(_) => Members::World,
            },
            first => Members::Ranks(vec![first]),
        }
    }

    fn access(&mut self, kind: OneSidedKind, record: &one_sided::OneSided) -> Option<Access> {
        let handle = record.op.get();
        let element = record.element.get();
        let (given, fetched) = at_origin(kind, record);
        let kind = match kind {
            OneSidedKind::PUT => Operation::Put,
            OneSidedKind::GET => Operation::Get,
            OneSidedKind::SWAP => Operation::Swap,
            OneSidedKind::ACCUMULATE | OneSidedKind::FETCH => {
                let op = self.operations.entry(handle).or_insert_with(|| operation(self.rank, handle));
                match op.as_str() {
                    "MPI_NO_OP" => Operation::Fetch,
                    op => Operation::Accumulate {
                        op: op.to_owned(),
                        element,
                        fetches: kind == OneSidedKind::FETCH,
                    },
                }
            }
            _ => return None,
        };
        Some(Access {
            target: record.target.get(),
            kind,
            request: record.is(OneSidedFlag::REQUEST),
            epoch: epoch(record),
            disp: record.disp.get().cast_signed(),
            low: record.low.get().cast_signed(),
            high: record.high.get().cast_signed(),
            bytes: record.bytes.get(),
            buffer: record.buffer.get(),
            given,
            fetched,
            misuse: Misuse::of(record.is(OneSidedFlag::CHANGED), record.is(OneSidedFlag::RELEASED)),
            waited: u32::try_from(record.waited_in.get())
                .ok()
                .filter(|function| *function != 0)
                .map(|function| self.called(record.waited_from.get(), function)),
            waited_ns: Some(record.waited_at.get())
                .filter(|ticks| *ticks != 0)
                .map(|ticks| self.rank.process().clock.ns_at(ticks)),
            repeats: record.is(OneSidedFlag::OVERLAPPING),
        })
    }
}

/// Returns the addresses of what an operation reads and writes at the origin, without gaps.
fn at_origin(kind: OneSidedKind, record: &one_sided::OneSided) -> (Option<u64>, Option<u64>) {
    let [buffer, result] = [&record.buffer, &record.result].map(|at| Some(at.get()).filter(|at| *at != 0));
    let buffer = buffer.filter(|_| record.is(OneSidedFlag::GAPLESS));
    if kind == OneSidedKind::GET { (None, buffer) } else { (buffer, result) }
}

fn epoch(record: &one_sided::OneSided) -> AccessEpoch {
    let has = |epoch: Epoch| record.epochs.get() & epoch.0 != 0;
    if has(Epoch::LOCK) && record.is(OneSidedFlag::EXCLUSIVE) {
        AccessEpoch::Exclusive
    } else if has(Epoch::LOCK) || has(Epoch::LOCK_ALL) {
        AccessEpoch::Shared
    } else if has(Epoch::START) {
        AccessEpoch::Started
    } else if has(Epoch::FENCE) {
        AccessEpoch::Fence(record.collectives.get())
    } else {
        AccessEpoch::Unknown
    }
}

/// Number of members of a group; `None` if its record is gone.
fn group_size<S: Source>(image: &Image<S>, uid: u64) -> Option<u32> {
    let mut groups = records::<S, objects::Group>(image, SectionKind::GROUPS);
    Some(groups.find(|group| group.head.uid.get() == uid && uid != 0)?.size.get())
}

fn memories<S: Source>(rank: &Rank<'_, S>) -> Vec<Memory> {
    let clock = &rank.process().clock;
    let windows = records::<S, objects::Window>(rank.image(), SectionKind::WINDOWS);
    let freed_ns = |head: &objects::Head| {
        (Life(head.life.get()) == Life::FREED).then(|| match head.freed_at.get() {
            0 => 0,
            ticks => clock.ns_at(ticks),
        })
    };
    let used = windows.filter(|window| Life(window.head.life.get()) != Life::EMPTY);
    used.map(|window| Memory {
        window: window.head.identity.get(),
        base: window.base.get(),
        size: window.size.get(),
        unit: window.unit.get().cast_signed(),
        dynamic: Flavour(window.flavour.get()) == Flavour::DYNAMIC,
        shared: Flavour(window.flavour.get()) == Flavour::SHARED,
        freed_ns: freed_ns(&window.head),
    })
    .collect()
}

fn records<S: Source, R: Record>(image: &Image<S>, section: SectionKind) -> impl Iterator<Item = R> {
    let table = image.table::<R>(section).unwrap_or_default();
    (0..table.len().min(MOST)).filter_map(move |index| Some(image.get::<R>(&table, index).ok()?.value))
}

impl Operation {
    /// Whether it changes the target's memory.
    #[must_use]
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Get | Self::Fetch)
    }

    /// Whether it tells its process what the memory contains.
    #[must_use]
    pub fn fetches(&self) -> bool {
        match self {
            Self::Get | Self::Fetch | Self::Swap => true,
            Self::Put => false,
            Self::Accumulate { fetches, .. } => *fetches,
        }
    }
}
