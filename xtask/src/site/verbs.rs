//! A page for each verb, from its help.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use mpiscope_testkit::paths;

use super::Page;
use crate::build;

/// Builds the command and gets the name and help of its verbs.
pub fn ask() -> Result<Vec<(String, String)>> {
    build::run(build::cargo().args(["build", "--quiet", "--package", "mpiscope"]))?;
    let mpiscope = paths::target_dir().join("debug/mpiscope");
    let folder = tempfile::tempdir()?;
    build::run(Command::new(&mpiscope).arg("man-pages").arg(folder.path()))?;
    let files = fs::read_dir(folder.path())?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut verbs: Vec<String> = files
        .filter_map(|name| Some(name.strip_prefix("mpiscope-")?.strip_suffix(".1")?.to_owned()))
        .collect();
    verbs.sort();
    verbs.into_iter().map(|verb| Ok((verb.clone(), help(Command::new(&mpiscope).arg(&verb))?))).collect()
}

fn help(verb: &mut Command) -> Result<String> {
    let output = verb.arg("--help").env("COLUMNS", "100").output()?;
    ensure!(output.status.success(), "{verb:?}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

/// The pages of the verbs.
pub fn pages(verbs: &[(String, String)]) -> Vec<Page> {
    let page = |(verb, help): &(String, String)| Page {
        path: format!("reference/{verb}.md"),
        title: format!("mpiscope {verb}"),
        text: format!("# mpiscope {verb}\n\n```text\n{}\n```\n", help.trim_end()),
    };
    verbs.iter().map(page).collect()
}
