//! What the ranks had under way: a line for each kind of request.

use super::output::who;
use crate::render::{self, span};
use mpiscope_job::RankSet;
use mpiscope_job::call_fields::Role;
use mpiscope_job::postmortem::{PendingRequest, Postmortem};

/// Requests of one process that are shown.
const MOST_PENDING: usize = 12;
/// Lines.
const MOST_LINES: usize = 40;

/// Ranks, least and greatest age, what it is, where it was started.
type Alike = (RankSet, Option<(f64, f64)>, String, String);

/// Requests under way, those of several ranks that look alike together.
pub fn lines(postmortem: &Postmortem) -> Vec<String> {
    let mut rows: Vec<Alike> = Vec::new();
    let mut hidden = 0;
    for death in &postmortem.deaths {
        let shown = death.pending.len().min(MOST_PENDING);
        hidden += death.pending.len() - shown;
        for request in death.pending.iter().take(shown) {
            let (what, place) = described(request);
            let age = request.age_s.map(|age| (age, age));
            let room = rows.len() < MOST_LINES;
            let known = rows.iter_mut().find(|row| (&row.2, &row.3) == (&what, &place));
            match (known, death.now.rank) {
                (Some(known), Some(rank)) if !known.0.0.is_empty() => {
                    known.0.0.insert(rank);
                    known.1 = span(known.1, age);
                }
                _ if room => {
                    rows.push((death.now.rank.into_iter().collect(), age, what, place));
                }
                _ => hidden += 1,
            }
        }
    }
    let line = |(ranks, age, what, place): &Alike| {
        let age = age.map_or_else(String::new, |age| format!(", for {}", render::age(age)));
        format!("  {}: {what}{age}{place}", who(ranks))
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if hidden > 0 {
        lines.push(format!("  ... and {hidden} more: --json has all"));
    }
    if !lines.is_empty() {
        lines.splice(0..0, [String::new(), "requests whose completion was not yet seen:".to_owned()]);
    }
    lines
}

/// What it is, and where it was started.
fn described(request: &PendingRequest) -> (String, String) {
    let way = match (request.role, &request.peer) {
        (Some(Role::Source), Some(peer)) => format!(" from {peer}"),
        (Some(_), Some(peer)) => format!(" to {peer}"),
        (None, Some(peer)) if request.root => format!(" root {peer}"),
        (None, Some(peer)) => format!(" target {peer}"),
        (_, None) => String::new(),
    };
    let tag = request.tag.as_ref().map_or_else(String::new, |tag| format!(" tag {tag}"));
    let datatype = request.datatype.as_ref().map(|d| d.split(" 0x").next().unwrap_or(d));
    let datatype = datatype.map_or_else(String::new, |d| format!(", {} x {d}", request.count));
    let place = request.place.as_ref().map_or_else(String::new, |place| format!(" ({place})"));
    let on = request.on.as_ref().map_or_else(String::new, |on| format!(" on {on}"));
    (format!("{}{way}{tag}{on}{datatype}", request.operation), place)
}
