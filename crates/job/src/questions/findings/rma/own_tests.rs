//! Memory of windows in messages, collectives and one-sided operations of the process that has it.

use super::tests::{BASE, access, call, done, put, rank, said};
use crate::observation::ledger::{Called, Line, Ring, Waited};
use crate::observation::one_sided::{Access, AccessEpoch, Does, Members, OneSidedCall, Operation};
use crate::observation::{Observation, OneSided};
use mpiscope_image::traffic::EntryFlag;
use std::sync::Arc;

const FENCE: AccessEpoch = AccessEpoch::Fence(2);

fn fence(number: u64, from: u64) -> OneSidedCall {
    OneSidedCall { collectives: number, ..done(from) }
}

/// A message whose buffer is what [`access`] uses.
fn message(from: u64, until: u64) -> Line {
    let call = Arc::new(Called { function: "MPI_Recv".into(), place: None });
    Line {
        buffer: BASE + 8,
        bytes: 8,
        flags: EntryFlag::GAPLESS.0,
        posted_ns: from,
        waited: Some(Waited { from_ns: from, until_ns: until, call }),
        ..Line::default()
    }
}

fn ring(lines: Vec<Line>) -> Ring {
    Ring { written: lines.len() as u64, lines, ..Ring::default() }
}

/// Rank 0, which made these calls, and received and sent messages.
fn target(calls: Vec<OneSidedCall>, received: Vec<Line>, sent: Vec<Line>) -> Observation {
    let mut target = rank(0, calls);
    let ledger = target.ledger.as_mut().unwrap();
    (ledger.received, ledger.sent) = (ring(received), ring(sent));
    target
}

fn found(target: Observation, origin: Vec<OneSidedCall>) -> Vec<String> {
    said(&[target, rank(1, origin), rank(2, vec![])])
}

/// Number of findings if rank 0 receives between two fences while rank 1 makes an operation.
fn between_fences(received: Vec<Line>, sent: Vec<Line>, kind: Operation) -> usize {
    let fences = vec![fence(2, 10), fence(3, 40)];
    let origin = vec![fence(2, 10), access("a.c:1", 20, kind, FENCE), fence(3, 40)];
    found(target(fences, received, sent), origin).len()
}

#[test]
fn a_message_received_where_another_rank_puts_between_the_same_fences_conflicts() {
    let fences = || vec![fence(2, 10), fence(3, 40)];
    let origin = vec![fence(2, 10), put("a.c:1", 20, FENCE), fence(3, 40)];
    let wanted = "rma-conflict: rank 1 by MPI_Call at a.c:1 and rank 0 by the receive accessed the same bytes of the memory \
                  of rank 0 in win, and nothing ordered them";
    assert_eq!(found(target(fences(), vec![message(15, 30)], vec![]), origin), [wanted]);
    let count = |from, until| between_fences(vec![message(from, until)], vec![], Operation::Put);
    assert_eq!(count(30, 35), 1, "the put is complete only at the fence");
    assert_eq!(count(12, 15), 1, "the origin cannot know that it is complete");
    assert_eq!(count(5, 9), 0, "before the first fence");
    assert_eq!(count(5, 25), 1, "not complete at the first fence");
    assert_eq!(count(42, 45), 0, "after the second fence");
    let beside = Line { buffer: BASE + 16, ..message(15, 30) };
    assert_eq!(between_fences(vec![beside], vec![], Operation::Put), 0);
    let gaps = Line { flags: 0, ..message(15, 30) };
    assert_eq!(between_fences(vec![gaps], vec![], Operation::Put), 0);
    let freed = Line { waited: None, ..message(15, 30) };
    assert_eq!(between_fences(vec![freed], vec![], Operation::Put), 0, "its end is not known");
}

#[test]
fn memory_that_is_sent_may_be_read_but_not_written() {
    let count = |kind| between_fences(vec![], vec![message(15, 30)], kind);
    assert_eq!(count(Operation::Put), 1);
    assert_eq!(count(Operation::Get), 0);
    assert_eq!(between_fences(vec![message(15, 30)], vec![], Operation::Get), 1);
}

#[test]
fn an_operation_after_a_message_from_the_target_does_not_conflict() {
    let job = |learned: Vec<Line>| {
        let origin = vec![fence(2, 10), put("a.c:1", 20, FENCE), fence(3, 40)];
        let mut origin = rank(1, origin);
        origin.ledger.as_mut().unwrap().received = ring(learned);
        let target = target(vec![fence(2, 10), fence(3, 40)], vec![], vec![message(12, 30)]);
        said(&[target, origin, rank(2, vec![])]).len()
    };
    let news = Line { buffer: 1, ..message(11, 16) };
    assert_eq!(job(vec![]), 1);
    assert_eq!(job(vec![news]), 0, "even if the send has not returned");
}

#[test]
fn a_start_tells_the_origin_only_what_the_target_did_before_its_post() {
    let job = |group: &[u32]| {
        let exposed = vec![call("p", 10, Does::Posts(Members::Ranks(vec![1]))), call("w", 40, Does::Waits)];
        let start = Does::Starts(Members::Ranks(group.to_vec()));
        let origin = vec![call("s", 25, start), put("a.c:1", 30, AccessEpoch::Started), done(35)];
        found(target(exposed, vec![message(12, 15)], vec![]), origin).len()
    };
    assert_eq!(job(&[0]), 1);
    assert_eq!(job(&[0, 2]), 0, "another rank may have told it more");
}

#[test]
fn under_locks_the_target_may_have_waited_for_what_is_put() {
    let count = |kind: Operation, epoch, (from, until), target_calls| {
        let origin = vec![access("a.c:1", 20, kind, epoch), done(30)];
        found(target(target_calls, vec![message(from, until)], vec![]), origin).len()
    };
    let shared = |kind, span| count(kind, AccessEpoch::Shared, span, vec![]);
    assert_eq!(shared(Operation::Put, (15, 40)), 1, "it was receiving when the put began");
    assert_eq!(shared(Operation::Put, (25, 40)), 1, "the put was not complete");
    assert_eq!(shared(super::tests::add("MPI_SUM"), (25, 40)), 0, "atomic: it may have seen the new value");
    assert_eq!(shared(Operation::Put, (35, 40)), 0, "complete");
    assert_eq!(shared(Operation::Get, (35, 40)), 1, "nothing told the target that its memory had been read");
    let locks = |target, exclusive| vec![call("l", 2, Does::Locks { target, exclusive })];
    let exclusive = |calls| count(Operation::Put, AccessEpoch::Exclusive, (15, 40), calls);
    assert_eq!(exclusive(vec![]), 1);
    assert_eq!(exclusive(locks(Some(0), false)), 0, "the locks exclude each other");
    assert_eq!(exclusive(locks(None, false)), 0);
    assert_eq!(exclusive(locks(Some(1), true)), 1, "a lock on another rank");
    let both_shared = count(Operation::Put, AccessEpoch::Shared, (15, 40), locks(None, false));
    assert_eq!(both_shared, 1);
}

#[test]
fn a_rank_must_complete_an_operation_on_its_own_memory_before_it_uses_that() {
    let count = |from, until| {
        let own = vec![put("a.c:1", 20, AccessEpoch::Shared), done(30)];
        said(&[target(own, vec![], vec![message(from, until)]), rank(1, vec![]), rank(2, vec![])]).len()
    };
    assert_eq!(count(25, 26), 1);
    assert_eq!(count(15, 25), 1, "the send is not complete");
    assert_eq!(count(15, 16), 0);
    assert_eq!(count(33, 34), 0);
}

#[test]
fn what_a_rank_fetches_into_its_own_window_conflicts_with_operations_of_others() {
    let job = |at: u64| {
        let access = Access {
            target: 2,
            kind: Operation::Get,
            fetched: Some(at),
            high: 8,
            bytes: 8,
            epoch: FENCE,
            ..Access::default()
        };
        let calls = vec![fence(2, 10), call("a.c:9", 20, Does::Access(access)), fence(3, 40)];
        let origin = vec![fence(2, 10), put("a.c:1", 20, FENCE), fence(3, 40)];
        found(target(calls, vec![], vec![]), origin).len()
    };
    assert_eq!(job(BASE + 8), 1);
    assert_eq!(job(BASE + 16), 0);
}

#[test]
fn memory_of_a_window_that_was_freed_is_no_longer_accessed() {
    let job = |freed_ns| {
        let mut target = target(vec![], vec![message(35, 40)], vec![]);
        let known: &mut OneSided = target.one_sided.as_mut().unwrap();
        known.memories[0].freed_ns = freed_ns;
        found(target, vec![access("a.c:1", 20, Operation::Get, AccessEpoch::Shared), done(30)]).len()
    };
    assert_eq!(job(None), 1);
    assert_eq!(job(Some(50)), 1);
    assert_eq!(job(Some(33)), 0);
}
