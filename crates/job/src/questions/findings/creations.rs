//! Communicators and files whose members did not agree when they created them.

use super::{Finding, Kind};
use crate::questions::why::Words;
use std::collections::HashSet;

/// Returns them. Those made alike, such as duplicates of a communicator, are reported once.
pub fn unequal(words: &Words<'_>) -> Vec<Finding> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for one in &words.snapshot.creations {
        let groups: Vec<_> = one.groups.iter().map(|passed| (&passed.what, &passed.members)).collect();
        if !known.insert((&one.function, groups)) {
            continue;
        }
        let suspects = one.suspects();
        // Without a majority all are suspects; the line is then where one differs from the first.
        let odd = suspects.get(usize::from(suspects.len() == one.groups.len()));
        found.push(Finding {
            kind: Kind::COLLECTIVE_MISMATCH,
            ranks: words.members(suspects.iter().flat_map(|passed| &passed.members).copied()),
            line: odd.and_then(|passed| passed.place.as_deref()).map(str::to_owned),
            sentence: words.creation(one),
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::why::scene::{Scene, WORLD};
    use crate::questions::why::{Passed, UnequalCreation};

    #[test]
    fn members_that_opened_a_file_differently_are_reported_once_with_the_line_of_the_odd_one() {
        let mut scene = Scene::of(3);
        let passed = |what: &str, members, place: &str| Passed {
            what: what.into(),
            members,
            place: Some(place.into()),
        };
        let groups =
            vec![passed("MPI_MODE_RDWR", vec![0, 2], "a.c:1"), passed("MPI_MODE_RDONLY", vec![1], "a.c:2")];
        let (function, argument) = ("MPI_File_open".into(), "access mode".into());
        let one = UnequalCreation { comm: WORLD, function, argument, groups };
        scene.0.creations = vec![one.clone(), one];
        let found = unequal(&Words::new(&scene.0));
        let [one] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!((one.ranks.to_string().as_str(), one.line.as_deref()), ("1", Some("a.c:2")));
        let wanted = "collective mismatch (access mode) on WORLD: ranks [0,2] passed MPI_MODE_RDWR, rank 1 passed \
                      MPI_MODE_RDONLY to MPI_File_open";
        assert_eq!(one.sentence, wanted);
    }
}
