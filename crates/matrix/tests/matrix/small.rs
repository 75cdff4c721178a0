//! The layer stays small: every process of a job loads it.

use std::fs;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::paths;
use mpiscope_testkit::trials::checked;
use object::{Object, ObjectSection};

/// Its maximum size without symbol table and debug information, in bytes, in a release build.
const MOST: u64 = 4_000_000;
/// What `strip` removes.
const STRIPPED: [&str; 3] = [".symtab", ".strtab", ".debug_"];

pub fn trial() -> Trial {
    checked("the_layer_has_less_than_four_megabytes", has_less)
}

fn has_less() -> Result<()> {
    let layer = paths::libmpiscope().context("no libmpiscope.so")?;
    // A build for tests is larger.
    if layer.parent().is_some_and(|folder| folder.ends_with("debug")) {
        return Ok(());
    }
    let bytes = fs::read(&layer)?;
    let file = object::File::parse(&*bytes)?;
    let is_stripped = |name: &str| STRIPPED.iter().any(|stripped| name.starts_with(stripped));
    let removed = file.sections().filter(|section| section.name().is_ok_and(is_stripped));
    let size = bytes.len() as u64 - removed.map(|section| section.size()).sum::<u64>();
    ensure!(size < MOST, "{} has {size} bytes without what `strip` removes", layer.display());
    Ok(())
}
