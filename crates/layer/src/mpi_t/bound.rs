//! Objects that variables and events are bound to.
//!
//! A library would crash on an invalid handle. Here it is looked up in the tables of live objects. A
//! communicator that one of our variables is bound to is kept as a [`Bound`], so that it is not confused with
//! a later communicator for which the library reuses the handle.
#![allow(unsafe_code)]

use super::other_ranks::OtherRanks;
use super::{handles, handles::with_abi, program, recording};
use crate::base::image as record;
use crate::interpose::real;
use crate::record::objects::comms;
use crate::record::objects::table::{Object, Table};
use crate::record::objects::tables;
use crate::record::traffic;
use mpi_abi::{Abi, AbiKind, Handle, Mpich, OpenMpi, Standard};
use mpiscope_image::Writer;
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::objects::{self as image, Comm};
use mpiscope_image::traffic::Peer;
use mpit::{Bind, Error, Result};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Checks that `object` is a live object of this kind.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] if it is not, or if no objects exist: before `MPI_Init` without a session, and
/// after `MPI_Finalize`.
pub fn check(bind: Bind, object: u64) -> Result<u64> {
    if bind == Bind::NO_OBJECT {
        return Ok(0);
    }
    let known = match program::level() {
        Some(_) => is_known(bind, object),
        None => program::sessions_only() && !is_predefined(object) && head(bind, object).is_some(),
    };
    if known { Ok(object) } else { Err(Error::INVALID_HANDLE) }
}

/// Tracks the object that one of the library's handles was bound to.
pub struct Life(Option<(&'static image::Head, u64)>);

impl Life {
    /// Tracks an object that [`check`] has accepted.
    pub fn of(bind: Bind, object: u64) -> Self {
        Self(head(bind, object).map(|head| (head, head.uid.get())))
    }

    /// Whether the object is alive. One whose creation was not seen counts as alive.
    pub fn is_alive(&self) -> bool {
        let live = image::Life::LIVE.0;
        self.0.is_none_or(|(head, uid)| head.uid.get() == uid && head.life.get() == live)
    }
}

fn is_known(bind: Bind, object: u64) -> bool {
    (bind == Bind::MPI_COMM && is_predefined(object)) || head(bind, object).is_some()
}

/// The record of a live object.
fn head(bind: Bind, object: u64) -> Option<&'static image::Head> {
    fn of<T: Object>(table: &'static Table<T>, object: u64) -> Option<&'static image::Head> {
        table.find(object).map(Object::head)
    }
    match bind {
        Bind::MPI_COMM => of(&tables::COMMS, object),
        Bind::MPI_DATATYPE => of(&tables::DATATYPES, object),
        Bind::MPI_ERRHANDLER => of(&tables::ERRHANDLERS, object),
        Bind::MPI_FILE => of(&tables::FILES, object),
        Bind::MPI_GROUP => of(&tables::GROUPS, object),
        Bind::MPI_OP => of(&tables::OPS, object),
        Bind::MPI_WIN => of(&tables::WINDOWS, object),
        Bind::MPI_INFO => of(&tables::INFOS, object),
        Bind::MPI_SESSION => of(&tables::SESSIONS, object),
        _ => None,
    }
}

/// The unique number of a live object, which is never reused.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as for [`check`].
pub fn uid(bind: Bind, object: u64) -> Result<u64> {
    if bind == Bind::MPI_COMM {
        return Bound::of(token(object)?).map(|bound| bound.uid);
    }
    check(bind, object)?;
    head(bind, object).map(|head| head.uid.get()).ok_or(Error::INVALID_HANDLE)
}

/// Whether this is a communicator that exists even if it is not recorded.
fn is_predefined(object: u64) -> bool {
    ["MPI_COMM_WORLD", "MPI_COMM_SELF"].iter().any(|name| handles::predefined(name) == object)
}

/// A communicator that a variable was bound to. Lives as long as the process.
pub struct Bound {
    /// Its record, which may be reused once the communicator has been freed.
    comm: &'static Comm,
    uid: u64,
    handle: u64,
    /// This process's rank.
    pub rank: usize,
    /// Number of ranks it can communicate with.
    pub size: usize,
    /// The first of `size` records; null if there are none.
    peers: AtomicPtr<Peer>,
    /// Ticks spent in blocking collectives, counted on request.
    pub waited: AtomicU64,
    /// The other ranks' data.
    pub others: OtherRanks,
    next: AtomicPtr<Bound>,
    /// Its replacement, if it was created before our hook of `MPI_Init` had completed: another tool's wrapper
    /// of `MPI_Init` may run inside ours.
    now: AtomicPtr<Bound>,
}

/// Number of buckets.
const LISTS: usize = 1024;
/// Hash table keyed by uid: each bucket is a list, newest first.
static BY_UID: [AtomicPtr<Bound>; LISTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; LISTS];
static ADDING: Mutex<()> = Mutex::new(());

fn list_of(uid: u64) -> &'static AtomicPtr<Bound> {
    let [first, ..] = &BY_UID;
    // The upper bits of the product, since it is a uid's lower bits that vary.
    let at = uid.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - LISTS.ilog2());
    BY_UID.get(at as usize).unwrap_or(first)
}

/// The communicator with this uid, if anything was ever bound to it.
pub fn of_uid(uid: u64) -> Option<&'static Bound> {
    // SAFETY: null, or leaked by `bind`.
    let first = unsafe { list_of(uid).load(Ordering::Acquire).as_ref() };
    // SAFETY: as above.
    let mut all =
        std::iter::successors(first, |bound| unsafe { bound.next.load(Ordering::Acquire).as_ref() });
    all.find(|bound| bound.uid == uid)
}

/// The word that identifies a communicator in our variables: the address of its [`Bound`].
///
/// # Errors
/// [`Error::INVALID_HANDLE`] as for [`check`].
pub fn token(object: u64) -> Result<u64> {
    check(Bind::MPI_COMM, object)?;
    // Communicators are only looked up while they are recorded.
    recording::want(Recording::OBJECTS.0, true);
    let bound = with_abi!(bind(object));
    recording::want(Recording::OBJECTS.0, false);
    bound.map(|bound| std::ptr::from_ref(bound) as u64).ok_or(Error::INVALID_HANDLE)
}

fn bind<A: Abi>(object: u64) -> Option<&'static Bound> {
    let handle = A::Handle::from_raw(object);
    // A tool may bind a variable to a communicator whose creation was not seen.
    let comm = comms::find_or_adopt::<A>(handle)?;
    let peers = match traffic::state::hold() {
        Some(held) => {
            let channel = traffic::lines::channel::<A>(&held, handle);
            peers_at(held.writer, channel.peers, comm)
        }
        None => std::ptr::null_mut(),
    };
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let uid = comm.head.uid.get();
    if let Some(known) = of_uid(uid) {
        known.peers.compare_exchange(std::ptr::null_mut(), peers, Ordering::AcqRel, Ordering::Relaxed).ok();
        known.others.search();
        return Some(known);
    }
    // Loop bounds come from the library, since any process of this user may have overwritten the image.
    let (mut rank, mut size) = (0, real::remote_or_local_size::<A>(handle));
    if real::comm_rank::<A>(handle, &mut rank) != Some(A::SUCCESS) {
        size = 0;
    }
    let bound = Box::leak(Box::new(Bound {
        comm,
        uid,
        handle: object,
        rank: usize::try_from(rank).unwrap_or(0),
        size: usize::try_from(size).unwrap_or(0),
        peers: AtomicPtr::new(peers),
        waited: AtomicU64::new(0),
        others: OtherRanks::find(comm, usize::try_from(size).unwrap_or(0), real::is_inter::<A>(handle)),
        next: AtomicPtr::new(list_of(uid).load(Ordering::Acquire)),
        now: AtomicPtr::new(std::ptr::null_mut()),
    }));
    list_of(uid).store(bound, Ordering::Release);
    Some(bound)
}

/// The records of all ranks of a communicator, starting at an offset of the image; null if the image does not
/// contain them all.
fn peers_at(writer: &'static Writer, first: u64, comm: &Comm) -> *mut Peer {
    let size = comm.remote_size.get().max(comm.size.get());
    let last = size.checked_sub(1).and_then(|last| writer.nth_after::<Peer>(first, last));
    let first = last.and_then(|_| writer.at_offset::<Peer>(first));
    first.map_or(std::ptr::null_mut(), |first| std::ptr::from_ref(first).cast_mut())
}

impl Bound {
    /// The communicator behind a word from [`token`].
    ///
    /// # Errors
    /// [`Error::INVALID_HANDLE`] if it was freed and its record has been reused.
    pub fn of(token: u64) -> Result<&'static Self> {
        // SAFETY: words reach the instruments only from `token`, and what they point to is leaked.
        let bound = unsafe { (token as *const Self).as_ref() }.ok_or(Error::INVALID_HANDLE)?;
        if bound.comm.head.uid.get() == bound.uid && bound.comm.head.life.get() != image::Life::EMPTY.0 {
            let stale = bound.comm.head.life.get() == image::Life::FREED.0 && is_predefined(bound.handle);
            return if stale { bound.renewed() } else { Ok(bound) };
        }
        bound.renewed()
    }

    /// Finds the new record of a predefined communicator.
    #[cold]
    fn renewed(&self) -> Result<&'static Self> {
        // SAFETY: null, or leaked by `bind`.
        if let Some(now) = unsafe { self.now.load(Ordering::Acquire).as_ref() } {
            return Ok(now);
        }
        let handle = self.handle;
        if !is_predefined(handle) || tables::COMMS.find(handle).is_none() {
            return Err(Error::INVALID_HANDLE);
        }
        let now = with_abi!(bind(handle)).ok_or(Error::INVALID_HANDLE)?;
        self.now.store(std::ptr::from_ref(now).cast_mut(), Ordering::Release);
        Ok(now)
    }

    /// See `Head::identity`: the other ranks know the communicator by it only once `MPI_Init` has returned.
    pub fn identity(&self) -> u64 {
        self.comm.head.identity.get()
    }

    /// Its record.
    pub fn comm(&self) -> &'static Comm {
        self.comm
    }

    /// The traffic with a rank.
    pub fn peer(&self, rank: usize) -> Option<&'static Peer> {
        let mut peers = self.peers.load(Ordering::Acquire);
        if peers.is_null() {
            // They are created with the first message.
            let index = self.comm.peers.get().checked_sub(1)?;
            let writer = record::writer()?;
            let first = writer.record::<Peer>(SectionKind::PEERS, index)?;
            writer
                .nth_after::<Peer>(writer.offset_of(first), u32::try_from(self.size).ok()?.checked_sub(1)?)?;
            peers = std::ptr::from_ref(first).cast_mut();
            self.peers.store(peers, Ordering::Release);
        }
        if rank >= self.size {
            return None;
        }
        // SAFETY: it points to `size` records in the image, which is never unmapped.
        Some(unsafe { &*peers.add(rank) })
    }
}

/// Records that a thread spent `ticks` in a blocking collective on a communicator.
#[cold]
pub fn waited(handle: u64, ticks: u64) {
    if let Some(bound) = tables::COMMS.find(handle).and_then(|comm| of_uid(comm.head.uid.get())) {
        bound.waited.fetch_add(ticks, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_image::layout::SectionKind;
    use std::collections::BTreeSet;

    #[test]
    fn consecutively_created_communicators_are_in_different_lists() {
        let lists =
            (0..LISTS as u64).map(|serial| list_of(image::uid(SectionKind::COMMS, serial)).as_ptr().addr());
        assert!(lists.collect::<BTreeSet<_>>().len() > LISTS / 2);
    }
}
