//! The communicators of a process, under identities shared by all their members.

use super::{ANOTHER_WORLD, Communicator, Creation, Peer, Remote, Split};
use crate::model::objects::{self, Hex, Kind, Reference, Topology};
use crate::model::rank::Rank;
use mpi_abi::ObjectKind;
use mpiscope_image::derive::members::is_inter;
use mpiscope_image::layout::{SectionKind, Words};
use mpiscope_image::objects::{Comm, Life};
use mpiscope_image::traffic;
use mpiscope_image::{Image, Source, Table};
use std::collections::{HashMap, HashSet};

/// Maximum number of communicators read.
const MOST: u64 = 1 << 16;
/// Maximum number of members read.
const MOST_MEMBERS: usize = 1 << 20;

/// The communicators of a process, with indexes for lookup.
#[derive(Debug, Default)]
pub struct Communicators {
    /// All of them.
    pub list: Vec<Communicator>,
    by_handle: HashMap<u64, usize>,
    freed: HashSet<u64>,
    by_uid: HashMap<u64, usize>,
}

impl Communicators {
    /// Reads those that are live, being freed, or freed but still recorded.
    pub fn read<S: Source>(rank: &Rank<'_, S>) -> Self {
        let image = rank.image();
        let (mut found, mut splits) = (Self::default(), Vec::new());
        let Ok(table) = image.table::<Comm>(SectionKind::COMMS) else { return found };
        let peers = image.table::<traffic::Peer>(SectionKind::PEERS).unwrap_or_default();
        for index in 0..table.len().min(MOST) {
            let Ok(record) = image.get::<Comm>(&table, index) else { continue };
            let life = Life(record.value.head.life.get());
            if life != Life::EMPTY {
                found.add(rank, &peers, &record.value, life);
                found.note_split(rank, &record.value, &mut splits);
            }
        }
        for (at, parent) in splits {
            let of = found.with_uid(parent).map_or(0, |parent| parent.identity);
            if let Some(comm) = found.list.get_mut(at) {
                comm.split =
                    comm.split.take().map(|split| Box::new(Split { of, ..*split })).filter(|_| of != 0);
            }
        }
        found
    }

    /// Notes how the communicator added last was made. Its parent may not have been read yet.
    fn note_split<S: Source>(&mut self, rank: &Rank<'_, S>, comm: &Comm, splits: &mut Vec<(usize, u64)>) {
        let made_by = u32::from(comm.head.made_by.get()).checked_sub(1);
        let made_by = made_by.and_then(|number| rank.process().functions.get(number));
        if made_by.is_some_and(|function| function.base == "MPI_Comm_split")
            && let Some(last) = self.list.last_mut()
        {
            let (color, place) = (comm.colour.get().cast_signed(), rank.place(comm.head.made_from.get()));
            last.split = Some(Box::new(Split { of: 0, color, place }));
            splits.push((self.list.len() - 1, comm.head.parent.get()));
        }
    }

    fn add<S: Source>(&mut self, rank: &Rank<'_, S>, peers: &Table, comm: &Comm, life: Life) {
        let image = rank.image();
        let handle = comm.head.handle.get();
        // The handle may have been reused while the old communicator is still being freed.
        let named = match life {
            Life::FREED => false,
            Life::LIVE => true,
            _ => !self.by_handle.contains_key(&handle),
        };
        if named {
            self.by_handle.insert(handle, self.list.len());
        } else if life == Life::FREED {
            self.freed.insert(handle);
        }
        self.by_uid.insert(comm.head.uid.get(), self.list.len());
        let remote = remote(image, comm);
        let partners = remote.as_ref().map_or(comm.size.get(), |remote| remote.size);
        self.list.push(Communicator {
            identity: comm.head.identity.get(),
            name: if life == Life::FREED { freed(comm) } else { rank.object(ObjectKind::COMM, handle) },
            rank: comm.rank.get(),
            members: members(image, &comm.members),
            size: comm.size.get(),
            collectives: comm.collectives.get(),
            peers: exchanged(image, peers, comm.peers.get(), partners),
            sources: sources(image, comm),
            destinations: destinations(image, comm),
            creation: grid(rank, comm),
            remote,
            untold: comm.untold(),
            split: None,
            freed: life == Life::FREED,
        });
    }

    /// Returns the communicator with this handle.
    pub fn get(&self, handle: u64) -> Option<&Communicator> {
        self.list.get(*self.by_handle.get(&handle)?)
    }

    /// Returns whether this handle belonged to a communicator that the program has freed and has not been
    /// reused since.
    pub fn was_freed(&self, handle: u64) -> bool {
        self.freed.contains(&handle) && !self.by_handle.contains_key(&handle)
    }

    /// Returns the communicator whose record has this number, which is never reused.
    pub fn with_uid(&self, uid: u64) -> Option<&Communicator> {
        self.list.get(*self.by_uid.get(&uid)?)
    }

    /// Returns the identity of the communicator with this handle; zero if unknown.
    pub fn identity(&self, handle: u64) -> u64 {
        self.get(handle).map_or(0, |comm| comm.identity)
    }
}

/// The label of a freed communicator, whose handle may refer to another one by now.
fn freed(comm: &Comm) -> String {
    let name = comm.name.text();
    Reference {
        identity: Hex(comm.head.identity.get()),
        name: (!name.is_empty()).then(|| name.into_owned()),
        size: Some(comm.size.get()),
        remote_size: Some(comm.remote_size.get()).filter(|size| *size != 0),
        ..Reference::unknown(Kind::Communicator, comm.head.handle.get(), comm.head.uid.get())
    }
    .label()
}

/// Returns ranks in the world; `None` if the group is the world in its order.
pub(crate) fn members<S: Source>(image: &Image<S>, words: &Words) -> Option<Vec<u32>> {
    if words.offset.get() == 0 {
        return None;
    }
    let ranks = image.words(words, MOST_MEMBERS).ok()?;
    Some(ranks.into_iter().map(|rank| u32::try_from(rank).unwrap_or(ANOTHER_WORLD)).collect())
}

/// The remote group of an intercommunicator.
pub(crate) fn remote<S: Source>(image: &Image<S>, comm: &Comm) -> Option<Remote> {
    is_inter(comm).then(|| Remote {
        size: comm.remote_size.get(),
        members: members(image, &comm.remote).unwrap_or_default(),
    })
}

/// The ranks whose data a process receives in collectives of a communicator's topology.
pub(crate) fn sources<S: Source>(image: &Image<S>, comm: &Comm) -> Option<Vec<u32>> {
    topology(image, comm)?.sources(comm.rank.get())
}

/// The ranks that receive a process's data in such collectives.
fn destinations<S: Source>(image: &Image<S>, comm: &Comm) -> Option<Vec<u32>> {
    topology(image, comm)?.destinations(comm.rank.get())
}

/// Returns the dimensions of a Cartesian topology as what was passed: `2 x 3`, or `2 (periodic) x 3`.
fn grid<S: Source>(rank: &Rank<'_, S>, comm: &Comm) -> Option<Creation> {
    let Topology::Cartesian { dims, periods, .. } = topology(rank.image(), comm)? else { return None };
    let dimension = |(length, periodic): (&i64, &bool)| match periodic {
        true => format!("{length} (periodic)"),
        false => length.to_string(),
    };
    let all: Vec<String> = dims.iter().zip(&periods).map(dimension).collect();
    Some(Creation {
        function: "MPI_Cart_create".to_owned(),
        argument: "dimensions".to_owned(),
        passed: all.join(" x "),
        place: rank.place(comm.head.made_from.get()),
    })
}

fn topology<S: Source>(image: &Image<S>, comm: &Comm) -> Option<Topology> {
    objects::topology_of(comm, || image.words(&comm.topology_args, MOST_MEMBERS).unwrap_or_default())
}

/// Messages exchanged with the ranks of a communicator whose first record has number `first`, counted from 1.
fn exchanged<S: Source>(image: &Image<S>, table: &Table, first: u64, count: u32) -> Vec<Peer> {
    let Some(first) = first.checked_sub(1) else { return Vec::new() };
    let peer = |rank: u32| {
        let record = image.get::<traffic::Peer>(table, first.checked_add(u64::from(rank))?).ok()?.value;
        let sent = record.sent.get().saturating_sub(record.cancelled.get());
        let peer = Peer {
            rank,
            sent,
            received: record.received.get(),
            sent_tags: record.sent_tags.get(),
            received_tags: record.received_tags.get(),
            sent_bytes: record.sent_bytes.get(),
            received_bytes: record.received_bytes.get(),
        };
        (peer.sent != 0 || peer.received != 0).then_some(peer)
    };
    (0..count.min(MOST_MEMBERS as u32)).filter_map(peer).collect()
}
