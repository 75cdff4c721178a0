//! The order in which trials start, chosen so that a run without time for all of them covers the most.
//!
//! Each test first runs on one library, then each on a second one, and so on. Consecutive trials use
//! different libraries, whose launchers wait and compute at different times. The library that comes first
//! changes from test to test and from day to day.

use std::collections::HashMap;
use std::time::SystemTime;

use libtest_mimic::Trial;

/// Orders trials by rounds of one library per test; the first test begins with library number `first`.
/// Ignored trials come last.
#[must_use]
pub fn in_rounds(trials: Vec<Trial>, first: usize) -> Vec<Trial> {
    let (ignored, run): (Vec<_>, Vec<_>) = trials.into_iter().partition(Trial::has_ignored_flag);
    let mut trials = rounds(run, |trial| test_of(trial.name()).to_owned(), first);
    trials.extend(ignored);
    trials
}

/// Days since 1970.
#[must_use]
pub fn day() -> usize {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    usize::try_from(since.as_secs() / (24 * 60 * 60)).unwrap_or(0)
}

/// The test's name without that of the library.
fn test_of(name: &str) -> &str {
    name.split_once("::").map_or(name, |(_library, test)| test)
}

fn rounds<T>(all: Vec<T>, test_of: impl Fn(&T) -> String, first: usize) -> Vec<T> {
    let mut numbers = HashMap::new();
    let mut tests: Vec<Vec<T>> = Vec::new();
    for one in all {
        let number = *numbers.entry(test_of(&one)).or_insert(tests.len());
        match tests.get_mut(number) {
            Some(test) => test.push(one),
            None => tests.push(vec![one]),
        }
    }
    for (number, test) in tests.iter_mut().enumerate() {
        let turn = (number + first) % test.len();
        test.rotate_left(turn);
    }
    let mut tests: Vec<_> = tests.into_iter().map(Vec::into_iter).collect();
    let mut ordered = Vec::new();
    while tests.iter().any(|test| test.len() > 0) {
        ordered.extend(tests.iter_mut().filter_map(Iterator::next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_runs_on_one_library_before_any_runs_on_a_second() {
        let all = ["a::x", "a::y", "b::x", "b::y", "c::y"].map(str::to_owned).to_vec();
        let of = |first| rounds(all.clone(), |name: &String| test_of(name).to_owned(), first);
        assert_eq!(of(0), ["a::x", "b::y", "b::x", "c::y", "a::y"]);
        assert_eq!(of(1), ["b::x", "c::y", "a::x", "a::y", "b::y"]);
    }
}
