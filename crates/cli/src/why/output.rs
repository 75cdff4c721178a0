//! A verdict as text.

use crate::render;
use mpiscope_job::questions::why::{Evidence, Verdict};

/// Number of evidence lines shown; the rest is counted.
const MOST_LINES: usize = 12;

/// Returns the lines to print.
pub fn lines(found: &Verdict) -> Vec<String> {
    let mut lines = reasons(found);
    lines.push(format!("next: {}", found.next));
    lines
}

/// Returns the lines without the next thing to try.
pub fn reasons(found: &Verdict) -> Vec<String> {
    let mut lines = vec![found.verdict.clone()];
    lines.extend(found.also.iter().map(|also| format!("also: {}", also.verdict)));
    lines.extend(found.evidence.iter().take(MOST_LINES).map(evidence));
    if let Some(more @ 1..) = found.evidence.len().checked_sub(MOST_LINES) {
        lines.push(format!("  ... and {} (--json has them all)", render::count(more, "more line")));
    }
    lines.extend(found.not_seen.iter().map(|what| format!("not seen: {what}")));
    lines
}

fn evidence(line: &Evidence) -> String {
    let since = line.since_s.map_or_else(String::new, |since| format!(", for {}", render::age(since)));
    format!("  {}: {}{since}", line.ranks.named(), line.what)
}
