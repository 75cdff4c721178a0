//! The objects of a process as typed values, read from its image.
//!
//! ```text
//! Image + ProcessContext ──► Reader ──► get(handle), by_uid, all  ──► Communicator, Datatype, Request, …
//! ```
//!
//! A [`Reader`] serves one inspection: it indexes a kind on demand and verifies what it returns. A handle
//! yields the live object, otherwise the one freed last (a tombstone), otherwise a predefined object that was
//! never touched; failing that, [`Missing`] explains why. Large properties are computed here from the
//! constructor's arguments: type maps, bounds, members, coordinates. Cross references go both ways.
//!
//! Input is never trusted: arrays, texts, depths and numbers of steps are bounded.

pub mod attributes;
mod build;
pub mod by_handle;
mod comm_facts;
pub mod common;
pub mod communicator;
pub mod datatype;
mod datatype_tree;
mod ended;
mod error_handler;
pub mod file;
pub mod fortran;
mod group;
mod in_use;
mod info;
pub mod kind;
mod links;
pub mod memory;
mod object;
mod open_calls;
mod operation;
pub mod pending;
pub mod predefined;
pub mod process_context;
pub mod reader;
mod reference;
mod references;
pub mod request;
mod scan;
mod session;
mod shared_names;
pub mod typemap;
mod users;
pub mod window;

pub use attributes::{Attribute, Keyval};
pub use build::{Build, Missing};
pub use comm_facts::CommFacts;
pub use common::{CallSite, Common, Lifetime};
pub(crate) use communicator::topology_of;
pub use communicator::{Communicator, Topology};
pub use datatype::Datatype;
pub use error_handler::Errhandler;
pub use file::{Access, File};
pub use group::Group;
pub use info::Info;
pub use kind::{Hex, Kind};
pub use object::{Object, Outline};
pub use open_calls::OpenCall;
pub use operation::Op;
pub use pending::{Pending, Queue};
pub use process_context::{FileContext, ImageOnly, ProcessContext, TargetContext};
pub use reader::{Reader, World};
pub use reference::{Reference, quoted, unquoted};
pub use request::{Message, Request};
pub use session::Session;
pub use shared_names::SharedNames;
pub use typemap::TypeMap;
pub use window::Window;
