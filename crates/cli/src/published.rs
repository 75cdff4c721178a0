//! Checks the JSON schemas published in `share/`.

use crate::{attach, diff, doctor, inspect, procs, ps, report, top, vars, why};
use expect_test::expect_file;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::trace::jsonl;
use mpiscope_job::questions::postmortem::{self, Postmortem};
use mpiscope_job::questions::queues::{self, Queues};
use mpiscope_job::questions::why as question;
use mpiscope_job::schema::of;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns all schemas by name.
fn forms() -> serde_json::Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("mpiscope.answers/1", of::<attach::batch::Outputs>()?),
        (postmortem::SCHEMA, of::<Postmortem>()?),
        (diff::compare::SCHEMA, of::<diff::compare::Comparison>()?),
        ("mpiscope.doctor/1", of::<doctor::Report>()?),
        ("mpiscope.inspect/3", inspect::json::schema()?),
        ("mpiscope.jobs/1", of::<ps::Jobs>()?),
        ("mpiscope.procs/1", of::<procs::Report<'static>>()?),
        ("mpiscope.ps/2", of::<ps::Report>()?),
        (queues::SCHEMA, of::<Queues>()?),
        (mpiscope_job::performance::report::SCHEMA, of::<JobReport>()?),
        (report::summary::SCHEMA, of::<report::summary::Summary<'static>>()?),
        (top::interval::SCHEMA, of::<top::interval::Interval>()?),
        (jsonl::SCHEMA, jsonl::schema()?),
        ("mpiscope.vars/1", of::<vars::output::Report<'static>>()?),
        (question::SCHEMA, of::<why::Answer>()?),
    ])
}

fn share() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../share")
}

fn file_of(form: &str) -> PathBuf {
    share().join(format!("{}.schema.json", form.replace('/', ".")))
}

/// `UPDATE_EXPECT=1 cargo test -p mpiscope --bin mpiscope published` rewrites the files; do this only after
/// adding fields. It also regenerates the Python module's knowledge of them.
#[test]
fn the_published_schemas_match_the_code() {
    for (name, schema) in forms().unwrap() {
        expect_file![file_of(name)].assert_eq(&(schema + "\n"));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let made = Command::new("python3").arg(share().join("../python/generate.py")).status();
        assert!(made.is_ok_and(|status| status.success()), "python3 python/generate.py");
    }
}

/// Collects the schema names that occur in the sources.
fn named(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            named(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let words = text.split("\"mpiscope.").skip(1).filter_map(|rest| rest.split('"').next());
            let forms = words.filter(|word| {
                word.split_once('/').is_some_and(|(name, number)| {
                    name.chars().all(char::is_alphabetic) && number.parse::<u32>().is_ok()
                })
            });
            found.extend(forms.map(|word| format!("mpiscope.{word}")));
        }
    }
}

/// Schemas that no verb prints because they are inside evidence files.
const INSIDE: [&str; 1] = ["mpiscope.evidence/1"];

#[test]
fn every_schema_named_in_the_code_is_published() {
    let mut found = BTreeSet::new();
    for dir in ["src", "../job/src"] {
        named(&Path::new(env!("CARGO_MANIFEST_DIR")).join(dir), &mut found);
    }
    let published: BTreeSet<String> = forms().unwrap().into_iter().map(|(name, _)| name.to_owned()).collect();
    let inside = INSIDE.map(str::to_owned).into();
    assert_eq!(found.difference(&inside).collect::<Vec<_>>(), published.iter().collect::<Vec<_>>());
    let page = include_str!("../../../docs/json.md");
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(listed.collect::<Vec<_>>(), published.iter().collect::<Vec<_>>(), "docs/json.md");
    let files =
        fs::read_dir(share()).unwrap().filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let files: BTreeSet<PathBuf> =
        files.filter(|name| name.ends_with(".schema.json")).map(|name| share().join(name)).collect();
    assert_eq!(files, published.iter().map(|name| file_of(name)).collect());
}
