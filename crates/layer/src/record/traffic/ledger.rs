//! The rings of messages sent and received, and of the buffers of collectives with requests.
#![allow(unsafe_code)]

use super::data::Data;
use super::probed::Probe;
use crate::base::settings;
use crate::record::objects::datatypes::is_gapless;
use crate::record::objects::tables;
use crate::record::trace;
use mpiscope_image::layout::{Loss, Recording, SectionKind};
use mpiscope_image::objects::Datatype;
use mpiscope_image::traffic::{Entry, EntryFlag, Traffic, UNKNOWN_SIZE};
use mpiscope_image::{W64, Writer};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Number of entries of a ring, unless set by `MPISCOPE_LEDGER`; more with a large trace.
pub const DEFAULT_CAPACITY: usize = mpiscope_image::trace::DEFAULT_MESSAGES as usize;
/// Maximum number of entries that is accepted.
pub const MOST: usize = 1 << 26;

/// Value of [`CAPACITY`] until it is set.
const UNSET: usize = usize::MAX;
/// The argument of [`set_capacity`].
static CAPACITY: AtomicUsize = AtomicUsize::new(UNSET);
static MADE: AtomicBool = AtomicBool::new(false);

/// The rings: those of messages are empty until the first message, the other one until the first collective.
#[derive(Default)]
pub struct Ledger {
    /// Messages sent.
    pub sent: Ring,
    /// Messages received.
    pub received: Ring,
    /// Buffers of collectives.
    pub collective: Ring,
    made: Cell<bool>,
    made_collective: Cell<bool>,
}

/// One ring.
#[derive(Default)]
pub struct Ring {
    entries: Cell<&'static [Entry]>,
}

/// Whether messages are recorded one by one.
#[inline(always)]
pub fn recorded() -> bool {
    settings::records(Recording::MESSAGES)
}

/// What the hooks know about a message.
pub struct Line {
    #[allow(missing_docs)]
    pub comm: u64,
    #[allow(missing_docs)]
    pub peer: i32,
    #[allow(missing_docs)]
    pub tag: i32,
    #[allow(missing_docs)]
    pub bytes: u64,
    /// Time in ticks.
    pub posted: u64,
    /// Time in ticks; zero if not complete.
    pub completed: u64,
    #[allow(missing_docs)]
    pub order: u64,
    #[allow(missing_docs)]
    pub nth: u64,
    /// Bits of [`mpiscope_image::traffic::EntryFlag`].
    pub flags: u32,
    #[allow(missing_docs)]
    pub data: Data,
    /// The call by which the program learned that the message is complete, if it did: beginning of the wait,
    /// call site, and function number plus one.
    pub waited: Option<(u64, u64, u64)>,
    /// The probe that waited for it.
    pub probed: Option<Probe>,
}

impl Ledger {
    /// Adds a message sent. Returns its position, counted without wrapping, plus one.
    #[inline(always)]
    pub fn sent(&self, writer: &'static Writer, totals: &Traffic, line: &Line) -> u64 {
        self.make(writer, totals);
        self.sent.write(writer, (&totals.ledger_sent, Loss::MESSAGES), line)
    }

    /// Adds a message received. Returns its position, counted without wrapping, plus one.
    #[inline(always)]
    pub fn received(&self, writer: &'static Writer, totals: &Traffic, line: &Line) -> u64 {
        self.make(writer, totals);
        self.received.write(writer, (&totals.ledger_received, Loss::MESSAGES), line)
    }

    #[inline(always)]
    fn make(&self, writer: &'static Writer, totals: &Traffic) {
        if !self.made.replace(true) {
            make(self, writer, totals);
        }
    }

    /// Adds a buffer of a collective. Returns its position, counted without wrapping, plus one.
    pub fn collective(&self, writer: &'static Writer, totals: &Traffic, line: &Line) -> u64 {
        if !self.made_collective.replace(true) {
            self.make(writer, totals);
            make_collective(self, writer, totals);
        }
        self.collective.write(writer, (&totals.ledger_collective, Loss::BUFFERS), line)
    }
}

#[inline(always)]
fn repeats_memory(datatype: &Datatype, bytes: u64) -> bool {
    bytes != UNKNOWN_SIZE && datatype.repeats_memory(bytes)
}

impl Ring {
    /// Overwrites the oldest entry, which is counted as a loss of this kind. Returns the position of the new one, counted
    /// without wrapping, plus one.
    #[inline(always)]
    fn write(&self, writer: &'static Writer, (written, loss): (&W64, Loss), line: &Line) -> u64 {
        let place = written.get();
        let entries = self.entries.get();
        // The capacity is a power of two.
        let Some(entry) = entries.get(place as usize & entries.len().wrapping_sub(1)) else { return 0 };
        if place >= entries.len() as u64
            && let Some(lost) = writer.header().lost.get(loss.0 as usize)
        {
            lost.add_mine(1);
        }
        {
            let _open = entry.seq.open();
            entry.comm.set(line.comm);
            entry.peer.set(line.peer.cast_unsigned());
            entry.tag.set(line.tag.cast_unsigned());
            entry.bytes.set(line.bytes);
            entry.posted.set(line.posted);
            entry.completed.set(line.completed);
            entry.order.set(line.order);
            entry.nth.set(line.nth as u32);
            let (from, count, datatype) = (line.data.from, line.data.count, line.data.datatype);
            let signed = tables::DATATYPES.find(datatype);
            let flag = |set: bool, flag: EntryFlag| if set { flag.0 } else { 0 };
            entry.flags.set(
                line.flags
                    | flag(line.probed.is_some(), EntryFlag::WAITED_IN_PROBE)
                    | flag(signed.is_some_and(is_gapless), EntryFlag::GAPLESS)
                    | flag(signed.is_some_and(|of| repeats_memory(of, line.bytes)), EntryFlag::OVERLAPPING),
            );
            entry.buffer.set(line.data.buffer);
            entry.digest.set(0);
            entry.from.set(from);
            entry.count.set(count);
            entry.datatype.set(datatype);
            entry.signature.set(signed.map_or(0, |record| record.signature.get()));
            entry.elements.set(signed.map_or(0, |record| record.elements.get()));
            let (since, from, function) = line.waited.unwrap_or_default();
            entry.waited.set(since);
            entry.waited_from.set(from);
            entry.waited_in.set(function);
            if let Some(probe) = &line.probed {
                entry.probed.set(probe.since);
                entry.probed_until.set(probe.until);
                entry.probed_from.set(probe.from);
                entry.probed_in.set(probe.function);
            }
        }
        written.set(place.wrapping_add(1));
        place.wrapping_add(1)
    }

    /// Returns the entry for a `number` returned by `write`, unless it has been overwritten.
    #[inline(always)]
    pub fn entry(&self, written: &W64, number: u64) -> Option<&'static Entry> {
        let entries = self.entries.get();
        let place = number.checked_sub(1)?;
        if written.get().wrapping_sub(place) > entries.len() as u64 {
            return None;
        }
        entries.get(place as usize & entries.len().wrapping_sub(1))
    }
}

/// Returns the number of entries that each ring has or will have: 0 or a power of two.
pub fn capacity() -> usize {
    let set = CAPACITY.load(Ordering::Acquire);
    if set != UNSET {
        return set;
    }
    let wanted = settings::number(c"MPISCOPE_LEDGER")
        .unwrap_or_else(|| mpiscope_image::trace::messages(trace::capacity() as u64) as usize);
    if wanted == 0 { 0 } else { wanted.min(MOST).next_power_of_two() }
}

/// Sets the [`capacity`], unless the rings have already been made.
pub fn set_capacity(entries: usize) {
    CAPACITY.store(entries, Ordering::Release);
}

/// Whether the rings have been made, by the first message, so that their size is fixed.
pub fn is_made() -> bool {
    MADE.load(Ordering::Acquire)
}

/// Makes both rings. Without room in the image they stay empty; every message is then lost.
#[cold]
fn make(ledger: &Ledger, writer: &'static Writer, totals: &Traffic) {
    let capacity = capacity();
    MADE.store(true, Ordering::Release);
    if capacity == 0 {
        return;
    }
    let Some((first, entry)) = writer.new_array::<Entry>(SectionKind::LEDGER, 2 * capacity, 2 * capacity)
    else {
        writer.lose(Loss::MESSAGES, 1);
        return;
    };
    // SAFETY: the writer allocated this many contiguous records, all zero, for the lifetime of the process.
    let entries = unsafe { std::slice::from_raw_parts(entry, 2 * capacity) };
    let (sent, received) = entries.split_at(capacity);
    ledger.sent.entries.set(sent);
    ledger.received.entries.set(received);
    publish(totals, first, capacity);
}

/// Makes the third ring, as large as the others.
#[cold]
fn make_collective(ledger: &Ledger, writer: &'static Writer, totals: &Traffic) {
    let capacity = ledger.sent.entries.get().len();
    if capacity == 0 {
        return;
    }
    let Some((first, entry)) = writer.new_array::<Entry>(SectionKind::LEDGER, capacity, capacity) else {
        writer.lose(Loss::BUFFERS, 1);
        return;
    };
    // SAFETY: as in `make`.
    ledger.collective.entries.set(unsafe { std::slice::from_raw_parts(entry, capacity) });
    totals.ledger_collective_first.set(first);
}

fn publish(totals: &Traffic, first: u64, capacity: usize) {
    totals.ledger_first.set(first);
    totals.ledger_capacity.set(capacity as u64);
}
