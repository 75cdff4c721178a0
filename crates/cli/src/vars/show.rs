//! Variables of a library as text or JSON.

use super::library::Item;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    items: Vec<&'a Item>,
}

/// Titles of the kinds, in order.
const TITLES: [(&str, &str); 4] = [
    ("cvar", "Control variables"),
    ("pvar", "Performance variables"),
    ("event", "Event types"),
    ("enumeration", "Enumerations"),
];

/// All items, kind by kind.
pub fn list(items: &[&Item], json: bool) -> Result<()> {
    let mut out = io::stdout().lock();
    if json {
        let report = Report { schema: "mpiscope.vars/1", items: items.to_vec() };
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
        return Ok(());
    }
    for (kind, title) in TITLES {
        let of_kind: Vec<_> = items.iter().filter(|item| item.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        writeln!(out, "{title} ({})", of_kind.len())?;
        for item in of_kind {
            writeln!(out, "  {}{}", item.name, value(item))?;
            let facts = [&item.class, &item.scope, &item.datatype, &item.verbosity, &item.flags];
            let mut facts: Vec<&str> =
                facts.into_iter().map(String::as_str).filter(|f| !f.is_empty()).collect();
            if !matches!(item.bind.as_str(), "" | "NO_OBJECT") {
                facts.push(&item.bind);
            }
            if !facts.is_empty() {
                writeln!(out, "      {}", facts.join(", "))?;
            }
            for text in [&item.desc, &item.items] {
                if !text.is_empty() {
                    writeln!(out, "      {}", text.split_whitespace().collect::<Vec<_>>().join(" "))?;
                }
            }
        }
    }
    Ok(())
}

fn value(item: &Item) -> String {
    match (&item.value, item.problem.is_empty()) {
        (_, false) => format!("  cannot be read: {}", item.problem),
        (Some(value), _) if matches!(item.provenance.as_str(), "environment" | "written" | "default") => {
            format!(" = {value}  ({})", item.provenance)
        }
        (Some(value), _) => format!(" = {value}"),
        (None, _) => String::new(),
    }
}

/// The tree of categories with their members.
pub fn tree(items: &[Item], json: bool) -> Result<()> {
    let categories: Vec<&Item> = items.iter().filter(|item| item.kind == "category").collect();
    if json {
        return list(&categories, true);
    }
    let inner: BTreeSet<usize> =
        categories.iter().flat_map(|category| category.categories.iter().copied()).collect();
    let mut out = io::stdout().lock();
    for category in categories.iter().filter(|category| !inner.contains(&category.index)) {
        branch(&mut out, items, category, 0)?;
    }
    Ok(())
}

fn branch(out: &mut impl Write, items: &[Item], category: &Item, depth: usize) -> Result<()> {
    // A circle would be the library's mistake; the layer lets none through.
    if depth > 32 {
        return Ok(());
    }
    let indent = "  ".repeat(depth);
    writeln!(out, "{indent}{}: {}", category.name, category.desc)?;
    let named = |kind: &str, at: usize| items.iter().find(|item| item.kind == kind && item.index == at);
    for (kind, members) in [("cvar", &category.cvars), ("pvar", &category.pvars), ("event", &category.events)]
    {
        for item in members.iter().filter_map(|at| named(kind, *at)) {
            writeln!(out, "{indent}  {kind} {}{}", item.name, value(item))?;
        }
    }
    for child in category.categories.iter().filter_map(|at| named("category", *at)) {
        branch(out, items, child, depth + 1)?;
    }
    Ok(())
}
