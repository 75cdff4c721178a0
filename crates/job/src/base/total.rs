//! Sums for output.

/// Returns the sum; 0.0 for no numbers, where the standard library's sum is -0.0 and would be serialized as
/// such.
pub fn total(numbers: impl IntoIterator<Item = f64>) -> f64 {
    numbers.into_iter().fold(0.0, |sum, number| sum + number)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sum_of_nothing_is_positive_zero() {
        assert!(super::total([]).is_sign_positive());
        assert!((super::total([0.5, 0.25]) - 0.75).abs() < f64::EPSILON);
    }
}
