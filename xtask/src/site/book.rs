//! Writes the pages as an mdBook.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

use super::{Page, links};
use crate::build;

/// The mdBook version that is fetched if there is none.
const VERSION: &str = "0.5.4";

const CONFIGURATION: &str = r#"[book]
title = "mpiscope"
language = "en"

[output.html]
no-section-label = true

[output.html.fold]
enable = true
"#;

/// Writes all pages below `target` and builds the site from them.
pub fn make(target: &Path, out: &Path, reference: &[(&str, Vec<Page>)]) -> Result<()> {
    let book = target.join("site-pages");
    if book.exists() {
        fs::remove_dir_all(&book)?;
    }
    let pages = book.join("src");
    let mut summary = fs::read_to_string(paths::workspace().join("docs/SUMMARY.md"))?;
    summary += &documents(&paths::workspace(), &pages)?;
    summary += &chapters(reference);
    write(&pages.join("SUMMARY.md"), &summary)?;
    for page in reference.iter().flat_map(|(_, pages)| pages) {
        write(&pages.join(&page.path), &page.text)?;
    }
    write(&book.join("book.toml"), CONFIGURATION)?;
    let broken = broken(&pages, Path::new(""))?;
    ensure!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    build::run(Command::new(mdbook(target)?).arg("build").arg(&book).arg("--dest-dir").arg(out))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    fs::write(path, text).with_context(|| path.display().to_string())
}

/// The lines of the table of contents.
fn chapters(reference: &[(&str, Vec<Page>)]) -> String {
    let mut text = "\n# Reference\n\n".to_owned();
    for (title, pages) in reference {
        text += &format!("- [{title}]()\n");
        for page in pages {
            text += &format!("  - [{}]({})\n", page.title, page.path);
        }
    }
    text
}

/// Copies `docs/` and the source files it links to; returns the table of contents lines of the latter.
fn documents(root: &Path, pages: &Path) -> Result<String> {
    let mut chapters = String::new();
    for file in files(&root.join("docs"), Path::new(""))? {
        let (from, to) = (root.join("docs").join(&file), pages.join(&file));
        fs::create_dir_all(to.parent().unwrap_or(pages))?;
        if file.extension().is_none_or(|end| end != "md") {
            fs::copy(&from, &to)?;
            continue;
        }
        let mut text = fs::read_to_string(&from)?;
        for link in links::targets(&text.clone()) {
            let Some(outside) = link.strip_prefix("../").map(Path::new) else { continue };
            let here = Path::new("sources").join(outside);
            text = text.replace(&format!("]({link}"), &format!("]({}", here.display()));
            write(&pages.join(&here), &fs::read_to_string(root.join(outside)).context(link.to_owned())?)?;
            if here.extension().is_some_and(|end| end == "md") {
                let name = here.file_stem().unwrap_or_default().display();
                chapters += &format!("- [{name}]({})\n", here.display());
            }
        }
        write(&to, &text)?;
    }
    Ok(chapters)
}

/// All files below a folder, as relative paths.
fn files(root: &Path, below: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(below))? {
        let (entry, name) = entry.map(|entry| (entry.path(), below.join(entry.file_name())))?;
        if entry.is_dir() { found.extend(files(root, &name)?) } else { found.push(name) }
    }
    found.sort();
    Ok(found)
}

/// The broken links of the pages below `root`.
fn broken(root: &Path, below: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for file in files(root, below)?.into_iter().filter(|file| file.extension().is_some_and(|end| end == "md"))
    {
        let text = fs::read_to_string(root.join(&file))?;
        let name = file.display().to_string();
        let nowhere = links::targets(&text).filter(|link| !root.join(links::leads(&name, link)).exists());
        found.extend(nowhere.map(|link| format!("{name}: {link}")));
    }
    Ok(found)
}

/// Returns mdBook, fetching and building it if it is not installed.
fn mdbook(target: &Path) -> Result<PathBuf> {
    let tools = target.join("tools");
    let mdbook = tools.join("bin/mdbook");
    if !mdbook.exists() {
        let mut install = build::cargo();
        install.args(["install", "mdbook", "--locked", "--no-default-features", "--features", "search"]);
        build::run(install.args(["--version", VERSION, "--root"]).arg(&tools))?;
    }
    Ok(mdbook)
}

#[cfg(test)]
mod tests {
    use super::super::{kinds, schemas, verbs};
    use super::*;

    #[test]
    fn every_page_is_in_the_table_of_contents_and_every_link_has_a_target() {
        let folder = tempfile::tempdir().unwrap();
        let verbs = verbs::pages(&[("why".into(), "Say why\n".into())]);
        let reference =
            [("Commands", verbs), ("Kinds", kinds::pages().unwrap()), ("JSON", schemas::pages().unwrap())];
        let more = documents(&paths::workspace(), folder.path()).unwrap();
        let summary =
            fs::read_to_string(folder.path().join("SUMMARY.md")).unwrap() + &more + &chapters(&reference);
        write(&folder.path().join("SUMMARY.md"), &summary).unwrap();
        reference
            .iter()
            .flat_map(|(_, all)| all)
            .for_each(|page| write(&folder.path().join(&page.path), &page.text).unwrap());
        assert_eq!(broken(folder.path(), Path::new("")).unwrap(), Vec::<String>::new());
        for file in files(folder.path(), Path::new("")).unwrap() {
            let listed = summary.contains(&format!("]({})", file.display()));
            let page = file.extension().is_some_and(|end| end == "md") && !file.ends_with("SUMMARY.md");
            assert!(listed || !page, "{} is not in the table of contents", file.display());
        }
        write(&folder.path().join("lost.md"), "[x](nowhere.md)").unwrap();
        assert_eq!(broken(folder.path(), Path::new("")).unwrap(), ["lost.md: nowhere.md"]);
    }
}
