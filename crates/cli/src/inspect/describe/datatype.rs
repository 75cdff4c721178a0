//! Datatypes: constructor, parts, type map.

use super::{Called, Context, Fact, field, type_map};
use mpiscope_job::model::objects::datatype::{Arguments, distribution};
use mpiscope_job::model::objects::{Datatype, Reference};
use std::fmt;

/// Number of array elements shown.
const MOST_NUMBERS: usize = 12;
/// Maximum number of lines of the tree.
const MOST_LINES: usize = 40;
/// Maximum depth of the tree.
const DEEPEST: usize = 16;
/// Number of runs of the type map listed.
const MOST_RUNS: usize = 24;

/// The contents of the datatype's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    /// `None` for a predefined type.
    constructor: Option<Constructor>,
    meaning: Option<&'static str>,
    size: Option<u64>,
    extent: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Constructor {
    combiner: &'static str,
    olds: Vec<Called>,
    /// Whether there are more constituents.
    more: bool,
    committed: bool,
}

impl Summary {
    pub fn of(datatype: &Datatype) -> Self {
        let constructor = (!datatype.common.predefined).then(|| Constructor {
            combiner: datatype.combiner,
            olds: datatype.constituents.iter().take(4).map(Called::of).collect(),
            more: datatype.constituents.len() > 4,
            committed: datatype.committed,
        });
        Self { constructor, meaning: datatype.meaning, size: datatype.size, extent: datatype.extent }
    }

    fn size(&self) -> String {
        match (self.size, self.extent) {
            (Some(size), Some(extent)) if i64::try_from(size) == Ok(extent) => format!("{size} bytes"),
            (Some(size), Some(extent)) => format!("{size} bytes in {extent}"),
            (Some(size), None) => format!("{size} bytes"),
            _ => "size unknown".to_owned(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size();
        let Some(Constructor { combiner, olds, more, committed }) = &self.constructor else {
            return match self.meaning {
                Some(meaning) => write!(f, "{meaning}, {size}"),
                None => f.write_str(&size),
            };
        };
        f.write_str(combiner)?;
        for (place, old) in olds.iter().enumerate() {
            write!(f, "{}{old}", if place == 0 { " of " } else { ", " })?;
        }
        let more = if *more { ", ..." } else { "" };
        write!(f, "{more}, {size}{}", if *committed { "" } else { ", not committed" })
    }
}

/// Adds all facts.
pub fn text(context: &Context<'_>, datatype: &Datatype, lines: &mut Vec<Fact>) {
    if let Some(meaning) = datatype.meaning {
        lines.push(field("is", meaning));
    }
    let number = |n: Option<i64>| n.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let size = datatype.size.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    lines.push(field(
        "size",
        &format!(
            "{size} bytes; extent {}, lower bound {}",
            number(datatype.extent),
            number(datatype.lower_bound)
        ),
    ));
    lines.push(field(
        "committed",
        if datatype.committed { "yes" } else { "no: it cannot be used in communication" },
    ));
    if !datatype.common.predefined {
        lines.push(field("constructor", ""));
        tree(context, datatype, 2, lines.len() + MOST_LINES, lines);
    }
    type_map(datatype, lines);
    context.attributes(lines, &datatype.attributes);
    context.many(lines, "used by", &datatype.used_by);
    context.many(lines, "requests", &datatype.requests);
    context.calls(lines, &datatype.calls);
}

/// Adds the constructor with its arguments, followed by its parts.
fn tree(context: &Context<'_>, datatype: &Datatype, depth: usize, most: usize, lines: &mut Vec<Fact>) {
    let name = super::Name::of(&datatype.common).map_or_else(String::new, |name| format!(" {name}"));
    let indent = "  ".repeat(depth);
    lines.push(line!("{indent}{}({}){name}", datatype.combiner, arguments(context, &datatype.arguments)));
    for part in &datatype.constituents {
        if lines.len() >= most || depth > DEEPEST {
            lines.push(line!("{indent}  ..."));
            return;
        }
        match derived(context, part) {
            Some(old) => tree(context, &old, depth + 1, most, lines),
            None => lines.push(line!("{indent}  {}", context.refer(part))),
        }
    }
}

/// Returns the part if it is a derived type itself.
fn derived(context: &Context<'_>, part: &Reference) -> Option<Datatype> {
    let old = context.reader.by_uid::<Datatype>(part.uid).ok()??;
    (!old.common.predefined).then_some(old)
}

fn arguments(context: &Context<'_>, arguments: &Arguments) -> String {
    let word =
        |name: &str| arguments.words.iter().find(|(known, _)| *known == name).map(|(_, word)| word.clone());
    let numbers = arguments
        .numbers
        .iter()
        .map(|(name, n)| format!("{name} {}", word(name).unwrap_or_else(|| n.to_string())));
    let arrays = arguments.arrays.iter().map(|(name, values)| {
        let mut listed: Vec<String> =
            values.iter().take(MOST_NUMBERS).map(|n| distribution(context.reader.abi(), name, *n)).collect();
        if values.len() > MOST_NUMBERS {
            listed.push("...".into());
        }
        format!("{name} {}", listed.join(" "))
    });
    numbers.chain(arrays).collect::<Vec<_>>().join(", ")
}

fn type_map(datatype: &Datatype, lines: &mut Vec<Fact>) {
    let map = &datatype.type_map;
    if map.incomplete {
        lines.push(field("type map", "incomplete: the creation of a part of it was not seen"));
    }
    // A built-in type of one element is its own type map.
    if map.runs.is_empty() || datatype.common.predefined && matches!(&*map.runs, [one] if one.count == 1) {
        return;
    }
    let holes: u64 = map.holes.iter().map(|hole| hole.length).sum();
    let extent = datatype.extent.unwrap_or(0);
    let text = match (map.cut, map.holes.len()) {
        (true, _) => format!("more than {} pieces; holes are unknown", map.runs.len()),
        (false, 0) => "no holes".to_owned(),
        (false, n) if extent > 0 => {
            let share = holes as f64 / extent as f64 * 100.0;
            format!("{holes} bytes in {n} hole{} ({share:.0} % of the extent)", if n == 1 { "" } else { "s" })
        }
        (false, n) => format!("{holes} bytes in {n} holes"),
    };
    lines.push(field("type map", &text));
    let drawing = type_map::lines(map, datatype.lower_bound.unwrap_or(0), extent);
    lines.extend(drawing.into_iter().map(Fact::line));
    for run in map.runs.iter().take(MOST_RUNS) {
        lines.push(line!("{:>14}  {} x {}", run.displacement, run.count, run.datatype));
    }
    if map.runs.len() > MOST_RUNS {
        lines.push(line!(
            "{:>14}  {} more pieces: --json has {}",
            "...",
            map.runs.len() - MOST_RUNS,
            if map.cut { "more" } else { "all" }
        ));
    }
}
