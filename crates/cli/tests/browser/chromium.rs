//! Chromium without a window and without a network. A page of our own shows the page under test in frames of several
//! widths and inspects them, since that page forbids all scripts.

use mpiscope_testkit::paths::in_path;
use mpiscope_testkit::run;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);
const INSPECT: &str = include_str!("inspect.html");
/// Without these it would update itself, or could not run as root.
const ALWAYS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--dump-dom",
];

#[derive(Debug, Clone, Copy)]
pub enum Scheme {
    Light,
    Dark,
}

/// What was found in all frames.
#[derive(Debug, Deserialize)]
pub struct Seen {
    pub sections: Vec<String>,
    pub faults: Vec<String>,
    /// Lines of the console.
    #[serde(default)]
    pub said: Vec<String>,
}

fn binary() -> Option<PathBuf> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(in_path)
}

/// Requires the browser.
pub fn installed() -> Option<String> {
    binary().is_none().then(|| "chromium is not installed".to_owned())
}

/// Inspects the page in windows of 360 to 1920 pixels.
pub fn look(page: &Path, dir: &Path, scheme: Scheme) -> Seen {
    let frames = dir.join("frames.html");
    std::fs::write(&frames, INSPECT.replace("PAGE", &page.display().to_string())).unwrap();
    let number = match scheme {
        Scheme::Dark => 0,
        Scheme::Light => 1,
    };
    let settings = format!("--blink-settings=preferredColorScheme={number}");
    let (dom, said) = dump(&frames, dir, &["--allow-file-access-from-files", &settings]);
    let found = dom.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let (found, _) = found.unwrap_or_else(|| panic!("nothing was found: {dom}"));
    let found = found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let seen: Seen = serde_json::from_str(&found).unwrap_or_else(|why| panic!("{why}: {found}"));
    Seen { said, ..seen }
}

fn dump(page: &Path, dir: &Path, options: &[&str]) -> (String, Vec<String>) {
    let mut browser = Command::new(binary().unwrap());
    browser.args(ALWAYS).args(options).arg(format!("--user-data-dir={}", dir.join("browser").display()));
    browser.env("HOME", dir).arg(format!("file://{}", page.display()));
    let outcome = run::bounded(&mut browser, LIMIT).unwrap();
    assert!(outcome.success(), "{}", outcome.describe());
    let said = outcome.stderr.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    (outcome.stdout, said)
}
