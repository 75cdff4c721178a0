//! Means, and the probability that chance alone makes them differ.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the mean; zero for an empty slice.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Returns the sample variance; `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Performs Welch's two-sided t-test. Returns the probability that two samples of equal means differ at least
/// this much. `None` if a side has fewer than two values.
pub fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let (na, nb) = (a.len() as f64, b.len() as f64);
    let (ea, eb) = (variance(a)? / na, variance(b)? / nb);
    let difference = (mean(a) - mean(b)).abs();
    let error = (ea + eb).sqrt();
    if error <= f64::EPSILON * difference {
        // All values of a side are the same.
        return Some(if difference > 0.0 { 0.0 } else { 1.0 });
    }
    let freedom = (ea + eb).powi(2) / (ea.powi(2) / (na - 1.0) + eb.powi(2) / (nb - 1.0));
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some((2.0 * (1.0 - t.cdf(difference / error))).clamp(0.0, 1.0))
}

/// Corrects probabilities for their number after Benjamini and Hochberg: among those below a limit, the
/// expected share of false positives is at most that limit.
pub fn corrected(chances: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(usize, f64)> =
        chances.iter().enumerate().filter_map(|(at, chance)| Some((at, (*chance)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let all = order.len() as f64;
    let mut found = vec![None; chances.len()];
    let mut least: f64 = 1.0;
    for (place, (at, chance)) in order.into_iter().enumerate().rev() {
        least = least.min(chance * all / (place + 1) as f64);
        if let Some(slot) = found.get_mut(at) {
            *slot = Some(least);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_welch_test_agrees_with_textbooks() {
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4];
        // R: t.test(a, b)$p.value
        assert!((welch(&a, &b).unwrap() - 0.007_9).abs() < 3e-4, "{:?}", welch(&a, &b));
    }

    #[test]
    fn single_runs_prove_nothing_and_equal_runs_do_not_differ() {
        assert_eq!((welch(&[1.0], &[2.0, 3.0]), welch(&[], &[])), (None, None));
        assert_eq!(
            (welch(&[1.0, 1.0], &[1.0, 1.0]), welch(&[1.0, 1.0], &[2.0, 2.0])),
            (Some(1.0), Some(0.0))
        );
    }

    #[test]
    fn probabilities_grow_with_the_number_of_comparisons() {
        let found = corrected(&[Some(0.01), None, Some(0.04), Some(0.03)]);
        let near = |at: usize, wanted: f64| (found[at].unwrap() - wanted).abs() < 1e-12;
        assert!(near(0, 0.03) && near(2, 0.04) && near(3, 0.04) && found[1].is_none(), "{found:?}");
    }
}
