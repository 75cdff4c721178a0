//! The files of a crate have no circular dependencies: each can be read and tested with only the files below it.
//!
//! A file depends on the files named by paths in its code that begin with `crate::` or `super::`. A module and the
//! files in its own folder form a unit: references from the module to them are ignored, those from them to the
//! module count. A re-exported name (`pub use`) counts as a name of the file that defines it. Unit tests and
//! generated tables may name everything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use mpiscope_testkit::paths;

/// A file's module: `["record", "threads"]`; nothing for the root of the crate.
type Module = Vec<String>;

/// The files of a crate with the names they use.
#[derive(Default)]
struct Files(BTreeMap<Module, File>);

#[derive(Default)]
struct File {
    /// Paths from the root of the crate.
    named: BTreeSet<Module>,
    /// Names that it re-exports, with their paths from the root.
    handed_on: BTreeMap<String, Module>,
}

impl Files {
    fn of(source: &Path) -> Self {
        let mut files = Self::default();
        files.read(source, &[]);
        files
    }

    fn read(&mut self, folder: &Path, module: &[String]) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let below: Module = module.iter().cloned().chain([name.clone()]).collect();
            if path.is_dir() && !["tests", "generated"].contains(&name.as_str()) {
                self.read(&path, &below);
            } else if path.extension().is_some_and(|extension| extension == "rs") && name != "tests" {
                let is_of_folder = ["mod", "lib", "main"].contains(&name.as_str());
                let module = if is_of_folder { module.to_vec() } else { below };
                let code = fs::read_to_string(&path).expect("a source file");
                self.0.insert(module.clone(), File::of(&code, &module));
            }
        }
    }

    /// The file that a path leads to: the longest module that it begins with, or the file from which that module
    /// re-exports the name.
    fn owner(&self, path: &[String]) -> Option<&Module> {
        let length = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, file) = self.0.get_key_value(&path[..length])?;
        let handed_on = path.get(length).and_then(|name| file.handed_on.get(name));
        // A name may be re-exported several times, by modules ever closer to its definition.
        handed_on.filter(|further| *further != path).and_then(|further| self.owner(further)).or(Some(module))
    }

    /// The files that each file depends on.
    fn known(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let of = |(module, file): (_, &'_ File)| {
            let owners = file.named.iter().filter_map(|path| self.owner(path));
            (module, owners.filter(|owner| *owner != module).collect())
        };
        self.0.iter().map(of).collect()
    }

    /// All circles: sets of files that can each be reached from every other file of the set.
    fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let known = self.known();
        let reached: BTreeMap<_, _> = known.keys().map(|from| (*from, reached(&known, from))).collect();
        let mut circles: Vec<BTreeSet<&Module>> = Vec::new();
        for (module, all) in &reached {
            if all.contains(module) && !circles.iter().any(|circle| circle.contains(module)) {
                let back = |other: &&&Module| reached[**other].contains(module);
                circles.push(all.iter().filter(back).copied().collect());
            }
        }
        circles
    }
}

fn reached<'a>(known: &BTreeMap<&'a Module, BTreeSet<&'a Module>>, from: &Module) -> BTreeSet<&'a Module> {
    let (mut found, mut next) = (BTreeSet::new(), known[from].clone());
    while let Some(one) = next.pop_first() {
        if found.insert(one) {
            next.extend(&known[one]);
        }
    }
    found
}

impl File {
    fn of(code: &str, module: &[String]) -> Self {
        let code = code.split("\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
        let code = lines.collect::<Vec<_>>().join("\n");
        let mut file = Self::default();
        for statement in statements(&code) {
            file.handed_on.extend(handed_on(statement, module));
        }
        // A re-export is not a dependency.
        let own = statements(&code)
            .filter(|statement| is_re_export(statement))
            .fold(code.clone(), |code, statement| code.replace(statement, ""));
        for root in ["crate::", "super::"] {
            for (at, _) in own.match_indices(root) {
                let part_of_a_longer_path = own[..at].ends_with("::");
                if !part_of_a_longer_path {
                    file.named
                        .extend(paths_in(&own[at..]).into_iter().filter_map(|path| absolute(&path, module)));
                }
            }
        }
        file
    }
}

/// The `use` statements, from the beginning of the line up to the semicolon.
fn statements(code: &str) -> impl Iterator<Item = &str> {
    code.match_indices("use ").filter_map(|(at, _)| {
        let begin = code[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = code[begin..at].trim();
        let end = at + code[at..].find(';')?;
        (before.is_empty() || before.starts_with("pub")).then(|| &code[begin..end])
    })
}

fn is_re_export(statement: &str) -> bool {
    statement.trim_start().starts_with("pub")
}

/// The names that a `pub use` re-exports.
fn handed_on(statement: &str, module: &[String]) -> Vec<(String, Module)> {
    let Some((_, tree)) = statement.split_once("use ").filter(|_| is_re_export(statement)) else {
        return Vec::new();
    };
    let paths = paths_in(tree).into_iter().filter_map(|path| absolute(&path, module));
    paths.filter_map(|path| Some((path.last()?.clone(), path))).collect()
}

/// The paths of the tree at the beginning of the text, such as `a::{b, c::{self, d as e}}`.
fn paths_in(text: &str) -> Vec<Module> {
    let is_of_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let end = text.find(|c| !is_of_path(c)).unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    let head: Module = head.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let Some(group) = rest.strip_prefix('{') else { return vec![head] };
    let (mut level, mut begin, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => level += 1,
            '}' if level > 0 => level -= 1,
            ',' | '}' if level == 0 => {
                parts.push(group[begin..at].trim());
                begin = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    let below = parts.into_iter().filter(|part| !part.is_empty()).flat_map(paths_in);
    below
        .map(|path| head.iter().cloned().chain(path.into_iter().filter(|part| part != "self")).collect())
        .collect()
}

/// A path from the root of the crate; empty for a path into another crate.
fn absolute(path: &[String], module: &[String]) -> Option<Module> {
    let ups = path.iter().take_while(|part| *part == "super").count();
    let (base, rest) = match path.first()?.as_str() {
        "crate" => (&[][..], &path[1..]),
        "self" => (module, &path[1..]),
        "super" => (&module[..module.len().checked_sub(ups)?], &path[ups..]),
        // Only in re-exports: a module's own child, or another crate, for which no file is found.
        _ => (module, path),
    };
    Some(base.iter().chain(rest).cloned().collect())
}

/// The dependencies within a circle: `a -> b` for each of its files that depends on another of its files.
fn ties(files: &Files, circle: &BTreeSet<&Module>) -> Vec<String> {
    let known = files.known();
    let of = |from: &&Module| {
        let from = from.to_owned();
        known[from]
            .intersection(circle)
            .map(move |to| format!("  {} -> {}", from.join("::"), to.join("::")))
            .collect::<Vec<_>>()
    };
    circle.iter().flat_map(of).collect()
}

#[test]
fn no_files_of_a_crate_know_each_other_in_a_circle() {
    let mut found = Vec::new();
    for entry in fs::read_dir(paths::workspace().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").path();
        if !folder.join("src").is_dir() {
            continue;
        }
        let files = Files::of(&folder.join("src"));
        let circles = files.circles();
        let of = |circle| format!("{}:\n{}", folder.display(), ties(&files, circle).join("\n"));
        found.extend(circles.iter().map(of));
    }
    assert!(found.is_empty(), "files in circles: move down what they share\n{}", found.join("\n"));
}

#[test]
fn a_circle_through_a_re_export_is_found() {
    let file = |module: &str, code: &str| {
        let module: Module = module.split("::").map(str::to_owned).collect();
        (module.clone(), File::of(code, &module))
    };
    let circles = |files: &[(&str, &str)]| {
        let files = Files(files.iter().map(|(module, code)| file(module, code)).collect());
        files
            .circles()
            .iter()
            .map(|circle| circle.iter().map(|file| file.join("::")).collect())
            .collect::<Vec<Vec<_>>>()
    };
    let (handing, user) = (("a", "mod b;\npub use b::{X, Y};\n"), ("a::b", "use crate::c::{self, d};\n"));
    assert_eq!(circles(&[handing, user, ("c", "use crate::a::{Y};\n")]), [["a::b", "c"]]);
    assert!(circles(&[handing, user, ("c", "use crate::a::Z; // crate::a::b\n")]).is_empty());
    assert_eq!(circles(&[("a", "fn f() { super::b::g() }"), ("b", "use crate::a;\n")]), [["a", "b"]]);
    assert!(
        circles(&[
            ("a", "use crate::b;\n#[cfg(test)]\nmod tests {"),
            ("b", "#[cfg(test)]\nmod tests { crate::a }")
        ])
        .is_empty()
    );
}
