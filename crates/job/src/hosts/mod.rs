//! The parts of a job on other hosts, and whether a host is set up for mpiscope.

pub mod other_hosts;
pub mod setup;
