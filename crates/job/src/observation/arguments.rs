//! Invalid arguments of open calls. Under a fatal error handler, which is the default, such a call never
//! returns, so its arguments are the only trace of the error.
//!
//! Only errors that follow from the call itself and hold in every MPI library are reported: libraries need
//! not check.

use super::Communicator;
use super::communicators::Communicators;
use super::epochs;
use super::special::Special;
use crate::model::objects::{CallSite, Kind, Lifetime, Object, Reference};
use crate::model::rank::Rank;
use mpi_abi::{Flags, ObjectKind, Partners, Role};
use mpiscope_image::derive::epochs::Open;
use mpiscope_image::layout::{Call, State};
use mpiscope_image::objects::Flag;
use mpiscope_image::{Function, Source};
use serde::{Deserialize, Serialize};
use std::fmt::Display;

/// What is wrong with a call, whatever the library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Wrong {
    /// What the call was, as text for users: `given count -1`, `called after MPI_Finalize`.
    pub what: String,
    /// The error class.
    pub error: String,
}

impl Wrong {
    fn given(error: &str, what: impl Display) -> Self {
        Self { what: format!("given {what}"), error: error.to_owned() }
    }
}

/// The arguments of one call.
pub struct Given<'a, 'i, S> {
    pub rank: &'a Rank<'i, S>,
    pub communicators: &'a Communicators,
    pub special: Special,
    pub record: &'a Call,
    pub function: &'a Function,
    /// The requests that it completes, if the process has ended: a library can only crash on a wrong one.
    pub completes: Vec<u64>,
}

impl<S: Source> Given<'_, '_, S> {
    /// Returns its invalid arguments. The object is checked first: without it the others are meaningless.
    pub fn wrong(&self) -> Vec<Wrong> {
        if let Some(lifetime) = self.lifetime() {
            return vec![lifetime];
        }
        if let Some(object) = self.object() {
            return vec![object];
        }
        if let Some(moment) = self.moment() {
            return vec![moment];
        }
        let found = [
            self.count(),
            self.datatype(),
            self.peer(),
            self.source(),
            self.tag(),
            self.op(),
            self.request(),
        ];
        found.into_iter().flatten().collect()
    }

    /// Checks for a predefined communicator before it exists, or when it no longer does, and for `MPI_Finalize` at such
    /// a time. Those of sessions do not depend on `MPI_Init`.
    fn lifetime(&self) -> Option<Wrong> {
        let when = match self.rank.process().state {
            State::STARTED => "before MPI_Init",
            State::FINALIZED => "after MPI_Finalize",
            _ => return None,
        };
        if self.function.name == "MPI_Finalize" {
            return Some(Wrong { what: format!("called {when}"), error: "MPI_ERR_OTHER".to_owned() });
        }
        let is_comm =
            self.function.fields.object == Some(ObjectKind::COMM) && self.function.name != "MPI_Abort";
        let handle = self.record.object.get();
        let name = self.rank.objects().predefined().name(Kind::Communicator, handle).filter(|_| is_comm)?;
        Some(Wrong::given("MPI_ERR_OTHER", format!("{name} {when}")))
    }

    /// Checks for a null or freed communicator, window or file.
    fn object(&self) -> Option<Wrong> {
        let kind = self.function.fields.object?;
        let (what, error) = match kind {
            ObjectKind::COMM => ("communicator", "MPI_ERR_COMM"),
            ObjectKind::WIN => ("window", "MPI_ERR_WIN"),
            ObjectKind::FILE => ("file", "MPI_ERR_FILE"),
            _ => return None,
        };
        let handle = self.record.object.get();
        if let Some(null) = self.null(kind, handle) {
            return Some(Wrong::given(error, null));
        }
        let freed = match kind {
            ObjectKind::COMM => self.communicators.was_freed(handle),
            _ => self.was_freed(kind, handle),
        };
        freed.then(|| Wrong::given(error, format!("a {what} that it had freed")))
    }

    /// Whether the handle is that of an object that was freed before the call.
    fn was_freed(&self, kind: ObjectKind, handle: u64) -> bool {
        self.freed(kind, handle).is_some()
    }

    /// Returns the call that freed the object with this handle before the call was made.
    fn freed(&self, kind: ObjectKind, handle: u64) -> Option<CallSite> {
        let (objects, mut kinds) = (self.rank.objects(), Kind::ALL.iter().copied());
        let kind = kinds.find(|known| known.object_kind() == Some(kind))?;
        let object = objects.object(kind, handle).ok()?;
        // Another thread may free an object that the call is using.
        let begun = objects.seconds(self.record.since.get());
        let common = object.common();
        let is_gone = matches!(common.standing, Lifetime::Freed | Lifetime::Marked);
        // What libraries complete at once has a handle that remains valid.
        let may_be_given = common.has(Flag::SHARED_HANDLE);
        common.freed.clone().filter(|freed| is_gone && !may_be_given && freed.seconds < begun)
    }

    /// Checks for a window call outside the epoch it needs, or inside one that excludes it.
    fn moment(&self) -> Option<Wrong> {
        let handle = self.record.object.get();
        if self.function.fields.object != Some(ObjectKind::WIN) {
            return None;
        }
        let Ok(Object::Window(window)) = self.rank.objects().object(Kind::Window, handle) else {
            return None;
        };
        let target = self.record.peer.get().cast_signed();
        let locked = window.locks.iter().any(|lock| i64::from(lock.target) == target);
        let pending = window.operations.pending != 0;
        let what =
            epochs::wrong(self.function, &Open { epochs: window.epoch_bits, locked, pending }, target)?;
        // The handle may differ between ranks that make the same mistake.
        let is_shared = |window: &Reference| window.name.is_some() || window.identity.0 != 0;
        let named = self.rank.reference(ObjectKind::WIN, handle).filter(is_shared);
        let on = named.map_or_else(|| "a window".to_owned(), |window| window.label());
        Some(Wrong::given("MPI_ERR_RMA_SYNC", format!("{on} {what}")))
    }

    fn count(&self) -> Option<Wrong> {
        let count = self.record.count.get().cast_signed();
        let wrong = self.function.fields.count && count < 0;
        wrong.then(|| Wrong::given("MPI_ERR_COUNT", format!("count {count}")))
    }

    /// Checks the datatype of functions that have one that is significant on every process and for every
    /// buffer.
    fn datatype(&self) -> Option<Wrong> {
        let (fields, properties) = (self.function.fields, self.function.properties);
        let single = match properties.partners {
            Partners::PEER => true,
            // The origin data of an accumulation may be empty.
            Partners::TARGET => !fields.op,
            Partners::ROOT => properties.flags.has(Flags::ALIKE) && self.in_one_group(),
            _ => fields.op && self.in_one_group(),
        };
        let handle = self.record.datatype.get();
        // What is not significant may be null, but is hardly the handle of a freed object.
        let may_be_freed = single || properties.partners != Partners::ROOT;
        if fields.datatype && may_be_freed && self.was_freed(ObjectKind::DATATYPE, handle) {
            return Some(Wrong::given("MPI_ERR_TYPE", "a datatype that it had freed"));
        }
        if !fields.datatype || !single {
            return None;
        }
        if let Some(null) = self.null(ObjectKind::DATATYPE, handle) {
            return Some(Wrong::given("MPI_ERR_TYPE", null));
        }
        let Ok(Object::Datatype(datatype)) = self.rank.objects().object(Kind::Datatype, handle) else {
            return None;
        };
        (!datatype.committed).then(|| Wrong::given("MPI_ERR_TYPE", "a datatype that was not committed"))
    }

    fn peer(&self) -> Option<Wrong> {
        let fields = self.function.fields;
        let role = fields.peer?;
        let rank = self.record.peer.get().cast_signed();
        let error = if role == Role::Root { "MPI_ERR_ROOT" } else { "MPI_ERR_RANK" };
        let what = match role {
            Role::Root => "root",
            Role::Source => "source",
            Role::Destination => "destination",
            Role::Other if self.function.properties.partners == Partners::TARGET => "target",
            Role::Other => return None,
        };
        self.out_of_range(rank, role, what, error)
    }

    /// The source of a combined send and receive.
    fn source(&self) -> Option<Wrong> {
        let source = self.record.extra.first().filter(|_| self.function.fields.receive)?;
        self.out_of_range(source.get().cast_signed(), Role::Source, "source", "MPI_ERR_RANK")
    }

    fn out_of_range(&self, rank: i64, role: Role, what: &str, error: &str) -> Option<Wrong> {
        let comm = self.comm()?;
        if role == Role::Root && comm.remote.is_some() {
            return None;
        }
        let size = comm.remote.as_ref().map_or(comm.size, |remote| remote.size);
        let meant = match self.special.rank(rank) {
            None => rank == self.special.nobody()? && role != Role::Root,
            Some(None) => role == Role::Source,
            Some(Some(rank)) => rank < size,
        };
        let said = self.rank.peer(rank).unwrap_or_else(|| rank.to_string());
        let on = format!("{what} {said} on {} with {size} ranks", comm.name);
        (!meant && size > 0).then(|| Wrong::given(error, on))
    }

    /// On intercommunicators, processes in the root's group other than the root may pass anything.
    fn in_one_group(&self) -> bool {
        self.comm().is_none_or(|comm| comm.remote.is_none())
    }

    /// The communicator that ranks are relative to.
    fn comm(&self) -> Option<&Communicator> {
        let handle = self.record.object.get();
        match self.function.fields.object? {
            ObjectKind::COMM => self.communicators.get(handle),
            ObjectKind::WIN => match self.rank.objects().object(Kind::Window, handle) {
                Ok(Object::Window(window)) => self.communicators.with_uid(window.communicator?.uid),
                _ => None,
            },
            _ => None,
        }
    }

    fn tag(&self) -> Option<Wrong> {
        let fields = self.function.fields;
        if !fields.tag {
            return None;
        }
        let wild = |tag: i64| self.special.tag(tag).is_none();
        let bad = |tag: i64, receives: bool| tag < 0 && !(receives && wild(tag));
        let tag = self.record.tag.get().cast_signed();
        let received = self.record.extra.get(1).filter(|_| fields.receive).map(|tag| tag.get().cast_signed());
        let wrong = if bad(tag, fields.peer == Some(Role::Source)) {
            Some(tag)
        } else {
            received.filter(|tag| bad(*tag, true))
        };
        wrong.map(|tag| Wrong::given("MPI_ERR_TAG", format!("tag {}", self.rank.tag(tag))))
    }

    fn op(&self) -> Option<Wrong> {
        let op = self.record.extra.get(2).filter(|_| self.function.fields.op && self.in_one_group())?.get();
        if self.was_freed(ObjectKind::OP, op) {
            return Some(Wrong::given("MPI_ERR_OP", "an operation that it had freed"));
        }
        Some(Wrong::given("MPI_ERR_OP", self.null(ObjectKind::OP, op)?))
    }

    /// Calls that complete requests accept null ones.
    fn request(&self) -> Option<Wrong> {
        let needs_one = ["MPI_Request_free", "MPI_Start", "MPI_Cancel"].contains(&&*self.function.name);
        let null = self.null(ObjectKind::REQUEST, self.record.request.get()).filter(|_| needs_one);
        null.map(|null| Wrong::given("MPI_ERR_REQUEST", null)).or_else(|| self.completed_request())
    }

    /// Checks for a copy of the handle of a request that is no longer there.
    fn completed_request(&self) -> Option<Wrong> {
        let freed = self.completes.iter().find_map(|handle| self.freed(ObjectKind::REQUEST, *handle))?;
        let by = freed.function.as_deref().unwrap_or("another call");
        let at = freed.place.map_or_else(String::new, |place| format!(" at {place}"));
        let done = if by == "MPI_Request_free" { "freed" } else { "completed" };
        Some(Wrong::given("MPI_ERR_REQUEST", format!("a request that {by}{at} had {done}")))
    }

    /// Returns the name of a handle that is null.
    fn null(&self, kind: ObjectKind, handle: u64) -> Option<&'static str> {
        let kind = Kind::ALL.iter().copied().find(|known| known.object_kind() == Some(kind))?;
        self.rank.objects().predefined().name(kind, handle).filter(|name| name.ends_with("_NULL"))
    }
}
