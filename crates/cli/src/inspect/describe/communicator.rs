//! Communicators: members, topology.

use super::{Context, Fact, field};
use mpiscope_job::RankSet;
use mpiscope_job::model::objects::{Communicator, Topology};
use std::fmt;

/// Number of runs of members shown.
const MOST_RUNS: usize = 24;
/// Maximum number of processes in a grid that is drawn.
const LARGEST_GRID: i64 = 256;
/// Number of graph nodes shown.
const MOST_NODES: usize = 16;

/// The contents of the communicator's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Summary {
    /// `MPI_COMM_SELF`.
    Alone,
    Intra {
        size: u32,
        members: Ranks<MembersOf>,
        topology: Option<Shape>,
    },
    /// Normalized so that both sides agree: the group with the smaller ranks comes first.
    Inter {
        sizes: (u32, u32),
        members: Ranks<(MembersOf, MembersOf)>,
    },
}

/// Members as ranks in the world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ranks<T> {
    Unknown,
    /// Each world has its own numbering.
    SeveralWorlds,
    Known(T),
}

/// Members in communicator order, as ranks in this world.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MembersOf {
    /// The world's number, which is shown except for the first world, as in other views.
    pub world: usize,
    pub members: Vec<i64>,
}

impl fmt::Display for MembersOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.world > 0 {
            write!(f, "{}.", self.world)?;
        }
        f.write_str(&order(&self.members))
    }
}

/// A topology in short.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Shape {
    Cartesian(Vec<i64>),
    Graph(usize),
    DistGraph,
    Unknown,
}

impl Summary {
    pub fn of(comm: &Communicator, world: usize) -> Self {
        if comm.common.name.as_deref() == Some("MPI_COMM_SELF") && comm.common.predefined {
            return Self::Alone;
        }
        if comm.inter {
            return Self::inter(comm, world);
        }
        let topology = comm.topology.as_ref().map(|topology| match topology {
            Topology::Cartesian { dims, .. } => Shape::Cartesian(dims.clone()),
            Topology::Graph { index, .. } => Shape::Graph(index.len()),
            Topology::DistGraph { .. } => Shape::DistGraph,
            Topology::Unknown => Shape::Unknown,
        });
        let members = match &comm.members {
            None => Ranks::Unknown,
            Some(members) if foreign(members) => Ranks::SeveralWorlds,
            Some(members) => Ranks::Known(MembersOf { world, members: members.clone() }),
        };
        Self::Intra { size: comm.size, members, topology }
    }

    fn inter(comm: &Communicator, world: usize) -> Self {
        let sizes = (comm.size, comm.remote_size);
        let ordered = (sizes.0.min(sizes.1), sizes.0.max(sizes.1));
        let Some((members, remote)) = comm.members.as_ref().zip(comm.remote.as_ref()) else {
            return Self::Inter { sizes, members: Ranks::Unknown };
        };
        if foreign(members) || foreign(remote) {
            return Self::Inter { sizes: ordered, members: Ranks::SeveralWorlds };
        }
        let (first, second) = if members <= remote { (members, remote) } else { (remote, members) };
        let sizes = (first.len() as u32, second.len() as u32);
        let [first, second] = [first, second].map(|members| MembersOf { world, members: members.clone() });
        Self::Inter { sizes, members: Ranks::Known((first, second)) }
    }
}

/// Whether there are members outside the world.
fn foreign(members: &[i64]) -> bool {
    members.iter().any(|member| *member < 0)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alone => f.write_str("the process alone"),
            Self::Intra { size, members, topology } => {
                let plural = if *size == 1 { "" } else { "s" };
                f.write_str(&processes(*size))?;
                match members {
                    Ranks::Known(members) => write!(f, ", rank{plural} {members}")?,
                    Ranks::SeveralWorlds => f.write_str(" of several worlds")?,
                    Ranks::Unknown => f.write_str(", members unknown")?,
                }
                topology.as_ref().map_or(Ok(()), |topology| write!(f, ", {topology}"))
            }
            Self::Inter { sizes: (first, second), members } => {
                write!(f, "intercommunicator {first} + {second}, ")?;
                match members {
                    Ranks::Unknown => f.write_str("members unknown"),
                    Ranks::SeveralWorlds => f.write_str("of several worlds"),
                    Ranks::Known((first, second)) => {
                        write!(f, "ranks {first} and {second}")
                    }
                }
            }
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cartesian(dims) => write!(f, "Cartesian {}", times(dims)),
            Self::Graph(nodes) => write!(f, "graph of {nodes} nodes"),
            Self::DistGraph => f.write_str("distributed graph"),
            Self::Unknown => f.write_str("unknown topology"),
        }
    }
}

fn processes(size: u32) -> String {
    if size == 1 { "1 process".to_owned() } else { format!("{size} processes") }
}

fn times(dims: &[i64]) -> String {
    dims.iter().map(i64::to_string).collect::<Vec<_>>().join(" x ")
}

/// Formats ranks in the world in communicator order: as a set if they ascend.
pub fn order(members: &[i64]) -> String {
    let known: Vec<u32> = members.iter().filter_map(|m| u32::try_from(*m).ok()).collect();
    if known.len() == members.len() && known.is_sorted() {
        return known.into_iter().collect::<RankSet>().to_string();
    }
    // Ascending and descending runs, in the given order.
    let mut runs: Vec<(i64, i64, i64)> = Vec::new();
    for member in members {
        match runs.last_mut() {
            Some((_, last, step)) if *last >= 0 && *step != 0 && *last + *step == *member && *member >= 0 => {
                *last = *member
            }
            Some((first, last, step))
                if *member >= 0 && *step == 0 && *last >= 0 && (*member - *first).abs() == 1 =>
            {
                (*step, *last) = (*member - *first, *member);
            }
            // For members outside the world, the step counts the additional ones.
            Some((-1, -1, more)) if *member < 0 => *more += 1,
            _ => runs.push(((*member).max(-1), (*member).max(-1), 0)),
        }
    }
    let listed = runs.iter().take(MOST_RUNS).map(|run| match run {
        (-1, _, 0) => "outside".to_owned(),
        (-1, _, more) => format!("{} outside", more + 1),
        (first, last, _) if first == last => first.to_string(),
        (first, last, _) => format!("{first}-{last}"),
    });
    let more = if runs.len() > MOST_RUNS { ",..." } else { "" };
    format!("({}{more})", listed.collect::<Vec<_>>().join(","))
}

/// Adds all facts.
pub fn text(context: &Context<'_>, comm: &Communicator, lines: &mut Vec<Fact>) {
    let own = comm.rank.map_or_else(|| "none: the process is not a member".into(), |rank| rank.to_string());
    lines.push(field("size", &comm.size.to_string()));
    lines.push(field("own rank", &own));
    let members = |members: &Option<Vec<i64>>| match members {
        Some(members) => format!("ranks of the world: {}", order(members)),
        None => "cannot be seen: the image does not hold them".to_owned(),
    };
    lines.push(field(if comm.inter { "local group" } else { "members" }, &members(&comm.members)));
    if comm.inter {
        lines.push(field("remote size", &comm.remote_size.to_string()));
        lines.push(field("remote group", &members(&comm.remote)));
    }
    if let Some(topology) = &comm.topology {
        self::topology(topology, comm, lines);
    }
    match comm.common.created.as_ref().and_then(|created| created.function.as_deref()) {
        Some("MPI_Comm_split") => lines.push(field("color", &comm.colour.to_string())),
        Some("MPI_Comm_split_type") => lines.push(field("split type", &comm.colour.to_string())),
        _ => {}
    }
    lines.push(field("collectives", &format!("{} entered", comm.collectives)));
    context.one(lines, "error handler", comm.errhandler.as_ref());
    context.given(lines, comm.info.as_ref(), &comm.hints);
    context.one(lines, "other parent", comm.other_parent.as_ref());
    context.attributes(lines, &comm.attributes);
    context.many(lines, "groups", &comm.groups);
    context.many(lines, "requests", &comm.requests);
    context.calls(lines, &comm.calls);
    context.many(lines, "windows", &comm.windows);
    context.many(lines, "files", &comm.files);
}

fn topology(topology: &Topology, comm: &Communicator, lines: &mut Vec<Fact>) {
    match topology {
        Topology::Cartesian { dims, periods, coords } => {
            let periodic: Vec<String> =
                periods.iter().enumerate().filter(|(_, p)| **p).map(|(i, _)| i.to_string()).collect();
            let periodic = match periodic.len() {
                0 => "not periodic".to_owned(),
                1 => format!("periodic in dimension {}", periodic.join(", ")),
                _ => format!("periodic in dimensions {}", periodic.join(", ")),
            };
            lines.push(field("topology", &format!("Cartesian {}, {periodic}", times(dims))));
            let coords: Vec<String> = coords.iter().map(i64::to_string).collect();
            lines.push(field("coordinates", &format!("({}) of this process", coords.join(", "))));
            lines.extend(grid(dims).into_iter().map(Fact::line));
        }
        Topology::Graph { index, edges } => {
            lines.push(field("topology", &format!("graph, {} nodes, {} edges", index.len(), edges.len())));
            let mut start = 0;
            for (node, end) in index.iter().enumerate().take(MOST_NODES) {
                let end = usize::try_from(*end).unwrap_or(0);
                let to: Vec<String> =
                    edges.get(start..end).unwrap_or_default().iter().map(i64::to_string).collect();
                let here = comm.rank == u32::try_from(node).ok();
                lines.push(Fact { here, ..field("", &format!("{node} -> {}", to.join(", "))) });
                start = end;
            }
            if index.len() > MOST_NODES {
                lines.push(continued!("... and {} more nodes", "", index.len() - MOST_NODES));
            }
        }
        Topology::DistGraph { sources, source_weights, destinations, destination_weights } => {
            lines.push(field("topology", "distributed graph, neighbors of this process:"));
            lines.push(continued!("from {}", "", weighted(sources, source_weights.as_deref())));
            lines.push(continued!("to   {}", "", weighted(destinations, destination_weights.as_deref())));
        }
        Topology::Unknown => {
            lines.push(field("topology", "cannot be seen: the image does not hold its arguments"))
        }
    }
}

fn weighted(ranks: &[i64], weights: Option<&[i64]>) -> String {
    let listed: Vec<String> = match weights {
        Some(weights) => ranks.iter().zip(weights).map(|(r, w)| format!("{r} (weight {w})")).collect(),
        None => ranks.iter().map(i64::to_string).collect(),
    };
    if listed.is_empty() { "nobody".to_owned() } else { listed.join(", ") }
}

/// Draws the ranks of a one- or two-dimensional grid in their positions.
fn grid(dims: &[i64]) -> Vec<String> {
    let (rows, columns) = match dims {
        [columns] => (1, *columns),
        [rows, columns] => (*rows, *columns),
        _ => return Vec::new(),
    };
    let all = rows.checked_mul(columns).filter(|all| (2..=LARGEST_GRID).contains(all) && columns <= 32);
    let Some(all) = all else { return Vec::new() };
    let width = (all - 1).to_string().len();
    let line = |row: i64| {
        let cells: Vec<String> =
            (0..columns).map(|column| format!("{:>width$}", row * columns + column)).collect();
        format!("{:20}{}", "", cells.join("  "))
    };
    (0..rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascending_members_are_a_set_and_others_are_runs_in_order() {
        assert_eq!(order(&[0, 1, 2, 3, 7]), "[0-3,7]");
        assert_eq!(order(&[3, 2, 1, 0, 7]), "(3-0,7)");
        assert_eq!(order(&[1, 0]), "(1-0)");
        assert_eq!(order(&[4, 9, 2]), "(4,9,2)");
        assert_eq!(order(&[-1, 2]), "(outside,2)");
        assert_eq!(order(&[-1, -1, 0]), "(2 outside,0)");
        assert_eq!(order(&[0, 1, -1, -1, -1, 2, 3]), "(0-1,3 outside,2-3)");
    }

    #[test]
    fn ranks_of_a_spawned_world_begin_with_its_number() {
        let shown = |world, members: &[i64]| MembersOf { world, members: members.to_vec() }.to_string();
        assert_eq!(shown(0, &[0, 1]), "[0-1]");
        assert_eq!([shown(1, &[0, 1]), shown(2, &[1, 0]), shown(1, &[3])], ["1.[0-1]", "2.(1-0)", "1.3"]);
    }

    #[test]
    fn a_grid_shows_its_ranks_in_position() {
        let listed: Vec<String> = grid(&[2, 3]).iter().map(|l| l.trim().to_owned()).collect();
        assert_eq!(listed, ["0  1  2", "3  4  5"]);
        assert!(grid(&[2, 3, 4]).is_empty() && grid(&[1000, 1000]).is_empty() && grid(&[0, -4]).is_empty());
    }
}
