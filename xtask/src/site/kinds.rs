//! The stable words in output and their meanings, from the tables of constants in the code.

use std::fs;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::paths;

use super::{Page, cell};

/// Page, title, source.
const TABLES: [(&str, &str, &str, &str); 2] = [
    (
        "verdicts",
        "Verdicts of why",
        "crates/job/src/questions/why/verdict.rs",
        "The field `kind` of [`mpiscope.why/1`](mpiscope.why.1.md).",
    ),
    (
        "findings",
        "Findings",
        "crates/job/src/questions/findings/mod.rs",
        "The field `kind` of the `findings` of [`mpiscope.report/1`](mpiscope.report.1.md).",
    ),
];

pub fn pages() -> Result<Vec<Page>> {
    TABLES.iter().map(|(name, title, source, about)| page(name, title, source, about)).collect()
}

fn page(name: &str, title: &str, source: &str, about: &str) -> Result<Page> {
    let file = paths::workspace().join(source);
    let code = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let kinds = words(&code);
    ensure!(kinds.len() > 2, "{source} has no table of kinds");
    let mut text = format!("# {title}\n\n{about}\n\n| kind | means |\n| --- | --- |\n");
    for (word, meaning) in kinds {
        text += &format!("| `{word}` | {} |\n", cell(&meaning));
    }
    Ok(Page { path: format!("reference/{name}.md"), title: title.to_owned(), text })
}

/// The constants `Self("word")` of a source, each with the comment above it.
fn words(code: &str) -> Vec<(String, String)> {
    let (mut found, mut comment) = (Vec::new(), String::new());
    for line in code.lines().map(str::trim) {
        if let Some(more) = line.strip_prefix("///") {
            comment = format!("{comment}{more}").trim_start().to_owned();
            continue;
        }
        let word = line.split_once("Self = Self(\"").and_then(|(_, rest)| rest.strip_suffix("\");"));
        found.extend(word.map(|word| (word.to_owned(), comment.clone())));
        comment.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_verdict_and_finding_has_a_row() {
        let all: Vec<Page> = pages().unwrap();
        assert!(all[0].text.contains("| `message-never-sent` | An awaited message can no longer be sent. |"));
        assert!(all[1].text.contains("| `not-freed` | Other objects that were not freed. |"));
        for (page, (_, _, source, _)) in all.iter().zip(TABLES) {
            let code = fs::read_to_string(paths::workspace().join(source)).unwrap();
            let rows = page.text.lines().filter(|line| line.starts_with("| `")).count();
            assert_eq!(rows, code.matches("Self = Self(\"").count(), "{source}");
        }
    }
}
