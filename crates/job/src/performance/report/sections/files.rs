//! Files, each across all ranks and openings.

use super::Part;
use crate::jobs::worlds::Members;
use crate::performance::report::document::FileUse;
use std::collections::BTreeMap;

/// Returns the files by name, in descending order of time.
pub(super) fn files(parts: &[Part<'_>]) -> Vec<FileUse> {
    let mut found: BTreeMap<&str, FileUse> = BTreeMap::new();
    for part in parts {
        let mut own: BTreeMap<&str, f64> = BTreeMap::new();
        for used in &part.facts.files {
            let file = found.entry(&used.path).or_insert_with(|| FileUse::named(&used.path));
            file.ranks.add(part.world, part.rank);
            file.opened += 1;
            file.reads = file.reads.saturating_add(used.reads);
            file.read_bytes = file.read_bytes.saturating_add(used.read_bytes);
            file.writes = file.writes.saturating_add(used.writes);
            file.written_bytes = file.written_bytes.saturating_add(used.written_bytes);
            file.seconds += used.seconds;
            *own.entry(&used.path).or_default() += used.seconds;
        }
        for (path, seconds) in own {
            if let Some(file) = found.get_mut(path).filter(|file| seconds > file.slowest_s) {
                file.slowest_s = seconds;
                file.slowest = [(part.world, part.rank)].into_iter().collect();
            }
        }
    }
    let mut found: Vec<FileUse> = found.into_values().collect();
    found.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then(a.path.cmp(&b.path)));
    found
}

impl FileUse {
    fn named(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            ranks: Members::default(),
            opened: 0,
            reads: 0,
            read_bytes: 0,
            writes: 0,
            written_bytes: 0,
            seconds: 0.0,
            slowest: Members::default(),
            slowest_s: 0.0,
        }
    }
}
