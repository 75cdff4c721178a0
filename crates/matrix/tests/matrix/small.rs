//! The layer stays small: every process of a job loads it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::{paths, trials};
use object::{Object, ObjectSection};

/// Its maximum size without symbol table and debug information, in bytes, in a release build.
const MOST: u64 = 4_000_000;
/// What `strip` removes.
const STRIPPED: [&str; 3] = [".symtab", ".strtab", ".debug_"];

pub fn trial() -> Trial {
    let name = "the_layer_has_less_than_four_megabytes";
    match paths::libmpiscope() {
        Some(layer) if layer.parent().is_some_and(|folder| folder.ends_with("debug")) => {
            trials::ignored(name, "this is not a release build")
        }
        layer => trials::checked(name, move || has_less(&layer.context("no libmpiscope.so")?)),
    }
}

fn has_less(layer: &Path) -> Result<()> {
    let bytes = fs::read(layer)?;
    let file = object::File::parse(&*bytes)?;
    let is_stripped = |name: &str| STRIPPED.iter().any(|stripped| name.starts_with(stripped));
    let removed = file.sections().filter(|section| section.name().is_ok_and(is_stripped));
    let size = bytes.len() as u64 - removed.map(|section| section.size()).sum::<u64>();
    ensure!(size < MOST, "{} has {size} bytes without what `strip` removes", layer.display());
    Ok(())
}
