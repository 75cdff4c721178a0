//! Collectives by communicator, and the arguments of the last ones.

use super::{collectives_marked, mark, more, waited, without_size};
use crate::render::{Block, Table, bytes, calls, count, time_of_calls};
use mpiscope_job::Members;
use mpiscope_job::performance::report::JobReport;
use mpiscope_job::performance::report::{Collectives, OfFunction, Recent};
use mpiscope_job::performance::waits::Waits;

/// Number of communicators shown.
const MOST_COMMS: usize = 6;
/// Number of kinds of collectives shown for each.
const MOST_KINDS: usize = 6;

/// Returns the section's blocks. Communicators with the same last collectives share one table.
pub fn blocks(report: &JobReport) -> Vec<Block> {
    let alike = alike(&report.sections.collectives);
    let mut blocks = Vec::new();
    for comms in alike.iter().take(MOST_COMMS) {
        let Some(first) = comms.first() else { continue };
        blocks.push(Block::Caption(title(first, comms)));
        let functions = OfFunction::together(comms.iter().flat_map(|comm| &comm.functions).cloned());
        if !functions.is_empty() {
            blocks.push(table(&functions, &report.waits).into());
            let waits = functions.iter().take(MOST_KINDS).map(|one| one.wait_s);
            blocks.extend(mark(waits, collectives_marked(&report.waits)));
            blocks.extend(elsewhere(&functions));
            blocks.extend(more(MOST_KINDS, functions.len(), ["function", "functions"]));
        }
        if !first.last.is_empty() {
            let name = format!("the last collectives on {}", without_size(&first.communicator));
            blocks.push(last(comms).named(name).into());
            blocks.extend(more(
                MOST_KINDS,
                first.last.len(),
                ["kind among the last 32 of each rank", "kinds among the last 32 of each rank"],
            ));
        }
    }
    let shown: usize = alike.iter().take(MOST_COMMS).map(Vec::len).sum();
    blocks.extend(more(shown, report.sections.collectives.len(), ["communicator", "communicators"]));
    blocks.extend(others(report));
    blocks
}

/// Says how much other collectives moved: the sums of the report include them.
fn others(report: &JobReport) -> Option<Block> {
    let shown: Vec<&str> =
        report.sections.collectives.iter().map(|comm| comm.communicator.as_str()).collect();
    let sites = report.call_sites.sites.iter().filter(|site| !shown.contains(&site.object.as_str()));
    let moved = sites.fold(0u64, |sum, site| sum.saturating_add(site.totals.collective));
    let line =
        || format!("  {} more on other communicators: of one process, or not told apart", bytes(moved));
    (moved > 0).then(|| Block::Line(line()))
}

/// Groups communicators of equal size whose last collectives are the same, in the order of their first
/// members.
fn alike(all: &[Collectives]) -> Vec<Vec<&Collectives>> {
    let kinds = |comm: &Collectives| -> Vec<Recent> {
        comm.last.iter().map(|made| Recent { ranks: Members::default(), ..made.clone() }).collect()
    };
    let mut found: Vec<(Vec<Recent>, Vec<&Collectives>)> = Vec::new();
    for comm in all {
        let own = kinds(comm);
        let same = |known: &&mut (Vec<Recent>, Vec<&Collectives>)| {
            let first = known.1.first();
            // A communicator with ranks that are behind is shown separately, to name them.
            let whole = |comm: &Collectives| comm.behind.is_empty();
            // Without recent collectives only the number of collectives can be compared.
            let count = |first: &Collectives| !own.is_empty() || first.entered == comm.entered;
            first.is_some_and(|first| first.size == comm.size && count(first) && whole(first) && whole(comm))
                && known.0 == own
        };
        match found.iter_mut().find(same) {
            Some((_, comms)) => comms.push(comm),
            None => found.push((own, vec![comm])),
        }
    }
    found.into_iter().map(|(_, comms)| comms).collect()
}

fn title(first: &Collectives, comms: &[&Collectives]) -> String {
    let size = count(first.size as usize, "rank");
    let entered = || comms.iter().map(|comm| comm.entered);
    if let (Some(least), Some(most)) = (entered().min(), entered().max())
        && comms.len() > 1
    {
        let each = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let others = count(comms.len() - 1, "other");
        return format!(
            "  on {} and {others} alike ({size} each): {each} entered on each",
            without_size(&first.communicator)
        );
    }
    let entered = format!("  on {} ({size}): {} entered", without_size(&first.communicator), first.entered);
    if first.behind.is_empty() {
        entered
    } else {
        format!("{entered}; {} only {}", first.behind.named(), first.least)
    }
}

fn table(functions: &[OfFunction], waits: &Waits) -> Table {
    let mut table = Table::new(&["  FUNCTION", "CALLS", "TIME", "WAITING", "BYTES"]).numbers(&[1, 2, 3, 4]);
    for one in functions.iter().take(MOST_KINDS) {
        table.push(vec![
            format!("  {}", one.function),
            calls(one.calls, one.open),
            time_of_calls(one.time_s, 0),
            waited(one.wait_s, collectives_marked(waits)),
            bytes(one.bytes),
        ]);
    }
    table
}

/// Explains why some of these waited longer than their calls took: others complete them.
fn elsewhere(functions: &[OfFunction]) -> Option<Block> {
    let longer = |one: &&OfFunction| one.wait_s.zip(one.time_s).is_some_and(|(wait, time)| wait > time);
    let names: Vec<&str> =
        functions.iter().take(MOST_KINDS).filter(longer).map(|one| one.function.as_str()).collect();
    let them = if names.len() == 1 { "it" } else { "them" };
    let line = || format!("  waiting for {} was in the calls that complete {them}", names.join(" and "));
    (!names.is_empty()).then(|| Block::Line(line()))
}

fn last(comms: &[&Collectives]) -> Table {
    let head = ["  OF THE LAST", "COUNT", "DATA", "BYTES", "RANKS", "WHERE"];
    let mut table = Table::new(&head).numbers(&[1, 3]);
    let dash = || "-".to_owned();
    let kinds = comms.first().map_or(&[][..], |first| &first.last);
    for (at, made) in kinds.iter().enumerate().take(MOST_KINDS) {
        let mut ranks = Members::default();
        comms.iter().filter_map(|comm| comm.last.get(at)).for_each(|made| ranks.join(made.ranks.clone()));
        table.push(vec![
            format!("  {}", made.function),
            made.count.to_string(),
            made.data.clone().unwrap_or_else(dash),
            made.bytes.map_or_else(dash, bytes),
            ranks.to_string(),
            made.place.clone().unwrap_or_else(dash),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::Extreme;
    use mpiscope_job::performance::sites::{JobSite, Totals};

    #[test]
    fn what_communicators_of_one_process_moved_is_not_passed_over() {
        let mut report = JobReport::new("./app".into(), Vec::new());
        let site = |object: &str, collective| JobSite {
            object: object.into(),
            function: "MPI_Bcast".into(),
            place: "a.c:3".into(),
            totals: Totals { collective, ..Totals::default() },
            least_s: None,
            greatest_s: None,
            durations: Vec::new(),
            ranks: Members::default(),
            min: Extreme::default(),
            max: Extreme::default(),
        };
        report.call_sites.sites = vec![site("MPI_COMM_SELF", 1_500), site("MPI_COMM_SELF", 500), site("", 0)];
        let lines = |report: &JobReport| -> Vec<String> {
            let terminal = crate::render::Terminal::of(&std::io::stderr());
            blocks(report).iter().flat_map(|block| block.lines(terminal)).collect()
        };
        assert_eq!(
            lines(&report),
            ["  2.00 kB more on other communicators: of one process, or not told apart"]
        );
        report.call_sites.sites.clear();
        assert!(lines(&report).is_empty());
    }

    #[test]
    fn communicators_with_equal_collectives_share_a_table_unless_one_lags_behind() {
        let of = |name: &str, entered: u64, ranks: [u32; 2], behind: bool| Collectives {
            communicator: name.to_owned(),
            identity: name.to_owned(),
            size: 2,
            between_worlds: false,
            entered,
            least: entered - u64::from(behind),
            behind: if behind { [(0, Some(ranks[1]))].into_iter().collect() } else { Members::default() },
            bytes: 14,
            functions: vec![OfFunction {
                function: "MPI_Bcast".into(),
                calls: 7,
                open: 0,
                time_s: Some(0.5),
                wait_s: Some(0.25),
                bytes: 14,
            }],
            last: vec![Recent {
                function: "MPI_Barrier".into(),
                data: None,
                bytes: None,
                place: Some("a.c:3".into()),
                count: 7,
                ranks: ranks.iter().map(|rank| (0, Some(*rank))).collect(),
            }],
        };
        let mut report = JobReport::new("./app".into(), Vec::new());
        report.sections.collectives =
            vec![of("a", 9, [0, 1], false), of("b", 7, [2, 3], false), of("c", 9, [4, 5], true)];
        let terminal =
            crate::render::Terminal { width: 100, ..crate::render::Terminal::of(&std::io::stderr()) };
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert_eq!(shown.iter().filter(|line| line.contains("OF THE LAST")).count(), 2, "{shown:#?}");
        assert_eq!(shown[0], "  on a and 1 other alike (2 ranks each): 7 to 9 entered on each", "{shown:#?}");
        assert!(shown[2].contains("MPI_Bcast     14  1.00 s   500 ms   28 B"), "{shown:#?}");
        assert!(shown[4].contains("[0-3]"), "{shown:#?}");
        assert_eq!(shown[5], "  on c (2 ranks): 9 entered; rank 5 only 8", "{shown:#?}");
        report.waits.estimated = Some(mpiscope_job::performance::waits::Estimated::default());
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert!(shown[2].contains("~500 ms"), "{shown:#?}");
        assert_eq!(shown[3], "  ~: includes an estimate for waits that were not seen", "{shown:#?}");
        report.sections.collectives[0].functions[0].wait_s = Some(0.75);
        report.sections.collectives[1].functions[0].wait_s = Some(0.5);
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert_eq!(shown[4], "  waiting for MPI_Bcast was in the calls that complete it", "{shown:#?}");
        report.sections.collectives.iter_mut().for_each(|comm| comm.functions[0].wait_s = None);
        let shown: Vec<String> = blocks(&report).iter().flat_map(|block| block.lines(terminal)).collect();
        assert!(!shown.iter().any(|line| line.contains('~')), "{shown:#?}");
    }
}
