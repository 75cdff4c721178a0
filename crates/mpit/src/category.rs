//! Categories: named groups of variables, event types and other categories.
//!
//! A category only grows: members keep their order and are never removed. Categories never form a
//! cycle.

use std::sync::{Mutex, PoisonError};

/// A member of a category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Member {
    /// A control variable, by index.
    Cvar(usize),
    /// A performance variable, by index.
    Pvar(usize),
    /// An event type, by index.
    Event(usize),
    /// Another category, by index.
    Category(usize),
}

/// The members of a category, each kind in the order in which they were added.
#[derive(Default, Debug)]
pub(crate) struct Members {
    pub(crate) cvars: Vec<usize>,
    pub(crate) pvars: Vec<usize>,
    pub(crate) events: Vec<usize>,
    pub(crate) categories: Vec<usize>,
}

/// A category.
#[derive(Debug)]
pub struct Category {
    pub(crate) name: String,
    pub(crate) desc: String,
    members: Mutex<Members>,
}

impl Category {
    pub(crate) fn new(name: String, desc: String) -> Self {
        Self { name, desc, members: Mutex::default() }
    }

    /// The name, unique among categories.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The description; may be empty.
    pub fn desc(&self) -> &str {
        &self.desc
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Members) -> R) -> R {
        f(&mut self.members.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Indices of the control variables in the category.
    pub fn cvars(&self) -> Vec<usize> {
        self.with(|m| m.cvars.clone())
    }

    /// Indices of the performance variables in the category.
    pub fn pvars(&self) -> Vec<usize> {
        self.with(|m| m.pvars.clone())
    }

    /// Indices of the event types in the category.
    pub fn events(&self) -> Vec<usize> {
        self.with(|m| m.events.clone())
    }

    /// Indices of the categories directly in the category.
    pub fn categories(&self) -> Vec<usize> {
        self.with(|m| m.categories.clone())
    }
}

impl Members {
    /// Adds a member. Returns `false` if it is already there.
    pub(crate) fn add(&mut self, member: Member) -> bool {
        let (list, index) = match member {
            Member::Cvar(i) => (&mut self.cvars, i),
            Member::Pvar(i) => (&mut self.pvars, i),
            Member::Event(i) => (&mut self.events, i),
            Member::Category(i) => (&mut self.categories, i),
        };
        let new = !list.contains(&index);
        if new {
            list.push(index);
        }
        new
    }
}
