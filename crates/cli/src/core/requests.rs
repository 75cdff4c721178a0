//! The ranks' outstanding requests: one line per kind.

use crate::inspect::describe::request::What;
use crate::render::{self, span};
use mpiscope_job::Members;
use mpiscope_job::questions::postmortem::{PendingRequest, Postmortem};

/// Number of requests shown per process.
const MOST_PENDING: usize = 12;
/// Maximum number of lines.
const MOST_LINES: usize = 40;

/// Ranks, minimum and maximum age, description, place of the start.
type Alike = (Members, Option<(f64, f64)>, What, String);

/// Returns the outstanding requests, with equal ones of several ranks merged.
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
            match (known, death.rank()) {
                (Some(known), Some((world, rank))) if !known.0.is_empty() => {
                    known.0.add(world, rank);
                    known.1 = span(known.1, age);
                }
                _ if room => {
                    rows.push((death.rank().into_iter().collect(), age, what, place));
                }
                _ => hidden += 1,
            }
        }
    }
    let line = |(ranks, age, what, place): &Alike| {
        let age = age.map_or_else(String::new, |age| format!(", for {}", render::age(age)));
        format!("  {}: {what}{age}{place}", ranks.named())
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

/// Returns the description and the place of the start.
fn described(pending: &PendingRequest) -> (What, String) {
    let start = pending.request.start.as_ref();
    let place = start.and_then(|start| start.place.as_ref());
    let place = place.map_or_else(String::new, |place| format!(" ({place})"));
    (What::of(&pending.request), place)
}
