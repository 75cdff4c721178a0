//! Error handlers.

use super::{Context, Fact, field};
use crate::render::count;
use mpiscope_job::objects::Errhandler;

pub fn brief(context: &Context<'_>, handler: &Errhandler) -> String {
    let used = match handler.attached.len() {
        0 => "not attached".to_owned(),
        n => format!("attached to {}", count(n, "object")),
    };
    if handler.function.0 == 0 {
        used
    } else {
        format!("{}, {used}", context.function_name(handler.function))
    }
}

pub fn text(context: &Context<'_>, handler: &Errhandler, lines: &mut Vec<Fact>) {
    context.user_function(handler.function, handler.fortran_function, lines);
    let of = handler.of.map_or_else(|| "anything".to_owned(), |kind| format!("MPI objects of kind {kind}"));
    lines.push(field("for", &of));
    if handler.handles > 1 {
        lines.push(field("to be freed", &format!("{} times", handler.handles)));
    }
    context.many(lines, "attached to", &handler.attached);
}
