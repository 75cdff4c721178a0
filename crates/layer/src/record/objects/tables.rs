//! The tables, one for each kind of object, and the look-up of handles in them: no lock, no allocation, about
//! 2 ns.

use super::table::Table;
use mpi_abi::{Abi, Handle};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{
    Attribute, Comm, Datatype, Errhandler, File, Group, Info, Keyval, Op, Session, Window,
};

/// All communicators.
pub static COMMS: Table<Comm> = Table::new(SectionKind::COMMS, 64);
/// All groups.
pub static GROUPS: Table<Group> = Table::new(SectionKind::GROUPS, 64);
/// All datatypes.
pub static DATATYPES: Table<Datatype> = Table::new(SectionKind::DATATYPES, 256);
/// All keyvals.
pub static KEYVALS: Table<Keyval> = Table::new(SectionKind::KEYVALS, 16);
/// All attributes.
pub static ATTRIBUTES: Table<Attribute> = Table::new(SectionKind::ATTRIBUTES, 16);
/// All operations.
pub static OPS: Table<Op> = Table::new(SectionKind::OPS, 32);
/// All error handlers.
pub static ERRHANDLERS: Table<Errhandler> = Table::new(SectionKind::ERRHANDLERS, 16);
/// All infos.
pub static INFOS: Table<Info> = Table::new(SectionKind::INFOS, 32);
/// All files.
pub static FILES: Table<File> = Table::new(SectionKind::FILES, 16);
/// All windows.
pub static WINDOWS: Table<Window> = Table::new(SectionKind::WINDOWS, 16);
/// All sessions.
pub static SESSIONS: Table<Session> = Table::new(SectionKind::SESSIONS, 4);

/// Returns the record of a communicator: no lock, no allocation, about 2 ns.
#[inline(always)]
pub fn comm<A: Abi>(comm: A::Handle) -> Option<&'static Comm> {
    COMMS.find(comm.raw())
}

/// Returns the record of a file.
#[inline(always)]
pub fn file(file: usize) -> Option<&'static File> {
    FILES.find(file as u64)
}

/// Returns the record of a session.
#[inline(always)]
pub fn session<A: Abi>(session: A::Handle) -> Option<&'static Session> {
    SESSIONS.find(session.raw())
}

/// Returns the record of a window.
#[inline(always)]
pub fn window<A: Abi>(win: A::Handle) -> Option<&'static Window> {
    WINDOWS.find(win.raw())
}

/// Returns the record of a group.
#[inline(always)]
pub fn group<A: Abi>(group: A::Handle) -> Option<&'static Group> {
    GROUPS.find(group.raw())
}

/// Returns the record of a datatype: no lock, no allocation.
#[inline(always)]
pub fn datatype<A: Abi>(datatype: A::Handle) -> Option<&'static Datatype> {
    DATATYPES.find(datatype.raw())
}
