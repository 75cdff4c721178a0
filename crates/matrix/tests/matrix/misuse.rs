//! Erroneous programs, and processes that lack a resource: the outcome is that of the bare run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::program::{Needs, Program};
use mpiscope_testkit::trials::checked;

use crate::subject::{Form, Subject, word};

const WRONG_HANDLES: Program = Program { name: "wrong_handles", ranks: 1, needs: Needs::Nothing };
const HANDLERS: Program = Program { name: "handlers", ranks: 1, needs: Needs::Nothing };
const PLAIN: Program = Program { name: "ending", ranks: 1, needs: Needs::Nothing };

/// The contents of uninitialized memory, which may determine how a library treats a wrong handle.
const FILLINGS: [&str; 2] = ["0", "85"];

/// Limits under which a program is started, in shell syntax.
const LIMITS: [(&str, &str); 6] = [
    ("that_may_write_no_file", "ulimit -f 0"),
    ("that_may_write_short_files", "ulimit -f 8"),
    ("with_few_addresses", "ulimit -v 400000"),
    ("with_few_descriptors", "ulimit -n 40"),
    ("with_a_standard_error_that_is_full", "exec 2>/dev/full"),
    ("without_standard_error", "exec 2>&-"),
];

pub fn trials(subject: &Arc<Subject>, library: &Arc<Library>) -> Vec<Trial> {
    let trial = |name: String, check: Box<dyn FnOnce() -> Result<()> + Send>| {
        checked(format!("{}::{name}", library.name), check)
    };
    let (s, l) = (Arc::clone(subject), Arc::clone(library));
    let name = "a_wrong_handle_has_the_same_effect_as_without_the_layer";
    let mut trials = match library.family {
        Family::Intel => {
            vec![crate::skipped(
                format!("{}::{name}", library.name),
                "Intel's library hangs without the layer too",
            )]
        }
        Family::Mpich | Family::OpenMpi => {
            vec![trial(name.to_owned(), Box::new(move || wrong_handles(&s, &l)))]
        }
    };
    let (s, l) = (Arc::clone(subject), Arc::clone(library));
    let name = "a_signal_handler_that_calls_mpi_at_any_moment_changes_nothing";
    trials.push(trial(name.to_owned(), Box::new(move || interrupted(&s, &l))));
    for (name, limit) in LIMITS {
        let (s, l) = (Arc::clone(subject), Arc::clone(library));
        let check = move || limited(&s, &l, limit);
        trials.push(trial(format!("a_process_{name}_goes_on"), Box::new(check)));
    }
    trials
}

fn wrong_handles(subject: &Subject, library: &Library) -> Result<()> {
    let program = word(&subject.binary(&WRONG_HANDLES, library)?);
    let lines = |layer: bool, filling: &str| -> Result<Vec<String>> {
        let mut words: Vec<OsString> = vec!["env".into(), format!("MALLOC_PERTURB_={filling}").into()];
        if layer {
            words.push(preload()?);
        }
        words.push(program.clone());
        let ran = subject.launch(library, 1, Form::Bare, &words, &|_| ())?;
        ensure!(ran.outcome.success(), "layer {layer}: {}", ran.outcome.describe());
        Ok(ran.outcome.stdout.lines().filter(|line| line.contains(", call ")).map(str::to_owned).collect())
    };
    let all = |layer| FILLINGS.iter().map(|filling| lines(layer, filling)).collect::<Result<Vec<_>>>();
    let (bare, seen) = (all(false)?, all(true)?);
    let certain = |line: &String| !line.contains(": signal") && bare.iter().all(|run| run.contains(line));
    let wanted: BTreeSet<&String> = bare.iter().flatten().filter(|line| certain(line)).collect();
    ensure!(wanted.len() > 20, "only {} calls have the same result each time", wanted.len());
    for run in &seen {
        let changed: Vec<_> = wanted.iter().filter(|line| !run.contains(line)).collect();
        ensure!(changed.is_empty(), "different under the layer: {changed:#?}");
    }
    Ok(())
}

fn interrupted(subject: &Subject, library: &Library) -> Result<()> {
    let program = word(&subject.binary(&HANDLERS, library)?);
    let run = |layer: bool| {
        let mut words: Vec<OsString> = Vec::new();
        if layer {
            words.extend(["env".into(), preload()?]);
        }
        words.push(program.clone());
        subject.launch(library, 1, Form::Bare, &words, &|_| ())
    };
    let (bare, seen) = (run(false)?, run(true)?);
    ensure!(bare.outcome.success(), "without the layer: {}", bare.outcome.describe());
    ensure!(bare.outcome.stdout.contains("interrupted, never mistaken"), "{}", bare.outcome.stdout);
    ensure!(seen.outcome.success(), "under the layer: {}", seen.outcome.describe());
    ensure!(seen.outcome.stdout == bare.outcome.stdout, "standard output changed: {}", seen.outcome.stdout);
    Ok(())
}

/// The variable that `env` sets for the layer.
fn preload() -> Result<OsString> {
    let mut preload = OsString::from("LD_PRELOAD=");
    preload.push(paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?);
    Ok(preload)
}

fn limited(subject: &Subject, library: &Library, limit: &str) -> Result<()> {
    let program = subject.binary(&PLAIN, library)?;
    let run = |layer: bool| {
        let mut script = format!("{limit}; ");
        if layer {
            let file = paths::libmpiscope().context("no libmpiscope.so; run `cargo xtask test`")?;
            script.push_str(&format!("export LD_PRELOAD='{}'; ", file.display()));
        }
        script.push_str("exec \"$0\" status 3");
        let words = [OsString::from("sh"), "-c".into(), script.into(), word(&program)];
        subject.launch(library, 1, Form::Bare, &words, &|command| {
            // The program would write its own count of calls to a file.
            command.env_remove("MPISCOPE_EXPECT_DIR");
        })
    };
    let (bare, seen) = (run(false)?, run(true)?);
    // Cases in which the library itself fails are not tested.
    if bare.outcome.code() == 3 {
        ensure!(seen.outcome.code() == 3, "under the layer: {}", seen.outcome.describe());
        ensure!(
            seen.outcome.stdout == bare.outcome.stdout,
            "standard output changed: {}",
            seen.outcome.stdout
        );
    }
    Ok(())
}
