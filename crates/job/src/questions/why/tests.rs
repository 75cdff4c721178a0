//! What the verdict says about small jobs, and that it finds exactly the processes that nobody can release.

mod between;
mod left_out;
mod polling;
mod several;
mod sides;
mod taken;
mod unnamed;

use super::scene::{Scene, WORLD, message, receive};
use super::snapshot::{Condition, Match, Need, Peer, Process, Signature, Snapshot, Wait};
use super::{Kind, Verdict, blocked, collectives::numbered, verdict};

fn look(scene: &Scene) -> Verdict {
    verdict(&scene.0, &scene.0, 1.0)
}

#[test]
fn a_ring_of_receives_is_a_deadlock_and_its_ring_is_named() {
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
fn of_two_rings_through_the_same_ranks_the_shorter_is_named_and_the_advice_is_for_its_links() {
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
fn a_message_to_the_wrong_rank_inside_a_ring_is_the_reason_if_it_would_release_all_who_wait() {
    // Each sends to the next and receives from the one before, again and again; rank 1 sends to rank 3 instead of rank 2.
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
    // If it waits for that message to be received, it is no other thing.
    scene.process(1).sent.clear();
    scene.process(1).posted.clear();
    scene.send(1, 3, 7);
    assert_eq!(look(&scene).kind, Kind::MESSAGE_NEVER_SENT);
}

#[test]
fn what_was_sent_after_the_message_that_went_astray_is_not_taken_for_it() {
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
fn a_message_that_was_received_is_waited_for_no_more_by_the_one_who_sends() {
    // Both halves of MPI_Sendrecv: rank 0 has got its message to rank 1 received, and waits for one of rank 1.
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
fn a_ring_stays_one_if_no_message_is_more_at_fault_than_another_or_releases_all_of_it() {
    // Each has sent to the right, and then waits for the right.
    let mut scene = Scene::of(3);
    for rank in 0..3 {
        scene.sent(rank, (rank + 1) % 3, 7).receive(rank, Peer::One((rank + 1) % 3), 7);
    }
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    // What went elsewhere would help one of two rings.
    let mut scene = Scene::of(5);
    scene.receive(0, Peer::One(1), 7).receive(1, Peer::One(0), 7).receive(2, Peer::One(3), 8);
    scene.receive(3, Peer::One(2), 8).sent(0, 4, 7).receive(4, Peer::One(3), 9);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_ring_of_collectives_on_several_communicators_says_who_is_in_which() {
    let mut scene = Scene::of(2);
    scene.0.communicators.push(super::Communicator { name: "\"other\"".into(), members: [0, 1].into() });
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
fn a_near_miss_of_a_rank_that_nobody_waits_for_is_not_the_reason_of_a_deadlock() {
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
fn a_message_that_another_rank_wants_exactly_went_to_the_wrong_one() {
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
fn two_synchronous_sends_to_each_other_are_a_deadlock_and_a_posted_receive_ends_it() {
    let mut scene = Scene::of(2);
    scene.send(0, 1, 1).send(1, 0, 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    scene.process(1).posted.push(receive(Peer::One(0), 1));
    assert_ne!(look(&scene).kind, Kind::DEADLOCK);
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
fn a_partitioned_message_is_none_that_a_receive_takes_and_is_named_as_what_was_sent_instead() {
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
fn a_message_on_its_way_is_no_problem() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 42).collective(0, "MPI_Barrier", 1).receive(1, Peer::One(0), 42);
    assert!(!look(&scene).problem);
}

#[test]
fn a_receive_from_a_rank_that_finalizes_was_never_sent_and_from_one_that_has_ended_it_is_gone() {
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
fn a_member_that_finalizes_never_enters_the_barrier() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Barrier", 1).collective(2, "MPI_Barrier", 1).finalize(1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_NOT_ENTERED);
    assert!(said.verdict.starts_with("rank 1 never entered MPI_Barrier"), "{}", said.verdict);
}

#[test]
fn two_functions_under_one_number_are_a_mismatch_and_the_odd_rank_is_blamed() {
    let mut scene = Scene::of(4);
    for rank in [0, 2, 3] {
        scene.collective(rank, "MPI_Allreduce", 3);
    }
    scene.collective(1, "MPI_Bcast", 3);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("ranks [0,2-3] are in MPI_Allreduce"), "{}", said.verdict);
}

#[test]
fn where_as_many_are_in_one_function_as_in_another_each_may_be_wrong() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Bcast", 3).collective(1, "MPI_Allreduce", 3);
    let said = look(&scene);
    let blamed: Vec<String> = said.culprits.iter().map(|culprit| culprit.ranks.to_string()).collect();
    assert_eq!((said.kind, blamed), (Kind::COLLECTIVE_MISMATCH, vec!["0".to_owned(), "1".to_owned()]));
}

#[test]
fn a_rank_that_has_left_another_collective_under_the_number_is_blamed_from_its_history() {
    let mut scene = Scene::of(4);
    for rank in [0, 2, 3] {
        scene.collective(rank, "MPI_Allreduce", 3);
    }
    scene.left(1, 3, Signature { function: "MPI_Bcast".into(), ..Signature::default() });
    scene.collective(1, "MPI_Barrier", 4);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("rank 1 was in MPI_Bcast at left.c:1"), "{}", said.verdict);
}

#[test]
fn members_that_left_different_collectives_went_apart_there_and_not_where_one_is_missed() {
    let after = |odd: Signature| {
        let mut scene = Scene::of(3);
        let common = Signature { function: "MPI_Bcast".into(), root: Some(0), ..Signature::default() };
        for rank in [0, 2] {
            scene.left(rank, 1, common.clone()).collective(rank, "MPI_Barrier", 2);
        }
        scene.left(1, 1, odd).finalize(1);
        look(&scene)
    };
    let said = after(Signature { function: "MPI_Barrier".into(), ..Signature::default() });
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("collective 1"), "{}", said.verdict);
    let said = after(Signature { function: "MPI_Bcast".into(), root: Some(1), ..Signature::default() });
    assert_eq!(said.kind, Kind::COLLECTIVE_NOT_ENTERED, "another root did no harm: {}", said.verdict);
}

#[test]
fn who_has_freed_what_the_others_are_in_a_collective_on_is_blamed() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_File_close", 2).collective(2, "MPI_File_close", 2);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.process(1).freed = vec![WORLD];
    scene.finalize(1);
    assert_ne!(look(&scene).kind, Kind::COLLECTIVE_MISMATCH, "it freed it in the same call");
    scene.process(1).entered = vec![(WORLD, 1)];
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("rank 1 has freed it in collective 1"), "{}", said.verdict);
}

#[test]
fn who_has_freed_it_under_the_number_of_another_collective_is_blamed() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Allreduce", 2).collective(2, "MPI_Allreduce", 2);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.process(1).freed = vec![WORLD];
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert!(said.verdict.contains("rank 1 has freed it in collective 2"), "{}", said.verdict);
}

#[test]
fn where_the_members_went_apart_says_more_than_that_one_has_freed_it_afterwards() {
    let mut scene = Scene::of(2);
    let called = |function: &str| Signature { function: function.into(), ..Signature::default() };
    scene.left(0, 2, called("MPI_Win_fence")).left(1, 2, called("MPI_Win_free"));
    scene.collective(0, "MPI_Win_free", 3);
    scene.process(1).freed = vec![WORLD];
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert!(said.verdict.contains("rank 0 was in MPI_Win_fence at left.c:1"), "{}", said.verdict);
}

#[test]
fn persistent_collectives_are_compared_by_what_they_were_made_as() {
    let mut scene = Scene::of(3);
    let made = |function: &str| Signature { function: function.into(), ..Signature::default() };
    for rank in [0, 2] {
        scene.collective(rank, "MPI_Barrier_init", numbered(1, 1));
        scene.left(rank, numbered(1, 1), made("MPI_Barrier_init"));
    }
    // The other one's first was made as another, and not started.
    scene.collective(1, "MPI_Barrier_init", numbered(2, 1)).left(1, 1, made("MPI_Allreduce_init"));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH, "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("rank 1 was in MPI_Allreduce_init at left.c:1"), "{}", said.verdict);
}

#[test]
fn roots_operations_sizes_and_types_are_compared_where_they_are_known() {
    let bcast = || Signature { function: "MPI_Bcast".into(), root: Some(0), ..Signature::default() };
    let with = |odd: Signature| {
        let mut scene = Scene::of(3);
        let known = Signature { op: Some("MPI_SUM".into()), bytes: Some(8), types: Some(7), ..bcast() };
        for rank in [0, 1] {
            scene.left(rank, 1, known.clone()).collective(rank, "MPI_Bcast", 1);
        }
        scene.left(2, 1, odd).collective(2, "MPI_Bcast", 1);
        look(&scene)
    };
    assert!(!with(bcast()).problem, "what is not known agrees with everything");
    assert!(with(Signature { root: Some(2), ..bcast() }).verdict.contains("(root)"));
    assert!(with(Signature { op: Some("MPI_MAX".into()), ..bcast() }).verdict.contains("(operation)"));
    assert!(with(Signature { bytes: Some(4), ..bcast() }).verdict.contains("(size)"));
    let types = with(Signature { bytes: Some(8), types: Some(9), ..bcast() });
    assert!(types.verdict.contains("(type signature)"), "{}", types.verdict);
}

#[test]
fn who_has_left_a_collective_is_not_missing_in_it() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Reduce", 1);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.collective(1, "MPI_Barrier", 2);
    let said = look(&scene);
    assert!(!said.problem, "{}", said.verdict);
}

#[test]
fn one_that_computes_while_the_others_wait_is_slow_and_not_hung() {
    let mut scene = Scene::of(4);
    for rank in [0, 1, 3] {
        scene.collective(rank, "MPI_Allreduce", 3);
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.contains("ranks [0-1,3] wait for rank 2: computing"), "{}", said.verdict);
}

#[test]
fn a_wildcard_receive_is_stuck_only_when_nobody_is_left_to_send() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::Any, 1).receive(1, Peer::Any, 1);
    assert!(!look(&scene).problem);
    scene.receive(2, Peer::Any, 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::DEADLOCK);
    assert!(said.verdict.contains("nobody who could release them is left"), "{}", said.verdict);
    scene.0.processes[2].condition = Condition::Unseen("no layer".into());
    let said = look(&scene);
    assert!(!said.problem && said.not_seen == ["rank 2: no layer"], "{said:?}");
}

#[test]
fn lost_records_are_never_proof_and_are_part_of_the_answer() {
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
fn records_that_found_no_room_are_part_of_the_answer_with_their_kind_and_the_reason() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    let losses = std::collections::BTreeMap::from([("requests".to_owned(), 3)]);
    scene.0.losses = crate::jobs::losses::joined([((0, Some(1)), &losses)]);
    let said = look(&scene);
    let [line] = said.not_seen.as_slice() else { panic!("{said:?}") };
    assert!(line.starts_with("lost on rank 1: 3 requests: the image could not grow"), "{line}");
}

#[test]
fn a_rank_that_completes_calls_between_the_looks_is_not_stuck() {
    let mut scene = Scene::of(2);
    scene.receive(0, Peer::One(1), 1).receive(1, Peer::One(0), 1);
    let mut later = scene.clone();
    later.process(0).threads[0].steps += 1;
    assert!(!verdict(&scene.0, &later.0, 1.0).problem);
}

#[test]
fn a_ring_of_messages_is_a_deadlock_though_other_messages_are_on_their_way() {
    let mut scene = Scene::of(3);
    for rank in 0..3 {
        scene.sent(rank, (rank + 1) % 3, 0).receive(rank, Peer::One((rank + 1) % 3), 0);
    }
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
}

#[test]
fn a_fence_is_waited_for_while_a_rank_computes_and_is_a_problem_when_nobody_is_left_to_enter_it() {
    let mut scene = Scene::of(2);
    let fence = || Need::Outside { what: "one-sided synchronisation on \"halo\"".into(), kind: Kind::RMA };
    scene.call(0, "MPI_Win_fence", Wait::All(vec![fence()]));
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.contains("\"halo\"; rank 1: computing"), "{}", said.verdict);
    scene.call(1, "MPI_Win_lock", Wait::All(vec![fence()]));
    assert_eq!(look(&scene).kind, Kind::RMA);
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

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 33).unwrap() % end
    }
}

fn random(dice: &mut Dice, size: u32) -> Scene {
    let mut scene = Scene::of(size);
    for rank in 0..size {
        let mut needs = Vec::new();
        for _ in 0..dice.below(3) {
            let (peer, tag) = (dice.below(size), dice.below(2) as i32);
            let from = if dice.below(4) == 0 { Peer::Any } else { Peer::One(peer) };
            needs.push(if dice.below(3) == 0 {
                let sent = message(peer, tag);
                scene.process(rank).sent.push(sent.clone());
                Need::Receiver(sent)
            } else {
                let posted = receive(from, tag);
                scene.process(rank).posted.push(posted.clone());
                Need::Message(posted)
            });
        }
        match dice.below(5) {
            0 => {}
            1 => drop(scene.collective(rank, "MPI_Barrier", u64::from(1 + dice.below(2)))),
            2 if !needs.is_empty() => drop(scene.call(rank, "MPI_Waitany", Wait::Any(needs))),
            _ if !needs.is_empty() => drop(scene.call(rank, "MPI_Waitall", Wait::All(needs))),
            _ => {}
        }
        if dice.below(12) == 0 {
            scene.process(rank).condition = Condition::Finalized;
        }
    }
    scene
}

/// Whether a process could go on if exactly the processes outside of `stuck` could act.
fn released(snapshot: &Snapshot, process: u32, stuck: u32) -> bool {
    let acts = |p: u32| stuck & (1 << p) == 0 && !snapshot.processes[p as usize].is_gone();
    let this: &Process = &snapshot.processes[process as usize];
    let Some(call) = this.calls().next() else { return true };
    let met = |need: &Need| match need {
        Need::Message(receive) => match receive.matches.from {
            Peer::One(from) => acts(from),
            Peer::Any => (0..snapshot.processes.len() as u32).any(|p| p != process && acts(p)),
        },
        Need::Receiver(message) => acts(message.to),
        Need::Collective(c) => (0..snapshot.processes.len() as u32)
            .all(|p| snapshot.processes[p as usize].entered(c.comm) >= c.number || acts(p)),
        _ => unreachable!("not made here"),
    };
    match &call.wait {
        Wait::Nothing => true,
        Wait::All(needs) => needs.iter().all(met),
        Wait::Any(needs) => needs.iter().any(met),
    }
}

/// The largest set of processes none of which can go on while only the others act: by trying all sets.
fn by_force(snapshot: &Snapshot) -> u32 {
    let size = snapshot.processes.len() as u32;
    let mut union = 0;
    for set in 1u32..1 << size {
        let inside = |p: &u32| set & (1 << p) != 0;
        let gone = |p: u32| snapshot.processes[p as usize].is_gone();
        if (0..size).filter(inside).all(|p| !gone(p) && !released(snapshot, p, set)) {
            union |= set;
        }
    }
    union
}

#[test]
fn random_jobs_have_the_stuck_ranks_that_trying_all_sets_finds() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut some = 0;
    for round in 0..3000 {
        let size = 2 + dice.below(6);
        let mut scene = random(&mut dice, size);
        // Messages on their way are a matter of their own: here nothing has been sent that fits.
        for process in &mut scene.0.processes {
            process.posted.clear();
            process.sent.iter_mut().for_each(|sent| sent.tag += 10);
            let calls = process.threads.iter_mut().filter_map(|thread| thread.call.as_mut());
            for call in calls {
                let (Wait::All(needs) | Wait::Any(needs)) = &mut call.wait else { continue };
                for need in needs {
                    if let Need::Receiver(sent) = need {
                        sent.tag += 10;
                    }
                }
            }
        }
        let found = blocked(&scene.0, &vec![false; size as usize], false);
        let stuck = found.stuck().fold(0, |set, p| set | 1 << p);
        assert_eq!(stuck, by_force(&scene.0), "round {round}: {:#?}", scene.0.processes);
        some += u32::from(stuck != 0);
    }
    assert!(some > 300, "only {some} of them had a stuck rank");
}

#[test]
fn each_message_on_its_way_meets_one_receive() {
    let mut scene = Scene::of(2);
    let two = vec![Need::Message(receive(Peer::One(0), 1)), Need::Message(receive(Peer::One(0), 1))];
    scene.process(1).posted = vec![receive(Peer::One(0), 1), receive(Peer::One(0), 1)];
    scene.call(1, "MPI_Waitall", Wait::All(two)).sent(0, 1, 1).collective(0, "MPI_Barrier", 1);
    assert!(look(&scene).problem, "one message is not enough for two receives");
    scene.sent(0, 1, 1);
    assert!(!look(&scene).problem);
}

#[test]
fn a_message_is_that_of_the_receive_posted_first_also_if_nobody_waits_for_it() {
    let mut scene = Scene::of(2);
    let posted =
        |order, place: &str| super::Receive { order, place: Some(place.into()), ..receive(Peer::One(0), 1) };
    scene.process(1).posted = vec![posted(1, "a.c:1"), posted(2, "a.c:2")];
    scene.call(1, "MPI_Wait", Wait::All(vec![Need::Message(posted(2, "a.c:2"))]));
    scene.sent(0, 1, 1).collective(0, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT);
    let wanted = "what it sent went to a receive posted before, at a.c:1, which is not waited for";
    assert!(said.verdict.contains(wanted), "{}", said.verdict);
    scene.sent(0, 1, 1);
    assert!(!look(&scene).problem);
}

#[test]
fn who_waits_for_some_of_one_request_waits_for_it() {
    let mut scene = Scene::of(2);
    scene.call(1, "MPI_Waitsome", Wait::Any(vec![Need::Message(receive(Peer::One(0), 1))]));
    scene.collective(0, "MPI_Finalize", 0);
    let said = look(&scene);
    assert_eq!((said.kind, said.culprits[0].ranks.to_string()), (Kind::MESSAGE_NEVER_SENT, "0".to_owned()));
}

#[test]
fn who_only_polls_polls_still_when_he_seems_to_compute_for_a_moment() {
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
fn whose_message_is_there_is_not_accused_by_a_wait_for_several() {
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
fn what_is_set_apart_changes_nobodys_fate() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut apart = 0;
    for round in 0..3000 {
        let size = 2 + dice.below(6);
        let mut scene = random(&mut dice, size);
        let nobody = vec![false; size as usize];
        let before = blocked(&scene.0, &nobody, false);
        super::join::settled::set_apart(&mut scene.0);
        let after = blocked(&scene.0, &nobody, false);
        assert_eq!(before.stuck, after.stuck, "round {round}: {:#?}", scene.0.processes);
        apart += scene.0.processes.iter().flat_map(Process::calls).map(|call| call.met.len()).sum::<usize>();
    }
    assert!(apart > 100, "only {apart} needs were set apart");
}

#[test]
fn a_wildcard_receive_takes_the_message_that_fits_and_leaves_the_other() {
    let mut scene = Scene::of(2);
    scene.sent(0, 1, 41).sent(0, 1, 42);
    let any = Match { from: Peer::Any, comm: WORLD, tag: Some(42) };
    let pairs = super::messages::Pairs::of(&scene.0);
    assert_eq!(pairs.left(1).len(), 2);
    let posted = super::Receive { matches: any, ..receive(Peer::Any, 42) };
    scene.process(1).posted = vec![posted.clone()];
    let mut pairs = super::messages::Pairs::of(&scene.0);
    assert_eq!(pairs.left(1).iter().map(|(_, m)| m.tag).collect::<Vec<_>>(), [41]);
    assert!(pairs.finds(1, &posted) && !pairs.finds(1, &posted));
}

#[test]
fn thousands_of_ranks_behind_one_that_computes_or_in_one_ring_are_answered() {
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

/// A call that waits for one of these processes, or for each of them.
fn action(scene: &mut Scene, rank: u32, by: &[u32], every: bool) {
    let party = scene.0.parties.len() as u32;
    scene.0.parties.push(by.into());
    let need = Need::Action { by: party, every, what: "act".into(), kind: Kind::RMA };
    scene.call(rank, "MPI_Win_wait", Wait::All(vec![need]));
}

#[test]
fn one_of_several_who_may_act_is_enough_and_each_that_must_act_is_needed() {
    let mut scene = Scene::of(3);
    action(&mut scene, 0, &[1, 2], false);
    scene.receive(1, Peer::One(0), 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::SLOW, "rank 2 computes: {}", said.verdict);
    assert_eq!(said.stuck.to_string(), "");
    scene.receive(2, Peer::One(0), 1);
    let said = look(&scene);
    assert_eq!((said.kind, said.stuck.to_string().as_str()), (Kind::RMA, "[0-2]"));
    assert!(
        said.verdict.contains("one of ranks [1-2] to act, of which rank 1 is in MPI_Recv"),
        "{}",
        said.verdict
    );

    let mut scene = Scene::of(3);
    action(&mut scene, 0, &[1, 2], true);
    scene.receive(1, Peer::One(0), 1);
    assert_eq!(look(&scene).stuck.to_string(), "[0-1]", "rank 1 must act too, and waits");
}

#[test]
fn ranks_in_mpi_init_wait_for_one_that_has_not_called_it_and_in_vain_if_it_has_ended() {
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
fn a_process_that_does_not_know_its_rank_yet_is_called_no_number() {
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
fn rings_that_have_nothing_in_common_are_all_named() {
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
fn ranks_that_stand_still_in_calls_for_a_reason_that_is_not_known_are_not_said_to_run() {
    let mut scene = Scene::of(2);
    for rank in 0..2 {
        scene.call(rank, "MPI_Comm_spawn", Wait::Nothing);
    }
    let said = look(&scene);
    assert_eq!((said.kind, said.problem), (Kind::SLOW, false));
    assert!(said.verdict.starts_with("ranks [0-1] completed no MPI call in 1.00 s"), "{}", said.verdict);
}
