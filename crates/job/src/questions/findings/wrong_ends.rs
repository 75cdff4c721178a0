//! Messages whose two ends do not fit each other.

use super::{Finding, Kind, Whose};
use crate::jobs::worlds::Members;
use crate::observation::faults::{self, Fault};
use crate::observation::{Communicator, Observation, Stage};
use crate::questions::why::messages::{Pairs, Sent};
use crate::questions::why::words::ranks;
use crate::questions::why::{Joined, Peer, ProcessIndex, Receive, Snapshot, Unequal, Words, differing};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// Returns messages that do not fit their receives: those that a call has reported, and those still on their
/// way.
pub(super) fn misfits(
    observations: &[Observation],
    snapshot: &Snapshot,
    words: &Words<'_>,
    whose: &Whose,
) -> Vec<Finding> {
    let pairs = Pairs::of(snapshot);
    let senders = OnceCell::new();
    let known = || senders.get_or_init(|| Senders::of(observations));
    let on_the_way = pairs.posted().iter().filter_map(|((receiver, receive), sent)| {
        let sent = (*sent)?;
        // Most fit: the messages of others need not be searched.
        on_the_way(words, *receiver, receive, &[sent])?;
        let found = on_the_way(words, *receiver, receive, &candidates(snapshot, *receiver, receive, sent))?;
        let seen = known().seen.get(receiver);
        (!seen.is_some_and(|seen| may_have_arrived(seen, receive))).then_some(found)
    });
    let seen = observations.iter().flat_map(|seen| seen.faults.iter().map(move |fault| (seen, fault)));
    let of_calls = seen
        .filter(|(_, fault)| fault.kind == faults::Kind::Truncated)
        .map(|(seen, fault)| of_call(known(), seen, fault, whose));
    of_calls.chain(on_the_way).collect()
}

/// Whether an incomplete receive may have got an earlier message than the one that is on its way, because a later
/// receive is complete.
fn may_have_arrived(seen: &Observation, receive: &Receive) -> bool {
    let same_tag = |tag: i32| receive.matches.tag.is_none_or(|wanted| wanted == tag);
    match &seen.ledger {
        Some(ledger) => {
            ledger.received.lines.iter().any(|line| line.order > receive.order && same_tag(line.tag))
        }
        None => {
            receive.order != u64::MAX && (seen.stage == Stage::Finalized || receive.overwritten.is_some())
        }
    }
}

/// Returns the messages that a receive could get: the one paired with it and, if it accepts any rank, all that
/// others have sent.
fn candidates<'a>(
    snapshot: &'a Snapshot,
    receiver: ProcessIndex,
    receive: &Receive,
    sent: Sent<'a>,
) -> Vec<Sent<'a>> {
    if receive.matches.from == Peer::One(sent.0) {
        return vec![sent];
    }
    let others = (0..).zip(&snapshot.processes).filter(|(index, _)| *index != sent.0);
    let of_others =
        others.flat_map(|(index, process)| process.sent.iter().map(move |message| (index, message)));
    let fits = |(index, message): &Sent<'_>| message.to == receiver && receive.matches.fits(*index, message);
    [sent].into_iter().chain(of_others.filter(fits)).collect()
}

/// Returns what is wrong if every message that a receive could get is too long, or no whole number of elements.
fn on_the_way(
    words: &Words<'_>,
    receiver: ProcessIndex,
    receive: &Receive,
    messages: &[Sent<'_>],
) -> Option<Finding> {
    let all = |is: &dyn Fn(u64) -> bool| messages.iter().all(|(_, message)| is(message.bytes));
    let (kind, takes, end) = match (receive.room, receive.element) {
        (Some(room), _) if all(&|bytes| bytes > room) => {
            (Kind::TRUNCATED, format!("has room for {room} bytes"), "")
        }
        (_, Some(element)) if all(&|bytes| !bytes.is_multiple_of(element.get().into())) => (
            Kind::TYPE_MISMATCH,
            format!("takes elements of {element} bytes"),
            ", which is no whole number of them",
        ),
        _ => return None,
    };
    let (_, message) = messages.iter().min_by_key(|(_, message)| message.bytes)?;
    let senders = words.members(messages.iter().map(|(sender, _)| *sender));
    let mut concerned = words.members([receiver]);
    if kind == Kind::TYPE_MISMATCH {
        concerned.join(senders.clone());
    }
    let one = if senders.len() > 1 { "one of " } else { "" };
    let at = receive.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    Some(Finding {
        kind,
        ranks: concerned,
        line: receive.place.as_deref().map(str::to_owned),
        sentence: format!(
            "the receive of rank {}{at} {takes}, and {one}{} sent {}{end}",
            words.rank(receiver),
            ranks(&senders),
            words.sent(message)
        ),
    })
}

fn of_call(senders: &Senders<'_>, seen: &Observation, fault: &Fault, whose: &Whose) -> Finding {
    let who = whose.who(seen);
    let comm = seen.communicators.iter().find(|comm| comm.identity == fault.comm);
    let room = fault.room.map_or_else(String::new, |room| format!(" for {room} bytes"));
    let at = fault.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
    let sender = senders.sender(seen, fault);
    let by = match sender {
        Some(sender) => whose.who(sender).named(),
        None => format!("rank {} of the communicator", fault.peer),
    };
    let (size, sent_at) = sent(sender, comm, fault);
    let size = size.map_or_else(|| "more bytes".to_owned(), |bytes| format!("{bytes} bytes"));
    let sent_at = sent_at.map_or_else(String::new, |place| format!(", {place}"));
    let on = comm.map_or_else(String::new, |comm| format!(" on {}", comm.name));
    let times = if fault.times > 1 { format!(", {} times", fault.times) } else { String::new() };
    Finding {
        kind: Kind::TRUNCATED,
        sentence: format!(
            "the receive of rank {who}{at} has room{room}, and {by} sent a message with tag {} to rank {who}{on} ({size}{sent_at}){times}",
            fault.tag
        ),
        ranks: who,
        line: fault.place.clone(),
    }
}

/// Maps ranks of a communicator to processes.
struct Senders<'a> {
    joined: Joined<'a>,
    numbers: HashMap<*const Observation, ProcessIndex>,
    seen: HashMap<ProcessIndex, &'a Observation>,
}

impl<'a> Senders<'a> {
    fn of(observations: &'a [Observation]) -> Self {
        let joined = Joined::of(observations);
        let numbers = joined.processes().map(|(me, .., seen)| (std::ptr::from_ref(seen), me)).collect();
        let seen = joined.processes().map(|(me, .., seen)| (me, seen)).collect();
        Self { joined, numbers, seen }
    }

    /// Returns the process that the call named as the other side.
    fn sender(&self, seen: &Observation, fault: &Fault) -> Option<&'a Observation> {
        let me = *self.numbers.get(&std::ptr::from_ref(seen))?;
        let sender = self.joined.partner(me, fault.comm, u32::try_from(fault.peer).ok()?)?;
        self.seen.get(&sender).copied()
    }
}

/// Returns the length of the message and where it was sent: from the sender's records if all candidates
/// agree, otherwise as reported by the library.
fn sent<'a>(
    sender: Option<&'a Observation>,
    comm: Option<&Communicator>,
    fault: &Fault,
) -> (Option<u64>, Option<&'a str>) {
    let longer = |bytes: &u64| fault.room.is_some_and(|room| *bytes > room);
    let said = Some(fault.bytes).filter(longer);
    let Some(me) = comm.map(|comm| comm.rank) else { return (said, None) };
    let sent = sender.into_iter().flat_map(|sender| &sender.sent).filter(|message| {
        message.comm == fault.comm && message.peer == me && message.tag == fault.tag && longer(&message.bytes)
    });
    let (mut sizes, mut places): (Vec<_>, Vec<_>) =
        sent.map(|message| (message.bytes, message.place.as_deref())).unzip();
    sizes.dedup();
    places.dedup();
    match (&sizes[..], &places[..]) {
        ([only], [place]) => (Some(*only), *place),
        ([only], _) => (Some(*only), None),
        _ => (said, None),
    }
}

/// A partitioned message whose ends differ in size.
pub(super) fn unequal(one: &Unequal, words: &Words<'_>) -> Finding {
    let ((sender, sent, _), (receiver, received, place)) = (&one.sent, &one.received);
    Finding {
        kind: if sent > received { Kind::TRUNCATED } else { Kind::TYPE_MISMATCH },
        ranks: words.members([*sender, *receiver]),
        line: place.as_deref().map(str::to_owned),
        sentence: words.unequal(one),
    }
}

/// Returns one-sided operations whose ends have different elements: one finding for each line and pair of sizes.
pub(super) fn operations(observations: &[Observation], whose: &Whose) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, Option<&str>, u64, u64), Members> = BTreeMap::new();
    for seen in observations {
        for fault in seen.faults.iter().filter(|fault| fault.kind == faults::Kind::EndsDiffer) {
            let (place, room) = (fault.place.as_deref(), fault.room.unwrap_or_default());
            let line = (fault.function.as_str(), place, fault.bytes, room);
            found.entry(line).or_default().join(whose.who(seen));
        }
    }
    let finding = |((function, place, origin, target), ranks): ((&str, Option<&str>, u64, u64), Members)| {
        let at = place.map_or_else(String::new, |place| format!(" at {place}"));
        let what = if origin == target {
            format!("elements of other types at the origin than at the target ({origin} bytes each)")
        } else {
            format!("{origin} bytes at the origin and {target} bytes at the target")
        };
        Finding {
            kind: Kind::TYPE_MISMATCH,
            sentence: format!("{}: {function}{at} specifies {what}", ranks.named()),
            ranks,
            line: place.map(str::to_owned),
        }
    };
    found.into_iter().map(finding).collect()
}

/// Returns messages whose ends specified different elements, one finding per pair of lines.
pub fn types(observations: &[Observation], words: &Words<'_>) -> Vec<Finding> {
    let all = differing(observations);
    let mut found: BTreeMap<_, (u64, _)> = BTreeMap::new();
    for ends in &all {
        let (there, here) = (&ends.sent.named, &ends.received.named);
        let alike = (ends.sender, ends.receiver, &there.place, &there.data, &here.place, &here.data);
        found.entry(alike).or_insert((0, ends)).0 += 1;
    }
    let finding = |(times, ends): (u64, &crate::questions::why::Ends<'_>)| {
        let named = |named: &crate::observation::ledger::Named| {
            let at = named.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
            format!("{}{at}", named.data)
        };
        let times = if times > 1 { format!(", {times} times") } else { String::new() };
        Finding {
            kind: Kind::TYPE_MISMATCH,
            ranks: words.members([ends.sender, ends.receiver]),
            line: ends.received.named.place.clone(),
            sentence: format!(
                "the send and the receive of a message differ in type signature: rank {} sent {}, rank {} received {} \
                 (tag {} on {}{times})",
                words.rank(ends.sender),
                named(&ends.sent.named),
                words.rank(ends.receiver),
                named(&ends.received.named),
                ends.sent.tag,
                words.comm(ends.comm)
            ),
        }
    };
    found.into_values().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::why::scene::Scene;

    #[test]
    fn a_message_on_its_way_to_a_receive_from_any_rank_does_not_fit_if_none_of_those_it_could_get_does() {
        let found = |room: u64, element: u8, sizes: [u64; 2]| {
            let mut scene = Scene::of(3);
            scene.receive(0, Peer::Any, 5).sent(1, 0, 5).sent(2, 0, 5);
            for (rank, bytes) in (1..).zip(sizes) {
                scene.process(rank).sent[0].bytes = bytes;
            }
            let posted = &mut scene.process(0).posted[0];
            (posted.room, posted.element) = (Some(room), std::num::NonZeroU8::new(element));
            let found = misfits(&[], &scene.0, &Words::new(&scene.0), &Whose::of(&[]));
            found.into_iter().map(|one| (one.kind, one.sentence)).collect::<Vec<_>>()
        };
        let both = "one of ranks [1-2] sent a message with tag 5 to rank 0 on WORLD";
        let long = format!("the receive of rank 0 has room for 4 bytes, and {both} (8 bytes)");
        assert_eq!(found(4, 4, [8, 12]), [(Kind::TRUNCATED, long)]);
        let parts = format!(
            "the receive of rank 0 takes elements of 8 bytes, and {both} (4 bytes), which is no whole number of them"
        );
        assert_eq!(found(8, 8, [4, 4]), [(Kind::TYPE_MISMATCH, parts)]);
        assert_eq!(
            (found(8, 8, [4, 8]), found(4, 4, [4, 8])),
            (vec![], vec![]),
            "it may get the one that fits"
        );
    }

    #[test]
    fn a_receive_may_have_got_an_earlier_message_if_a_later_one_is_complete_or_nothing_waits_for_it() {
        use crate::observation::ledger::{Ledger, Line, Ring};
        let receive =
            |order: u64| Receive { order, ..crate::questions::why::scene::receive(Peer::One(1), 5) };
        let lines = vec![Line { order: 3, tag: 5, ..Line::default() }];
        let ledger = Ledger { received: Ring { lines, ..Ring::default() }, ..Ledger::default() };
        let recorded = Observation { ledger: Some(ledger.into()), ..Observation::default() };
        assert!(may_have_arrived(&recorded, &receive(2)) && !may_have_arrived(&recorded, &receive(4)));
        let unrecorded = |stage| Observation { stage, ..Observation::default() };
        assert!(!may_have_arrived(&unrecorded(Stage::Running), &receive(2)));
        assert!(may_have_arrived(&unrecorded(Stage::Finalized), &receive(2)));
        assert!(!may_have_arrived(&unrecorded(Stage::Finalized), &receive(u64::MAX)), "in a call");
    }

    #[test]
    fn operations_whose_ends_differ_are_one_finding_per_line_and_sizes() {
        let put = |rank: u32, bytes: u64, room: u64| {
            let fault = Fault {
                kind: faults::Kind::EndsDiffer,
                function: "MPI_Put".into(),
                place: Some("a.c:9".into()),
                comm: 3,
                peer: 1,
                tag: -1,
                room: Some(room),
                bytes,
                error: None,
                times: 1,
            };
            Observation { world: "w".into(), rank: Some(rank), faults: vec![fault], ..Observation::default() }
        };
        let job = [put(0, 16, 4), put(2, 16, 4), put(1, 4, 4)];
        let found = operations(&job, &Whose::of(&job));
        let said: Vec<_> = found.iter().map(|one| (one.kind, one.sentence.as_str())).collect();
        let types = "rank 1: MPI_Put at a.c:9 specifies elements of other types at the origin than at the target (4 bytes each)";
        let sizes =
            "ranks [0,2]: MPI_Put at a.c:9 specifies 16 bytes at the origin and 4 bytes at the target";
        assert_eq!(said, [(Kind::TYPE_MISMATCH, types), (Kind::TYPE_MISMATCH, sizes)]);
    }
}
