//! The processes of a job and how they are found: on this host, in evidence files, and by the tables meant
//! for debuggers.

pub mod acquire;
pub mod announced;
pub mod connected;
pub mod discover;
pub mod evidence;
pub mod job;
pub mod job_image;
pub mod launcher_environment;
pub mod live_process;
pub mod losses;
pub mod merge;
pub mod other_worlds;
pub mod parallel_images;
pub mod placement;
pub mod scan;
pub mod scheduler;
pub mod silent;
pub mod spawned;
pub mod started_by;
pub mod symbols;
pub mod worlds;
