//! Verdicts on small jobs, and checks that exactly the processes that can never be released are found.

mod applications;
mod between;
mod by_force;
mod elsewhere;
mod ended;
mod fewer;
mod left_out;
mod messages;
mod mismatches;
mod odd;
mod polling;
mod rounds;
mod several;
mod sides;
mod taken;
mod unnamed;

use super::scene::{Scene, WORLD, receive};
use super::snapshot::{Condition, Match, Need, Peer, Signature, Wait};
use super::{Kind, Verdict, collectives::numbered, verdict};

fn look(scene: &Scene) -> Verdict {
    verdict(&scene.0, &scene.0, 1.0)
}

/// The ranks of each culprit.
fn blamed(said: &Verdict) -> Vec<String> {
    said.culprits.iter().map(|one| one.ranks.to_string()).collect()
}

#[test]
fn a_ring_of_receives_is_a_deadlock_and_is_named() {
    let mut scene = Scene::of(4);
    scene.receive(0, Peer::One(3), 7).receive(3, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    scene.receive(2, Peer::One(0), 7);
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::DEADLOCK, true));
    assert!(said.verdict.starts_with("deadlock: 0 -> 3 -> 1 -> 0"), "{}", said.verdict);
    assert_eq!(said.cycle, ["0", "3", "1"]);
    assert_eq!(said.stuck.to_string(), "[0-3]");
}

#[test]
fn the_shorter_of_two_rings_is_named_and_the_advice_fits_its_links() {
    let mut scene = Scene::of(4);
    scene.collective(0, "MPI_Barrier", 1).collective(1, "MPI_Barrier", 1);
    scene.receive(2, Peer::One(3), 129).send(3, 0, 128);
    let said = look(&scene);
    assert_eq!(
        said.cycle,
        ["0", "3"],
        "not through rank 2, which the barrier waits for too: {}",
        said.verdict
    );
    assert!(said.next.contains("before the collective"), "{}", said.next);
    let advice = |make: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::of(2);
        make(&mut scene);
        look(&scene).next
    };
    let receives =
        advice(&|scene| drop(scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7).0.clone()));
    assert!(receives.contains("send before it receives"), "{receives}");
    let sends = advice(&|scene| drop(scene.send(0, 1, 7).send(1, 0, 8).0.clone()));
    assert!(sends.contains("receive before it sends"), "{sends}");
    let itself = advice(&|scene| drop(scene.receive(1, Peer::One(1), 7).0.clone()));
    assert!(itself.contains("itself"), "{itself}");
}

#[test]
fn a_ring_stays_a_deadlock_if_no_single_message_is_at_fault_or_would_release_it() {
    // Each has sent to the right, and then waits for a message from the right.
    let mut scene = Scene::of(3);
    for rank in 0..3 {
        scene.sent(rank, (rank + 1) % 3, 7).receive(rank, Peer::One((rank + 1) % 3), 7);
    }
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    // The misdirected message would help only one of two rings.
    let mut scene = Scene::of(5);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7).receive(2, Peer::One(3), 8);
    scene.receive(3, Peer::One(2), 8).sent(0, 4, 7).receive(4, Peer::One(3), 9);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_ring_of_collectives_on_several_communicators_lists_who_is_in_which() {
    let mut scene = Scene::of(2);
    scene.0.communicators.push(super::Communicator {
        name: "\"other\"".into(),
        identity: 2,
        members: [0, 1].into(),
        split: None,
    });
    scene.collective(0, "MPI_Barrier", 1).collective(1, "MPI_Allreduce", 1);
    scene.process(1).entered = vec![(WORLD, 0), (1, 1)];
    if let Some(Wait::All(needs)) = scene.process(1).threads[0].call.as_mut().map(|call| &mut call.wait)
        && let [Need::Collective(collective)] = needs.as_mut_slice()
    {
        collective.comm = 1;
    }
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK);
    let expected = "deadlock: 0 -> 1 -> 0 (2 ranks wait for each other): crossed collectives: rank 0 is in MPI_Barrier at \
                    mpi_barrier.c:1 (collective 1 on WORLD), rank 1 is in MPI_Allreduce at mpi_allreduce.c:1 (collective 1 on \
                    \"other\"); each is in one that the other has not entered";
    assert_eq!(said.verdict, expected);
}

#[test]
fn two_synchronous_sends_to_each_other_are_a_deadlock_and_a_posted_receive_ends_it() {
    let mut scene = Scene::of(2);
    scene.send(0, 1, 1).send(1, 0, 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    scene.process(1).posted.push(receive(Peer::One(0), 1));
    assert_ne!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_member_that_finalizes_never_enters_the_barrier() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1).finalize(1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_NOT_ENTERED);
    assert!(said.verdict.starts_with("rank 1 never entered MPI_Barrier"), "{}", said.verdict);
}

#[test]
fn a_rank_that_computes_while_others_wait_is_slow_and_not_hung() {
    let mut scene = Scene::of(4);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Allreduce", 3);
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.contains("ranks [0-1,3] wait for rank 2: computing"), "{}", said.verdict);
}

#[test]
fn a_wildcard_receive_is_stuck_only_if_no_possible_sender_is_left() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::Any, 1).receive(1, Peer::Any, 1);
    assert!(!look(&scene).problem);
    scene.receive(2, Peer::Any, 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK);
    assert!(said.verdict.contains("no rank is left that could release them"), "{}", said.verdict);
    scene.0.processes[2].condition = Condition::Unseen("no layer".into());
    let said = look(&scene);
    assert!(!said.problem && said.not_seen == ["rank 2: no layer"], "{said:?}");
}

#[test]
fn lost_records_are_reported_and_never_prove_anything() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    assert!(look(&scene).problem);
    scene.process(1).lost = true;
    let said = look(&scene);
    assert!(!said.problem);
    assert_eq!(
        said.not_seen,
        [
            "messages of rank 1: some of their records were overwritten, or the library did not say which were received"
        ]
    );
}

#[test]
fn dropped_records_are_reported_with_their_kind_and_the_reason() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    let losses = std::collections::BTreeMap::from([("requests".to_owned(), 3)]);
    scene.0.losses = crate::jobs::losses::joined([((0, Some(1)), &losses)]);
    let said = look(&scene);
    let [line] = said.not_seen.as_slice() else { panic!("{said:?}") };
    assert!(line.starts_with("lost on rank 1: 3 requests: the image could not grow"), "{line}");
}

#[test]
fn a_rank_that_completes_calls_between_snapshots_is_not_stuck() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    let mut later = scene.clone();
    later.process(0).threads[0].steps += 1;
    assert!(!verdict(&scene.0, &later.0, 1.0).problem);
}

#[test]
fn a_ring_of_messages_is_a_deadlock_even_with_other_messages_in_flight() {
    let mut scene = Scene::of(3);
    for rank in 0..3 {
        scene.sent(rank, (rank + 1) % 3, 0).receive(rank, Peer::One((rank + 1) % 3), 0);
    }
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_fence_waits_for_a_computing_rank_and_is_a_problem_if_nobody_can_enter_it() {
    let mut scene = Scene::of(2);
    let fence = || Need::Outside { what: "one-sided synchronization on \"halo\"".into(), kind: Kind::RMA };
    scene.call(0, "MPI_Win_fence", Wait::All(vec![fence()]));
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.contains("\"halo\"; rank 1: computing"), "{}", said.verdict);
    scene.call(1, "MPI_Win_lock", Wait::All(vec![fence()]));
    assert_eq!(look(&scene).kind, Kind::RMA);
    // Just begun, on a busy machine.
    for rank in 0..2 {
        scene.process(rank).threads[0].call.as_mut().unwrap().age_s = Some(0.21);
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert_eq!(said.next, "look again: it has waited for only 210 ms");
}

#[test]
fn a_stencil_of_many_ranks_is_few_lines_of_evidence() {
    let mut scene = Scene::of(1000);
    for rank in 0..1000 {
        scene.receive(rank, Peer::One((rank + 1) % 1000), 0);
    }
    let said = look(&scene);
    assert_eq!(said.evidence.len(), 1);
    assert!(said.evidence[0].what.contains("messages of other ranks"), "{}", said.evidence[0].what);
}

#[test]
fn each_message_in_flight_matches_one_receive() {
    let mut scene = Scene::of(2);
    let two = vec![Need::Message(receive(Peer::One(0), 1)), Need::Message(receive(Peer::One(0), 1))];
    scene.process(1).posted = vec![receive(Peer::One(0), 1), receive(Peer::One(0), 1)];
    scene.call(1, "MPI_Waitall", Wait::All(two)).sent(0, 1, 1).collective(0, "MPI_Barrier", 1);
    assert!(look(&scene).problem, "one message is not enough for two receives");
    scene.sent(0, 1, 1);
    assert!(!look(&scene).problem);
}

#[test]
fn a_message_matches_the_first_posted_receive_even_if_nothing_waits_for_it() {
    let mut scene = Scene::of(2);
    let posted =
        |order, place: &str| super::Receive { order, place: Some(place.into()), ..receive(Peer::One(0), 1) };
    scene.process(1).posted = vec![posted(1, "a.c:1"), posted(2, "a.c:2")];
    scene.call(1, "MPI_Wait", Wait::All(vec![Need::Message(posted(2, "a.c:2"))]));
    scene.sent(0, 1, 1).collective(0, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted = "the message that it sent went to an earlier receive, at a.c:1, which nothing waits for";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    scene.sent(0, 1, 1);
    assert!(!look(&scene).problem);
}

#[test]
fn waiting_for_some_of_one_request_means_waiting_for_it() {
    let mut scene = Scene::of(2);
    scene.call(1, "MPI_Waitsome", Wait::Any(vec![Need::Message(receive(Peer::One(0), 1))]));
    scene.collective(0, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!((said.kind, said.culprits[0].ranks.to_string()), (Kind::MESSAGE_NEVER_SENT, "0".to_owned()));
}

#[test]
fn a_rank_that_only_polls_still_polls_when_seen_computing_for_a_moment() {
    let mut first = Scene::of(2);
    first.receive(0, Peer::One(1), 3).collective(1, "MPI_Barrier", 1);
    let thread = |scene: &mut Scene, polls| {
        let thread = &mut scene.process(0).threads[0];
        thread.polls = polls;
        if let Some(call) = thread.call.as_mut() {
            (call.polling, call.age_s) = (true, Some(60.0));
        }
    };
    thread(&mut first, 100);
    let mut second = Scene(first.0.clone());
    second.process(0).threads[0].call = None;
    thread(&mut second, 200);
    assert_eq!(verdict(&first.0, &second.0, 1.0).kind, Kind::POLLING);
    second.process(0).threads[0].steps += 1;
    assert_eq!(verdict(&first.0, &second.0, 1.0).kind, Kind::SLOW, "it did something else");
}

#[test]
fn a_rank_whose_message_has_arrived_is_not_blamed_for_a_wait_for_several() {
    let mut scene = Scene::of(3);
    let receives = [receive(Peer::One(0), 1), receive(Peer::One(2), 2)];
    scene.process(1).posted = receives.to_vec();
    scene.call(1, "MPI_Waitall", Wait::All(receives.map(Need::Message).to_vec())).sent(0, 1, 1);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1);
    super::join::settled::set_apart(&mut scene.0);
    let said = look(&scene);
    assert_eq!(
        (said.kind, said.cycle.as_slice()),
        (Kind::DEADLOCK, ["1", "2"].map(str::to_owned).as_slice())
    );
    let waits =
        said.evidence.iter().find(|line| line.what.contains("Waitall")).map(|line| line.what.as_str());
    assert_eq!(
        waits.map(|what| (what.contains("rank 2 with tag 2"), what.contains("more"))),
        Some((true, false))
    );
}

#[test]
fn a_wildcard_receive_takes_the_matching_message_and_leaves_the_other() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 41).sent(0, 1, 42);
    let any = Match { from: Peer::Any, comm: WORLD, tag: Some(42), partitioned: false };
    let pairs = super::messages::Pairs::of(&scene.0);
    assert_eq!(pairs.left(1).len(), 2);
    let posted = super::Receive { matches: any, ..receive(Peer::Any, 42) };
    scene.process(1).posted = vec![posted.clone()];
    let mut pairs = super::messages::Pairs::of(&scene.0);
    assert_eq!(pairs.left(1).iter().map(|(_, m)| m.tag).collect::<Vec<_>>(), [41]);
    assert!(pairs.finds(1, &posted) && !pairs.finds(1, &posted));
}

#[test]
fn thousands_of_ranks_are_handled_quickly() {
    let size = 30_000;
    let mut behind = Scene::of(size);
    for rank in 1..size {
        behind.collective(rank, "MPI_Allreduce", 9);
    }
    assert_eq!(look(&behind).kind, Kind::SLOW);
    let mut ring = Scene::of(size);
    for rank in 0..size {
        ring.receive(rank, Peer::One((rank + 1) % size), 0);
    }
    assert_eq!(look(&ring).cycle.len(), size as usize);
    let mut halves = Scene::of(size);
    for rank in 0..size / 2 {
        halves.collective(rank, "MPI_Barrier", 9);
    }
    for rank in size / 2..size {
        halves.receive(rank, Peer::One(rank - size / 2), 0);
    }
    assert_eq!(look(&halves).kind, Kind::DEADLOCK);
}

/// A call that waits for one of these processes, or for all of them.
fn action(scene: &mut Scene, rank: u32, by: &[u32], every: bool) {
    let party = scene.0.parties.len() as u32;
    scene.0.parties.push(by.into());
    let need = Need::Action { by: party, every, what: "act".into(), kind: Kind::RMA };
    scene.call(rank, "MPI_Win_wait", Wait::All(vec![need]));
}

#[test]
fn any_of_the_ranks_that_may_act_suffices_and_all_that_must_act_are_needed() {
    let mut scene = Scene::of(3);
    action(&mut scene, 0, &[1, 2], false);
    scene.receive(1, Peer::One(0), 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW, "rank 2 computes: {}", said.verdict);
    assert_eq!(said.stuck.to_string(), "");
    scene.receive(2, Peer::One(0), 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.stuck.to_string().as_str()), (Kind::RMA, "[0-2]"));
    assert!(said.verdict.contains("one of ranks [1-2] to act; rank 1 is in MPI_Recv"), "{}", said.verdict);

    let mut scene = Scene::of(3);
    action(&mut scene, 0, &[1, 2], true);
    scene.receive(1, Peer::One(0), 1);
    assert_eq!(look(&scene).stuck.to_string(), "[0-1]", "rank 1 must act too, and waits");
}

#[test]
fn ranks_in_mpi_init_wait_for_one_that_has_not_called_it_and_forever_if_it_has_ended() {
    let mut scene = Scene::of(3);
    for rank in [0, 2] {
        action(&mut scene, rank, &[1], true);
        scene.process(rank).condition = Condition::Starting;
    }
    scene.process(1).condition = Condition::Starting;
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW);
    assert!(
        said.verdict.starts_with("ranks [0,2] wait for rank 1: has not called MPI_Init yet"),
        "{}",
        said.verdict
    );
    scene.process(1).condition = Condition::Ended("killed by SIGKILL".into());
    assert_eq!(look(&scene).kind, Kind::RANK_GONE);
}

#[test]
fn a_process_without_a_rank_is_not_given_a_number() {
    let mut scene = Scene::of(3);
    action(&mut scene, 0, &[1, 2], true);
    for rank in 0..3 {
        scene.process(rank).condition = Condition::Starting;
    }
    scene.process(2).rank = u32::MAX;
    let said = look(&scene);
    assert!(
        said.verdict.starts_with("rank 0 waits for rank 1: has not called MPI_Init yet"),
        "{}",
        said.verdict
    );
    assert!(
        said.evidence.iter().all(|row| row.ranks.to_string() != u32::MAX.to_string()),
        "{:?}",
        said.evidence
    );
}

#[test]
fn all_disjoint_rings_are_named() {
    let mut scene = Scene::of(5);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    scene.receive(2, Peer::One(3), 1).receive(3, Peer::One(2), 1).receive(4, Peer::One(0), 1);
    let said = look(&scene);
    assert!(
        said.verdict.contains("0 -> 1 -> 0 (2 ranks wait for each other), and 2 -> 3 -> 2 ("),
        "{}",
        said.verdict
    );
    assert_eq!((said.cycle.len(), said.culprits.len()), (2, 4));
}

#[test]
fn ranks_that_stand_still_for_an_unknown_reason_are_not_called_running() {
    let mut scene = Scene::of(2);
    for rank in 0..2 {
        scene.call(rank, "MPI_Comm_spawn", Wait::Nothing);
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.starts_with("ranks [0-1] completed no MPI call in 1.00 s"), "{}", said.verdict);
}

#[test]
fn ranks_that_do_not_receive_what_has_been_sent_are_told_from_those_that_wait_for_something_unknown() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 7).receive(0, Peer::One(1), 7).sent(1, 0, 7).receive(1, Peer::One(0), 7);
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false), "{}", said.verdict);
    let wanted = "ranks [0-1] completed no MPI call in 1.00 s, and what rank 0 waits for has been sent, but the rank has not \
                  received it; rank 0 is in MPI_Recv";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
}

#[test]
fn a_job_that_completed_no_call_is_not_said_to_have_completed_some() {
    assert_eq!(look(&Scene::of(2)).verdict, "running: ranks [0-1] completed no MPI call in 1.00 s");
}

#[test]
fn a_rank_stopped_in_a_call_is_blamed_whatever_the_call_waits_for() {
    let stop = |scene: &mut Scene| scene.process(1).threads[0].idle.doing = "stopped by a signal".into();
    let file = Need::Outside { kind: Kind::FILE, what: "a file operation to end".into() };
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Barrier", 3).call(1, "MPI_File_set_view", Wait::All(vec![file]));
    stop(&mut scene);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::RANK_STOPPED, "{said:?}");
    assert!(
        said.verdict.starts_with("rank 0 waits for rank 1: stopped by a signal in MPI_File_set_view"),
        "{said:?}"
    );
    // All have entered: no rank waits for the stopped one as far as is known.
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Barrier", 3).collective(1, "MPI_Barrier", 3);
    stop(&mut scene);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::RANK_STOPPED, "{said:?}");
    assert!(said.verdict.starts_with("rank 1: stopped by a signal in MPI_Barrier"), "{said:?}");
}
