//! The number of objects of each kind, and those that were not freed.

use super::collect::{Inspection, Look, who};
use crate::render::{Block, Table, or_dash};
use mpiscope_job::Members;
use mpiscope_job::jobs::losses::{self, is_tombstones};
use mpiscope_job::model::objects::Kind;
use mpiscope_job::questions::leaks::{self, Count, Leak, Site};

/// Makes the heading: the processes examined, and what cannot be seen.
pub fn head(found: &Inspection, freed: bool) -> Vec<String> {
    let ranks = who(found.looks.iter());
    let one = found.looks.iter().all(|look| look.world == 0);
    let size = found.looks.iter().filter_map(|look| look.process.size).max().filter(|_| one);
    let of = size.map_or_else(String::new, |size| format!(" of {size}"));
    let rank = match (ranks.len(), found.looks.first()) {
        (0, Some(look)) => format!("process {}", look.process.pid),
        _ => format!("{}{of}", ranks.named()),
    };
    let mut lines = vec![format!("job {}: {rank}", found.job)];
    let ended = |look: &&Look| look.process.finalized();
    if found.looks.iter().any(|look| ended(&look)) {
        lines.push(format!("  {}: after MPI_Finalize", who(found.looks.iter().filter(ended)).named()));
    }
    lines.extend(blind(found));
    lines.extend(losses(found, freed));
    lines
}

/// Lists the ranks of which nothing can be seen, and why.
pub fn blind(found: &Inspection) -> Vec<String> {
    let mut reasons: Vec<(&str, Members)> = Vec::new();
    for look in &found.looks {
        let Some(reason) = &look.blind else { continue };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, ranks)) => ranks.add(look.world, look.process.rank),
            None => reasons.push((reason, who([look].into_iter()))),
        }
    }
    reasons.iter().map(|(why, ranks)| format!("  cannot see {}: {why}", ranks.named())).collect()
}

/// Lists objects that did not fit into the images. Dropped tombstones are mentioned only if freed objects
/// were requested.
pub fn losses(found: &Inspection, freed: bool) -> Vec<String> {
    let ranks = found.looks.iter().map(|look| ((look.world, look.process.rank), &look.process.losses));
    let of_objects = losses::joined(ranks).into_iter().filter(|lost| of_objects(&lost.kind));
    let mut lines: Vec<String> = of_objects.map(|lost| format!("  {lost}")).collect();
    lines.extend(forgotten(found).filter(|_| freed));
    lines
}

/// Returns the number of freed objects forgotten on each rank, if any.
fn forgotten(found: &Inspection) -> Option<String> {
    let of = |look: &Look| look.process.losses.iter().find(|(kind, _)| is_tombstones(kind)).map(|(_, n)| *n);
    let counts: Vec<_> = found.looks.iter().filter_map(|look| Some((look, of(look)?))).collect();
    let least = counts.iter().map(|(_, count)| *count).min()?;
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let count = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let ranks = who(counts.iter().map(|(look, _)| *look)).named();
    let more = "set MPISCOPE_TOMBSTONES=N before the start to keep more";
    Some(format!("  no longer known on {ranks}: {count} freed objects ({more})"))
}

/// Whether a loss concerns objects.
fn of_objects(what: &str) -> bool {
    ["object", "tombstone", "request", "names", "message"].iter().any(|word| what.contains(word))
}

pub fn page(found: &Inspection, freed: bool) -> Vec<Block> {
    let mut page: Vec<Block> = head(found, freed).into_iter().map(Block::Line).collect();
    let mut rows: Vec<(Kind, Count, Members)> = Vec::new();
    for kind in Kind::ALL {
        for look in found.looks.iter().filter(|look| look.blind.is_none()) {
            let count = look.counts.get(kind).copied().unwrap_or_default();
            let shown = count.live + count.marked > 0 || (freed && count.freed > 0);
            if !shown {
                continue;
            }
            match rows.iter_mut().find(|row| row.0 == *kind && row.1 == count) {
                Some(row) => {
                    row.2.add(look.world, look.process.rank);
                }
                None => rows.push((*kind, count, who([look].into_iter()))),
            }
        }
    }
    if rows.is_empty() && found.looks.iter().any(|look| look.blind.is_none()) {
        page.push("  no objects beyond the predefined ones".into());
        return page;
    }
    // After MPI_Finalize nothing is live.
    let ended = found.looks.iter().all(|look| look.process.finalized());
    let live = if ended { "NOT FREED" } else { "LIVE" };
    let mut table =
        Table::new(&["KIND", "RANK", live, "MARKED FOR FREEING", "FREED, STILL KNOWN", "PREDEFINED"]);
    for (kind, count, ranks) in &rows {
        let numbers = [count.live, count.marked, count.freed, count.predefined];
        let mut row = vec![kind.name().to_owned(), or_dash(Some(ranks.to_string()))];
        row.extend(numbers.iter().map(|n| if *n == 0 { "-".to_owned() } else { n.to_string() }));
        table.push(row);
    }
    page.push(table.into());
    page.push("list them: --kind comm; show one: --handle 0x...; list unfreed objects: --leaks".into());
    page
}

/// Lists objects not freed, by place.
pub fn leaks(found: &Inspection, kind: Option<Kind>) -> Vec<String> {
    let mut lines = head(found, false);
    let leaks = joined(found, kind);
    let running = found.looks.iter().any(|look| !look.process.finalized());
    if leaks.is_empty() {
        if found.looks.iter().any(|look| look.blind.is_none()) {
            lines.push("  everything that was created has been freed".into());
        }
        return lines;
    }
    if running {
        lines.push("  created and not freed so far:".into());
    }
    lines.extend(leaks.iter().map(|leak| format!("  {leak}{}", if leak.active { ", active" } else { "" })));
    lines
}

/// Lists objects not freed, over all processes.
pub fn joined(found: &Inspection, kind: Option<Kind>) -> Vec<Leak> {
    let sites: Vec<(&Look, Vec<Site>)> = found.looks.iter().map(|look| (look, look.leaks(kind))).collect();
    leaks::join(sites.iter().map(|(look, sites)| ((look.world, look.process.rank), sites.as_slice())))
}
