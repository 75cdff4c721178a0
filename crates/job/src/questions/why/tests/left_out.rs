//! Calls skipped by one rank, detected from what the others did on their way to the collective it is in.

use super::look;
use crate::questions::why::Kind;
use crate::questions::why::scene::{Scene, WORLD, receive};
use crate::questions::why::snapshot::{MessageCalls, Need, Peer, ProcessIndex, Wait};

/// A rank has sent or received at a line `count` times.
fn calls(scene: &mut Scene, rank: ProcessIndex, sends: bool, count: u64) {
    let function = if sends { "MPI_Send" } else { "MPI_Recv" };
    let place = "a.c:5".into();
    let calls =
        MessageCalls { comm: WORLD, function: function.into(), place, count, sends, receives: !sends };
    scene.process(rank).messaging.get_or_insert_default().calls.push(calls);
}

/// Both have exchanged messages with tag 7.
fn partners(scene: &mut Scene, rank: ProcessIndex, with: ProcessIndex) {
    let messaging = scene.process(rank).messaging.get_or_insert_default();
    messaging.sent_to.push((WORLD, with, 1));
    messaging.received_from.push((WORLD, with, 1));
    messaging.tags.insert((WORLD, with, 7));
    scene.process(with).messaging.get_or_insert_default().tags.insert((WORLD, rank, 7));
}

/// Rank 3 waits for rank 2, and the others are in a barrier, before which they have sent this often.
fn halo(counts: [u64; 3]) -> Scene {
    let mut scene = Scene::of(4);
    scene.receive(3, Peer::One(2), 7);
    for (rank, count) in (0..).zip(counts) {
        scene.collective(rank, "MPI_Barrier", 4);
        if count > 0 {
            calls(&mut scene, rank, true, count);
        }
    }
    scene
}

#[test]
fn a_send_that_the_others_made_once_more_was_skipped() {
    let said = look(&halo([4, 4, 3]));
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert_eq!(
        said.verdict,
        "rank 3 waits for a message from rank 2 with tag 7 on WORLD that was never sent: rank 2 has called MPI_Send at a.c:5 3 times, \
         but ranks [0-1] 4 times; rank 2 is in MPI_Barrier at mpi_barrier.c:1, collective 4 on WORLD, not entered by rank 3"
    );
    assert_eq!(said.culprits[0].ranks.to_string(), "2");
    assert!(!said.cycle.is_empty());
}

#[test]
fn a_ring_stays_a_deadlock_if_no_rank_has_sent_more_often() {
    for counts in [[4, 4, 4], [3, 3, 4], [0, 0, 0], [1, 5, 3]] {
        assert_eq!(look(&halo(counts)).kind, Kind::DEADLOCK, "{counts:?}");
    }
}

#[test]
fn a_rank_never_at_a_line_skipped_it_if_the_others_sent_to_the_same_rank() {
    let mut scene = halo([1, 1, 0]);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK, "it may have another part to play");
    for rank in 0..2 {
        partners(&mut scene, rank, 3);
    }
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted =
        "never sent: rank 2 has not called MPI_Send at a.c:5, but ranks [0-1] have; rank 2 is in MPI_Barrier";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
}

#[test]
fn a_message_from_another_rank_is_a_better_reason_than_a_skipped_call() {
    let mut scene = Scene::of(3);
    scene.receive(1, Peer::One(0), 7).sent(2, 1, 7).collective(0, "MPI_Barrier", 1).collective(
        2,
        "MPI_Barrier",
        1,
    );
    calls(&mut scene, 2, true, 1);
    partners(&mut scene, 2, 1);
    let said = look(&scene);
    assert!(said.verdict.contains("rank 2 sent a message with tag 7"), "{}", said.verdict);
}

#[test]
fn a_message_that_several_ranks_sent_is_not_the_mistake_of_one() {
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(1), 7);
    for rank in 1..4 {
        scene.collective(rank, "MPI_Bcast", 1);
    }
    for rank in 2..4 {
        scene.sent(rank, 0, 7);
        calls(&mut scene, rank, true, 1);
        partners(&mut scene, rank, 0);
    }
    let said = look(&scene);
    assert!(
        said.verdict.contains("rank 1 has not called MPI_Send at a.c:5, but ranks [2-3] have"),
        "{}",
        said.verdict
    );
}

#[test]
fn a_call_made_on_another_communicator_counts_only_if_the_others_did_not_make_it_there() {
    let on_copy = |scene: &mut Scene, rank| {
        calls(scene, rank, true, 1);
        let messaging = scene.process(rank).messaging.get_or_insert_default();
        messaging.calls.iter_mut().skip(usize::from(rank < 2)).for_each(|call| call.comm = WORLD + 1);
    };
    let mut scene = halo([1, 1, 0]);
    scene.0.communicators.push(scene.0.communicators[0].clone());
    on_copy(&mut scene, 2);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    assert!(said.verdict.contains("rank 2 has called MPI_Send at a.c:5 on WORLD"), "{}", said.verdict);
    (0..2).for_each(|rank| on_copy(&mut scene, rank));
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn the_awaited_message_from_a_rank_that_was_not_at_the_line_is_a_better_reason() {
    for (sender, wanted) in [(0, "rank 2 has called MPI_Send"), (4, "rank 4 sent a message with tag 7")] {
        let mut scene = Scene::of(5);
        scene.receive(3, Peer::One(2), 7).sent(sender, 3, 7);
        for rank in [0, 1, 2, 4] {
            scene.collective(rank, "MPI_Barrier", 4);
        }
        [(0, 4), (1, 4), (2, 3)].iter().for_each(|(rank, count)| calls(&mut scene, *rank, true, *count));
        let said = look(&scene);
        assert!(said.verdict.contains(wanted), "{}", said.verdict);
    }
}

#[test]
fn a_single_other_rank_is_compared_only_by_messages_of_the_awaited_tag() {
    for (tag, kind) in [(7, Kind::MESSAGE_NEVER_SENT), (8, Kind::DEADLOCK)] {
        let mut scene = Scene::of(3);
        scene.receive(0, Peer::One(2), tag).collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
        calls(&mut scene, 1, true, 1);
        partners(&mut scene, 1, 0);
        assert_eq!(look(&scene).kind, kind, "tag {tag}");
    }
    // Its message has arrived in a call that waits for both.
    let mut scene = Scene::of(3);
    let needs = [1, 2].map(|from| Need::Message(receive(Peer::One(from), 7)));
    scene.call(0, "MPI_Waitall", Wait::All(needs.into())).sent(1, 0, 7);
    scene.collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    calls(&mut scene, 1, true, 1);
    scene.process(1).messaging.get_or_insert_default().sent_to.push((WORLD, 0, 1));
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_SENT);
}

#[test]
fn a_receive_that_another_rank_made_was_skipped() {
    let mut scene = Scene::of(3);
    scene.send(0, 2, 7).collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    calls(&mut scene, 1, false, 1);
    partners(&mut scene, 1, 0);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED);
    let wanted = "that is never received: rank 2 has not called MPI_Recv at a.c:5, but rank 1 has; rank 2 is in MPI_Barrier";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "2");
}
