//! Where a job's time went: waits and their causes, call sites, windows, the report, the trace.

pub mod monitor;
pub mod report;
pub mod sites;
pub mod snapshot;
pub mod trace;
pub mod waits;
