//! Several things are wrong at once, and several ranks do different things while others wait.

use super::*;

/// Ranks 0 and 1 wait for each other, where 1 has sent with another tag; 4 and 5 are in different collectives
/// on a communicator they share.
fn two_problems() -> Scene {
    let mut scene = Scene::of(6);
    scene.sent(1, 0, 41).receive(0, Peer::One(1), 42).receive(1, Peer::One(0), 42);
    scene.receive(2, Peer::One(3), 7).receive(3, Peer::One(2), 7);
    scene
}

#[test]
fn of_two_problems_each_has_its_own_sentence_and_ring() {
    let mut scene = two_problems();
    scene.collective(4, "MPI_Barrier", 1).collective(5, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.cycle.join(" ")), (Kind::MESSAGE_NEVER_SENT, "0 1".to_owned()));
    assert!(said.verdict.contains("tag 41"), "{}", said.verdict);
    let [also] = said.also.as_slice() else { panic!("{:?}", said.also) };
    assert_eq!((also.kind, also.cycle.join(" ")), (Kind::DEADLOCK, "2 3".to_owned()));
    assert!(also.verdict.starts_with("deadlock: 2 -> 3 -> 2"), "{}", also.verdict);
    assert_eq!(said.stuck.to_string(), "[0-5]");
}

#[test]
fn a_ring_next_to_a_mismatch_is_a_separate_problem_and_members_of_a_mismatch_are_stuck() {
    let mut scene = two_problems();
    scene.0.communicators.push(super::super::Communicator {
        name: "pair".into(),
        identity: 2,
        members: vec![4, 5].into(),
        split: None,
    });
    for (rank, function) in [(4, "MPI_Barrier"), (5, "MPI_Bcast")] {
        scene.collective(rank, function, 1);
        let process = scene.process(rank);
        process.entered = vec![(WORLD, 0), (1, 1)];
        let calls = process.threads.iter_mut().filter_map(|thread| thread.call.as_mut());
        for call in calls {
            let Wait::All(needs) = &mut call.wait else { continue };
            for need in needs {
                if let Need::Collective(collective) = need {
                    collective.comm = 1;
                }
            }
        }
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.stuck.to_string()), (Kind::COLLECTIVE_MISMATCH, "[0-5]".to_owned()));
    let kinds: Vec<Kind> = said.also.iter().map(|also| also.kind).collect();
    assert_eq!(kinds, [Kind::MESSAGE_NEVER_SENT, Kind::DEADLOCK], "{:?}", said.also);
}

#[test]
fn a_wait_for_a_problem_is_not_a_problem_of_its_own() {
    let mut scene = Scene::of(5);
    scene.process(4).condition = Condition::Ended("killed".into());
    // All lack the one that is gone; two of them lack each other too.
    scene.receive(0, Peer::One(4), 1).receive(1, Peer::One(0), 1);
    scene.collective(2, "MPI_Barrier", 1).collective(3, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.also.len()), (Kind::RANK_GONE, 0), "{:?}", said.also);
}

#[test]
fn ranks_that_do_different_things_are_each_described_with_stopped_ones_first() {
    let mut scene = Scene::of(5);
    scene.collective(0, "MPI_Barrier", 1);
    let mut does = |rank, doing: &str| {
        scene.process(rank).threads.iter_mut().for_each(|thread| thread.idle.doing = doing.into());
    };
    does(1, "sleeping in the system call clock_nanosleep");
    does(3, "stopped by a signal");
    let said = look(&scene);
    assert_eq!(said.kind, Kind::RANK_STOPPED, "{}", said.verdict);
    let words = "rank 0 waits for ranks [1-4] (rank 3: stopped by a signal after MPI_Barrier; \
                 ranks [2,4]: computing after MPI_Barrier; rank 1: sleeping in";
    assert!(said.verdict.starts_with(words), "{}", said.verdict);
    assert_eq!(said.culprits.first().map(|culprit| culprit.ranks.to_string()).as_deref(), Some("3"));
}

#[test]
fn ranks_that_ended_in_different_ways_are_described_separately() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Barrier", 1);
    scene.process(1).condition = Condition::Ended("killed".into());
    scene.process(2).condition = Condition::Ended("exit status 3".into());
    let said = look(&scene).verdict;
    let words =
        "rank 1: has ended: killed, after MPI_Barrier; rank 2: has ended: exit status 3, after MPI_Barrier";
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_thread_outside_mpi_next_to_a_waiting_one_gets_its_own_line() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    for rank in 0..2 {
        let mut other = Scene::of(1).process(0).threads.remove(0);
        other.idle.doing = crate::observation::AWAITS_THREAD.into();
        scene.process(rank).threads.push(other);
    }
    let said = look(&scene);
    assert!(said.next.contains("neither hold a lock"), "{}", said.next);
    let lines: Vec<String> = said.evidence.into_iter().map(|line| line.what).collect();
    let another = "another thread is waiting for another thread that is in MPI after MPI_Barrier";
    assert!(lines.iter().any(|line| line == another), "{lines:?}");
}

#[test]
fn a_lock_held_across_a_call_is_advised_against_even_in_one_rank() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    let mut other = Scene::of(1).process(0).threads.remove(0);
    other.idle.doing = crate::observation::AWAITS_LOCK.into();
    scene.process(0).threads.push(other);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK, "{}", said.verdict);
    assert!(said.next.contains("do not hold a lock across a call"), "{}", said.next);
}

#[test]
fn a_rank_in_a_call_next_to_a_sleeping_thread_is_not_running() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7);
    for rank in 0..2 {
        let mut other = Scene::of(1).process(0).threads.remove(0);
        other.idle.doing = "sleeping in the system call futex".into();
        scene.process(rank).threads.push(other);
    }
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW, "{}", said.verdict);
    assert!(said.verdict.contains("completed no MPI call"), "{}", said.verdict);
}

#[test]
fn a_request_that_only_the_waiting_thread_could_complete_is_a_problem() {
    let mut scene = Scene::of(2);
    scene.0.parties.push(vec![0].into());
    let what = "call MPI_Grequest_complete for the request that it made at a.c:1".into();
    let need = Need::Action { by: 0, every: false, what, kind: Kind::REQUEST_NOT_COMPLETED };
    scene.call(0, "MPI_Wait", Wait::All(vec![need])).collective(1, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::REQUEST_NOT_COMPLETED, "{}", said.verdict);
    assert!(
        said.verdict.starts_with("rank 0 waits for itself to call MPI_Grequest_complete"),
        "{}",
        said.verdict
    );
}

#[test]
fn unreceived_messages_of_stuck_ranks_are_shown_unless_the_verdict_mentions_them() {
    let mut scene = Scene::of(4);
    // The verdict is another tag from the awaited rank; messages from the others are evidence, with those
    // from one place combined.
    scene.sent(1, 0, 41).sent(2, 0, 5).sent(2, 0, 5).sent(3, 0, 5).receive(0, Peer::One(1), 42);
    (1..4).for_each(|rank| drop(scene.collective(rank, "MPI_Barrier", 1).0.clone()));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    let left: Vec<_> = said.evidence.iter().filter(|line| line.what.contains("not received")).collect();
    let [left] = left.as_slice() else { panic!("{left:?}") };
    assert_eq!(left.ranks.to_string(), "0");
    assert_eq!(left.what, "has not received 3 messages with tag 5 from ranks [2-3] on WORLD (8 bytes)");
}

#[test]
fn a_message_that_an_earlier_receive_of_any_tag_took_is_named() {
    let mut scene = Scene::of(2);
    scene.sent(1, 0, 41).receive(0, Peer::One(1), 42).collective(1, "MPI_Barrier", 1);
    let calls = scene.process(0).threads.iter_mut().filter_map(|thread| thread.call.as_mut());
    for call in calls {
        if let Wait::All(needs) = &mut call.wait
            && let Some(Need::Message(receive)) = needs.first_mut()
        {
            receive.got = Some("a.c:8".into());
        }
    }
    let said = look(&scene).verdict;
    assert!(said.contains("; one like it was received earlier, at a.c:8"), "{said}");
}

#[test]
fn a_rank_that_waits_for_a_spinning_one_is_not_running() {
    let mut scene = Scene::of(2);
    scene.receive(1, Peer::One(0), 7);
    // At this moment it waits for a party outside the job.
    let outside = Need::Outside { what: "one-sided synchronization".into(), kind: Kind::RMA };
    scene.call(0, "MPI_Win_flush", Wait::All(vec![outside]));
    let mut later = scene.clone();
    later.process(0).threads[0].steps += 10;
    let said = verdict(&scene.0, &later.0, 1.0);
    assert_eq!(said.kind, Kind::SLOW, "{}", said.verdict);
    let words = "rank 1 waits for rank 0: in MPI_Win_flush at mpi_win_flush.c:1, waiting for one-sided \
                 synchronization, and completed calls in the meantime";
    assert_eq!(said.verdict, words);
}

#[test]
fn ranks_that_make_many_calls_are_waited_for_whatever_they_are_in_at_the_moment() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Barrier", 1);
    let outside = Need::Outside { what: "one-sided synchronization".into(), kind: Kind::RMA };
    scene.call(2, "MPI_Win_flush", Wait::All(vec![outside]));
    let mut later = scene.clone();
    for rank in [1, 2] {
        let thread = &mut later.process(rank).threads[0];
        (thread.steps, thread.idle.after) = (5000, "MPI_Win_flush at mpi_win_flush.c:1".into());
    }
    let said = verdict(&scene.0, &later.0, 1.0);
    let words =
        "rank 0 waits for ranks [1-2]: making many MPI calls, such as MPI_Win_flush at mpi_win_flush.c:1";
    assert_eq!((said.kind, said.verdict.as_str()), (Kind::SLOW, words));
}

#[test]
fn only_missing_needs_of_a_call_are_counted() {
    let mut scene = Scene::of(2);
    let all = |scene: &mut Scene, missing: usize| {
        scene.collective(1, "MPI_Ibcast", 1).collective(0, "MPI_Ibcast", 1);
        let call = scene.process(0).threads[0].call.as_mut().unwrap();
        let messages = (0..missing).map(|_| Need::Message(receive(Peer::One(1), 7)));
        call.wait = Wait::All(call.wait.needs().iter().cloned().chain(messages).collect());
        call.function = "MPI_Waitall".into();
        look(scene).evidence.into_iter().find(|line| line.ranks.to_string() == "0").unwrap().what
    };
    let one = all(&mut scene, 1);
    assert!(one.ends_with("waiting for a message from rank 1 with tag 7 on WORLD"), "{one}");
    let two = all(&mut scene, 2);
    assert!(two.ends_with("on WORLD and 1 more"), "{two}");
}

#[test]
fn persistent_collectives_started_in_different_orders_are_crossed() {
    let mut scene = Scene::of(2);
    let made = |function: &str| Signature { function: function.into(), ..Signature::default() };
    let (reduce, bcast) = ("MPI_Allreduce_init", "MPI_Bcast_init");
    for (rank, reduces, bcasts) in [(0, 2, 1), (1, 1, 2)] {
        scene.left(rank, numbered(1, reduces), made(reduce)).left(rank, numbered(2, bcasts), made(bcast));
    }
    scene.collective(0, reduce, numbered(1, 2)).collective(1, bcast, numbered(2, 2));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK);
    assert!(
        said.verdict.contains("crossed collectives: rank 0 is in MPI_Allreduce_init"),
        "{}",
        said.verdict
    );
    assert!(said.next.contains("start persistent ones, in the same order"), "{}", said.next);
}
