//! Reduction operations.

use super::{Context, Fact, field};
use mpiscope_job::objects::Op;

pub fn brief(context: &Context<'_>, op: &Op) -> String {
    let commutative = match op.commutative {
        Some(true) => "commutative",
        Some(false) => "not commutative",
        None => return String::new(),
    };
    if op.common.predefined {
        commutative.to_owned()
    } else {
        format!("{}, {commutative}", context.function_name(op.function))
    }
}

pub fn text(context: &Context<'_>, op: &Op, lines: &mut Vec<Fact>) {
    context.user_function(op.function, op.fortran_function, lines);
    let commutative = op.commutative.map_or("not known", |yes| if yes { "yes" } else { "no" });
    lines.push(field("commutative", commutative));
    context.many(lines, "requests", &op.requests);
    context.calls(lines, &op.calls);
}
