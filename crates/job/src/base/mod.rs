//! Plain values that know nothing of images: clocks, sets of ranks, sizes, code locations, and parallel work.

pub mod call_fields;
pub mod clock;
pub mod clock_offset;
pub mod draft;
pub mod error_classes;
pub(crate) mod host_name;
pub mod identity;
pub mod json;
pub mod modules;
pub mod parallel;
pub mod quantity;
pub mod rankset;
pub mod refusal;
pub mod shell;
pub mod time_limit;
pub mod total;
pub mod waiting_functions;
