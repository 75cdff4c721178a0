//! Shared by all other floors and independent of them: settings, the clock, the image and its hand-over.

pub mod c_string;
pub mod clock;
pub mod collector;
pub mod companion;
pub mod complaint;
pub mod image;
pub mod image_memory;
pub mod job;
pub mod limits;
pub mod meeting_place;
pub mod own_memory;
pub mod settings;
pub mod speed;
pub mod topic;
pub mod unix_socket;
