//! The type map: the basic types that a datatype consists of, with their displacements, and the gaps between
//! them.
//!
//! Adjacent equal elements form one [`Run`], so ten million consecutive `MPI_INT`s are one line. A map with
//! more than [`MOST_RUNS`] runs is truncated and marked so.

use super::datatype_tree::{Blocks, Dimension, Node, Shape, Tree};
use mpiscope_image::Source;
use serde::Serialize;
use std::rc::Rc;

/// Maximum number of runs listed.
pub const MOST_RUNS: usize = 1 << 14;
/// Maximum number of blocks visited: bounds the time for one map.
const MOST_STEPS: u64 = 1 << 22;

/// Contiguous elements of one basic type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// The basic type.
    pub datatype: String,
    /// Displacement of the first element from the buffer address, in bytes.
    pub displacement: i64,
    /// Number of elements.
    pub count: u64,
    /// Size of one element in bytes.
    pub size: u64,
}

impl Run {
    /// Returns the displacement just past the last byte.
    pub fn end(&self) -> i64 {
        let len = i64::try_from(self.count.saturating_mul(self.size)).unwrap_or(i64::MAX);
        self.displacement.saturating_add(len)
    }
}

/// A gap: bytes within the bounds that are not part of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hole {
    /// Displacement of the first byte.
    pub displacement: i64,
    /// Length in bytes.
    pub length: u64,
}

/// A type map.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TypeMap {
    /// In the order in which the elements are sent.
    pub runs: Vec<Run>,
    /// Gaps between lower and upper bound, in ascending order.
    pub holes: Vec<Hole>,
    /// Whether there are more runs than are listed, so that gaps are unknown.
    pub cut: bool,
    /// Number of runs omitted in a list of many datatypes.
    #[serde(skip_serializing_if = "is_zero")]
    pub runs_left_out: usize,
    /// Number of gaps omitted in such a list.
    #[serde(skip_serializing_if = "is_zero")]
    pub holes_left_out: usize,
    /// Whether a part is unknown because its construction was not seen.
    pub incomplete: bool,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

struct Builder {
    map: TypeMap,
    steps: u64,
}

impl TypeMap {
    /// Computes the map of a datatype.
    pub fn of<S: Source>(tree: &mut Tree<'_, '_, S>, node: &Rc<Node>) -> Self {
        let mut builder = Builder { map: Self::default(), steps: 0 };
        builder.add(tree, node, 0);
        let mut map = builder.map;
        let bounds = tree.bounds(node);
        let ends = node.stated.or_else(|| bounds.lb().zip(bounds.extent()));
        if let (Some((lb, extent)), false) = (ends, map.cut || map.incomplete) {
            map.holes = holes(&map.runs, lb, lb.saturating_add(extent));
        }
        map
    }

    /// Truncates runs and gaps, and records how many were omitted.
    pub fn shorten(&mut self, most: usize) {
        self.runs_left_out += self.runs.len().saturating_sub(most);
        self.holes_left_out += self.holes.len().saturating_sub(most);
        self.runs.truncate(most);
        self.holes.truncate(most);
    }
}

impl Builder {
    /// Whether more may be added.
    fn go_on(&mut self) -> bool {
        self.steps += 1;
        let cut = self.steps > MOST_STEPS || self.map.runs.len() > MOST_RUNS;
        self.map.cut |= cut;
        if cut {
            self.map.runs.truncate(MOST_RUNS);
        }
        !self.map.cut
    }

    fn run(&mut self, datatype: &str, displacement: i64, count: u64, size: u64) {
        if count == 0 {
            return;
        }
        if let Some(last) = self.map.runs.last_mut()
            && last.end() == displacement
            && last.size == size
            && last.datatype == datatype
        {
            last.count = last.count.saturating_add(count);
            return;
        }
        self.map.runs.push(Run { datatype: datatype.to_owned(), displacement, count, size });
    }

    fn add<S: Source>(&mut self, tree: &Tree<'_, '_, S>, node: &Node, at: i64) {
        if !self.go_on() {
            return;
        }
        match &node.shape {
            Shape::Basic { name, size, .. } => self.run(name, at, 1, *size),
            Shape::Pair(parts, _) => {
                for (name, place, size) in parts {
                    self.run(name, at.saturating_add_unsigned(*place), 1, *size);
                }
            }
            Shape::Blocks { old, blocks } => match blocks {
                Blocks::Regular { count, length, stride } => {
                    for i in 0..*count {
                        if self.map.cut {
                            break;
                        }
                        self.block(tree, old, at.saturating_add(stride.saturating_mul(i)), *length);
                    }
                }
                Blocks::Listed(list) => {
                    for (place, length) in list {
                        self.block(tree, old, at.saturating_add(*place), *length);
                    }
                }
            },
            Shape::Struct(parts) => {
                for (place, length, part) in parts {
                    self.block(tree, part, at.saturating_add(*place), *length);
                }
            }
            Shape::Resized { old, .. } => self.add(tree, old, at),
            Shape::Array { old, dimensions } => {
                if let Some(extent) = tree.bounds(old).extent() {
                    self.array(tree, old, dimensions, extent, at);
                }
            }
            Shape::Unknown => self.map.incomplete = true,
        }
    }

    /// Adds consecutive elements.
    fn block<S: Source>(&mut self, tree: &Tree<'_, '_, S>, old: &Node, at: i64, length: i64) {
        if length <= 0 || !self.go_on() {
            return;
        }
        if let (Shape::Basic { name, size, .. }, Ok(count)) = (&old.shape, u64::try_from(length)) {
            return self.run(name, at, count, *size);
        }
        let Some(extent) = tree.bounds(old).extent() else {
            self.map.incomplete = true;
            return;
        };
        for i in 0..length {
            if self.map.cut {
                return;
            }
            self.add(tree, old, at.saturating_add(extent.saturating_mul(i)));
        }
    }

    /// Adds a part of an array; `dimensions` are ordered from the slowest-varying to the fastest-varying.
    fn array<S: Source>(
        &mut self,
        tree: &Tree<'_, '_, S>,
        old: &Node,
        dimensions: &[Dimension],
        extent: i64,
        at: i64,
    ) {
        let Some((outer, inner)) = dimensions.split_first() else { return };
        let below = inner.iter().fold(extent, |product, d| product.saturating_mul(d.size));
        for (start, len) in &outer.runs {
            if inner.is_empty() {
                self.block(tree, old, at.saturating_add(extent.saturating_mul(*start)), *len);
                continue;
            }
            for i in 0..*len {
                if !self.go_on() {
                    return;
                }
                let place = start.saturating_add(i).saturating_mul(below);
                self.array(tree, old, inner, extent, at.saturating_add(place));
            }
        }
    }
}

/// Returns the gaps that the runs leave between two displacements.
fn holes(runs: &[Run], lb: i64, ub: i64) -> Vec<Hole> {
    let mut covered: Vec<(i64, i64)> = runs.iter().map(|run| (run.displacement, run.end())).collect();
    covered.sort_unstable();
    let mut holes = Vec::new();
    let mut at = lb;
    for (start, end) in covered.into_iter().chain([(ub, ub)]) {
        let start = start.min(ub);
        if start > at {
            holes.push(Hole { displacement: at, length: start.abs_diff(at) });
        }
        at = at.max(end);
    }
    holes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_the_bytes_that_no_run_covers_in_any_order_of_runs() {
        let run = |displacement, count, size| Run { datatype: String::new(), displacement, count, size };
        let found = holes(&[run(16, 1, 8), run(0, 2, 4), run(4, 1, 4)], -4, 32);
        let hole = |displacement, length| Hole { displacement, length };
        assert_eq!(found, [hole(-4, 4), hole(8, 8), hole(24, 8)]);
        assert_eq!(holes(&[run(0, 1, 64)], 0, 32), []);
    }
}
