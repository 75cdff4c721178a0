//! Info objects.

use super::{Context, Fact, MOST_PAIRS, field};
use mpiscope_job::objects::Info;

pub fn brief(info: &Info) -> String {
    let pairs: Vec<String> = info.pairs.iter().take(MOST_PAIRS).map(|(k, v)| format!("{k}={v}")).collect();
    let more = if info.pairs.len() > MOST_PAIRS { ", ..." } else { "" };
    if pairs.is_empty() { "no keys".to_owned() } else { format!("{}{more}", pairs.join(", ")) }
}

pub fn text(context: &Context<'_>, info: &Info, lines: &mut Vec<Fact>) {
    lines.push(field("keys", &info.pairs.len().to_string()));
    let width = info.pairs.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0).min(40);
    lines.extend(info.pairs.iter().map(|(key, value)| line!("    {key:<width$} = {value}")));
    if info.lost > 0 {
        lines.push(field("not seen", &format!("{} more keys: the image had no room", info.lost)));
    }
    context.many(lines, "used by", &info.used_by);
}
