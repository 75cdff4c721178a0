//! The last collectives of each communicator: see `mpiscope_image::history`.
//!
//! A communicator gets its ring with the first collective on it that does not free it, so that one that is
//! only made and freed has none. When the communicator's record is reused, the ring is kept for another one.
//! Windows and files get theirs with the first collective call on them. See [`rings`].

use super::channel::Channel;
use super::polling;
use super::rings;
use super::state::State;
use crate::interpose::frame::Call;
use crate::record::fortran_call_site;
use crate::record::objects::datatypes;
use crate::record::objects::tables::COMMS;
use mpi_abi::{Abi, FunctionId, Handle, Moves, f};
use mpiscope_image::history::{Entered, RING, SIZE_UNKNOWN};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::mixture::Mixture;
use mpiscope_image::objects::{Comm, Datatype, Flag};
use mpiscope_image::signature::Signature;
use mpiscope_image::traffic::Request;
use mpiscope_image::{W64, Writer};

/// Stands for the ring of a communicator that gets none. No image is this large.
const NONE: u64 = 1 << 62;

/// Returns the datatype of a collective, with its signature. May query the library, so the state must not be
/// held.
#[inline(always)]
pub fn datatype<A: Abi>(call: &Call<A>) -> Option<&'static Datatype> {
    let has_data = call.function().properties().moves == Moves::COLLECTIVE;
    if has_data { datatypes::signed::<A>(call.thread().call.datatype.get()) } else { None }
}

/// Records a collective that is entered, from the call's record. The communicator must have just been looked
/// up.
#[inline(always)]
pub fn write<A: Abi>(
    held: &State,
    call: &Call<A>,
    channel: &Channel,
    comm: A::Handle,
    number: u64,
    signed: Option<&'static Datatype>,
) {
    let ring = match held.lines.history(comm.raw()) {
        0 => make(held, channel.comm, comm.raw(), call.function()),
        known => known,
    };
    let Some(entry) = entry(held, ring, number) else { return };
    fill(entry, call, number, signed);
}

/// Records a collective call on a window or file, whose ring is `history`, and its argument that must be the same
/// on all members, if it has one. Returns its entry, for [`object_left`].
pub fn write_on_object<A: Abi>(
    writer: &'static Writer,
    call: &Call<A>,
    history: &W64,
    number: u64,
    argument: Option<i64>,
) -> Option<&'static Entered> {
    rings::provide(writer, history);
    let at = history.get().checked_sub(1)?.checked_add(number % RING as u64)?;
    let entry = writer.record::<Entered>(SectionKind::COLLECTIVES, at)?;
    fill(entry, call, number, None);
    entry.set_argument(argument);
    Some(entry)
}

/// A collective call on a window or file returns. Its entry may have been reused for another call.
pub fn object_left<A: Abi>(call: &Call<A>, entry: &Entered) {
    if entry.number.get() == call.sequence() && entry.entered.get() == call.since {
        entry.left.set(call.returned());
    }
}

#[inline(always)]
fn fill<A: Abi>(entry: &Entered, call: &Call<A>, number: u64, signed: Option<&'static Datatype>) {
    let (noted, from) = (&call.thread().call, fortran_call_site::here(call));
    entry.write(number, |entry| {
        entry.from.set(from);
        entry.count.set(noted.count.get());
        entry.datatype.set(noted.datatype.get());
        entry.op.set(call.operation());
        entry.root.set(noted.peer.get() as u32);
        entry.function.set(call.function().0.wrapping_add(1));
        let signature = signed.map_or(Signature::ANY, |record| record.signature.get());
        let elements = signed.and_then(|record| u32::try_from(record.elements.get()).ok());
        let size = signed.and_then(|record| u32::try_from(record.size.get()).ok());
        entry.signature.set(if elements.is_some() { signature } else { Signature::ANY });
        entry.elements.set(elements.unwrap_or(0));
        entry.size.set(size.unwrap_or(SIZE_UNKNOWN));
        entry.entered.set(call.since);
        entry.left.set(0);
        entry.gives.set(0);
        entry.expects.set(0);
        entry.difference.set(0);
        entry.waited.set(0);
        entry.completed.set(0);
    });
}

/// The share of a member: what it contributes to all members, or expects from all of them.
#[derive(Clone, Copy)]
pub struct Share {
    /// Size in bytes.
    pub bytes: u64,
    /// Its elements, if known.
    pub elements: Option<Mixture>,
}

/// Records what this process contributes to all members of its current collective, and expects from all of
/// them.
#[inline(always)]
pub fn totals<A: Abi>(held: &State, call: &Call<A>, gives: Share, expects: Share) {
    let (comm, number) = (call.thread().call.object.get(), call.sequence());
    let entry = held.lines.known_history(comm).and_then(|ring| entry(held, ring, number));
    if let Some(entry) = entry.filter(|entry| entry.number.get() == number) {
        entry.gives.set(gives.bytes.wrapping_add(1));
        entry.expects.set(expects.bytes.wrapping_add(1));
        entry.set_element_kinds(gives.elements.zip(expects.elements));
    }
}

/// The call of a collective returns.
#[inline(always)]
pub fn left<A: Abi>(held: &State, call: &Call<A>) {
    let (comm, number) = (call.thread().call.object.get(), call.sequence());
    let entry = held.lines.known_history(comm).and_then(|ring| entry(held, ring, number));
    if let Some(entry) = entry.filter(|entry| entry.number.get() == number) {
        entry.left.set(call.returned());
    }
}

/// A call has shown the program that the operation of a request was complete at this time. A persistent one
/// is left out: all its starts have one number, so its times would be those of the last start.
pub fn completed<A: Abi>(held: &State, call: &Call<A>, request: &Request, at: u64) {
    if request.is(Flag::PERSISTENT) || call.since == 0 {
        return;
    }
    let of_request = |comm: &&'static Comm| comm.head.uid.get() == request.comm();
    let Some(comm) = COMMS.find(request.object.get()).filter(of_request) else { return };
    let number = request.order.get();
    let Some(entry) = entry(held, place(held, comm), number).filter(|entry| entry.number.get() == number)
    else {
        return;
    };
    entry.waited_from.set(fortran_call_site::here(call));
    entry.waited_in.set(call.function().0.wrapping_add(1));
    entry.waited.set(polling::waited_since(call));
    entry.completed.set(at);
}

/// A persistent collective was started.
pub fn restarted(held: &State, comm: Option<&'static Comm>, number: u64) {
    let Some(entry) = comm.and_then(|comm| entry(held, place(held, comm), number)) else { return };
    if entry.number.get() == number {
        entry.starts.add_mine(1);
    }
}

#[inline(always)]
fn entry(held: &State, ring: u64, number: u64) -> Option<&'static Entered> {
    if ring == 0 || number == 0 {
        return None;
    }
    // `None` beyond the end of the image.
    held.writer.nth_after(ring, (number % RING as u64) as u32)
}

/// Returns the offset in the image of a communicator's ring; zero if it has none.
pub fn place(held: &State, comm: &Comm) -> u64 {
    let index = comm.history.get().checked_sub(1);
    let first = index.and_then(|index| held.writer.record::<Entered>(SectionKind::COLLECTIVES, index));
    first.map_or(0, |first| held.writer.offset_of(first))
}

/// Returns the ring of a communicator that may not have one yet.
#[cold]
fn make(held: &State, comm: Option<&'static Comm>, raw: u64, function: FunctionId) -> u64 {
    let Some(comm) = comm.filter(|_| !frees(function)) else { return 0 };
    rings::provide(held.writer, &comm.history);
    let place = if comm.history.get() == 0 { NONE } else { place(held, comm) };
    held.lines.has_history(raw, place);
    place
}

fn frees(function: FunctionId) -> bool {
    function == f::MPI_Comm_free || function == f::MPI_Comm_disconnect
}
