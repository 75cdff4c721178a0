//! One-sided operations whose two ends differ in their elements: one call describes both.

use crate::base::settings;
use crate::interpose::frame::Call;
use crate::record::bytes;
use crate::record::counts::Count;
use crate::record::objects::datatypes::signed;
use crate::record::objects::{succeeded, tables};
use crate::record::traffic::faults;
use mpi_abi::{Abi, Handle};
use mpiscope_image::layout::Recording;
use mpiscope_image::signature::Signature;
use std::ffi::c_int;

/// Count and datatype of one end.
type End = (i64, u64);

/// Compares the two ends of an operation, if messages are recorded.
#[inline(always)]
pub fn both_ends<A: Abi>(
    call: &Call<A>,
    result: c_int,
    origin: (impl Count, A::Handle),
    target: (impl Count, A::Handle),
    rank: c_int,
    win: A::Handle,
) {
    let ends = [(origin.0.count(), origin.1.raw()), (target.0.count(), target.1.raw())];
    if ends[0] != ends[1] && rank >= 0 && settings::records(Recording::MESSAGES) {
        compare(call, result, ends, rank, win);
    }
}

#[inline(never)]
fn compare<A: Abi>(call: &Call<A>, result: c_int, ends: [End; 2], rank: c_int, win: A::Handle) {
    let (Some(_), Some(window)) = (succeeded::<A>(result), tables::window::<A>(win)) else { return };
    let [Some(origin), Some(target)] = ends.map(size::<A>) else { return };
    let differ = match ends.map(elements::<A>) {
        [Some(given), Some(taken)] => given != taken,
        _ => origin != target,
    };
    if differ {
        faults::ends_differ(call, window.head.identity.get(), rank, (origin, target));
    }
}

/// The size of an end in bytes; `None` if it is unknown.
fn size<A: Abi>((count, datatype): End) -> Option<u64> {
    let bytes = bytes::noted_elements::<A>(count.cast_unsigned(), datatype);
    (bytes != 0 || count == 0).then_some(bytes)
}

fn elements<A: Abi>((count, datatype): End) -> Option<Signature> {
    signed::<A>(datatype)?.signature()?.repeated(u64::try_from(count).ok()?)
}
