//! The messages of a process one by one, with what it named for each: only where the ledger is kept.

use crate::base::clock::TickClock;
use crate::model::rank::Rank;
use mpi_abi::ObjectKind;
use mpiscope_image::derive::ledger::messages_are_recorded;
use mpiscope_image::layout::{Process, SectionKind};
use mpiscope_image::mixture::Mixture;
use mpiscope_image::signature::Signature;
use mpiscope_image::traffic::{Entry, EntryFlag, Traffic};
use mpiscope_image::{Image, Source, W64};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of one ring that are read.
const MOST: u64 = 1 << 20;

/// Both rings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// Messages sent.
    pub sent: Ring,
    /// Messages received.
    pub received: Ring,
}

/// One ring.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ring {
    /// By their order: see [`Entry::order`].
    pub lines: Vec<Line>,
    /// Older ones have been overwritten.
    pub wrapped: bool,
    /// Messages that were ever written into it.
    pub written: u64,
}

/// A message as one of its ends knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its place in the ring, counted without wrapping: the same whenever the ring is read.
    pub place: u64,
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator.
    pub peer: u32,
    /// Its tag.
    pub tag: i32,
    /// Its bytes.
    pub bytes: u64,
    /// See [`Entry::order`].
    pub order: u64,
    /// See [`Entry::nth`].
    pub nth: u32,
    /// One start of a partitioned operation.
    pub partitioned: bool,
    /// The receive was too short.
    pub failed: bool,
    /// Bits of [`EntryFlag`].
    pub flags: u32,
    /// What was named: the same for all messages of one line of the program.
    pub named: Arc<Named>,
    /// When it was posted, in nanoseconds of `CLOCK_MONOTONIC`.
    pub posted_ns: u64,
    /// The call by which the program learnt that it is complete; none while it has not.
    pub waited: Option<Waited>,
    /// The probe that had found it before its receive was posted.
    pub probed: Option<Waited>,
}

/// A call that completed a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Waited {
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub from_ns: u64,
    /// When it returned.
    pub until_ns: u64,
    /// Its function and line.
    pub call: Arc<Called>,
}

/// A function called from a place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Called {
    #[allow(missing_docs)]
    pub function: String,
    /// The line of the user's code.
    pub place: Option<String>,
}

/// What a call named.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// The signature of the datatype; none if it is not known, or agrees with everything.
    pub signature: Option<Signature>,
    /// How many of the datatype.
    pub count: u64,
    /// Both for people: `4 x MPI_INT`.
    pub data: String,
    /// The line of the user's code.
    pub place: Option<String>,
}

/// By what it follows from: address of the call, count, datatype, signature.
type ByNames = HashMap<(u64, u64, u64, u64), Arc<Named>>;

/// What was read before.
#[derive(Default)]
struct Known {
    named: ByNames,
    /// By address and function.
    called: HashMap<(u64, usize), Arc<Called>>,
}

/// Whether a process records its messages one by one.
pub fn is_kept<S: Source>(image: &Image<S>) -> bool {
    let process = image.table::<Process>(SectionKind::PROCESS).and_then(|table| image.get(&table, 0));
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC).and_then(|table| image.get(&table, 0));
    let both = process.and_then(|process| Ok((process, totals?)));
    both.is_ok_and(|(process, totals)| messages_are_recorded(&process.value, &totals.value))
}

/// Reads the ledger; nothing if there is none.
pub fn read<S: Source>(rank: &Rank<'_, S>) -> Option<Ledger> {
    let image = rank.image();
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC).ok()?;
    let totals = image.get::<Traffic>(&totals, 0).ok()?.value;
    let (first, capacity) = (totals.ledger_first.get(), totals.ledger_capacity.get());
    if capacity == 0 {
        return is_kept(image).then(Ledger::default);
    }
    let mut known = Known::default();
    let mut ring = |first, written| ring(rank, &mut known, (first, capacity), written);
    let sent = ring(first, totals.ledger_sent.get())?;
    let received = ring(first.checked_add(capacity)?, totals.ledger_received.get())?;
    Some(Ledger { sent, received })
}

fn ring<S: Source>(
    rank: &Rank<'_, S>,
    known: &mut Known,
    (first, capacity): (u64, u64),
    written: u64,
) -> Option<Ring> {
    let table = rank.image().table::<Entry>(SectionKind::LEDGER).ok()?;
    let count = written.min(capacity).min(MOST);
    let mut line = |place: u64| {
        let index = first.checked_add(place.checked_rem(capacity)?)?;
        let entry = rank.image().get::<Entry>(&table, index).ok().filter(|entry| !entry.torn)?.value;
        let clock = &rank.process().clock;
        let mut line =
            Line::of(&entry, place, clock, &mut |from, function| called(rank, known, from, function))?;
        line.named = named(rank, known, &entry);
        Some(line)
    };
    let mut lines: Vec<Line> = (written - count..written).filter_map(&mut line).collect();
    lines.sort_by_key(|line| line.order);
    Some(Ring { lines, wrapped: written > count, written })
}

impl Line {
    /// What an entry says, but for what was named; nothing if there was no message, or nobody knows which. `called` gives words for
    /// the address and the number of a function that was called.
    pub fn of(
        entry: &Entry,
        place: u64,
        clock: &TickClock,
        called: &mut dyn FnMut(u64, usize) -> Arc<Called>,
    ) -> Option<Self> {
        let has = |flag: EntryFlag| entry.flags.get() & flag.0 != 0;
        if has(EntryFlag::CANCELLED) || has(EntryFlag::UNTOLD) {
            return None;
        }
        let mut call = |function: &W64, from: &W64, [since, until]: [&W64; 2]| {
            let function = usize::try_from(function.get()).ok()?.checked_sub(1)?;
            (since.get() != 0).then(|| Waited {
                from_ns: clock.ns_at(since.get()),
                until_ns: clock.ns_at(until.get()),
                call: called(from.get(), function),
            })
        };
        Some(Self {
            place,
            comm: entry.comm.get(),
            peer: entry.peer.get(),
            tag: entry.tag.get().cast_signed(),
            bytes: entry.bytes.get(),
            order: entry.order.get(),
            nth: entry.nth.get(),
            partitioned: has(EntryFlag::PARTITIONED),
            failed: has(EntryFlag::ERROR),
            flags: entry.flags.get(),
            named: Arc::default(),
            posted_ns: clock.ns_at(entry.posted.get()),
            waited: call(&entry.waited_in, &entry.waited_from, [&entry.waited, &entry.completed]),
            probed: call(&entry.probed_in, &entry.probed_from, [&entry.probed, &entry.probed_until])
                .filter(|_| has(EntryFlag::WAITED_IN_PROBE)),
        })
    }

    /// Whether it has a flag.
    #[must_use]
    pub fn is(&self, flag: EntryFlag) -> bool {
        self.flags & flag.0 != 0
    }

    /// The calls in which the program waited for it.
    pub fn calls(&self) -> impl Iterator<Item = &Waited> {
        [&self.probed, &self.waited].into_iter().flatten()
    }
}

fn called<S: Source>(rank: &Rank<'_, S>, known: &mut Known, from: u64, function: usize) -> Arc<Called> {
    let called = known.called.entry((from, function)).or_insert_with(|| {
        Arc::new(Called { function: rank.process().function(function), place: rank.place(from) })
    });
    Arc::clone(called)
}

fn named<S: Source>(rank: &Rank<'_, S>, known: &mut Known, entry: &Entry) -> Arc<Named> {
    let (from, count) = (entry.from.get(), entry.count.get());
    let (datatype, signature) = (entry.datatype.get(), entry.signature.get());
    let named = known.named.entry((from, count, datatype, signature)).or_insert_with(|| {
        let data = match datatype {
            0 => String::new(),
            _ => format!("{count} x {}", rank.object(ObjectKind::DATATYPE, datatype)),
        };
        let signature = Signature::from_stored(signature, entry.elements.get(), Mixture::EMPTY);
        Arc::new(Named { signature, count, data, place: rank.place(from) })
    });
    Arc::clone(named)
}
