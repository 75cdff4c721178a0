//! A helper process that loads an MPI library under the layer and describes what tools find in it.

use super::item::Item;
use super::provenance;
use crate::run::environment::find_layer;
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A library that does not answer in this time never will.
const LIMIT: Duration = Duration::from_secs(30);

/// The environment of a helper.
pub type Environment = Vec<(OsString, OsString)>;

/// Returns the library's items, with the values that a process started in this environment would
/// find.
pub fn describe(library: &OsStr, environment: &Environment) -> Result<Vec<Item>> {
    let mut items = ask(library, environment)?;
    if items.iter().any(provenance::is_open) {
        let plain = ask(library, &without_settings(environment))?;
        provenance::settle(&mut items, &plain, environment);
    }
    Ok(items)
}

/// Reduces an environment to what a process needs to start at all.
fn without_settings(environment: &Environment) -> Environment {
    const KEPT: [&str; 7] =
        ["PATH", "HOME", "USER", "LD_LIBRARY_PATH", "TMPDIR", "I_MPI_ROOT", "OPAL_PREFIX"];
    environment.iter().filter(|(name, _)| KEPT.iter().any(|kept| name == kept)).cloned().collect()
}

fn ask(library: &OsStr, environment: &Environment) -> Result<Vec<Item>> {
    let name = library.to_string_lossy();
    let output =
        run(library, environment).with_context(|| format!("{name}: the helper cannot be started"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: the helper ended with {}: {}", output.status, said.trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter(|line| line.starts_with("{\"kind\""));
    lines.map(|line| Item::of_line(line).with_context(|| format!("{name}: {line}"))).collect()
}

/// Runs the helper until it ends or the time limit is reached.
fn run(library: &OsStr, environment: &Environment) -> Result<Output> {
    let mut child = command(library, environment)?.spawn()?;
    let out = child.stdout.take().map(|pipe| thread::spawn(move || read(pipe)));
    let err = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe)));
    let status = end_of(&mut child)?;
    let text = |reader: Option<thread::JoinHandle<Vec<u8>>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    Ok(Output { status, stdout: text(out), stderr: text(err) })
}

fn command(library: &OsStr, environment: &Environment) -> Result<Command> {
    // Variables that tie a process to its launcher are not for the helper.
    const TIES: [&str; 4] = ["MPISCOPE_COLLECTOR", "MPISCOPE_IMAGE_FD", "PMI_FD", "PMI_PORT"];
    let mut preload = find_layer()?.into_os_string();
    preload.push(":");
    preload.push(library);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["vars", "--describe"]).env_clear();
    command.envs(environment.iter().filter(|(name, _)| TIES.iter().all(|tie| name != tie)).cloned());
    command.env("LD_PRELOAD", preload);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command)
}

fn end_of(child: &mut Child) -> Result<ExitStatus> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if begun.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("it did not answer within {} s", LIMIT.as_secs());
        }
        thread::sleep(Duration::from_millis(2));
    }
}

fn read(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Whatever arrived before the pipe broke is all there is.
    let _ = pipe.read_to_end(&mut bytes);
    bytes
}

/// Returns this process's environment.
pub fn own_environment() -> Environment {
    std::env::vars_os().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_removed_from_the_environment_and_the_rest_is_kept() {
        let environment = [("PATH", "/bin"), ("MPIR_CVAR_X", "1"), ("I_MPI_DEBUG", "5"), ("HOME", "/h")];
        let environment = environment.map(|(name, value)| (name.into(), value.into())).into();
        let names: Vec<_> = without_settings(&environment).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "HOME"]);
    }
}
