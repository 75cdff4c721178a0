//! The objects of a process as typed values, read from its image.
//!
//! ```text
//! Image + Surroundings ──► Reader ──► get(handle), by_uid, all  ──► Communicator, Datatype, Request, …
//!                                └──► Listing (JSON, "mpiscope.objects/1")
//! ```
//!
//! A [`Reader`] is one look: it indexes a kind when that is first needed and verifies what it shows. A handle leads to the
//! living object, else to the one freed last (a tombstone), else to the predefined object that was never touched; else
//! [`Missing`] says why not. What is large is worked out here from the constructor's arguments: type maps, bounds,
//! members, coordinates. Cross references go both ways.
//!
//! Nothing that is read is trusted: arrays, texts, depths and numbers of steps are bounded.

pub mod attributes;
pub mod common;
pub mod communicator;
pub mod datatype;
pub mod file;
pub mod fortran;
pub mod kind;
mod listing;
mod ongoing;
pub mod pending;
pub mod predefined;
pub mod reader;
pub mod request;
mod scan;
pub mod small;
pub mod surroundings;
mod tree;
pub mod typemap;
pub mod window;

pub use attributes::{Attribute, Keyval};
pub use common::{Common, Deed, Reference, Standing};
pub use communicator::{Communicator, Topology};
pub use datatype::Datatype;
pub use file::{Access, File};
pub use kind::{Hex, Kind};
pub use listing::{Listing, Object, SCHEMA};
pub use ongoing::Ongoing;
pub use pending::{Pending, Queue};
pub use reader::{Build, Missing, Reader, World};
pub use request::{Message, Request};
pub use small::{Errhandler, Group, Info, Op, Session};
pub use surroundings::{ImageOnly, OfFiles, OfTarget, Surroundings};
pub use typemap::TypeMap;
pub use window::Window;
