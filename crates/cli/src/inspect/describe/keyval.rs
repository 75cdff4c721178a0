//! Attribute keys.

use super::{Context, Fact, field};
use mpiscope_job::objects::{Hex, Keyval};

pub fn brief(context: &Context<'_>, keyval: &Keyval) -> String {
    let of = keyval.of.map_or("objects", |kind| kind.name());
    let copy = match keyval.copy.0 {
        predefined @ 0..SMALL => format!("predefined ({predefined})"),
        // Its address differs from process to process.
        _ => context.function_name(keyval.copy),
    };
    format!("key {} ({:#x}) for {of}, copy {copy}", keyval.keyval, keyval.keyval)
}

pub fn text(context: &Context<'_>, keyval: &Keyval, lines: &mut Vec<Fact>) {
    lines.push(field("key", &format!("{} ({:#x})", keyval.keyval, keyval.keyval)));
    lines.push(field("for", keyval.of.map_or("not known", |kind| kind.name())));
    lines.push(field("copy function", &callback(context, keyval.copy.0)));
    lines.push(field("delete function", &callback(context, keyval.delete.0)));
    lines.push(field("extra state", &keyval.extra_state.to_string()));
}

/// Below are no functions: a null pointer or a small number stands for a predefined one.
const SMALL: u64 = 4096;

/// A function of the program, or a predefined one.
fn callback(context: &Context<'_>, address: u64) -> String {
    match address {
        0..SMALL => format!("predefined ({address})"),
        _ => context.function(Hex(address)),
    }
}
