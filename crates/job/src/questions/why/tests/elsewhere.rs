//! Collectives called on another communicator than the one that the others use, by mistake or because of a
//! wrong color.

use super::{blamed, look};
use crate::questions::why::Kind;
use crate::questions::why::scene::Scene;
use crate::questions::why::snapshot::{
    Collective, CommIndex, Communicator, Need, ProcessIndex, Signature, Split, Wait,
};

fn communicator(scene: &mut Scene, name: &str, members: &[ProcessIndex], color: Option<i64>) -> CommIndex {
    let split = color.map(|color| Split { of: 0, color, place: Some("s.c:3".into()) });
    scene.0.communicators.push(Communicator {
        name: name.into(),
        identity: 2,
        members: members.into(),
        split,
    });
    scene.0.communicators.len() as CommIndex - 1
}

fn call(comm: CommIndex, place: &str) -> Collective {
    let signature = Signature { function: "MPI_Bcast".into(), ..Signature::default() };
    let place = Some(place.into());
    Collective { comm, number: 1, signature, totals: None, elements: None, data: None, place }
}

/// The rank has entered the first collective of a communicator, at this line.
fn enters(scene: &mut Scene, rank: ProcessIndex, comm: CommIndex, place: &str) {
    let process = scene.process(rank);
    process.collectives.push(call(comm, place));
    process.entered.push((comm, 1));
    process.entered.sort_unstable();
}

fn is_in(scene: &mut Scene, rank: ProcessIndex, comm: CommIndex, place: &str) {
    enters(scene, rank, comm, place);
    let need = Need::Collective(Box::new(call(comm, place)));
    scene.call(rank, "MPI_Bcast", Wait::All(vec![need]));
}

#[test]
fn the_only_rank_that_made_the_call_on_another_communicator_is_named() {
    let mut scene = Scene::of(4);
    let copy = communicator(&mut scene, "\"halo\"", &[0, 1, 2, 3], None);
    for rank in [0, 1, 3] {
        is_in(&mut scene, rank, copy, "a.c:7");
    }
    is_in(&mut scene, 2, 0, "a.c:7");
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".to_owned()]), "{}", said.verdict);
    let wanted = "; rank 2 called MPI_Bcast at a.c:7 on WORLD instead of \"halo\"";
    assert!(said.verdict.starts_with("deadlock: ") && said.verdict.ends_with(wanted), "{}", said.verdict);
    // A root may leave a broadcast that nobody else enters.
    scene.finalize(2);
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_NOT_ENTERED, vec!["2".to_owned()]));
    let wanted = "rank 2 never entered MPI_Bcast (collective 1 on \"halo\"): it called MPI_Bcast at a.c:7 on WORLD instead";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
}

#[test]
fn a_call_that_others_made_too_is_not_made_elsewhere() {
    let mut scene = Scene::of(4);
    let copy = communicator(&mut scene, "\"halo\"", &[0, 1, 2, 3], None);
    for rank in [0, 1, 3] {
        is_in(&mut scene, rank, copy, "a.c:7");
        enters(&mut scene, rank, 0, "a.c:5");
    }
    enters(&mut scene, 2, 0, "a.c:5");
    scene.finalize(2);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_NOT_ENTERED);
    assert!(said.verdict.contains("it is in MPI_Finalize"), "{}", said.verdict);
}

/// Rank 2 belongs with ranks 0 and 4, but has the color of ranks 1, 3 and 5.
fn colors(other_line: &str) -> Scene {
    let mut scene = Scene::of(6);
    let even = communicator(&mut scene, "\"even\"", &[0, 4], Some(0));
    let odd = communicator(&mut scene, "\"odd\"", &[1, 2, 3, 5], Some(1));
    for rank in [0, 4] {
        enters(&mut scene, rank, even, other_line);
    }
    is_in(&mut scene, 2, odd, "a.c:7");
    for rank in [0, 1, 3, 4, 5] {
        scene.finalize(rank);
    }
    scene
}

#[test]
fn a_rank_in_the_wrong_group_is_named_if_another_group_has_made_its_call() {
    let said = look(&colors("a.c:7"));
    assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_NOT_ENTERED, vec!["2".to_owned()]));
    let wanted = "rank 2 is in MPI_Bcast at mpi_bcast.c:1 (collective 1 on \"odd\"), which ranks [1-5:2] have not entered";
    assert!(said.verdict.starts_with(wanted), "{}", said.verdict);
    let wanted = "ranks [0,4], which called it at the same line on another communicator of the same MPI_Comm_split at s.c:3, \
                  passed color 0 there, and rank 2 color 1";
    assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
}

#[test]
fn a_group_that_lacks_its_other_members_is_not_wrong_without_another_group_at_that_line() {
    let said = look(&colors("a.c:9"));
    assert_eq!(blamed(&said), ["2"], "only it calls it: {}", said.verdict);
    assert!(!said.verdict.contains("color"), "{}", said.verdict);
    // The others may be waiting for the rank itself.
    let mut scene = colors("a.c:7");
    scene.receive(1, super::Peer::One(2), 7);
    let said = look(&scene);
    assert!(!said.verdict.contains("color"), "{}", said.verdict);
}

#[test]
fn in_a_ring_of_collectives_the_only_rank_that_all_others_wait_for_is_named() {
    let mut scene = Scene::of(4);
    let file = communicator(&mut scene, "\"file\"", &[0, 1, 2, 3], None);
    for rank in [0, 2, 3] {
        is_in(&mut scene, rank, file, "a.c:7");
    }
    scene.collective(1, "MPI_Barrier", 1);
    scene.process(1).entered = vec![(0, 1)];
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["1".to_owned()]), "{}", said.verdict);
    // Two against two.
    let mut scene = Scene::of(4);
    let file = communicator(&mut scene, "\"file\"", &[0, 1, 2, 3], None);
    for rank in [2, 3] {
        is_in(&mut scene, rank, file, "a.c:9");
        scene.collective(rank - 2, "MPI_Barrier", 1);
    }
    assert_eq!(blamed(&look(&scene)).len(), 2);
}

#[test]
fn a_rank_whose_group_is_still_at_the_line_of_its_call_made_it_on_another_communicator() {
    // Ranks 2 and 3 share a row; rank 3 passes the communicator of all in their place.
    let mut scene = Scene::of(4);
    let row = communicator(&mut scene, "\"row\"", &[2, 3], None);
    for rank in [0, 1] {
        is_in(&mut scene, rank, 0, "a.c:8");
    }
    is_in(&mut scene, 3, 0, "a.c:7");
    is_in(&mut scene, 2, row, "a.c:7");
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["3".to_owned()]), "{}", said.verdict);
    let wanted = "; rank 3 called MPI_Bcast at a.c:7 on WORLD instead of \"row\"";
    assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
}

#[test]
fn a_call_at_another_line_is_not_taken_for_the_same_call_on_another_communicator() {
    let mut scene = Scene::of(4);
    let copy = communicator(&mut scene, "\"solver\"", &[0, 1, 2, 3], None);
    for rank in [0, 1, 3] {
        is_in(&mut scene, rank, copy, "a.c:7");
    }
    is_in(&mut scene, 2, 0, "a.c:9");
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::DEADLOCK, vec!["2".to_owned()]), "{}", said.verdict);
    let wanted = "; rank 2 called MPI_Bcast at a.c:9 on WORLD instead of MPI_Bcast at a.c:7 on \"solver\"";
    assert!(said.verdict.ends_with(wanted), "{}", said.verdict);
    assert!(said.next.contains("skips a collective"), "{}", said.next);
}
