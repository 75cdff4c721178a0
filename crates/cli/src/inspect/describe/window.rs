//! Windows and files.

use super::communicator::order;
use super::{Context, Fact, field, when};
use mpiscope_job::objects::{Access, File, Window};

/// Pieces of memory or locks that are listed.
const MOST: usize = 16;

/// In one line.
pub fn brief(context: &Context<'_>, window: &Window) -> String {
    let comm = window.communicator.as_ref().map_or_else(String::new, |c| format!(" on {}", context.call(c)));
    let epochs = if window.epochs.is_empty() {
        "no epoch open".to_owned()
    } else {
        format!("open: {}", window.epochs.join(", "))
    };
    format!("{}{comm}, {} bytes, unit {}, {epochs}", window.flavour, window.size, window.displacement_unit)
}

/// Everything.
pub fn text(context: &Context<'_>, window: &Window, lines: &mut Vec<Fact>) {
    context.one(lines, "communicator", window.communicator.as_ref());
    lines.push(field("made as", &format!("{}, memory model {}", window.flavour, window.model)));
    let memory =
        format!("{} bytes at {}, displacement unit {}", window.size, window.base, window.displacement_unit);
    lines.push(field("memory here", &memory));
    for (address, len) in window.attached.iter().take(MOST) {
        lines.push(field("attached", &format!("{len} bytes at {address}")));
    }
    let epochs = if window.epochs.is_empty() { "none open".to_owned() } else { window.epochs.join(", ") };
    lines.push(field("epochs", &epochs));
    for lock in window.locks.iter().take(MOST) {
        let kind = if lock.exclusive { "exclusive" } else { "shared" };
        lines.push(field("lock held", &format!("{kind}, on rank {} of the communicator", lock.target)));
    }
    if window.locks.len() > MOST {
        lines.push(field("", &format!("and {} more locks", window.locks.len() - MOST)));
    }
    if let Some(group) = &window.start_group {
        lines.push(field("started to", &format!("ranks of the world {}", order(group))));
    }
    if let Some(group) = &window.post_group {
        lines.push(field("posted for", &format!("ranks of the world {}", order(group))));
    }
    if let Some(last) = &window.last_synchronisation {
        lines.push(field("last synchronised", &context.call_site(last)));
        lines.push(when("", last.seconds));
    }
    let done = &window.operations;
    let told = format!(
        "{} puts, {} gets, {} accumulates; {} not known to be complete",
        done.puts, done.gets, done.accumulates, done.pending
    );
    lines.push(field("operations", &told));
    let targets: Vec<String> = done
        .pending_by_target
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .take(MOST)
        .map(|(target, n)| format!("{n} to {target}"))
        .collect();
    if !targets.is_empty() {
        lines.push(field("", &targets.join(", ")));
    }
    context.given(lines, window.info.as_ref(), &window.hints);
    context.one(lines, "error handler", window.errhandler.as_ref());
    context.attributes(lines, &window.attributes);
    context.many(lines, "requests", &window.requests);
    context.calls(lines, &window.calls);
}

/// In one line.
pub fn file_brief(file: &File) -> String {
    let path = file.path.as_deref().unwrap_or("a file whose name is not known");
    if file.common.predefined {
        return String::new();
    }
    format!("{path}, {}", mode(file))
}

fn mode(file: &File) -> String {
    if file.mode.is_empty() {
        return format!("mode {:#x}", file.amode);
    }
    file.mode.iter().map(|m| m.trim_start_matches("MPI_MODE_").to_lowercase()).collect::<Vec<_>>().join(" + ")
}

/// Everything.
pub fn file(context: &Context<'_>, file: &File, lines: &mut Vec<Fact>) {
    if file.fortran_unasked {
        lines.push(field("in Fortran", "none yet: nobody asked the library for one (MPI_File_c2f)"));
    }
    if let Some(path) = &file.path {
        lines.push(field("path", path));
    }
    lines.push(field("mode", &mode(file)));
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
        lines.push(field("  time in it", &format!("{seconds:.6} s")));
    }
    context.given(lines, file.info.as_ref(), &file.hints);
    context.one(lines, "error handler", file.errhandler.as_ref());
    context.many(lines, "requests", &file.requests);
    context.calls(lines, &file.calls);
}

/// `2 reads of 96 bytes, 1 write of 8 bytes`.
fn access(access: &Access) -> String {
    let calls = |n: u64, what: &str, bytes: u64| {
        let s = if n == 1 { "" } else { "s" };
        format!("{n} {what}{s} of {bytes} bytes")
    };
    let reads = calls(access.reads, "read", access.read_bytes);
    format!("{reads}, {}", calls(access.writes, "write", access.written_bytes))
}
