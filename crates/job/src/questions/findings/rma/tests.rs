//! One-sided operations of jobs built by hand.

use super::super::findings;
use crate::observation::ledger::{Called, Ledger, Line, Misuse, Ring, Waited};
use crate::observation::one_sided::{Access, AccessEpoch, Does, Members, Memory, OneSidedCall, Operation};
use crate::observation::{Collective, Communicator, History, Observation, OneSided, Stage, Thread};
use std::sync::Arc;

const WORLD: u64 = 7;
const WINDOW: u64 = 70;
/// Address of the memory of each rank.
pub(super) const BASE: u64 = 1000;

/// A call that begins at `from` and returns one later; its line is a number.
pub(super) fn call(line: &str, from: u64, does: Does) -> OneSidedCall {
    let call = Called { function: "MPI_Call".into(), place: Some(line.to_owned()) };
    OneSidedCall {
        window: WINDOW,
        collectives: 0,
        from_ns: from,
        until_ns: from + 1,
        call: Arc::new(call),
        does,
    }
}

/// An operation on 8 bytes of the memory of rank 0.
pub(super) fn access(line: &str, from: u64, kind: Operation, epoch: AccessEpoch) -> OneSidedCall {
    let access = Access { kind, epoch, disp: 2, high: 8, bytes: 8, ..Access::default() };
    call(line, from, Does::Access(access))
}

pub(super) fn put(line: &str, from: u64, epoch: AccessEpoch) -> OneSidedCall {
    access(line, from, Operation::Put, epoch)
}

pub(super) fn add(op: &str) -> Operation {
    Operation::Accumulate { op: op.into(), element: 4, fetches: false }
}

pub(super) fn done(from: u64) -> OneSidedCall {
    call("done", from, Does::Completes { target: None, locally: false })
}

/// A rank of three whose memory has 40 bytes, and which made these calls.
pub(super) fn rank(rank: u32, calls: Vec<OneSidedCall>) -> Observation {
    let comm = |identity, name: &str| Communicator {
        identity,
        name: name.into(),
        rank,
        size: 3,
        ..Communicator::default()
    };
    let memory = Memory { window: WINDOW, base: BASE, size: 40, unit: 4, ..Memory::default() };
    Observation {
        world: "w".into(),
        rank: Some(rank),
        size: Some(3),
        stage: Stage::Finalized,
        threads: vec![Thread::default()],
        communicators: vec![comm(WORLD, "MPI_COMM_WORLD"), comm(WINDOW, "win")],
        ledger: Some(Box::default()),
        one_sided: Some(Box::new(OneSided { memories: vec![memory], calls, wrapped: false })),
        ..Observation::default()
    }
}

pub(super) fn said(job: &[Observation]) -> Vec<String> {
    findings(job, &[]).into_iter().map(|one| format!("{}: {}", one.kind.0, one.sentence)).collect()
}

/// Number of findings if ranks 1 and 2 made these calls.
fn found(one: Vec<OneSidedCall>, two: Vec<OneSidedCall>) -> usize {
    said(&[rank(0, vec![]), rank(1, one), rank(2, two)]).len()
}

#[test]
fn two_operations_between_the_same_fences_conflict() {
    let job = |kinds: [Operation; 2], fences: [u64; 2]| {
        let [one, two] = kinds;
        let of = |line: &str, kind, fence| vec![access(line, 5, kind, AccessEpoch::Fence(fence)), done(8)];
        [rank(0, vec![]), rank(1, of("a.c:1", one, fences[0])), rank(2, of("a.c:2", two, fences[1]))]
    };
    let puts = || [Operation::Put, Operation::Put];
    let wanted = "rma-conflict: rank 1 by MPI_Call at a.c:1 and rank 2 by MPI_Call at a.c:2 accessed the same bytes of the \
                  memory of rank 0 in win, and nothing ordered them";
    assert_eq!(said(&job(puts(), [2, 2])), [wanted]);
    assert!(said(&job(puts(), [2, 3])).is_empty(), "a fence between them");
    let count = |one, two| said(&job([one, two], [2, 2])).len();
    assert_eq!(count(Operation::Put, Operation::Get), 1);
    assert_eq!(count(Operation::Get, Operation::Get), 0);
    assert_eq!(count(Operation::Put, add("MPI_SUM")), 1);
    assert_eq!(count(add("MPI_SUM"), add("MPI_SUM")), 0);
    assert_eq!(count(add("MPI_SUM"), add("MPI_PROD")), 1);
    assert_eq!(count(add("MPI_SUM"), Operation::Fetch), 0, "MPI_NO_OP");
    assert_eq!(count(Operation::Get, add("MPI_SUM")), 1);
    let other = Operation::Accumulate { op: "MPI_SUM".into(), element: 5, fetches: false };
    assert_eq!(count(add("MPI_SUM"), other), 1, "elements of another type");
}

#[test]
fn operations_conflict_only_if_they_certainly_share_a_byte() {
    let epoch = AccessEpoch::Fence(2);
    let at = |disp, high, bytes| {
        let access = Access { target: 0, epoch, disp, high, bytes, ..Access::default() };
        vec![call("a.c:1", 5, Does::Access(access)), done(8)]
    };
    assert_eq!(found(at(0, 8, 8), at(1, 8, 8)), 1);
    assert_eq!(found(at(0, 8, 8), at(2, 8, 8)), 0, "next to each other");
    assert_eq!(found(at(0, 16, 8), at(1, 16, 8)), 0, "both have gaps");
    assert_eq!(found(at(0, 16, 8), at(0, 24, 8)), 1, "the first byte is always accessed");
    assert_eq!(found(at(0, 16, 8), at(1, 8, 8)), 0, "perhaps in the gap");
    assert_eq!(found(at(0, 16, 8), at(3, 8, 8)), 1, "the last byte is always accessed");
}

#[test]
fn operations_under_shared_locks_conflict_if_nothing_orders_them() {
    let shared = |from, end| vec![put("a.c:1", from, AccessEpoch::Shared), done(end)];
    assert_eq!(found(shared(5, 20), shared(10, 30)), 1, "at the same time");
    assert_eq!(found(shared(5, 10), shared(20, 30)), 1, "nothing learned between");
    let exclusive = vec![put("a.c:1", 20, AccessEpoch::Exclusive), done(30)];
    assert_eq!(found(shared(5, 25), exclusive), 0);
}

/// Ranks 1 and 2 put under shared locks, from 5 to 11 and from 20 on; `change` is made to rank 2.
fn after(change: &dyn Fn(&mut Observation)) -> usize {
    let shared = |from, end| vec![put("a.c:1", from, AccessEpoch::Shared), done(end)];
    let mut job = [rank(0, vec![]), rank(1, shared(5, 10)), rank(2, shared(20, 30))];
    change(&mut job[2]);
    said(&job).iter().filter(|said| said.starts_with("rma-")).count()
}

#[test]
fn what_its_process_may_have_learned_orders_an_operation() {
    assert_eq!(after(&|_| {}), 1);
    let barrier = |from: u64| {
        move |seen: &mut Observation| {
            let kind = Collective { comm: WORLD, function: "MPI_Barrier".into(), ..Collective::default() };
            seen.history = vec![History {
                comm: WORLD,
                newest: 1,
                entries: vec![(1, 0)],
                kinds: vec![kind],
                times: vec![(from, from + 1)],
                ..History::default()
            }];
        }
    };
    assert_eq!(after(&barrier(15)), 0, "a barrier between them");
    assert_eq!(after(&barrier(3)), 1, "a barrier before both");
    let message = |seen: &mut Observation| {
        let call = Arc::default();
        let waited = Some(Waited { from_ns: 14, until_ns: 15, call });
        let line = Line { comm: WORLD, peer: 0, posted_ns: 14, waited, nth: 1, ..Line::default() };
        let received = Ring { written: 1, lines: vec![line], ..Ring::default() };
        seen.ledger = Some(Box::new(Ledger { sent: Ring::default(), received, ..Ledger::default() }));
    };
    assert_eq!(after(&message), 0, "a message between them");
    let calls = |with: OneSidedCall| {
        move |seen: &mut Observation| {
            let mut with = with.clone();
            if let Does::Access(access) = &mut with.does {
                // Elsewhere in the memory.
                (access.disp, access.target) = (6, 1);
            }
            let calls = &mut seen.one_sided.as_mut().unwrap().calls;
            calls.splice(0..0, [with, done(16)]);
        }
    };
    assert_eq!(after(&calls(access("a.c:5", 14, Operation::Get, AccessEpoch::Shared))), 0, "a value read");
    assert_eq!(after(&calls(put("a.c:5", 14, AccessEpoch::Shared))), 1, "it learns nothing by writing");
    assert_eq!(
        after(&calls(call("a.c:5", 14, Does::Locks { target: Some(0), exclusive: true }))),
        0,
        "waited for a lock"
    );
    assert_eq!(after(&calls(call("a.c:5", 14, Does::Locks { target: Some(0), exclusive: false }))), 1);
}

#[test]
fn nothing_is_concluded_from_records_that_are_not_complete() {
    assert_eq!(after(&|seen| seen.ledger = None), 0);
    assert_eq!(after(&|seen| seen.one_sided.as_mut().unwrap().wrapped = true), 0);
    assert_eq!(after(&|seen| seen.size = Some(4)), 0, "a process is not seen");
    assert_eq!(after(&|seen| seen.host = "elsewhere".into()), 0, "no common clock");
    let shared = |seen: &mut Observation| seen.one_sided.as_mut().unwrap().memories[0].shared = true;
    assert_eq!(after(&shared), 0, "loads are not seen");
    let untimed = |seen: &mut Observation| {
        seen.one_sided.as_mut().unwrap().calls.iter_mut().for_each(|call| call.from_ns = 0);
    };
    assert_eq!(after(&untimed), 0);
}

#[test]
fn operations_after_the_same_post_conflict() {
    let job = |posts: Vec<Members>, groups: [Vec<Members>; 2]| {
        let target = posts
            .into_iter()
            .flat_map(|group| [call("p", 1, Does::Posts(group)), call("w", 9, Does::Waits)])
            .collect();
        let [one, two] = groups.map(|starts| {
            let starts = starts.into_iter().map(|group| call("s", 2, Does::Starts(group)));
            starts.chain([put("a.c:1", 5, AccessEpoch::Started), done(6)]).collect()
        });
        said(&[rank(0, target), rank(1, one), rank(2, two)]).len()
    };
    let to = |ranks: &[u32]| Members::Ranks(ranks.to_vec());
    let first = || vec![to(&[0])];
    assert_eq!(job(vec![to(&[1, 2])], [first(), first()]), 1);
    assert_eq!(job(vec![Members::World], [first(), first()]), 1);
    assert_eq!(job(vec![to(&[1]), to(&[2])], [first(), first()]), 0, "one after the other");
    assert_eq!(job(vec![to(&[1, 2]), to(&[2])], [first(), vec![to(&[0]), to(&[0])]]), 0);
    assert_eq!(job(vec![to(&[1]), to(&[1, 2])], [vec![to(&[0]), to(&[1, 0])], first()]), 1);
    assert_eq!(job(vec![Members::Unknown], [first(), first()]), 0);
}

#[test]
fn operations_of_one_process_conflict_until_the_first_is_complete_at_the_target() {
    let alone = |between: Vec<OneSidedCall>, kinds: [Operation; 2]| {
        let [one, two] = kinds;
        let mut calls = vec![access("a.c:1", 5, one, AccessEpoch::Exclusive)];
        calls.extend(between);
        calls.extend([access("a.c:2", 10, two, AccessEpoch::Exclusive), done(12)]);
        said(&[rank(0, vec![]), rank(1, calls), rank(2, vec![])])
    };
    let wanted = "rma-conflict: rank 1 accessed the same bytes of the memory of rank 0 in win by MPI_Call at a.c:1 and MPI_Call \
                  at a.c:2, and nothing completed the first operation before the second";
    assert_eq!(alone(vec![], [Operation::Put, Operation::Get]), [wanted]);
    let flush = |target, locally| vec![call("f", 8, Does::Completes { target, locally })];
    let count = |between, one, two| alone(between, [one, two]).len();
    assert_eq!(count(flush(Some(0), false), Operation::Put, Operation::Get), 0);
    assert_eq!(count(flush(Some(2), false), Operation::Put, Operation::Get), 1, "of another rank");
    assert_eq!(count(flush(Some(0), true), Operation::Put, Operation::Get), 1, "not complete at the target");
    assert_eq!(count(flush(None, true), Operation::Get, Operation::Put), 0, "it has been read");
    assert_eq!(count(vec![], add("MPI_SUM"), add("MPI_PROD")), 0, "in order");
    let other = Operation::Accumulate { op: "MPI_SUM".into(), element: 5, fetches: false };
    assert_eq!(count(vec![], add("MPI_SUM"), other), 1, "elements of another type");
    assert_eq!(count(vec![], add("MPI_SUM"), Operation::Put), 1);
}

#[test]
fn puts_of_the_same_buffer_conflict_only_if_it_may_have_changed() {
    let twice = |buffers: [u64; 2], between: Vec<OneSidedCall>| {
        let [one, two] = buffers.map(|buffer| {
            let mut put = put("a.c:1", 5, AccessEpoch::Shared);
            if let Does::Access(access) = &mut put.does {
                access.buffer = buffer;
            }
            put
        });
        let calls = [vec![one], between, vec![two, done(12)]].concat();
        said(&[rank(0, vec![]), rank(1, calls), rank(2, vec![])]).len()
    };
    assert_eq!(twice([100, 100], vec![]), 0);
    assert_eq!(twice([100, 104], vec![]), 1);
    assert_eq!(twice([0, 0], vec![]), 1, "unknown");
    let here = call("f", 8, Does::Completes { target: None, locally: true });
    assert_eq!(twice([100, 100], vec![here]), 1);
}

#[test]
fn operations_outside_the_memory_of_the_target_are_found() {
    let at = |disp, low, high: i64| {
        let access = Access { disp, low, high, bytes: 4, epoch: AccessEpoch::Fence(2), ..Access::default() };
        said(&[
            rank(0, vec![]),
            rank(1, vec![call("a.c:4", 5, Does::Access(access)), done(8)]),
            rank(2, vec![]),
        ])
    };
    assert!(at(9, 0, 4).is_empty(), "the last element");
    let wanted = "rma-range: rank 1: MPI_Call at a.c:4 accesses bytes 40 to 43 of the memory of rank 0 in win, which has 40 bytes";
    assert_eq!(at(10, 0, 4), [wanted]);
    assert_eq!(at(1, -8, 4).len(), 1);
    assert!(at(2, -8, 4).is_empty());
    assert_eq!(at(i64::MAX, 0, i64::MAX).len(), 1);
}

#[test]
fn memory_of_a_dynamic_window_must_be_attached_at_some_time_during_the_operation() {
    let job = |calls: Vec<OneSidedCall>, wrapped: bool| {
        let access =
            Access { disp: 1000, high: 8, bytes: 8, epoch: AccessEpoch::Shared, ..Access::default() };
        let mut target = rank(0, calls);
        let known = target.one_sided.as_mut().unwrap();
        (known.memories[0].dynamic, known.wrapped) = (true, wrapped);
        let origin = rank(1, vec![call("a.c:4", 50, Does::Access(access)), done(60)]);
        said(&[target, origin, rank(2, vec![])]).len()
    };
    let attach = |at, size, from| call("t", from, Does::Attaches { at, size });
    assert_eq!(job(vec![], false), 1);
    assert_eq!(job(vec![], true), 0);
    assert_eq!(job(vec![attach(992, 16, 10)], false), 0);
    assert_eq!(job(vec![attach(992, 12, 10)], false), 1, "too short");
    assert_eq!(job(vec![attach(1004, 12, 20), attach(992, 12, 10)], false), 0, "two pieces");
    assert_eq!(job(vec![attach(992, 16, 70)], false), 1, "later");
    assert_eq!(job(vec![attach(992, 16, 10), call("t", 20, Does::Detaches { at: 992 })], false), 1);
    assert_eq!(job(vec![attach(992, 16, 10), call("t", 55, Does::Detaches { at: 992 })], false), 0);
}

#[test]
fn operations_whose_buffer_changed_are_found_with_the_call_that_completed_them() {
    let changed = |from: u64, disp: i64| {
        let access = Access {
            disp,
            high: 8,
            bytes: 8,
            epoch: AccessEpoch::Fence(2),
            misuse: Some(Misuse::Changed),
            ..Access::default()
        };
        call("a.c:7", from, Does::Access(access))
    };
    let job = [
        rank(0, vec![done(6)]),
        rank(1, vec![changed(1, 0), changed(3, 2), done(6)]),
        rank(2, vec![done(6)]),
    ];
    let found = findings(&job, &[]);
    let said: Vec<_> = found.iter().map(|one| (one.kind.0, one.sentence.as_str())).collect();
    let wanted =
        "rank 1: the buffer of MPI_Call at a.c:7 was changed before MPI_Call at done completed it (2 times)";
    assert_eq!(said, [("buffer-changed", wanted)]);
}

#[test]
fn the_call_that_completed_a_request_is_named_rather_than_a_later_one_on_the_window() {
    let access = Access {
        high: 8,
        bytes: 8,
        request: true,
        epoch: AccessEpoch::Shared,
        misuse: Some(Misuse::Released),
        waited: Some(Called { function: "MPI_Wait".into(), place: Some("a.c:9".into()) }.into()),
        ..Access::default()
    };
    let job =
        [rank(0, vec![]), rank(1, vec![call("a.c:7", 1, Does::Access(access)), done(6)]), rank(2, vec![])];
    let said: Vec<_> = findings(&job, &[]).into_iter().map(|one| one.sentence).collect();
    let wanted = "rank 1: the buffer of MPI_Call at a.c:7 was released before MPI_Wait at a.c:9 completed it";
    assert_eq!(said, [wanted]);
}
