//! Builds models from records, found by handle or uid, or one after the other.

use super::common::{Common, Lifetime, marks};
use super::kind::{Hex, Kind};
use super::reader::Reader;
use mpiscope_image::layout::State;
use mpiscope_image::objects::{Flag, Head, Life, kind_of};
use mpiscope_image::{Error, Record, Snapshot, Source};
use std::mem::offset_of;

/// How often a record is looked up if its handle changes concurrently.
const TRIES: u32 = 3;

/// Why there is no object to show.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// No object of any kind has this handle.
    #[error(
        "no {kind} has the handle {handle}: it was never created, or was freed so long ago that its record was reused"
    )]
    #[allow(missing_docs)]
    NotFound { kind: Kind, handle: Hex },
    /// The handle belongs to another kind.
    #[error("{handle} is the handle of a {found}, not of a {kind}")]
    #[allow(missing_docs)]
    OtherKind { kind: Kind, handle: Hex, found: Kind },
    /// The process has no objects yet.
    #[error("the process has not completed MPI_Init yet, so it has no objects")]
    BeforeInit,
    /// The process does not record objects.
    #[error("the process does not record objects: leave MPISCOPE_RECORD unset, or add `objects` to it")]
    NotRecorded,
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] Error),
}

/// A model of one kind of object, built from its records.
pub trait Build: Sized {
    /// The type of the records in the image.
    type Record: Record;
    /// The kind.
    const KIND: Kind;

    /// The header of the record.
    fn head(record: &Self::Record) -> &Head;

    /// The handle in the records of what callers name by `handle`.
    fn stored(handle: u64) -> u64 {
        handle
    }

    /// The name set by the program, or for a predefined object the one in the record.
    fn name<S: Source>(_reader: &Reader<'_, S>, _record: &Self::Record) -> Option<String> {
        None
    }

    /// Its Fortran handle, for kinds whose records contain it.
    fn fortran(_record: &Self::Record) -> Option<i32> {
        None
    }

    /// Builds the model. A predefined object that was never seen has no record.
    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&Self::Record>) -> Self;
}

impl<S: Source> Reader<'_, S> {
    /// Returns the object with this handle: the live one, otherwise the one freed last.
    pub fn get<B: Build>(&self, handle: u64) -> Result<B, Missing> {
        let handle = B::stored(handle);
        for _ in 0..TRIES {
            let Some(entry) = self.index(B::KIND)?.by_handle(handle) else { break };
            let record = self.record::<B::Record>(B::KIND, entry.index)?;
            let head = B::head(&record.value);
            if head.handle.get() == handle
                && head.life.get() != Life::EMPTY.0
                && let Some(object) = self.made::<B>(record)
            {
                return Ok(object);
            }
            self.forget(B::KIND);
        }
        if let Some(known) = self.predefined.find(B::KIND, handle) {
            let mut common = Common::unseen(B::KIND, handle, known.name);
            common.standing = self.standing_of_unseen(&common);
            common.fortran = self.fortran.index_of(B::KIND, handle);
            return Ok(B::build(self, common, None));
        }
        Err(self.missing(B::KIND, handle))
    }

    /// Returns the object with this uid if it has the right kind and its record exists.
    pub fn by_uid<B: Build>(&self, uid: u64) -> Result<Option<B>, Error> {
        let Some(entry) = self.entry_of(uid)?.filter(|_| kind_of(uid) == B::KIND.section()) else {
            return Ok(None);
        };
        let record = self.record::<B::Record>(B::KIND, entry.index)?;
        Ok(if B::head(&record.value).uid.get() == uid { self.made::<B>(record) } else { None })
    }

    /// Returns all objects of a kind that have a record, including freed ones, in record order.
    pub fn all<B: Build>(&self) -> Result<Vec<B>, Error> {
        let mut objects = Vec::new();
        self.each::<B>(&mut |_| true, &mut |object| objects.push(object))?;
        Ok(objects)
    }

    /// Passes objects on one at a time, in record order, so that a million need no more memory than one.
    /// Objects whose header is not chosen are not built; building is most of the work.
    pub fn each<B: Build>(
        &self,
        choose: &mut dyn FnMut(&Head) -> bool,
        each: &mut dyn FnMut(B),
    ) -> Result<(), Error> {
        let index = self.index(B::KIND)?;
        for entry in &index.entries {
            for _ in 0..TRIES {
                let record = self.record::<B::Record>(B::KIND, entry.index)?;
                let head = B::head(&record.value);
                if head.life.get() == Life::EMPTY.0 || !choose(head) {
                    break;
                }
                if let Some(object) = self.made::<B>(record) {
                    each(object);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns the number of records of a kind: live or marked ones, and freed ones.
    pub fn count(&self, kind: Kind) -> Result<(usize, usize), Error> {
        let index = self.index(kind)?;
        let freed = index.entries.iter().filter(|entry| entry.life == Life::FREED.0).count();
        Ok((index.entries.len() - freed, freed))
    }

    /// Builds the model of a record. What the record refers to, such as names and arrays, is read after the
    /// record and may belong to another object by then, so the record must be unchanged afterward. Returns
    /// `None` if it has been reused or emptied.
    fn made<B: Build>(&self, mut record: Snapshot<B::Record>) -> Option<B> {
        for _ in 0..TRIES {
            let object = B::build(self, self.common::<B>(&record), Some(&record.value));
            let again = self.record::<B::Record>(B::KIND, record.index).ok()?;
            let (before, after) = (B::head(&record.value), B::head(&again.value));
            if before.seq.get() == after.seq.get() {
                return Some(object);
            }
            if before.uid.get() != after.uid.get() || after.life.get() == Life::EMPTY.0 {
                return None;
            }
            record = again;
        }
        record.torn = true;
        Some(B::build(self, self.common::<B>(&record), Some(&record.value)))
    }

    fn common<B: Build>(&self, record: &Snapshot<B::Record>) -> Common {
        let head = B::head(&record.value);
        let handle = head.handle.get();
        let pinned = if head.pinned.get() != 0 { Flag::PINNED.0 } else { 0 };
        let flags = head.flags.get() | pinned;
        let known = self.predefined.name(B::KIND, handle).map(str::to_owned);
        let given = B::name(self, &record.value).filter(|name| !name.is_empty());
        let predefined = known.is_some() || flags & Flag::PREDEFINED.0 != 0;
        let shared = self.shared_name(head.identity.get()).filter(|_| !predefined).map(str::to_owned);
        let name = known.or(shared).or_else(|| given.clone());
        let standing = self.standing(head);
        let usable = head.life.get() != Life::FREED.0;
        // A live request's record may still have the time of the previous request's freeing.
        let freed = matches!(standing, Lifetime::Marked | Lifetime::Freed);
        Common {
            kind: B::KIND,
            handle: Hex(handle),
            given_name: given.filter(|given| Some(given) != name.as_ref()),
            name,
            predefined,
            standing,
            fortran: usable
                .then(|| B::fortran(&record.value).or_else(|| self.fortran.index_of(B::KIND, handle)))
                .flatten(),
            uid: head.uid.get(),
            identity: Hex(head.identity.get()),
            parent: self.reference(head.parent.get()),
            created: self.call_site(head.made_by.get().into(), head.made_at.get(), head.made_from.get()),
            freed: freed
                .then(|| self.call_site(head.freed_by.get(), head.freed_at.get(), head.freed_from.get()))
                .flatten(),
            pin_at: (!predefined).then(|| self.pin_at(B::KIND, record.offset)).flatten(),
            flags,
            marks: marks(flags),
            torn: record.torn,
        }
    }

    /// The address of [`Head::pinned`] of a record in the process, for kinds whose records are kept when
    /// objects are freed.
    fn pin_at(&self, kind: Kind, record: u64) -> Option<Hex> {
        let reused_at_once = matches!(kind, Kind::Request | Kind::Message);
        (!reused_at_once && self.address() != 0)
            .then(|| Hex(self.address().wrapping_add(record).wrapping_add(offset_of!(Head, pinned) as u64)))
    }

    /// Explains why a handle denotes no object.
    fn missing(&self, kind: Kind, handle: u64) -> Missing {
        let handle_ = Hex(handle);
        for other in Kind::ALL.iter().copied().filter(|other| *other != kind) {
            let lives = self.index(other).ok().and_then(|index| index.by_handle(handle));
            let lives = lives.is_some_and(|entry| entry.life != Life::FREED.0);
            if lives || self.predefined.find(other, handle).is_some() {
                return Missing::OtherKind { kind, handle: handle_, found: other };
            }
        }
        if self.state().0 < State::INITIALIZED.0 {
            return Missing::BeforeInit;
        }
        Missing::NotFound { kind, handle: handle_ }
    }
}
