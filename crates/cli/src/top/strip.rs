//! The strip: one line per sample, one letter per rank. If there are more ranks than columns, each column
//! covers several ranks and shows the rarest of their letters, because outliers are what matters.

use std::collections::{BTreeMap, VecDeque};

/// Number of samples kept.
const MOST: usize = 600;

/// The letters of all ranks, by sample.
#[derive(Debug, Default)]
pub struct Strip {
    lines: VecDeque<Vec<char>>,
}

impl Strip {
    /// Adds a sample.
    pub fn push(&mut self, letters: Vec<char>) {
        if self.lines.len() == MOST {
            self.lines.pop_front();
        }
        self.lines.push_back(letters);
    }

    /// Returns the number of ranks per column.
    pub fn ranks_per_column(&self, width: usize) -> usize {
        let most = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        most.div_ceil(width.max(1)).max(1)
    }

    /// Returns the last `height` samples, the newest last.
    pub fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let each = self.ranks_per_column(width);
        let first = self.lines.len().saturating_sub(height);
        self.lines.iter().skip(first).map(|line| line.chunks(each).map(rarest).collect()).collect()
    }

    /// Returns the letters of one rank over time.
    pub fn of_rank(&self, number: usize, width: usize) -> String {
        let first = self.lines.len().saturating_sub(width);
        self.lines.iter().skip(first).map(|line| line.get(number).copied().unwrap_or(' ')).collect()
    }
}

fn rarest(letters: &[char]) -> char {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    letters.iter().for_each(|letter| *counts.entry(*letter).or_default() += 1);
    counts.into_iter().min_by_key(|(_, count)| *count).map_or(' ', |(letter, _)| letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_ranks_fit_in_a_line_and_an_outlier_stays_visible() {
        let mut strip = Strip::default();
        let mut letters = vec!['c'; 1000];
        letters[700] = '.';
        strip.push(vec!['c'; 1000]);
        strip.push(letters);
        let lines = strip.lines(78, 5);
        assert_eq!((lines.len(), strip.ranks_per_column(78)), (2, 13));
        assert!(lines.iter().all(|line| line.len() <= 78));
        assert_eq!(lines[1].find('.'), Some(700 / 13));
        assert_eq!(strip.of_rank(700, 10), "c.");
    }

    #[test]
    fn only_the_last_samples_are_shown() {
        let mut strip = Strip::default();
        "abc".chars().for_each(|letter| strip.push(vec![letter]));
        assert_eq!(strip.lines(10, 2), ["b", "c"]);
    }
}
