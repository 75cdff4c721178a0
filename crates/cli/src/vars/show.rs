//! Variables as text or JSON.

use super::Options;
use super::item::{Held, Item};
use crate::exit;
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    items: Vec<&'a Item>,
}

/// Titles of the kinds, in order.
const TITLES: [(&str, &str); 5] = [
    ("cvar", "Control variables"),
    ("pvar", "Performance variables"),
    ("event", "Event types"),
    ("enumeration", "Enumerations"),
    ("category", "Categories"),
];

/// The most elements of an array that are shown; JSON has them all.
const SHOWN: usize = 8;

/// What the user asked for of all this. Of a job there is its name, and a headline.
pub fn show(options: &Options, job: Option<(&str, String)>, items: &[Item]) -> Result<ExitCode> {
    let wanted = |item: &&Item| {
        options.found(&item.name, &item.desc)
            && (!options.changed || item.is_changed())
            && (!options.categories || !options.json || item.kind == "category")
    };
    let chosen: Vec<&Item> = items.iter().filter(wanted).collect();
    let mut out = io::stdout().lock();
    if options.json {
        let report =
            Report { schema: "mpiscope.vars/1", job: job.map(|(name, _)| name), items: chosen.clone() };
        writeln!(out, "{}", serde_json::to_string(&report)?)?;
    } else {
        if let Some((_, headline)) = job {
            writeln!(out, "{headline}")?;
        }
        if options.categories {
            tree(&mut out, items)?;
        } else {
            list(&mut out, &chosen)?;
        }
    }
    out.flush()?;
    let problem = chosen.iter().any(|item| !item.problem.is_empty());
    Ok(ExitCode::from(if problem { exit::PROBLEM } else { exit::FINE }))
}

/// All items, kind by kind.
fn list(out: &mut impl Write, items: &[&Item]) -> Result<()> {
    if items.is_empty() {
        writeln!(out, "nothing is like that")?;
    }
    for (kind, title) in TITLES {
        let of_kind: Vec<_> = items.iter().filter(|item| item.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        writeln!(out, "{title} ({})", of_kind.len())?;
        for item in of_kind {
            writeln!(out, "  {}{}", item.name, value(item))?;
            for line in [facts(item), one_line(&item.desc), names(item)] {
                if !line.is_empty() {
                    writeln!(out, "      {line}")?;
                }
            }
        }
    }
    Ok(())
}

/// Class or scope, type, verbosity, flags, binding.
fn facts(item: &Item) -> String {
    let bind = if item.bind == "NO_OBJECT" { "" } else { &item.bind };
    let facts = [&item.class, &item.scope, &item.datatype, &item.verbosity, &item.flags].map(String::as_str);
    let mut facts: Vec<String> =
        facts.into_iter().filter(|fact| !fact.is_empty()).map(str::to_owned).collect();
    if !bind.is_empty() {
        facts.push(format!("bound to {bind}"));
    }
    facts.join(", ")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Values and names of an enumeration.
fn names(item: &Item) -> String {
    let names = item.items.iter().map(|(value, name)| format!("{value}={name}"));
    names.collect::<Vec<_>>().join(", ")
}

/// ` = 4 (environment); differs on ranks [1,3]: 2 (default)`, or why there is no value.
fn value(item: &Item) -> String {
    if !item.problem.is_empty() {
        return format!("  cannot be read: {}", item.problem);
    }
    let Some(most) = item.most() else {
        let needs = &item.needs;
        return if needs.is_empty() { String::new() } else { format!("  (value: needs {needs})") };
    };
    let mut text = format!(" = {}", held(item, most));
    let others: Vec<&Held> = item.values.iter().filter(|other| *other != most).collect();
    if item.kind == "pvar" && others.len() > 1 {
        // What counts differs everywhere: the range says more than a list.
        return range(item).unwrap_or(text);
    }
    for (at, other) in others.into_iter().enumerate() {
        let words = if at == 0 { "; differs on" } else { "," };
        text += &format!("{words} {}: {}", ranks(other), held(item, other));
    }
    text
}

/// ` = 12 on rank 3 to 400 on rank 0`.
fn range(item: &Item) -> Option<String> {
    let number = |held: &Held| held.value.parse::<f64>().ok();
    let numbers = item.values.iter().map(|held| Some((number(held)?, held))).collect::<Option<Vec<_>>>()?;
    let least = numbers.iter().min_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let most = numbers.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let on = |held: &Held| format!("{} on {}", one(item, held), ranks(held));
    Some(format!(" = {} to {}", on(least), on(most)))
}

/// `rank 3`, `ranks [0,2]`.
fn ranks(held: &Held) -> String {
    match &held.ranks {
        Some(ranks) if ranks.0.len() == 1 => format!("rank {ranks}"),
        Some(ranks) => format!("ranks {ranks}"),
        None => String::new(),
    }
}

fn held(item: &Item, held: &Held) -> String {
    let value = one(item, held);
    if held.from.is_empty() { value } else { format!("{value}  ({})", held.from) }
}

/// The value with its name; of a long array the elements that are not zero, by name if they have names.
fn one(item: &Item, held: &Held) -> String {
    if held.value.is_empty() {
        return "\"\"".to_owned();
    }
    let elements: Vec<&str> = held.value.split(' ').collect();
    if item.datatype == "CHAR" || elements.len() <= SHOWN {
        return if held.named.is_empty() {
            held.value.clone()
        } else {
            format!("{} \"{}\"", held.value, held.named)
        };
    }
    let named = |(at, value): (usize, &&str)| match item.elements.get(at) {
        Some(name) => format!("{name} {value}"),
        None => format!("[{at}] {value}"),
    };
    let some: Vec<String> = elements.iter().enumerate().filter(|(_, v)| **v != "0").map(named).collect();
    let more = some.len().saturating_sub(SHOWN);
    let first = some.get(..SHOWN).unwrap_or(&some).join(", ");
    match (some.is_empty(), more) {
        (true, _) => format!("0 in all {} elements", elements.len()),
        (_, 0) => format!("{first}, 0 in the rest of {}", elements.len()),
        _ => format!("{first}, and {more} more of {} that are not 0", elements.len()),
    }
}

/// The tree of categories with their members.
fn tree(out: &mut impl Write, items: &[Item]) -> Result<()> {
    let categories: Vec<&Item> = items.iter().filter(|item| item.kind == "category").collect();
    let inner: BTreeSet<usize> =
        categories.iter().flat_map(|category| category.categories.iter().copied()).collect();
    for category in categories.iter().filter(|c| c.index.is_some_and(|index| !inner.contains(&index))) {
        branch(out, items, category, 0)?;
    }
    Ok(())
}

fn branch(out: &mut impl Write, items: &[Item], category: &Item, depth: usize) -> Result<()> {
    // A circle would be the library's mistake; the layer lets none through.
    if depth > 32 {
        return Ok(());
    }
    let indent = "  ".repeat(depth);
    writeln!(out, "{indent}{}: {}", category.name, one_line(&category.desc))?;
    let named = |kind: &str, at: usize| items.iter().find(|item| item.kind == kind && item.index == Some(at));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(kind: &str, holds: &[(&str, &str, u32)]) -> Item {
        let mut item = Item { kind: kind.into(), ..Item::default() };
        for (value, from, rank) in holds {
            item.hold((*value).into(), from, *rank);
        }
        item
    }

    #[test]
    fn ranks_that_differ_are_named_with_their_value_and_where_it_comes_from() {
        let holds = [("1", "default", 0), ("4", "environment", 1), ("1", "default", 2), ("1", "default", 3)];
        let text = value(&variable("cvar", &holds));
        assert_eq!(text, " = 1  (default); differs on rank 1: 4  (environment)");
    }

    #[test]
    fn counts_that_all_differ_are_a_range() {
        let text = value(&variable("pvar", &[("9", "", 0), ("12", "", 1), ("100", "", 2)]));
        assert_eq!(text, " = 9 on rank 0 to 100 on rank 2");
    }

    #[test]
    fn a_variable_without_a_value_says_why() {
        let item = Item { needs: "MPI_COMM".into(), ..Item::default() };
        assert_eq!(value(&item), "  (value: needs MPI_COMM)");
        let item = Item { problem: "gone".into(), ..Item::default() };
        assert_eq!(value(&item), "  cannot be read: gone");
    }

    #[test]
    fn of_a_long_array_the_elements_that_are_not_zero_are_named() {
        let mut item = variable("pvar", &[("0 2 0 0 5 0 0 0 0 0", "", 0)]);
        assert_eq!(value(&item), " = [1] 2, [4] 5, 0 in the rest of 10");
        item.elements = vec!["MPI_Abort".into(), "MPI_Send".into()];
        assert_eq!(value(&item), " = MPI_Send 2, [4] 5, 0 in the rest of 10");
        assert_eq!(value(&variable("pvar", &[("0 0 0 0 0 0 0 0 0", "", 0)])), " = 0 in all 9 elements");
        let item = variable("pvar", &[("1 2 3 4 5 6 7 8 9 10", "", 0)]);
        assert!(value(&item).ends_with("[7] 8, and 2 more of 10 that are not 0"), "{}", value(&item));
    }

    #[test]
    fn a_string_is_no_array() {
        let item = Item { datatype: "CHAR".into(), ..variable("cvar", &[("a b c d e f g h i", "", 0)]) };
        assert_eq!(value(&item), " = a b c d e f g h i");
    }
}
