//! Compares the tables of the tool information interface with the conformance programs.
//!
//! `programs/mpi_t/SENTENCES.md` names, for each sentence of the standard, the assertions that test it; `EVENTS.md`
//! does so for each event type of the layer. Each assertion in a program has its label as a string literal such as
//! `"PV-12"`.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use mpiscope_testkit::paths;

/// A file (`pvar_info.c`) and a label in it.
type Assertion = (String, String);

fn folder() -> PathBuf {
    paths::programs().join("mpi_t")
}

/// Two capitals, a hyphen, a number.
fn is_label(text: &str) -> bool {
    text.split_once('-').is_some_and(|(group, number)| {
        group.len() == 2
            && group.bytes().all(|b| b.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn in_source(file: &str, text: &str) -> BTreeSet<Assertion> {
    text.split('"').filter(|part| is_label(part)).map(|label| (file.to_owned(), label.to_owned())).collect()
}

/// The assertions in the code spans `program: A-1, A-2` of a table.
fn in_table(text: &str) -> BTreeSet<Assertion> {
    text.lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter_map(|span| span.split_once(": "))
        .flat_map(|(program, labels)| {
            let file = if program.contains('.') { program.to_owned() } else { format!("{program}.c") };
            labels.split(", ").map(move |label| (file.clone(), label.to_owned()))
        })
        .collect()
}

fn programs() -> BTreeSet<Assertion> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(folder()).expect("the folder of the programs") {
        let path = entry.expect("an entry of the folder").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned();
        if name.ends_with(".c") || name.ends_with(".h") {
            all.extend(in_source(&name, &fs::read_to_string(&path).expect("a source file")));
        }
    }
    all
}

fn read(name: &str) -> String {
    fs::read_to_string(folder().join(name)).expect("the table")
}

fn table() -> BTreeSet<Assertion> {
    let mut all = in_table(&read("SENTENCES.md"));
    all.extend(in_table(&read("EVENTS.md")));
    all
}

/// The first column of a table, for rows that name an event type.
fn event_types_of(table: &str) -> BTreeSet<String> {
    let first = |line: &str| line.strip_prefix("| ")?.split_once(" | ").map(|(first, _)| first.to_owned());
    let is_name = |cell: &String| cell.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    table.lines().filter_map(first).filter(is_name).collect()
}

/// The event types in the layer's own list: lines such as `CallStarted = "call_started", …`.
fn event_types_in(source: &str) -> BTreeSet<String> {
    let list =
        source.split("\nevent_types! {").nth(1).and_then(|rest| rest.split("\n}").next()).unwrap_or("");
    let name = |line: &str| {
        let (kind, rest) = line.trim().split_once(" = \"")?;
        let name = rest.split('"').next()?;
        kind.bytes().all(|b| b.is_ascii_alphabetic()).then(|| name.to_owned())
    };
    list.lines().filter_map(name).collect()
}

#[test]
fn the_table_has_exactly_the_event_types_of_the_layer() {
    let kinds = paths::workspace().join("crates/layer/src/events/types.rs");
    let there = event_types_in(&fs::read_to_string(kinds).expect("the list of event types"));
    assert!(there.len() > 40, "too few event types in the list: {there:?}");
    assert_eq!(there, event_types_of(&read("EVENTS.md")));
}

#[test]
fn every_assertion_of_the_table_is_in_its_program() {
    let missing: Vec<_> = table().difference(&programs()).cloned().collect();
    assert!(missing.is_empty(), "named in a table but not in the program: {missing:?}");
}

#[test]
fn every_assertion_of_a_program_is_in_a_table() {
    let missing: Vec<_> = programs().difference(&table()).cloned().collect();
    assert!(missing.is_empty(), "in the program but in no table: {missing:?}");
}

#[test]
fn the_comparison_finds_differences_on_both_sides() {
    let source = in_source("a.c", "CHECK(\"PV-1\", x, \"text\"); /* PV-2 */ f(\"PV-33\")");
    let table = in_table("| claim | `a: PV-1, PV-4`, `b.h: LC-2` |\nnot a row `a: PV-9`");
    assert_eq!(source, BTreeSet::from([("a.c".into(), "PV-1".into()), ("a.c".into(), "PV-33".into())]));
    assert_eq!(
        table,
        BTreeSet::from([
            ("a.c".into(), "PV-1".into()),
            ("a.c".into(), "PV-4".into()),
            ("b.h".into(), "LC-2".into())
        ])
    );
    assert!(!is_label("PV-") && !is_label("pv-1") && !is_label("MPI-3.1"));
}
