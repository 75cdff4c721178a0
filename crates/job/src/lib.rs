//! The typed model of a rank and of a job, read from images.
//!
//! ```text
//! memfd, saved file, core file ──► Source ──► Image ──► Process ──► JobReport   (what was: run, report)
//!                                                          ├──────► RankStatus  (what is now: ps)
//! core files ───────────────────────────────────────────────┴──────► Postmortem  (who died, of what: core)
//! ```
//!
//! [`discover`] finds the jobs of this host, each a [`job`] of [`job_image`]s. [`image_source`] finds the bytes, [`process`] turns one image into plain Rust values (once: everything later works
//! on the copy), [`report`] joins the processes of a job. Everything is `serde`, so `--json` is the model itself.
//!
//! Nothing here stops, slows or changes a process, but for [`stacks`], which stops threads for a moment; and nothing trusts what it reads: counts are bounded, and
//! what cannot be read is an [`Error`] with the next thing to try.

pub mod acquire;
pub mod call_fields;
pub mod clock;
pub mod clock_offset;
pub mod connected;
pub mod core;
pub mod discover;
mod error;
pub mod evidence;
pub mod fortran_frames;
pub mod host_identity;
pub mod identity;
pub mod image_source;
pub mod inspected;
pub mod job;
pub mod job_image;
pub mod launcher_environment;
pub mod leaks;
pub mod live_process;
pub mod locate;
pub mod losses;
pub mod merge;
pub mod modules;
pub mod monitor;
mod name_space;
pub mod objects;
pub mod other_hosts;
pub mod parallel;
pub mod parallel_images;
pub mod placement;
pub mod postmortem;
pub mod process;
pub mod process_file;
pub mod process_tree;
mod python;
pub mod quantity;
pub mod questions;
pub mod rank;
pub mod rank_status;
pub mod rankset;
pub mod report;
pub mod scheduler;
#[cfg(feature = "schema")]
pub mod schema;
pub mod setup;
pub mod shell;
pub mod silent;
pub mod sites;
pub mod snapshot;
pub mod spawned;
pub mod stacks;
pub mod started_by;
pub mod symbols;
#[cfg(feature = "test-image")]
pub mod test_image;
pub mod time_limit;
pub mod total;
pub mod trace;
mod unwind;
pub mod variables;
pub mod waits;
pub mod worlds;

pub use error::Error;
pub use image_source::{Bytes, open_file};
/// Where the processes of one user on a host meet.
pub use mpiscope_image::runtime;
pub use process::{Ending, Process};
pub use rankset::RankSet;
pub use report::{JobReport, RankReport};
pub use worlds::{Members, Worlds};
