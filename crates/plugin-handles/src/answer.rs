//! Converts models to parts of the interface's structures.

use std::ffi::{c_char, c_int};

use mpiscope_debug_interfaces::extended::{
    Attribute as AttributeRecord, Attributes, Ints, KeyValue, KeyValues, Object, Processes,
    Reference as ReferenceRecord, References, flag,
};
use mpiscope_debug_interfaces::handles::ProcessId;
use mpiscope_image::layout::source_line;
use mpiscope_image::objects::Flag;
use mpiscope_job::model::objects::{Attribute, CallSite, Common, Lifetime, Reference};
use mpiscope_plugin_support::{Allocations, NoMemory, chars};

/// Converts a length to a C `int`.
pub fn count(len: usize) -> c_int {
    c_int::try_from(len).unwrap_or(c_int::MAX)
}

/// Reinterprets a number as signed.
pub fn signed(value: u32) -> c_int {
    value.cast_signed()
}

/// Converts ranks of the world to processes; a process outside of the world has −1.
pub fn ranks(members: &[i64]) -> Vec<ProcessId> {
    let rank = |member: &i64| c_int::try_from(*member).unwrap_or(-1);
    members.iter().map(|member| ProcessId { mpi_comm_world_rank: rank(member) }).collect()
}

/// Like [`ranks`], as a list of the extended interface.
pub fn processes(blocks: &mut Allocations, members: Option<&[i64]>) -> Result<Processes, NoMemory> {
    blocks.list(&ranks(members.unwrap_or_default()))
}

/// Converts a reference to another object.
pub fn reference(of: Option<&Reference>) -> ReferenceRecord {
    of.map_or_else(ReferenceRecord::default, |of| {
        ReferenceRecord::new(of.kind.debugger_number(), of.handle.0, of.uid)
    })
}

/// Converts references to other objects.
pub fn references(blocks: &mut Allocations, list: &[Reference]) -> Result<References, NoMemory> {
    let list: Vec<_> = list.iter().map(|of| reference(Some(of))).collect();
    blocks.list(&list)
}

/// Converts numbers.
pub fn ints(blocks: &mut Allocations, list: Option<&[i64]>) -> Result<Ints, NoMemory> {
    blocks.list(list.unwrap_or_default())
}

/// Converts keys and values; their texts are in the same block.
pub fn key_values(blocks: &mut Allocations, pairs: &[(String, String)]) -> Result<KeyValues, NoMemory> {
    let texts: Vec<[&str; 2]> = pairs.iter().map(|(key, value)| [key.as_str(), value.as_str()]).collect();
    let items = blocks.with_texts(&texts, |_, [key, value]: [*mut c_char; 2]| KeyValue { key, value })?;
    Ok(KeyValues::from((texts.len() as u64, items)))
}

/// Converts attributes.
pub fn attributes(blocks: &mut Allocations, list: &[Attribute]) -> Result<Attributes, NoMemory> {
    let list: Vec<_> = list
        .iter()
        .map(|attribute| AttributeRecord {
            attr_keyval: attribute.keyval,
            attr_keyval_uid: attribute.keyval_uid,
            attr_value: attribute.value.0,
            attr_name: chars(attribute.name.as_deref().unwrap_or_default()),
        })
        .collect();
    blocks.list(&list)
}

/// Converts seconds to nanoseconds.
pub fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Returns the header of a structure of type `T`; `bits` is added to the flags common to all kinds.
pub fn object<T>(common: &Common, bits: u32) -> Object {
    let null = common.standing == Lifetime::Null;
    let flags = [
        (common.predefined, flag::PREDEFINED),
        (null, flag::NULL),
        (common.standing.is_handle_freed(), flag::FREED_HANDLE),
        (common.standing.is_gone(), flag::FREED_OBJECT),
        (common.fortran.is_some(), flag::FORTRAN_HANDLE),
        (common.torn, flag::TORN),
        (common.has(Flag::SHARED_HANDLE), flag::SHARED_HANDLE),
    ];
    let function = |call_site: &Option<CallSite>| {
        chars(call_site.as_ref().and_then(|d| d.function.as_deref()).unwrap_or_default())
    };
    // A line of a source file has no code that a debugger could look up.
    let from = |call_site: &Option<CallSite>| {
        let address = call_site.as_ref().map_or(0, |call_site| call_site.address.0);
        if source_line(address).is_some() { 0 } else { address }
    };
    let at = |call_site: &Option<CallSite>| {
        call_site.as_ref().map_or(0, |call_site| nanoseconds(call_site.seconds))
    };
    Object {
        obj_struct_size: size_of::<T>() as u32,
        obj_bitflags: bits | self::bits(&flags),
        obj_kind: common.kind.debugger_number(),
        obj_fortran_handle: common.fortran.unwrap_or(-1),
        obj_c_handle: common.handle.0,
        obj_uid: common.uid,
        obj_identity: common.identity.0,
        obj_parent: reference(common.parent.as_ref()),
        obj_name: chars(common.name.as_deref().unwrap_or_default()),
        obj_created_by: function(&common.created),
        obj_created_from: from(&common.created),
        obj_created_ns: at(&common.created),
        obj_freed_by: function(&common.freed),
        obj_freed_from: from(&common.freed),
        obj_freed_ns: at(&common.freed),
    }
}

/// Combines the bits whose condition holds.
pub fn bits(flags: &[(bool, u32)]) -> u32 {
    flags.iter().filter(|(when, _)| *when).fold(0, |bits, (_, bit)| bits | bit)
}
