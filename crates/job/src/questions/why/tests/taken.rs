//! Messages that went to another receive than the one waiting for them, and how much of the evidence is
//! shown.

use super::look;
use crate::questions::why::scene::{Scene, receive};
use crate::questions::why::snapshot::{Failed, Outcome, Peer, Receive};
use crate::questions::why::{Kind, Verdict};

/// Rank 0 waits for a message taken by a receive from any source that it had posted earlier.
fn taken_by_earlier_receive(overwritten: Option<&str>) -> Verdict {
    let mut scene = Scene::of(2);
    scene.sent(1, 0, 3).collective(1, "MPI_Barrier", 1).receive(0, Peer::One(1), 3);
    let (place, overwritten) = (Some("post.c:4".into()), overwritten.map(Into::into));
    let before = Receive { place, overwritten, order: 1, ..receive(Peer::Any, 3) };
    scene.process(0).posted.insert(0, before);
    look(&scene)
}

#[test]
fn a_ring_names_the_receive_that_took_a_message_a_member_waits_for() {
    let said = taken_by_earlier_receive(None);
    assert_eq!(said.kind, Kind::DEADLOCK);
    let by = "an earlier receive, at post.c:4, which nothing waits for";
    assert!(said.verdict.contains(&format!("(one went to {by})")), "{}", said.verdict);
    let line = said.evidence.iter().find(|line| line.what.ends_with(by)).expect("a line of evidence");
    assert!(line.what.starts_with("rank 1 sent a message with tag 3 to rank 0 on WORLD"), "{}", line.what);
    assert_eq!((line.ranks.to_string().as_str(), line.place.as_deref()), ("0", Some("post.c:4")));
}

#[test]
fn the_place_where_a_request_was_overwritten_is_named() {
    let said = taken_by_earlier_receive(Some("post.c:5"));
    let over = "since its request was overwritten with another one at post.c:5";
    assert!(said.verdict.contains(over), "{}", said.verdict);
    assert!(said.evidence.iter().any(|line| line.what.ends_with(over)));
}

/// Ranks 1 and 2 have each sent rank 0 a message that its receive from any rank may have taken; it waits for the one of
/// rank 2, which waits for rank 0.
fn one_of_two_taken(still_s: f64) -> Scene {
    let mut scene = Scene::of(3);
    scene.sent(1, 0, 3).sent(2, 0, 3).collective(1, "MPI_Barrier", 1).receive(2, Peer::One(0), 4);
    scene.receive(0, Peer::One(2), 3);
    let before = Receive { place: Some("post.c:4".into()), order: 1, ..receive(Peer::Any, 3) };
    scene.process(0).posted.insert(0, before);
    for rank in 0..3 {
        scene.process(rank).threads.iter_mut().filter_map(|thread| thread.call.as_mut()).for_each(|call| {
            call.age_s = Some(still_s);
        });
    }
    scene
}

#[test]
fn a_receive_from_any_rank_took_what_a_later_one_names_if_nothing_else_explains_a_long_standstill() {
    let said = look(&one_of_two_taken(12.0));
    assert_eq!((said.kind, said.certain, said.cycle.len()), (Kind::DEADLOCK, false, 2), "{}", said.verdict);
    assert!(said.verdict.contains("(one went to an earlier receive, at post.c:4,"), "{}", said.verdict);
    assert!(said.verdict.contains("follows from the fact that nothing has moved for 12"), "{}", said.verdict);
    let left = said
        .evidence
        .iter()
        .any(|line| line.what.contains("has not received a message with tag 3 from rank 1"));
    assert!(left, "{:?}", said.evidence);
    assert!(!look(&one_of_two_taken(2.0)).problem, "the message may be on its way");
    let mut scene = one_of_two_taken(12.0);
    scene.sent(2, 0, 3);
    assert!(!look(&scene).problem, "a second one is on its way");
    let mut scene = one_of_two_taken(12.0);
    scene.process(1).threads[0].call = None;
    assert!(!look(&scene).problem, "rank 1 computes");
}

#[test]
fn omitted_evidence_is_counted() {
    let mut scene = Scene::of(3);
    scene.receive(0, Peer::One(1), 3).receive(1, Peer::One(0), 3);
    let failed = |nth: u64| Failed {
        function: "MPI_Send".into(),
        place: Some(format!("a.c:{nth}").into()),
        error: "MPI_ERR_RANK".into(),
        outcome: Outcome::WentOn,
    };
    scene.process(0).failed = (0..4).map(failed).collect();
    scene.process(1).failed = (4..7).map(failed).collect();
    let said = look(&scene);
    let lines: Vec<_> = said.evidence.iter().filter(|line| line.what.contains("returned")).collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[4].what, "and 3 more places of calls that returned an error");
    assert_eq!(lines[4].ranks.to_string(), "1");
}

#[test]
fn ranks_that_block_the_others_are_all_named_the_last_ones_together() {
    let mut scene = Scene::of(12);
    scene.receive(0, Peer::Any, 3);
    (1..12).for_each(|rank| {
        scene.finalize(rank);
    });
    let said = look(&scene);
    assert_eq!((said.kind, said.culprits.len()), (Kind::MESSAGE_NEVER_SENT, 9));
    let last = &said.culprits[8];
    assert_eq!((last.what.as_str(), last.ranks.to_string().as_str()), ("and 3 more", "[9-11]"));
}
