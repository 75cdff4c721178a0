//! Errors of the program and objects that it did not free, and where the rest is if there are too many.

use mpiscope_job::performance::report::JobReport;
use mpiscope_job::questions::findings::{Finding, Kind};
use mpiscope_job::questions::leaks::Leak;
use std::path::Path;

/// Where the lines that a view omits are.
pub enum Rest<'a> {
    NotWritten,
    Written(&'a Path),
    Json,
}

impl Rest<'_> {
    /// Returns the number of lines of each kind to be shown.
    fn most(&self) -> usize {
        match self {
            Self::NotWritten | Self::Written(_) => 3,
            Self::Json => 12,
        }
    }

    /// Returns where they are, for the end of the line that counts them.
    pub fn place(&self) -> String {
        match self {
            Self::NotWritten => "`mpiscope run --out DIR` writes all".to_owned(),
            Self::Written(path) => format!("all: {}", path.display()),
            Self::Json => "--json has all of them".to_owned(),
        }
    }
}

/// Lists problems of the run, except those that have lines of their own: leaks and how ranks ended.
pub fn findings(report: &JobReport, rest: &Rest) -> Vec<String> {
    const ELSEWHERE: [Kind; 2] = [Kind::NOT_FREED, Kind::NOT_FINALIZED];
    let wrong: Vec<&Finding> =
        report.findings.iter().filter(|finding| !ELSEWHERE.contains(&finding.kind)).collect();
    let most = rest.most();
    let shown = if wrong.len() > most { most - 1 } else { most };
    let mut lines: Vec<String> =
        wrong.iter().take(shown).map(|finding| format!("  finding: {}", finding.sentence)).collect();
    if wrong.len() > shown {
        lines.push(format!("  ... and {} more findings; {}", wrong.len() - shown, rest.place()));
    }
    lines
}

/// Lists objects that were never freed.
pub fn leaks(report: &JobReport, elsewhere: &Rest) -> Vec<String> {
    // Requests that never completed are reported as findings.
    let leaks: Vec<&Leak> = report.leaks.iter().filter(|leak| !leak.active).collect();
    let most = elsewhere.most();
    let shown = if leaks.len() > most { most - 1 } else { most };
    let line = |leak: &&Leak| format!("  not freed: {leak}");
    let mut lines: Vec<String> = leaks.iter().take(shown).map(line).collect();
    let rest = leaks.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let count = rest.iter().fold(0u64, |sum, leak| sum.saturating_add(leak.count));
        lines.push(format!(
            "  not freed: {count} more objects, created at {} other places; {}",
            rest.len(),
            elsewhere.place()
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::Members;

    #[test]
    fn leaks_take_at_most_three_lines_and_the_last_counts_the_rest() {
        let leak = |line: u64| Leak {
            kind: mpiscope_job::model::objects::Kind::Communicator,
            function: "MPI_Comm_dup".into(),
            place: format!("heat.c:{line}"),
            count: line,
            active: false,
            last: false,
            overwritten: None,
            ranks: Members::default(),
        };
        let lines = |count: u64, rest: Rest| {
            let mut report = JobReport::new("./heat".into(), Vec::new());
            report.leaks = (1..=count).map(leak).collect();
            leaks(&report, &rest)
        };
        assert_eq!(lines(0, Rest::NotWritten).len(), 0);
        let three = lines(3, Rest::NotWritten);
        assert!(
            three.len() == 3 && three.iter().all(|line| line.contains("MPI_Comm_dup at heat.c:")),
            "{three:?}"
        );
        let last = |rest| lines(5, rest).pop().unwrap();
        assert_eq!(lines(5, Rest::NotWritten).len(), 3);
        assert_eq!(lines(5, Rest::Json).len(), 5);
        let rest = "  not freed: 12 more objects, created at 3 other places; ";
        assert_eq!(last(Rest::NotWritten), format!("{rest}`mpiscope run --out DIR` writes all"));
        assert_eq!(last(Rest::Written(Path::new("out/report.json"))), format!("{rest}all: out/report.json"));
    }

    #[test]
    fn what_a_view_omits_is_where_it_says() {
        let mut report = JobReport::new("./heat".into(), Vec::new());
        report.findings = (0..13)
            .map(|n| Finding {
                kind: Kind::MESSAGE_NEVER_RECEIVED,
                ranks: Members::default(),
                line: None,
                sentence: format!("wrong {n}"),
            })
            .collect();
        let lines = |rest: Rest| findings(&report, &rest);
        assert_eq!(
            lines(Rest::NotWritten)[2],
            "  ... and 11 more findings; `mpiscope run --out DIR` writes all"
        );
        let all = lines(Rest::Json);
        assert_eq!((all.len(), all[11].as_str()), (12, "  ... and 2 more findings; --json has all of them"));
    }
}
