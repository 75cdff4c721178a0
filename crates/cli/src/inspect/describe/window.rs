//! Windows and files.

use super::communicator::order;
use super::{Called, Context, Fact, field, left_out, when};
use mpiscope_job::model::objects::{Access, File, Window};
use std::fmt;

/// Maximum number of memory regions or locks listed.
const MOST: usize = 16;

/// The contents of a window's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    flavour: &'static str,
    communicator: Option<Called>,
    size: u64,
    displacement_unit: u64,
    epochs: Vec<&'static str>,
}

impl Summary {
    pub fn of(window: &Window) -> Self {
        Self {
            flavour: window.flavour,
            communicator: window.communicator.as_ref().map(Called::of),
            size: window.size,
            displacement_unit: window.displacement_unit,
            epochs: window.epochs.clone(),
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.flavour)?;
        if let Some(communicator) = &self.communicator {
            write!(f, " on {communicator}")?;
        }
        write!(f, ", {} bytes, unit {}, ", self.size, self.displacement_unit)?;
        if self.epochs.is_empty() {
            return f.write_str("no epoch open");
        }
        write!(f, "open: {}", self.epochs.join(", "))
    }
}

/// Adds all facts.
pub fn text(context: &Context<'_>, window: &Window, lines: &mut Vec<Fact>) {
    context.one(lines, "communicator", window.communicator.as_ref());
    lines.push(field("made as", &format!("{}, memory model {}", window.flavour, window.model)));
    let memory =
        format!("{} bytes at {}, displacement unit {}", window.size, window.base, window.displacement_unit);
    lines.push(field("memory here", &memory));
    for (address, len) in window.attached.iter().take(MOST) {
        lines.push(field("attached", &format!("{len} bytes at {address}")));
    }
    lines.extend(left_out(window.attached.len(), MOST, "pieces of memory"));
    let epochs = if window.epochs.is_empty() { "none open".to_owned() } else { window.epochs.join(", ") };
    lines.push(field("epochs", &epochs));
    for lock in window.locks.iter().take(MOST) {
        let kind = if lock.exclusive { "exclusive" } else { "shared" };
        lines.push(field("lock held", &format!("{kind}, on rank {} of the communicator", lock.target)));
    }
    lines.extend(left_out(window.locks.len(), MOST, "locks"));
    if let Some(group) = &window.start_group {
        lines.push(field("started to", &format!("ranks of the world {}", order(group))));
    }
    if let Some(group) = &window.post_group {
        lines.push(field("posted for", &format!("ranks of the world {}", order(group))));
    }
    if let Some(last) = &window.last_synchronisation {
        lines.push(field("last synchronized", &context.call_site(last)));
        lines.push(when("", last.seconds));
    }
    let done = &window.operations;
    let text = format!(
        "{} puts, {} gets, {} accumulates; {} not known to be complete",
        done.puts, done.gets, done.accumulates, done.pending
    );
    lines.push(field("operations", &text));
    let pending = || done.pending_by_target.iter().enumerate().filter(|(_, n)| **n > 0);
    let targets: Vec<String> = pending().take(MOST).map(|(target, n)| format!("{n} to {target}")).collect();
    if !targets.is_empty() {
        lines.push(field("", &targets.join(", ")));
        lines.extend(left_out(pending().count(), MOST, "targets"));
    }
    context.given(lines, window.info.as_ref(), &window.hints);
    context.one(lines, "error handler", window.errhandler.as_ref());
    context.attributes(lines, &window.attributes);
    context.many(lines, "requests", &window.requests);
    context.calls(lines, &window.calls);
}

/// The contents of a file's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileSummary {
    path: Option<String>,
    mode: Mode,
}

/// The access mode: its names, or its number if it has none.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Mode(Vec<String>, u32);

impl FileSummary {
    pub fn of(file: &File) -> Self {
        Self { path: file.path.clone(), mode: Mode::of(file) }
    }
}

impl Mode {
    fn of(file: &File) -> Self {
        Self(file.mode.clone(), file.amode)
    }
}

impl fmt::Display for FileSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.path.as_deref().unwrap_or("a file whose name is unknown"), self.mode)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(f, "mode {:#x}", self.1);
        }
        let words = self.0.iter().map(|mode| mode.trim_start_matches("MPI_MODE_").to_lowercase());
        f.write_str(&words.collect::<Vec<_>>().join(" + "))
    }
}

/// Adds all facts.
pub fn file(context: &Context<'_>, file: &File, lines: &mut Vec<Fact>) {
    if file.fortran_unasked {
        lines.push(field("in Fortran", "none yet: the library was never asked for one (MPI_File_c2f)"));
    }
    if let Some(path) = &file.path {
        lines.push(field("path", path));
    }
    lines.push(field("mode", &Mode::of(file).to_string()));
    context.one(lines, "communicator", file.communicator.as_ref());
    let datatype = |reference: &Option<_>, default: &str| {
        reference.as_ref().map_or_else(|| default.to_owned(), |r| context.refer(r))
    };
    let view = &file.view;
    lines.push(field(
        "view",
        &format!("from byte {}, representation {}", view.displacement, view.representation),
    ));
    lines.push(field("  element type", &datatype(&view.etype, "bytes (default)")));
    lines.push(field("  file type", &datatype(&view.filetype, "bytes (default)")));
    lines.push(field("atomic mode", if file.atomic { "on" } else { "off" }));
    lines.push(field("data access", &access(&file.access)));
    if let Some(seconds) = file.access.seconds {
        lines.push(field("  time in it", &crate::render::duration(seconds)));
    }
    context.given(lines, file.info.as_ref(), &file.hints);
    context.one(lines, "error handler", file.errhandler.as_ref());
    context.many(lines, "requests", &file.requests);
    context.calls(lines, &file.calls);
}

/// Formats accesses: `2 reads of 96 bytes, 1 write of 8 bytes`.
fn access(access: &Access) -> String {
    let calls = |n: u64, what: &str, bytes: u64| {
        let s = if n == 1 { "" } else { "s" };
        format!("{n} {what}{s} of {bytes} bytes")
    };
    let reads = calls(access.reads, "read", access.read_bytes);
    format!("{reads}, {}", calls(access.writes, "write", access.written_bytes))
}
