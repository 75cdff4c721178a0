//! User-visible output, kept as snapshots: every help page, and the main screens from stored images, in
//! terminals of 80 columns and narrower. `INSTA_UPDATE=always cargo test -p mpiscope --test screens` renews
//! the snapshots.

#[path = "../../../job/tests/corpus/mod.rs"]
#[allow(dead_code)]
mod corpus;

use mpiscope_testkit::schema;
use std::process::Command;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
const VERBS: [&str; 19] = [
    "run",
    "ps",
    "why",
    "queues",
    "save",
    "core",
    "report",
    "top",
    "diff",
    "trace",
    "metrics",
    "procs",
    "attach",
    "inspect",
    "vars",
    "doctor",
    "gdb-script",
    "completions",
    "help",
];
/// Verbs that take no file that could be missing.
const BLIND: [&str; 6] = ["run", "save", "doctor", "gdb-script", "completions", "help"];

fn screen(width: usize, arguments: &[&str]) -> String {
    let output = Command::new(MPISCOPE).env("COLUMNS", width.to_string()).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
    assert!(wide.is_empty(), "{arguments:?} is wider than {width}: {wide:#?}");
    text
}

#[test]
fn every_help_page() {
    insta::assert_snapshot!("help", screen(80, &["--help"]));
    for verb in VERBS {
        insta::assert_snapshot!(format!("help_{verb}"), screen(80, &[verb, "--help"]));
    }
    let all = screen(80, &["--help"]);
    let verbs =
        all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(verbs, VERBS, "every verb has a help page here");
}

#[test]
fn the_main_screens_of_an_image() {
    let dir = tempfile::tempdir().unwrap();
    let image = dir.path().join("rank.image");
    std::fs::write(&image, corpus::image("mpich.image")).unwrap();
    let image = image.to_str().unwrap();
    for width in [80, 48] {
        for (name, arguments) in [
            ("ps", &["ps", image][..]),
            ("report", &["report", image]),
            ("counts", &["inspect", image]),
            ("comm", &["inspect", image, "--kind", "comm"]),
            ("datatype", &["inspect", image, "--kind", "datatype"]),
            ("leaks", &["inspect", image, "--leaks", "--kind", "win"]),
            ("world", &["inspect", image, "--handle", "MPI_COMM_WORLD"]),
        ] {
            insta::assert_snapshot!(format!("{name}_{width}"), screen(width, arguments));
        }
    }
}

#[test]
fn a_missing_file_is_reported_as_missing() {
    for verb in VERBS.into_iter().filter(|verb| !BLIND.contains(verb)) {
        for name in ["./no-such.image", "no-such.core"] {
            let names: &[&str] = if verb == "diff" { &[name, name] } else { &[name] };
            let text = screen(80, &[&[verb], names].concat()).to_lowercase();
            assert!(text.contains(name) && text.contains("no such"), "{verb} {name}: {text}");
        }
    }
}

/// Returns the values that a verb prints.
fn json(arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = Command::new(MPISCOPE).args(arguments).output().unwrap();
    let values =
        serde_json::Deserializer::from_slice(&output.stdout).into_iter().collect::<Result<Vec<_>, _>>();
    values.ok().filter(|all| !all.is_empty()).unwrap_or_else(|| panic!("{arguments:?}: {output:?}"))
}

#[test]
fn every_json_matches_the_published_schema() {
    let dir = tempfile::tempdir().unwrap();
    let images = ["mpich", "openmpi", "standard"].map(|name| {
        let image = dir.path().join(format!("{name}.image"));
        std::fs::write(&image, corpus::image(&format!("{name}.image"))).unwrap();
        image.to_str().unwrap().to_owned()
    });
    let verbs: [&[&str]; 6] = [
        &["ps", "--stacks"],
        &["why", "--stacks"],
        &["queues"],
        &["report"],
        &["inspect", "--leaks"],
        &["inspect", "--kind", "datatype"],
    ];
    let of_images = images.iter().flat_map(|image| verbs.map(|verb| [verb, &[image.as_str()]].concat()));
    let others =
        [vec!["doctor"], vec!["diff", &images[0], &images[1]], vec!["report", "--summary", &images[0]]];
    for arguments in of_images.chain(others) {
        let more: &[&str] = if arguments.contains(&"--summary") { &[] } else { &["--json"] };
        for value in json(&[&arguments, more].concat()) {
            schema::check(&value).unwrap_or_else(|e| panic!("{arguments:?}: {e:#}"));
            assert!(!has_negative_zero(&value), "{arguments:?}: -0.0 in {value}");
        }
    }
}

/// Whether the value contains a negative zero, which an empty floating-point sum yields.
fn has_negative_zero(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Number(number) => {
            number.as_f64().is_some_and(|number| number == 0.0 && number.is_sign_negative())
        }
        serde_json::Value::Array(values) => values.iter().any(has_negative_zero),
        serde_json::Value::Object(fields) => fields.values().any(has_negative_zero),
        _ => false,
    }
}
