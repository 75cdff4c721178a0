//! Checks that the command lines in the documentation are valid.

use crate::Cli;
use clap::Parser;
use clap::error::ErrorKind;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the project's documentation pages.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let ours =
        ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|name| root.join(name));
    ours.into_iter().chain(docs).filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}

/// Returns the command lines of a page: lines after a prompt, and inline code.
fn commands(page: &str) -> Vec<String> {
    let mut found: Vec<String> =
        page.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")).map(str::to_owned).collect();
    let mut blocks = false;
    let text: Vec<&str> = page
        .lines()
        .filter(|line| {
            let fence = line.trim_start().starts_with("```");
            blocks ^= fence;
            !blocks && !fence
        })
        .collect();
    found.extend(text.join(" ").split('`').skip(1).step_by(2).map(str::to_owned));
    found
}

/// Returns the words of a call of `mpiscope` in a shell command line; `None` if the line does not
/// call it.
fn words(line: &str) -> Option<Vec<String>> {
    let line = line.split(" #").next().unwrap_or_default();
    let words = shlex::split(line)?;
    let begin = words.iter().position(|word| word == "mpiscope")?;
    let before = words.get(..begin)?;
    // The program given to `mpiscope run` may have this name too, and `man mpiscope` or
    // `pip install mpiscope` does not call us.
    let launcher = before.iter().all(|word| {
        word.contains('=') || word.starts_with('-') || word.parse::<u32>().is_ok() || word == "srun"
    });
    let end =
        words.iter().position(|word| ["&", "|", ">", "2>", "&&", ";", "...", "…"].contains(&word.as_str()));
    launcher.then(|| words.get(begin..end.unwrap_or(words.len())).unwrap_or_default().to_vec())
}

/// Expands a command line with words such as `this|that` into its alternatives.
fn alternatives(words: &[String]) -> Vec<Vec<String>> {
    let most = words.iter().map(|word| word.split('|').count()).max().unwrap_or(1);
    let one = |which: usize| {
        words.iter().map(move |word| word.split('|').cycle().nth(which).unwrap_or(word).to_owned())
    };
    (0..most).map(|which| one(which).collect()).collect()
}

/// Returns the error for the words, unless it is only that something was omitted.
fn wrong(words: &[String]) -> Option<String> {
    let left_out = [
        ErrorKind::MissingRequiredArgument,
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    let errors = alternatives(words).into_iter().filter_map(|words| Cli::try_parse_from(words).err());
    errors.filter(|error| !left_out.contains(&error.kind())).map(|error| error.to_string()).next()
}

#[test]
fn every_command_in_the_documents_is_valid() {
    let of_page = |page: PathBuf| {
        let lines = commands(&fs::read_to_string(&page).unwrap());
        lines.into_iter().map(move |line| (page.display().to_string(), line))
    };
    let help = crate::AFTER_HELP.lines().filter_map(|line| line.trim().split("  ").next());
    let help = help.map(|line| ("help".to_owned(), line.to_owned()));
    let (mut seen, mut refused) = (0, Vec::new());
    for (page, line) in pages().into_iter().flat_map(of_page).chain(help) {
        let Some(words) = words(&line) else { continue };
        seen += 1;
        refused.extend(wrong(&words).map(|why| format!("{page}: {line}\n{why}")));
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen > 50, "only {seen} commands were found");
}

#[test]
fn an_invalid_command_is_detected() {
    let wrong = |line: &str| words(line).and_then(|words| wrong(&words)).is_some();
    assert!(wrong("mpiscope ps --no-such-option"));
    assert!(wrong("mpiscope no-such-verb"));
    assert!(wrong("srun -n 4 mpiscope report --section nothing out | less"));
    assert!(!wrong("MPISCOPE_RECORD=off mpiscope run mpirun -n 4 ./app --no-such-option &   # ours"));
    assert!(!wrong("mpiscope run"));
    assert!(!wrong("pip install mpiscope --no-such-option"));
}

/// Returns the link targets of a page that are files of the project.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let all = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let ours = all.filter(|link| !link.contains("://") && !link.starts_with('#') && !link.contains(' '));
    ours.map(|link| link.split('#').next().unwrap_or(link))
}

#[test]
fn every_link_in_the_documents_leads_to_a_file() {
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            seen += 1;
            assert!(page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
        }
    }
    assert!(seen > 20, "only {seen} links were found");
}
