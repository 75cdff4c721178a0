//! The typed reader of a rank: its process, and the objects that its calls name.
//!
//! ```text
//! Image ──► Process (who, how far, threads; read once) ─┐
//!   └─────► objects::Reader (looked up when asked) ─────┴──► Rank ──► ps · report · core · why
//! ```
//!
//! Every command that shows calls uses a [`Rank`]. Facts about the process are derived from its records by
//! [`mpiscope_image::derive`]; objects are those that `inspect` shows, read by the same [`Reader`]. This
//! module only combines the two and names values.
//!
//! * [`Rank::reference`]: an object as a typed value (handle, identity, kind, name), the form that all JSON
//!   has; [`Reference::label`](crate::model::objects::Reference::label) is its text.
//! * [`Rank::comm`]: members, size and identity of the communicator with a handle, even while it is being
//!   freed.
//! * [`Rank::peer`], [`Rank::tag`]: names of constants in place of ranks and tags.
//! * [`Rank::place`]: where in the program a call was made.

use crate::base::modules::Modules;
use crate::model::locate::{Locate, place};
use crate::model::objects::{CommFacts, Kind, ProcessContext, Reader, Reference};
use crate::model::process::Process;
use mpi_abi::{AbiKind, ObjectKind, constant};
use mpiscope_image::{Image, Source};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The files that the process has mapped, read by a symbol source shared by many processes.
pub struct SymbolContext<'a> {
    modules: &'a Modules,
    locate: &'a dyn Locate,
}

impl<'a> SymbolContext<'a> {
    /// Creates the context of this process.
    pub fn new(process: &'a Process, locate: &'a dyn Locate) -> Self {
        Self { modules: &process.modules, locate }
    }
}

impl ProcessContext for SymbolContext<'_> {
    fn exported_at(&self, address: u64) -> Option<String> {
        self.modules.iter().find_map(|module| self.locate.symbol(module, address))
    }

    fn place(&self, return_address: u64) -> Option<String> {
        place(self.modules, self.locate, return_address)
    }
}

/// One inspection of a rank.
pub struct Rank<'a, S> {
    process: &'a Process,
    objects: Reader<'a, S>,
    context: &'a dyn ProcessContext,
    comms: RefCell<HashMap<u64, Option<Rc<CommFacts>>>>,
}

impl<'a, S: Source> Rank<'a, S> {
    /// Creates a reader for the process that `image` belongs to.
    pub fn new(image: &'a Image<S>, process: &'a Process, context: &'a dyn ProcessContext) -> Self {
        Self { process, objects: Reader::of(image, process, context), context, comms: RefCell::default() }
    }

    /// Its identity, progress and threads.
    pub fn process(&self) -> &'a Process {
        self.process
    }

    /// Its objects.
    pub fn objects(&self) -> &Reader<'a, S> {
        &self.objects
    }

    /// Its image.
    pub fn image(&self) -> &'a Image<S> {
        self.objects.image()
    }

    /// Returns the communicator with this handle.
    pub fn comm(&self, handle: u64) -> Option<Rc<CommFacts>> {
        let mut known = self.comms.borrow_mut();
        known.entry(handle).or_insert_with(|| self.objects.comm(handle).map(Rc::new)).clone()
    }

    /// Returns the names of communicators by their identity.
    pub fn identities(&self) -> HashMap<u64, String> {
        let Ok(comms) = self.objects.all_references(Kind::Communicator) else { return HashMap::new() };
        let shared = comms.into_iter().filter(|comm| comm.identity.0 != 0);
        shared.map(|comm| (comm.identity.0, comm.label())).collect()
    }

    /// Returns a reference to an object that a call names.
    pub fn reference(&self, kind: ObjectKind, handle: u64) -> Option<Reference> {
        let kind = Kind::ALL.iter().copied().find(|known| known.object_kind() == Some(kind))?;
        Some(self.objects.refer_to(kind, handle))
    }

    /// Returns the object's name as shown to users.
    pub fn object(&self, kind: ObjectKind, handle: u64) -> String {
        let unknown = || format!("{} {handle:#x}", kind.c_type().trim_start_matches("MPI_"));
        self.reference(kind, handle).map_or_else(unknown, |reference| reference.label())
    }

    /// Returns a datatype's name as text that many ranks share: a derived datatype is described by its constructor, since its
    /// handle differs between ranks.
    pub fn datatype(&self, handle: u64) -> String {
        match self.reference(ObjectKind::DATATYPE, handle) {
            Some(derived) if derived.name.is_none() => derived.derived(),
            _ => self.object(ObjectKind::DATATYPE, handle),
        }
    }

    /// Returns the name of a constant in place of a rank, such as `MPI_ANY_SOURCE`.
    pub fn peer(&self, value: i64) -> Option<String> {
        constant_of(self.process.abi, &["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"], value)
    }

    /// Formats a tag.
    pub fn tag(&self, value: i64) -> String {
        constant_of(self.process.abi, &["MPI_ANY_TAG"], value).unwrap_or_else(|| value.to_string())
    }

    /// Returns where in the program a call was made: a source line, or function (otherwise module) and
    /// offset.
    pub fn place(&self, return_address: u64) -> Option<String> {
        self.context.place(return_address)
    }
}

fn constant_of(abi: AbiKind, names: &[&str], value: i64) -> Option<String> {
    if value >= 0 {
        return None;
    }
    let name = names.iter().find(|name| constant::value_of(abi, name) == Some(value))?;
    Some((*name).to_owned())
}
