//! `mpiscope completions`, and the manual pages: both are made from the definition of the command line.

use crate::exit;
use crate::render::Terminal;
use anyhow::{Context, Result};
use clap_complete::Shell;
use std::fs;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Shells that people use on clusters.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum For {
    Bash,
    Zsh,
    Fish,
}

/// Print what a shell needs to complete mpiscope's command line
///
/// bash: `mpiscope completions bash > ~/.local/share/bash-completion/completions/mpiscope`; zsh: into a file `_mpiscope` in
/// a directory of fpath; fish: `mpiscope completions fish > ~/.config/fish/completions/mpiscope.fish`. Exit status: 0.
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

/// Prints the completions.
pub fn print(options: &Options) -> Result<ExitCode> {
    let shell = match options.shell {
        For::Bash => Shell::Bash,
        For::Zsh => Shell::Zsh,
        For::Fish => Shell::Fish,
    };
    let mut command = crate::command(Terminal::of(&stdout()).width);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "mpiscope", &mut text);
    let mut out = stdout().lock();
    out.write_all(&text)?;
    out.flush()?;
    Ok(ExitCode::from(exit::FINE))
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

fn write_page(dir: &Path, command: clap::Command, name: &str) -> Result<()> {
    let page = clap_mangen::Man::new(command.display_name(name.to_owned())).title(name.to_uppercase());
    let page = page.source(concat!("mpiscope ", env!("CARGO_PKG_VERSION"))).manual("mpiscope");
    let mut text = Vec::new();
    page.render(&mut text)?;
    let file = dir.join(format!("{name}.1"));
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
