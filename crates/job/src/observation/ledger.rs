//! The individual messages of a process with the arguments passed for each; available only if the ledger is
//! recorded.

use crate::base::clock::TickClock;
use crate::model::rank::Rank;
use mpiscope_image::derive::ledger::messages_are_recorded;
use mpiscope_image::layout::{Process, SectionKind};
use mpiscope_image::mixture::Mixture;
use mpiscope_image::signature::Signature;
use mpiscope_image::traffic::{Entry, EntryFlag, Traffic};
use mpiscope_image::{Image, Source, W64};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Maximum number of entries read per ring.
const MOST: u64 = 1 << 20;

/// The rings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ledger {
    /// Messages sent.
    pub sent: Ring,
    /// Messages received.
    pub received: Ring,
    /// Buffers of nonblocking and persistent collectives.
    pub collective: Ring,
}

/// A ring of messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ring {
    /// Its messages by order; see [`Entry::order`].
    pub lines: Vec<Line>,
    /// Messages that the library did not report ([`EntryFlag::UNTOLD`]), by order: known is only what the call
    /// specified.
    pub untold: Vec<Line>,
    /// Whether older messages have been overwritten.
    pub wrapped: bool,
    /// Total number of messages ever written to it.
    pub written: u64,
}

/// A message as seen by one of its ends, or a buffer of a collective.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// Its position in the ring, counted without wrapping, so that it is the same in every read.
    pub place: u64,
    /// Identity of the communicator.
    pub comm: u64,
    /// The other side, as rank of the communicator.
    pub peer: u32,
    /// The tag.
    pub tag: i32,
    /// Size in bytes.
    pub bytes: u64,
    /// See [`Entry::order`].
    pub order: u64,
    /// See [`Entry::nth`].
    pub nth: u32,
    /// Whether it is one start of a partitioned operation.
    pub partitioned: bool,
    /// Whether the receive buffer was too small.
    pub failed: bool,
    /// Bits of [`EntryFlag`].
    pub flags: u32,
    /// Address of the buffer; zero if unknown.
    pub buffer: u64,
    /// See [`Entry::digest`].
    pub digest: u64,
    /// Handle of the datatype.
    pub datatype: u64,
    /// Return address of the call that started it.
    pub from: u64,
    /// Whether it was started, not only initialized.
    pub is_started: bool,
    /// Arguments passed; shared by all messages of one source line.
    pub named: Arc<Named>,
    /// Buffer of a collective: the function that made the request, with the line that started the operation.
    pub collective: Option<Arc<Called>>,
    /// When it was posted, in nanoseconds of `CLOCK_MONOTONIC`.
    pub posted_ns: u64,
    /// The call through which the program learned of its completion; `None` if it has not yet.
    pub waited: Option<Waited>,
    /// The probe that found it before its receive was posted.
    pub probed: Option<Waited>,
}

/// What a program did to a buffer that had to stay as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misuse {
    /// It changed the contents.
    Changed,
    /// It released the memory.
    Released,
}

impl Misuse {
    /// Decodes the flags of a record.
    pub(super) fn of(changed: bool, released: bool) -> Option<Self> {
        if released { Some(Self::Released) } else { changed.then_some(Self::Changed) }
    }
}

/// A call that completed a message.
#[derive(Debug, Clone, PartialEq)]
pub struct Waited {
    /// When it started, in nanoseconds of `CLOCK_MONOTONIC`.
    pub from_ns: u64,
    /// When it returned.
    pub until_ns: u64,
    /// Its function and line.
    pub call: Arc<Called>,
}

/// A function called from a particular place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Called {
    #[allow(missing_docs)]
    pub function: String,
    /// Source line in user code.
    pub place: Option<String>,
}

impl fmt::Display for Called {
    /// `MPI_Wait at a.c:7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        self.place.iter().try_for_each(|place| write!(f, " at {place}"))
    }
}

/// Arguments passed to a call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Named {
    /// Type signature; `None` if unknown or compatible with everything.
    pub signature: Option<Signature>,
    /// Number of elements of the datatype.
    pub count: u64,
    /// Count and datatype, as text for users: `4 x MPI_INT`.
    pub data: String,
    /// Source line in user code.
    pub place: Option<String>,
}

/// Keyed by what determines the value: call address, count, datatype, signature.
type ByNames = HashMap<(u64, u64, u64, u64), Arc<Named>>;

/// Values already read.
#[derive(Default)]
struct Known {
    named: ByNames,
    /// Keyed by address and function.
    called: HashMap<(u64, usize), Arc<Called>>,
}

/// Returns whether a process records its individual messages.
pub fn is_kept<S: Source>(image: &Image<S>) -> bool {
    let process = image.table::<Process>(SectionKind::PROCESS).and_then(|table| image.get(&table, 0));
    let totals = image.table::<Traffic>(SectionKind::TRAFFIC).and_then(|table| image.get(&table, 0));
    let both = process.and_then(|process| Ok((process, totals?)));
    both.is_ok_and(|(process, totals)| messages_are_recorded(&process.value, &totals.value))
}

/// Reads the ledger, if there is one.
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
    let mut collective = match totals.ledger_collective.get() {
        0 => Ring::default(),
        written => ring(totals.ledger_collective_first.get(), written)?,
    };
    collective.lines.retain_mut(|line| {
        let function = usize::try_from(line.tag).ok().and_then(|number| number.checked_sub(1));
        line.collective = function.map(|function| called(rank, &mut known, line.from, function));
        // One that was only initialized has no beginning.
        line.collective.is_some() && line.is_started
    });
    Some(Ledger { sent, received, collective })
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
            Line::decoded(&entry, place, clock, &mut |from, function| called(rank, known, from, function))?;
        line.named = named(rank, known, &entry);
        Some(line)
    };
    let all = (written - count..written).filter_map(&mut line);
    let (mut untold, mut lines): (Vec<_>, Vec<_>) = all.partition(|line| line.is(EntryFlag::UNTOLD));
    for lines in [&mut untold, &mut lines] {
        lines.sort_by_key(|line| line.order);
    }
    Some(Ring { lines, untold, wrapped: written > count, written })
}

impl Line {
    /// Decodes an entry, except for the arguments passed; `None` if there was no message or it cannot be
    /// identified. `called` resolves the address and number of a called function.
    pub fn of(
        entry: &Entry,
        place: u64,
        clock: &TickClock,
        called: &mut dyn FnMut(u64, usize) -> Arc<Called>,
    ) -> Option<Self> {
        Self::decoded(entry, place, clock, called).filter(|line| !line.is(EntryFlag::UNTOLD))
    }

    /// Like [`of`](Self::of), also for messages that the library did not report.
    fn decoded(
        entry: &Entry,
        place: u64,
        clock: &TickClock,
        called: &mut dyn FnMut(u64, usize) -> Arc<Called>,
    ) -> Option<Self> {
        let has = |flag: EntryFlag| entry.flags.get() & flag.0 != 0;
        if has(EntryFlag::CANCELLED) {
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
            buffer: entry.buffer.get(),
            digest: entry.digest.get(),
            datatype: entry.datatype.get(),
            from: entry.from.get(),
            is_started: entry.posted.get() != 0,
            named: Arc::default(),
            collective: None,
            posted_ns: clock.ns_at(entry.posted.get()),
            waited: call(&entry.waited_in, &entry.waited_from, [&entry.waited, &entry.completed]),
            probed: call(&entry.probed_in, &entry.probed_from, [&entry.probed, &entry.probed_until])
                .filter(|_| has(EntryFlag::WAITED_IN_PROBE)),
        })
    }

    /// Returns whether a flag is set.
    #[must_use]
    pub fn is(&self, flag: EntryFlag) -> bool {
        self.flags & flag.0 != 0
    }

    /// What became of the buffer before the program knew that the operation was complete.
    #[must_use]
    pub fn misuse(&self) -> Option<Misuse> {
        Misuse::of(self.is(EntryFlag::CHANGED), self.is(EntryFlag::RELEASED))
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
            _ => format!("{count} x {}", rank.datatype(datatype)),
        };
        let signature = Signature::from_stored(signature, entry.elements.get(), Mixture::EMPTY);
        Arc::new(Named { signature, count, data, place: rank.place(from) })
    });
    Arc::clone(named)
}
