//! The typed model of a rank and of a job, read from images.
//!
//! ```text
//! memfd, saved file, core file ──► Source ──► Image ──► Process ──► JobReport   (what was: run, report)
//!                                                          ├──────► RankStatus  (what is now: ps)
//! core files ───────────────────────────────────────────────┴──────► Postmortem  (who died, of what: core)
//! ```
//!
//! The modules are layers, each of which uses only those before it in this list: [`base`], byte [`sources`],
//! the [`model`] of one image, the [`observation`] of one process, [`jobs`] of processes, their parts on
//! other [`hosts`], and at the top the [`questions`], [`performance`] and [`save`], which saves everything.
//! All types implement `serde` traits, so `--json` prints the model itself.
//!
//! Nothing here stops, slows or changes a process, except [`stacks`](questions::stacks), which briefly stops
//! threads. Input is never trusted: counts are bounded, and unreadable input is an [`Error`] that ends with
//! the next thing to try.

pub mod base;
mod error;
pub mod hosts;
pub mod jobs;
pub mod model;
pub mod observation;
pub mod performance;
pub mod questions;
pub mod save;
#[cfg(feature = "schema")]
pub mod schema;
pub mod sources;
#[cfg(feature = "test-image")]
pub mod test_image;

pub use base::rankset::RankSet;
pub use error::Error;
pub use jobs::worlds::{Members, Worlds};
pub use model::process::{Ending, Process};
/// The runtime directory, where the processes of one user on a host meet.
pub use mpiscope_image::runtime;
pub use performance::report::{JobReport, RankReport};
pub use sources::image_file::open_file;
pub use sources::image_source::Bytes;
