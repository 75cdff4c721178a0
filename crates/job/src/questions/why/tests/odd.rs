//! The rank at fault among those that wait for each other, found by comparison with the others or with what it
//! did before.

use super::{blamed, look};
use crate::questions::why::Kind;
use crate::questions::why::scene::{Scene, WORLD, message, receive};
use crate::questions::why::snapshot::{
    CommIndex, MessageCalls, Messaging, Need, Peer, ProcessIndex, Signature, Wait,
};

fn messaging(scene: &mut Scene, rank: ProcessIndex) -> &mut Messaging {
    scene.process(rank).messaging.get_or_insert_default()
}

/// Each of `from` has sent `count` messages to a rank that has received them.
fn exchanged(scene: &mut Scene, from: &[ProcessIndex], to: ProcessIndex, count: u64) {
    for rank in from {
        messaging(scene, *rank).sent_to.push((WORLD, to, count));
        messaging(scene, to).received_from.push((WORLD, *rank, count));
        messaging(scene, to).tags.insert((WORLD, *rank, 7));
    }
}

#[test]
fn a_sender_that_waits_for_receipt_of_another_message_is_not_blamed_for_the_awaited_one() {
    let scene = || {
        let mut scene = Scene::of(2);
        scene.send(0, 1, 1).receive(1, Peer::One(0), 2);
        scene
    };
    let said = look(&scene());
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_RECEIVED, vec!["1".into(), "0".into()]));
    assert_eq!(
        said.verdict,
        "rank 0 sent a message with tag 1 to rank 1 on WORLD (8 bytes) that is never received, and goes on only when it \
         is; rank 1 waits for a message from rank 0 with tag 2 on WORLD instead, in MPI_Recv at mpi_recv.c:1"
    );
    assert_eq!(said.cycle, ["0", "1"]);
    // All earlier messages had the awaited tag, so the sender passed the wrong one.
    let mut usual = scene();
    messaging(&mut usual, 1).tags.insert((WORLD, 0, 2));
    let said = look(&usual);
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["0".into(), "1".into()]));
    messaging(&mut usual, 1).tags.insert((WORLD, 0, 1));
    assert_eq!(look(&usual).kind, Kind::MESSAGE_NEVER_RECEIVED, "both tags are in use");
    // Both exchange messages, neither with the awaited tag.
    let mut exchange = Scene::of(2);
    for rank in 0..2 {
        let needs =
            vec![Need::Message(receive(Peer::One(1 - rank), 4)), Need::Receiver(message(1 - rank, 3))];
        exchange.sent(rank, 1 - rank, 3).call(rank, "MPI_Sendrecv", Wait::All(needs));
    }
    assert_eq!(look(&exchange).kind, Kind::MESSAGE_NEVER_SENT);
    // The sender has gone on.
    let mut gone_on = Scene::of(2);
    gone_on.sent(0, 1, 1).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 2);
    assert_eq!(look(&gone_on).kind, Kind::MESSAGE_NEVER_SENT);
}

#[test]
fn a_receive_that_names_a_finished_rank_may_have_the_wrong_source() {
    let scene = || {
        let mut scene = Scene::of(3);
        scene.sent(1, 2, 7).finalize(0).finalize(1).receive(2, Peer::One(0), 7);
        for rank in 0..3 {
            messaging(&mut scene, rank);
        }
        messaging(&mut scene, 1).sent_to.push((WORLD, 2, 1));
        scene
    };
    let said = look(&scene());
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["2".into(), "0".into()]));
    assert!(
        said.verdict.contains("rank 0 has sent it none there, and is in MPI_Finalize"),
        "{}",
        said.verdict
    );
    assert!(
        said.verdict.ends_with(
            "rank 1 sent a message with tag 7 to rank 2 on WORLD (8 bytes), which nobody receives"
        )
    );
    // It has received from that rank before.
    let mut usual = scene();
    messaging(&mut usual, 2).received_from.push((WORLD, 1, 4));
    assert_eq!(blamed(&look(&usual)), ["2", "1"]);
    // It has received from the rank that it names.
    let mut named = scene();
    exchanged(&mut named, &[0], 2, 1);
    assert_eq!(blamed(&look(&named)), ["0"]);
    // Several others have sent theirs: it takes one of each in turn.
    let mut gather = Scene::of(4);
    gather.sent(1, 2, 7).sent(3, 2, 7).finalize(0).finalize(1).finalize(3).receive(2, Peer::One(0), 7);
    for rank in 0..4 {
        messaging(&mut gather, rank);
    }
    assert_eq!(blamed(&look(&gather)), ["0"]);
}

#[test]
fn a_rank_that_receives_more_than_all_have_sent_evenly_is_at_fault() {
    let scene = |least: u64| {
        let mut scene = Scene::of(4);
        scene.receive(0, Peer::One(3), 7);
        for rank in 1..4 {
            scene.collective(rank, "MPI_Barrier", 1);
        }
        exchanged(&mut scene, &[1, 2], 0, 3);
        exchanged(&mut scene, &[3], 0, least);
        scene
    };
    let said = look(&scene(3));
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["0".into()]), "{}", said.verdict);
    assert!(
        said.verdict
            .ends_with("; ranks [1-3] have each sent 3 messages to rank 0, which has received all of them"),
        "{}",
        said.verdict
    );
    assert_eq!(blamed(&look(&scene(2))), ["0", "3"]);
    // A message of another kind.
    let mut other_tag = scene(3);
    other_tag.process(0).posted.clear();
    other_tag.receive(0, Peer::One(3), 8);
    assert_eq!(blamed(&look(&other_tag)), ["0", "3"]);
    // The same for any rank, which leaves no ring.
    let mut any = scene(3);
    any.process(0).posted.clear();
    any.receive(0, Peer::Any, 7);
    let said = look(&any);
    assert!(said.verdict.contains("ranks [1-3] have each sent 3 messages to rank 0"), "{}", said.verdict);
    assert_eq!(blamed(&said), ["0"]);
    (1..4).for_each(|rank| _ = any.finalize(rank));
    let said = look(&any);
    assert_eq!(
        (said.kind, blamed(&said)),
        (Kind::MESSAGE_NEVER_SENT, ["0", "1", "2", "3"].map(String::from).into())
    );
}

#[test]
fn a_receive_from_any_rank_waits_for_the_only_other_member() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::Any, 7).collective(1, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.cycle.len()), (Kind::DEADLOCK, 2), "{}", said.verdict);
    assert_eq!(blamed(&said), ["0", "1"]);
    assert!(said.verdict.contains("rank 1 is in MPI_Barrier"), "{}", said.verdict);
}

#[test]
fn the_only_rank_that_has_left_the_line_of_all_others_is_at_fault() {
    const SUMS: CommIndex = 1;
    let scene = |left: u64| {
        let mut scene = Scene::of(3);
        let other = scene.0.communicators[0].clone();
        scene.0.communicators.push(other);
        for (rank, from) in [(0, 2), (1, 0)] {
            let mut one = receive(Peer::One(from), 7);
            one.matches.comm = SUMS;
            scene.call(rank, "MPI_Recv", Wait::All(vec![Need::Message(one)]));
        }
        scene.collective(2, "MPI_Gather", 1);
        let calls = MessageCalls {
            comm: SUMS,
            function: "MPI_Send".into(),
            place: "mpi_recv.c:1".into(),
            count: left,
            sends: true,
            receives: false,
        };
        messaging(&mut scene, 2).calls.extend((left > 0).then_some(calls));
        scene
    };
    let said = look(&scene(3));
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".into()]), "{}", said.verdict);
    assert!(
        said.verdict.ends_with("; ranks [0-1] are at mpi_recv.c:1, which rank 2 has left"),
        "{}",
        said.verdict
    );
    assert_eq!(blamed(&look(&scene(0))), ["0", "2"], "it may have another role");
}

#[test]
fn the_member_whose_usual_share_would_balance_a_scatter_is_at_fault() {
    let scene = |root: u64, third: u64| {
        let mut scene = Scene::of(4);
        for (rank, totals) in [(0, (root, 2)), (1, (0, 2)), (2, (0, 2)), (3, (0, third))] {
            let signature = Signature { function: "MPI_Scatterv".into(), ..Signature::default() };
            scene.left(rank, 1, signature).collective(rank, "MPI_Scatterv", 1);
            scene.process(rank).collectives[0].totals = Some(totals);
        }
        look(&scene)
    };
    let said = scene(8, 1);
    assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_MISMATCH, vec!["3".into()]), "{}", said.verdict);
    // Neither would be right with the share of the others.
    assert_eq!(blamed(&scene(9, 1)), ["0", "3"]);
}
