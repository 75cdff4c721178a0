//! A line for each object of a kind, those that ranks share joined.

use super::look::Found;
use super::same;
use super::table;
use crate::ps::table::align;
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
    let head = ["HANDLE", "RANK", "STATE", "WHAT"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for group in groups.iter().take(MOST) {
        let Some((_, first)) = group.views.first() else { continue };
        let handle = first.object.common().handle;
        let equal = group.views.iter().all(|(_, view)| view.object.common().handle == handle);
        let common = first.object.common();
        let states = group.views.iter().map(|(_, view)| view.object.common().standing);
        let alike = states.clone().all(|state| state == common.standing);
        let brief = group.views.iter().all(|(_, view)| view.brief == first.brief);
        rows.push(vec![
            if equal { short(handle) } else { "differs".into() },
            if group.ranks.0.is_empty() { "-".into() } else { group.ranks.to_string() },
            if alike { state(common.standing).into() } else { "differs".into() },
            if brief { first.brief.clone() } else { format!("{} ...", first.brief) },
        ]);
    }
    lines.extend(align(&rows));
    if groups.len() > MOST {
        lines.push(format!("... and {} more: --json has all", groups.len() - MOST));
    }
    lines
}

fn short(handle: Hex) -> String {
    handle.to_string()
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
