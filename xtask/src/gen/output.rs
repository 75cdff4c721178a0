//! Writes generated files, or compares them with the checked-in ones.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub struct Output {
    root: PathBuf,
    check: bool,
    drift: Vec<String>,
}

impl Output {
    pub fn new(root: &Path, check: bool) -> Output {
        Output { root: root.to_owned(), check, drift: Vec::new() }
    }

    /// Writes one file; with `--check`, records the first line that differs instead.
    pub fn put(&mut self, path: &str, text: &str) -> Result<()> {
        let full = self.root.join(path);
        if self.check {
            let old = std::fs::read_to_string(&full).unwrap_or_default();
            if let Some(line) = first_difference(&old, text) {
                self.drift.push(format!("{path}:{line}"));
            }
            return Ok(());
        }
        if let Some(dir) = full.parent() {
            std::fs::create_dir_all(dir)?;
        }
        std::fs::write(&full, text).with_context(|| format!("cannot write {}", full.display()))
    }

    /// The result of `--check`.
    pub fn finish(self) -> Result<()> {
        if self.drift.is_empty() {
            return Ok(());
        }
        bail!(
            "generated files differ from the tables, first at:\n  {}\nRun `cargo xtask gen` and commit the result.",
            self.drift.join("\n  ")
        )
    }
}

/// The number of the first line that differs, from 1.
fn first_difference(old: &str, new: &str) -> Option<usize> {
    if old == new {
        return None;
    }
    let same = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_differing_line_is_named() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("", "a\n"), Some(1));
    }
}
