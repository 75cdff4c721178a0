//! The questions that people ask about a job, each answered by one engine for live jobs, core files and evidence files.
//!
//! ```text
//! image (live, core file, evidence file, another host) ──► Observation ─┐
//! image                                                ──► Observation ─┼──► Snapshot ──► why, findings
//! image                                                ──► Observation ─┘
//! ```
//!
//! An [`observation`] is what one look at one process saw, in the terms of the standard and without anything that only
//! that process understands: it can be sent from host to host and kept in a file. [`why`] joins the observations of a job
//! and gives the verdict; [`queues`] lists the messages.

pub mod arrived;
pub mod findings;
pub mod observation;
pub mod queues;
#[cfg(feature = "test-image")]
pub mod simulated;
pub mod why;
