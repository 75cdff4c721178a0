//! Which memory of its own a process lent to operations, and from when until when.

use crate::observation::Observation;
use crate::observation::ledger::{Called, Ledger, Line};
use crate::observation::one_sided::{Access, Does, OneSidedCall, ends_at_origin};
use mpiscope_image::traffic::{EntryFlag, UNKNOWN_SIZE};

/// A buffer of an operation while it is under way.
#[derive(Debug, Clone, Copy)]
pub(in crate::questions::findings) struct Use<'a> {
    pub operation: Operation<'a>,
    /// Address.
    pub buffer: u64,
    /// Number of bytes without its gaps.
    pub bytes: u64,
    /// Handle of the datatype; zero if unknown.
    datatype: u64,
    pub is_gapless: bool,
    /// When the operation started, in nanoseconds.
    pub from_ns: u64,
    /// When the program learned that it was complete.
    pub until_ns: u64,
    /// Whether the operation writes the buffer.
    pub writes: bool,
}

/// What uses a buffer.
#[derive(Debug, Clone, Copy)]
pub(in crate::questions::findings) enum Operation<'a> {
    /// A message or a collective.
    Line(&'a Line),
    /// A one-sided operation.
    OneSided(&'a OneSidedCall),
}

impl<'a> Use<'a> {
    fn of_line(line: &'a Line, writes: bool) -> Option<Self> {
        let known = line.buffer != 0 && line.bytes != 0 && line.bytes != UNKNOWN_SIZE && !line.partitioned;
        // No other operation begins before a blocking collective returns. If the program freed the request of a send, it
        // may have learned that it was complete from an answer at any time.
        let is_blocking = line.collective.is_some() && line.is(EntryFlag::BLOCKING);
        let unknown = match writes {
            _ if is_blocking => line.posted_ns.saturating_add(1),
            true => u64::MAX,
            false => line.posted_ns,
        };
        // A matched receive is posted by its probe, which does not name the buffer yet.
        let started =
            line.waited.as_ref().filter(|_| line.is(EntryFlag::BLOCKING)).map_or(0, |call| call.from_ns);
        known.then(|| Self {
            operation: Operation::Line(line),
            buffer: line.buffer,
            bytes: line.bytes,
            datatype: line.datatype,
            is_gapless: line.is(EntryFlag::GAPLESS),
            from_ns: line.posted_ns.max(started),
            until_ns: line.waited.as_ref().map_or(unknown, |call| call.until_ns),
            writes,
        })
    }

    /// Returns the buffers at the origin: what an operation reads, and what it fetches into.
    fn of_one_sided(
        (call, until_ns): (&'a OneSidedCall, u64),
        access: &Access,
    ) -> impl Iterator<Item = Self> + use<'a> {
        let one = move |buffer: Option<u64>, bytes: u64, writes: bool| {
            Some(Self {
                operation: Operation::OneSided(call),
                buffer: buffer?,
                bytes,
                datatype: 0,
                is_gapless: true,
                from_ns: call.from_ns,
                until_ns,
                writes,
            })
        };
        let known = call.from_ns != 0 && access.bytes != 0;
        let both = [one(access.given, access.bytes, false), one(access.fetched, access.bytes, true)];
        both.into_iter().flatten().filter(move |_| known)
    }

    /// Returns the address behind the last byte of a buffer without gaps.
    pub(in crate::questions::findings) fn end(&self) -> u64 {
        self.buffer.saturating_add(self.bytes)
    }

    /// Whether two buffers certainly have a byte in common.
    pub(super) fn shares(&self, other: &Self) -> bool {
        let alike = self.buffer == other.buffer && self.datatype == other.datatype && self.datatype != 0;
        let gapless = self.is_gapless && other.is_gapless;
        alike || gapless && self.buffer < other.end() && other.buffer < self.end()
    }

    /// Whether the operation writes bytes twice because of the layout of the buffer's datatype.
    pub(super) fn repeats_memory(&self) -> bool {
        self.writes && matches!(self.operation, Operation::Line(line) if line.is(EntryFlag::OVERLAPPING))
    }

    /// Whether both are buffers of the same operation, other than the two halves of `MPI_Sendrecv`.
    pub(super) fn is_of_operation(&self, other: &Self) -> bool {
        match (self.operation, other.operation) {
            (Operation::Line(one), Operation::Line(other)) => {
                let collective = one.collective.is_some() && other.collective.is_some();
                collective && one.order == other.order && one.posted_ns == other.posted_ns
            }
            (Operation::OneSided(one), Operation::OneSided(other)) => std::ptr::eq(one, other),
            _ => false,
        }
    }

    /// Returns the source line of the operation.
    pub(in crate::questions::findings) fn place(&self) -> Option<&'a str> {
        match self.operation {
            Operation::Line(line) => line.named.place.as_deref(),
            Operation::OneSided(call) => call.call.place.as_deref(),
        }
    }

    /// Describes the operation.
    pub(in crate::questions::findings) fn described(&self) -> String {
        match self.operation {
            Operation::Line(line) => described(line, self.writes),
            Operation::OneSided(call) => call.call.to_string(),
        }
    }
}

/// Describes a message or a collective: `the send of 8 x MPI_INT at a.c:7`, `MPI_Ibcast of 8 x MPI_INT at a.c:7`.
pub(in crate::questions::findings) fn described(line: &Line, receives: bool) -> String {
    let what = match line.collective.as_deref() {
        Some(Called { function, .. }) => function,
        None if receives => "the receive",
        None if line.is(EntryFlag::READY) => "the ready send",
        None => "the send",
    };
    let named = &line.named;
    let of = if named.data.is_empty() { String::new() } else { format!(" of {}", named.data) };
    let at = named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    format!("{what}{of}{at}")
}

/// Returns all buffers of a process, by the start of their operations.
pub(in crate::questions::findings) fn of(seen: &Observation) -> Vec<Use<'_>> {
    let mut all: Vec<Use<'_>> = seen.ledger.iter().flat_map(|ledger| of_ledger(ledger)).collect();
    if let Some(known) = &seen.one_sided {
        let calls = known.calls.iter().zip(ends_at_origin(&known.calls));
        all.extend(calls.flat_map(|(call, until_ns)| {
            let access = if let Does::Access(access) = &call.does { Some(access) } else { None };
            access.into_iter().flat_map(move |access| Use::of_one_sided((call, until_ns), access))
        }));
    }
    all.sort_by_key(|one| one.from_ns);
    all
}

fn of_ledger(ledger: &Ledger) -> impl Iterator<Item = Use<'_>> {
    let sent = ledger.sent.lines.iter().map(|line| (line, false));
    let received = ledger.received.lines.iter().map(|line| (line, true));
    let collective = ledger.collective.lines.iter().map(|line| (line, line.is(EntryFlag::WRITTEN)));
    sent.chain(received).chain(collective).filter_map(|(line, writes)| Use::of_line(line, writes))
}
