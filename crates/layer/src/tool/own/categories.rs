//! The tree of our categories.

use super::publish_one;
use crate::tool::REGISTRY;
use mpit::Member;

/// Where a variable or event belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(usize);

macro_rules! places {
    ($($place:ident = $name:literal, $desc:literal;)*) => {
        impl Place {
            places!(@number 0usize; $($place)*);
        }

        const PLACES: &[(&str, &str)] = &[$(($name, $desc)),*];
    };
    (@number $n:expr; $place:ident $($rest:ident)*) => {
        #[allow(missing_docs)]
        pub const $place: Place = Place($n);
        places!(@number $n + 1; $($rest)*);
    };
    (@number $n:expr;) => {};
}

places! {
    CALLS = "mpiscope.calls", "MPI calls: how many, how long, what the process is doing";
    MESSAGES = "mpiscope.messages", "Messages between ranks: how many, how large, what waits";
    REQUESTS = "mpiscope.requests", "Requests: what is pending";
    COLLECTIVES = "mpiscope.collectives", "Collective operations by communicator";
    OBJECTS = "mpiscope.objects", "MPI objects: what exists";
    RMA = "mpiscope.rma", "One-sided communication";
    FILES = "mpiscope.files", "Files";
    PROCESS = "mpiscope.process", "The process: thread, start and end, errors, connections";
    RECORDING = "mpiscope.recording", "What mpiscope records, and what it lost";
}

/// The categories as they were registered.
pub struct Categories(Vec<Option<usize>>);

impl Categories {
    /// Registers the tree: one category for all, below it one for each subject.
    pub fn new() -> Self {
        let root = REGISTRY.add_category(
            "mpiscope",
            "Variables and events of mpiscope: the same with every MPI library. All others are the MPI library's own",
        );
        let root = publish_one("its category", root);
        let add = |(name, desc): &(&str, &str)| {
            let index = publish_one(name, REGISTRY.add_category(name, desc))?;
            publish_one(name, REGISTRY.add_to_category(root?, Member::Category(index)))?;
            Some(index)
        };
        Self(PLACES.iter().map(add).collect())
    }

    /// Puts a member into its place.
    pub fn add(&self, place: Place, member: Member) {
        if let Some(Some(category)) = self.0.get(place.0) {
            publish_one("a member of a category", REGISTRY.add_to_category(*category, member));
        }
    }
}
