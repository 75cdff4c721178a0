//! One-sided operations and the calls that synchronize them, one by one, while messages are recorded: see
//! `mpiscope_image::one_sided`.

use super::moment;
use crate::base::settings;
use crate::interpose::frame::Call;
use crate::record::objects::datatypes::signed;
use crate::record::objects::tables::{self, WINDOWS};
use crate::record::objects::{arena, ask, succeeded};
use crate::record::traffic::contents;
use crate::record::traffic::one_sided::note;
use mpi_abi::{Abi, FunctionId, Handle, f};
use mpiscope_image::derive::epochs::Use;
use mpiscope_image::layout::{Recording, Words};
use mpiscope_image::mixture::Mixture;
use mpiscope_image::objects::{Datatype, Epoch, LOCK_EXCLUSIVE, Window};
use mpiscope_image::one_sided::{MANY, OneSidedFlag, OneSidedKind, WHOLE_WORLD};
use mpiscope_image::{W64, Writer};
use std::ffi::c_int;

/// Groups of `MPI_Win_start` and `MPI_Win_post` with more members are not recorded.
const MOST_MEMBERS: usize = 64;

/// What an operation accesses at its target.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// As passed by the program.
    pub disp: i64,
    pub count: i64,
    pub datatype: u64,
    /// Address of the origin's buffer; zero if it does not matter.
    pub buffer: u64,
    /// Size of that buffer; zero if it is not known or has gaps.
    pub given: u64,
    /// Address of a buffer without gaps into which values are fetched beside that; zero if there is none.
    pub result: u64,
    /// Whether it writes bytes twice.
    pub repeats: bool,
}

/// Bytes relative to the displacement.
struct Extent {
    low: i64,
    high: i64,
    /// Number of bytes accessed.
    bytes: u64,
}

/// Whether operations are recorded one by one.
#[inline(always)]
pub(super) fn recorded() -> bool {
    settings::records(Recording::MESSAGES)
}

/// Records an operation that succeeded. Must not run under the lock of the window table.
pub(super) fn operation<A: Abi>(call: &Call<A>, place: Place, rank: c_int, window: &'static Window) {
    let Some(writer) = succeeded::<A>(A::SUCCESS) else { return };
    let known = signed::<A>(place.datatype);
    let Some(extent) = extent::<A>(place, known).filter(|extent| extent.bytes != 0) else { return };
    let Some((kind, with_request)) = kind_of(call.function()) else { return };
    let (epochs, exclusive) = WINDOWS.locked(|| open_for(writer, window, rank));
    let takes_operation = [OneSidedKind::ACCUMULATE, OneSidedKind::FETCH].contains(&kind);
    let op = if takes_operation { call.operation() } else { 0 };
    let flag = |set: bool, flag: OneSidedFlag| if set { flag.0 } else { 0 };
    let flags = flag(exclusive, OneSidedFlag::EXCLUSIVE)
        | flag(with_request, OneSidedFlag::REQUEST)
        | flag(place.repeats, OneSidedFlag::OVERLAPPING)
        | flag(place.given != 0 && place.given == extent.bytes, OneSidedFlag::GAPLESS);
    note(call, names(window), (kind, rank.cast_unsigned()), |record| {
        record.flags.set(flags);
        record.epochs.set(epochs);
        record.element.set(known.map_or(0, element));
        record.disp.set(place.disp.cast_unsigned());
        record.low.set(extent.low.cast_unsigned());
        record.high.set(extent.high.cast_unsigned());
        record.bytes.set(extent.bytes);
        record.op.set(op);
        record.datatype.set(place.datatype);
        record.count.set(place.count.cast_unsigned());
        record.buffer.set(place.buffer);
        record.result.set(place.result);
        if kind.gives() {
            contents::given(record, place.given);
        }
    });
}

fn names(window: &Window) -> (u64, u64) {
    (window.head.identity.get(), window.collectives.get())
}

/// The kind of elements of a datatype; zero if there are several or it is unknown.
fn element(datatype: &Datatype) -> u32 {
    let [sum, kind] = &datatype.mixture;
    let mixture = Mixture::from_stored([sum.get(), kind.get()]);
    if datatype.signature().is_none() || mixture.is_of_several_kinds() { 0 } else { u32::from(kind.get()) }
}

/// The kind of an operation, and whether it has a request.
fn kind_of(function: FunctionId) -> Option<(OneSidedKind, bool)> {
    Some(match function {
        f::MPI_Put | f::MPI_Put_c => (OneSidedKind::PUT, false),
        f::MPI_Rput | f::MPI_Rput_c => (OneSidedKind::PUT, true),
        f::MPI_Get | f::MPI_Get_c => (OneSidedKind::GET, false),
        f::MPI_Rget | f::MPI_Rget_c => (OneSidedKind::GET, true),
        f::MPI_Accumulate | f::MPI_Accumulate_c => (OneSidedKind::ACCUMULATE, false),
        f::MPI_Raccumulate | f::MPI_Raccumulate_c => (OneSidedKind::ACCUMULATE, true),
        f::MPI_Get_accumulate | f::MPI_Get_accumulate_c | f::MPI_Fetch_and_op => (OneSidedKind::FETCH, false),
        f::MPI_Rget_accumulate | f::MPI_Rget_accumulate_c => (OneSidedKind::FETCH, true),
        f::MPI_Compare_and_swap => (OneSidedKind::SWAP, false),
        _ => return None,
    })
}

/// The open epochs as far as they concern a target, and whether its lock is exclusive. Runs under the lock of
/// the window table.
fn open_for(writer: &'static Writer, window: &Window, rank: c_int) -> (u32, bool) {
    let lock = moment::lock_on(writer, window, rank);
    let epochs = window.epochs.get();
    let own = if lock.is_some() { epochs } else { epochs & !Epoch::LOCK.0 };
    (own, lock.is_some_and(|lock| lock & LOCK_EXCLUSIVE != 0))
}

/// Returns the bytes that `count` elements occupy; `None` if they are not known.
fn extent<A: Abi>(place: Place, known: Option<&Datatype>) -> Option<Extent> {
    let more = place.count.checked_sub(1).filter(|more| *more >= 0)?;
    let datatype = A::Handle::from_raw(place.datatype);
    let size = crate::record::bytes::noted_elements::<A>(1, place.datatype);
    let bytes = size.checked_mul(place.count.cast_unsigned())?;
    if known.is_some_and(Datatype::is_one_element) {
        return Some(Extent { low: 0, high: i64::try_from(bytes).ok()?, bytes });
    }
    let ([mut start, mut own], [mut lb, mut stride]) = ([0; 2], [0; 2]);
    let answers = [
        ask::type_true_extent::<A>(datatype, &mut start, &mut own),
        ask::type_extent::<A>(datatype, &mut lb, &mut stride),
    ];
    if answers != [Some(A::SUCCESS); 2] {
        return None;
    }
    let last = more.checked_mul(stride)?;
    let low = start.checked_add(last.min(0))?;
    let high = start.checked_add(own)?.checked_add(last.max(0))?;
    Some(Extent { low, high, bytes })
}

/// Records a synchronizing call. Must not run under the lock of the window table.
#[inline(always)]
pub(super) fn synchronised<A: Abi>(call: &Call<A>, window: &'static Window, used: Use, target: c_int) {
    if recorded() {
        synchronisation(call, window, used, target);
    }
}

#[inline(never)]
fn synchronisation<A: Abi>(call: &Call<A>, window: &'static Window, used: Use, target: c_int) {
    let kind = match used {
        Use::Fence | Use::FirstFence => OneSidedKind::FENCE,
        Use::Start => {
            let group = (&window.start_group, &window.start_members);
            return members(call, window, OneSidedKind::START, group);
        }
        Use::Complete => OneSidedKind::COMPLETE,
        Use::Post => {
            return members(call, window, OneSidedKind::POST, (&window.post_group, &window.post_members));
        }
        Use::Wait => OneSidedKind::WAIT,
        Use::Lock => return locked(call, window, target),
        Use::Unlock => OneSidedKind::UNLOCK,
        Use::LockAll => OneSidedKind::LOCK_ALL,
        Use::UnlockAll => OneSidedKind::UNLOCK_ALL,
        Use::Flush => OneSidedKind::FLUSH,
        Use::FlushAll => OneSidedKind::FLUSH_ALL,
        Use::Access | Use::RequestedAccess | Use::Free => return,
    };
    note(call, names(window), (kind, target.cast_unsigned()), |_| {});
}

fn locked<A: Abi>(call: &Call<A>, window: &'static Window, target: c_int) {
    let Some(writer) = succeeded::<A>(A::SUCCESS) else { return };
    let (_, exclusive) = WINDOWS.locked(|| open_for(writer, window, target));
    note(call, names(window), (OneSidedKind::LOCK, target.cast_unsigned()), |record| {
        record.flags.set(if exclusive { OneSidedFlag::EXCLUSIVE.0 } else { 0 });
    });
}

/// Records the members of the group of a start or post.
fn members<A: Abi>(
    call: &Call<A>,
    window: &'static Window,
    kind: OneSidedKind,
    (group, members): (&'static W64, &'static Words),
) {
    let Some(writer) = succeeded::<A>(A::SUCCESS) else { return };
    let ranks: &[W64] = arena::get(writer, members);
    let one = |target: u32, further: bool| {
        note(call, names(window), (kind, target), |record| {
            record.flags.set(if further { OneSidedFlag::FURTHER.0 } else { 0 });
            record.disp.set(group.get());
        });
    };
    if ranks.is_empty() || ranks.len() > MOST_MEMBERS {
        return one(if ranks.is_empty() { WHOLE_WORLD } else { MANY }, false);
    }
    for (place, rank) in ranks.iter().enumerate() {
        one(rank.get() as u32, place != 0);
    }
}

/// `MPI_Win_flush_local`: the operations that fetch have been performed.
#[inline(always)]
pub fn flush_local<A: Abi>(call: &Call<A>, result: c_int, rank: c_int, win: A::Handle) {
    locally(call, result, win, OneSidedKind::FLUSH_LOCAL, rank);
}

/// `MPI_Win_flush_local_all`.
#[inline(always)]
pub fn flush_local_all<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle) {
    locally(call, result, win, OneSidedKind::FLUSH_LOCAL_ALL, -1);
}

#[inline(always)]
fn locally<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, kind: OneSidedKind, rank: c_int) {
    if recorded() {
        completed_locally(call, result, win, kind, rank);
    }
}

#[inline(never)]
fn completed_locally<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, kind: OneSidedKind, rank: c_int) {
    if let (Some(_), Some(window)) = (succeeded::<A>(result), tables::window::<A>(win)) {
        note(call, names(window), (kind, rank.cast_unsigned()), |_| {});
    }
}

/// Records memory that was attached or, without a size, detached.
pub(super) fn attached<A: Abi>(call: &Call<A>, window: &'static Window, base: u64, size: Option<i64>) {
    if recorded() {
        let kind = if size.is_some() { OneSidedKind::ATTACH } else { OneSidedKind::DETACH };
        note(call, names(window), (kind, 0), |record| {
            record.disp.set(base);
            record.high.set(size.unwrap_or(0).cast_unsigned());
        });
    }
}
