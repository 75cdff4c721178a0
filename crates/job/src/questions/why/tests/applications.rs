//! What programs do that go round many times before the mistake: other phases, overwritten records, loops that poll
//! for several things.

use super::{blamed, look};
use crate::questions::why::scene::{Scene, WORLD, message, receive};
use crate::questions::why::snapshot::{
    Collective, Communicator, Need, Peer, ProcessIndex, Signature, Split, Wait,
};
use crate::questions::why::{Kind, Verdict};

fn since(scene: &mut Scene, rank: ProcessIndex, age_s: f64, polling: bool) {
    let call = scene.process(rank).threads[0].call.as_mut().expect("it is in a call");
    (call.age_s, call.polling) = (Some(age_s), polling);
}

/// Rank 0 has sent to rank 1, which has received one of two messages and probes for another tag; both poll in turn.
fn two_tags(age_s: f64) -> Scene {
    let mut scene = Scene::of(2);
    let any = || Need::Message(receive(Peer::Any, 1));
    scene.sent(0, 1, 2);
    scene.call(
        0,
        "MPI_Testall",
        Wait::Any(vec![Need::Receiver(message(1, 1)), Need::Receiver(message(1, 2)), any()]),
    );
    scene.call(1, "MPI_Iprobe", Wait::Any(vec![any(), Need::Message(receive(Peer::Any, 1))]));
    for rank in 0..2 {
        since(&mut scene, rank, age_s, true);
    }
    scene
}

#[test]
fn a_loop_that_polls_for_several_things_does_not_wait_for_a_message_that_was_received() {
    let said = look(&two_tags(6.0));
    assert_eq!((said.kind, said.stuck.to_string().as_str()), (Kind::POLLING, "[0-1]"), "{}", said.verdict);
    assert!(
        said.verdict
            .contains("rank 0 sent a message with tag 2 to rank 1 on WORLD (8 bytes) and waits until it is"),
        "{}",
        said.verdict
    );
    assert_eq!(blamed(&said), ["0", "1"]);
    assert_eq!(look(&two_tags(1.0)).kind, Kind::SLOW);
    // A receiver that can act may yet take the rest of a message that has a receive.
    let mut acts = two_tags(6.0);
    acts.process(1).threads[0].call = None;
    assert_eq!(look(&acts).kind, Kind::SLOW);
}

/// Rank 0 waits for a message with tag 1 from any rank, and these have sent it one with tag 2; all wait for it.
fn next_phase(senders: &[ProcessIndex]) -> Verdict {
    let mut scene = Scene::of(5);
    scene.receive(0, Peer::Any, 1);
    for rank in 1..5 {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    for sender in senders {
        scene.sent(*sender, 0, 2);
    }
    look(&scene)
}

#[test]
fn what_several_ranks_have_sent_is_no_mistake_of_one_of_them() {
    let said = next_phase(&[1, 2, 4]);
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["3".to_owned()]));
    assert!(
        said.verdict.contains("ranks [1-2,4] each sent a message with tag 2 to rank 0"),
        "{}",
        said.verdict
    );
    assert!(said.verdict.contains("; rank 3 did not, and is in MPI_Barrier"), "{}", said.verdict);
    let said = next_phase(&[1, 2, 3, 4]);
    assert_eq!(blamed(&said)[0], "0", "{}", said.verdict);
    assert!(!said.verdict.contains("did not"), "{}", said.verdict);
    assert_eq!(blamed(&next_phase(&[2])), ["2", "0"], "a single one may be it");
}

/// Rank 1 has sent messages whose records were overwritten, and is in `MPI_Finalize`; rank 0 waits for one.
fn overwritten(age_s: f64) -> Verdict {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 7).finalize(1);
    scene.process(1).lost = true;
    for rank in 0..2 {
        since(&mut scene, rank, age_s, false);
    }
    look(&scene)
}

#[test]
fn a_message_whose_record_was_overwritten_has_arrived_if_nothing_has_moved_for_long() {
    let said = overwritten(11.0);
    assert_eq!(
        (said.kind, blamed(&said), said.certain),
        (Kind::MESSAGE_NEVER_SENT, vec!["1".to_owned()], false)
    );
    assert!(said.verdict.contains("nothing has moved for 11.0 s"), "{}", said.verdict);
    assert_eq!(overwritten(9.0).kind, Kind::SLOW, "it may be on its way");
}

#[test]
fn a_message_that_is_awaited_explains_more_than_one_that_may_have_been_copied() {
    let mut scene = Scene::of(3);
    for (rank, to, from) in [(0, 1, 2), (2, 0, 1)] {
        let needs = vec![Need::Receiver(message(to, 3)), Need::Message(receive(Peer::One(from), 3))];
        scene.sent(rank, to, 3).call(rank, "MPI_Sendrecv", Wait::All(needs));
    }
    scene.finalize(1);
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::MESSAGE_NEVER_SENT, vec!["1".to_owned()]));
    assert!(said.verdict.starts_with("rank 2 waits for a message from rank 1"), "{}", said.verdict);
}

#[test]
fn what_a_rank_must_do_itself_explains_more_than_what_others_wait_for() {
    let mut scene = Scene::of(2);
    for (rank, by) in [(0, 1), (1, 1)] {
        scene.0.parties.push(vec![by].into());
        let what = "mark a partition ready".into();
        let need = Need::Action { by: rank, every: false, what, kind: Kind::PARTITION_NOT_READY };
        scene.call(rank, "MPI_Wait", Wait::All(vec![need]));
    }
    let said = look(&scene);
    assert_eq!(blamed(&said), ["1"]);
    assert!(
        said.verdict.starts_with("rank 1 waits for itself to mark a partition ready"),
        "{}",
        said.verdict
    );
}

#[test]
fn ranks_that_wait_for_each_other_to_act_may_both_be_wrong() {
    let mut scene = Scene::of(2);
    for rank in 0..2 {
        scene.0.parties.push(vec![1 - rank].into());
        let need = Need::Action { by: rank, every: false, what: "call it".into(), kind: Kind::NO_PARTNER };
        scene.call(rank, "MPI_Intercomm_create", Wait::All(vec![need]));
    }
    let said = look(&scene);
    assert_eq!(blamed(&said), ["1", "0"]);
    assert!(said.verdict.contains("; rank 1 is in MPI_Intercomm_create"), "{}", said.verdict);
}

/// Rows and columns of a square: ranks 0 and 3 have entered their columns first, after `before` collectives of each.
fn crossed(before: u64) -> Verdict {
    let mut scene = Scene::of(4);
    for (of, members) in [(1u32, [0, 1]), (2, [2, 3]), (3, [0, 2]), (4, [1, 3])] {
        let color = i64::from(of % 2 == 0);
        let place = Some(if of < 3 { "rows.c:1" } else { "columns.c:1" }.into());
        let split = Some(Split { of: WORLD, color, place });
        let name = format!("part {of}").as_str().into();
        let members = members.to_vec().into();
        scene.0.communicators.push(Communicator { name, identity: 10 + u64::from(of), members, split });
    }
    for (rank, inside, other) in [(0, 3, 1), (1, 1, 4), (2, 2, 3), (3, 4, 2)] {
        let signature = Signature { function: "MPI_Allreduce".into(), ..Signature::default() };
        let collective = Collective {
            comm: inside,
            number: before + 1,
            signature,
            totals: None,
            elements: None,
            data: None,
            place: Some("sum.c:1".into()),
        };
        let need = Need::Collective(Box::new(collective.clone()));
        scene.call(rank, "MPI_Allreduce", Wait::All(vec![need]));
        let mut entered = vec![(WORLD, 2), (inside, before + 1), (other, before)];
        entered.sort_unstable();
        scene.process(rank).entered = entered;
        scene.process(rank).collectives.push(collective);
    }
    look(&scene)
}

#[test]
fn crossed_collectives_of_rows_and_columns_are_no_wrong_groups() {
    for before in [0, 60] {
        let said = crossed(before);
        assert_eq!(said.kind, Kind::DEADLOCK, "{}", said.verdict);
        assert_eq!(said.cycle, ["0", "2", "3", "1"]);
    }
}
