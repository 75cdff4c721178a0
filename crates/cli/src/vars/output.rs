//! Variables as text or JSON.

use super::Options;
use super::item::{Held, Item};
use crate::exit;
use crate::render::{Block, Screen};
use anyhow::Result;
use mpiscope_job::Members;
use serde::Serialize;
use std::collections::BTreeSet;
use std::process::ExitCode;

/// The output of `--json`.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report<'a> {
    /// Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a str>,
    items: Vec<&'a Item>,
}

/// Titles of the kinds, in display order.
const TITLES: [(&str, &str); 5] = [
    ("cvar", "Control variables"),
    ("pvar", "Performance variables"),
    ("event", "Event types"),
    ("enumeration", "Enumerations"),
    ("category", "Categories"),
];

/// Maximum nesting of categories.
const MOST_LEVELS: usize = 32;

/// Number of objects whose values are shown for a variable without `--long`.
const SHOWN_OBJECTS: usize = 4;

/// Number of different values of an array that are shown.
const SHOWN_DIFFERENCES: usize = 4;

/// Number of array elements shown; JSON has all of them.
const SHOWN: usize = 8;

/// Shows the requested items. `job` is a job's name and headline; `partial` if some of it could not be read.
pub fn show(
    options: &Options,
    job: Option<(&str, String)>,
    items: &[Item],
    partial: bool,
) -> Result<ExitCode> {
    let wanted = |item: &&Item| {
        options.found(&item.name, &item.desc)
            && (!options.changed || item.is_changed())
            && (!options.categories || !options.json || item.kind == "category")
    };
    let chosen: Vec<&Item> = items.iter().filter(wanted).collect();
    let mut screen = Screen::paged();
    if options.json {
        let name = job.map(|(name, _)| name);
        screen.json(&Report { schema: "mpiscope.vars/1", job: name, items: chosen.clone() })?;
    } else {
        let in_job = job.is_some();
        let mut page: Vec<Block> = job.into_iter().map(|(_, headline)| headline.into()).collect();
        if options.categories {
            tree(&mut page, items);
        } else if options.long || options.search.is_some() || options.changed {
            list(&mut page, &chosen);
        } else {
            overview(&mut page, &chosen, in_job);
        }
        screen.page(&page)?;
    }
    screen.finish()?;
    let problem = chosen.iter().any(|item| !item.problem.is_empty());
    Ok(exit::answer(problem, partial))
}

/// Adds one line for each variable worth showing, by kind, and the number of others.
fn overview(page: &mut Vec<Block>, items: &[&Item], in_job: bool) {
    for (kind, title) in TITLES {
        let of_kind: Vec<&&Item> = items.iter().filter(|item| item.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        let telling: Vec<&&&Item> = of_kind.iter().filter(|item| tells(item, in_job)).collect();
        let rest = of_kind.len() - telling.len();
        let what = match kind {
            "cvar" if in_job => ", non-default ones",
            "pvar" if in_job => ", nonzero ones",
            _ => "",
        };
        page.push(format!("{title} ({}{what})", of_kind.len()).into());
        for item in &telling {
            page.extend(variable(item, in_job.then_some(SHOWN_OBJECTS)).into_iter().map(Block::Line));
        }
        if rest > 0 {
            let how = if kind == "category" { "--categories shows their tree" } else { "--long shows all" };
            page.push(format!("  {} {rest}: {how}", if telling.is_empty() { "all" } else { "and" }).into());
        }
    }
}

/// Formats a variable with its value. A variable bound to objects gets one line per object: with a limit
/// `most`, at most that many, and only nonzero ones.
fn variable(item: &Item, most: Option<usize>) -> Vec<String> {
    let of_objects = item.by_object();
    if of_objects.is_empty() {
        return vec![format!("  {}{}", item.name, value(item))];
    }
    let telling: Vec<_> = of_objects.iter().filter(|(_, item)| most.is_none() || !is_zero(item)).collect();
    let shown = telling.get(..most.unwrap_or(usize::MAX).min(telling.len())).unwrap_or_default();
    let mut lines = vec![format!("  {}", item.name)];
    lines.extend(shown.iter().map(|(object, item)| format!("      of {}{}", object.label(), value(item))));
    let more = telling.len() - shown.len();
    if more > 0 {
        lines.push(format!("      and of {more} more: --long shows all"));
    }
    lines
}

/// Whether all values are zero.
fn is_zero(item: &Item) -> bool {
    let zero = |value: &str| value.split(' ').all(|element| element.parse().is_ok_and(|n: f64| n == 0.0));
    item.values.iter().all(|held| zero(&held.value))
}

/// Whether a variable is worth a line without being requested.
fn tells(item: &Item, in_job: bool) -> bool {
    match item.kind.as_str() {
        "cvar" if in_job => item.is_changed(),
        "pvar" if in_job => !is_zero(item),
        "cvar" | "pvar" => true,
        "event" => !in_job,
        _ => false,
    }
}

/// Lists all items in full, by kind.
fn list(page: &mut Vec<Block>, items: &[&Item]) {
    if items.is_empty() {
        page.push("no variable matches".into());
    }
    for (kind, title) in TITLES {
        let of_kind: Vec<_> = items.iter().filter(|item| item.kind == kind).collect();
        if of_kind.is_empty() {
            continue;
        }
        page.push(format!("{title} ({})", of_kind.len()).into());
        for item in of_kind {
            page.extend(variable(item, None).into_iter().map(Block::Line));
            let lines = [facts(item), one_line(&item.desc), names(item)];
            let lines = lines.into_iter().filter(|line| !line.is_empty());
            page.extend(lines.map(|line| Block::Line(format!("      {line}"))));
        }
    }
}

/// Formats the class or scope, type, verbosity, flags and binding.
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

/// Formats the values and names of an enumeration.
fn names(item: &Item) -> String {
    let names = item.items.iter().map(|(value, name)| format!("{value}={name}"));
    names.collect::<Vec<_>>().join(", ")
}

/// Formats the value: ` = 4 (environment); differs on ranks [1,3]: 2 (default)`, or why there is none.
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
        // Counts differ everywhere: the range says more than a list.
        if let Some(range) = range(item) {
            return range;
        }
    }
    let listed = if item.kind == "pvar" { others.len().min(SHOWN_DIFFERENCES) } else { others.len() };
    for (at, other) in others.iter().take(listed).enumerate() {
        let words = if at == 0 { "; differs on" } else { "," };
        text += &format!("{words} {}: {}", ranks(other), held(item, other));
    }
    if listed < others.len() {
        let mut rest = Members::default();
        others.iter().skip(listed).filter_map(|other| other.ranks.clone()).for_each(|set| rest.join(set));
        text += &format!(", and on {}: --json has all", rest.named());
    }
    text
}

/// Formats a range: ` = 12 on rank 3 to 400 on rank 0`.
fn range(item: &Item) -> Option<String> {
    let number = |held: &Held| held.value.parse::<f64>().ok();
    let numbers = item.values.iter().map(|held| Some((number(held)?, held))).collect::<Option<Vec<_>>>()?;
    let least = numbers.iter().min_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let most = numbers.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.1;
    let on = |held: &Held| format!("{} on {}", one(item, held), ranks(held));
    Some(format!(" = {} to {}", on(least), on(most)))
}

/// Formats the ranks: `rank 3`, `ranks [0,2]`.
fn ranks(held: &Held) -> String {
    held.ranks.as_ref().map_or_else(String::new, Members::named)
}

fn held(item: &Item, held: &Held) -> String {
    let value = one(item, held);
    if held.from.is_empty() { value } else { format!("{value}  ({})", held.from) }
}

/// Formats the value with its name; for a long array, the nonzero elements, by name if they have names.
fn one(item: &Item, held: &Held) -> String {
    if held.value.is_empty() {
        return "\"\"".to_owned();
    }
    let elements: Vec<&str> = held.value.split(' ').collect();
    let numbers = || elements.iter().all(|element| element.parse::<f64>().is_ok());
    if item.datatype == "CHAR" || elements.len() <= SHOWN || !numbers() {
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

/// Adds the tree of categories with their members.
fn tree(page: &mut Vec<Block>, items: &[Item]) {
    let categories: Vec<&Item> = items.iter().filter(|item| item.kind == "category").collect();
    let inner: BTreeSet<usize> =
        categories.iter().flat_map(|category| category.categories.iter().copied()).collect();
    for category in categories.iter().filter(|c| c.index.is_some_and(|index| !inner.contains(&index))) {
        branch(page, items, category, 0);
    }
}

fn branch(page: &mut Vec<Block>, items: &[Item], category: &Item, depth: usize) {
    // A cycle would be a bug of the library; the layer lets none through.
    if depth > MOST_LEVELS {
        return;
    }
    let indent = "  ".repeat(depth);
    page.push(format!("{indent}{}: {}", category.name, one_line(&category.desc)).into());
    let named = |kind: &str, at: usize| items.iter().find(|item| item.kind == kind && item.index == Some(at));
    for (kind, members) in [("cvar", &category.cvars), ("pvar", &category.pvars), ("event", &category.events)]
    {
        for item in members.iter().filter_map(|at| named(kind, *at)) {
            let shown =
                if item.by_object().is_empty() { value(item) } else { "  (of each object: --long)".into() };
            page.push(format!("{indent}  {kind} {}{shown}", item.name).into());
        }
    }
    for child in category.categories.iter().filter_map(|at| named("category", *at)) {
        branch(page, items, child, depth + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(kind: &str, holds: &[(&str, &str, u32)]) -> Item {
        let mut item = Item { kind: kind.into(), ..Item::default() };
        for (value, from, rank) in holds {
            item.hold((*value).into(), from, (*rank as usize, (0, Some(*rank))));
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
    fn arrays_that_differ_are_all_shown_or_their_ranks_named() {
        let arrays = [("0 1", "", 0), ("1 0", "", 1), ("0 2", "", 2)];
        assert_eq!(value(&variable("pvar", &arrays)), " = 0 1; differs on rank 1: 1 0, rank 2: 0 2");
        let many: Vec<String> = (0..8).map(|n| format!("0 {n}")).collect();
        let many: Vec<_> = (0..).zip(&many).map(|(rank, value)| (value.as_str(), "", rank)).collect();
        let text = value(&variable("pvar", &many));
        assert!(
            text.starts_with(" = 0 0; differs on rank 1: 0 1, ")
                && text.ends_with(", and on ranks [5-7]: --json has all"),
            "{text}"
        );
    }

    #[test]
    fn a_variable_without_a_value_says_why() {
        let item = Item { needs: "MPI_COMM".into(), ..Item::default() };
        assert_eq!(value(&item), "  (value: needs MPI_COMM)");
        let item = Item { problem: "gone".into(), ..Item::default() };
        assert_eq!(value(&item), "  cannot be read: gone");
    }

    #[test]
    fn the_nonzero_elements_of_a_long_array_are_named() {
        let mut item = variable("pvar", &[("0 2 0 0 5 0 0 0 0 0", "", 0)]);
        assert_eq!(value(&item), " = [1] 2, [4] 5, 0 in the rest of 10");
        item.elements = ["MPI_Abort".into(), "MPI_Send".into()].into();
        assert_eq!(value(&item), " = MPI_Send 2, [4] 5, 0 in the rest of 10");
        assert_eq!(value(&variable("pvar", &[("0 0 0 0 0 0 0 0 0", "", 0)])), " = 0 in all 9 elements");
        let item = variable("pvar", &[("1 2 3 4 5 6 7 8 9 10", "", 0)]);
        assert!(value(&item).ends_with("[7] 8, and 2 more of 10 that are not 0"), "{}", value(&item));
    }

    #[test]
    fn for_a_job_only_nonzero_and_non_default_values_get_a_line() {
        let is_shown =
            |kind: &str, value: &str, from: &str| tells(&variable(kind, &[(value, from, 0)]), true);
        assert!(is_shown("pvar", "0 0 3", "") && !is_shown("pvar", "0 0.0", ""));
        assert!(is_shown("cvar", "4", "environment") && !is_shown("cvar", "4", "default"));
        assert!(tells(&variable("cvar", &[("4", "default", 0)]), false), "of a library everything is shown");
    }

    #[test]
    fn a_string_is_not_an_array() {
        let item = Item { datatype: "CHAR".into(), ..variable("cvar", &[("a b c d e f g h i", "", 0)]) };
        assert_eq!(value(&item), " = a b c d e f g h i");
        let of_file = variable("cvar", &[("a b c d e f g h i", "", 0)]);
        assert_eq!(value(&of_file), " = a b c d e f g h i");
    }
}
