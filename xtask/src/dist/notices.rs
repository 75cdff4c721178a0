//! Third-party code in the shipped files: licenses and a bill of materials (CycloneDX).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tree::VERSION;
use crate::build;

/// The shipped packages.
const SHIPPED: [&str; 4] =
    ["mpiscope", "mpiscope-layer", "mpiscope-plugin-handles", "mpiscope-plugin-queues"];

/// The name of the whole release in the bill.
const WHOLE: &str = "mpiscope-release";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    source: Option<String>,
    manifest_path: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

impl Dependency {
    /// Whether the dependency is linked, rather than only used for building or testing.
    fn is_linked(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind.is_none())
    }
}

/// Writes `LICENSES.txt` and `sbom.cdx.json`.
pub fn write(folder: &Path, epoch: u64) -> Result<()> {
    let metadata = metadata()?;
    let linked = linked(&metadata);
    fs::write(folder.join("LICENSES.txt"), licenses(&linked)?)?;
    let bill = serde_json::to_string_pretty(&bill(&metadata, &linked, epoch))?;
    fs::write(folder.join("sbom.cdx.json"), bill + "\n")?;
    Ok(())
}

fn metadata() -> Result<Metadata> {
    let mut command = build::cargo();
    command.args(["metadata", "--format-version=1", "--locked", "--filter-platform"]);
    let output = command.arg("x86_64-unknown-linux-gnu").output()?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("cargo metadata")
}

/// All packages that are linked into the shipped files, by name, without build and test dependencies.
fn linked(metadata: &Metadata) -> Vec<&Package> {
    let nodes: BTreeMap<&str, &Node> =
        metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let ours = metadata.packages.iter().filter(|package| SHIPPED.contains(&package.name.as_str()));
    let mut wanted: Vec<&str> = ours.map(|package| package.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = wanted.pop() {
        if seen.insert(id) {
            let needed = nodes.get(id).into_iter().flat_map(|node| &node.deps);
            wanted.extend(needed.filter(|one| one.is_linked()).map(|one| one.pkg.as_str()));
        }
    }
    let mut packages: Vec<&Package> =
        metadata.packages.iter().filter(|package| seen.contains(package.id.as_str())).collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    packages
}

/// The notices of all third-party packages.
fn licenses(linked: &[&Package]) -> Result<String> {
    let mut text = String::from(
        "mpiscope contains the following libraries, and the standard library of Rust (MIT OR Apache-2.0).\n",
    );
    for package in linked.iter().filter(|package| package.source.is_some()) {
        let license = package.license.as_deref().unwrap_or("see below");
        write!(text, "\n{}\n{} {}: {license}\n", "=".repeat(80), package.name, package.version)?;
        let notices = notices(Path::new(&package.manifest_path))?;
        for notice in &notices {
            write!(text, "\n{}\n", notice.trim())?;
        }
        if notices.is_empty() {
            ensure!(
                license.contains("Apache-2.0"),
                "{} has no notice of its license: {license}",
                package.name
            );
            text.push_str("\nUsed under the Apache License, version 2.0: see LICENSE-APACHE.\n");
        }
    }
    Ok(text)
}

/// The package's license notices. The text of the Apache License is omitted; it is in LICENSE-APACHE.
fn notices(manifest: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let folder = manifest.parent().context("the manifest is in no folder")?;
    let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    for file in files.iter().filter(|file| file.is_file()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        let tells = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];
        if tells.iter().any(|start| name.starts_with(start)) && !name.contains("APACHE") {
            found.push(String::from_utf8_lossy(&fs::read(file)?).into_owned());
        }
    }
    Ok(found)
}

/// The bill of materials in CycloneDX 1.5.
fn bill(metadata: &Metadata, linked: &[&Package], epoch: u64) -> Value {
    let name = |package: &Package| format!("pkg:cargo/{}@{}", package.name, package.version);
    let components: Vec<Value> = linked
        .iter()
        .map(|package| {
            json!({
                "type": "library",
                "bom-ref": name(package),
                "name": package.name,
                "version": package.version,
                "purl": name(package),
                "licenses": [{ "expression": package.license.as_deref().unwrap_or("NOASSERTION").replace('/', " OR ") }],
            })
        })
        .collect();
    let by_id: BTreeMap<&str, &Package> =
        linked.iter().map(|package| (package.id.as_str(), *package)).collect();
    let needs = |node: &Node| {
        let linked = node.deps.iter().filter(|one| one.is_linked());
        let mut names: Vec<String> =
            linked.filter_map(|one| by_id.get(one.pkg.as_str())).map(|p| name(p)).collect();
        names.sort();
        names
    };
    let mut edges: Vec<(String, Vec<String>)> = metadata
        .resolve
        .nodes
        .iter()
        .filter_map(|node| Some((name(by_id.get(node.id.as_str())?), needs(node))))
        .collect();
    let shipped = linked.iter().filter(|package| SHIPPED.contains(&package.name.as_str()));
    edges.push((WHOLE.to_owned(), shipped.map(|package| name(package)).collect()));
    edges.sort();
    let dependencies: Vec<Value> =
        edges.into_iter().map(|(from, to)| json!({ "ref": from, "dependsOn": to })).collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": timestamp(epoch),
            "component": { "type": "application", "bom-ref": WHOLE, "name": "mpiscope", "version": VERSION },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

/// Formats seconds since 1970 as a date and time (UTC).
fn timestamp(epoch: u64) -> String {
    let (days, seconds) = (epoch / 86_400, epoch % 86_400);
    // Days since 1 March of year 0, in cycles of 400 years, so that a leap day is the last day of its year.
    let shifted = days + 719_468;
    let (cycle, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, year) = if month < 10 { (month + 3, year) } else { (month - 9, year + 1) };
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z", cycle * 400 + year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_formatted_as_a_date() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(timestamp(1_795_359_600 - 3600), "2026-11-22T14:00:00Z");
    }

    #[test]
    fn every_component_of_the_bill_is_reachable_from_the_whole() {
        let metadata = metadata().unwrap();
        let bill = bill(&metadata, &linked(&metadata), 0);
        let words = |value: &Value| value.as_str().unwrap().to_owned();
        let edges: BTreeMap<String, &Vec<Value>> = bill["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|edge| (words(&edge["ref"]), edge["dependsOn"].as_array().unwrap()))
            .collect();
        let (mut open, mut seen) = (vec![WHOLE.to_owned()], BTreeSet::new());
        while let Some(one) = open.pop() {
            if seen.insert(one.clone()) {
                open.extend(edges[&one].iter().map(words));
            }
        }
        seen.remove(WHOLE);
        let components = bill["components"].as_array().unwrap().iter().map(|one| words(&one["bom-ref"]));
        assert_eq!(seen, components.collect());
    }

    #[test]
    fn dependencies_only_of_tests_are_not_in_the_notices() {
        let metadata = metadata().unwrap();
        let linked = linked(&metadata);
        let has = |name: &str| linked.iter().any(|package| package.name == name);
        assert!(has("clap") && has("gimli") && has("mpiscope-image"));
        assert!(!has("proptest") && !has("insta") && !has("mpiscope-matrix"));
        let text = licenses(&linked).unwrap();
        assert!(text.contains("gimli") && !text.contains("mpiscope-image"));
        let parts: Vec<&str> = text.split(&"=".repeat(80)).skip(1).collect();
        let bare = parts.iter().find(|part| part.trim().lines().count() < 3);
        assert_eq!((parts.len() > 100, bare), (true, None), "each has a text");
    }
}
