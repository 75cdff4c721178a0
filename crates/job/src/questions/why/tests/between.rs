//! Roots of collectives on intercommunicators.

use super::look;
use crate::observation::{Between, RootBetween};
use crate::questions::why::scene::Scene;
use crate::questions::why::snapshot::Signature;
use crate::questions::why::{Kind, Verdict};
use RootBetween::{AnotherOfMine, Myself, OfOthers};

/// A broadcast to which two groups of two ranks passed these roots, and in which the last rank waits.
fn broadcast(roots: [RootBetween; 4]) -> Verdict {
    let mut scene = Scene::of(4);
    for (at, root) in (0..).zip(roots) {
        let between = Some(Between { root, rank: at % 2, size: 2 });
        let of = match root {
            OfOthers(rank) => Some(i64::from(rank)),
            _ => None,
        };
        scene.left(
            at,
            1,
            Signature { function: "MPI_Bcast".into(), root: of, between, ..Signature::default() },
        );
    }
    scene.collective(3, "MPI_Bcast", 1);
    look(&scene)
}

#[test]
fn valid_roots_between_two_groups_are_no_mismatch() {
    let fits = |roots| !broadcast(roots).problem;
    assert!(fits([AnotherOfMine, Myself, OfOthers(1), OfOthers(1)]));
    assert!(fits([OfOthers(0), OfOthers(0), Myself, AnotherOfMine]));
}

#[test]
fn groups_that_disagree_on_the_root_are_a_mismatch_that_lists_each_root() {
    let said = |roots| {
        let said = broadcast(roots);
        assert_eq!(said.kind, Kind::COLLECTIVE_MISMATCH, "{roots:?}");
        said.verdict
    };
    let nobody = said([AnotherOfMine, AnotherOfMine, OfOthers(0), OfOthers(0)]);
    let of =
        ["(root)", "ranks [0-1] were in MPI_Bcast with MPI_PROC_NULL as root at left.c:1", "with root 0"];
    assert!(of.iter().all(|part| nobody.contains(part)), "{nobody}");
    let two = said([Myself, Myself, OfOthers(0), OfOthers(0)]);
    assert!(two.contains("with MPI_ROOT"), "{two}");
    let blamed = broadcast([Myself, Myself, OfOthers(0), OfOthers(0)]).culprits;
    assert_eq!(blamed.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>(), ["[0-1]"], "{two}");
    said([AnotherOfMine, Myself, AnotherOfMine, AnotherOfMine]);
    said([AnotherOfMine, Myself, OfOthers(0), OfOthers(0)]);
    said([OfOthers(0), OfOthers(0), OfOthers(0), OfOthers(0)]);
    said([AnotherOfMine, Myself, OfOthers(1), AnotherOfMine]);
}

#[test]
fn the_only_root_is_not_blamed_for_what_the_others_passed() {
    let blamed = |roots| {
        let said = broadcast(roots);
        said.culprits.iter().map(|one| one.ranks.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(blamed([Myself, OfOthers(0), OfOthers(0), OfOthers(0)]), ["[1-3]"]);
    // Nobody expects a root: the one that claims to be it is the odd one.
    assert_eq!(blamed([AnotherOfMine, Myself, AnotherOfMine, AnotherOfMine]), ["1"]);
}
