//! Info objects.

use super::{Context, Fact, MOST_PAIRS, field};
use mpiscope_job::model::objects::Info;
use std::fmt;

/// The contents of the info object's line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Summary {
    pairs: Vec<(String, String)>,
}

impl Summary {
    pub fn of(info: &Info) -> Self {
        Self { pairs: info.pairs.clone() }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pairs.is_empty() {
            return f.write_str("no keys");
        }
        for (place, (key, value)) in self.pairs.iter().take(MOST_PAIRS).enumerate() {
            write!(f, "{}{key}={value}", if place == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.pairs.len() > MOST_PAIRS { ", ..." } else { "" })
    }
}

pub fn text(context: &Context<'_>, info: &Info, lines: &mut Vec<Fact>) {
    lines.push(field("keys", &info.pairs.len().to_string()));
    let width = info.pairs.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0).min(40);
    lines.extend(info.pairs.iter().map(|(key, value)| line!("    {key:<width$} = {value}")));
    if info.lost > 0 {
        lines.push(field("not seen", &format!("{} more keys: dropped for lack of space", info.lost)));
    }
    context.many(lines, "used by", &info.used_by);
}
