//! Calls that threads are in, as the objects that they are about have them.

use super::kind::{Hex, Kind};
use super::process_context::ProcessContext;
use crate::model::fortran_frames::is_same;
use mpi_abi::Fields;
use mpiscope_image::layout::{Call, SectionKind, Thread};
use mpiscope_image::{Error, Functions, Image, Source};
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
    pub tid: u32,
    pub function: String,
    pub call: Call,
    fields: Fields,
}

impl Open {
    /// Whether the call is about an object, or uses it.
    pub fn is_about(&self, kind: Kind, handle: u64) -> bool {
        let Self { fields, call, .. } = self;
        let [.., operation, _] = &call.extra;
        let object = fields.object.is_some() && fields.object == kind.object_kind();
        (object && call.object.get() == handle)
            || (kind == Kind::Datatype && fields.datatype && call.datatype.get() == handle)
            || (kind == Kind::Op && fields.op && operation.get() == handle)
    }
}

/// All calls that threads are in.
pub(super) fn calls<S: Source>(
    image: &Image<S>,
    functions: &Functions,
    around: &dyn ProcessContext,
) -> Result<Vec<Open>, Error> {
    let threads = image.table::<Thread>(SectionKind::THREADS)?;
    let open = (0..threads.len().min(MOST_THREADS)).filter_map(|index| {
        let call = image.call(&threads, index).ok().filter(|call| !call.torn)?.value;
        let function = functions.get(call.open()?)?;
        if let Some(caller) = around.caller(&call)
            && image.call(&threads, index).is_ok_and(|later| is_same(&call, &later.value))
        {
            call.return_address.set(caller);
        }
        let tid = image.get::<Thread>(&threads, index).ok()?.value.tid.get();
        Some(Open { tid, function: function.name.clone(), fields: function.fields, call })
    });
    Ok(open.collect())
}
