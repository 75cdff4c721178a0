//! What this library publishes itself: the same on every MPI library, with fixed indices, before anything else.

mod calls;
mod categories;
mod process;
mod text;

use super::REGISTRY;
use std::sync::Once;

/// Adds an entry; a failure is a mistake in this module and costs that entry only.
fn publish_one<T>(what: &str, added: mpit::Result<T>) -> Option<T> {
    match added {
        Ok(index) => Some(index),
        Err(error) => {
            crate::resolve::complain(&format!("the tool interface lacks {what}: {error}"));
            None
        }
    }
}

/// Publishes everything, once.
pub fn publish() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        super::recording::start();
        let mut categories = categories::Categories::new();
        calls::publish(&REGISTRY, &mut categories);
        process::publish(&REGISTRY, &mut categories);
    });
}
