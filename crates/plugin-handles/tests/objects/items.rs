//! The table `items.tsv`: every item of the handle document, and additional ones, with the path to its value
//! in each of four answers. This module compares the answers with what the program knows, and with each
//! other.
//!
//! | column | content |
//! | --- | --- |
//! | kind, list, item | what the document requires: `information`, `bonus`; `beyond` is ours |
//! | object | the object of the program that shows it |
//! | value | the expected value in all answers; see [`Expected`] |
//! | inspect | the path in the JSON of `mpiscope inspect`: for the process, and for its core file |
//! | plug-in | the path in the plug-in's answer: for the process, and for its core file |
//! | text | the text expected in gdb's `info mpi handle`; `~` where gdb itself shows it |
//! | one per library | `=`: all answers agree; otherwise why there is none |
//!
//! A path is a JSON pointer. If words follow after `?`, the value is whether one of them is present; a
//! trailing `#` yields the length of a list.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use mpiscope_testkit::mpi::Library;
use serde_json::{Value, json};

use crate::program::Running;

/// The answers for one library: from name of an object to answer.
pub struct Answers {
    /// `mpiscope inspect`, for the process and the core file.
    pub inspect: [BTreeMap<String, Value>; 2],
    /// The plug-in.
    pub plugin: [Value; 2],
    /// gdb, for the process and perhaps the core file; empty if there is no gdb with Python.
    pub gdb: Vec<BTreeMap<String, String>>,
}

/// A line of the table.
pub struct Row {
    pub kind: String,
    pub list: String,
    pub item: String,
    pub object: String,
    value: String,
    inspect: String,
    plugin: String,
    text: String,
    results: BTreeMap<String, String>,
}

const TABLE: &str = include_str!("../items.tsv");
const FIXED: usize = 8;

/// The table.
pub fn rows() -> Result<Vec<Row>> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let head: Vec<&str> = lines.next().context("an empty table")?.split('\t').collect();
    lines.map(|line| row(&head, line).with_context(|| line.to_owned())).collect()
}

fn row(head: &[&str], line: &str) -> Result<Row> {
    let cells: Vec<&str> = line.split('\t').collect();
    ensure!(cells.len() == head.len(), "{} cells under {} heads", cells.len(), head.len());
    ensure!(cells.iter().all(|cell| !cell.trim().is_empty()), "an empty cell");
    let [kind, list, item, object, value, inspect, plugin, text, results @ ..] = cells.as_slice() else {
        bail!("too few cells");
    };
    let own = |text: &&str| (*text).to_owned();
    let results = head.iter().skip(FIXED).map(own).zip(results.iter().map(own)).collect();
    let [kind, list, item, object] = [kind, list, item, object].map(own);
    let [value, inspect, plugin, text] = [value, inspect, plugin, text].map(own);
    Ok(Row { kind, list, item, object, value, inspect, plugin, text, results })
}

/// Compares every line of the table with the answers.
pub fn check(library: &Library, running: &Running, answers: &Answers) -> Result<()> {
    let mut wrong = Vec::new();
    for row in rows()? {
        let result =
            row.results.get(&library.name).with_context(|| format!("no column for {}", library.name))?;
        match (row.check(running, answers), result.as_str()) {
            (Ok(()), "=") => {}
            (Err(e), "=") => wrong.push(format!("{}: {} of {}: {e:#}", row.kind, row.item, row.object)),
            (Ok(()), why) => {
                wrong.push(format!("{}: {} is given, and the table says why not: {why}", row.kind, row.item));
            }
            (Err(_), _) => {}
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

impl Row {
    fn check(&self, running: &Running, answers: &Answers) -> Result<()> {
        let expected = Expected::read(&self.value, running)?;
        for (source, which) in answers.inspect.iter().zip(["live", "core"]) {
            if self.inspect != "~" {
                let object =
                    source.get(&self.object).with_context(|| format!("inspect {which}: no answer"))?;
                expected.check(&at(object, &self.inspect)?).with_context(|| format!("inspect {which}"))?;
            }
        }
        for (source, which) in answers.plugin.iter().zip(["live", "core"]) {
            let object = source.get(&self.object).context("the plug-in was not asked")?;
            expected.check(&at(object, &self.plugin)?).with_context(|| format!("plug-in {which}"))?;
        }
        for (source, which) in answers.gdb.iter().zip(["live", "core"]) {
            if self.text != "~" {
                let text = source.get(&self.object).with_context(|| format!("gdb {which}: no answer"))?;
                let wanted = in_text(&self.text, running)?;
                ensure!(squeezed(text).contains(&wanted), "gdb {which}: no {wanted:?} in\n{text}");
            }
        }
        Ok(())
    }
}

/// Collapses whitespace to single spaces.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces `@name` by the handle of an object of the program; a comma may follow.
fn in_text(text: &str, running: &Running) -> Result<String> {
    let words = text.split(' ').map(|word| match word.strip_prefix('@') {
        Some(name) => {
            let bare = name.trim_end_matches(',');
            let comma = name.get(bare.len()..).unwrap_or_default();
            running.any_value(bare).map(|value| format!("{value:#x}{comma}"))
        }
        None => Ok(word.to_owned()),
    });
    Ok(words.collect::<Result<Vec<_>>>()?.join(" "))
}

/// The expected value.
enum Expected {
    /// `*`: anything except null, false and empty values.
    Something,
    /// `has @name`: a list with this element.
    Has(Value),
    /// JSON; or `@name`: the handle of an object of the program, or an address; or `%name`: its Fortran
    /// handle.
    Equal(Value),
}

impl Expected {
    fn read(text: &str, running: &Running) -> Result<Self> {
        if text == "*" {
            return Ok(Self::Something);
        }
        match text.strip_prefix("has ") {
            Some(part) => Ok(Self::Has(value(part, running)?)),
            None => Ok(Self::Equal(value(text, running)?)),
        }
    }

    fn check(&self, found: &Value) -> Result<()> {
        let right = match self {
            Self::Something => {
                !matches!(found, Value::Null | Value::Bool(false)) && found != "" && *found != json!([])
            }
            Self::Has(part) => found.as_array().is_some_and(|list| list.contains(part)),
            Self::Equal(value) => found == value,
        };
        let wanted = match self {
            Self::Something => "something".to_owned(),
            Self::Has(part) => format!("a list with {part}"),
            Self::Equal(value) => value.to_string(),
        };
        ensure!(right, "{found}, not {wanted}");
        Ok(())
    }
}

fn value(text: &str, running: &Running) -> Result<Value> {
    if let Some(name) = text.strip_prefix('@') {
        return Ok(json!(format!("{:#x}", running.any_value(name)?)));
    }
    if let Some(name) = text.strip_prefix('%') {
        return Ok(json!(running.fortran(name)?));
    }
    let parsed = serde_json::from_str(text);
    parsed.with_context(|| format!("{text} is no JSON"))
}

/// Returns the value at a path, with references as handles.
fn at(object: &Value, place: &str) -> Result<Value> {
    let (pointer, words) = place.split_once('?').map_or((place, None), |(p, words)| (p, Some(words)));
    let (pointer, length) = pointer.strip_suffix('#').map_or((pointer, false), |pointer| (pointer, true));
    let found = object.pointer(pointer).cloned().unwrap_or(Value::Null);
    if length {
        return Ok(json!(found.as_array().context("no list")?.len()));
    }
    let Some(words) = words else { return Ok(plain(found)) };
    let mut words = words.split('|');
    let has = |word: &str| match &found {
        Value::Array(list) => list.contains(&json!(word)),
        Value::String(text) => text == word,
        other => *other == word || other.to_string().as_str() == word,
    };
    ensure!(!found.is_null(), "nothing at {pointer}");
    Ok(json!(words.any(has)))
}

/// Reduces a value to its essence: a reference to its handle, a call to its function, a part of a type map to
/// its numbers.
fn plain(value: Value) -> Value {
    const TELLING: [&str; 3] = ["handle", "function", "value"];
    const TOGETHER: [&[&str]; 3] = [
        &["datatype", "displacement", "count", "size"],
        &["displacement", "length"],
        &["target", "exclusive"],
    ];
    match value {
        Value::Object(fields) => {
            if let Some(one) = TELLING.iter().find_map(|name| fields.get(*name)) {
                return one.clone();
            }
            let all = |names: &&[&str]| {
                names.iter().map(|name| fields.get(*name).cloned()).collect::<Option<Vec<_>>>()
            };
            TOGETHER.iter().find_map(all).map_or_else(|| Value::Object(fields.clone()), Value::Array)
        }
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::String(text) if text.contains('|') => text.split('|').map(|part| json!(part)).collect(),
        other => other,
    }
}

/// Number of items of each kind in the document: information, bonus. A row lost from the table would show.
const ITEMS: [(&str, usize, usize); 10] = [
    ("comm", 20, 6),
    ("datatype", 21, 6),
    ("errhandler", 9, 6),
    ("file", 7, 3),
    ("group", 4, 4),
    ("info", 4, 3),
    ("request", 24, 9),
    ("op", 8, 5),
    ("status", 4, 1),
    ("win", 5, 13),
];

/// Checks that the table has all of them.
pub fn complete() -> Result<()> {
    let rows = rows()?;
    for (kind, information, bonus) in ITEMS {
        let count = |list: &str| rows.iter().filter(|row| row.kind == kind && row.list == list).count();
        let found = (count("information"), count("bonus"));
        ensure!(found == (information, bonus), "{kind}: {found:?}, not {:?}", (information, bonus));
    }
    let output = rows.iter().any(|row| row.results.values().any(|result| result == "="));
    ensure!(output, "nothing is given on any library");
    Ok(())
}
