//! The tree of our categories.

use crate::base::complaint::complain;
use crate::base::topic::Topic;
use crate::mpi_t::REGISTRY;
use mpit::Member;

/// Registry indices of the categories, by topic.
pub struct Categories(Vec<Option<usize>>);

impl Categories {
    /// Registers the tree: one root category with a subcategory for each topic.
    pub fn new() -> Self {
        let root = REGISTRY.add_category(
            "mpiscope",
            "Variables and events of mpiscope: the same with every MPI library. All others are the MPI library's own",
        );
        let root = publish_one("its category", root);
        let add = |topic: &Topic| {
            let index = publish_one(topic.name(), REGISTRY.add_category(topic.name(), topic.desc()))?;
            publish_one(topic.name(), REGISTRY.add_to_category(root?, Member::Category(index)))?;
            Some(index)
        };
        Self(Topic::ALL.iter().map(add).collect())
    }

    /// Adds a member to the category of its topic.
    pub fn add(&self, topic: Topic, member: Member) {
        if let Some(Some(category)) = self.0.get(topic as usize) {
            publish_one("a member of a category", REGISTRY.add_to_category(*category, member));
        }
    }
}

/// Unwraps the result of adding an entry. A failure is a bug of ours and costs only that entry.
pub fn publish_one<T>(what: &str, added: mpit::Result<T>) -> Option<T> {
    match added {
        Ok(index) => Some(index),
        Err(error) => {
            complain(&format!("could not add {what} to the tool interface: {error}"));
            None
        }
    }
}
