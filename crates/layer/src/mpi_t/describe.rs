//! Everything that tools can see, as lines of JSON: the output of `mpiscope vars --library`.
//!
//! The command restarts itself with this library and an MPI library loaded, and calls
//! [`mpiscope_describe_variables`] there; MPI itself is not initialized.
#![allow(unsafe_code)]

use super::values::shown;
use super::{REGISTRY, builtin, library, raw_text};
use crate::base::limits;
use mpit::{Bind, Cvar, Datatype, Enumeration, Provenance, Pvar, PvarInfo};
use std::ffi::{c_int, c_void};
use std::fmt::Write;

unsafe extern "C" {
    fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int;
    fn MPI_T_finalize() -> c_int;
    fn MPI_T_cvar_get_num(number: *mut c_int) -> c_int;
}

/// Writes one line for each variable, enumeration, category, event type and source to an open file. Returns
/// 0, or 1 if no MPI library is loaded, or 2 if the file cannot be written.
#[unsafe(no_mangle)]
pub extern "C" fn mpiscope_describe_variables(file: c_int) -> c_int {
    let mut number = 0;
    // SAFETY: our own entry points, with memory for their results; level 0 is MPI_THREAD_SINGLE in every ABI.
    if unsafe { MPI_T_init_thread(0, &mut number) } != 0 {
        return 1;
    }
    // SAFETY: as above. Asking for the number adds the library's variables.
    unsafe { MPI_T_cvar_get_num(&mut number) };
    let mut done = 0;
    for line in lines() {
        done |= write(file, &line);
    }
    // SAFETY: as above.
    unsafe { MPI_T_finalize() };
    done
}

fn write(file: c_int, line: &str) -> c_int {
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        let written = limits::without_signals(|| {
            // SAFETY: the bytes are ours.
            unsafe { libc::write(file, rest.as_ptr().cast::<c_void>(), rest.len()) }
        });
        let Ok(written @ 1..) = usize::try_from(written) else { return 2 };
        rest = rest.get(written..).unwrap_or_default();
    }
    0
}

/// A JSON object under construction.
struct Line(String);

impl Line {
    fn new(kind: &str, index: usize) -> Self {
        let mut line = Self("{\"kind\":".to_owned());
        line.quote(kind);
        let _ = write!(line.0, ",\"index\":{index}");
        line
    }

    fn quote(&mut self, text: &str) {
        self.0.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => {
                    self.0.push('\\');
                    self.0.push(c);
                }
                // Not representable in JSON.
                c if raw_text::byte_of(c).is_some() => self.0.push(char::REPLACEMENT_CHARACTER),
                c if c.is_control() => _ = write!(self.0, "\\u{:04x}", c as u32),
                c => self.0.push(c),
            }
        }
        self.0.push('"');
    }

    fn text(mut self, key: &str, value: &str) -> Self {
        self.0.push(',');
        self.quote(key);
        self.0.push(':');
        self.quote(value);
        self
    }

    /// Adds a number, or an array of numbers: Rust's debug format matches JSON.
    fn number(mut self, key: &str, value: impl std::fmt::Debug) -> Self {
        self.0.push(',');
        self.quote(key);
        let _ = write!(self.0, ":{value:?}");
        self
    }

    fn enumeration(self, index: Option<usize>) -> Self {
        match index {
            Some(index) => self.number("enumeration", index),
            None => self,
        }
    }

    /// Adds the values and names of an enumeration: `[[0,"off"],[1,"on"]]`.
    fn items(mut self, names: &Enumeration) -> Self {
        self.0.push_str(",\"items\":[");
        for (at, (value, name)) in (0..names.len()).filter_map(|at| names.get(at)).enumerate() {
            let _ = write!(self.0, "{}[{value},", if at == 0 { "" } else { "," });
            self.quote(name);
            self.0.push(']');
        }
        self.0.push(']');
        self
    }

    fn end(self) -> String {
        self.0 + "}\n"
    }
}

fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    let cvars = (0..REGISTRY.cvar_count()).filter_map(|at| Some((at, REGISTRY.cvar(at).ok()?)));
    lines.extend(cvars.map(|(at, cvar)| cvar_line(at, cvar)));
    let pvars = (0..REGISTRY.pvar_count()).filter_map(|at| Some((at, REGISTRY.pvar(at).ok()?)));
    lines.extend(pvars.map(|(at, pvar)| pvar_line(at, pvar)));
    for at in 0..REGISTRY.enumeration_count() {
        let Ok(names) = REGISTRY.enumeration(at) else { continue };
        lines.push(Line::new("enumeration", at).text("name", names.name()).items(names).end());
    }
    for at in 0..REGISTRY.event_count() {
        let Ok(event) = REGISTRY.event(at) else { continue };
        let info = event.info();
        let line = Line::new("event", at).text("name", &info.name).text("desc", &info.desc);
        lines.push(line.text("bind", &named(info.bind.name())).end());
    }
    for at in 0..REGISTRY.category_count() {
        let Ok(category) = REGISTRY.category(at) else { continue };
        let line = Line::new("category", at).text("name", category.name()).text("desc", category.desc());
        let line = line.number("cvars", category.cvars()).number("pvars", category.pvars());
        lines
            .push(line.number("events", category.events()).number("categories", category.categories()).end());
    }
    lines
}

fn named(name: Option<&str>) -> String {
    name.unwrap_or("unknown").to_owned()
}

fn cvar_line(at: usize, cvar: &Cvar) -> String {
    let info = cvar.info();
    let line = Line::new("cvar", at)
        .text("name", &info.name)
        .text("desc", &info.desc)
        .text("scope", &named(info.scope.name()))
        .text("type", &named(info.datatype.name()))
        .text("bind", &named(info.bind.name()))
        .text("verbosity", &named(info.verbosity.name()))
        .text("environment", info.env.as_deref().unwrap_or_default())
        .enumeration(info.enumeration);
    let from = match cvar.provenance() {
        Provenance::Default => "default",
        Provenance::Environment => "environment",
        Provenance::Written => "written",
        Provenance::Other => "other",
    };
    if info.bind != Bind::NO_OBJECT {
        return line.text("needs", &named(info.bind.name())).end();
    }
    match cvar_value(at, info.datatype) {
        Ok(value) => line.text("value", &value).text("provenance", from).end(),
        Err(error) => line.text("problem", &error.to_string()).end(),
    }
}

fn cvar_value(cvar: usize, datatype: Datatype) -> mpit::Result<String> {
    let (handle, _count) = REGISTRY.cvar_handle_alloc(cvar, 0)?;
    let read = REGISTRY.cvar_size(handle).and_then(|size| {
        let mut bytes = vec![0; size];
        REGISTRY.cvar_read(handle, &mut bytes).map(|()| shown(datatype, &bytes))
    });
    REGISTRY.cvar_handle_free(handle)?;
    read
}

fn pvar_line(at: usize, pvar: &Pvar) -> String {
    let info = pvar.info();
    let mut flags = Vec::new();
    for (set, name) in [(info.readonly, "readonly"), (info.continuous, "continuous"), (info.atomic, "atomic")]
    {
        if set {
            flags.push(name);
        }
    }
    let line = Line::new("pvar", at)
        .text("name", &info.name)
        .text("desc", &info.desc)
        .text("class", &named(info.class.name()))
        .text("type", &named(info.datatype.name()))
        .text("bind", &named(info.bind.name()))
        .text("verbosity", &named(info.verbosity.name()))
        .text("flags", &flags.join(" "))
        .enumeration(info.enumeration);
    if info.bind != Bind::NO_OBJECT {
        return line.text("needs", &named(info.bind.name())).end();
    }
    if !builtin::is_own_pvar(at) && !library::pvars_usable() {
        return line.text("needs", "MPI_Init").end();
    }
    match pvar_value(at, info) {
        Ok((count, value)) => line.number("count", count).text("value", &value).end(),
        Err(error) => line.text("problem", &error.to_string()).end(),
    }
}

/// Returns the number of elements, and the value as shown by a newly started handle.
fn pvar_value(pvar: usize, info: &PvarInfo) -> mpit::Result<(usize, String)> {
    let session = REGISTRY.pvar_session_create()?;
    let read = REGISTRY.pvar_handle_alloc(session, pvar, 0).and_then(|(handle, count)| {
        if !info.continuous {
            REGISTRY.pvar_start(session, handle)?;
        }
        let mut bytes = vec![0; REGISTRY.pvar_size(session, handle)?];
        REGISTRY.pvar_read(session, handle, &mut bytes)?;
        Ok((count, shown(info.datatype, &bytes)))
    });
    REGISTRY.pvar_session_free(session)?;
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_in_descriptions_are_escaped() {
        let line = Line::new("cvar", 3).text("desc", "a \"b\"\n\\").end();
        assert_eq!(line, "{\"kind\":\"cvar\",\"index\":3,\"desc\":\"a \\\"b\\\"\\u000a\\\\\"}\n");
    }

    #[test]
    fn text_that_is_not_utf_8_still_gives_a_valid_line() {
        let line = Line::new("cvar", 3).text("desc", &raw_text::keep(b"caf\xe9")).end();
        assert_eq!(line, "{\"kind\":\"cvar\",\"index\":3,\"desc\":\"caf\u{fffd}\"}\n");
    }
}
