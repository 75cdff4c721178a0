//! Calls that threads are currently in, as seen from the objects involved.

use super::kind::{Hex, Kind};
use super::process_context::ProcessContext;
use crate::model::fortran_frames::is_same;
use mpi_abi::Fields;
use mpiscope_image::layout::{Call, SectionKind, Thread};
use mpiscope_image::{Error, Functions, Image, Source};
use serde::Serialize;

/// Maximum number of threads inspected.
const MOST_THREADS: u64 = 1 << 16;

/// A call that a thread is currently in.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenCall {
    /// The kernel's id of the thread.
    pub tid: u32,
    /// The MPI function.
    pub function: String,
    /// Return address of the call.
    pub address: Hex,
    /// Source line of the call, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When it began, in seconds since the image was created.
    pub seconds: f64,
}

/// A call and which of its fields are meaningful.
pub(super) struct Open {
    pub tid: u32,
    pub function: String,
    pub call: Call,
    fields: Fields,
}

impl Open {
    /// Whether the call is on an object, or uses it.
    pub fn is_about(&self, kind: Kind, handle: u64) -> bool {
        let Self { fields, call, .. } = self;
        let [.., operation, _] = &call.extra;
        let object = fields.object.is_some() && fields.object == kind.object_kind();
        (object && call.object.get() == handle)
            || (kind == Kind::Datatype && fields.datatype && call.datatype.get() == handle)
            || (kind == Kind::Op && fields.op && operation.get() == handle)
    }
}

/// Returns all calls that threads are currently in.
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
