//! Rows of the table: one for each thread in MPI, or one for a rank without such a thread. Equal rows are
//! merged.

use crate::render::{Table, age, or_dash, span};
use mpiscope_job::Members;
use mpiscope_job::model::objects::{Kind, Reference};
use mpiscope_job::model::rank_status::{CallStatus, PeerRank, RankStatus, ThreadStatus};
use mpiscope_job::observation::is_stopped;

/// A row, shared by all ranks that do the same.
#[derive(Debug, Clone)]
pub struct Row {
    /// The ranks; empty if unknown.
    pub ranks: Members,
    /// Process ids.
    pub pids: Vec<u32>,
    /// Minimum and maximum age in seconds.
    pub age: Option<(f64, f64)>,
    /// The values of [`CELLS`].
    pub cells: Vec<String>,
}

/// The columns of [`Row::cells`].
pub const CELLS: [&str; 9] = ["HOST", "STATE", "CALL", "PEER", "TAG", "COMM", "COUNT", "TYPE", "WHERE"];

/// Returns the merged rows of a job, in the order of their first ranks.
pub fn rows(ranks: &[RankStatus]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for row in ranks.iter().flat_map(rank_rows) {
        // Two threads of a rank get two rows, even if they do the same.
        let same = |known: &&mut Row| known.cells == row.cells && !known.ranks.meets(&row.ranks);
        match rows.iter_mut().find(same) {
            Some(known) if !row.ranks.is_empty() => fold(known, row),
            _ => rows.push(row),
        }
    }
    rows
}

/// Makes a table of the rows.
pub fn table(rows: &[Row]) -> Table {
    let [host, state, call, peer, tag, comm, count, datatype, place] = CELLS;
    let mut table =
        Table::new(&["RANK", host, "PID", state, call, peer, tag, comm, count, datatype, "AGE", place]);
    rows.iter().for_each(|row| table.push(columns(row)));
    table
}

fn columns(row: &Row) -> Vec<String> {
    let mut cells = row.cells.clone();
    let pid = match row.pids.as_slice() {
        [only] => only.to_string(),
        several => format!("x{}", several.len()),
    };
    let place = cells.pop().unwrap_or_default();
    let mut columns = vec![or_dash(Some(row.ranks.to_string()))];
    columns.extend(cells.drain(..1));
    columns.push(pid);
    columns.append(&mut cells);
    columns.push(or_dash(row.age.map(age)));
    columns.push(place);
    columns
}

fn fold(known: &mut Row, row: Row) {
    known.ranks.join(row.ranks);
    known.pids.extend(row.pids);
    known.age = span(known.age, row.age);
}

fn rank_rows(rank: &RankStatus) -> Vec<Row> {
    let row = |cells: Vec<String>, age: Option<f64>| Row {
        ranks: [(rank.world_number, rank.rank)].into_iter().collect(),
        pids: vec![rank.pid],
        age: age.map(|age| (age, age)),
        cells,
    };
    let threads = rank.busy();
    if threads.is_empty() {
        return vec![row(cells(rank, None, rank.state.clone()), None)];
    }
    let several = threads.len() > 1;
    let age = |t: &ThreadStatus| t.polling_s.or(t.age_s);
    threads.into_iter().map(|t| row(cells(rank, Some(t), state(rank, t, several)), age(t))).collect()
}

fn state(rank: &RankStatus, thread: &ThreadStatus, several: bool) -> String {
    let stopped = thread.doing.as_deref().filter(|doing| is_stopped(doing));
    let state = match (&thread.call, rank.state.as_str()) {
        (_, "running") if stopped.is_some() => outside(stopped).to_owned(),
        (_, "running") if thread.polling_s.is_some() => "polling".to_owned(),
        (Some(call), "running") if call.nested > 0 => "in callback".to_owned(),
        (Some(_), "running") => "in call".to_owned(),
        (None, "running") => outside(thread.doing.as_deref()).to_owned(),
        (_, other) => other.to_owned(),
    };
    // The thread is named if there are several, or if it is not the expected one.
    let named = several || (thread.call.is_some() && !thread.main);
    if named { format!("{state}, thread {}", thread.thread) } else { state }
}

/// Returns one word for what a thread does outside MPI.
fn outside(doing: Option<&str>) -> &str {
    doing.and_then(|doing| doing.split(' ').next()).unwrap_or("computing")
}

fn cells(rank: &RankStatus, thread: Option<&ThreadStatus>, state: String) -> Vec<String> {
    let host = if rank.host.is_empty() { "-".to_owned() } else { rank.host.clone() };
    let mut cells = vec![host, state];
    cells.extend(call_cells(thread));
    cells
}

/// Returns call, peer, tag, communicator, count, type and place; outside MPI, the last call and its place.
pub fn call_cells(thread: Option<&ThreadStatus>) -> Vec<String> {
    // A thread between two polls counts as inside the call.
    let polled = |t: &ThreadStatus| t.polling_s.is_some();
    let call = thread.and_then(|t| t.call.as_ref().or(t.last_call.as_ref().filter(|_| polled(t))));
    if let Some(last) = thread.and_then(|t| t.last_call.as_ref()).filter(|_| call.is_none()) {
        let mut cells = vec!["-".to_owned(); CELLS.len() - 2];
        if let [function, .., place] = cells.as_mut_slice() {
            *function = format!("after {}", last.function);
            *place = last.place.clone().unwrap_or_else(|| place.clone());
        }
        return cells;
    }
    let of =
        |get: &dyn Fn(&CallStatus) -> Option<String>| call.and_then(get).unwrap_or_else(|| "-".to_owned());
    vec![
        of(&|c| Some(if c.torn { format!("{}?", c.function) } else { c.function.clone() })),
        of(&peers),
        of(&|c| c.tag.as_deref().map(short)),
        of(&|c| c.object.as_ref().map(called)),
        of(&|c| c.count.map(|n| n.to_string())),
        of(&|c| c.datatype.as_ref().map(called)),
        of(&|c| c.place.clone()),
    ]
}

/// Shortens well-known names such as `MPI_COMM_WORLD`.
pub fn short(name: &str) -> String {
    let name = name.strip_prefix("MPI_COMM_").or_else(|| name.strip_prefix("MPI_")).unwrap_or(name);
    name.to_owned()
}

/// Returns an object's name as all views show it, except that well-known names are shortened and addresses removed.
fn called(object: &Reference) -> String {
    match (&object.name, object.label()) {
        (Some(_), label) if object.predefined => short(&label),
        (Some(_), label) => label,
        (None, _) if object.kind == Kind::Datatype => object.derived(),
        (None, label) => unnamed(&label),
    }
}

/// Removes handles that are addresses: they differ between processes and would keep equal rows apart.
fn unnamed(name: &str) -> String {
    match name.split_once("0x") {
        Some((before, digits)) if digits.split(' ').next().is_some_and(|d| d.len() > 8) => {
            let size = digits.split_once(' ').map_or("", |(_, size)| size);
            format!("{before}unnamed {size}").trim_end().to_owned()
        }
        _ => name.to_owned(),
    }
}

fn peers(call: &CallStatus) -> Option<String> {
    let to = peer(call.peer.as_ref()?);
    Some(match &call.source {
        Some(from) => format!("to {to} from {}", peer(from)),
        None => to,
    })
}

/// Formats a rank in the world, followed in brackets by the rank in the communicator if that differs.
fn peer(peer: &PeerRank) -> String {
    let root = if peer.root { "root " } else { "" };
    match (&peer.name, peer.world_rank) {
        (Some(name), _) => short(name),
        (None, Some(world)) => format!("{root}{world}({})", peer.rank),
        (None, None) => format!("{root}{}", peer.rank),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hidden_and_small_handles_are_shown() {
        assert_eq!(unnamed("0x5598d593d4c0"), "unnamed");
        assert_eq!(unnamed("0x5598d593d4c0 (size 4)"), "unnamed (size 4)");
        assert_eq!(unnamed("Win 0x5598d593d4c0"), "Win unnamed");
        assert_eq!(unnamed("0x84000001 (size 2)"), "0x84000001 (size 2)");
    }

    #[test]
    fn a_name_that_the_program_chose_is_shown_as_it_is() {
        let of = |name: &str, predefined| {
            let comm = Reference::unknown(Kind::Communicator, 0x5598_d593_d4c0, 1);
            called(&Reference { name: Some(name.into()), predefined, ..comm })
        };
        assert_eq!(of("MPI_COMM_WORLD", true), "WORLD");
        assert_eq!(of("box 0x5598d593d4c0 (a)", false), "\"box 0x5598d593d4c0 (a)\"");
        assert_eq!(of("MPI_COMM_WORLD", false), "\"MPI_COMM_WORLD\"");
    }

    #[test]
    fn a_peer_is_a_world_rank_with_its_communicator_rank_in_brackets() {
        let of = |rank, world_rank, root| peer(&PeerRank { rank, name: None, world_rank, root });
        assert_eq!(of(1, None, false), "1");
        assert_eq!(of(1, Some(5), false), "5(1)");
        assert_eq!(of(0, None, true), "root 0");
    }
}
