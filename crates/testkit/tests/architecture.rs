//! Compares what ARCHITECTURE.md says about crates and floors with the manifests and sources.
//!
//! Crates: the table has a row for each crate of the workspace, with exactly the crates that its manifest names,
//! all in rows above its own. Floors of a crate: the code of a floor names only floors below it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpiscope_testkit::paths;

fn architecture() -> String {
    fs::read_to_string(paths::workspace().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md")
}

/// The rows of the table whose first heading is `heading`, cell by cell.
fn table(text: &str, heading: &str) -> Vec<Vec<String>> {
    let head = format!("| {heading} |");
    let lines = text.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    lines
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// The names in backquotes.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Folder names of the workspace's crates, each with its dependencies except those for tests.
fn manifests() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(paths::workspace());
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let folder = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut all = BTreeMap::new();
    for package in list(&metadata["packages"]) {
        let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a path"));
        let known = list(&package["dependencies"])
            .iter()
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| folder(Path::new(dependency["path"].as_str()?)))
            .collect();
        all.insert(manifest.parent().and_then(folder).expect("a folder"), known);
    }
    all
}

#[test]
fn crates_depend_on_the_crates_in_the_table_and_these_are_in_rows_above() {
    let manifests = manifests();
    let mut above = BTreeSet::new();
    let mut wrong = Vec::new();
    for row in table(&architecture(), "crate") {
        let crates = names(&row[0]);
        let said: BTreeSet<String> = names(&row[2]).into_iter().collect();
        for name in &crates {
            let Some(known) = manifests.get(name) else {
                wrong.push(format!("{name}: there is no such crate"));
                continue;
            };
            if row[2] == "all" {
                continue;
            }
            if *known != said {
                wrong.push(format!("{name}: its manifest names {known:?}, the table names {said:?}"));
            }
            wrong.extend(
                said.difference(&above).map(|below| format!("{name}: {below} is not in a row above it")),
            );
        }
        above.extend(crates);
    }
    wrong.extend(
        manifests
            .keys()
            .filter(|name| !above.contains(*name))
            .map(|name| format!("{name}: not in the table")),
    );
    assert!(wrong.is_empty(), "ARCHITECTURE.md, table of the crates:\n{}", wrong.join("\n"));
}

/// The crates that have floors, each with the heading of its table.
const WITH_FLOORS: [(&str, &str); 2] = [("layer", "floor"), ("job", "floor of `job`")];

/// The floors in the table with this heading, the lowest first.
fn floors(heading: &str) -> Vec<String> {
    let mut floors: Vec<String> =
        table(&architecture(), heading).iter().flat_map(|row| names(&row[0])).collect();
    assert!(floors.len() > 4, "too few floors in the table: {floors:?}");
    floors.reverse();
    floors
}

/// Rust files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The depth of a file's module below the root of its crate: `base/clock.rs` 2, `base/mod.rs` 1.
fn depth(file: &Path) -> usize {
    file.components().count() - usize::from(file.ends_with("mod.rs"))
}

/// The modules of the crate's root that code names, with the line: `crate::a`, `crate::{a, b}`, and `super::a` with
/// as many `super` as lead to the root. Comments are ignored.
fn named(code: &str, depth: usize) -> Vec<(usize, String)> {
    let to_root = "super::".repeat(depth);
    let mut found = Vec::new();
    let without_comments: Vec<&str> =
        code.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code)).collect();
    let text = without_comments.join("\n");
    for root in ["crate::", &to_root] {
        for (at, _) in text.match_indices(root) {
            let line = text[..at].matches('\n').count() + 1;
            let rest = &text[at + root.len()..];
            for name in first_names(rest) {
                found.push((line, name));
            }
        }
    }
    found
}

/// The name that a path begins with; for a group in braces, the names that its paths begin with.
fn first_names(path: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let first = |path: &str| path.trim_start().chars().take_while(|c| is_name(*c)).collect::<String>();
    let Some(group) = path.strip_prefix('{') else { return vec![first(path)] };
    let (mut level, mut begin, mut names) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level > 0 => level -= 1,
            ',' if level == 0 => {
                names.push(first(&group[begin..at]));
                begin = at + 1;
            }
            '}' => {
                names.push(first(&group[begin..at]));
                break;
            }
            _ => {}
        }
    }
    names
}

/// The code of a file without its unit tests, which may use everything.
fn code_of(file: &Path) -> String {
    let is_test = file.ends_with("tests.rs") || file.components().any(|part| part.as_os_str() == "tests");
    if is_test {
        return String::new();
    }
    let code = fs::read_to_string(file).expect("a source file");
    code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
}

/// The places where a floor of a crate names one above it.
fn leading_up(name: &str, floors: &[String]) -> Vec<String> {
    let source = paths::workspace().join("crates").join(name).join("src");
    let mut wrong = Vec::new();
    for (height, floor) in floors.iter().enumerate() {
        let mut files = Vec::new();
        sources(&source.join(floor), &mut files);
        for file in files {
            let below = file.strip_prefix(&source).expect("a file of the crate");
            for (line, named) in named(&code_of(&file), depth(below)) {
                if floors.iter().position(|floor| *floor == named).is_some_and(|named| named > height) {
                    let known = floors[..height].join(", ");
                    wrong.push(format!(
                        "crates/{name}/src/{}:{line}: names `{named}`; the floor `{floor}` may name only: {known}",
                        below.display()
                    ));
                }
            }
        }
    }
    wrong
}

#[test]
fn no_floor_names_one_above_it() {
    let wrong: Vec<String> =
        WITH_FLOORS.iter().flat_map(|(name, heading)| leading_up(name, &floors(heading))).collect();
    assert!(
        wrong.is_empty(),
        "a floor may name only those below it (ARCHITECTURE.md):\n{}",
        wrong.join("\n")
    );
}

/// Besides its floors, the crate `job` has modules that all floors use: its error, its schema, images for tests.
const BESIDE: [&str; 3] = ["error", "schema", "test_image"];

#[test]
fn every_module_of_a_crate_with_floors_is_on_a_floor() {
    for (name, heading) in WITH_FLOORS {
        let root = paths::workspace().join("crates").join(name).join("src/lib.rs");
        let modules: BTreeSet<String> = fs::read_to_string(root)
            .expect("lib.rs")
            .lines()
            .filter_map(|line| {
                line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
            })
            .filter(|module| !(name == "job" && BESIDE.contains(&module.as_str())))
            .collect();
        assert_eq!(modules, floors(heading).into_iter().collect(), "{name}");
    }
}

/// Whether a module of a crate is a file or a folder.
fn is_module(name: &str, path: &[&str]) -> bool {
    let source = paths::workspace().join("crates").join(name).join("src").join(path.join("/"));
    source.with_extension("rs").is_file() || source.join("mod.rs").is_file()
}

#[test]
fn every_module_named_in_the_text_exists() {
    let crates = manifests();
    let text = architecture();
    let mut seen = 0;
    for named in names(&text) {
        let mut path = named.split("::");
        let (Some(name), Some(_)) = (path.next(), path.clone().next()) else { continue };
        let modules: Vec<&str> = path.take_while(|part| part.starts_with(char::is_lowercase)).collect();
        if crates.contains_key(name) {
            seen += 1;
            assert!(is_module(name, &modules), "ARCHITECTURE.md names `{named}`, which is not a module");
        }
    }
    assert!(seen > 10, "only {seen} modules were found in the text");
}

/// A terminal of the locale C shows no other characters.
#[test]
fn messages_mark_omissions_with_ascii_dots() {
    let mut files = Vec::new();
    for name in ["cli", "job", "layer", "target", "debugger-host"] {
        sources(&paths::workspace().join("crates").join(name).join("src"), &mut files);
    }
    // It reads the commands of the documentation, which marks omissions in its own way.
    files.retain(|file| !file.ends_with("documented.rs"));
    assert!(files.len() > 300, "only {} files", files.len());
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        let is_message = |line: &&str| line.contains('…') && !line.trim_start().starts_with("//");
        assert_eq!(text.lines().find(is_message), None, "{}", file.display());
    }
}

#[test]
fn a_path_to_another_floor_is_found_in_every_notation() {
    let found = |code: &str, depth| {
        named(code, depth).into_iter().map(|(line, name)| format!("{line} {name}")).collect::<Vec<_>>()
    };
    assert_eq!(found("use crate::record::threads;\n", 2), ["1 record"]);
    assert_eq!(found("\nuse crate::{base::{image, clock}, mpi_t};\n", 2), ["2 base", "2 mpi_t"]);
    assert_eq!(found("sym $crate::hooks::f // crate::debugger\n", 2), ["1 hooks"]);
    assert_eq!(found("use super::super::mpi_t::pvar;\n", 2), ["1 mpi_t"]);
    assert_eq!(depth(Path::new("base/clock.rs")), 2);
    assert_eq!(depth(Path::new("base/mod.rs")), 1);
}
