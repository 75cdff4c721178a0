//! Communicators of an archive: their members are known once all events have been seen.

use super::super::JobTrace;
use std::collections::BTreeMap;

/// A communicator, with its members as indexes of the trace's ranks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Communicator {
    #[allow(missing_docs)]
    pub name: String,
    #[allow(missing_docs)]
    pub members: Vec<usize>,
    /// By rank in the communicator; empty for an intercommunicator, where ranks are relative to the other
    /// group.
    ranks: BTreeMap<u32, usize>,
}

/// All communicators in use.
#[derive(Debug, Default)]
pub struct Communicators<'a> {
    trace: Option<&'a JobTrace>,
    numbers: BTreeMap<u64, u32>,
    /// By number.
    pub list: Vec<Communicator>,
}

impl<'a> Communicators<'a> {
    pub fn of(trace: &'a JobTrace) -> Self {
        Self { trace: Some(trace), ..Self::default() }
    }

    /// Returns its number, assigned at the first use.
    pub fn number(&mut self, identity: u64, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(&identity) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.numbers.insert(identity, number);
        let known = self.trace.and_then(|trace| trace.comms.get(&identity));
        let mut new = Communicator { name: name.to_owned(), ..Communicator::default() };
        for (rank, at) in known.into_iter().flat_map(|comm| &comm.members) {
            if !new.members.contains(at) {
                new.members.push(*at);
            }
            if known.is_some_and(|comm| !comm.inter) {
                new.ranks.insert(*rank, *at);
            }
        }
        self.list.push(new);
        number
    }

    /// Returns the position of a process among the members; a process not known as a member is appended.
    pub fn member(&mut self, number: u32, at: usize) -> u32 {
        let Some(comm) = self.list.get_mut(number as usize) else { return u32::MAX };
        let known = comm.members.iter().position(|member| *member == at);
        let place = known.unwrap_or_else(|| {
            comm.members.push(at);
            comm.members.len() - 1
        });
        u32::try_from(place).unwrap_or(u32::MAX)
    }

    /// Returns the position of the process that has this rank in the communicator; `None` if unknown.
    pub fn ranked(&mut self, number: u32, rank: i32) -> Option<u32> {
        let comm = self.list.get(number as usize)?;
        let at = *comm.ranks.get(&u32::try_from(rank).ok()?)?;
        Some(self.member(number, at))
    }
}
