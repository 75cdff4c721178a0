//! `cargo xtask site`: the documentation as a small site, with the pages of `docs/` and a reference generated
//! from the code.
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
pub mod links;
mod schemas;
mod variables;
mod verbs;

/// The output of the site.
#[derive(clap::Args)]
pub struct Args {
    /// Output folder, whose contents are replaced (default: `target/site`)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// A page of the reference.
#[derive(Debug)]
struct Page {
    /// The path of its file, relative to the folder of the pages.
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
    reference.push(("JSON schemas", schemas::pages()?));
    book::make(&target, &out, &reference)?;
    println!("{}", out.join("index.html").display());
    Ok(())
}

/// Formats a text as a table cell.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parts: Vec<String> = words.join(" ").replace('|', "\\|").split('`').map(str::to_owned).collect();
    // Escape only outside of code.
    for part in parts.iter_mut().step_by(2) {
        *part = part.replace('<', "&lt;").replace('*', "\\*").replace("[\\", "[");
    }
    parts.join("`")
}
