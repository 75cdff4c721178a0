//! The questions users ask about a job, each answered by one engine for live jobs, core files and evidence
//! files.
//!
//! ```text
//! image (live, core file, evidence file, another host) ──► Observation ─┐
//! image                                                ──► Observation ─┼──► Snapshot ──► why, findings
//! image                                                ──► Observation ─┘
//! ```
//!
//! An [`observation`](crate::observation) is what a single snapshot of one process shows, in the terms of the
//! standard and independent of that process's internals, so it can be sent between hosts and stored in a
//! file. [`why`] joins the observations of a job and derives the verdict; [`queues`] lists the messages.

pub mod arrived;
mod earlier;
pub mod findings;
pub mod inspected;
pub mod leaks;
pub mod live;
pub mod postmortem;
pub mod process_file;
pub mod queues;
#[cfg(feature = "test-image")]
pub mod simulated;
pub mod stacks;
pub mod variables;
pub mod why;
