//! Options that take a number of seconds.

/// A day: the longest time for which most options make sense.
pub const DAY: f64 = 86_400.0;

/// Returns a parser of numbers from `least` to `most`.
pub fn between(least: f64, most: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let seconds = text.parse().ok().filter(|seconds| (least..=most).contains(seconds));
        seconds.ok_or_else(|| format!("write {least} to {most} seconds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_in_the_range_are_seconds_and_the_message_names_the_range() {
        let parse = between(0.05, DAY);
        assert_eq!((parse("0.05"), parse("86400"), parse("1e3")), (Ok(0.05), Ok(DAY), Ok(1000.0)));
        for wrong in ["", "x", "nan", "inf", "-1", "0", "1e300", "86400.1"] {
            assert_eq!(parse(wrong), Err("write 0.05 to 86400 seconds".to_owned()), "{wrong}");
        }
    }
}
