//! Info objects: keys and values in order.
//!
//! The pairs are one sequence of bytes, which is never altered: each change makes a new one. An object that
//! was given an info can therefore keep the pairs of that moment by sharing the sequence.
//!
//! Memory: a record, an index entry, and the pairs.

use super::table::Object;
use super::{Site, arena, ask, comms, facts, free, new_handle, output, succeeded};
use crate::base::c_string;
use crate::interpose::frame::Call;
use crate::record::objects::tables::{self, INFOS};
use mpi_abi::{Abi, Handle, ObjectKind};
use mpiscope_image::layout::{Loss, SectionKind, Text};
use mpiscope_image::objects::{Flag, Head, Info, pairs};
use mpiscope_image::{W64, Writer};
use std::ffi::{c_char, c_int};

/// Maximum size in bytes of the pairs of one info.
const MOST: usize = 1 << 16;
/// Maximum length of a value that is read.
const VALUE: usize = 8192;

impl Object for Info {
    fn head(&self) -> &Head {
        &self.head
    }

    fn scrap(&'static self, writer: &'static Writer, _: &mut dyn FnMut(&'static Self)) {
        arena::release_text(writer, &self.pairs);
        arena::release_text(writer, &self.name);
    }
}

/// Returns the uid of an info; zero if it is null or its creation was not seen.
pub fn uid(raw: u64) -> u64 {
    INFOS.find(raw).map_or(0, |info| info.head.uid.get())
}

/// An info was given to an object: stores its handle, uid and current pairs. The object's record must be open
/// for writing.
pub fn given(writer: &'static Writer, raw: u64, (handle, uid): (&W64, &W64), hints: &Text) {
    handle.set(raw);
    let info = INFOS.find(raw);
    uid.set(info.map_or(0, |info| info.head.uid.get()));
    arena::release_text(writer, hints);
    if let Some(info) = info {
        INFOS.locked(|| arena::share_text(writer, &info.pairs, hints));
    }
}

/// Enters a predefined info with its contents.
pub fn predefined<A: Abi>(writer: &'static Writer, raw: u64, name: &str) {
    if INFOS.find(raw).is_some() {
        return;
    }
    let found = if comms::world_is_there() { ask_pairs::<A>(raw) } else { Vec::new() };
    let record = enter(writer, raw, Site::NONE, 0, &found);
    if let Some(record) = record {
        record.head.seq.write(|| {
            record.head.flags.set(Flag::PREDEFINED.0);
            arena::put_text(writer, &record.name, name.as_bytes());
        });
    }
}

fn enter(writer: &'static Writer, raw: u64, site: Site, parent: u64, bytes: &[u8]) -> Option<&'static Info> {
    let record = INFOS.insert(writer, raw, site, |record| {
        record.head.parent.set(parent);
        arena::put_text(writer, &record.pairs, bytes);
        record.count.set(pairs(bytes).count() as u64);
    })?;
    facts::created(SectionKind::INFOS, &record.head);
    Some(record)
}

fn ask_pairs<A: Abi>(raw: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    each_pair::<A>(raw, |key, value| append(&mut bytes, key.as_bytes(), value.as_bytes()));
    bytes
}

/// Reads the pairs of an info from the library, in order, and calls `found` with the key and value of each.
pub fn each_pair<A: Abi>(raw: u64, mut found: impl FnMut(&str, &str)) {
    let info = A::Handle::from_raw(raw);
    let mut keys = 0;
    if ask::info_get_nkeys::<A>(info, &mut keys) != Some(A::SUCCESS) {
        return;
    }
    for n in 0..keys {
        // Larger than the longest key of any ABI (256).
        let mut key: [c_char; 1024] = [0; 1024];
        if ask::info_get_nthkey::<A>(info, n, key.as_mut_ptr()) != Some(A::SUCCESS) {
            break;
        }
        let value = ask_value::<A>(info, &key);
        found(&c_string::text(key.as_ptr(), key.len()), &value);
    }
}

/// Reads a value and keeps at most [`VALUE`] bytes of it. The buffer has room for all of it: MPICH treats a shorter
/// one as an error, which ends the job, and the `argv` of `MPI_INFO_ENV` is as long as the command line.
fn ask_value<A: Abi>(info: A::Handle, key: &[c_char]) -> String {
    let (mut len, mut flag) = (0, 0);
    ask::info_get_valuelen::<A>(info, key.as_ptr(), &mut len, &mut flag);
    let room = len.max(0);
    let mut value: Vec<c_char> = vec![0; room as usize + 1];
    ask::info_get::<A>(info, key.as_ptr(), room, value.as_mut_ptr(), &mut flag);
    c_string::text(value.as_ptr(), value.len().min(VALUE))
}

/// Replaces the pairs of an info; `change` computes them from the old ones.
fn rebuild(writer: &'static Writer, info: &'static Info, change: impl FnOnce(&[u8]) -> Vec<u8>) {
    INFOS.locked(|| {
        let bytes = change(&arena::text(writer, &info.pairs));
        if bytes.len() > MOST {
            writer.lose(Loss::STRINGS, 1);
            info.lost.set(info.lost.get() + 1);
            return;
        }
        info.head.seq.write(|| {
            arena::release_text(writer, &info.pairs);
            arena::put_text(writer, &info.pairs, &bytes);
            info.count.set(pairs(&bytes).count() as u64);
        });
    });
    facts::attached(SectionKind::INFOS, &info.head);
}

/// `MPI_Info_create`.
pub fn create<A: Abi>(call: &Call<A>, result: c_int, info: *mut A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    if let Some(raw) = new_handle(ObjectKind::INFO, info) {
        enter(writer, raw, Site::of(call), 0, &[]);
    }
}

/// `MPI_Info_dup`.
pub fn dup<A: Abi>(call: &Call<A>, result: c_int, old: A::Handle, new: *mut A::Handle) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::INFO, new) else { return };
    let Some(old) = INFOS.find(old.raw()) else {
        enter(writer, raw, Site::of(call), 0, &ask_pairs::<A>(raw));
        return;
    };
    let bytes = INFOS.locked(|| arena::text(writer, &old.pairs));
    enter(writer, raw, Site::of(call), old.head.uid.get(), &bytes);
}

/// `MPI_Info_set`: an existing key keeps its position.
pub fn set<A: Abi>(_: &Call<A>, result: c_int, info: A::Handle, key: *const c_char, value: *const c_char) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(info) = INFOS.find(info.raw()) else { return };
    let (key, value) = (c_string::text(key, 1024), c_string::text(value, VALUE));
    rebuild(writer, info, |old| {
        let mut bytes = Vec::with_capacity(old.len() + key.len() + value.len() + 2);
        let mut found = false;
        for (k, v) in pairs(old) {
            let same = k == key.as_bytes();
            found |= same;
            append(&mut bytes, k, if same { value.as_bytes() } else { v });
        }
        if !found {
            append(&mut bytes, key.as_bytes(), value.as_bytes());
        }
        bytes
    });
}

fn append(bytes: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    bytes.extend_from_slice(key);
    bytes.push(0);
    bytes.extend_from_slice(value);
    bytes.push(0);
}

/// `MPI_Info_delete`.
pub fn delete<A: Abi>(_: &Call<A>, result: c_int, info: A::Handle, key: *const c_char) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(info) = INFOS.find(info.raw()) else { return };
    let key = c_string::text(key, 1024);
    rebuild(writer, info, |old| {
        let mut bytes = Vec::with_capacity(old.len());
        pairs(old).filter(|(k, _)| *k != key.as_bytes()).for_each(|(k, v)| append(&mut bytes, k, v));
        bytes
    });
}

/// Enters an info that was filled by the library.
fn got<A: Abi>(call: &Call<A>, result: c_int, info: *const A::Handle, parent: u64) {
    let Some(writer) = succeeded::<A>(result) else { return };
    let Some(raw) = new_handle(ObjectKind::INFO, info) else { return };
    enter(writer, raw, Site::of(call), parent, &ask_pairs::<A>(raw));
}

/// `MPI_Info_create_env`.
pub fn create_env<A: Abi>(
    call: &Call<A>,
    result: c_int,
    _: c_int,
    _: *mut *mut c_char,
    info: *mut A::Handle,
) {
    got(call, result, info, 0);
}

/// `MPI_Get_hw_resource_info`.
pub fn hardware<A: Abi>(call: &Call<A>, result: c_int, info: *mut A::Handle) {
    got(call, result, info, 0);
}

/// `MPI_Comm_get_info`.
pub fn comm_get<A: Abi>(call: &Call<A>, result: c_int, comm: A::Handle, info: *mut A::Handle) {
    got(call, result, info, tables::comm::<A>(comm).map_or(0, |c| c.head.uid.get()));
}

/// `MPI_Win_get_info`.
pub fn win_get<A: Abi>(call: &Call<A>, result: c_int, win: A::Handle, info: *mut A::Handle) {
    got(call, result, info, tables::window::<A>(win).map_or(0, |w| w.head.uid.get()));
}

/// `MPI_File_get_info`.
pub fn file_get<A: Abi>(call: &Call<A>, result: c_int, file: usize, info: *mut A::Handle) {
    got(call, result, info, tables::file(file).map_or(0, |f| f.head.uid.get()));
}

/// `MPI_Session_get_info`.
pub fn session_get<A: Abi>(call: &Call<A>, result: c_int, session: A::Handle, info: *mut A::Handle) {
    got(call, result, info, tables::session::<A>(session).map_or(0, |s| s.head.uid.get()));
}

/// `MPI_Session_get_pset_info`.
pub fn pset_get<A: Abi>(
    call: &Call<A>,
    result: c_int,
    session: A::Handle,
    _: *const c_char,
    info: *mut A::Handle,
) {
    session_get(call, result, session, info);
}

/// `MPI_Info_free`.
pub fn before_free<A: Abi>(call: &Call<A>, info: &mut *mut A::Handle) {
    free::before(call, &INFOS, output(*info));
}

/// `MPI_Info_free`.
pub fn after_free<A: Abi>(call: &Call<A>, result: c_int, place: *mut A::Handle) {
    free::after(call, free::gone::<A, _>(result, ObjectKind::INFO, place), &INFOS, |_, _| {});
}
