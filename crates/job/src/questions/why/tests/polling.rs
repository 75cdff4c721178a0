//! Polling loops: what is certain about them, and how long they may go on before they are called a problem.

use super::{blamed, look};
use crate::observation::NOTHING_ACTIVE;
use crate::questions::why::scene::{Scene, receive};
use crate::questions::why::snapshot::{Need, Peer, ProcessIndex, Wait};
use crate::questions::why::{Kind, Verdict};

/// A rank that polls for a message, given its polling time and its longest earlier polling time.
fn asks(scene: &mut Scene, rank: ProcessIndex, from: Peer, (age_s, before_s): (f64, f64)) {
    scene.receive(rank, from, 1);
    scene.process(rank).posted.clear();
    let call = scene.process(rank).threads[0].call.as_mut().unwrap();
    (call.polling, call.age_s, call.polled_before_s) = (true, Some(age_s), before_s);
}

/// Rank 0 polls for a message from rank 1, which waits for rank 0.
fn one(times: (f64, f64)) -> Verdict {
    let mut scene = Scene::of(2);
    asks(&mut scene, 0, Peer::One(1), times);
    scene.receive(1, Peer::One(0), 1);
    look(&scene)
}

/// All poll for messages from any source.
fn all(times: (f64, f64)) -> Verdict {
    let mut scene = Scene::of(3);
    (0..3).for_each(|rank| asks(&mut scene, rank, Peer::Any, times));
    look(&scene)
}

#[test]
fn polling_for_a_rank_that_waits_is_called_polling_and_not_deadlock() {
    let said = one((6.0, 0.5));
    assert_eq!((said.kind, said.certain, said.stuck.to_string().as_str()), (Kind::POLLING, false, "[0-1]"));
    assert!(said.verdict.starts_with("rank 0 polls for something that nobody else can"), "{}", said.verdict);
}

#[test]
fn timed_loops_are_no_problem_until_they_last_much_longer_than_earlier_ones() {
    let kinds = |times| (one(times).kind, all(times).kind);
    assert_eq!(kinds((1.9, 0.0)), (Kind::SLOW, Kind::SLOW));
    assert_eq!(
        kinds((2.5, 0.0)),
        (Kind::POLLING, Kind::SLOW),
        "who waits in a call does not act by the clock"
    );
    assert_eq!(kinds((29.0, 0.0)), (Kind::POLLING, Kind::SLOW), "what anybody may send need not come soon");
    assert_eq!(kinds((30.0, 0.0)), (Kind::POLLING, Kind::POLLING));
    assert_eq!(kinds((30.0, 8.0)), (Kind::SLOW, Kind::SLOW));
    assert_eq!(kinds((33.0, 8.0)), (Kind::POLLING, Kind::POLLING));
    let said = one((1.0, 0.0));
    assert!(said.verdict.contains("may be waiting for a certain time") && said.stuck.is_empty(), "{said:?}");
}

#[test]
fn the_rank_that_all_others_poll_for_is_named() {
    let mut scene = Scene::of(3);
    (1..3).for_each(|rank| asks(&mut scene, rank, Peer::One(0), (9.0, 0.0)));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW);
    assert!(said.verdict.starts_with("ranks [1-2] wait for rank 0: computing"), "{}", said.verdict);
    // From any source: the culprit is the rank that does not poll itself.
    (1..3).for_each(|rank| asks(&mut scene, rank, Peer::Any, (9.0, 0.0)));
    assert!(look(&scene).verdict.starts_with("ranks [1-2] wait for rank 0: computing"));
}

#[test]
fn a_rank_that_can_no_longer_enter_a_collective_is_blamed_and_not_the_one_polling_for_it() {
    let mut scene = Scene::of(3);
    for rank in 0..2 {
        scene.collective(rank, "MPI_Ibarrier", 1);
        let call = scene.process(rank).threads[0].call.as_mut().unwrap();
        (call.polling, call.age_s) = (true, Some(0.1));
    }
    scene.collective(2, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!((said.kind, said.certain, said.culprits.len()), (Kind::POLLING, true, 1));
    assert_eq!(said.culprits[0].ranks.to_string(), "2");
    assert!(said.verdict.ends_with("; rank 2: in MPI_Finalize at mpi_finalize.c:1"), "{}", said.verdict);
}

#[test]
fn polling_for_a_rank_that_can_no_longer_send_is_certain_immediately() {
    let mut scene = Scene::of(2);
    asks(&mut scene, 0, Peer::One(1), (0.1, 0.0));
    scene.collective(1, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!((said.kind, said.certain), (Kind::POLLING, true));
    assert!(said.verdict.ends_with("; rank 1: in MPI_Finalize at mpi_finalize.c:1"), "{}", said.verdict);
    let mut scene = Scene::of(2);
    asks(&mut scene, 0, Peer::Any, (0.1, 0.0));
    scene.collective(1, "MPI_Finalize", 0);
    assert_eq!(look(&scene).kind, Kind::SLOW, "who asks anybody may do so until its time is over");
}

#[test]
fn a_message_that_a_loop_never_takes_is_not_one_it_polls_for() {
    let mut scene = Scene::of(2);
    // Rank 1 has sent what no rank asks for. A loop that polls for several things is known only in part.
    scene.sent(1, 0, 41);
    for rank in 0..2 {
        asks(&mut scene, rank, Peer::Any, (6.0, 0.0));
        let call = scene.process(rank).threads[0].call.as_mut().unwrap();
        let mut anything = receive(Peer::Any, 0);
        anything.matches.tag = None;
        call.wait = Wait::Any(vec![Need::Message(receive(Peer::Any, 1)), Need::Message(anything)]);
    }
    let said = look(&scene);
    assert_eq!(said.kind, Kind::POLLING, "{}", said.verdict);
    assert!(said.verdict.contains("rank 1 sent a message with tag 41"), "{}", said.verdict);
}

#[test]
fn a_loop_over_null_or_inactive_requests_gets_its_own_advice() {
    let mut scene = Scene::of(2);
    scene.0.parties.push([0].into());
    let start =
        Need::Action { by: 0, every: true, what: NOTHING_ACTIVE.into(), kind: Kind::REQUEST_NOT_COMPLETED };
    scene.call(0, "MPI_Testany", Wait::All(vec![start])).collective(1, "MPI_Barrier", 1);
    let call = scene.process(0).threads[0].call.as_mut().unwrap();
    (call.polling, call.age_s) = (true, Some(9.0));
    let said = look(&scene);
    assert_eq!((said.kind, said.certain), (Kind::POLLING, false));
    assert!(said.verdict.ends_with("are null or inactive"), "{}", said.verdict);
    assert!(said.next.contains("leave the loop") && !said.next.contains("other side"), "{}", said.next);
    let of_messages = one((9.0, 0.0)).next;
    assert!(of_messages.starts_with("the other side waits too"), "{of_messages}");
}

#[test]
fn the_rank_that_must_act_is_blamed_and_not_the_one_that_polls_for_it() {
    let mut scene = Scene::of(2);
    scene.0.parties.push([0].into());
    let what = "mark a partition ready".into();
    let need = Need::Action { by: 0, every: false, what, kind: Kind::PARTITION_NOT_READY };
    scene.collective(0, "MPI_Barrier", 1).call(1, "MPI_Parrived", Wait::All(vec![need]));
    let call = scene.process(1).threads[0].call.as_mut().unwrap();
    (call.polling, call.age_s) = (true, Some(9.0));
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::POLLING, vec!["0".to_owned()]));
    assert!(said.verdict.contains("waits for rank 0 to mark a partition ready"), "{}", said.verdict);
}
