//! Ranks that waited for each other in a cycle: none of them could have gone on.
//!
//! Followed is only what a rank could not do without: a message from one certain rank, a receiver, members that had not
//! entered a collective. A receive from any source has other ways out.

use super::analysis::Wait;
use super::waiting::WaitFor;
use std::collections::{HashMap, HashSet};

/// Circles that are told; they have no rank in common.
const MOST: usize = 4;
/// Steps from one rank to another that are tried at most.
const PATIENCE: usize = 1 << 20;

/// Circles, each from its lowest rank, which waited for the next one.
pub fn cycles(waits: &[Wait]) -> Vec<Vec<u32>> {
    let mut edges: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut patience = PATIENCE;
    for wait in waits.iter().filter(|wait| wait.what != WaitFor::Any) {
        let targets: Vec<u32> = wait.missing.iter().flat_map(|m| m.ranks.0.iter().copied()).collect();
        for rank in &wait.ranks.0 {
            let room = targets.len().min(patience);
            patience -= room;
            edges.entry(*rank).or_default().extend(targets.iter().take(room));
        }
    }
    let mut starts: Vec<u32> = edges.keys().copied().collect();
    starts.sort_unstable();
    let (mut done, mut found) = (HashSet::new(), Vec::new());
    for start in starts {
        if let Some(cycle) = from(start, &edges, &mut done) {
            found.push(cycle);
        }
        if found.len() == MOST {
            break;
        }
    }
    found
}

/// A cycle that a walk from a rank runs into; ranks that have been walked from are `done`.
fn from(start: u32, edges: &HashMap<u32, Vec<u32>>, done: &mut HashSet<u32>) -> Option<Vec<u32>> {
    if !done.insert(start) {
        return None;
    }
    // The ranks of the way, how many of its edges each has tried, and where on the way each stands.
    let mut way = vec![(start, 0)];
    let mut places = HashMap::from([(start, 0)]);
    while let Some((rank, tried)) = way.last_mut() {
        let Some(next) = edges.get(rank).and_then(|next| next.get(*tried)).copied() else {
            places.remove(rank);
            way.pop();
            continue;
        };
        *tried += 1;
        if let Some(at) = places.get(&next) {
            let mut cycle: Vec<u32> = way.iter().skip(*at).map(|(rank, _)| *rank).collect();
            let lowest = cycle.iter().enumerate().min_by_key(|(_, rank)| **rank).map_or(0, |(at, _)| at);
            cycle.rotate_left(lowest);
            return Some(cycle);
        }
        if done.insert(next) {
            places.insert(next, way.len());
            way.push((next, 0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::analysis::Awaited;
    use super::*;
    use crate::rankset::RankSet;

    fn wait(ranks: &[u32], what: WaitFor, missing: &[u32]) -> Wait {
        let set = |ranks: &[u32]| ranks.iter().copied().collect::<RankSet>();
        let missing = vec![Awaited { ranks: set(missing), did: String::new() }];
        Wait {
            ranks: set(ranks),
            function: String::new(),
            what,
            comm: String::new(),
            number: None,
            root: None,
            place: None,
            missing,
            mismatched: Vec::new(),
        }
    }

    #[test]
    fn ranks_that_receive_from_each_other_are_a_circle_and_those_behind_them_are_not_in_it() {
        let ring = [
            wait(&[0], WaitFor::From, &[2]),
            wait(&[2], WaitFor::To, &[3]),
            wait(&[3], WaitFor::From, &[1]),
            wait(&[1], WaitFor::From, &[3]),
        ];
        assert_eq!(cycles(&ring), [[1, 3]]);
        let collective = [wait(&[0, 1], WaitFor::Others, &[2]), wait(&[2], WaitFor::From, &[1])];
        assert_eq!(cycles(&collective), [[1, 2]]);
        assert_eq!(cycles(&[wait(&[4], WaitFor::From, &[4])]), [[4]]);
    }

    #[test]
    fn a_receive_from_any_source_closes_no_circle() {
        let waits = [wait(&[0], WaitFor::Any, &[1]), wait(&[1], WaitFor::From, &[0])];
        assert_eq!(cycles(&waits), Vec::<Vec<u32>>::new());
    }

    #[test]
    fn a_hundred_thousand_ranks_in_one_circle_take_no_time() {
        let n = 100_000;
        let waits: Vec<Wait> = (0..n).map(|rank| wait(&[rank], WaitFor::From, &[(rank + 1) % n])).collect();
        assert_eq!(cycles(&waits)[0].len(), n as usize);
    }
}
