//! Messages and collectives of one rank that were under way at the same time in the same memory, at least one of
//! which wrote it.
//!
//! An operation is under way from the call that starts it to the return of the call that completes it. Of
//! collectives, those with a request are known. Which bytes an operation uses is known if its elements follow one
//! another without gaps; two operations with the same buffer and datatype share memory whatever the datatype is.

use super::alike::Alike;
use super::{Finding, Kind, Whose};
use crate::observation::Observation;
use crate::observation::ledger::{Called, Ledger, Line};
use mpiscope_image::traffic::{EntryFlag, UNKNOWN_SIZE};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

/// A buffer of an operation while it is under way.
#[derive(Clone, Copy)]
struct Use<'a> {
    line: &'a Line,
    /// Whether the operation writes it.
    receives: bool,
}

impl Use<'_> {
    /// Returns when the program learned that it was complete. If it freed the request of a send, it may have
    /// learned that from an answer at any time.
    fn until_ns(&self) -> u64 {
        let unknown = if self.receives { u64::MAX } else { self.line.posted_ns };
        self.line.waited.as_ref().map_or(unknown, |call| call.until_ns)
    }

    fn end(&self) -> u64 {
        self.line.buffer.saturating_add(self.line.bytes)
    }

    fn shares(&self, other: &Self) -> bool {
        let (one, two) = (self.line, other.line);
        let alike = one.buffer == two.buffer && one.datatype == two.datatype && one.datatype != 0;
        let gapless = one.is(EntryFlag::GAPLESS) && two.is(EntryFlag::GAPLESS);
        alike || gapless && one.buffer < other.end() && two.buffer < self.end()
    }
}

/// Buffers of operations that are under way, by address and by a number that makes the keys unique.
#[derive(Default)]
struct Area<'a> {
    uses: BTreeMap<(u64, usize), Use<'a>>,
    /// Length of the longest one ever added.
    longest: u64,
}

impl<'a> Area<'a> {
    fn add(&mut self, number: usize, one: Use<'a>) {
        self.longest = self.longest.max(one.line.bytes);
        self.uses.insert((one.line.buffer, number), one);
    }

    fn sharing(&self, with: &Use<'_>) -> Option<Use<'a>> {
        let first = with.line.buffer.saturating_sub(self.longest);
        let near = self.uses.range((first, 0)..=(with.end(), usize::MAX));
        near.map(|(_, one)| *one).find(|one| one.shares(with))
    }
}

/// Returns pairs of operations of a process that shared memory: the one started later comes second.
fn pairs(ledger: &Ledger) -> Vec<(Use<'_>, Use<'_>)> {
    let sent = ledger.sent.lines.iter().map(|line| Use { line, receives: false });
    let received = ledger.received.lines.iter().map(|line| Use { line, receives: true });
    let collective = ledger.collective.lines.iter();
    let collective = collective.map(|line| Use { line, receives: line.is(EntryFlag::WRITTEN) });
    let known = |one: &Use<'_>| {
        let line = one.line;
        line.buffer != 0 && line.bytes != 0 && line.bytes != UNKNOWN_SIZE && !line.partitioned
    };
    let mut all: Vec<Use<'_>> = sent.chain(received).chain(collective).filter(known).collect();
    all.sort_by_key(|one| one.line.posted_ns);
    let (mut receives, mut sends) = (Area::default(), Area::default());
    let mut ends = BinaryHeap::new();
    let mut found = Vec::new();
    for (number, one) in all.into_iter().enumerate() {
        while let Some(Reverse((until, key, receive))) = ends.peek().copied()
            && until <= one.line.posted_ns
        {
            ends.pop();
            let area = if receive { &mut receives } else { &mut sends };
            area.uses.remove(&key);
        }
        let other = receives.sharing(&one).or_else(|| sends.sharing(&one).filter(|_| one.receives));
        found.extend(other.map(|other| (other, one)));
        ends.push(Reverse((one.until_ns(), (one.line.buffer, number), one.receives)));
        if one.receives { &mut receives } else { &mut sends }.add(number, one);
    }
    found
}

/// Returns what identifies the operations during which another one wrote into the buffer that they read.
pub(super) fn written_over(ledger: &Ledger) -> HashSet<(bool, u64)> {
    let all = pairs(ledger).into_iter().flat_map(|(one, other)| [one, other]);
    all.filter(|one| !one.receives).map(|one| identity(one.line)).collect()
}

/// Identifies a message that was sent, or a buffer of a collective that was read, within its process.
pub(super) fn identity(line: &Line) -> (bool, u64) {
    (line.collective.is_some(), line.place)
}

/// Describes an operation: `the send of 8 x MPI_INT at a.c:7`, `MPI_Ibcast of 8 x MPI_INT at a.c:7`.
pub(super) fn operation(line: &Line, receives: bool) -> String {
    let what = match line.collective.as_deref() {
        Some(Called { function, .. }) => function,
        None if receives => "the receive",
        None => "the send",
    };
    let named = &line.named;
    let of = if named.data.is_empty() { String::new() } else { format!(" of {}", named.data) };
    let at = named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    format!("{what}{of}{at}")
}

/// Describes a pair.
fn said(first: &Use<'_>, second: &Use<'_>) -> String {
    let [one, other] = [first, second].map(|one| operation(one.line, one.receives));
    let is_collective = first.line.collective.is_some() && second.line.collective.is_some();
    if is_collective && first.line.order == second.line.order && first.line.posted_ns == second.line.posted_ns
    {
        let does = if first.receives && second.receives { "writes" } else { "reads and writes" };
        return format!("two buffers of {one} share memory: it {does} the same bytes");
    }
    format!("{one} and {other} were active at once in the same memory")
}

/// Returns one finding for each pair of lines.
pub(super) fn overlaps(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for (first, second) in seen.ledger.iter().flat_map(|ledger| pairs(ledger)) {
            let lines = [first, second].map(|one| (one.receives, one.line.named.place.as_deref()));
            found.add(lines, whose.who(seen), 1, || said(&first, &second));
        }
    }
    found.findings(Kind::BUFFER_OVERLAP, |[_, (_, place)]| *place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::ledger::{Named, Ring, Waited};
    use std::sync::Arc;

    /// A message of a rank: buffer, bytes, begin and end, and whether its elements have no gaps.
    fn line(buffer: u64, bytes: u64, (from, until): (u64, u64), gapless: bool) -> Line {
        let call = Arc::default();
        Line {
            buffer,
            bytes,
            datatype: 7 + u64::from(gapless),
            flags: if gapless { EntryFlag::GAPLESS.0 } else { 0 },
            posted_ns: from,
            waited: Some(Waited { from_ns: until, until_ns: until, call }),
            ..Line::default()
        }
    }

    fn found(sent: &[Line], received: &[Line]) -> usize {
        let ring = |lines: &[Line]| Ring { lines: lines.to_vec(), wrapped: false, written: 0 };
        pairs(&Ledger { sent: ring(sent), received: ring(received), ..Ledger::default() }).len()
    }

    #[test]
    fn messages_that_share_bytes_at_the_same_time_are_found_if_one_of_them_is_received() {
        let first = line(100, 32, (1, 10), true);
        assert_eq!(found(&[], &[first.clone(), line(116, 32, (2, 10), true)]), 1);
        assert_eq!(found(&[], &[first.clone(), line(132, 32, (2, 10), true)]), 0, "next to each other");
        assert_eq!(found(&[], &[first.clone(), line(116, 32, (10, 12), true)]), 0, "one after the other");
        assert_eq!(found(&[line(116, 4, (2, 3), true)], std::slice::from_ref(&first)), 1);
        assert_eq!(found(&[first.clone(), line(100, 32, (2, 3), true)], &[]), 0, "both only read");
        let freed = Line { waited: None, ..first.clone() };
        let answer = [line(100, 32, (2, 3), true)];
        assert_eq!(
            found(std::slice::from_ref(&freed), &answer),
            0,
            "the answer to a message whose request was freed"
        );
        assert_eq!(found(&[], &[freed, answer[0].clone()]), 1, "a receive that was not completed");
        let blocking = line(100, 32, (1, 10), true);
        assert_eq!(found(std::slice::from_ref(&blocking), &[first]), 1, "MPI_Sendrecv with one buffer");
    }

    #[test]
    fn messages_of_several_sizes_at_the_same_lines_are_one_finding() {
        let sized = |bytes: u64, from: u64, place: &str| {
            let data = format!("{bytes} x MPI_BYTE");
            let named = Named { place: Some(place.to_owned()), data, ..Named::default() };
            Line { named: named.into(), ..line(100, bytes, (from, from + 5), true) }
        };
        let lines = |place: &str| vec![sized(8, 1, place), sized(16, 10, place)];
        let ring = |lines: Vec<Line>| Ring { lines, wrapped: false, written: 2 };
        let ledger =
            Ledger { sent: ring(lines("a.c:5")), received: ring(lines("a.c:6")), ..Ledger::default() };
        let seen = Observation { rank: Some(3), ledger: Some(Box::new(ledger)), ..Observation::default() };
        let job = [seen];
        let found = overlaps(&job, &Whose::of(&job));
        let said: Vec<_> = found.iter().map(|one| one.sentence.as_str()).collect();
        let wanted = "rank 3: the send of 8 x MPI_BYTE at a.c:5 and the receive of 8 x MPI_BYTE at a.c:6 were active at \
                      once in the same memory (2 times)";
        assert_eq!(said, [wanted]);
    }

    #[test]
    fn a_long_message_is_found_behind_a_short_one_that_starts_later_in_memory() {
        let sent = [line(100, 1000, (1, 20), true), line(200, 4, (2, 20), true)];
        assert_eq!(found(&sent, &[line(300, 4, (3, 20), true)]), 1);
    }

    #[test]
    fn collectives_may_share_what_they_read_but_nothing_that_one_of_them_writes() {
        let used = |buffer: u64, from: u64, flag: u32| Line {
            collective: Some(Called { function: "MPI_Iallreduce".into(), place: None }.into()),
            flags: flag | EntryFlag::GAPLESS.0,
            ..line(buffer, 32, (from, 10), true)
        };
        let (read, written) = (0, EntryFlag::WRITTEN.0);
        let found = |sent: &[Line], collective: Vec<Line>| {
            let ring = |lines: Vec<Line>| Ring { lines, wrapped: false, written: 0 };
            let ledger =
                Ledger { sent: ring(sent.to_vec()), collective: ring(collective), ..Ledger::default() };
            let all = pairs(&ledger).into_iter();
            all.map(|pair| [pair.0, pair.1].map(|one| operation(one.line, one.receives))).collect::<Vec<_>>()
        };
        let sent = [line(100, 32, (1, 10), true)];
        assert!(found(&sent, vec![used(100, 2, read), used(100, 3, read)]).is_empty(), "they only read");
        let wanted = [["the send".to_owned(), "MPI_Iallreduce".to_owned()]];
        assert_eq!(found(&sent, vec![used(96, 2, written)]), wanted);
        assert_eq!(found(&[], vec![used(100, 2, written), used(131, 3, written)]).len(), 1);
        let own = [used(100, 2, read), used(100, 2, written)];
        assert_eq!(found(&[], own.to_vec()).len(), 1, "of one operation");
        let [read_by_it, written_by_it] =
            own.each_ref().map(|line| Use { line, receives: line.is(EntryFlag::WRITTEN) });
        let wanted = "two buffers of MPI_Iallreduce share memory: it reads and writes the same bytes";
        assert_eq!(said(&read_by_it, &written_by_it), wanted);
        assert!(found(&[], vec![used(100, 2, written), used(132, 3, written)]).is_empty());
    }

    #[test]
    fn messages_with_gaps_share_memory_for_certain_only_with_the_same_buffer_and_datatype() {
        let column = line(100, 16, (1, 10), false);
        assert_eq!(found(&[], &[column.clone(), line(104, 16, (2, 10), false)]), 0);
        assert_eq!(found(&[], &[column.clone(), line(100, 16, (2, 10), true)]), 0);
        assert_eq!(found(&[], &[column.clone(), line(100, 16, (2, 10), false)]), 1);
    }
}
