//! `mpiscope --version`: the version, and the files in use.

use crate::render::Screen;
use crate::run::environment::find_layer;
use anyhow::Result;
use std::path::Path;
use std::process::ExitCode;

/// Libraries that debuggers load, next to the layer.
const PLUG_INS: [(&str, &str); 2] =
    [("handles plug-in", "libmpiscope_handles.so"), ("queues plug-in", "libmpiscope_queues.so")];

/// Returns the version and commit.
pub fn name() -> String {
    let commit = env!("MPISCOPE_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    if commit.is_empty() { version.to_owned() } else { format!("{version} (commit {commit})") }
}

/// Prints the version and the paths of the files.
pub fn show() -> Result<ExitCode> {
    let mut screen = Screen::stdout();
    screen.line(&format!("mpiscope {}", name()))?;
    let command = std::env::current_exe();
    screen
        .line(&row("command", &command.map_or_else(|e| e.to_string(), |path| path.display().to_string())))?;
    match find_layer() {
        Ok(layer) => {
            screen.line(&row("layer", &layer.display().to_string()))?;
            for (what, file) in PLUG_INS {
                screen.line(&row(what, &beside(&layer, file)))?;
            }
        }
        // The command works without the layer: it can still read core files and evidence files.
        Err(why) => screen.line(&row("layer", &format!("not found: {why}")))?,
    }
    screen.finish()?;
    Ok(ExitCode::from(crate::exit::FINE))
}

fn row(what: &str, value: &str) -> String {
    format!("  {what:<16}{value}")
}

fn beside(layer: &Path, file: &str) -> String {
    let path = layer.with_file_name(file);
    if path.is_file() { path.display().to_string() } else { format!("not found next to the layer: {file}") }
}
