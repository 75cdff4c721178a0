//! Numbers for people.

/// `3 ranks`, `1 rank`.
#[must_use]
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Least and greatest of two spans.
#[must_use]
pub fn span(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> Option<(f64, f64)> {
    match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (a, b) => a.or(b),
    }
}

/// `42s`, or `5.0s..42.0s` where ranks differ.
#[must_use]
pub fn age((least, most): (f64, f64)) -> String {
    let (low, high) = (duration(least), duration(most));
    if low == high { high } else { format!("{low}..{high}") }
}

/// `12us`, `500ms`, `42.0s`, `2m05s`, `2h01m`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_999_5 => format!("{:.0}us", s * 1e6),
        s if s < 0.999_5 => format!("{:.0}ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1}s"),
        s if s < 6000.0 => format!("{}m{:02}s", s as u64 / 60, s as u64 % 60),
        s => format!("{}h{:02}m", s as u64 / 3600, s as u64 / 60 % 60),
    }
}

/// The time of calls, `-` if they were not timed. With a sign before it if that of some of them is [`ESTIMATED`].
#[must_use]
pub fn time_of_calls(seconds: Option<f64>, estimated: u64) -> String {
    let sign = if estimated == 0 { "" } else { "~" };
    seconds.map_or_else(|| "-".to_owned(), |seconds| format!("{sign}{}", duration(seconds)))
}

/// What the sign of [`time_of_calls`] means.
pub const ESTIMATED: &str =
    "~: estimated from one in sixteen of these calls, which are short (MPISCOPE_RECORD_STARTS=1 times each)";

/// Bytes: three digits and a decimal unit.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut units = ["kB", "MB", "GB", "TB", "PB", "EB"].iter();
    let mut unit = units.next();
    while value >= 999.5 && units.len() > 0 {
        value /= 1000.0;
        unit = units.next();
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", unit.unwrap_or(&"B"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_is_not_several() {
        assert_eq!([0, 1, 2].map(|n| count(n, "group")), ["0 groups", "1 group", "2 groups"]);
    }

    #[test]
    fn ages_are_short_and_a_range_where_ranks_differ() {
        assert_eq!(age((0.000_012, 0.000_012)), "12us");
        assert_eq!(age((0.5, 42.04)), "500ms..42.0s");
        assert_eq!(age((125.0, 7260.0)), "2m05s..2h01m");
    }

    #[test]
    fn bytes_are_rounded_to_three_digits() {
        let wanted = [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (4096, "4.10 kB"), (16384, "16.4 kB")];
        for (number, text) in wanted {
            assert_eq!(bytes(number), text);
        }
        assert_eq!(bytes(999_499_999), "999 MB");
        assert_eq!(bytes(999_999_999), "1.00 GB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
    }
}
