//! All record types, with the facts that a reader needs to copy them.
#![allow(unsafe_code)]

use crate::call_path::CallPath;
use crate::cell::W64;
use crate::faults::Fault;
use crate::history::Entered;
use crate::layout::{
    Call, Counter, FunctionRecord, Header, Module, Note, Process, Section, Thread, ThreadHead,
};
use crate::objects::{
    Attribute, Comm, Datatype, Errhandler, File, Group, Head, Info, Keyval, Op, Session, Window,
};
use crate::one_sided::OneSided;
use crate::read::Record;
use crate::sites::Site;
use crate::trace::{Called, Ring};
use crate::traffic::{Entry, Message, Peer, Recent, Request, Traffic};
use crate::variables::Variable;
use std::mem::offset_of;

macro_rules! records {
    ($($sequenced:literal $($record:ty),*;)*) => {
        $($(
            // SAFETY: repr(C), words and bytes only; the sequence number comes first where stated.
            unsafe impl Record for $record { const SEQUENCED: bool = $sequenced; }
        )*)*
    };
}

records! {
    true Module, Note, Call, Head;
    true Group, Op, Errhandler, Info, Session, Keyval, Attribute;
    true Request, Message, Variable;
    false Header, Section, Counter, ThreadHead, W64;
    false Peer, Recent, Fault;
    false Ring, Called, CallPath;
}

// SAFETY: as for all of the above.
unsafe impl Record for Thread {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(Thread, waited);
}

// SAFETY: as for all of the above.
unsafe impl Record for OneSided {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(OneSided, digest);
}

// SAFETY: as for all of the above.
unsafe impl Record for Site {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(Site, covered);
}

// SAFETY: as for all of the above.
unsafe impl Record for Process {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(Process, layer);
}

// SAFETY: as for all of the above.
unsafe impl Record for FunctionRecord {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(FunctionRecord, properties);
}

// SAFETY: as for all of the above.
unsafe impl Record for Comm {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(Comm, restarts);
}

// SAFETY: as for all of the above.
unsafe impl Record for Datatype {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(Datatype, signature);
}

// SAFETY: as for all of the above.
unsafe impl Record for Entry {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(Entry, from);
}

// SAFETY: as for all of the above.
unsafe impl Record for Traffic {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(Traffic, ledger_collective_first);
}

// SAFETY: as for all of the above.
unsafe impl Record for Entered {
    const SEQUENCED: bool = false;
    const LEAST: usize = offset_of!(Entered, entered);
}

// SAFETY: as for all of the above.
unsafe impl Record for File {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(File, reads);
}

// SAFETY: as for all of the above.
unsafe impl Record for Window {
    const SEQUENCED: bool = true;
    const LEAST: usize = offset_of!(Window, collectives);
}
