//! Windows: memory, epochs, one-sided operations.

use super::attributes::{self, Attribute};
use super::build::Build;
use super::common::{CallSite, Common};
use super::kind::{Hex, Kind};
use super::open_calls::OpenCall;
use super::reader::Reader;
use super::reference::Reference;
use super::request;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Epoch, Flavour, Head, LOCK_EXCLUSIVE, Model};
use mpiscope_image::traffic::RequestKind;
use serde::Serialize;

/// A window.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Window {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The communicator it was created with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Reference>,
    /// Address of this process's memory.
    pub base: Hex,
    /// Size of that memory in bytes.
    pub size: u64,
    /// Displacement unit.
    pub displacement_unit: u64,
    /// How it obtained its memory (the create flavor).
    pub flavour: &'static str,
    /// Memory model.
    pub model: &'static str,
    /// Epochs open in this process.
    pub epochs: Vec<&'static str>,
    /// Bits of [`Epoch`].
    #[serde(skip)]
    pub epoch_bits: u32,
    /// The last synchronizing call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_synchronisation: Option<CallSite>,
    /// Locks held: target, and whether exclusive.
    pub locks: Vec<Lock>,
    /// Targets of the open `MPI_Win_start`, as ranks of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_group: Option<Vec<i64>>,
    /// Origins of the open `MPI_Win_post`, as ranks of the world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_group: Option<Vec<i64>>,
    /// Memory attached to a dynamic window: address and size in bytes.
    pub attached: Vec<(Hex, u64)>,
    /// One-sided operations so far.
    pub operations: Operations,
    /// The info last passed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// The pairs of that info at that time.
    pub hints: Vec<(String, String)>,
    /// The error handler last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Requests on it that still exist.
    pub requests: Vec<Reference>,
    /// Calls on it that threads are currently in.
    pub calls: Vec<OpenCall>,
}

/// A lock that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct Lock {
    pub target: u32,
    pub exclusive: bool,
}

/// One-sided operations of this process on a window.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Operations {
    #[allow(missing_docs)]
    pub puts: u64,
    #[allow(missing_docs)]
    pub gets: u64,
    #[allow(missing_docs)]
    pub accumulates: u64,
    /// Operations since the last call that completed all of them.
    pub pending: u64,
    /// The same per target, by rank; empty for large groups.
    pub pending_by_target: Vec<u64>,
}

impl Build for Window {
    type Record = objects::Window;
    const KIND: Kind = Kind::Window;

    fn head(record: &objects::Window) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Window) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Window>) -> Self {
        let Some(record) = record else { return unseen(common) };
        let bits = record.epochs.get();
        let has = |epoch: Epoch| bits & epoch.0 != 0;
        let side = |open: bool, members| {
            open.then(|| super::communicator::members(reader, members, reader.world().size)).flatten()
        };
        let attached = reader.words(&record.attached);
        let lock = |word: u64| Lock { target: word as u32, exclusive: word & LOCK_EXCLUSIVE != 0 };
        Self {
            communicator: common
                .parent
                .clone()
                .or_else(|| reader.attached(Kind::Communicator, record.comm.get(), 0)),
            base: Hex(record.base.get()),
            size: record.size.get(),
            displacement_unit: record.unit.get(),
            flavour: Flavour(record.flavour.get()).name().unwrap_or("unknown"),
            model: Model(record.model.get()).name().unwrap_or("unknown"),
            epochs: Epoch::ALL.iter().filter(|e| has(**e)).filter_map(|e| e.name()).collect(),
            epoch_bits: bits,
            last_synchronisation: reader.call_site(
                record.last_sync.get(),
                record.last_sync_at.get(),
                record.last_sync_from.get(),
            ),
            locks: if has(Epoch::LOCK) {
                reader.words(&record.locks).into_iter().map(lock).collect()
            } else {
                Vec::new()
            },
            start_group: side(has(Epoch::START), &record.start_members),
            post_group: side(has(Epoch::POST), &record.post_members),
            attached: attached
                .chunks_exact(2)
                .filter_map(|pair| Some((Hex(*pair.first()?), *pair.get(1)?)))
                .collect(),
            operations: Operations {
                puts: record.puts.get(),
                gets: record.gets.get(),
                accumulates: record.accumulates.get(),
                pending: record.pending.get(),
                pending_by_target: reader.words(&record.targets),
            },
            info: reader.attached(Kind::Info, record.info.get(), record.info_uid.get()),
            hints: reader.hints(&record.hints),
            errhandler: reader
                .attached(Kind::Errhandler, record.errhandler.get(), record.errhandler_uid.get())
                .or_else(|| reader.known(Kind::Errhandler, "MPI_ERRORS_ARE_FATAL")),
            attributes: attributes::of(reader, common.uid),
            requests: request::of_kind(reader, common.handle, |kind| kind == RequestKind::RMA),
            calls: reader.calls_about(Kind::Window, common.handle.0),
            common,
        }
    }
}

fn unseen(common: Common) -> Window {
    Window {
        common,
        communicator: None,
        base: Hex(0),
        size: 0,
        displacement_unit: 0,
        flavour: "unknown",
        model: "unknown",
        epochs: Vec::new(),
        epoch_bits: 0,
        last_synchronisation: None,
        locks: Vec::new(),
        start_group: None,
        post_group: None,
        attached: Vec::new(),
        operations: Operations::default(),
        info: None,
        hints: Vec::new(),
        errhandler: None,
        attributes: Vec::new(),
        requests: Vec::new(),
        calls: Vec::new(),
    }
}
