//! What a core file or a saved image contains about a process, read once for all views of it.

mod at_death;
mod one_job;

pub use at_death::AtDeath;
pub use one_job::OneJob;

use crate::Error;
use crate::base::clock::Moment;
use crate::base::modules::ModuleFacts;
use crate::model::locate::Locate;
use crate::model::process::Process;
use crate::model::rank::{Rank, SymbolContext};
use crate::model::rank_status::RankStatus;
use crate::observation::{Observation, observe};
use crate::sources::core::{self, End, Stack, walk};
use crate::sources::image_file::open_file;
use crate::sources::image_source::Bytes;
use mpiscope_image::Image;
use mpiscope_target::{Core, Module, Symbolizer, Target};
use std::path::Path;
use std::sync::Arc;

/// Resolution in seconds of the clock behind file times, which advances in steps.
const FILE_CLOCK_S: f64 = 0.02;

/// A process known from a file.
pub struct ProcessFile {
    /// Its image.
    pub image: Image<Bytes>,
    /// Facts read from the image.
    pub process: Process,
    /// Facts that only a core file contains.
    pub dead: Option<Dead>,
}

/// What a core file contains beyond the image.
pub struct Dead {
    /// The file.
    pub core: Arc<Core>,
    /// The mapped files, the program first.
    pub modules: Vec<Module>,
    /// Why the program's source lines would be wrong, if it has been rebuilt since.
    pub stale: Option<String>,
    /// The stack of the thread that died.
    pub stack: Stack,
    /// What terminated it.
    pub end: End,
    /// When it died, in seconds since 1970, according to the file's times.
    pub died_s: Option<f64>,
}

impl ProcessFile {
    /// Reads a core file or a saved image.
    ///
    /// # Errors
    /// If the file is neither.
    pub fn open(path: &Path) -> Result<Self, Error> {
        match Core::open(path) {
            Ok(core) => Self::of_core(path, core),
            Err(_) => {
                let image = open_file(path)?;
                let process = Process::read(&image, None).map_err(|why| damaged(path, why))?;
                Ok(Self { image, process, dead: None })
            }
        }
    }

    /// Reads a core file.
    ///
    /// # Errors
    /// If it is not a core file, is damaged, or contains no image.
    pub fn open_core(path: &Path) -> Result<Self, Error> {
        Self::of_core(path, Core::open(path).map_err(|e| Error::NotFound(not_a_core(path, &e)))?)
    }

    fn of_core(path: &Path, core: Core) -> Result<Self, Error> {
        let core = Arc::new(core);
        let image = core::image(&core).map_err(|e| cut_off(&core, e))?;
        // A core file of a process on this host uses this host's clock.
        let mut process = Process::read(&image, Some(Moment::now())).map_err(|why| damaged(path, why))?;
        process.see_through_bindings(&image, &core);
        let modules = core.modules().unwrap_or_default();
        let stale = modules.first().and_then(|program| replaced(&core, program));
        let stack = core.threads().first().map(|thread| walk(&core, &modules, thread)).unwrap_or_default();
        let end = End::of(&core, process.pid, process.abort_code, &stack);
        let dead = Dead { stale, stack, end, died_s: time_of(path), modules, core };
        Ok(Self { image, process, dead: Some(dead) })
    }

    /// Returns that the core file is truncated, if so.
    pub fn truncated(&self) -> Option<String> {
        self.dead.as_ref().and_then(|dead| core::truncated(&dead.core))
    }

    /// Calls `look` with its rank, omitting source lines that would be wrong.
    pub fn look<T>(&self, symbols: &dyn Locate, look: impl FnOnce(&Rank<'_, Bytes>) -> T) -> T {
        let off = self.dead.as_ref().is_some_and(|dead| dead.stale.is_some());
        let lines = Lines { inner: symbols, off };
        let context = SymbolContext::new(&self.process, &lines);
        look(&Rank::new(&self.image, &self.process, &context))
    }

    /// Returns what its threads were doing, with ages as of then. `alive` is the liveness to report for the
    /// process.
    pub fn status(&self, symbols: &dyn Locate, alive: bool) -> RankStatus {
        let mut status = self.look(symbols, |rank| RankStatus::new(rank, alive));
        if let Some(dead) = &self.dead {
            for thread in &mut status.threads {
                let since =
                    self.process.threads.iter().find(|t| t.index == thread.thread).map_or(0, |t| t.since);
                thread.age_s = dead.age(&self.process, since);
            }
        }
        status
    }

    /// Returns the observation a verdict is derived from.
    pub fn observation(&self, symbols: &dyn Locate, words: &Symbolizer) -> Observation {
        self.look(symbols, |rank| observe(rank, &AtDeath { file: self, words }))
    }
}

impl Dead {
    /// Returns the seconds from a moment in ticks to the death of the process.
    pub fn age(&self, process: &Process, since: u64) -> Option<f64> {
        let clock = &process.clock;
        let after_start = (clock.ns_at(since) as f64 - clock.start_ns() as f64) / 1e9;
        self.age_after_start(process, after_start).filter(|_| since != 0)
    }

    /// Returns when the process died, in nanoseconds of its host's `CLOCK_MONOTONIC`.
    pub fn died_ns(&self, process: &Process) -> Option<u64> {
        let lifetime = self.age_after_start(process, 0.0)?;
        Some(process.clock.start_ns().saturating_add((lifetime * 1e9) as u64))
    }

    /// Returns the same for a moment in seconds after the start of the image.
    pub fn age_after_start(&self, process: &Process, seconds: f64) -> Option<f64> {
        let age = self.died_s? - process.clock.start_unix_ns() as f64 / 1e9 - seconds;
        (age >= -FILE_CLOCK_S).then(|| age.max(0.0))
    }
}

fn damaged(path: &Path, why: mpiscope_image::Error) -> Error {
    Error::Image { what: path.display().to_string(), why }
}

/// Adds advice if the file is compressed, the usual reason why a core file is not recognized.
fn not_a_core(path: &Path, error: &mpiscope_target::Error) -> String {
    let mut head = [0; 4];
    // Opening a pipe blocks until there is a writer.
    if !path.is_file() {
        return error.to_string();
    }
    let read = std::fs::File::open(path).and_then(|mut f| std::io::Read::read_exact(&mut f, &mut head));
    let tool = match (read.is_ok(), head) {
        (true, [0x28, 0xb5, 0x2f, 0xfd]) => "zstd -d",
        (true, [0x04, 0x22, 0x4d, 0x18]) => "lz4 -d",
        (true, [0xfd, b'7', b'z', b'X']) => "xz -dk",
        (true, [0x1f, 0x8b, ..]) => "gunzip -k",
        _ => return error.to_string(),
    };
    format!("{}: compressed; unpack it first: {tool} {}", path.display(), path.display())
}

/// If no image is found in a truncated file, it was probably in the missing part.
fn cut_off(core: &Core, error: Error) -> Error {
    match (core.missing(), error) {
        (Some(missing), error @ (Error::NoImageInCore { .. } | Error::Image { .. })) => {
            Error::NotFound(format!(
                "{error}. The file is truncated: {missing} bytes are missing at its end; raise `ulimit -c` or free disk space"
            ))
        }
        (_, error) => error,
    }
}

/// Returns why source lines would be wrong, if the program has been rebuilt since: other lines then have the
/// same addresses.
fn replaced(core: &Core, program: &Module) -> Option<String> {
    let code = program.executable.start;
    let gone = core.read_bytes(code, 8, 8).is_err() && !program.executable.is_empty();
    gone.then(|| {
        format!("{} has been rebuilt or removed since; source lines are not shown", program.path.display())
    })
}

/// The kernel writes the file when the process dies. A copy has a later creation time but may keep the
/// modification time.
fn time_of(path: &Path) -> Option<f64> {
    let data = std::fs::metadata(path).ok()?;
    let time = data.created().into_iter().chain(data.modified()).min()?;
    Some(time.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64())
}

/// Hides lines and functions that would be wrong.
struct Lines<'a> {
    inner: &'a dyn Locate,
    off: bool,
}

impl Locate for Lines<'_> {
    fn call(&self, module: &ModuleFacts, return_address: u64) -> Option<String> {
        if self.off { None } else { self.inner.call(module, return_address) }
    }

    fn exports(&self, module: &ModuleFacts, each: &mut dyn FnMut(&str, u64)) {
        self.inner.exports(module, each);
    }

    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String> {
        self.inner.symbol(module, address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_given_as_a_core_file_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("core");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let refused = Core::open(&path).map(drop).unwrap_err();
        let said = not_a_core(&path, &refused);
        assert!(said.contains("not a regular file"), "{said}");
    }
}
