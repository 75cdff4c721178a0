//! Everything that tools can see, as lines of JSON: what `mpiscope vars --library` shows.
//!
//! The command starts itself again with this library and an MPI library loaded, and calls
//! [`mpiscope_describe_variables`] there; MPI itself is not initialised.
#![allow(unsafe_code)]

use super::REGISTRY;
use mpit::{Bind, Cvar, Datatype, Provenance, Pvar, PvarClass};
use std::ffi::{c_int, c_void};
use std::fmt::Write;

unsafe extern "C" {
    fn MPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int;
    fn MPI_T_finalize() -> c_int;
    fn MPI_T_cvar_get_num(number: *mut c_int) -> c_int;
}

/// Writes one line for each variable, enumeration, category, event type and source to an open file. Returns 0, or 1 if
/// no MPI library is loaded, or 2 if the file cannot be written.
#[unsafe(no_mangle)]
pub extern "C" fn mpiscope_describe_variables(file: c_int) -> c_int {
    let mut number = 0;
    // SAFETY: our own entry points, with places for their answers; level 0 is MPI_THREAD_SINGLE in every ABI.
    if unsafe { MPI_T_init_thread(0, &mut number) } != 0 {
        return 1;
    }
    // SAFETY: as above. The number brings in what the library has.
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
        // SAFETY: the bytes are ours.
        let written = unsafe { libc::write(file, rest.as_ptr().cast::<c_void>(), rest.len()) };
        let Ok(written @ 1..) = usize::try_from(written) else { return 2 };
        rest = rest.get(written..).unwrap_or_default();
    }
    0
}

/// One JSON object under way.
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

    fn numbers(mut self, key: &str, values: &[usize]) -> Self {
        self.0.push(',');
        self.quote(key);
        let _ = write!(self.0, ":{values:?}");
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
        let items: Vec<String> = (0..names.len())
            .filter_map(|i| names.get(i))
            .map(|(value, name)| format!("{value}={name}"))
            .collect();
        lines.push(
            Line::new("enumeration", at).text("name", names.name()).text("items", &items.join(", ")).end(),
        );
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
        let line = line.numbers("cvars", &category.cvars()).numbers("pvars", &category.pvars());
        lines.push(
            line.numbers("events", &category.events()).numbers("categories", &category.categories()).end(),
        );
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
        .text("environment", info.env.as_deref().unwrap_or_default());
    let from = match cvar.provenance() {
        Provenance::Default => "default",
        Provenance::Environment => "environment",
        Provenance::Written => "written",
        Provenance::Other => "other",
    };
    match value_of(at, info.bind, info.datatype) {
        Ok(value) => line.text("value", &value).text("provenance", from).end(),
        Err(error) => line.text("problem", &error.to_string()).end(),
    }
}

fn value_of(cvar: usize, bind: Bind, datatype: Datatype) -> mpit::Result<String> {
    if bind != Bind::NO_OBJECT {
        return Ok("(needs an object)".to_owned());
    }
    let (handle, _count) = REGISTRY.cvar_handle_alloc(cvar, 0)?;
    let read = REGISTRY.cvar_size(handle).and_then(|size| {
        let mut bytes = vec![0; size];
        REGISTRY.cvar_read(handle, &mut bytes).map(|()| shown(datatype, &bytes))
    });
    REGISTRY.cvar_handle_free(handle)?;
    read
}

/// A value as text.
fn shown(datatype: Datatype, bytes: &[u8]) -> String {
    if datatype == Datatype::CHAR {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        return String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    }
    let each = |element: &[u8]| match (datatype, element.first_chunk::<8>(), element.first_chunk::<4>()) {
        (Datatype::DOUBLE, Some(b), _) => f64::from_ne_bytes(*b).to_string(),
        (Datatype::INT64_T | Datatype::COUNT, Some(b), _) => i64::from_ne_bytes(*b).to_string(),
        (_, Some(b), _) => u64::from_ne_bytes(*b).to_string(),
        (Datatype::INT | Datatype::INT32_T, None, Some(b)) => i32::from_ne_bytes(*b).to_string(),
        (_, None, Some(b)) => u32::from_ne_bytes(*b).to_string(),
        _ => "?".to_owned(),
    };
    bytes.chunks_exact(datatype.size().max(1)).map(each).collect::<Vec<_>>().join(" ")
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
    Line::new("pvar", at)
        .text("name", &info.name)
        .text("desc", &info.desc)
        .text("class", &named(class_name(info.class)))
        .text("type", &named(info.datatype.name()))
        .text("bind", &named(info.bind.name()))
        .text("verbosity", &named(info.verbosity.name()))
        .text("flags", &flags.join(" "))
        .end()
}

fn class_name(class: PvarClass) -> Option<&'static str> {
    class.name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_description_may_contain_is_escaped() {
        let line = Line::new("cvar", 3).text("desc", "a \"b\"\n\\").end();
        assert_eq!(line, "{\"kind\":\"cvar\",\"index\":3,\"desc\":\"a \\\"b\\\"\\u000a\\\\\"}\n");
    }

    #[test]
    fn values_are_shown_by_their_datatype() {
        assert_eq!(shown(Datatype::INT, &(-3i32).to_ne_bytes()), "-3");
        assert_eq!(shown(Datatype::CHAR, b"abc\0\0"), "abc");
        assert_eq!(shown(Datatype::DOUBLE, &0.5f64.to_ne_bytes()), "0.5");
    }
}
