//! Merges the views of several processes on one object: common facts appear once, moments as a span,
//! everything else by rank.

use super::describe::fact::{self, Fact, Key, Value};
use super::shared::Same;
use mpiscope_job::Members;
use mpiscope_job::jobs::merge::{ByRank, Fields, Who};

/// Number of values shown per field; JSON has all of them.
const MOST_VALUES: usize = 5;

/// Returns the lines about a shared object; `processes` is the number of processes examined.
pub fn lines(group: &Same<'_>, processes: usize) -> Vec<String> {
    let Some((_, first)) = group.views.first() else { return Vec::new() };
    if group.views.len() == 1 {
        let mut lines: Vec<String> = first.facts.iter().map(Fact::text).collect();
        if let (Some(line), true, false) = (lines.first_mut(), processes > 1, group.members.is_empty()) {
            *line = format!("{}: {line}", group.members.named());
        }
        return lines;
    }
    let views =
        group.views.iter().map(|(look, view)| ((look.world, look.process.rank), view.facts.as_slice()));
    let what = if group.one { "the same object" } else { "alike" };
    std::iter::once(format!("{what} on {}:", group.members.named())).chain(merged(views)).collect()
}

fn merged<'a>(views: impl Iterator<Item = (Who, &'a [Fact])>) -> Vec<String> {
    let mut fields: Fields<Key, Value> = Fields::default();
    for (who, facts) in views {
        fields.add(who, facts.iter().map(|fact| (fact.key.clone(), fact.value.clone())));
    }
    let shown = |(key, values): (&Key, &ByRank<Value>)| match fields.agreed(values) {
        Some(value) => vec![Fact { key: key.clone(), value: value.clone(), here: false }.text()],
        None => span(key, values).map_or_else(|| by_rank(key, values), |span| vec![span]),
    };
    fields.iter().flat_map(shown).collect()
}

/// Lists differing values with their ranks, as far as there is space.
fn by_rank(key: &Key, values: &ByRank<Value>) -> Vec<String> {
    let values = values.values();
    let most = if values.len() > MOST_VALUES { MOST_VALUES - 1 } else { MOST_VALUES };
    let line = |(ranks, value): &(Members, Value)| {
        let fact = Fact { key: key.clone(), value: value.clone(), here: false };
        format!("{}   ({})", fact.text(), ranks.named())
    };
    let mut lines: Vec<String> = values.iter().take(most).map(line).collect();
    let mut rest = Members::default();
    values.iter().skip(most).for_each(|(ranks, _)| rest.join(ranks.clone()));
    if !rest.is_empty() {
        let others = format!("...   (other values on {}: name one with --rank)", rest.named());
        lines.push(match key {
            Key::Label(_) => key.before(&others),
            Key::Heading | Key::Line(_) => format!("  {others}"),
        });
    }
    lines
}

/// Shows differing moments as a span.
fn span(key: &Key, values: &ByRank<Value>) -> Option<String> {
    let moment = |(_, value): &(Members, Value)| match value {
        Value::Moment(ms) => Some(*ms),
        Value::Text(_) => None,
    };
    let moments = values.values().iter().map(moment).collect::<Option<Vec<u64>>>()?;
    Some(key.before(&fact::span(*moments.iter().min()?, *moments.iter().max()?)))
}

#[cfg(test)]
mod tests {
    use super::super::describe::fact::{field, when};
    use super::*;

    #[test]
    fn equal_facts_appear_once_moments_become_a_span_and_the_rest_is_shown_by_rank() {
        let view = |handle: u32, seconds: f64, info: bool| {
            let mut facts = vec![
                Fact::heading(format!("MPI_Comm, handle {handle}")),
                field("size", "4"),
                when("made", seconds),
            ];
            if info {
                facts.push(field("info", "there"));
            }
            facts.push(Fact { here: info, ..Fact::line("    0 -> 1".into()) });
            facts.push(field("collectives", "5 entered"));
            facts
        };
        let views = [view(1, 0.5, false), view(2, 0.25, true), view(1, 0.5, false)];
        let views = views.iter().zip(0..).map(|(facts, rank)| ((0, Some(rank)), facts.as_slice()));
        let wanted = [
            "MPI_Comm, handle 1   (ranks [0,2])",
            "MPI_Comm, handle 2   (rank 1)",
            "  size              4",
            "  made              0.250 to 0.500 s after the start",
            "  info              there   (rank 1)",
            "    0 -> 1",
            "  collectives       5 entered",
        ];
        assert_eq!(merged(views), wanted);
    }
}
