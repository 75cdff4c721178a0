//! `cargo xtask site`: the documentation as a small site: the pages of `docs/`, and a reference made from the code.
//!
//! ```text
//! docs/*.md ───────────────────────────────────────────────────────┐
//! mpiscope man-pages, --help ──► verbs     ┐                       │
//! mpiscope vars --json ──► variables       ├─► Vec<Page> ──► book ─┴─► mdBook ──► target/site
//! share/*.schema.json ──► schemas          │
//! the tables of the sources ──► kinds      ┘
//! ```

use std::path::PathBuf;

use anyhow::Result;
use mpiscope_testkit::paths;

mod book;
mod kinds;
mod links;
mod schemas;
mod variables;
mod verbs;

/// Where the site goes.
#[derive(clap::Args)]
pub struct Args {
    /// The folder to write to; `target/site` by default. What is in it is replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A page of the reference.
#[derive(Debug)]
struct Page {
    /// Its file, from the folder of the pages.
    path: String,
    title: String,
    text: String,
}

pub fn run(args: &Args) -> Result<()> {
    let target = paths::target_dir();
    let out = args.out.clone().unwrap_or_else(|| target.join("site"));
    let mut reference = vec![("Commands", verbs::pages(&verbs::ask()?))];
    reference.push(("Variables and events", variables::pages(&variables::ask()?)?));
    reference.push(("Kinds of answers", kinds::pages()?));
    reference.push(("Forms of JSON", schemas::pages()?));
    book::make(&target, &out, &reference)?;
    println!("{}", out.join("index.html").display());
    Ok(())
}

/// A text as a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parts: Vec<String> = words.join(" ").replace('|', "\\|").split('`').map(str::to_owned).collect();
    // Outside of code.
    for part in parts.iter_mut().step_by(2) {
        *part = part.replace('<', "&lt;").replace('*', "\\*").replace("[\\", "[");
    }
    parts.join("`")
}
