//! The environment that a program needs to run under the layer.

use super::TraceWindow;
use super::preload::{self, LAYER};
use anyhow::{Result, bail};
use mpiscope_job::runtime;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where the layer may be, relative to the folder of this executable. Wheels and some distributions use
/// `lib64`.
const PLACES: [&str; 5] = ["", "../lib", "../lib/mpiscope", "../lib64", "../lib64/mpiscope"];

/// Finds the layer: the path in `MPISCOPE_LAYER`, or next to this executable, or in `../lib`, `../lib64` or
/// their `mpiscope` folders.
pub fn find_layer() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("MPISCOPE_LAYER").filter(|p| !p.is_empty()) {
        return match std::path::absolute(&path) {
            Ok(path) if path.is_file() => loadable(path),
            _ => bail!("MPISCOPE_LAYER={}: no such file; unset it or name {LAYER}", path.to_string_lossy()),
        };
    }
    let exe = std::env::current_exe()?;
    let home = exe.parent().unwrap_or(Path::new("/"));
    match PLACES.iter().map(|place| home.join(place).join(LAYER)).find(|path| path.is_file()) {
        Some(path) => loadable(path.canonicalize().unwrap_or(path)),
        None => bail!(
            "{LAYER} is neither in {} nor in {}, {} or their mpiscope folders; build it (`cargo build -p \
             mpiscope-layer`) or set MPISCOPE_LAYER to its path",
            home.display(),
            home.join("../lib").display(),
            home.join("../lib64").display()
        ),
    }
}

/// Number of bytes at the beginning of an ELF file that tell its class, byte order, type and machine.
const IDENTITY: usize = 20;
/// The type of a shared library, in the byte order of this machine.
const SHARED: [u8; 2] = 3_u16.to_ne_bytes();

/// Rejects a file that the loader would ignore with a message in every process: a library of this machine has the
/// class, byte order and machine of this executable.
fn loadable(layer: PathBuf) -> Result<PathBuf> {
    let identity = |path: &Path| -> std::io::Result<[u8; IDENTITY]> {
        let mut bytes = [0; IDENTITY];
        File::open(path)?.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let ours = identity(Path::new("/proc/self/exe"))?;
    let found = match identity(&layer) {
        Err(why) if why.kind() != std::io::ErrorKind::UnexpectedEof => bail!("{}: {why}", layer.display()),
        found => found.unwrap_or_default(),
    };
    let is_alike = |at: Range<usize>| found.get(at.clone()) == ours.get(at);
    if is_alike(0..6) && found.get(16..18) == Some(&SHARED) && is_alike(18..20) {
        return Ok(layer);
    }
    bail!("{}: not a shared library for this machine; install {LAYER} again", layer.display())
}

/// Makes a job name that is unique on this host.
pub fn new_job() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis());
    format!("{}-{:06x}", std::process::id(), now & 0xff_ffff)
}

/// The variables to set.
#[derive(Debug)]
pub struct Environment {
    preload: OsString,
    job: String,
    /// Path of the collector's socket.
    pub collector: Option<PathBuf>,
    /// Memory file that the program inherits.
    pub image: Option<RawFd>,
    /// Ranks wait for a debugger at the end of `MPI_Init`.
    pub hold: bool,
    /// Ranks record every message so that both ends can be compared.
    pub check: bool,
    /// Size of each thread's trace, if there is one.
    pub trace: Option<String>,
    /// The period in which calls are traced.
    pub trace_window: Option<TraceWindow>,
    /// The address that hosts send their data to, and the secret for it.
    pub uplink: Vec<(&'static str, OsString)>,
    /// Only ranks of this world are known to run under the layer; processes that they spawn may not.
    pub world_only: bool,
}

impl Environment {
    /// Preloads `layer`, followed by the user's own preloads.
    pub fn new(layer: &Path, job: &str) -> Result<Self> {
        let users = std::env::var_os("LD_PRELOAD").unwrap_or_default();
        Ok(Self {
            preload: preload::list(preload::nameable(layer)?.as_os_str(), &users),
            job: job.to_owned(),
            collector: None,
            image: None,
            hold: false,
            check: false,
            trace: None,
            trace_window: None,
            uplink: Vec::new(),
            world_only: false,
        })
    }

    /// Returns the name of the job.
    pub fn job(&self) -> &str {
        &self.job
    }

    /// Returns the names and values of the variables.
    pub fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables =
            vec![("LD_PRELOAD", self.preload.clone()), ("MPISCOPE_JOB", self.job.clone().into())];
        variables.extend(self.collector.iter().map(|name| ("MPISCOPE_COLLECTOR", name.into())));
        // The folder that the user named may be unusable.
        let named = std::env::var_os(runtime::VARIABLE).filter(|name| !name.is_empty());
        let used = self.collector.as_ref().and_then(|place| place.parent()).filter(|_| named.is_some());
        variables.extend(used.map(|folder| (runtime::VARIABLE, folder.into())));
        variables.extend(self.uplink.iter().cloned());
        variables.extend(self.image.iter().map(|fd| ("MPISCOPE_IMAGE_FD", fd.to_string().into())));
        if std::env::var_os("MPISCOPE_ACQUIRE").is_none() {
            // Ranks of several hosts and worlds exchange their locations: see the layer's `debugger`.
            variables.push(("MPISCOPE_ACQUIRE", if self.world_only { "world" } else { "1" }.into()));
        }
        // Programs built with the address sanitizer refuse to start if another library comes first; the layer
        // defines nothing that the sanitizer wants to define.
        variables.push(("ASAN_OPTIONS", asan_options(std::env::var_os("ASAN_OPTIONS").unwrap_or_default())));
        if self.hold {
            variables.push(("MPISCOPE_HOLD", "1".into()));
        }
        variables.extend(self.trace.iter().map(|size| ("MPISCOPE_TRACE", size.into())));
        let window = self.trace_window.iter();
        variables.extend(window.map(|window| ("MPISCOPE_TRACE_WINDOW", window.milliseconds.clone().into())));
        if self.check {
            variables.push(("MPISCOPE_RECORD_MESSAGES", "1".into()));
            // Takes time in proportion to the data, so users may turn it off.
            const CONTENTS: &str = "MPISCOPE_RECORD_CONTENTS";
            let contents = std::env::var_os(CONTENTS).unwrap_or_else(|| "1".into());
            variables.push((CONTENTS, contents));
        }
        variables
    }
}

/// Extends the user's options, which come last and take precedence.
fn asan_options(users: OsString) -> OsString {
    let mut options = OsString::from("verify_asan_link_order=0");
    if !users.is_empty() {
        options.push(":");
        options.push(users);
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_that_is_no_library_of_this_machine_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let layer = dir.path().join(LAYER);
        let mut library = std::fs::read("/proc/self/exe").unwrap();
        library.truncate(IDENTITY);
        library[16..18].copy_from_slice(&SHARED);
        let tried = |bytes: &[u8]| {
            std::fs::write(&layer, bytes).unwrap();
            loadable(layer.clone())
        };
        assert!(tried(&library).is_ok());
        library[18] ^= 1;
        for bytes in [&library[..], b"", b"garbage that is long enough to be a header"] {
            let why = tried(bytes).unwrap_err().to_string();
            assert!(why.contains("not a shared library for this machine"), "{why}");
        }
    }

    #[test]
    fn the_users_sanitizer_options_come_last_and_so_decide() {
        assert_eq!(asan_options("".into()), "verify_asan_link_order=0");
        assert_eq!(asan_options("a=1".into()), "verify_asan_link_order=0:a=1");
    }
}
