//! Verdicts where no process can be named with certainty, or where what is waited for was there in another
//! form.

use super::look;
use crate::questions::why::Kind;
use crate::questions::why::scene::{Scene, WORLD, message, receive};
use crate::questions::why::snapshot::{Failed, Idle, Match, Outcome, Peer, Receive, Thread};
use crate::questions::why::{Need, Wait};

#[test]
fn a_short_ring_lists_what_each_member_waits_for() {
    let mut scene = Scene::of(3);
    scene.receive(1, Peer::One(2), 7);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!(
        said.verdict,
        "deadlock: 1 -> 2 -> 1 (2 ranks wait for each other): rank 1 is in MPI_Recv at mpi_recv.c:1, waiting for a message from rank 2 \
         with tag 7 on WORLD; rank 2 is in MPI_Barrier at mpi_barrier.c:1 (collective 1 on WORLD), which rank 1 has not entered"
    );
}

#[test]
fn a_message_taken_by_a_probe_matches_no_other_receive() {
    let mut scene = Scene::of(2);
    scene.send(1, 0, 3).receive(0, Peer::One(1), 3);
    let place = Some("probe.c:4".into());
    scene.process(0).posted.insert(0, Receive { matched: true, place, ..receive(Peer::One(1), 3) });
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED);
    assert!(said.verdict.contains("was taken by MPI_Mprobe at probe.c:4"), "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "0");
}

#[test]
fn a_message_held_by_a_probe_while_its_sender_waits_is_never_received() {
    let mut scene = Scene::of(3);
    scene.send(1, 0, 3).collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    let place = Some("probe.c:4".into());
    scene.process(0).posted.push(Receive { matched: true, place, ..receive(Peer::One(1), 3) });
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED);
    let wanted = "rank 0 took it with MPI_Mprobe at probe.c:4, did not receive it with MPI_Mrecv, and is in MPI_Barrier";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "0");
    // What it waits for may be the one after it.
    scene.sent(1, 0, 3);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_message_from_any_rank_was_never_sent_if_all_others_are_in_finalize() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::Any, 3).finalize(1).collective(2, "MPI_Barrier", 1);
    assert_eq!(look(&scene).kind, Kind::COLLECTIVE_NOT_ENTERED);
    scene.finalize(2);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted = "rank 0 waits for a message from any rank with tag 3 on WORLD that was never sent, and no rank is left \
                  that could send it: ranks [1-2]: in MPI_Finalize";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    assert_eq!(said.culprits.len(), 2);
}

#[test]
fn a_call_that_failed_before_its_rank_got_stuck_is_part_of_the_evidence() {
    let mut scene = Scene::of(3);
    let failed = |place: &str| Failed {
        function: "MPI_Bsend".into(),
        place: Some(place.into()),
        error: "MPI_ERR_BUFFER".into(),
        outcome: Outcome::WentOn,
    };
    scene.process(0).failed.push(failed("a.c:7"));
    scene.process(2).failed.push(failed("b.c:8"));
    let failures = |scene: &Scene| -> Vec<String> {
        let lines = look(scene).evidence.into_iter().filter(|line| line.what.contains("returned"));
        lines.map(|line| format!("{}: {}", line.ranks, line.what)).collect()
    };
    assert!(failures(&scene).is_empty(), "nobody is stuck");
    scene.receive(1, Peer::One(0), 7).collective(0, "MPI_Barrier", 1);
    assert_eq!(
        failures(&scene),
        ["0: MPI_Bsend at a.c:7 returned MPI_ERR_BUFFER, and the program went on"],
        "rank 2 goes on"
    );
    let first =
        "first look at the error of MPI_Bsend at a.c:7 (MPI_ERR_BUFFER), after which the program went on; ";
    assert!(look(&scene).next.starts_with(first), "{}", look(&scene).next);
    scene.process(0).failed[0].error = "MPI_ERR_NO_SUCH_FILE".into();
    assert!(!look(&scene).next.contains("first look"), "it may have tried whether there is one");
    scene.process(0).failed[0].error = "MPI_ERR_BUFFER".into();
    scene.process(0).failed[0].outcome = Outcome::Raised;
    let said = look(&scene);
    let wanted = "MPI_Bsend at a.c:7 failed with MPI_ERR_BUFFER, and did not return";
    assert!(said.evidence.iter().any(|line| line.what == wanted), "{:#?}", said.evidence);
}

#[test]
fn two_threads_in_collectives_of_one_communicator_are_part_of_the_evidence_even_if_the_job_is_only_slow() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    let before = look(&scene);
    scene.process(0).failed.push(Failed {
        function: "MPI_Barrier".into(),
        place: Some("a.c:7".into()),
        error: "".into(),
        outcome: Outcome::AtOnce("two at once".into()),
    });
    let said = look(&scene);
    assert_eq!((said.kind, &said.verdict), (Kind::SLOW, &before.verdict));
    assert!(said.next.contains("take turns") && said.next != before.next, "{}", said.next);
    assert!(
        said.evidence.iter().any(|line| line.what == "two at once" && !line.stuck),
        "{:#?}",
        said.evidence
    );
}

#[test]
fn a_message_taken_by_another_receive_is_not_called_never_sent() {
    let mut scene = Scene::of(3);
    scene.sent(2, 0, 4).collective(1, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    scene.receive(0, Peer::One(1), 4);
    assert!(look(&scene).verdict.contains("was never sent; rank 2 sent"), "{}", look(&scene).verdict);
    let got = Receive { got: Some("any.c:9".into()), ..receive(Peer::One(1), 4) };
    let call = scene.process(0).threads[0].call.as_mut().expect("it is in a call");
    call.wait = Wait::All(vec![Need::Message(got)]);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted = "rank 0 waits for a message from rank 1 with tag 4 on WORLD, having received one earlier at any.c:9; \
                  rank 2 sent";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    assert!(!said.verdict.contains("never sent"), "{}", said.verdict);
}

#[test]
fn a_thread_that_is_free_to_act_is_named_if_all_others_are_in_calls() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    let idle = Idle { doing: "sleeping".into(), at: Some("f at a.c:3".into()), ..Idle::default() };
    let thread = Thread { calls: 0, polls: 0, steps: 0, call: None, idle, ended: false };
    scene.process(1).threads.push(thread);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW);
    let wanted =
        "rank 0 waits for rank 1: sleeping in f at a.c:3, another thread is in MPI_Recv at mpi_recv.c:1";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
}

#[test]
fn a_rank_that_polls_for_another_tag_is_shown_what_was_sent_instead() {
    let mut scene = Scene::of(2);
    scene.sent(1, 0, 9).collective(1, "MPI_Barrier", 1).receive(0, Peer::One(1), 8);
    let call = scene.process(0).threads[0].call.as_mut().expect("it is in a call");
    (call.polling, call.age_s) = (true, Some(6.0));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::POLLING);
    assert!(said.verdict.contains("rank 1 sent a message with tag 9"), "{}", said.verdict);
    let culprits: Vec<String> = said.culprits.iter().map(|culprit| culprit.ranks.to_string()).collect();
    assert_eq!(culprits, ["1", "0"], "the sender first");
}

#[test]
fn a_rank_that_waits_for_a_polling_one_waits_for_that_ones_peer() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::One(1), 8).collective(2, "MPI_Barrier", 1);
    scene.process(0).threads[0].call.as_mut().expect("it is in a call").polling = true;
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW);
    assert!(said.verdict.starts_with("ranks [0,2] wait for rank 1: computing"), "{}", said.verdict);
}

#[test]
fn of_stuck_ranks_the_one_with_a_wildcard_is_named_and_the_others_are_described() {
    let mut scene = Scene::of(3);
    scene.receive(2, Peer::Any, 9).collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK);
    assert_eq!(said.culprits[0].ranks.to_string(), "2");
    assert!(said.verdict.contains("(rank 2: in MPI_Recv"), "{}", said.verdict);
    assert!(said.verdict.contains("; rank 0: in MPI_Barrier"), "{}", said.verdict);
    assert!(said.next.starts_with("a message is missing"), "{}", said.next);
}

#[test]
fn a_receive_from_the_wrong_rank_blames_the_receiver_and_not_the_rank_it_names() {
    let mut scene = Scene::of(4);
    scene.sent(1, 2, 0).receive(2, Peer::One(3), 0);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Barrier", 1);
    }
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let culprits: Vec<String> = said.culprits.iter().map(|culprit| culprit.ranks.to_string()).collect();
    assert_eq!(culprits, ["2", "1"]);
}

#[test]
fn a_persistent_send_that_was_not_started_is_what_was_never_sent() {
    let mut scene = Scene::of(3);
    scene.receive(2, Peer::One(1), 3).collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    assert_eq!(
        look(&scene).kind,
        Kind::DEADLOCK,
        "without a request it may have been left out, or come later"
    );
    scene.process(1).not_started.get_or_insert_default().sends.push(message(2, 3));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    assert!(said.verdict.contains("rank 1 has not started its persistent send"), "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    // Each has a request that the other waits for: the order is wrong, and neither is more at fault.
    let mut both = Scene::of(2);
    for rank in 0..2 {
        both.receive(rank, Peer::One(1 - rank), 3);
        both.process(rank).not_started.get_or_insert_default().sends.push(message(1 - rank, 3));
    }
    let said = look(&both);
    assert_eq!(said.kind, Kind::DEADLOCK);
    assert!(
        said.verdict.ends_with("; ranks [0-1] have not started their persistent sends"),
        "{}",
        said.verdict
    );
    assert!(said.next.starts_with("start these requests"), "{}", said.next);
}

#[test]
fn a_persistent_receive_that_was_not_started_is_what_never_receives() {
    let mut scene = Scene::of(3);
    scene.send(2, 1, 3).collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    let matches = Match { from: Peer::Any, comm: WORLD, tag: Some(3), partitioned: false };
    scene
        .process(1)
        .not_started
        .get_or_insert_default()
        .receives
        .push(Receive { matches, ..receive(Peer::One(2), 3) });
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED);
    assert!(said.verdict.contains("rank 1 has not started its persistent receive"), "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
}
