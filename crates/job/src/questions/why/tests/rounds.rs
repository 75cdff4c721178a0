//! Ranks that go another number of rounds than the others, or skip a part of one.

use super::{blamed, look};
use crate::questions::why::Kind;
use crate::questions::why::scene::{Scene, WORLD};
use crate::questions::why::snapshot::{MessageCalls, Peer, ProcessIndex, Shifted};

/// A rank has sent another one this many messages, of which that has received this many.
fn exchanged(scene: &mut Scene, from: ProcessIndex, to: ProcessIndex, sent: u64, received: u64) {
    let messaging =
        |process: &mut crate::questions::why::Process| process.messaging.take().unwrap_or_default();
    let mut known = messaging(scene.process(from));
    known.sent_to.push((WORLD, to, sent));
    scene.process(from).messaging = Some(known);
    let mut known = messaging(scene.process(to));
    known.received_from.push((WORLD, from, received));
    scene.process(to).messaging = Some(known);
}

/// A ring of four, each of which waits for a message from its left and has sent one to its right, but for those that are
/// in a barrier.
fn ring(inside: &[ProcessIndex]) -> Scene {
    let mut scene = Scene::of(4);
    for rank in 0..4 {
        exchanged(&mut scene, rank, (rank + 1) % 4, 5, 4);
        if inside.contains(&rank) {
            scene.collective(rank, "MPI_Barrier", 1);
        } else {
            scene.sent(rank, (rank + 1) % 4, 7).receive(rank, Peer::One((rank + 3) % 4), 7);
        }
    }
    scene
}

#[test]
fn a_rank_that_leaves_the_others_behind_is_the_culprit() {
    // The message of rank 0 has arrived.
    let mut scene = ring(&[2]);
    for rank in [0, 1] {
        exchanged(&mut scene, 2, rank, 4, 4);
        scene.receive(rank, Peer::One(2), 7);
    }
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".to_owned()]), "{}", said.verdict);
    let wanted =
        "ranks [0-1,3] are all still in MPI_Recv at mpi_recv.c:1, and rank 2 has gone on without them";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
}

#[test]
fn a_rank_that_two_of_as_many_wait_for_has_left_them() {
    let mut scene = Scene::of(4);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    scene.receive(1, Peer::One(2), 7).receive(3, Peer::One(2), 7);
    assert!(!look(&scene).verdict.contains("gone on"), "it may have another part to play");
    exchanged(&mut scene, 2, 1, 1, 1);
    exchanged(&mut scene, 2, 3, 1, 1);
    let said = look(&scene);
    assert_eq!(blamed(&said), ["2"], "{}", said.verdict);
    assert!(said.verdict.contains("ranks [1,3] all wait for rank 2, which has gone on without them"));
    // Each waits for another.
    let mut scene = Scene::of(4);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    scene.receive(1, Peer::One(0), 7).receive(3, Peer::One(2), 7);
    let said = look(&scene);
    assert!(!said.verdict.contains("gone on"), "{}", said.verdict);
}

#[test]
fn a_rank_that_has_sent_what_the_others_do_not_receive_is_ahead_of_them() {
    let mut scene = ring(&[0, 1, 3]);
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".to_owned()]), "{}", said.verdict);
    let wanted =
        "ranks [0-1,3] have all entered that collective: rank 2 has skipped it, or goes round once more";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    // What it waits for may have been left out.
    scene.process(2).sent.clear();
    assert_eq!(blamed(&look(&scene)).len(), 2);
    // Two ranks cannot outvote each other.
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Barrier", 1).sent(1, 0, 7).receive(1, Peer::One(0), 8);
    assert_eq!(blamed(&look(&scene)).len(), 2);
}

#[test]
fn a_rank_whose_partner_has_sent_as_often_as_others_has_skipped_the_collective() {
    let mut scene = Scene::of(4);
    scene.receive(2, Peer::One(3), 7);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Barrier", 6);
    }
    let sends = |scene: &mut Scene, rank: ProcessIndex, count: u64| {
        let calls = MessageCalls {
            comm: WORLD,
            function: "MPI_Send".into(),
            place: "a.c:5".into(),
            count,
            sends: true,
            receives: false,
        };
        scene.process(rank).messaging.get_or_insert_default().calls = vec![calls];
    };
    sends(&mut scene, 3, 5);
    assert_eq!(blamed(&look(&scene)).len(), 2, "there is none to compare it with");
    sends(&mut scene, 1, 5);
    let said = look(&scene);
    assert_eq!(blamed(&said), ["2"], "{}", said.verdict);
    sends(&mut scene, 1, 7);
    assert_ne!(blamed(&look(&scene)), ["2"]);
}

#[test]
fn a_rank_that_has_asked_once_more_than_the_others_has_taken_the_answer_of_one_of_them() {
    let mut scene = Scene::of(4);
    for rank in [0, 2, 3] {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    scene.sent(1, 0, 4).receive(1, Peer::One(0), 5);
    for (rank, sent, received) in [(1, 8, 7), (2, 9, 9), (3, 8, 8)] {
        exchanged(&mut scene, rank, 0, sent, received);
        exchanged(&mut scene, 0, rank, received, received);
    }
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".to_owned()]), "{}", said.verdict);
    assert!(
        said.verdict.ends_with("; rank 2 has sent 9 messages to rank 0, but ranks [1,3] have each sent 8"),
        "{}",
        said.verdict
    );
    // With one other it may have been asked to.
    for process in &mut scene.0.processes {
        process.messaging.iter_mut().for_each(|known| known.sent_to.retain(|(_, to, _)| *to != 0));
    }
    exchanged(&mut scene, 1, 0, 8, 7);
    exchanged(&mut scene, 2, 0, 9, 9);
    assert_eq!(blamed(&look(&scene)), ["0", "1"]);
}

#[test]
fn a_rank_that_ends_all_but_one_owes_a_message_too() {
    let scene = |sent: [u64; 3]| {
        let mut scene = Scene::of(4);
        for rank in [0, 2, 3] {
            scene.collective(rank, "MPI_Barrier", 1);
        }
        scene.receive(1, Peer::One(0), 5);
        for (rank, count, results) in [(1, sent[0], 4), (2, sent[1], 9), (3, sent[2], 2)] {
            exchanged(&mut scene, rank, 0, results, results);
            exchanged(&mut scene, 0, rank, count, count);
        }
        look(&scene)
    };
    let said = scene([4, 10, 3]);
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["0".to_owned()]));
    let wanted = "rank 0 has received 4 messages from rank 1 and sent it 4, but sent each of ranks [2-3] 1 more than it received";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(scene([5, 10, 3]).kind, Kind::DEADLOCK, "it has ended all");
    assert_eq!(scene([4, 10, 2]).kind, Kind::DEADLOCK, "it has not ended another one");
}

/// Rank 0 has answered the requests of the others, but for one of rank 1.
fn unanswered(others: u64) -> Scene {
    let mut scene = Scene::of(4);
    for rank in [0, 2, 3] {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    scene.receive(1, Peer::One(0), 5);
    for (rank, asked, answered) in [(1, 8, 7), (2, 8, others), (3, 5, 5)] {
        exchanged(&mut scene, rank, 0, asked, asked);
        exchanged(&mut scene, 0, rank, answered, answered);
    }
    scene
}

#[test]
fn a_rank_that_has_answered_all_but_one_message_owes_one() {
    let said = look(&unanswered(8));
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["0".to_owned()]));
    let wanted = "rank 1 waits for a message from rank 0 with tag 5 on WORLD that was never sent: rank 0 has received 8 messages \
                  from rank 1 and sent it 7, but sent each of ranks [2-3] as many as it received";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    assert_eq!(look(&unanswered(6)).kind, Kind::DEADLOCK, "it does not answer every message");
    // The request has not been received.
    let mut scene = unanswered(8);
    scene.sent(1, 0, 4);
    exchanged(&mut scene, 1, 0, 0, 0);
    scene.process(1).messaging.as_mut().expect("it waits").sent_to = vec![(WORLD, 0, 9)];
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_collective_skipped_long_before_the_hang_is_named() {
    let mut scene = Scene::of(4);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Allreduce", 16);
    }
    scene.finalize(2);
    scene.process(2).entered = vec![(WORLD, 15)];
    let shifted = |skipped, earlier| Shifted {
        comm: WORLD,
        process: 2,
        since: 12,
        earlier,
        skipped,
        function: "MPI_Allreduce".into(),
        root: None,
        place: Some("a.c:5".into()),
    };
    let mut says = |one: Shifted, wanted: &str| {
        scene.0.shifted = vec![one];
        let said = look(&scene);
        assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_NOT_ENTERED, vec!["2".to_owned()]));
        assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
    };
    says(
        shifted(1, false),
        "; rank 2 skipped a collective on WORLD: number 12, MPI_Allreduce at a.c:5, and has been ahead of the others since",
    );
    says(
        Shifted { root: Some(3), ..shifted(-2, false) },
        "; rank 2 made 2 collectives more on WORLD: number 12, MPI_Allreduce at a.c:5 with root 3, and has been behind the others \
         since",
    );
    says(
        shifted(1, true),
        "; rank 2 skipped a collective on WORLD before collective 12, the oldest one remembered, and has been ahead of the \
         others since",
    );
}

#[test]
fn the_rank_of_two_in_different_collectives_that_the_others_wait_for_has_left_them() {
    let scene = |third: ProcessIndex| {
        let mut scene = Scene::of(4);
        scene.collective(0, "MPI_Allreduce", 7).collective(2, "MPI_Gather", 7);
        scene.receive(1, Peer::One(2), 7).receive(3, Peer::One(third), 7);
        look(&scene)
    };
    let said = scene(2);
    assert_eq!(
        (said.kind, blamed(&said)),
        (Kind::COLLECTIVE_MISMATCH, vec!["2".to_owned()]),
        "{}",
        said.verdict
    );
    assert!(said.verdict.ends_with("; ranks [1,3] wait for messages of rank 2"), "{}", said.verdict);
    assert_eq!(blamed(&scene(0)), ["0", "2"], "each has left one");
}

/// Rank 0 has sent messages to all others, which are in a barrier, but for rank 3.
fn distribution(counts: [u64; 3]) -> Scene {
    let mut scene = Scene::of(4);
    for rank in 0..3 {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    scene.receive(3, Peer::One(0), 1);
    for (rank, count) in (1..).zip(counts) {
        exchanged(&mut scene, 0, rank, count, count);
    }
    scene
}

#[test]
fn a_rank_that_sends_to_all_others_has_left_one_out_or_that_one_receives_once_more() {
    let said = look(&distribution([8, 8, 7]));
    assert_eq!(
        (said.kind, blamed(&said)),
        (Kind::MESSAGE_NEVER_SENT, vec!["0".to_owned()]),
        "{}",
        said.verdict
    );
    let wanted = "never sent: rank 0 has sent 7 messages to rank 3, but 8 to each of ranks [1-2]; rank 0 is in MPI_Barrier";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    let said = look(&distribution([8, 8, 8]));
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["3".to_owned()]), "{}", said.verdict);
    assert!(said.verdict.contains("rank 3 has skipped it, or goes round once more"), "{}", said.verdict);
    assert_eq!(blamed(&look(&distribution([8, 6, 8]))), ["0", "3"], "they are not sent alike");
}

#[test]
fn a_rank_in_the_middle_of_a_round_need_not_have_sent_evenly() {
    // A hypercube: rank 5 has left out rank 7, which waits for it, as rank 3 does for rank 7.
    let mut scene = Scene::of(8);
    for rank in 0..8 {
        for partner in [1, 2, 4].map(|bit| rank ^ bit) {
            let left_out = (rank, partner) == (5, 7) || (rank, partner) == (7, 3);
            let sent = 4 - u64::from(left_out);
            let received = sent - u64::from((rank, partner) == (3, 7) || (rank, partner) == (7, 5));
            exchanged(&mut scene, rank, partner, sent, received);
        }
        if rank != 7 && rank != 3 {
            scene.collective(rank, "MPI_Allreduce", 4);
        }
    }
    scene.sent(7, 5, 1).receive(7, Peer::One(5), 1).sent(3, 7, 1).receive(3, Peer::One(7), 1);
    let said = look(&scene);
    assert_eq!(
        (said.kind, blamed(&said)),
        (Kind::MESSAGE_NEVER_SENT, vec!["5".to_owned()]),
        "{}",
        said.verdict
    );
    let wanted =
        "rank 5 has sent 3 messages to rank 7, but 4 to each of ranks [1,4], and ranks [1,3-4,6] have";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
}

#[test]
fn ranks_that_poll_for_one_that_has_gone_on_without_them_name_it() {
    let mut scene = ring(&[2]);
    exchanged(&mut scene, 2, 1, 4, 4);
    scene.receive(1, Peer::One(2), 7);
    for rank in [0, 1, 3] {
        let call = scene.process(rank).threads[0].call.as_mut().expect("a receive");
        (call.polling, call.age_s) = (true, Some(20.0));
    }
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::POLLING, vec!["2".to_owned()]), "{}", said.verdict);
}

#[test]
fn the_few_that_call_a_collective_after_which_most_have_finalized_should_not_have() {
    let scene = |inside: &[ProcessIndex]| {
        let mut scene = Scene::of(4);
        for rank in 0..4 {
            match inside.contains(&rank) {
                true => scene.collective(rank, "MPI_Allreduce", 9),
                false => scene.finalize(rank),
            };
        }
        look(&scene)
    };
    let said = scene(&[3]);
    assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_NOT_ENTERED, vec!["3".to_owned()]));
    let wanted = "ranks [0-2] never entered MPI_Allreduce (collective 9 on WORLD): they are in MPI_Finalize; only rank 3 called it";
    assert_eq!(said.verdict, wanted);
    assert_eq!(blamed(&scene(&[0, 1, 3])), ["2"]);
    assert_eq!(blamed(&scene(&[0, 1])), ["2", "3"], "as many as those that called it");
}

#[test]
fn a_ring_of_messages_does_not_follow_from_a_skipped_collective() {
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    scene.collective(2, "MPI_Barrier", 16).collective(3, "MPI_Barrier", 16);
    scene.0.shifted = vec![Shifted {
        comm: WORLD,
        process: 2,
        since: 12,
        earlier: false,
        skipped: 1,
        function: "MPI_Barrier".into(),
        root: None,
        place: None,
    }];
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["0".to_owned(), "1".to_owned()]));
    assert!(!said.verdict.contains("skipped"), "{}", said.verdict);
}
