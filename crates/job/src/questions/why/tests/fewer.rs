//! Sends that one rank left out of an exchange in which every rank sends the same number to all partners.

use super::look;
use crate::questions::why::scene::{Scene, WORLD, receive};
use crate::questions::why::snapshot::{Need, Peer, ProcessIndex, Wait};
use crate::questions::why::{Kind, Verdict};

/// Each rank has sent `count` messages to each other rank.
fn exchange(size: u32, count: u64) -> Scene {
    let mut scene = Scene::of(size);
    for rank in 0..size {
        let others = (0..size).filter(|other| *other != rank);
        let messaging = scene.process(rank).messaging.get_or_insert_default();
        messaging.sent_to = others.map(|other| (WORLD, other, count)).collect();
    }
    scene
}

fn has_sent(scene: &mut Scene, from: ProcessIndex, to: ProcessIndex, count: u64) {
    let messaging = scene.process(from).messaging.get_or_insert_default();
    messaging.sent_to.retain(|(_, other, _)| *other != to);
    messaging.sent_to.extend((count > 0).then_some((WORLD, to, count)));
}

fn waits_for(scene: &mut Scene, rank: ProcessIndex, from: &[ProcessIndex]) {
    let needs = from.iter().map(|from| Need::Message(receive(Peer::One(*from), 7))).collect();
    scene.call(rank, "MPI_Waitany", Wait::Any(needs));
}

#[test]
fn a_rank_that_sent_one_message_fewer_than_to_all_others_has_left_it_out() {
    let mut scene = exchange(4, 3);
    // Ranks 0, 2 and 3 are in the next round and wait for rank 1, which lacks a message from rank 2.
    for rank in [0, 2, 3] {
        waits_for(&mut scene, rank, &[1]);
    }
    waits_for(&mut scene, 1, &[2]);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK, "all have sent equally many");
    has_sent(&mut scene, 2, 1, 2);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert_eq!(
        said.verdict,
        "rank 1 waits for a message from rank 2 with tag 7 on WORLD that was never sent: rank 2 has sent 2 messages to rank 1, \
         but 3 to each of ranks [0,3], and ranks [0-1,3] have each sent the same number to all of their partners; rank 2 is in \
         MPI_Waitany at mpi_waitany.c:1, waiting for a message from rank 1 with tag 7 on WORLD"
    );
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["2"]);
    assert_eq!(said.cycle, ["1", "2"]);
    // A rank that also waits for another message is not just waiting for one that was left out.
    let mut several = exchange(4, 3);
    for (rank, from) in [(0, &[1][..]), (1, &[2, 3]), (2, &[1]), (3, &[1])] {
        waits_for(&mut several, rank, from);
    }
    has_sent(&mut several, 2, 1, 2);
    assert_eq!(look(&several).kind, Kind::DEADLOCK);
    // The first of all messages may be the one that is missing.
    let mut scene = exchange(3, 1);
    waits_for(&mut scene, 0, &[1]);
    waits_for(&mut scene, 1, &[0]);
    has_sent(&mut scene, 2, 0, 1);
    has_sent(&mut scene, 1, 0, 0);
    let said = look(&scene);
    assert!(
        said.verdict.contains("rank 1 has sent no message to rank 0, but 1 to rank 2"),
        "{}",
        said.verdict
    );
}

#[test]
fn ranks_that_play_different_parts_are_not_compared() {
    let mut scene = exchange(4, 3);
    for rank in [0, 2, 3] {
        waits_for(&mut scene, rank, &[1]);
    }
    waits_for(&mut scene, 1, &[2]);
    has_sent(&mut scene, 2, 1, 2);
    for (from, to, count) in [(3, 0, 5), (2, 3, 7), (2, 1, 1)] {
        let mut uneven = scene.clone();
        has_sent(&mut uneven, from, to, count);
        assert_eq!(look(&uneven).kind, Kind::DEADLOCK, "{from} -> {to}: {count}");
    }
    scene.process(3).lost = true;
    assert_eq!(
        look(&scene).kind,
        Kind::DEADLOCK,
        "what a rank with incomplete records has sent is not known"
    );
}

#[test]
fn of_several_ranks_that_could_send_the_one_that_sent_less_than_the_others_is_named() {
    let mut scene = exchange(4, 2);
    scene.receive(0, Peer::Any, 7);
    for rank in 1..4 {
        scene.collective(rank, "MPI_Bcast", 1);
    }
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    has_sent(&mut scene, 3, 0, 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted =
        "rank 3 has sent 1 message to rank 0, but ranks [1-2] have each sent 2; rank 3 is in MPI_Bcast";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["3"]);
    for rank in 1..4 {
        scene.finalize(rank);
    }
    let said = look(&scene);
    assert!(said.verdict.contains("rank 3 has sent 1 message to rank 0"), "{}", said.verdict);
    assert_eq!(said.culprits.len(), 1, "{:?}", said.culprits);
}

/// Rank 0 receives a message with tag 7 from any rank, and these have sent theirs; all are in a collective.
fn collected(size: u32, from: &[ProcessIndex]) -> Scene {
    let mut scene = Scene::of(size);
    scene.receive(0, Peer::Any, 7);
    for rank in 1..size {
        scene.collective(rank, "MPI_Bcast", 1);
        scene.process(rank).messaging.get_or_insert_default();
    }
    for rank in from {
        has_sent(&mut scene, *rank, 0, 3 + u64::from(*rank));
        scene.process(0).messaging.get_or_insert_default().tags.insert((WORLD, *rank, 7));
    }
    scene
}

#[test]
fn the_only_rank_that_has_sent_no_message_with_the_awaited_tag_has_left_it_out() {
    let culprits = |said: &Verdict| said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>();
    let said = look(&collected(4, &[1, 3]));
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    let wanted =
        "rank 2 has sent no message with tag 7 to rank 0, but ranks [1,3] have; rank 2 is in MPI_Bcast";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(culprits(&said), ["2"]);
    // A single other one may have sent one too few as well.
    let said = look(&collected(3, &[1]));
    assert_eq!(said.kind, Kind::DEADLOCK, "{}", said.verdict);
    assert!(
        said.verdict.ends_with("; rank 2 has sent no message with tag 7 to rank 0, but rank 1 has"),
        "{}",
        said.verdict
    );
    assert_eq!(culprits(&said), ["0", "2"]);
    // One that waits for a third has not got there.
    let mut held_up = collected(4, &[1, 3]);
    held_up.receive(2, Peer::One(3), 9);
    assert!(!look(&held_up).verdict.contains("with tag 7 to rank 0, but"));
    // Of several that have not, or if all have, nobody is named.
    for from in [&[1][..], &[1, 2, 3]] {
        let said = look(&collected(4, from));
        assert_eq!((said.kind, culprits(&said)), (Kind::DEADLOCK, vec!["0".into()]), "{}", said.verdict);
    }
}

#[test]
fn a_rank_that_has_sent_what_is_awaited_is_not_blamed_for_what_it_sends_next() {
    let mut ahead = collected(4, &[1, 3]);
    ahead.sent(3, 0, 8);
    let said = look(&ahead);
    assert!(said.verdict.contains("rank 2 has sent no message with tag 7"), "{}", said.verdict);
    // Also if that rank is held up.
    ahead.receive(2, Peer::One(3), 9);
    let said = look(&ahead);
    assert!(!said.verdict.contains("with tag 8"), "{}", said.verdict);
    // All have sent it before: the last message of one has another tag.
    let mut other = collected(4, &[1, 2, 3]);
    other.sent(3, 0, 8);
    let said = look(&other);
    assert!(said.verdict.contains("rank 3 sent a message with tag 8 to rank 0"), "{}", said.verdict);
}

/// Four ranks in a ring wait for a message from the one before; `sent` is what each has sent to the next.
fn ring(sent: [u64; 4]) -> Verdict {
    let mut scene = Scene::of(4);
    for rank in 0..4_u32 {
        let (before, next) = ((rank + 3) % 4, (rank + 1) % 4);
        scene.receive(rank, Peer::One(before), 7);
        let messaging = scene.process(rank).messaging.get_or_insert_default();
        messaging.sent_to = vec![(WORLD, next, sent[rank as usize])];
        messaging.received_from = vec![(WORLD, before, sent[before as usize])];
    }
    look(&scene)
}

#[test]
fn the_rank_that_did_not_pass_on_what_it_received_is_named_in_a_ring() {
    // Rank 0 begins each round; rank 2 has not passed on the seventh message.
    let said = ring([7, 7, 6, 6]);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    let wanted = "rank 3 waits for a message from rank 2 with tag 7 on WORLD that was never sent: rank 2 has received 7 messages \
                  from rank 1, but sent 6 to rank 3";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["2"]);
    for even in [[6, 6, 6, 6], [7, 6, 5, 6], [8, 7, 8, 7], [7, 7, 5, 5]] {
        assert_eq!(ring(even).kind, Kind::DEADLOCK, "{even:?}");
    }
}

/// Rank 1 has sent rank 2 a message and waits for one; they have no other dealings, and all else is even.
fn strangers(neighbors: &[(ProcessIndex, &[ProcessIndex])]) -> Verdict {
    let mut scene = Scene::of(neighbors.len() as u32);
    for (rank, of) in neighbors {
        let messaging = scene.process(*rank).messaging.get_or_insert_default();
        messaging.sent_to = of.iter().map(|other| (WORLD, *other, 1)).collect();
        if *rank != 1 {
            scene.collective(*rank, "MPI_Allreduce", 1);
        }
    }
    scene.sent(1, 2, 7).receive(1, Peer::One(2), 7);
    look(&scene)
}

#[test]
fn of_two_ranks_only_one_of_which_takes_the_other_for_a_neighbor_either_may_be_wrong() {
    let culprits = |said: &Verdict| said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>();
    // A row and its ends: ranks 1 and 2 belong to different rows.
    let said =
        strangers(&[(0, &[1, 3]), (1, &[0, 2, 4]), (2, &[3, 5]), (3, &[0, 2]), (4, &[1, 5]), (5, &[2, 4])]);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    let wanted = "rank 1 has sent rank 2 a message, but rank 2 has neither received it nor sent rank 1 any";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(culprits(&said), ["1"], "all others have two neighbors");
    // A ring of which rank 2 has left out a side.
    let said = strangers(&[(0, &[1, 3]), (1, &[0, 2]), (2, &[3]), (3, &[2, 0])]);
    assert_eq!(culprits(&said), ["2"], "{}", said.verdict);
    let said = strangers(&[(0, &[1, 3, 4]), (1, &[0, 2]), (2, &[3]), (3, &[2, 0]), (4, &[0, 3])]);
    assert_eq!(culprits(&said), ["1", "2"], "{}", said.verdict);
}

#[test]
fn a_rank_that_receives_from_all_senders_but_one_has_left_that_one_out() {
    // Rank 0 gathers a message of each other rank; the last one waits until its own is received.
    let gathered = |sent: u64, received: u64| {
        let mut scene = Scene::of(4);
        for rank in 0..4 {
            if rank < 3 {
                scene.collective(rank, "MPI_Barrier", 1);
            }
            has_sent(&mut scene, rank, 0, if rank == 3 { sent } else { u64::from(rank > 0) });
        }
        scene.process(0).messaging.get_or_insert_default().received_from =
            vec![(WORLD, 1, 1), (WORLD, 2, 1), (WORLD, 3, received)];
        scene.send(3, 0, 7);
        look(&scene)
    };
    let said = gathered(1, 0);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED, "{}", said.verdict);
    let wanted = "rank 0 has received 1 message from each of ranks [1-2], but no message from rank 3";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["0"]);
    let said = gathered(2, 1);
    assert_eq!(said.kind, Kind::DEADLOCK, "{}", said.verdict);
    assert!(said.verdict.contains("rank 3 has skipped it, or goes round once more"), "{}", said.verdict);
}

#[test]
fn a_rank_of_a_shift_that_sends_nothing_along_the_ring_is_named() {
    // Rank 0 takes rank 3 for its neighbor, which is the end of a row.
    let said = ring([1, 2, 3, 0]);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    assert!(said.verdict.contains("rank 3 has sent rank 0 no message"), "{}", said.verdict);
    assert_eq!(said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["3", "0"]);
    assert_eq!(ring([1, 2, 2, 0]).kind, Kind::DEADLOCK);
}
