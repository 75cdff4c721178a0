//! Sessions.

use super::{Context, Fact, MOST_PAIRS};
use crate::render::count;
use mpiscope_job::model::objects::Session;
use std::fmt;

/// The contents of the session's line. The hints given are the same on all ranks, unlike the info's
/// handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    groups: usize,
    hints: Vec<(String, String)>,
}

impl Summary {
    pub fn of(session: &Session) -> Self {
        Self { groups: session.groups.len(), hints: session.hints.clone() }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} made from it", count(self.groups, "group"))?;
        self.hints.iter().take(MOST_PAIRS).try_for_each(|(key, value)| write!(f, ", {key}={value}"))?;
        f.write_str(if self.hints.len() > MOST_PAIRS { ", ..." } else { "" })
    }
}

pub fn text(context: &Context<'_>, session: &Session, lines: &mut Vec<Fact>) {
    context.given(lines, session.info.as_ref(), &session.hints);
    context.one(lines, "error handler", session.errhandler.as_ref());
    context.many(lines, "groups", &session.groups);
}
