//! Findings from the ledgers of both ends, on jobs built by hand.

use super::{Finding, findings};
use crate::observation::ledger::{Called, Ledger, Line, Named, Ring, Waited};
use crate::observation::{Collective, Communicator, History, Observation, Stage, Thread};
use mpiscope_image::traffic::EntryFlag;
use std::sync::Arc;

const WORLD: u64 = 7;

/// A rank of `size` whose individual messages are known.
fn rank(rank: u32, size: u32, sent: Vec<Line>, received: Vec<Line>) -> Observation {
    let comm =
        Communicator { identity: WORLD, name: "MPI_COMM_WORLD".into(), rank, size, ..Default::default() };
    let ring = |mut lines: Vec<Line>| {
        for (nth, line) in (1..).zip(&mut lines) {
            let before = nth - 1;
            (line.order, line.place, line.nth) = (nth, before, 1);
        }
        Ring { written: lines.len() as u64, lines, ..Ring::default() }
    };
    Observation {
        world: "w".into(),
        rank: Some(rank),
        size: Some(size),
        stage: Stage::Finalized,
        threads: vec![Thread::default()],
        communicators: vec![comm],
        ledger: Some(Box::new(Ledger { sent: ring(sent), received: ring(received), ..Ledger::default() })),
        ..Default::default()
    }
}

/// One end of a message: the time it was posted, and the start and end of the call that completed it.
fn line(peer: u32, function: &str, [posted_ns, from_ns, until_ns]: [u64; 3]) -> Line {
    let call = Arc::new(Called { function: function.into(), place: Some("a.c:1".into()) });
    let named = Named { place: Some("a.c:9".into()), ..Named::default() };
    let waited = Some(Waited { from_ns, until_ns, call });
    Line { comm: WORLD, peer, posted_ns, waited, named: Arc::new(named), ..Line::default() }
}

fn of_kind(job: &[Observation], kind: &str) -> Vec<Finding> {
    findings(job, &[]).into_iter().filter(|one| one.kind.0 == kind).collect()
}

/// Two ranks that send to each other between 10 and 11 with this call, and receive.
fn exchange(send: &str, receive: [u64; 3]) -> [Observation; 2] {
    let one = |me: u32| {
        rank(me, 2, vec![line(1 - me, send, [10, 10, 11])], vec![line(1 - me, "MPI_Recv", receive)])
    };
    [one(0), one(1)]
}

#[test]
fn ranks_that_send_before_they_receive_rely_on_buffers() {
    let found = of_kind(&exchange("MPI_Send", [20, 20, 21]), "relies-on-buffering");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].ranks.to_string().as_str(), found[0].line.as_deref()), ("[0-1]", Some("a.c:1")));
    let wanted = "no deadlock only because the library buffered messages: rank 0 would wait in MPI_Send at a.c:1 until rank \
                  1 receives at a.c:9; rank 1 would wait in MPI_Send at a.c:1 until rank 0 receives at a.c:9";
    assert_eq!(found[0].sentence, wanted);
    // The same, completing an operation started earlier.
    assert_eq!(of_kind(&exchange("MPI_Wait", [20, 20, 21]), "relies-on-buffering").len(), 1);
}

#[test]
fn communication_with_other_possible_outcomes_relies_on_nothing() {
    let none = |job: &[Observation]| of_kind(job, "relies-on-buffering").is_empty();
    assert!(none(&exchange("MPI_Send", [5, 20, 21])), "the receives were posted before");
    assert!(none(&exchange("MPI_Sendrecv", [10, 10, 11])), "both ends are in one call");
    assert!(none(&exchange("MPI_Bsend", [20, 20, 21])));
    assert!(none(&exchange("MPI_Waitany", [20, 20, 21])));
    assert!(none(&exchange("MPI_Test", [20, 20, 21])));
    let changed = |change: &dyn Fn(&mut Observation)| {
        let mut job = exchange("MPI_Send", [20, 20, 21]);
        job.iter_mut().for_each(change);
        none(&job)
    };
    let received = |seen: &mut Observation, flag: EntryFlag| {
        seen.ledger.as_mut().unwrap().received.lines[0].flags |= flag.0;
    };
    assert!(changed(&|seen| received(seen, EntryFlag::ANY_SOURCE)));
    assert!(!changed(&|seen| received(seen, EntryFlag::ANY_TAG)));
    assert!(changed(&|seen| seen.ledger.as_mut().unwrap().sent.lines[0].flags |= EntryFlag::BUFFERED.0));
    assert!(changed(&|seen| seen.threads.push(Thread::default())));
    assert!(changed(&|seen| seen.ledger.as_mut().unwrap().received.wrapped = true));
}

/// Adds a collective call at this time.
fn in_a_collective(mut seen: Observation, function: &str, from: u64) -> Observation {
    let call = Collective {
        comm: WORLD,
        function: function.into(),
        root: Some(0),
        place: Some("a.c:5".into()),
        ..Default::default()
    };
    seen.history = vec![History {
        comm: WORLD,
        newest: 1,
        entries: vec![(1, 0)],
        kinds: vec![call],
        times: vec![(from, from + 1)],
        ..History::default()
    }];
    seen.communicators[0].collectives = 1;
    seen
}

#[test]
fn a_message_sent_before_a_collective_and_received_after_it_relies_on_buffers() {
    let job = |sent: u64| {
        let to_first = vec![line(0, "MPI_Send", [sent, sent, sent + 1])];
        [
            in_a_collective(rank(0, 3, vec![], vec![line(1, "MPI_Recv", [40, 40, 41])]), "MPI_Bcast", 30),
            in_a_collective(rank(1, 3, to_first, vec![]), "MPI_Bcast", 30),
            in_a_collective(rank(2, 3, vec![], vec![]), "MPI_Bcast", 30),
        ]
    };
    assert_eq!(of_kind(&job(35), "relies-on-buffering"), []);
    let found = of_kind(&job(10), "relies-on-buffering");
    assert_eq!((found.len(), found[0].ranks.to_string().as_str()), (1, "[0-1]"));
    let wanted = "rank 0 would wait in MPI_Bcast at a.c:5 until rank 1 enters it; rank 1 would wait in MPI_Send at a.c:1";
    assert!(found[0].sentence.contains(wanted), "{}", found[0].sentence);
}

#[test]
fn a_receive_from_any_rank_races_for_what_was_sent_before_it_was_complete() {
    let job = |second: u64, flags: EntryFlag| {
        let receive = |peer, at| Line { flags: flags.0, ..line(peer, "MPI_Recv", [at, at, at + 1]) };
        let told = line(0, "MPI_Recv", [5, 53, 54]);
        [
            rank(0, 3, vec![line(2, "MPI_Send", [52, 52, 53])], vec![receive(1, 50), receive(2, 60)]),
            rank(1, 3, vec![line(0, "MPI_Send", [10, 10, 11])], vec![]),
            rank(2, 3, vec![line(0, "MPI_Send", [second, second, second + 1])], vec![told]),
        ]
    };
    let found = of_kind(&job(20, EntryFlag::ANY_SOURCE), "message-race");
    assert_eq!((found.len(), found[0].ranks.to_string().as_str()), (1, "0"));
    let wanted = "a race, harmless if the order of the messages does not matter: rank 0 received from any rank at a.c:9 \
                  what rank 1 sent at a.c:9, but could have received what rank 2 had sent";
    assert!(found[0].sentence.contains(wanted), "{}", found[0].sentence);
    assert_eq!(of_kind(&job(55, EntryFlag::ANY_SOURCE), "message-race"), [], "its sender may have been told");
    assert_eq!(of_kind(&job(20, EntryFlag(0)), "message-race"), []);
}

#[test]
fn races_of_several_ranks_at_one_line_are_one_finding() {
    let receive =
        |peer, at| Line { flags: EntryFlag::ANY_SOURCE.0, ..line(peer, "MPI_Recv", [at, at, at + 1]) };
    let receives = |number| rank(number, 4, vec![], vec![receive(2, 50), receive(3, 60)]);
    let sends = |number| {
        let to = |peer| line(peer, "MPI_Send", [10, 10, 11]);
        rank(number, 4, vec![to(0), to(1)], vec![])
    };
    let found = of_kind(&[receives(0), receives(1), sends(2), sends(3)], "message-race");
    assert_eq!((found.len(), found[0].ranks.to_string().as_str()), (1, "[0-1]"));
    let wanted = "on ranks [0-1]: for example, rank 0 received from any rank at a.c:9 what rank 2 sent at a.c:9, but could \
                  have received what rank 3 had sent at a.c:9 (2 times)";
    assert!(found[0].sentence.ends_with(wanted), "{}", found[0].sentence);
}

#[test]
fn a_message_sent_later_raced_unless_its_sender_has_learned_anything_since() {
    let job = |change: &dyn Fn(Observation) -> Observation| {
        let receive =
            |peer, at| Line { flags: EntryFlag::ANY_SOURCE.0, ..line(peer, "MPI_Recv", [at, at, at + 1]) };
        let sends = |at| vec![line(0, "MPI_Send", [at, at, at + 1])];
        [
            rank(0, 3, vec![], vec![receive(1, 50), receive(2, 60)]),
            rank(1, 3, sends(10), vec![]),
            change(rank(2, 3, sends(55), vec![])),
        ]
    };
    let found = |change: &dyn Fn(Observation) -> Observation| of_kind(&job(change), "message-race").len();
    assert_eq!(found(&|seen| seen), 1);
    assert_eq!(found(&|seen| in_a_collective(seen, "MPI_Barrier", 30)), 1, "before the receive was complete");
    assert_eq!(found(&|seen| in_a_collective(seen, "MPI_Barrier", 53)), 0, "the barrier may order them");
    assert_eq!(
        found(&|seen| in_a_collective(seen, "MPI_Ibarrier", 30)),
        0,
        "when it was complete is unknown"
    );
    assert_eq!(found(&|seen| in_a_collective(seen, "MPI_Win_create", 30)), 0, "it may have read memory");
    let lost = |mut seen: Observation| {
        seen.ledger.as_mut().unwrap().received.written = 1;
        seen
    };
    assert_eq!(found(&lost), 0, "something that it received is not known");
}

#[test]
fn an_unreceived_message_raced_with_the_one_that_a_wildcard_receive_took() {
    let job = |posted_ns: u64| {
        let received = Line { flags: EntryFlag::ANY_SOURCE.0, ..line(1, "MPI_Recv", [50, 50, 51]) };
        let sends = |to, at| vec![line(to, "MPI_Send", [at, at, at + 1])];
        [
            rank(0, 3, sends(2, 52), vec![received]),
            rank(1, 3, sends(0, 10), vec![]),
            rank(2, 3, sends(0, posted_ns), vec![line(0, "MPI_Recv", [5, 53, 54])]),
        ]
    };
    let found = of_kind(&job(20), "message-race");
    assert_eq!((found.len(), found[0].ranks.to_string().as_str()), (1, "0"));
    assert!(found[0].sentence.ends_with("could have received what rank 2 had sent at a.c:9"));
    assert_eq!(of_kind(&job(55), "message-race"), [], "its sender may have been told");
}
