//! Two sides that do not agree: buffered messages and their intended receivers, topology neighbors.

use super::look;
use crate::questions::why::Kind;
use crate::questions::why::scene::{Scene, WORLD, message};
use crate::questions::why::snapshot::{Need, OneSided, Passed, Peer, UnequalCreation, Wait};

/// Rank 0 detaches its buffer, from which these messages have not been received.
fn detaches(messages: &[(u32, i32)]) -> Scene {
    let mut scene = Scene::of(3);
    for (to, tag) in messages {
        scene.sent(0, *to, *tag);
    }
    let needs = messages.iter().map(|(to, tag)| Need::Receiver(message(*to, *tag))).collect();
    scene.call(0, "MPI_Buffer_detach", Wait::Any(needs));
    scene.process(0).threads[0].call.as_mut().unwrap().for_buffered = true;
    scene
}

#[test]
fn detaching_a_buffer_waits_for_an_unreceived_message() {
    let mut scene = detaches(&[(1, 5), (2, 6)]);
    scene.collective(1, "MPI_Barrier", 1);
    assert!(!look(&scene).problem, "rank 2 computes, and the other message may be no buffered one");
    scene.collective(2, "MPI_Barrier", 1);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_RECEIVED);
    let wanted = "rank 0 is in MPI_Buffer_detach at mpi_buffer_detach.c:1 and waits until a message with tag 5 to rank 1";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    let mut scene = detaches(&[(1, 5)]);
    scene.receive(1, Peer::One(0), 5);
    assert!(!look(&scene).problem, "it is being received");
}

#[test]
fn a_neighbor_known_to_only_one_side_is_a_mismatch_and_both_are_named() {
    let mut scene = Scene::of(2);
    let outside = Need::Outside { what: "its neighbors".into(), kind: Kind::RUNNING };
    scene.call(0, "MPI_Neighbor_allgather", Wait::All(vec![outside]));
    assert!(!look(&scene).problem);
    scene.0.one_sided.push(OneSided { comm: WORLD, knows: 0, of: 1, gets: true, times: 1, back: 0 });
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    let wanted = "has rank 1 as a source; rank 1 does not have rank 0 as a destination";
    assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
    let culprits: Vec<String> = said.culprits.iter().map(|one| one.ranks.to_string()).collect();
    assert_eq!(culprits, ["0", "1"]);
    scene.0.one_sided[0] = OneSided { times: 2, back: 1, ..scene.0.one_sided[0].clone() };
    let said = look(&scene);
    let wanted = "has rank 1 as a source twice; rank 1 has rank 0 as a destination once";
    assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
}

#[test]
fn a_member_that_passed_other_dimensions_is_named_if_somebody_waits_on_that_communicator() {
    let mut scene = Scene::of(4);
    scene.receive(1, Peer::One(2), 0).collective(2, "MPI_Barrier", 1);
    assert_eq!(look(&scene).kind, Kind::DEADLOCK);
    let passed = |what: &str, members| Passed { what: what.into(), members, place: None };
    let groups = vec![passed("2 x 2", vec![0, 2, 3]), passed("1 x 4", vec![1])];
    let (function, argument) = ("MPI_Cart_create".into(), "dimensions".into());
    scene.0.creations.push(UnequalCreation { comm: WORLD, function, argument, groups });
    scene.collective(0, "MPI_Barrier", 1).collective(3, "MPI_Barrier", 1);
    let said = look(&scene);
    let wanted = "collective mismatch (dimensions) on WORLD: ranks [0,2-3] passed 2 x 2, rank 1 passed 1 x 4 to \
                  MPI_Cart_create; rank ";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    assert_eq!((said.culprits.len(), said.culprits[0].ranks.to_string().as_str()), (1, "1"));
}
