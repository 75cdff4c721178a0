//! Attribute keys.

use super::{Context, Fact, field};
use mpiscope_job::model::objects::{Hex, Keyval, Kind};
use std::fmt;

/// The contents of the key's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    keyval: i32,
    of: Option<Kind>,
    copy: Copy,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Copy {
    Predefined(u64),
    /// The function's name: its address differs between processes.
    Function(String),
}

impl Summary {
    pub fn of(context: &Context<'_>, keyval: &Keyval) -> Self {
        let copy = match keyval.copy.0 {
            predefined @ 0..SMALL => Copy::Predefined(predefined),
            _ => Copy::Function(context.function_name(keyval.copy)),
        };
        Self { keyval: keyval.keyval, of: keyval.of, copy }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = self.of.map_or("objects", Kind::name);
        write!(f, "key {} ({:#x}) for {of}, copy ", self.keyval, self.keyval)?;
        match &self.copy {
            Copy::Predefined(number) => write!(f, "predefined ({number})"),
            Copy::Function(name) => f.write_str(name),
        }
    }
}

pub fn text(context: &Context<'_>, keyval: &Keyval, lines: &mut Vec<Fact>) {
    lines.push(field("key", &format!("{} ({:#x})", keyval.keyval, keyval.keyval)));
    lines.push(field("for", keyval.of.map_or("not known", |kind| kind.name())));
    lines.push(field("copy function", &callback(context, keyval.copy.0)));
    lines.push(field("delete function", &callback(context, keyval.delete.0)));
    lines.push(field("extra state", &keyval.extra_state.to_string()));
}

/// Smaller values are not functions: a null pointer or a small number denotes a predefined one.
const SMALL: u64 = 4096;

/// Names a function of the program, or a predefined one.
fn callback(context: &Context<'_>, address: u64) -> String {
    match address {
        0..SMALL => format!("predefined ({address})"),
        _ => context.function(Hex(address)),
    }
}
