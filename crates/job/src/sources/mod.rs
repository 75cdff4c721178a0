//! Sources of bytes: files, core files, living processes, hosts; and stacks unwound from them.

pub mod core;
pub mod host_identity;
pub mod image_file;
pub mod image_source;
pub(crate) mod name_space;
pub mod process_tree;
pub(crate) mod unwind;

pub use mpiscope_target::procfs;
