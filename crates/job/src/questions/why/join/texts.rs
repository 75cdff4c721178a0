//! Texts that many processes have in common: names of functions and hosts, source lines.

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

/// Keeps one copy of every text: a large job has few different ones.
#[derive(Default)]
pub(super) struct Texts(RefCell<HashSet<Arc<str>>>);

impl Texts {
    pub fn of(&self, text: &str) -> Arc<str> {
        let mut all = self.0.borrow_mut();
        if let Some(known) = all.get(text) {
            return Arc::clone(known);
        }
        let new: Arc<str> = text.into();
        all.insert(Arc::clone(&new));
        new
    }

    pub fn known(&self, text: &Option<impl AsRef<str>>) -> Option<Arc<str>> {
        text.as_ref().map(|text| self.of(text.as_ref()))
    }
}
