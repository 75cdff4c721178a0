//! Merges the stacks of many threads into one tree.

use super::{Taken, ThreadStack};
use crate::jobs::worlds::{Members, Worlds};
use serde::Serialize;
use std::collections::BTreeMap;

/// The stacks of a job.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stacks {
    /// The outermost frames.
    pub tree: Vec<Node>,
    /// Why parts are unknown, as text for users, without duplicates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A frame shared by several threads.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Node {
    /// `function at file:line`; a leaf describes what the threads do there.
    pub frame: String,
    /// Ranks that have this frame.
    pub ranks: Members,
    /// The frames called from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Node>,
}

/// Merges the stacks of a job in rank order, so that the frames of the lowest ranks come first.
#[must_use]
pub fn merge(taken: &[Taken]) -> Stacks {
    let mut stacks = Stacks::default();
    let worlds = Worlds::in_order(taken.iter().map(|one| (&*one.world, one.rank.is_none(), one.begin_ns)));
    let mut notes: BTreeMap<&str, Members> = BTreeMap::new();
    let mut all: Vec<(usize, &Taken)> = taken.iter().map(|one| (worlds.number(&one.world), one)).collect();
    all.sort_by_key(|(world, one)| (*world, one.rank.is_none(), one.rank));
    for (world, process) in all {
        for stack in &process.threads {
            add(&mut stacks.tree, stack, (world, process.rank));
            if let Some(part) = &stack.part {
                notes.entry(part).or_default().add(world, process.rank);
            }
        }
    }
    stacks.notes = notes.into_iter().map(|(why, ranks)| format!("{}: {why}", ranks.named())).collect();
    stacks
}

fn add(tree: &mut Vec<Node>, stack: &ThreadStack, (world, rank): (usize, Option<u32>)) {
    let mut level = tree;
    let end = Some(&stack.doing).filter(|doing| !doing.is_empty());
    for frame in stack.frames.iter().chain(end) {
        let at = level.iter().position(|node| node.frame == *frame).unwrap_or_else(|| {
            level.push(Node { frame: frame.clone(), ..Node::default() });
            level.len() - 1
        });
        let Some(node) = level.get_mut(at) else { return };
        node.ranks.add(world, rank);
        level = &mut node.calls;
    }
}

impl Stacks {
    /// Formats the tree as lines: a frame is indented by its depth and names its ranks if they differ from
    /// those of its parent.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.tree.iter().for_each(|node| node.add_lines(1, None, &mut lines));
        lines.extend(self.notes.iter().map(|note| format!("  {note}")));
        lines
    }
}

impl Node {
    fn add_lines(&self, depth: usize, above: Option<&Members>, lines: &mut Vec<String>) {
        let who =
            if above == Some(&self.ranks) { String::new() } else { format!(" ({})", self.ranks.named()) };
        lines.push(format!("{:1$}{2}{who}", "", 2 * depth, self.frame));
        self.calls.iter().for_each(|node| node.add_lines(depth + 1, Some(&self.ranks), lines));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(rank: u32, frames: &[&str], doing: &str) -> Taken {
        let frames = frames.iter().map(|frame| (*frame).to_owned()).collect();
        let stack = ThreadStack { tid: 7, frames, doing: doing.into(), part: None };
        Taken { world: "w".into(), rank: Some(rank), begin_ns: 7, threads: vec![stack] }
    }

    #[test]
    fn common_frames_appear_once_with_their_ranks() {
        let taken = [
            process(0, &["main at a.c:9", "solve at a.c:3"], "in MPI_Recv"),
            process(1, &["main at a.c:9", "solve at a.c:3"], "in MPI_Recv"),
            process(2, &["main at a.c:9"], "computing"),
        ];
        let wanted = [
            "  main at a.c:9 (ranks [0-2])",
            "    solve at a.c:3 (ranks [0-1])",
            "      in MPI_Recv",
            "    computing (rank 2)",
        ];
        assert_eq!(merge(&taken).lines(), wanted);
    }

    #[test]
    fn ranks_are_sorted_and_worlds_are_ordered_by_their_start() {
        let spawned = Taken { world: "a".into(), begin_ns: 9, ..process(0, &["child at b.c:1"], "") };
        let taken =
            [spawned, process(1, &["main at a.c:9"], "in MPI_Recv"), process(0, &["main at a.c:8"], "")];
        let wanted = [
            "  main at a.c:8 (rank 0)",
            "  main at a.c:9 (rank 1)",
            "    in MPI_Recv",
            "  child at b.c:1 (rank 1.0)",
        ];
        assert_eq!(merge(&taken).lines(), wanted);
    }

    #[test]
    fn the_reason_for_incomplete_stacks_is_given_once_for_all_affected_ranks() {
        let mut taken = [process(0, &["a.c:3"], "in MPI_Recv"), process(1, &["a.c:3"], "in MPI_Recv")];
        taken.iter_mut().for_each(|one| one.threads[0].part = Some("not allowed".into()));
        assert_eq!(merge(&taken).notes, ["ranks [0-1]: not allowed"]);
    }
}
