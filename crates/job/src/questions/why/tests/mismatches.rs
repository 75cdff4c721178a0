//! Members of a communicator that diverged: another function, root, operation or size under one number.

use super::look;
use crate::questions::why::collectives::numbered;
use crate::questions::why::scene::{Scene, WORLD};
use crate::questions::why::snapshot::{Peer, Signature};
use crate::questions::why::{Kind, Verdict};

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
fn if_equally_many_are_in_two_functions_either_may_be_wrong() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Bcast", 3).collective(1, "MPI_Allreduce", 3);
    let said = look(&scene);
    let blamed: Vec<String> = said.culprits.iter().map(|culprit| culprit.ranks.to_string()).collect();
    assert_eq!((said.kind, blamed), (Kind::COLLECTIVE_MISMATCH, vec!["0".to_owned(), "1".to_owned()]));
}

#[test]
fn a_rank_that_left_a_different_collective_with_this_number_is_blamed_by_its_history() {
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
fn members_diverged_where_they_left_different_collectives_and_not_where_one_is_missing() {
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
fn the_rank_that_freed_the_communicator_of_a_collective_is_blamed() {
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
fn the_rank_that_freed_it_under_another_collectives_number_is_blamed() {
    let mut scene = Scene::of(3);
    scene.collective(0, "MPI_Allreduce", 2).collective(2, "MPI_Allreduce", 2);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.process(1).freed = vec![WORLD];
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH);
    assert!(said.verdict.contains("rank 1 has freed it in collective 2"), "{}", said.verdict);
}

#[test]
fn a_rank_that_freed_it_at_the_end_is_blamed_alone_and_shown_in_finalize() {
    let mut scene = Scene::of(3);
    scene.collective(2, "MPI_Bcast", 2);
    scene.receive(0, Peer::One(2), 7);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.process(1).freed = vec![WORLD];
    let blamed = |said: &Verdict| said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>();
    let said = look(&scene);
    assert_eq!(blamed(&said), ["2", "1"], "either may be wrong: {}", said.verdict);
    scene.finalize(1);
    let said = look(&scene);
    assert_eq!((said.kind, blamed(&said)), (Kind::COLLECTIVE_MISMATCH, vec!["1".to_owned()]));
    assert!(
        said.verdict.contains("rank 1 has freed it in collective 2 and is in MPI_Finalize"),
        "{}",
        said.verdict
    );
}

#[test]
fn where_the_members_diverged_explains_more_than_a_later_free() {
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
fn persistent_collectives_are_compared_as_they_were_created() {
    let mut scene = Scene::of(3);
    let made = |function: &str| Signature { function: function.into(), ..Signature::default() };
    for rank in [0, 2] {
        scene.collective(rank, "MPI_Barrier_init", numbered(1, 1));
        scene.left(rank, numbered(1, 1), made("MPI_Barrier_init"));
    }
    // The other member's first request was created for another function, and not started.
    scene.collective(1, "MPI_Barrier_init", numbered(2, 1)).left(1, 1, made("MPI_Allreduce_init"));
    let said = look(&scene);
    assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH, "{}", said.verdict);
    assert_eq!(said.culprits[0].ranks.to_string(), "1");
    assert!(said.verdict.contains("rank 1 was in MPI_Allreduce_init at left.c:1"), "{}", said.verdict);
}

#[test]
fn roots_operations_sizes_types_and_other_arguments_are_compared_if_known() {
    let bcast = || Signature { function: "MPI_Bcast".into(), root: Some(0), ..Signature::default() };
    let with = |odd: Signature| {
        let mut scene = Scene::of(3);
        let known = Signature {
            op: Some("MPI_SUM".into()),
            bytes: Some(8),
            types: Some(7),
            argument: Some(6400),
            ..bcast()
        };
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
    assert!(with(Signature { argument: Some(800), ..bcast() }).verdict.contains("(argument)"));
}

#[test]
fn a_rank_that_has_left_a_collective_is_not_missing_in_it() {
    let mut scene = Scene::of(2);
    scene.collective(0, "MPI_Reduce", 1);
    scene.process(1).entered = vec![(WORLD, 2)];
    scene.collective(1, "MPI_Barrier", 2);
    let said = look(&scene);
    assert!(!said.problem, "{}", said.verdict);
}

#[test]
fn a_rank_that_frees_a_communicator_in_mpi_finalize_while_another_uses_it_is_blamed_alone() {
    let mut scene = Scene::of(3);
    scene.collective(1, "MPI_Bcast", 7);
    scene.left(2, 7, Signature { function: "MPI_Comm_free".into(), ..Signature::default() }).finalize(2);
    let said = look(&scene);
    assert_eq!((said.kind, said.culprits[0].ranks.to_string().as_str()), (Kind::COLLECTIVE_MISMATCH, "2"));
    assert_eq!(said.culprits.len(), 1);
    // A message of that rank is missing: the rest follows from that.
    scene.receive(0, Peer::One(2), 3);
    let said = look(&scene);
    assert_eq!(said.kind, Kind::MESSAGE_NEVER_SENT, "{}", said.verdict);
    // If most have freed it, the other one has made a call too many.
    let mut scene = Scene::of(3);
    for rank in [0, 2] {
        scene.left(rank, 7, Signature { function: "MPI_Comm_free".into(), ..Signature::default() });
        scene.finalize(rank);
    }
    scene.collective(1, "MPI_Bcast", 7);
    assert_eq!(look(&scene).culprits[0].ranks.to_string(), "1");
}
