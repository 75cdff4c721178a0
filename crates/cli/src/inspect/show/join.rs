//! What several processes say about one object: alike lines once, the others by rank.

use super::super::same::Same;
use super::AFTER;
use mpiscope_job::Members;

/// Where the value of a labelled line begins.
const VALUE: usize = 20;

/// Values of one line that are told.
const MOST_VALUES: usize = 5;

/// Number of the world, rank in it, and what the process says.
type View<'a> = ((usize, Option<u32>), &'a [String]);

/// A line of the joined text: its label, and who says what.
struct Line {
    label: String,
    values: Vec<(Members, String)>,
}

/// The lines about a shared object; `processes` were looked at.
pub fn lines(group: &Same<'_>, processes: usize) -> Vec<String> {
    let Some((_, first)) = group.views.first() else { return Vec::new() };
    if group.views.len() == 1 {
        let mut lines = first.text.clone();
        if let (Some(line), true, false) = (lines.first_mut(), processes > 1, group.members.is_empty()) {
            *line = format!("rank {}: {line}", group.members);
        }
        return lines;
    }
    let texts: Vec<View<'_>> = group
        .views
        .iter()
        .map(|(look, view)| ((look.world, look.process.rank), view.text.as_slice()))
        .collect();
    let told = join(&texts);
    let what = if group.one { "the same object" } else { "alike" };
    std::iter::once(format!("{what} on rank {}:", group.members)).chain(told).collect()
}

/// The label of a line: of the first line nothing, of a line that is not labelled all of it.
fn label(at: usize, line: &str) -> String {
    let labelled = line.is_char_boundary(VALUE) && line.len() > VALUE && line.starts_with("  ");
    match (at, labelled) {
        (0, _) => String::new(),
        (_, true) => line.get(..VALUE).unwrap_or(line).to_owned(),
        (_, false) => line.to_owned(),
    }
}

fn join(texts: &[View<'_>]) -> Vec<String> {
    let mut lines: Vec<Line> = Vec::new();
    for ((world, rank), text) in texts {
        let mut next = 0;
        // What points at one process is of no use where all are told of.
        let lines_of = text.iter().map(|line| line.strip_suffix(super::HERE).unwrap_or(line));
        for (at, line) in lines_of.enumerate() {
            let label = label(at, line);
            let known = lines.iter().skip(next).position(|known| known.label == label).map(|i| next + i);
            let place = known.unwrap_or_else(|| {
                lines.insert(next, Line { label, values: Vec::new() });
                next
            });
            next = place + 1;
            let Some(joined) = lines.get_mut(place) else { continue };
            match joined.values.iter_mut().find(|(_, known)| known == line) {
                Some((ranks, _)) => ranks.add(*world, *rank),
                None => joined.values.push((Members::from_iter([(*world, *rank)]), line.to_owned())),
            }
        }
    }
    let all: Members = texts.iter().map(|(who, _)| *who).collect();
    lines.iter().flat_map(|line| told(line, &all)).collect()
}

fn told(line: &Line, all: &Members) -> Vec<String> {
    match line.values.as_slice() {
        [(ranks, only)] if ranks == all => vec![only.clone()],
        values => span(line).map_or_else(|| by_rank(line, values), |span| vec![span]),
    }
}

/// Values that differ, each with its ranks, as far as there is room.
fn by_rank(line: &Line, values: &[(Members, String)]) -> Vec<String> {
    let shown = if values.len() > MOST_VALUES { MOST_VALUES - 1 } else { MOST_VALUES };
    let mut lines: Vec<String> =
        values.iter().take(shown).map(|(ranks, value)| format!("{value}   (rank {ranks})")).collect();
    let mut rest = Members::default();
    values.iter().skip(shown).for_each(|(ranks, _)| rest.join(ranks.clone()));
    if !rest.is_empty() {
        let label = if line.label.is_empty() { "  " } else { &line.label };
        lines.push(format!("{label}...   (other values on rank {rest}: name one with --rank)"));
    }
    lines
}

/// Moments that differ, from the first to the last.
fn span(line: &Line) -> Option<String> {
    let seconds = |value: &String| value.get(VALUE..)?.strip_suffix(AFTER)?.parse::<f64>().ok();
    let moments: Option<Vec<f64>> = line.values.iter().map(|(_, value)| seconds(value)).collect();
    let moments = moments?;
    let first = moments.iter().copied().fold(f64::INFINITY, f64::min);
    let last = moments.iter().copied().fold(0.0, f64::max);
    Some(format!("{}{first:.3} to {last:.3}{AFTER}", line.label))
}

#[cfg(test)]
mod tests {
    use super::super::{field, when};
    use super::*;

    #[test]
    fn alike_lines_stand_once_moments_become_a_span_and_the_rest_is_told_by_rank() {
        let view = |handle: u32, seconds: f64, info: bool| {
            let mut text =
                vec![format!("MPI_Comm, handle {handle}"), field("size", "4"), when("made", seconds)];
            if info {
                text.push(field("info", "there"));
            }
            text.push(field("collectives", "5 entered"));
            text
        };
        let views = [view(1, 0.5, false), view(2, 0.25, true), view(1, 0.5, false)];
        let texts: Vec<View<'_>> =
            views.iter().zip(0..).map(|(text, rank)| ((0, Some(rank)), text.as_slice())).collect();
        let wanted = [
            "MPI_Comm, handle 1   (rank [0,2])".to_owned(),
            "MPI_Comm, handle 2   (rank 1)".to_owned(),
            field("size", "4"),
            field("made", "0.250 to 0.500 s after the start"),
            field("info", "there   (rank 1)"),
            field("collectives", "5 entered"),
        ];
        assert_eq!(join(&texts), wanted);
    }
}
