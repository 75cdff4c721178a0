//! The functions that make windows, and those that attach memory to dynamic ones.
#![allow(unsafe_code)]

use super::recorded;
use crate::interpose::frame::Call;
use crate::record::counts::Count;
use crate::record::objects::tables::{self, WINDOWS};
use crate::record::objects::{Site, arena, ask, comms, facts, infos, new_handle, succeeded};
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Flavour, Model};
use std::ffi::{c_int, c_void};

/// The memory of a new window.
struct Memory {
    flavour: Flavour,
    base: u64,
    size: i64,
    unit: i64,
}

fn made<A: Abi>(
    call: &Call<A>,
    result: c_int,
    memory: &Memory,
    info: A::Handle,
    comm: A::Handle,
    win: *const A::Handle,
) {
    let parent = tables::comm::<A>(comm);
    let identity = comms::next_name_on::<A>(parent, SectionKind::WINDOWS, result);
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::WIN, win) else { return };
    let model = model::<A>(A::Handle::from_raw(raw));
    let record = WINDOWS.insert(writer, raw, Site::of(call), |record| {
        record.head.parent.set(parent.map_or(0, |c| c.head.uid.get()));
        record.head.identity.set(identity);
        record.comm.set(comm.raw());
        record.base.set(memory.base);
        record.size.set(memory.size as u64);
        record.unit.set(memory.unit as u64);
        record.flavour.set(memory.flavour.0);
        record.model.set(model.0);
        infos::given(writer, info.raw(), (&record.info, &record.info_uid), &record.hints);
    });
    if let Some(record) = record {
        facts::created(SectionKind::WINDOWS, &record.head);
    }
}

fn model<A: Abi>(win: A::Handle) -> Model {
    let (mut value, mut flag) = (0, 0);
    if ask::win_get_attr::<A>(win, A::WIN_MODEL, &mut value, &mut flag) != Some(A::SUCCESS) || flag == 0 {
        return Model::UNKNOWN;
    }
    // SAFETY: the value of this attribute is the address of an int.
    match unsafe { (value as usize as *const c_int).as_ref() } {
        Some(model) if *model == A::WIN_UNIFIED => Model::UNIFIED,
        Some(model) if *model == A::WIN_SEPARATE => Model::SEPARATE,
        _ => Model::UNKNOWN,
    }
}

/// `MPI_Win_create`.
pub fn create<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (base, size, unit): (*const c_void, i64, impl Count),
    info: A::Handle,
    comm: A::Handle,
    win: *mut A::Handle,
) {
    let base = base.addr() as u64;
    let memory = Memory { flavour: Flavour::CREATE, base, size, unit: unit.count() };
    made(call, result, &memory, info, comm, win);
}

/// Memory whose address the library stored in `place`.
fn allocated<A: Abi>(
    result: c_int,
    flavour: Flavour,
    (place, size, unit): (*const c_void, i64, impl Count),
) -> Memory {
    let address = if result == A::SUCCESS {
        // SAFETY: the call succeeded, so the program passed a place for an address; null is checked.
        unsafe { place.cast::<usize>().as_ref() }.copied()
    } else {
        None
    };
    Memory { flavour, base: address.map_or(0, |base| base as u64), size, unit: unit.count() }
}

/// `MPI_Win_allocate`.
pub fn allocate<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (base, size, unit): (*mut c_void, i64, impl Count),
    info: A::Handle,
    comm: A::Handle,
    win: *mut A::Handle,
) {
    made(call, result, &allocated::<A>(result, Flavour::ALLOCATE, (base, size, unit)), info, comm, win);
}

/// `MPI_Win_allocate_shared`.
pub fn allocate_shared<A: Abi>(
    call: &Call<A>,
    result: c_int,
    (base, size, unit): (*mut c_void, i64, impl Count),
    info: A::Handle,
    comm: A::Handle,
    win: *mut A::Handle,
) {
    made(call, result, &allocated::<A>(result, Flavour::SHARED, (base, size, unit)), info, comm, win);
}

/// `MPI_Win_create_dynamic`.
pub fn create_dynamic<A: Abi>(
    call: &Call<A>,
    result: c_int,
    info: A::Handle,
    comm: A::Handle,
    win: *mut A::Handle,
) {
    let memory = Memory { flavour: Flavour::DYNAMIC, base: 0, size: 0, unit: 1 };
    made(call, result, &memory, info, comm, win);
}

/// `MPI_Win_attach`.
pub fn attach<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, base: *const c_void, size: i64) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return };
    WINDOWS.locked(|| {
        record.head.seq.write(|| {
            arena::push(writer, &record.attached, base.addr() as u64);
            arena::push(writer, &record.attached, size as u64);
        });
    });
    recorded::attached(call, record, base.addr() as u64, Some(size));
    facts::attached(SectionKind::WINDOWS, &record.head);
}

/// `MPI_Win_detach`.
pub fn detach<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, base: *const c_void) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(record) = tables::window::<A>(win) else { return };
    WINDOWS.locked(|| {
        let pairs = arena::get(writer, &record.attached);
        let base = base.addr() as u64;
        let Some(place) = pairs.chunks(2).position(|p| p.first().is_some_and(|b| b.get() == base)) else {
            return;
        };
        record.head.seq.write(|| {
            // The last pair takes its place, size first.
            arena::swap_remove(writer, &record.attached, 2 * place + 1);
            arena::swap_remove(writer, &record.attached, 2 * place);
        });
    });
    recorded::attached(call, record, base.addr() as u64, None);
    facts::attached(SectionKind::WINDOWS, &record.head);
}
