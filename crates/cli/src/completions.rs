//! `mpiscope completions` and the manual pages, both generated from the definition of the command line.

use crate::exit;
use crate::render::{NOT_WRITTEN, Terminal};
use anyhow::{Context, Result};
use clap::Command;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Shells in use on clusters.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum For {
    Bash,
    Zsh,
    Fish,
    Tcsh,
}

/// Print the completion script of a shell for mpiscope
///
/// bash: `mpiscope completions bash > ~/.local/share/bash-completion/completions/mpiscope`; zsh: write it to
/// a file `_mpiscope` in a directory of fpath; fish:
/// `mpiscope completions fish > ~/.config/fish/completions/mpiscope.fish`; tcsh: write it to a file that
/// ~/.tcshrc sources. Exit status: 0.
#[derive(clap::Args)]
pub struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: For,
}

/// Write the manual pages into a directory
#[derive(clap::Args)]
pub struct ManOptions {
    /// The directory
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub fn print(options: &Options) -> Result<ExitCode> {
    let mut command = with_topics(crate::command(Terminal::of(&stdout()).width));
    let mut text = Vec::new();
    let mut made = |shell: Shell| clap_complete::generate(shell, &mut command, "mpiscope", &mut text);
    match options.shell {
        For::Bash => made(Shell::Bash),
        For::Zsh => made(Shell::Zsh),
        For::Fish => made(Shell::Fish),
        For::Tcsh => text.extend(tcsh(command).bytes()),
    }
    let mut out = stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).context(NOT_WRITTEN)?;
    Ok(ExitCode::from(exit::FINE))
}

/// Adds the verbs to the values of the argument of `help`. Shells complete them; whoever types something else gets
/// the answer to an unknown verb.
fn with_topics(command: Command) -> Command {
    let visible = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    // The parser keeps its names for the lifetime of the process, which ends after this.
    let verbs: Vec<&str> = visible.map(|verb| &*verb.get_name().to_owned().leak()).collect();
    let topics = PossibleValuesParser::new(verbs);
    command.mut_subcommand("help", |help| help.mut_arg("verb", |verb| verb.value_parser(topics)))
}

/// Generates the line for tcsh, whose completion cannot depend on the verb: the verbs, the options of all
/// verbs, and files.
fn tcsh(mut command: Command) -> String {
    command.build();
    let visible = || command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<&str> = visible().map(Command::get_name).collect();
    let all = visible().flat_map(Command::get_arguments).filter(|one| !one.is_hide_set());
    let options: BTreeSet<&str> = all.filter_map(clap::Arg::get_long).collect();
    let options: Vec<&str> = options.into_iter().collect();
    format!(
        "complete mpiscope 'c/--/({})/' 'p/1/({})/' 'n/help/({1})/' 'p/*/f/'\n",
        options.join(" "),
        verbs.join(" ")
    )
}

/// Writes `mpiscope.1` and a page for each verb.
pub fn manual(options: &ManOptions) -> Result<ExitCode> {
    let mut command = crate::command(usize::from(u16::MAX));
    command.build();
    write_page(&options.dir, command.clone(), "mpiscope")?;
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_page(&options.dir, verb.clone(), &format!("mpiscope-{}", verb.get_name()))?;
    }
    Ok(ExitCode::from(exit::FINE))
}

fn write_page(dir: &Path, command: Command, name: &str) -> Result<()> {
    let page = clap_mangen::Man::new(command.display_name(name.to_owned())).title(name.to_uppercase());
    let page = page.source(concat!("mpiscope ", env!("CARGO_PKG_VERSION"))).manual("mpiscope");
    let mut text = Vec::new();
    page.render(&mut text)?;
    // The pages have no date; if that argument is missing, the others are taken for it and for each other.
    let text = String::from_utf8(text)?.replacen(" 1  ", " 1 \"\" ", 1);
    let file = dir.join(format!("{name}.1"));
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
