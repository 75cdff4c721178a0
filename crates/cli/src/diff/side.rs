//! One side of a comparison: one run or several of the same.

use crate::host_scope::HostScope;
use crate::report;
use anyhow::{Result, bail};
use mpiscope_job::performance::report::JobReport;
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
        for name in names.into_iter().filter(|name| !name.is_empty()) {
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
