//! Groups.

use super::build::Build;
use super::common::Common;
use super::communicator;
use super::kind::Kind;
use super::reader::Reader;
use super::reference::Reference;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Head};
use serde::Serialize;
use std::mem::offset_of;

/// A group.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// This process's rank in it; none if it is not a member.
    pub rank: Option<u32>,
    /// Number of members.
    pub size: u32,
    /// The members' ranks in `MPI_COMM_WORLD`, in order; −1 for a process outside of it.
    pub members: Option<Vec<i64>>,
    /// The second group of a union, intersection or difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_parent: Option<Reference>,
    /// Number of handles of it that the program must free.
    pub handles: u32,
    /// Communicators created from it, and the one that it was obtained from.
    pub communicators: Vec<Reference>,
}

impl Build for Group {
    type Record = objects::Group;
    const KIND: Kind = Kind::Group;

    fn head(record: &objects::Group) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Group) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Group>) -> Self {
        let null = common.standing == super::common::Lifetime::Null;
        let Some(record) = record else {
            let members = (!null).then(Vec::new);
            return Self {
                common,
                rank: None,
                size: 0,
                members,
                other_parent: None,
                handles: 0,
                communicators: Vec::new(),
            };
        };
        let communicators = communicators_of(reader, &common);
        Self {
            rank: Some(record.rank.get()).filter(|rank| *rank != u32::MAX),
            size: record.size.get(),
            members: communicator::members(reader, &record.members, record.size.get()),
            other_parent: reader.reference(record.other_parent.get()),
            handles: record.handles.get(),
            communicators,
            common,
        }
    }
}

/// Returns the communicator that a group was obtained from, and those that were created from it.
fn communicators_of<S: Source>(reader: &Reader<'_, S>, common: &Common) -> Vec<Reference> {
    let mut found = reader.referring(Kind::Communicator, offset_of!(objects::Comm, other_parent), common.uid);
    for child in reader.referring(Kind::Communicator, offset_of!(Head, parent), common.uid) {
        if !found.contains(&child) {
            found.push(child);
        }
    }
    found.extend(common.parent.clone().filter(|parent| parent.kind == Kind::Communicator));
    found
}
