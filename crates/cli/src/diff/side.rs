//! One side of a comparison: one run, or several of the same program.

use crate::host_scope::HostScope;
use crate::report;
use anyhow::{Result, bail};
use mpiscope_job::performance::report::JobReport;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The runs of one side.
pub struct Side {
    /// The name given by the user.
    pub name: String,
    /// The reports of the runs.
    pub reports: Vec<JobReport>,
    /// What could not be read.
    pub errors: Vec<String>,
}

impl Side {
    /// Reads all runs in a comma-separated list; an existing file with a comma in its name is a single run.
    pub fn read(name: &OsStr, host_scope: HostScope) -> Result<Self> {
        let parts = |bytes: &[u8]| {
            bytes.split(|byte| *byte == b',').map(|part| OsStr::from_bytes(part).to_owned()).collect()
        };
        let names: Vec<OsString> =
            if Path::new(name).exists() { vec![name.to_owned()] } else { parts(name.as_bytes()) };
        let shown = name.to_string_lossy();
        let mut side = Self { name: shown.clone().into_owned(), reports: Vec::new(), errors: Vec::new() };
        let names: Vec<OsString> = names.into_iter().filter(|name| !name.is_empty()).collect();
        if let Some(name) = named_twice(&names) {
            bail!("{} is named twice on one side: name each run only once", name.display());
        }
        for name in names {
            let source = report::read(std::slice::from_ref(&name), host_scope)?;
            if !source.report.times {
                bail!(
                    "{}: times were not recorded: leave MPISCOPE_RECORD unset, or add `times` to it",
                    name.display()
                );
            }
            side.errors.extend(source.errors);
            side.reports.push(source.report);
        }
        if side.reports.is_empty() {
            bail!("{shown:?} names no run");
        }
        Ok(side)
    }
}

/// Finds a run that is named more than once, even by different paths: it would look like two runs that agree
/// exactly.
fn named_twice(names: &[OsString]) -> Option<&OsString> {
    let mut seen = HashSet::new();
    let mut is_new = |name: &OsStr| seen.insert(fs::canonicalize(name).unwrap_or_else(|_| name.into()));
    names.iter().find(|name| !is_new(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_named_twice_is_found_by_any_of_its_paths() {
        let twice = |names: &[&str]| {
            let names: Vec<OsString> = names.iter().map(OsString::from).collect();
            named_twice(&names).cloned()
        };
        assert_eq!(twice(&["/", "/usr"]), None);
        assert_eq!(twice(&["/usr", "/", "/usr/../usr"]), Some("/usr/../usr".into()));
        assert_eq!(twice(&["job-7", "job-7"]), Some("job-7".into()));
    }
}
