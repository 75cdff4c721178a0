//! Communicators.

use super::attributes::{self, Attribute};
use super::build::Build;
use super::common::Common;
use super::kind::Kind;
use super::links::error_handler_in_force;
use super::open_calls::OpenCall;
use super::reader::Reader;
use super::reference::Reference;
use mpiscope_image::Source;
use mpiscope_image::objects::{Comm, Flag, Head, Topology as Code};
use serde::Serialize;
use std::mem::offset_of;

/// Longer member lists are truncated.
pub const MOST_MEMBERS: usize = 1 << 22;

/// A communicator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Communicator {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Whether it is an intercommunicator.
    pub inter: bool,
    /// This process's rank in the (local) group.
    pub rank: Option<u32>,
    /// Number of processes in the (local) group.
    pub size: u32,
    /// Number of processes in the remote group.
    pub remote_size: u32,
    /// Ranks in `MPI_COMM_WORLD` of the (local) group, in order; −1 for a process outside of it. None if
    /// unknown.
    pub members: Option<Vec<i64>>,
    /// The same for the remote group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Vec<i64>>,
    /// Its topology.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<Topology>,
    /// Number of collectives entered on it.
    pub collectives: u64,
    /// The error handler in force; if none was attached, the parent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// The info last passed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// The pairs of that info at that time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<(String, String)>,
    /// The second communicator that it was created from: the peer communicator of `MPI_Intercomm_create`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_parent: Option<Reference>,
    /// What distinguishes it from its siblings: color, split type or tag (sign-extended).
    pub colour: i64,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Groups obtained from it.
    pub groups: Vec<Reference>,
    /// Requests on it that still exist.
    pub requests: Vec<Reference>,
    /// Calls on it that threads are currently in.
    pub calls: Vec<OpenCall>,
    /// Windows created with it.
    pub windows: Vec<Reference>,
    /// Files opened with it.
    pub files: Vec<Reference>,
}

/// The topology of a communicator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Topology {
    /// `MPI_Cart_create`.
    #[allow(missing_docs)]
    Cartesian {
        dims: Vec<i64>,
        periods: Vec<bool>,
        /// Coordinates of this process.
        coords: Vec<i64>,
    },
    /// `MPI_Graph_create`.
    #[allow(missing_docs)]
    Graph { index: Vec<i64>, edges: Vec<i64> },
    /// `MPI_Dist_graph_create`, `MPI_Dist_graph_create_adjacent`: the neighbors of this process.
    #[allow(missing_docs)]
    DistGraph {
        sources: Vec<i64>,
        source_weights: Option<Vec<i64>>,
        destinations: Vec<i64>,
        destination_weights: Option<Vec<i64>>,
    },
    /// A topology whose arguments are not in the image.
    Unknown,
}

impl Build for Communicator {
    type Record = Comm;
    const KIND: Kind = Kind::Communicator;

    fn head(record: &Comm) -> &Head {
        &record.head
    }

    fn name<S: Source>(_: &Reader<'_, S>, record: &Comm) -> Option<String> {
        Some(record.name.text().into_owned())
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&Comm>) -> Self {
        let Some(record) = record else { return unseen(reader, common) };
        let uid = common.uid;
        let inter = common.has(Flag::INTER);
        let topology = topology(reader, record);
        Self {
            inter,
            rank: Some(record.rank.get()).filter(|rank| *rank != u32::MAX),
            size: record.size.get(),
            remote_size: record.remote_size.get(),
            members: members(reader, &record.members, record.size.get()),
            remote: if inter { members(reader, &record.remote, record.remote_size.get()) } else { None },
            topology,
            collectives: record.collectives.get(),
            errhandler: errhandler(reader, record),
            info: reader.attached(Kind::Info, record.info.get(), record.info_uid.get()),
            hints: reader.hints(&record.hints),
            other_parent: reader.reference(record.other_parent.get()),
            colour: record.colour.get().cast_signed(),
            attributes: attributes::of(reader, uid),
            groups: reader.referring(Kind::Group, offset_of!(Head, parent), uid),
            requests: reader.referring(Kind::Request, offset_of!(Head, parent), uid),
            calls: reader.calls_about(Kind::Communicator, common.handle.0),
            windows: reader.referring(Kind::Window, offset_of!(Head, parent), uid),
            files: reader.referring(Kind::File, offset_of!(Head, parent), uid),
            common,
        }
    }
}

/// A predefined communicator without a record: `MPI_COMM_NULL`, or any in an image without objects.
fn unseen<S: Source>(reader: &Reader<'_, S>, common: Common) -> Communicator {
    let world = reader.world();
    let (rank, size, members) = match common.name.as_deref() {
        Some("MPI_COMM_WORLD") => (world.rank, world.size, Some((0..i64::from(world.size)).collect())),
        Some("MPI_COMM_SELF") => (Some(0), 1, world.rank.map(|rank| vec![i64::from(rank)])),
        _ => (None, 0, None),
    };
    let calls = reader.calls_about(Kind::Communicator, common.handle.0);
    Communicator {
        common,
        inter: false,
        rank,
        size,
        remote_size: 0,
        members,
        remote: None,
        topology: None,
        collectives: 0,
        errhandler: None,
        info: None,
        hints: Vec::new(),
        other_parent: None,
        colour: 0,
        attributes: Vec::new(),
        groups: Vec::new(),
        requests: Vec::new(),
        calls,
        windows: Vec::new(),
        files: Vec::new(),
    }
}

/// Returns the error handler in force: the attached one, otherwise the inherited one, otherwise MPI's
/// default.
fn errhandler<S: Source>(reader: &Reader<'_, S>, record: &Comm) -> Option<Reference> {
    let in_force = error_handler_in_force(reader, record);
    let inherited = in_force.and_then(|(handle, uid)| reader.attached(Kind::Errhandler, handle, uid));
    inherited.or_else(|| reader.known(Kind::Errhandler, "MPI_ERRORS_ARE_FATAL"))
}

/// Returns members as ranks of the world. `array` is empty if they equal the world.
pub(super) fn members<S: Source>(
    reader: &Reader<'_, S>,
    array: &mpiscope_image::layout::Words,
    size: u32,
) -> Option<Vec<i64>> {
    let known: Vec<i64> = reader.words(array).into_iter().map(u64::cast_signed).collect();
    if !known.is_empty() || size == 0 {
        return Some(known);
    }
    let world = size == reader.world().size && size as usize <= MOST_MEMBERS;
    world.then(|| (0..i64::from(size)).collect())
}

fn topology<S: Source>(reader: &Reader<'_, S>, record: &Comm) -> Option<Topology> {
    topology_of(record, || reader.words(&record.topology_args))
}

/// Decodes the topology of a communicator from its arguments.
pub fn topology_of(record: &Comm, words: impl FnOnce() -> Vec<u64>) -> Option<Topology> {
    let code = Code(record.topology.get());
    if code == Code::NONE {
        return None;
    }
    let words: Vec<i64> = words().into_iter().map(u64::cast_signed).collect();
    let made = match code {
        Code::CART => cartesian(&words, record.rank.get()),
        Code::GRAPH => graph(&words),
        Code::DIST_GRAPH => dist_graph(&words),
        _ => None,
    };
    Some(made.unwrap_or(Topology::Unknown))
}

impl Topology {
    /// Returns the ranks from which this rank receives data in a neighborhood collective; `None` if unknown.
    #[must_use]
    pub fn sources(&self, rank: u32) -> Option<Vec<u32>> {
        let known = |ranks: &[i64]| ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect();
        match self {
            Self::Cartesian { dims, periods, coords } => Some(beside(rank, dims, periods, coords)),
            Self::Graph { index, edges } => {
                let at = |rank: usize| usize::try_from(*index.get(rank)?).ok();
                let rank = rank as usize;
                let from = if rank == 0 { 0 } else { at(rank - 1)? };
                Some(known(edges.get(from..at(rank)?)?))
            }
            Self::DistGraph { sources, .. } => Some(known(sources)),
            Self::Unknown => None,
        }
    }

    /// Returns the ranks to which this rank sends data in a neighborhood collective; `None` if unknown.
    #[must_use]
    pub fn destinations(&self, rank: u32) -> Option<Vec<u32>> {
        match self {
            Self::DistGraph { destinations, .. } => {
                Some(destinations.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect())
            }
            // Each sends to the ranks that it receives from.
            _ => self.sources(rank),
        }
    }
}

/// Returns the neighbors of a rank in each dimension of a grid.
fn beside(rank: u32, dims: &[i64], periods: &[bool], coords: &[i64]) -> Vec<u32> {
    let (mut found, mut stride) = (Vec::new(), 1i64);
    // The last dimension varies fastest.
    for ((dim, around), at) in dims.iter().zip(periods).zip(coords).rev() {
        for step in [-1, 1] {
            let there = at + step;
            let there = if *around { there.rem_euclid((*dim).max(1)) } else { there };
            if (0..*dim).contains(&there) {
                let moved = (there - at).checked_mul(stride).and_then(|by| i64::from(rank).checked_add(by));
                found.extend(moved.and_then(|rank| u32::try_from(rank).ok()));
            }
        }
        stride = stride.saturating_mul(*dim);
    }
    found
}

/// Returns a part of an array whose length another word states, and the index after it.
fn piece(words: &[i64], at: usize, len: i64) -> Option<(Vec<i64>, usize)> {
    let end = at.checked_add(usize::try_from(len).ok()?)?;
    Some((words.get(at..end)?.to_vec(), end))
}

fn cartesian(words: &[i64], rank: u32) -> Option<Topology> {
    let ndims = *words.first()?;
    let (dims, at) = piece(words, 1, ndims)?;
    let (periods, _) = piece(words, at, ndims)?;
    let mut coords = Vec::new();
    let mut rest = i64::from(rank);
    // The last dimension varies fastest.
    for dim in dims.iter().rev() {
        coords.push(rest.checked_rem(*dim)?);
        rest = rest.checked_div(*dim)?;
    }
    coords.reverse();
    Some(Topology::Cartesian { dims, periods: periods.iter().map(|p| *p != 0).collect(), coords })
}

fn graph(words: &[i64]) -> Option<Topology> {
    let (index, at) = piece(words, 1, *words.first()?)?;
    let (edges, _) = piece(words, at, index.last().copied().unwrap_or(0))?;
    Some(Topology::Graph { index, edges })
}

fn dist_graph(words: &[i64]) -> Option<Topology> {
    let (indegree, outdegree) = (*words.first()?, *words.get(1)?);
    let weighted = *words.get(2)? != 0;
    let side = |at: usize, degree: i64| {
        let (ranks, at) = piece(words, at, degree)?;
        let (weights, at) =
            if weighted { piece(words, at, degree).map(|(w, at)| (Some(w), at))? } else { (None, at) };
        Some((ranks, weights, at))
    };
    let (sources, source_weights, at) = side(3, indegree)?;
    let (destinations, destination_weights, _) = side(at, outdegree)?;
    Some(Topology::DistGraph { sources, source_weights, destinations, destination_weights })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_follow_from_the_rank() {
        let made = cartesian(&[2, 2, 3, 1, 0], 4).unwrap();
        let (dims, periods) = (vec![2, 3], vec![true, false]);
        assert_eq!(made, Topology::Cartesian { dims, periods, coords: vec![1, 1] });
    }

    #[test]
    fn a_graph_has_as_many_edges_as_its_last_index_says() {
        let made = graph(&[3, 1, 3, 4, 1, 0, 2, 1]).unwrap();
        assert_eq!(made, Topology::Graph { index: vec![1, 3, 4], edges: vec![1, 0, 2, 1] });
        assert_eq!(graph(&[3, 1, 3, 40, 1, 0, 2, 1]), None);
        assert_eq!(graph(&[0]), Some(Topology::Graph { index: vec![], edges: vec![] }));
    }

    #[test]
    fn damaged_arguments_give_no_topology() {
        assert_eq!(cartesian(&[2, 0, 3, 1, 0], 4), None);
        assert_eq!(cartesian(&[i64::MAX, 1], 0), None);
        assert_eq!(dist_graph(&[-1, 2, 0]), None);
        let made = dist_graph(&[1, 2, 1, 7, 70, 8, 9, 80, 90]).unwrap();
        let Topology::DistGraph { destinations, destination_weights, .. } = made else { panic!("{made:?}") };
        assert_eq!((destinations, destination_weights), (vec![8, 9], Some(vec![80, 90])));
    }
}
