//! Operations of one rank that were under way at the same time in the same memory, at least one of which wrote it:
//! messages, collectives, and what one-sided operations use at their origin.
//!
//! An operation is under way from the call that starts it to the return of the call that completes it. Blocking
//! collectives are known if a request was active meanwhile, or if their own buffers share memory. Which bytes an
//! operation uses is known if its elements follow one another without gaps; two messages with the same buffer and
//! datatype share memory whatever the datatype is.
//!
//! If it is not known when the program waited for the request of a one-sided operation, such an operation counts only
//! until its call returned.

mod uses;

use super::alike::Alike;
use super::{Finding, Kind, Whose};
use crate::observation::Observation;
use crate::observation::one_sided::{Does, OneSidedCall};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use uses::Use;
pub(super) use uses::{Operation, Use as Lent, described, of as lent};

/// Buffers of operations that are under way, by address and by a number that makes the keys unique.
#[derive(Default)]
struct Area<'a> {
    uses: BTreeMap<(u64, usize), Use<'a>>,
    /// Length of the longest one ever added.
    longest: u64,
}

impl<'a> Area<'a> {
    fn add(&mut self, number: usize, one: Use<'a>) {
        self.longest = self.longest.max(one.bytes);
        self.uses.insert((one.buffer, number), one);
    }

    fn sharing(&self, with: &Use<'_>) -> Option<Use<'a>> {
        let first = with.buffer.saturating_sub(self.longest);
        let near = self.uses.range((first, 0)..=(with.end(), usize::MAX));
        near.map(|(_, one)| *one).find(|one| one.shares(with))
    }
}

/// Returns pairs of operations of a process that shared memory: the one started later comes second.
fn pairs(seen: &Observation) -> Vec<(Use<'_>, Use<'_>)> {
    let (mut written, mut read) = (Area::default(), Area::default());
    let mut ends = BinaryHeap::new();
    let mut found = Vec::new();
    for (number, one) in uses::of(seen).into_iter().enumerate() {
        while let Some(Reverse((until, key, writes))) = ends.peek().copied()
            && until <= one.from_ns
        {
            ends.pop();
            let area = if writes { &mut written } else { &mut read };
            area.uses.remove(&key);
        }
        let other = written.sharing(&one).or_else(|| read.sharing(&one).filter(|_| one.writes));
        found.extend(other.map(|other| (other, one)));
        ends.push(Reverse((one.until_ns, (one.buffer, number), one.writes)));
        if one.writes { &mut written } else { &mut read }.add(number, one);
    }
    found
}

/// Returns the operations during which another one wrote into their buffer.
pub(super) fn written_over(seen: &Observation) -> Vec<Operation<'_>> {
    let all = pairs(seen).into_iter().flat_map(|(one, other)| [(one, other), (other, one)]);
    all.filter(|(_, by)| by.writes).map(|(one, _)| one.operation).collect()
}

/// Describes a pair.
fn said(first: &Use<'_>, second: &Use<'_>) -> String {
    let one = first.described();
    if first.is_of_operation(second) {
        return match first.writes && second.writes {
            true => format!("{one} writes the same bytes twice"),
            false => format!("two buffers of {one} share memory: it reads and writes the same bytes"),
        };
    }
    format!("{one} and {} were active at once in the same memory", second.described())
}

/// Describes an operation that writes bytes twice.
fn repeating(described: &str) -> String {
    format!("{described} writes the same bytes twice: elements of its datatype overlap")
}

fn repeats_memory(call: &&OneSidedCall) -> bool {
    matches!(&call.does, Does::Access(access) if access.repeats)
}

/// Returns one finding for each pair of lines, and for each line of an operation that writes bytes twice.
pub(super) fn overlaps(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found = Alike::new();
    for seen in observations {
        for one in uses::of(seen).into_iter().filter(Use::repeats_memory) {
            let lines = [(true, one.place()); 2];
            found.add(lines, whose.who(seen), 1, || repeating(&one.described()));
        }
        for call in seen.one_sided.iter().flat_map(|known| known.calls.iter().filter(repeats_memory)) {
            let lines = [(true, call.call.place.as_deref()); 2];
            found.add(lines, whose.who(seen), 1, || repeating(&call.call.to_string()));
        }
        for (first, second) in pairs(seen) {
            let lines = [first, second].map(|one| (one.writes, one.place()));
            found.add(lines, whose.who(seen), 1, || said(&first, &second));
        }
    }
    found.findings(Kind::BUFFER_OVERLAP, |[_, (_, place)]| *place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::OneSided;
    use crate::observation::ledger::{Called, Ledger, Line, Named, Ring, Waited};
    use crate::observation::one_sided::Access;
    use mpiscope_image::traffic::EntryFlag;
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

    fn observed(ledger: Ledger, one_sided: Option<OneSided>) -> Observation {
        let one_sided = one_sided.map(Box::new);
        Observation { rank: Some(3), ledger: Some(Box::new(ledger)), one_sided, ..Observation::default() }
    }

    fn found(sent: &[Line], received: &[Line]) -> usize {
        let ring = |lines: &[Line]| Ring { lines: lines.to_vec(), written: 0, ..Ring::default() };
        let ledger = Ledger { sent: ring(sent), received: ring(received), ..Ledger::default() };
        pairs(&observed(ledger, None)).len()
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
        assert_eq!(
            found(std::slice::from_ref(&blocking), std::slice::from_ref(&first)),
            1,
            "MPI_Sendrecv with one buffer"
        );
        let matched = |from, until| {
            let waited = Some(Waited { from_ns: from, until_ns: until, call: Arc::default() });
            let line = line(100, 32, (0, until), true);
            Line { flags: line.flags | EntryFlag::BLOCKING.0, waited, ..line }
        };
        assert_eq!(found(&[], &[first.clone(), matched(11, 12)]), 0, "the probe does not use the buffer");
        assert_eq!(found(&[], &[first, matched(9, 12)]), 1);
    }

    #[test]
    fn messages_of_several_sizes_at_the_same_lines_are_one_finding() {
        let sized = |bytes: u64, from: u64, place: &str| {
            let data = format!("{bytes} x MPI_BYTE");
            let named = Named { place: Some(place.to_owned()), data, ..Named::default() };
            Line { named: named.into(), ..line(100, bytes, (from, from + 5), true) }
        };
        let lines = |place: &str| vec![sized(8, 1, place), sized(16, 10, place)];
        let ring = |lines: Vec<Line>| Ring { lines, written: 2, ..Ring::default() };
        let ledger =
            Ledger { sent: ring(lines("a.c:5")), received: ring(lines("a.c:6")), ..Ledger::default() };
        let job = [observed(ledger, None)];
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
            let ring = |lines: Vec<Line>| Ring { lines, written: 0, ..Ring::default() };
            let ledger =
                Ledger { sent: ring(sent.to_vec()), collective: ring(collective), ..Ledger::default() };
            let seen = observed(ledger, None);
            let all = pairs(&seen).into_iter();
            all.map(|pair| [pair.0, pair.1].map(|one| one.described())).collect::<Vec<_>>()
        };
        let sent = [line(100, 32, (1, 10), true)];
        assert!(found(&sent, vec![used(100, 2, read), used(100, 3, read)]).is_empty(), "they only read");
        let wanted = [["the send".to_owned(), "MPI_Iallreduce".to_owned()]];
        assert_eq!(found(&sent, vec![used(96, 2, written)]), wanted);
        assert_eq!(found(&[], vec![used(100, 2, written), used(131, 3, written)]).len(), 1);
        let own = [used(100, 2, read), used(100, 2, written)];
        assert_eq!(found(&[], own.to_vec()).len(), 1, "of one operation");
        let wanted = "two buffers of MPI_Iallreduce share memory: it reads and writes the same bytes";
        let collective = Ring { lines: own.to_vec(), written: 0, ..Ring::default() };
        let seen = observed(Ledger { collective, ..Ledger::default() }, None);
        assert_eq!(pairs(&seen).iter().map(|(one, other)| said(one, other)).collect::<Vec<_>>(), [wanted]);
        assert!(found(&[], vec![used(100, 2, written), used(132, 3, written)]).is_empty());
        let blocking = |buffer: u64, from: u64, flag: u32| Line {
            waited: None,
            ..used(buffer, from, flag | EntryFlag::BLOCKING.0)
        };
        assert_eq!(found(&sent, vec![blocking(96, 2, written)]).len(), 1);
        assert_eq!(
            found(&[], vec![blocking(100, 2, read), blocking(131, 2, written)]).len(),
            1,
            "of one call"
        );
        assert!(found(&[], vec![blocking(100, 2, written), blocking(100, 5, written)]).is_empty());
        let blocks = Ring { lines: vec![blocking(100, 2, written); 2], written: 0, ..Ring::default() };
        let seen = observed(Ledger { collective: blocks, ..Ledger::default() }, None);
        let wanted = "MPI_Iallreduce writes the same bytes twice";
        assert_eq!(pairs(&seen).iter().map(|(one, other)| said(one, other)).collect::<Vec<_>>(), [wanted]);
    }

    #[test]
    fn messages_with_gaps_share_memory_for_certain_only_with_the_same_buffer_and_datatype() {
        let column = line(100, 16, (1, 10), false);
        assert_eq!(found(&[], &[column.clone(), line(104, 16, (2, 10), false)]), 0);
        assert_eq!(found(&[], &[column.clone(), line(100, 16, (2, 10), true)]), 0);
        assert_eq!(found(&[], &[column.clone(), line(100, 16, (2, 10), false)]), 1);
    }

    #[test]
    fn a_receive_into_elements_that_overlap_is_found_and_a_send_from_them_is_not() {
        let twice = Line { flags: EntryFlag::OVERLAPPING.0, ..line(100, 16, (1, 10), false) };
        let ring = || Ring { lines: vec![twice.clone()], written: 1, ..Ring::default() };
        let said = |ledger: Ledger| {
            let job = [observed(ledger, None)];
            overlaps(&job, &Whose::of(&job)).into_iter().map(|one| one.sentence).collect::<Vec<_>>()
        };
        let wanted = "rank 3: the receive writes the same bytes twice: elements of its datatype overlap";
        assert_eq!(said(Ledger { received: ring(), ..Ledger::default() }), [wanted]);
        assert!(said(Ledger { sent: ring(), ..Ledger::default() }).is_empty());
    }

    /// An operation at a line: what it reads and writes at the origin (8 bytes each), and when it was called.
    fn one_sided(function: &str, (given, fetched): (Option<u64>, Option<u64>), at: u64) -> OneSidedCall {
        let access = Access { given, fetched, bytes: 8, ..Access::default() };
        let call = Called { function: function.into(), place: Some(format!("a.c:{at}")) };
        OneSidedCall {
            window: 7,
            collectives: 0,
            from_ns: at,
            until_ns: at + 1,
            call: call.into(),
            does: Does::Access(access),
        }
    }

    fn fence(at: u64) -> OneSidedCall {
        let does = Does::Completes { target: None, locally: false };
        OneSidedCall { does, ..one_sided("MPI_Win_fence", (None, None), at) }
    }

    fn said_of(sent: Vec<Line>, calls: Vec<OneSidedCall>) -> Vec<String> {
        let sent = Ring { lines: sent, written: 0, ..Ring::default() };
        let known = OneSided { calls, ..OneSided::default() };
        let seen = observed(Ledger { sent, ..Ledger::default() }, Some(known));
        pairs(&seen).iter().map(|(one, other)| said(one, other)).collect()
    }

    #[test]
    fn a_one_sided_operation_that_writes_elements_that_overlap_is_found() {
        let said = |repeats| {
            let mut get = one_sided("MPI_Get", (None, None), 2);
            if let Does::Access(access) = &mut get.does {
                access.repeats = repeats;
            }
            let known = OneSided { calls: vec![get], ..OneSided::default() };
            let job = [observed(Ledger::default(), Some(known))];
            overlaps(&job, &Whose::of(&job)).into_iter().map(|one| one.sentence).collect::<Vec<_>>()
        };
        let wanted = "rank 3: MPI_Get at a.c:2 writes the same bytes twice: elements of its datatype overlap";
        assert_eq!(said(true), [wanted]);
        assert!(said(false).is_empty());
    }

    #[test]
    fn what_a_one_sided_operation_fetches_is_not_used_by_another_one_before_it_is_complete() {
        let get = |at| one_sided("MPI_Get", (None, Some(100)), at);
        let put = |at| one_sided("MPI_Put", (Some(104), None), at);
        let both = "MPI_Get at a.c:2 and MPI_Put at a.c:5 were active at once in the same memory";
        assert_eq!(said_of(Vec::new(), vec![get(2), put(5), fence(8)]), [both]);
        assert!(said_of(Vec::new(), vec![get(2), fence(4), put(5), fence(8)]).is_empty());
        assert!(said_of(Vec::new(), vec![put(2), put(5), fence(8)]).is_empty(), "both only read");
        let swap = one_sided("MPI_Fetch_and_op", (Some(100), Some(100)), 2);
        let one = "two buffers of MPI_Fetch_and_op at a.c:2 share memory: it reads and writes the same bytes";
        assert_eq!(said_of(Vec::new(), vec![swap, fence(3)]), [one]);
        let sent = "MPI_Get at a.c:2 and the send were active at once in the same memory";
        assert_eq!(said_of(vec![line(100, 8, (4, 6), true)], vec![get(2), fence(8)]), [sent]);
        assert!(said_of(vec![line(100, 8, (4, 6), true)], vec![get(2)]).is_empty(), "completion not seen");
        let with_request = |waited_ns| {
            let mut get = get(2);
            if let Does::Access(access) = &mut get.does {
                (access.request, access.waited_ns) = (true, waited_ns);
            }
            said_of(vec![line(100, 8, (4, 6), true)], vec![get, fence(8)]).len()
        };
        assert_eq!(with_request(Some(7)), 1);
        assert_eq!(with_request(Some(4)), 0, "after the wait");
        assert_eq!(with_request(Some(10)), 1, "until the fence");
        assert_eq!(with_request(None), 0, "perhaps after the wait");
    }
}
