//! Checks statements of the documentation about the sources.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use mpiscope_testkit::paths;

/// All files below `dir` with one of these extensions, except built or fetched ones.
fn files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                found.extend(files(&path, endings));
            }
        } else if path.extension().is_some_and(|end| endings.iter().any(|wanted| end == *wanted)) {
            found.push(path);
        }
    }
    found
}

/// The words `MPISCOPE_…` in a text that directly follow one of these characters.
fn variables(text: &str, after: &[char]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("MPISCOPE_") {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let name: String = text
            .get(at..)
            .unwrap_or_default()
            .chars()
            .take_while(|c| c.is_ascii_uppercase() || *c == '_' || c.is_ascii_digit())
            .collect();
        if before.is_some_and(|c| after.contains(&c)) && !name.ends_with('_') {
            found.insert(name);
        }
    }
    found
}

/// Whether a quoted name is a macro of C headers rather than an environment variable.
fn is_macro(name: &str) -> bool {
    name.ends_with("_H")
        || name.starts_with("MPISCOPE_T_")
        || ["MPISCOPE_OFFSET", "MPISCOPE_SIZE"].contains(&name)
}

#[test]
fn the_page_of_environment_variables_lists_exactly_those_in_the_sources() {
    let root = paths::workspace();
    let page = fs::read_to_string(root.join("docs/environment.md")).unwrap();
    let documented = variables(&page, &['`']);
    let mut used = BTreeSet::new();
    for dir in ["crates", "xtask/src"] {
        for file in files(&root.join(dir), &["rs", "c", "py", "f90"]) {
            let text = fs::read_to_string(&file).unwrap();
            used.extend(variables(&text, &['"']).into_iter().filter(|name| !is_macro(name)));
        }
    }
    let missing: Vec<_> = used.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&used).collect();
    assert!(missing.is_empty(), "docs/environment.md does not list {missing:?}");
    assert!(stale.is_empty(), "docs/environment.md names {stale:?}, which no source uses");
}
