//! Sessions.

use super::{Context, Fact, MOST_PAIRS};
use crate::render::count;
use mpiscope_job::objects::Session;

pub fn brief(session: &Session) -> String {
    // What it was given is alike on all ranks; the info's handle is not.
    let hints: Vec<String> =
        session.hints.iter().take(MOST_PAIRS).map(|(key, value)| format!(", {key}={value}")).collect();
    format!("{} made from it{}", count(session.groups.len(), "group"), hints.concat())
}

pub fn text(context: &Context<'_>, session: &Session, lines: &mut Vec<Fact>) {
    context.given(lines, session.info.as_ref(), &session.hints);
    context.one(lines, "error handler", session.errhandler.as_ref());
    context.many(lines, "groups", &session.groups);
}
