//! Durations and sizes for people, in one format everywhere: three digits, a space and a unit.

/// Formats a duration: `12.3 us`, `500 ms`, `42.0 s`, `2m05s`, `2h01m`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s.is_nan() || s <= 0.0 => "0 s".to_owned(),
        s if s < 0.999_5e-6 => three_digits(s * 1e9, "ns"),
        s if s < 0.999_5e-3 => three_digits(s * 1e6, "us"),
        s if s < 0.999_5 => three_digits(s * 1e3, "ms"),
        s if s < 99.95 => three_digits(s, "s"),
        s if s < 5999.5 => format!("{}m{:02}s", s.round() as u64 / 60, s.round() as u64 % 60),
        s => format!("{}h{:02}m", (s / 60.0).round() as u64 / 60, (s / 60.0).round() as u64 % 60),
    }
}

/// Formats a point in time, which needs more digits than a duration to be distinguishable: `12.345 s`.
#[must_use]
pub fn moment(seconds: f64) -> String {
    format!("{seconds:.3} s")
}

/// Formats a number of bytes: three digits and a decimal unit.
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
    three_digits(value, unit.unwrap_or(&"B"))
}

fn three_digits(value: f64, unit: &str) -> String {
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_a_unit_at_every_border() {
        let wanted = [
            (0.0, "0 s"),
            (-1.0, "0 s"),
            (12e-9, "12.0 ns"),
            (999.6e-9, "1.00 us"),
            (12.34e-6, "12.3 us"),
            (999.6e-6, "1.00 ms"),
            (0.5, "500 ms"),
            (0.9996, "1.00 s"),
            (3.904, "3.90 s"),
            (9.996, "10.0 s"),
            (42.04, "42.0 s"),
            (99.96, "1m40s"),
            (119.6, "2m00s"),
            (125.0, "2m05s"),
            (5999.6, "1h40m"),
            (7260.0, "2h01m"),
            (7199.0, "2h00m"),
        ];
        for (seconds, text) in wanted {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
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
