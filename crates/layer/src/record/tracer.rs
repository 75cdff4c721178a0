//! A thread's part of the trace: see [`trace`](crate::record::trace).

use mpiscope_image::trace::{Called, Ring};

/// The ring of a thread.
#[derive(Clone, Copy)]
pub struct Tracer {
    pub ring: &'static Ring,
    pub calls: &'static [Called],
}
