//! Collectives on intercommunicators.

use super::*;

/// Four ranks of a world in two groups, 0 and 1, 2 and 3, with the root each passed and when it was inside.
fn of_two_groups(function: &str, calls: [(Option<i64>, Option<RootBetween>, u64, u64); 4]) -> Waits {
    let member = |(me, (root, between, from, until)): (u32, (Option<i64>, Option<RootBetween>, u64, u64))| {
        let mut seen = with_collectives(rank(me, 4), &[(function, root, from, until)]);
        let groups = [vec![0, 1], vec![2, 3]];
        let (own, other) = if me < 2 { (&groups[0], &groups[1]) } else { (&groups[1], &groups[0]) };
        let remote = Some(Remote { size: 2, members: other.clone() });
        let comm =
            Communicator { identity: 9, name: "both".into(), rank: me % 2, size: 2, ..Default::default() };
        seen.communicators.push(Communicator { members: Some(own.clone()), remote, ..comm });
        seen.history[0].comm = 9;
        seen.history[0].kinds[0].between = between.map(|root| Between { root, rank: me % 2, size: 2 });
        seen
    };
    of(&(0..).zip(calls).map(member).collect::<Vec<_>>(), Time::default())
}

#[test]
fn members_of_two_groups_wait_only_for_those_they_need() {
    let waits = |found: &Waits| {
        found.list.iter().map(|lost| (lost.ranks.to_string(), lost.culprit.to_string())).collect::<Vec<_>>()
    };
    let late = |from| (None, None, from, 100);
    let found = of_two_groups("MPI_Barrier", [late(10), late(10), late(10), late(90)]);
    assert_eq!(waits(&found), [("[0-2]".to_owned(), "3".to_owned())]);
    assert!((found.seconds - 0.24).abs() < 1e-9 && found.collectives_seen == 1, "{found:?}");
    // Rank 2 left before the late rank of its own group entered: it did not need that one.
    let found = of_two_groups("MPI_Barrier", [late(10), late(20), (None, None, 10, 30), late(90)]);
    let said = waits(&found);
    assert!(said.contains(&("2".to_owned(), "1".to_owned())), "{found:?}");
    assert!((found.seconds - (0.08 + 0.07 + 0.01)).abs() < 1e-9, "{found:?}");

    let root = |from| (None, Some(RootBetween::Myself), from, 100);
    let idle = |from| (None, Some(RootBetween::AnotherOfMine), from, from + 1);
    let leaf = |from| (Some(1), Some(RootBetween::OfOthers(1)), from, 100);
    let found = of_two_groups("MPI_Bcast", [idle(5), root(60), leaf(10), leaf(20)]);
    assert_eq!(waits(&found), [("[2-3]".to_owned(), "1".to_owned())]);
    assert!((found.seconds - 0.09).abs() < 1e-9, "{found:?}");
    let found = of_two_groups("MPI_Reduce", [idle(5), root(10), leaf(15), leaf(70)]);
    assert_eq!(waits(&found), [("1".to_owned(), "3".to_owned())]);
    assert!((found.seconds - 0.06).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_group_of_another_world_is_not_waited_for_by_records() {
    let own = Communicator { size: 2, ..Communicator::default() };
    let between = |members| Communicator { remote: Some(Remote { size: 3, members }), ..own.clone() };
    assert_eq!(own.callers(), Some(2));
    assert_eq!((between(vec![2, 3, 4]).callers(), between(Vec::new()).callers()), (Some(5), None));
    assert_eq!(between(vec![ANOTHER_WORLD; 3]).callers(), None);
}
