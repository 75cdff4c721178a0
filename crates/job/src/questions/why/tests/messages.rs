//! Awaited messages that were never sent or went to the wrong rank, and messages that are never received.

use super::look;
use crate::questions::why::scene::{Scene, WORLD, message, receive};
use crate::questions::why::snapshot::{Condition, Match, Message, Need, Peer, Receive, Wait};
use crate::questions::why::{Kind, Verdict};

#[test]
fn a_message_that_went_to_another_rank_is_what_was_sent_instead_unless_that_rank_may_want_it() {
    let mut scene = Scene::of(3);
    scene.sent(0, 2, 41).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 41);
    scene.collective(2, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert!(said.verdict.contains("rank 0 sent a message with tag 41 to rank 2"), "{}", said.verdict);
    scene.process(2).threads[0].call = None;
    assert_eq!(look(&scene).kind, Kind::DEADLOCK, "rank 2 may receive it yet");
    let mut scene = Scene::of(4);
    scene.sent(0, 2, 41).sent(0, 3, 41).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 41);
    scene.collective(2, "MPI_Barrier", 1).collective(3, "MPI_Barrier", 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK, "which of two it would be is not known");
}

#[test]
fn a_message_sent_to_another_rank_on_another_communicator_is_the_reason_if_there_is_just_one() {
    let scene_of = |receivers: &[u32]| {
        let mut scene = Scene::of(4);
        scene.receive(0, Peer::One(1), 5);
        for rank in 1..4 {
            scene.collective(rank, "MPI_Barrier", 1);
        }
        let sent = receivers.iter().map(|to| Message { comm: 1, ..message(*to, 5) });
        scene.process(1).sent.extend(sent);
        scene
    };
    let said = look(&scene_of(&[2]));
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    assert!(said.next.starts_with("check the communicator of that send"), "{}", said.next);
    assert_eq!(look(&scene_of(&[2, 3])).kind, Kind::DEADLOCK, "which of two it would be is not known");
    assert_eq!(look(&scene_of(&[])).kind, Kind::DEADLOCK);
}

#[test]
fn a_misdirected_message_in_a_ring_is_the_reason_if_it_would_release_all_ranks() {
    // Each sends to its successor and receives from its predecessor, over and over; rank 1 sends to rank 3
    // instead of rank 2.
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(3), 7).receive(3, Peer::One(2), 7).receive(2, Peer::One(1), 7);
    scene.receive(1, Peer::One(0), 7).sent(1, 3, 7).sent(1, 3, 7);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    assert!(
        said.verdict.starts_with("rank 2 waits for a message from rank 1 with tag 7"),
        "{}",
        said.verdict
    );
    assert!(said.verdict.contains("rank 1 sent a message with tag 7 to rank 3"), "{}", said.verdict);
    assert_eq!(said.cycle, ["0", "3", "2", "1"]);
    assert_eq!(said.culprits.first().map(|culprit| culprit.ranks.to_string()).as_deref(), Some("1"));
    // If it waits for that message to be received, nothing changes.
    scene.process(1).sent.clear();
    scene.process(1).posted.clear();
    scene.send(1, 3, 7);
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_SENT);
}

#[test]
fn a_misdirected_message_is_also_found_for_a_receive_of_any_tag_and_outside_a_ring_of_senders() {
    let mut scene = Scene::of(4);
    let any_tag = receive(Peer::One(2), 0);
    let any_tag = Receive { matches: Match { tag: None, ..any_tag.matches }, ..any_tag };
    scene.call(3, "MPI_Probe", Wait::All(vec![Need::Message(any_tag)]));
    scene.sent(2, 0, 6).receive(2, Peer::One(3), 9);
    scene.collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    let said = look(&scene);
    assert!(said.verdict.contains("rank 2 sent a message with tag 6 to rank 0"), "{}", said.verdict);
    let mut scene = Scene::of(4);
    scene.send(0, 1, 8).send(1, 2, 7).send(2, 0, 6).receive(3, Peer::One(2), 6);
    let said = look(&scene);
    assert!(
        said.verdict.starts_with("rank 3 waits for a message from rank 2 with tag 6"),
        "{}",
        said.verdict
    );
    assert_eq!(said.cycle, ["0", "1", "2"]);
}

#[test]
fn a_receive_that_names_a_stuck_rank_is_the_reason_if_naming_the_sender_would_release_all_ranks() {
    let known = |scene: &mut Scene| {
        for rank in 0..4 {
            scene.process(rank).messaging.get_or_insert_default();
        }
    };
    // A rank that waits for itself.
    let mut scene = Scene::of(4);
    known(&mut scene);
    scene.receive(2, Peer::One(2), 5).sent(1, 2, 5);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    let said = look(&scene);
    assert!(said.verdict.contains("it has sent itself none there; rank 1 sent"), "{}", said.verdict);
    let named = |said: &Verdict| said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>();
    assert_eq!((said.kind, named(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["2".to_owned()]));
    // A tree in which rank 2 receives from its parent instead of its child, from which it has received before.
    let mut scene = Scene::of(4);
    known(&mut scene);
    scene.receive(0, Peer::One(2), 2).receive(2, Peer::One(0), 1).send(3, 2, 1).collective(1, "MPI_Bcast", 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK, "it may be meant to receive from both in turn");
    scene.process(2).messaging.get_or_insert_default().received_from = vec![(WORLD, 3, 6)];
    let said = look(&scene);
    assert!(said.verdict.contains("rank 0 has sent it none there, and is in MPI_Recv"), "{}", said.verdict);
    assert_eq!((said.kind, said.cycle), (Kind::MESSAGE_NEVER_SENT, vec!["0".to_owned(), "2".to_owned()]));
}

#[test]
fn messages_sent_after_the_misdirected_one_are_not_mistaken_for_it() {
    // Rank 1 sent tag 3 to rank 3 instead of rank 2, and then tag 4 to rank 2.
    let scene = |first: u32, second: u32| {
        let mut scene = Scene::of(4);
        scene.receive(0, Peer::One(3), 6).receive(3, Peer::One(2), 4).receive(2, Peer::One(1), 3);
        scene.receive(1, Peer::One(0), 7);
        for to in [first, second] {
            scene.sent(1, to, if to == 2 { 4 } else { 3 });
        }
        look(&scene).verdict
    };
    assert!(scene(3, 2).contains("rank 1 sent a message with tag 3 to rank 3"), "{}", scene(3, 2));
    assert!(scene(2, 3).contains("rank 1 sent a message with tag 4 to rank 2"), "{}", scene(2, 3));
}

#[test]
fn a_sender_does_not_wait_for_a_message_that_was_received() {
    // Both halves of MPI_Sendrecv: rank 0's message to rank 1 has been received, and it waits for one from
    // rank 1.
    let mut scene = Scene::of(2);
    let both = vec![Need::Message(receive(Peer::One(1), 7)), Need::Receiver(message(1, 7))];
    scene.call(0, "MPI_Sendrecv", Wait::All(both)).collective(1, "MPI_Barrier", 1);
    assert_eq!(look(&scene).cycle, ["0", "1"]);
    let mut scene = Scene::of(2);
    scene.call(0, "MPI_Ssend", Wait::All(vec![Need::Receiver(message(1, 7))])).receive(1, Peer::One(0), 8);
    assert!(!look(&scene).problem, "it may return at any moment");
    scene.sent(0, 1, 7);
    assert!(look(&scene).problem);
}

#[test]
fn a_near_miss_of_a_rank_that_nobody_waits_for_does_not_explain_a_deadlock() {
    let mut scene = Scene::of(4);
    scene.send(0, 1, 7).send(1, 0, 8);
    scene.sent(0, 2, 41).receive(2, Peer::One(0), 42).receive(3, Peer::One(2), 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.cycle.len()), (Kind::DEADLOCK, 2), "{}", said.verdict);
    // It is, if one of the two waits for that rank.
    scene.process(1).sent.clear();
    scene.receive(1, Peer::One(2), 1);
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_SENT);
}

#[test]
fn a_message_that_another_rank_waits_for_went_to_the_wrong_rank() {
    let mut scene = Scene::of(3);
    scene.send(0, 2, 115).receive(1, Peer::One(0), 115).receive(2, Peer::One(0), 116);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert!(
        said.verdict.starts_with("rank 1 waits for a message from rank 0 with tag 115"),
        "{}",
        said.verdict
    );
    assert!(said.verdict.contains("rank 0 sent a message with tag 115 to rank 2"), "{}", said.verdict);
}

#[test]
fn a_message_with_another_tag_is_named_as_what_was_sent_instead() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 41).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 42);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert!(said.verdict.contains("tag 42") && said.verdict.contains("tag 41"), "{}", said.verdict);
}

#[test]
fn a_partitioned_message_does_not_match_a_receive_and_is_named_as_sent_instead() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 42).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 42);
    scene.process(0).sent[0].partitioned = true;
    let verdict = look(&scene);
    assert_eq!(verdict.kind, Kind::MESSAGE_NEVER_SENT);
    let instead = "rank 0 sent a partitioned message with tag 42 to rank 1";
    assert!(verdict.verdict.contains(instead), "{}", verdict.verdict);
    assert!(verdict.next.contains("MPI_Precv_init"), "{}", verdict.next);
}

#[test]
fn an_ordinary_message_does_not_match_a_partitioned_receive_and_is_named_as_sent_instead() {
    let mut wanted = receive(Peer::One(0), 42);
    wanted.matches.partitioned = true;
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 42).collective(0, "MPI_Barrier", 1);
    scene.call(1, "MPI_Wait", Wait::All(vec![Need::Message(wanted.clone())]));
    let verdict = look(&scene);
    assert_eq!(verdict.kind, Kind::MESSAGE_NEVER_SENT);
    assert!(
        verdict.verdict.starts_with("rank 1 waits for a partitioned message from rank 0"),
        "{}",
        verdict.verdict
    );
    let instead = "rank 0 sent a message with tag 42 to rank 1";
    assert!(verdict.verdict.contains(instead), "{}", verdict.verdict);
    assert!(verdict.next.contains("MPI_Psend_init"), "{}", verdict.next);
    // The same if the sender has finalized.
    scene.process(0).condition = Condition::Finalized;
    assert!(look(&scene).verdict.contains(instead), "{}", look(&scene).verdict);
}

#[test]
fn a_partitioned_message_without_a_partitioned_receive_is_never_received() {
    let mut scene = Scene::of(2);
    let mut sent = message(1, 42);
    sent.partitioned = true;
    scene.process(0).sent.push(sent.clone());
    scene.call(0, "MPI_Wait", Wait::All(vec![Need::Receiver(sent)])).finalize(1);
    let verdict = look(&scene);
    assert_eq!(verdict.kind, Kind::MESSAGE_NEVER_RECEIVED);
    let says = "rank 0 sent a partitioned message with tag 42 to rank 1";
    assert!(verdict.verdict.contains(says), "{}", verdict.verdict);
}

#[test]
fn a_message_in_flight_is_not_a_problem() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 42).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 42);
    assert!(!look(&scene).problem);
}

#[test]
fn a_message_from_a_finalizing_rank_was_never_sent_and_an_ended_sender_is_gone() {
    let mut scene = Scene::of(2);
    scene.finalize(0).receive(1, Peer::One(0), 42);
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_SENT);
    scene.process(0).condition = Condition::Ended("killed by SIGKILL".into());
    let said = look(&scene);
    assert_eq!(said.kind, Kind::RANK_GONE);
    assert!(
        said.verdict.contains("rank 1 waits for rank 0, which has ended: killed by SIGKILL"),
        "{}",
        said.verdict
    );
}

#[test]
fn a_send_to_a_rank_that_finalizes_is_never_received() {
    let mut scene = Scene::of(2);
    scene.send(0, 1, 5).finalize(1);
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_RECEIVED);
}

#[test]
fn of_two_ranks_that_use_different_communicators_the_one_is_suspect_that_no_other_rank_agrees_with() {
    let mut scene = Scene::of(3);
    let copy = super::super::Communicator {
        name: "copy".into(),
        identity: 2,
        members: [0, 1, 2].into(),
        split: None,
    };
    scene.0.communicators.push(copy);
    scene.receive(2, Peer::One(0), 7).collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    scene.process(0).sent.push(Message { comm: 1, ..message(2, 7) });
    let suspects = |scene: &Scene| {
        let said = look(scene);
        assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
        said.culprits.iter().map(|culprit| culprit.ranks.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(suspects(&scene), ["0", "2"]);
    scene.process(1).messaging.get_or_insert_default().received_from.push((1, 0, 4));
    assert_eq!(suspects(&scene), ["2", "0"], "rank 1 has received from rank 0 on the copy too");
}

#[test]
fn all_ranks_that_sent_the_same_other_message_to_a_wait_for_several_are_named() {
    let mut scene = Scene::of(4);
    let needs = [1, 2, 3].map(|from| Need::Message(receive(Peer::One(from), 5)));
    scene.call(0, "MPI_Waitany", Wait::Any(needs.into()));
    scene.sent(1, 0, 6).sent(2, 0, 6).sent(3, 0, 7);
    for rank in 1..4 {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    let said = look(&scene);
    assert!(said.verdict.ends_with(" instead, which nobody receives; so did rank 2"), "{}", said.verdict);
    let blamed: Vec<String> = said.culprits.iter().map(|one| one.ranks.to_string()).collect();
    assert_eq!(blamed, ["1", "0", "2"]);
}

#[test]
fn a_rank_that_has_cancelled_receives_and_gets_messages_that_it_does_not_receive_is_shown() {
    let mut scene = Scene::of(3);
    scene.send(0, 1, 5).collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    for rank in 1..3 {
        scene.process(rank).cancelled_receives = 1;
    }
    let said = look(&scene);
    let lines = said.evidence.iter().filter(|line| line.what.contains("cancelled a receive"));
    assert_eq!(lines.map(|line| line.ranks.to_string()).collect::<Vec<_>>(), ["1"]);
}

#[test]
fn of_two_ranks_with_different_tags_the_one_that_differs_from_a_third_one_too_is_named() {
    // A ring in which rank 2 has counted one step too many.
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(3), 6).receive(1, Peer::One(0), 6).sent(0, 1, 5);
    scene.receive(2, Peer::One(1), 8).sent(1, 2, 6).receive(3, Peer::One(2), 6).sent(2, 3, 7);
    scene.process(0).sent.clear();
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    let culprits: Vec<String> = said.culprits.iter().map(|one| one.ranks.to_string()).collect();
    assert_eq!(culprits, ["2"], "{}", said.verdict);
    assert!(said.verdict.ends_with(": rank 2 differs from two others"), "{}", said.verdict);
}

#[test]
fn a_message_of_another_rank_explains_nothing_if_the_awaited_one_is_held_up() {
    // Rank 1, a child of rank 0, waits for a rank that is a child of rank 2.
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(3), 7).sent(2, 0, 7).sent(3, 2, 7);
    scene.collective(2, "MPI_Bcast", 1).collective(3, "MPI_Bcast", 1);
    let said = look(&scene);
    assert!(!said.verdict.contains("rank 2 sent a message"), "{}", said.verdict);
}
