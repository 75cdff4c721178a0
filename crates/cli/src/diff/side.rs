//! One side of a comparison: one run or several of the same.

use crate::host_scope::HostScope;
use crate::report;
use anyhow::{Result, bail};
use mpiscope_job::performance::report::JobReport;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Runs of one side.
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// The runs.
    pub reports: Vec<JobReport>,
    /// What could not be read.
    pub errors: Vec<String>,
}

impl Side {
    /// Reads all runs that are named, with commas in between; a file that has a comma in its name is one.
    pub fn read(name: &str, host_scope: HostScope) -> Result<Self> {
        let names: Vec<&str> = if Path::new(name).exists() { vec![name] } else { name.split(',').collect() };
        let mut side = Self { name: name.to_owned(), reports: Vec::new(), errors: Vec::new() };
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        if let Some(name) = named_twice(&names) {
            bail!("{name} is named twice on one side: a run counts once; name each run once");
        }
        for name in names {
            let source = report::read(&[name.to_owned()], host_scope)?;
            if !source.report.times {
                bail!(
                    "{name}: times were not recorded in it: leave MPISCOPE_RECORD unset, or add `times` to it"
                );
            }
            side.errors.extend(source.errors);
            side.reports.push(source.report);
        }
        if side.reports.is_empty() {
            bail!("{name:?} names no run");
        }
        Ok(side)
    }
}

/// A run that is named more than once, by whichever path: it would pass for two runs that agree to the last digit.
fn named_twice<'a>(names: &[&'a str]) -> Option<&'a str> {
    let mut seen = HashSet::new();
    let mut is_new = |name: &str| seen.insert(fs::canonicalize(name).unwrap_or_else(|_| name.into()));
    names.iter().copied().find(|name| !is_new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_named_twice_is_found_by_any_of_its_paths() {
        assert_eq!(named_twice(&["/", "/usr"]), None);
        assert_eq!(named_twice(&["/usr", "/", "/usr/../usr"]), Some("/usr/../usr"));
        assert_eq!(named_twice(&["job-7", "job-7"]), Some("job-7"));
    }
}
