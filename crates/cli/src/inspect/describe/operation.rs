//! Reduction operations.

use super::{Context, Fact, field};
use mpiscope_job::model::objects::Op;
use std::fmt;

/// The contents of the operation's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    /// The program's function.
    function: Option<String>,
    commutative: Option<bool>,
}

impl Summary {
    pub fn of(context: &Context<'_>, op: &Op) -> Self {
        let function = (!op.common.predefined).then(|| context.function_name(op.function));
        Self { function, commutative: op.commutative }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commutative = match self.commutative {
            Some(true) => "commutative",
            Some(false) => "not commutative",
            None => return Ok(()),
        };
        match &self.function {
            Some(function) => write!(f, "{function}, {commutative}"),
            None => f.write_str(commutative),
        }
    }
}

pub fn text(context: &Context<'_>, op: &Op, lines: &mut Vec<Fact>) {
    context.user_function(op.function, op.fortran_function, lines);
    let commutative = op.commutative.map_or("not known", |yes| if yes { "yes" } else { "no" });
    lines.push(field("commutative", commutative));
    context.many(lines, "requests", &op.requests);
    context.calls(lines, &op.calls);
}
