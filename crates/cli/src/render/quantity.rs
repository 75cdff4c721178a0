//! Numbers formatted for people.

pub use mpiscope_job::base::quantity::{bytes, duration, moment};

/// Formats a count: `3 ranks`, `1 rank`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Formats the number of completed calls and of calls still open at the end: `3 + 1 open`.
#[must_use]
pub fn calls(completed: u64, open: usize) -> String {
    match (completed, open) {
        (completed, 0) => completed.to_string(),
        (0, open) => format!("{open} open"),
        (completed, open) => format!("{completed} + {open} open"),
    }
}

/// Returns the union of two ranges, each given by its minimum and maximum.
#[must_use]
pub fn span(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (a, b) => a.or(b),
    }
}

/// Formats an age: `42.0 s`, or `5.00 s..42.0 s` if ranks differ.
#[must_use]
pub fn age((least, most): (f64, f64)) -> String {
    let (low, high) = (duration(least), duration(most));
    if low == high { high } else { format!("{low}..{high}") }
}

/// Formats the time of calls: `-` if they were not timed, marked as [`ESTIMATED`] if any of them was
/// estimated.
#[must_use]
pub fn time_of_calls(seconds: Option<f64>, estimated: u64) -> String {
    let sign = if estimated == 0 { "" } else { "~" };
    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{sign}{}", duration(seconds)))
}

/// Explanation of the mark in [`time_of_calls`].
pub const ESTIMATED: &str =
    "~: estimated from one in sixteen of these short calls (MPISCOPE_RECORD_STARTS=1 times each)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_is_not_in_the_plural() {
        assert_eq!([0, 1, 2].map(|n| count(n, "group")), ["0 groups", "1 group", "2 groups"]);
    }

    #[test]
    fn ages_are_short_and_a_range_if_ranks_differ() {
        assert_eq!(age((0.000_012, 0.000_012)), "12.0 us");
        assert_eq!(age((0.5, 42.04)), "500 ms..42.0 s");
        assert_eq!(age((125.0, 7260.0)), "2m05s..2h01m");
    }
}
