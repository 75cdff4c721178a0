//! The page of `mpiscope report --html` in a browser: it loads nothing, fits narrow and wide windows in both color
//! schemes, and has what screen readers need, with and without scripts.
//!
//! Ignored where Chromium is not installed (`apt-get install chromium`).

mod chromium;
#[path = "../../../job/tests/corpus/mod.rs"]
#[allow(dead_code)]
mod corpus;

use chromium::{Scheme, look};
use mpiscope_testkit::trials::{self, trial};
use mpiscope_testkit::{paths, run};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;
use tempfile::TempDir;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// Sections of every page; pages of whole jobs have more.
const SECTIONS: [&str; 4] = ["time", "sites", "peers", "memory"];

fn main() -> ExitCode {
    trials::run(vec![
        trial!(pages_of_stored_images_are_readable_in_a_browser, needs chromium::installed),
        trial!(the_page_of_a_real_job_is_readable_in_a_browser, needs chromium::installed, trials::the_layer, trials::a_library),
    ])
}

fn pages_of_stored_images_are_readable_in_a_browser() {
    let dir = TempDir::new().unwrap();
    for name in ["mpich", "openmpi"] {
        let image = dir.path().join(format!("{name}.image"));
        std::fs::write(&image, corpus::image(&format!("{name}.image"))).unwrap();
        check(&image, dir.path(), &["collectives", "messages", "files"]);
    }
}

/// A job that is long enough to be followed, so that the page also has waits and the course of time.
fn the_page_of_a_real_job_is_readable_in_a_browser() {
    let dir = TempDir::new().unwrap();
    let library = &trials::survey().0[0];
    let (program, out) = (dir.path().join("heat"), dir.path().join("out"));
    let source = paths::workspace().join("examples/heat.c");
    library.cc_with(&[&source], &program, &["-O2", "-lm"]).unwrap();
    let mut job = Command::new(MPISCOPE);
    job.args(["run", "--quiet", "--out"]).arg(&out).arg(&library.mpirun);
    job.args(library.launch_arguments(4)).arg(&program).args(["768", "3000"]);
    library.set_environment(&mut job);
    job.env("MPISCOPE_LAYER", paths::libmpiscope().unwrap());
    let outcome = run::bounded(&mut job, Duration::from_secs(120)).unwrap();
    assert!(outcome.success(), "{}", outcome.describe());
    check(&out, dir.path(), &["collectives", "messages"]);
}

/// Checks the page of a job in every window.
fn check(job: &Path, dir: &Path, more: &[&str]) {
    let page = dir.join("page.html");
    let made =
        Command::new(MPISCOPE).args(["report", "--here", "--html"]).arg(&page).arg(job).output().unwrap();
    assert!(made.status.code() != Some(2), "{}", String::from_utf8_lossy(&made.stderr));
    let wanted: Vec<String> = SECTIONS.iter().chain(more).map(|section| (*section).to_owned()).collect();
    for scheme in [Scheme::Light, Scheme::Dark] {
        let seen = look(&page, dir, scheme);
        assert_eq!(seen.said, Vec::<String>::new(), "{}: {scheme:?}: console", job.display());
        assert_eq!(seen.faults, Vec::<String>::new(), "{}: {scheme:?}", job.display());
        let lacking: Vec<&String> =
            wanted.iter().filter(|section| !seen.sections.contains(section)).collect();
        assert!(lacking.is_empty(), "{}: {lacking:?} is missing: {:?}", job.display(), seen.sections);
    }
}
