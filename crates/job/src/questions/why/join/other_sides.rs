//! Which partitioned messages belong together, of those with the same tag.

use crate::observation::{Observation, Partitioned};

/// Returns what may be the other side of `own`, in the order in which it was made. `is_me` says whether a rank of the
/// communicator is this process for the other one.
///
/// Requests with the same tag are matched in the order of the calls that made them. Of a message that is complete, one side
/// may have freed its request, so the n-th belong together only if none is missing.
pub fn other_sides<'o>(
    own: &Partitioned,
    seen: &Observation,
    other: &'o Observation,
    is_me: impl Fn(u32) -> bool,
) -> Vec<&'o Partitioned> {
    let alike = |one: &&Partitioned| {
        (one.comm, one.peer, one.tag, one.sends) == (own.comm, own.peer, own.tag, own.sends)
    };
    let theirs = |one: &&Partitioned| {
        (one.comm, one.tag, one.sends) == (own.comm, own.tag, !own.sends) && is_me(one.peer)
    };
    let mine = || seen.partitioned.iter().filter(alike);
    let mut theirs: Vec<&Partitioned> = other.partitioned.iter().filter(theirs).collect();
    theirs.sort_by_key(|one| one.made);
    let earlier = || mine().filter(|one| one.made < own.made);
    if mine().count() == theirs.len() {
        return theirs.into_iter().skip(earlier().count()).take(1).collect();
    }
    // The other side of a send that is not complete has not been freed.
    let unmarked =
        |one: &&Partitioned| one.active && one.ready.is_some_and(|ready| ready.missing().is_some());
    theirs.into_iter().skip(earlier().filter(unmarked).count()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::partitioned::Ready;

    fn side(sends: bool, made: u64, marked: Option<u32>) -> Partitioned {
        let ready = marked.map(|marked| Ready { partitions: 2, marked, bits: (1 << marked) - 1 });
        let (peer, bytes, place) = (u32::from(sends), None, None);
        Partitioned { comm: 7, peer, tag: 4, sends, made, starts: 1, active: true, ready, bytes, place }
    }

    fn seen(partitioned: Vec<Partitioned>) -> Observation {
        Observation { partitioned, ..Observation::default() }
    }

    fn made(own: &Partitioned, seen: &Observation, other: &Observation) -> Vec<u64> {
        other_sides(own, seen, other, |_| true).iter().map(|theirs| theirs.made).collect()
    }

    #[test]
    fn messages_with_one_tag_belong_together_in_the_order_in_which_they_were_made() {
        let sender = seen(vec![side(true, 9, Some(2)), side(true, 3, Some(0))]);
        let receiver = seen(vec![side(false, 5, None), side(false, 6, None)]);
        assert_eq!(made(&sender.partitioned[0], &sender, &receiver), [6]);
        assert_eq!(made(&sender.partitioned[1], &sender, &receiver), [5]);
        assert_eq!(made(&receiver.partitioned[0], &receiver, &sender), [3]);
        assert_eq!(made(&receiver.partitioned[1], &receiver, &sender), [9]);
    }

    #[test]
    fn a_receive_that_belongs_to_an_incomplete_send_does_not_belong_to_a_later_one() {
        let receiver = seen(vec![side(false, 5, None)]);
        let sender = |marked: u32| seen(vec![side(true, 3, Some(marked)), side(true, 9, Some(2))]);
        let incomplete = sender(1);
        assert!(made(&incomplete.partitioned[1], &incomplete, &receiver).is_empty());
        let complete = sender(2);
        assert_eq!(
            made(&complete.partitioned[1], &complete, &receiver),
            [5],
            "the first may have been freed"
        );
    }
}
