//! Control variables, performance variables, events and categories that are the same on every MPI library, as
//! reported by the layer itself.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Result, ensure};
use mpiscope_testkit::paths;
use serde::Deserialize;

use super::{Page, cell};
use crate::build;

/// The part of `mpiscope.vars/1` that pages show.
#[derive(Deserialize)]
pub struct Listing {
    items: Vec<Item>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Item {
    kind: String,
    name: String,
    desc: String,
    class: String,
    scope: String,
    #[serde(rename = "type")]
    datatype: String,
    bind: String,
    cvars: Vec<usize>,
    pvars: Vec<usize>,
    events: Vec<usize>,
    index: Option<usize>,
    values: Vec<Held>,
}

#[derive(Deserialize)]
struct Held {
    value: String,
}

/// The prefix of all names that are not the MPI library's own.
const OURS: &str = "mpiscope";

/// Builds the layer and the mock MPI library, and lists the variables.
pub fn ask() -> Result<Listing> {
    let packages = ["mpiscope", "mpiscope-layer", "mpiscope-mock-mpi"];
    build::run(
        build::cargo().args(["build", "--quiet"]).args(packages.map(|name| format!("--package={name}"))),
    )?;
    let built = paths::target_dir().join("debug");
    let mut vars = Command::new(built.join("mpiscope"));
    vars.args(["vars", "--json", "--library"]).arg(built.join("libmockmpi.so"));
    let output = vars.output()?;
    ensure!(output.status.success(), "{vars:?}: {output:?}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The pages of the variables.
pub fn pages(listing: &Listing) -> Result<Vec<Page>> {
    let mut pages = vec![
        table(listing, "cvar", "Control variables", &["name", "type", "default", "meaning"], |item| {
            let default = item.values.first().map_or("", |held| held.value.as_str());
            vec![item.datatype.clone(), code(default), item.desc.clone()]
        }),
        table(listing, "pvar", "Performance variables", &["name", "class", "bound to", "meaning"], |item| {
            vec![item.class.clone(), bound(item), item.desc.clone()]
        }),
        table(listing, "event", "Events", &["name", "bound to", "meaning"], |item| {
            vec![bound(item), item.desc.clone()]
        }),
    ];
    ensure!(
        pages.iter().all(|page| page.text.lines().count() > 6),
        "the layer reported too few variables and events"
    );
    pages.push(categories(listing));
    Ok(pages)
}

fn ours<'a>(listing: &'a Listing, kind: &'a str) -> impl Iterator<Item = &'a Item> {
    listing.items.iter().filter(move |item| item.kind == kind && item.name.starts_with(OURS))
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{text}`") }
}

fn bound(item: &Item) -> String {
    if item.bind == "NO_OBJECT" { String::new() } else { item.bind.to_lowercase().replace('_', " ") }
}

fn table(
    listing: &Listing,
    kind: &str,
    title: &str,
    columns: &[&str],
    row: impl Fn(&Item) -> Vec<String>,
) -> Page {
    let mut text = format!("# {title}\n\n{}", head(columns));
    for item in ours(listing, kind) {
        let cells: Vec<String> = row(item).iter().map(|text| cell(text)).collect();
        text += &format!("| `{}` | {} |\n", item.name, cells.join(" | "));
    }
    let file = title.to_lowercase().replace(' ', "-");
    Page { path: format!("reference/{file}.md"), title: title.to_owned(), text }
}

fn head(columns: &[&str]) -> String {
    format!("| {} |\n|{}\n", columns.join(" | "), " --- |".repeat(columns.len()))
}

fn categories(listing: &Listing) -> Page {
    let mut text = "# Categories\n\n".to_owned();
    for category in ours(listing, "category") {
        text += &format!("## `{}`\n\n{}.\n\n", category.name, category.desc);
        for (kind, members) in
            [("cvar", &category.cvars), ("pvar", &category.pvars), ("event", &category.events)]
        {
            let names: BTreeMap<usize, &str> = listing
                .items
                .iter()
                .filter(|item| item.kind == kind)
                .filter_map(|item| Some((item.index?, item.name.as_str())))
                .collect();
            let names: Vec<String> =
                members.iter().filter_map(|at| Some(format!("* `{}`\n", names.get(at)?))).collect();
            text += &names.concat();
        }
        text += "\n";
    }
    Page { path: "reference/categories.md".into(), title: "Categories".into(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_our_variables_events_and_categories_are_listed_and_those_of_the_library_are_not() {
        let listing = r#"{"items": [
            {"kind": "cvar", "index": 0, "name": "mpiscope_a", "desc": "a | b", "type": "INT", "values": [{"value": "1"}]},
            {"kind": "pvar", "index": 0, "name": "mpiscope_b", "class": "LEVEL", "bind": "MPI_COMM"},
            {"kind": "pvar", "index": 1, "name": "LIBRARY_OWN"},
            {"kind": "event", "index": 0, "name": "mpiscope.c", "bind": "NO_OBJECT"},
            {"kind": "category", "index": 0, "name": "mpiscope_d", "desc": "All", "cvars": [0], "pvars": [0], "events": [0]}
        ]}"#;
        let listing: Listing = serde_json::from_str(listing).unwrap();
        assert!(pages(&listing).is_err(), "a single row of each kind is too few");
        let all = categories(&listing).text;
        assert!(
            ["mpiscope_a", "mpiscope_b", "mpiscope.c", "## `mpiscope_d`"]
                .iter()
                .all(|name| all.contains(name))
        );
        let performance = table(&listing, "pvar", "P", &["name", "bound to"], |item| vec![bound(item)]).text;
        assert!(
            performance.contains("| `mpiscope_b` | mpi comm |\n") && !performance.contains("OWN"),
            "{performance}"
        );
        let control = table(&listing, "cvar", "C", &["name", "meaning"], |item| vec![item.desc.clone()]).text;
        assert!(control.contains("| `mpiscope_a` | a \\| b |\n"), "{control}");
    }
}
