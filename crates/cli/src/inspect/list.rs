//! A line for each object of a kind, those that ranks share joined.

use super::look::{Found, Shown};
use super::same::{self, Same};
use super::table;
use crate::ps::table::align;
use mpiscope_job::RankSet;
use mpiscope_job::objects::{Hex, Kind, Standing};

/// Lines that are shown at most; JSON has all.
const MOST: usize = 1000;

/// The lines.
pub fn lines(found: &Found, kind: Kind, freed: bool) -> Vec<String> {
    let mut lines = table::head(found);
    let groups = same::groups(found);
    if groups.is_empty() {
        if found.looks.iter().any(|look| look.blind.is_none()) {
            let freed = if freed { "" } else { " that is not freed" };
            lines.push(format!("  no {kind}{freed}, predefined ones that were not used aside"));
        }
        return lines;
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut hidden = 0;
    for group in &groups {
        let Some(row) = row(group) else { continue };
        // A library has a hundred predefined datatypes and operations, which say nothing about the program.
        if row.predefined && kind != Kind::Communicator {
            hidden += 1;
            continue;
        }
        // Objects of one process each that look alike share a line.
        let alike = |known: &&mut Row| {
            known.state == row.state && known.what == row.what && known.ranks.0.is_disjoint(&row.ranks.0)
        };
        match rows.iter_mut().find(alike) {
            Some(known) if !row.ranks.0.is_empty() => known.add(row),
            _ => rows.push(row),
        }
        if rows.len() > MOST {
            lines.push(format!("more than {MOST} lines: --json has all; --rank 0 shows one rank"));
            break;
        }
    }
    let head = ["HANDLE", "RANK", "STATE", "WHAT"].map(str::to_owned).to_vec();
    let cells = |row: &Row| {
        let ranks = if row.ranks.0.is_empty() { "-".to_owned() } else { row.ranks.to_string() };
        let handle = row.handle.map_or_else(|| "differs".to_owned(), |handle| handle.to_string());
        vec![handle, ranks, row.state.to_owned(), row.what.clone()]
    };
    if rows.is_empty() {
        lines.push(format!("  no {kind} beyond the predefined ones"));
    } else {
        lines.extend(align(&std::iter::once(head).chain(rows.iter().map(cells)).collect::<Vec<_>>()));
    }
    if hidden > 0 {
        lines
            .push(format!("{hidden} predefined ones are not listed; show one by its name: --handle MPI_..."));
    }
    lines
}

/// A line.
struct Row {
    /// None if it differs.
    handle: Option<Hex>,
    ranks: RankSet,
    state: &'static str,
    what: String,
    predefined: bool,
}

impl Row {
    fn add(&mut self, other: Self) {
        self.handle = self.handle.filter(|handle| Some(*handle) == other.handle);
        self.ranks.0.extend(other.ranks.0);
    }
}

fn row(group: &Same<'_>) -> Option<Row> {
    let (_, first) = group.views.first()?;
    let common = first.object.common();
    let all = |alike: &dyn Fn(&Shown) -> bool| group.views.iter().all(|(_, view)| alike(view));
    let handle = all(&|view| view.object.common().handle == common.handle).then_some(common.handle);
    let standing = all(&|view| view.object.common().standing == common.standing);
    let equal = all(&|view| view.brief == first.brief);
    Some(Row {
        handle,
        ranks: group.ranks.clone(),
        state: if standing { state(common.standing) } else { "differs" },
        what: if equal { first.brief.clone() } else { format!("{} ...", first.brief) },
        predefined: common.predefined,
    })
}

/// In a word.
pub fn state(standing: Standing) -> &'static str {
    match standing {
        Standing::Live => "live",
        Standing::Marked => "freed, in use",
        Standing::Freed => "freed",
        Standing::Null => "null",
    }
}
