//! What is new in the ledger of a followed process since the last pass.

use crate::base::clock::TickClock;
use crate::observation::ledger::{self, Called, Ledger, Line, Ring};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::{Entry, Traffic};
use mpiscope_image::{Image, Source, Table};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of incomplete sends that are read again.
const MOST_UNFINISHED: usize = 4096;

/// The state of reading both rings.
#[derive(Default)]
pub struct Messages {
    sent: u64,
    received: u64,
    /// Positions of sends whose completion the program had not seen, or that were being written when read.
    unfinished: VecDeque<u64>,
    /// Positions of receives that were being written when read.
    unread: Vec<u64>,
    /// Messages of the previous pass, which may be needed to tell what a rank did during a wait.
    before: Ledger,
}

/// Data copied from the ledger.
pub struct Copied {
    sent: Vec<(u64, Entry)>,
    received: Vec<(u64, Entry)>,
    written: (u64, u64),
}

impl Messages {
    /// Copies what is new, and sends that may have completed.
    pub fn copy<S: Source>(&mut self, image: &Image<S>) -> Option<Copied> {
        let table = image.table::<Traffic>(SectionKind::TRAFFIC).ok()?;
        let totals = || Some(image.get::<Traffic>(&table, 0).ok()?.value);
        let before = totals()?;
        let (first, capacity) = (before.ledger_first.get(), before.ledger_capacity.get());
        if capacity == 0 {
            let nothing = Copied { sent: Vec::new(), received: Vec::new(), written: (0, 0) };
            return ledger::is_kept(image).then_some(nothing);
        }
        let entries = image.table::<Entry>(SectionKind::LEDGER).ok()?;
        let written = (before.ledger_sent.get(), before.ledger_received.get());
        let new = |known: u64, written: u64| known.max(written.saturating_sub(capacity))..written;
        let ring =
            |first: u64, places: &mut dyn Iterator<Item = u64>, again: &mut Vec<u64>| -> Vec<(u64, Entry)> {
                let read = |place| entry(image, &entries, first, capacity, place).map(|entry| (place, entry));
                places.filter_map(|place| read(place).ok_or_else(|| again.push(place)).ok()).collect()
            };
        let received_first = first.checked_add(capacity)?;
        let (mut unsent, mut unread) = (Vec::new(), Vec::new());
        let again = self.unfinished.drain(..);
        let mut sent = ring(first, &mut again.chain(new(self.sent, written.0)), &mut unsent);
        let again = self.unread.drain(..);
        let mut received = ring(received_first, &mut again.chain(new(self.received, written.1)), &mut unread);
        (self.sent, self.received) = written;
        self.unfinished.extend(unsent.into_iter().take(MOST_UNFINISHED));
        self.unread.extend(unread.into_iter().take(MOST_UNFINISHED));
        // An entry overwritten in the meantime is, or will be, another message.
        let after = totals()?;
        sent.retain(|(place, _)| place.saturating_add(capacity) > after.ledger_sent.get());
        received.retain(|(place, _)| place.saturating_add(capacity) > after.ledger_received.get());
        Some(Copied { sent, received, written })
    }

    /// Interprets a copy, adding the messages of the previous pass.
    pub fn ledger(
        &mut self,
        copied: &Copied,
        clock: &TickClock,
        called: &mut dyn FnMut(u64, usize) -> Arc<Called>,
    ) -> Ledger {
        let mut lines = |entries: &[(u64, Entry)]| -> Vec<Line> {
            entries.iter().filter_map(|(place, entry)| Line::of(entry, *place, clock, called)).collect()
        };
        let (sent, received) = (lines(&copied.sent), lines(&copied.received));
        let open = sent.iter().filter(|line| line.waited.is_none()).map(|line| line.place);
        self.unfinished.extend(open.take(MOST_UNFINISHED));
        let ring = |lines, written| Ring { lines, written, ..Ring::default() };
        let (sent, received) = (ring(sent, copied.written.0), ring(received, copied.written.1));
        let now = Ledger { sent, received, ..Ledger::default() };
        let mut both = std::mem::replace(&mut self.before, now.clone());
        both.sent.lines.extend(now.sent.lines);
        both.received.lines.extend(now.received.lines);
        (both.sent.written, both.received.written) = copied.written;
        both
    }
}

fn entry<S: Source>(image: &Image<S>, table: &Table, first: u64, capacity: u64, place: u64) -> Option<Entry> {
    let index = first.checked_add(place.checked_rem(capacity)?)?;
    image.get::<Entry>(table, index).ok().filter(|entry| !entry.torn).map(|entry| entry.value)
}
