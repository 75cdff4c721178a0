//! Calls that threads are in, as the objects that they are about have them.

use super::kind::{Hex, Kind};
use super::reader::Reader;
use crate::model::fortran_frames::is_same;
use mpi_abi::Fields;
use mpiscope_image::Source;
use mpiscope_image::layout::{Call, SectionKind, Thread};
use serde::Serialize;

/// Threads that are looked at.
const MOST_THREADS: u64 = 1 << 16;

/// A call that a thread is in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenCall {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The MPI function.
    pub function: String,
    /// The address behind the call.
    pub address: Hex,
    /// Source line of the call, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When it began, in seconds after the begin of the image.
    pub seconds: f64,
}

/// A call with what its fields mean.
pub(super) struct Open {
    tid: u32,
    function: String,
    fields: Fields,
    call: Call,
}

/// All calls that threads are in.
pub(super) fn calls<S: Source>(reader: &Reader<'_, S>) -> Vec<Open> {
    let Ok(threads) = reader.image().table::<Thread>(SectionKind::THREADS) else { return Vec::new() };
    let open = (0..threads.len().min(MOST_THREADS)).filter_map(|index| {
        let call = reader.image().call(&threads, index).ok().filter(|call| !call.torn)?.value;
        let facts = reader.facts(call.open()? + 1)?;
        let (function, fields) = (facts.name.clone(), facts.fields);
        if let Some(caller) = reader.around.caller(&call)
            && reader.image().call(&threads, index).is_ok_and(|later| is_same(&call, &later.value))
        {
            call.return_address.set(caller);
        }
        let tid = reader.image().get::<Thread>(&threads, index).ok()?.value.tid.get();
        Some(Open { tid, function, fields, call })
    });
    open.collect()
}

/// The calls that are about an object, or use it.
pub(super) fn about<S: Source>(reader: &Reader<'_, S>, kind: Kind, handle: Hex) -> Vec<OpenCall> {
    let about = |open: &&Open| {
        let Open { fields, call, .. } = open;
        let [.., operation, _] = &call.extra;
        let object = fields.object.is_some() && fields.object == kind.object_kind();
        (object && call.object.get() == handle.0)
            || (kind == Kind::Datatype && fields.datatype && call.datatype.get() == handle.0)
            || (kind == Kind::Op && fields.op && operation.get() == handle.0)
    };
    let calls = reader.open_calls();
    let shown = calls.iter().filter(about).map(|open| {
        let from = open.call.return_address.get();
        OpenCall {
            tid: open.tid,
            function: open.function.clone(),
            address: reader.code(from),
            place: reader.around.place(from),
            seconds: reader.seconds(open.call.since.get()),
        }
    });
    shown.collect()
}
