//! Error handlers.

use super::{Context, Fact, field};
use crate::render::count;
use mpiscope_job::model::objects::Errhandler;
use std::fmt;

/// The contents of the error handler's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The program's function.
    function: Option<String>,
    attached: usize,
}

impl Summary {
    pub fn of(context: &Context<'_>, handler: &Errhandler) -> Self {
        let function = (handler.function.0 != 0).then(|| context.function_name(handler.function));
        Self { function, attached: handler.attached.len() }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(function) = &self.function {
            write!(f, "{function}, ")?;
        }
        match self.attached {
            0 => f.write_str("not attached"),
            n => write!(f, "attached to {}", count(n, "object")),
        }
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
