//! Converts structures of the handle interface to JSON and frees every block in the process.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};

use mpiscope_debug_interfaces::extended::{self as ext, flag, kind};
use mpiscope_debug_interfaces::handles::{
    self, CommInfo, ErrhandlerInfo, ProcessId, RequestInfo, StatusInfo,
};
use mpiscope_job::model::objects::Kind;
use serde_json::{Map, Value, json};

use crate::memory::give_back;
use crate::queues::chars;

/// Converts a structure and frees it.
pub type Show = unsafe fn(*mut c_void) -> Value;

/// Maximum number of list elements shown.
const MOST: u64 = 1 << 20;

/// Returns the name of a code.
pub fn code(code: c_int) -> String {
    handles::code::name(code).map_or_else(|| format!("code {code}"), str::to_owned)
}

/// Not a kind of object, but it has functions and a number like one.
const STATUS: &str = "status";

/// Returns the word for a kind in function names.
pub fn word(kind: &str) -> Option<&'static str> {
    match Kind::parse(kind) {
        Some(Kind::Window) => Some(Kind::Window.noun()),
        Some(kind) => Some(kind.name()),
        None => (kind == STATUS).then_some(STATUS),
    }
}

/// Returns the names of kinds that users can enter.
pub fn words() -> String {
    let words: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).chain([STATUS]).collect();
    words.join(", ")
}

/// Returns the functions that describe a kind, with the converters of their results.
pub fn questions(kind: &str, name_length: i32) -> Option<&'static [(&'static str, Show)]> {
    let short = name_length == 64;
    Some(match word(kind)? {
        "comm" if short => &[("mpidbg_comm_query", comm::<64>), ("mpidbg_comm_extra_query", comm_extra)],
        "comm" => &[("mpidbg_comm_query", comm::<128>), ("mpidbg_comm_extra_query", comm_extra)],
        "errhandler" if short => &[
            ("mpidbg_errhandler_query", errhandler::<64>),
            ("mpidbg_errhandler_extra_query", errhandler_extra),
        ],
        "errhandler" => &[
            ("mpidbg_errhandler_query", errhandler::<128>),
            ("mpidbg_errhandler_extra_query", errhandler_extra),
        ],
        "request" => &[("mpidbg_request_query", request), ("mpidbg_request_extra_query", request_extra)],
        "status" => &[("mpidbg_status_query", status), ("mpidbg_status_extra_query", status_extra)],
        "group" => &[("mpidbg_group_query", group)],
        "datatype" => &[("mpidbg_datatype_query", datatype)],
        "message" => &[("mpidbg_message_query", message)],
        "op" => &[("mpidbg_op_query", op)],
        "info" => &[("mpidbg_info_query", info)],
        "file" => &[("mpidbg_file_query", file)],
        "window" => &[("mpidbg_window_query", window)],
        "session" => &[("mpidbg_session_query", session)],
        "keyval" => &[("mpidbg_keyval_query", keyval)],
        _ => return None,
    })
}

/// Copies a structure out of its block and frees the block.
///
/// # Safety
/// `block` must be from the plug-in and contain a `T`, and is not used again.
unsafe fn take<T: Copy>(block: *mut c_void) -> T {
    // SAFETY: the contract of this function.
    unsafe {
        let value = block.cast::<T>().read_unaligned();
        give_back(block);
        value
    }
}

/// Copies an array out of its block and frees the block.
///
/// # Safety
/// `items` is null or a block from the plug-in with `count` elements, and is not used again.
unsafe fn list<T: Copy>(count: u64, items: *mut T) -> Vec<T> {
    if items.is_null() {
        return Vec::new();
    }
    // SAFETY: the contract of this function.
    unsafe {
        let values = (0..count.min(MOST)).map(|i| items.add(i as usize).read_unaligned()).collect();
        give_back(items);
        values
    }
}

fn hex(value: u64) -> String {
    format!("{value:#x}")
}

fn refer(of: &ext::Reference) -> Value {
    if of.ref_kind == kind::NONE {
        return Value::Null;
    }
    json!({ "kind": kind_word(of.ref_kind), "handle": hex(of.ref_handle), "uid": of.ref_uid })
}

fn kind_word(number: c_int) -> &'static str {
    match number {
        kind::NONE => "none",
        kind::STATUS => STATUS,
        _ => Kind::of_debugger_number(number).map_or("unknown", Kind::name),
    }
}

/// Returns the number of a kind.
pub fn kind_number(word: &str) -> Option<c_int> {
    let status = (word == STATUS).then_some(kind::STATUS);
    Kind::parse(word).map(Kind::debugger_number).or(status)
}

fn flags(bits: u32) -> Vec<&'static str> {
    const WORDS: [(u32, &str); 24] = [
        (flag::PREDEFINED, "predefined"),
        (flag::NULL, "null"),
        (flag::FREED_HANDLE, "freed handle"),
        (flag::FREED_OBJECT, "freed object"),
        (flag::FORTRAN_HANDLE, "fortran handle"),
        (flag::CUT, "cut"),
        (flag::INCOMPLETE, "incomplete"),
        (flag::TORN, "torn"),
        (flag::FORTRAN_CALLBACK, "fortran callback"),
        (flag::COMMITTED, "committed"),
        (flag::COMMUTATIVE, "commutative"),
        (flag::PERSISTENT, "persistent"),
        (flag::STARTED, "started"),
        (flag::ACTIVE, "active"),
        (flag::COMPLETE, "complete"),
        (flag::CANCELLED, "cancelled"),
        (flag::SHARED_HANDLE, "shared handle"),
        (flag::BOUNDS_STATED, "bounds stated"),
        (flag::ATOMIC, "atomic"),
        (flag::INTER, "intercommunicator"),
        (flag::ANY_TAG, "any tag"),
        (flag::ANY_SOURCE, "any source"),
        (flag::NOT_MEMBER, "not a member"),
        (flag::BYTES_KNOWN, "bytes known"),
    ];
    WORDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| *word).collect()
}

/// Combines the header of a structure with the fields of one kind.
fn object(object: &ext::Object, fields: Value) -> Value {
    let deed = |by: &[c_char], from: u64, at: u64| {
        let by = chars(by);
        if by.is_empty() { Value::Null } else { json!({ "function": by, "address": hex(from), "ns": at }) }
    };
    let mut all = Map::new();
    let known = object.obj_bitflags & flag::FORTRAN_HANDLE != 0;
    all.insert("kind".into(), json!(kind_word(object.obj_kind)));
    all.insert("handle".into(), json!(hex(object.obj_c_handle)));
    all.insert("fortran".into(), json!(known.then_some(object.obj_fortran_handle)));
    all.insert("name".into(), json!(chars(&object.obj_name)));
    all.insert("flags".into(), json!(flags(object.obj_bitflags)));
    all.insert("uid".into(), json!(object.obj_uid));
    all.insert("identity".into(), json!(hex(object.obj_identity)));
    all.insert("parent".into(), refer(&object.obj_parent));
    all.insert(
        "created".into(),
        deed(&object.obj_created_by, object.obj_created_from, object.obj_created_ns),
    );
    all.insert("freed".into(), deed(&object.obj_freed_by, object.obj_freed_from, object.obj_freed_ns));
    if let Value::Object(fields) = fields {
        all.extend(fields);
    }
    Value::Object(all)
}

/// # Safety
/// The same as for [`list`].
unsafe fn refs(of: ext::References) -> Vec<Value> {
    // SAFETY: the contract of this function.
    unsafe { list(of.count, of.items) }.iter().map(refer).collect()
}

/// # Safety
/// The same as for [`list`].
unsafe fn ints(of: ext::Ints) -> Vec<i64> {
    // SAFETY: the contract of this function.
    unsafe { list(of.count, of.items) }
}

/// # Safety
/// The same as for [`list`].
unsafe fn procs(count: u64, items: *mut ProcessId) -> Vec<c_int> {
    // SAFETY: the contract of this function.
    unsafe { list(count, items) }.iter().map(|process| process.mpi_comm_world_rank).collect()
}

/// # Safety
/// The same as for [`list`]; the texts are in the same block.
unsafe fn pairs(of: ext::KeyValues) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for i in 0..of.count.min(MOST) {
        if of.items.is_null() {
            break;
        }
        // SAFETY: the contract of this function.
        let pair = unsafe {
            let pair = of.items.add(i as usize).read_unaligned();
            (string(pair.key), string(pair.value))
        };
        texts.push(pair);
    }
    // SAFETY: all texts have been copied.
    unsafe { give_back(of.items) };
    texts
}

/// # Safety
/// `text` is null or a C string.
unsafe fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the contract of this function.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// # Safety
/// The same as for [`list`].
unsafe fn attributes(of: ext::Attributes) -> Vec<Value> {
    // SAFETY: the contract of this function.
    let list = unsafe { list(of.count, of.items) };
    let show = |a: &ext::Attribute| json!({ "keyval": a.attr_keyval, "uid": a.attr_keyval_uid, "value": hex(a.attr_value), "name": chars(&a.attr_name) });
    list.iter().map(show).collect()
}

fn number(count: c_int) -> u64 {
    u64::try_from(count).unwrap_or(0)
}

unsafe fn comm<const N: usize>(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let c: CommInfo<N> = take(block);
        let attrs = attribute_pairs(number(c.comm_num_attrs), c.comm_attrs);
        let index = list(number(c.comm_graph_num_nodes), c.comm_graph_index);
        let edges = index.last().copied().unwrap_or(0);
        let handles =
            |count: c_int, items| list::<u64>(number(count), items).into_iter().map(hex).collect::<Vec<_>>();
        json!({
            "name": chars(&c.comm_name),
            "bitflags": c.comm_bitflags,
            "rank": c.comm_rank,
            "size": c.comm_size,
            "local_procs": procs(number(c.comm_num_local_procs), c.comm_local_procs),
            "remote_procs": procs(number(c.comm_num_remote_procs), c.comm_remote_procs),
            "cart_dims": list(number(c.comm_cart_num_dims), c.comm_cart_dims),
            "cart_periods": list(number(c.comm_cart_num_dims), c.comm_cart_periods),
            "graph_edges": list(number(edges), c.comm_graph_edges),
            "graph_index": index,
            "handle": hex(c.comm_c_handle),
            "fortran": c.comm_fortran_handle,
            "attributes": attrs,
            "requests": handles(c.comm_num_pending_requests, c.comm_pending_requests),
            "windows": handles(c.comm_num_derived_windows, c.comm_derived_windows),
            "files": handles(c.comm_num_derived_files, c.comm_derived_files),
        })
    }
}

/// # Safety
/// The same as for [`list`]; the texts are in the same block.
unsafe fn attribute_pairs(count: u64, items: *mut handles::AttributePair) -> Vec<Value> {
    let mut shown = Vec::new();
    for i in 0..count.min(MOST) {
        if items.is_null() {
            break;
        }
        // SAFETY: the contract of this function.
        unsafe {
            let pair = items.add(i as usize).read_unaligned();
            shown.push(json!({
                "keyval": pair.keyval, "name": string(pair.keyval_name), "value": string(pair.value)
            }));
        }
    }
    // SAFETY: all texts have been copied.
    unsafe { give_back(items) };
    shown
}

unsafe fn comm_extra(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let c: ext::CommExtra = take(block);
        let fields = json!({
            "rank": c.cx_rank,
            "size": c.cx_size,
            "remote_size": c.cx_remote_size,
            "has_dist_graph": c.cx_has_dist_graph != 0,
            "collectives": c.cx_collectives,
            "colour": c.cx_colour,
            "errhandler": refer(&c.cx_errhandler),
            "info": refer(&c.cx_info),
            "other_parent": refer(&c.cx_other_parent),
            "local": procs(c.cx_local.count, c.cx_local.items),
            "remote": procs(c.cx_remote.count, c.cx_remote.items),
            "cart_coords": ints(c.cx_cart_coords),
            "graph_edges": ints(c.cx_graph_edges),
            "sources": ints(c.cx_sources),
            "source_weights": ints(c.cx_source_weights),
            "destinations": ints(c.cx_destinations),
            "destination_weights": ints(c.cx_destination_weights),
            "attributes": attributes(c.cx_attributes),
            "groups": refs(c.cx_groups),
            "requests": refs(c.cx_requests),
            "windows": refs(c.cx_windows),
            "files": refs(c.cx_files),
            "info_pairs": pairs(c.cx_info_pairs),
        });
        object(&c.object, fields)
    }
}

unsafe fn errhandler<const N: usize>(block: *mut c_void) -> Value {
    // SAFETY: the structure and the array of this answer, each once.
    unsafe {
        let e: ErrhandlerInfo<N> = take(block);
        let count = u64::try_from(e.eh_refcount).unwrap_or(0);
        json!({
            "name": chars(&e.eh_name),
            "bitflags": e.eh_bitflags,
            "handle": hex(e.eh_c_handle),
            "fortran": e.eh_fortran_handle,
            "handles": list(count, e.eh_handles).into_iter().map(hex).collect::<Vec<_>>(),
            "function": hex(e.eh_callback_func),
        })
    }
}

unsafe fn errhandler_extra(block: *mut c_void) -> Value {
    // SAFETY: the structure and the array of this answer, each once.
    unsafe {
        let e: ext::ErrhandlerExtra = take(block);
        let fields = json!({
            "function": hex(e.ex_function), "of": kind_word(e.ex_of), "attached": refs(e.ex_attached),
        });
        object(&e.object, fields)
    }
}

unsafe fn request(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let r: RequestInfo = unsafe { take(block) };
    json!({ "bitflags": r.req_bitflags, "handle": hex(r.req_c_handle), "fortran": r.req_fortran_handle })
}

unsafe fn request_extra(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let r: ext::RequestExtra = unsafe { take(block) };
    let fields = json!({
        "class": chars(&r.rx_class),
        "operation": chars(&r.rx_operation),
        "of": refer(&r.rx_of),
        "datatype": refer(&r.rx_datatype),
        "peer": r.rx_peer,
        "tag": r.rx_tag,
        "count": r.rx_count,
        "buffer": hex(r.rx_buffer),
        "started": { "address": hex(r.rx_started_from), "ns": r.rx_started_ns },
        "completed": { "address": hex(r.rx_completed_from), "ns": r.rx_completed_ns },
        "actual_source": r.rx_actual_source,
        "actual_tag": r.rx_actual_tag,
        "bytes": r.rx_bytes,
        "starts": r.rx_starts,
        "send_dest": r.rx_send_dest,
        "send_tag": r.rx_send_tag,
        "error": r.rx_error,
        "partitions": r.rx_partitions,
        "reduction": refer(&r.rx_reduction),
    });
    object(&r.object, fields)
}

unsafe fn status(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let s: StatusInfo = unsafe { take(block) };
    json!({ "bitflags": s.status_bitflags })
}

unsafe fn status_extra(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let s: ext::StatusExtra = unsafe { take(block) };
    let known = s.sx_bitflags & flag::BYTES_KNOWN != 0;
    json!({
        "source": s.sx_source, "tag": s.sx_tag, "error": s.sx_error,
        "bytes": known.then_some(s.sx_bytes), "flags": flags(s.sx_bitflags),
    })
}

unsafe fn group(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let g: ext::GroupInfo = take(block);
        let fields = json!({
            "rank": g.group_rank,
            "size": g.group_size,
            "procs": procs(g.group_procs.count, g.group_procs.items),
            "comms": refs(g.group_comms),
        });
        object(&g.object, fields)
    }
}

unsafe fn datatype(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let d: ext::DatatypeInfo = take(block);
        let values = ints(d.dt_values);
        let mut arguments = Map::new();
        for a in list(d.dt_arguments.count, d.dt_arguments.items) {
            let part = usize::try_from(a.arg_first).ok().and_then(|first| values.get(first..));
            let part: Vec<i64> =
                part.unwrap_or_default().iter().copied().take(a.arg_count as usize).collect();
            let value = if a.arg_is_array != 0 { json!(part) } else { json!(part.first()) };
            arguments.insert(chars(&a.arg_name), value);
        }
        let runs = list(d.dt_runs.count, d.dt_runs.items);
        let run = |r: &ext::TypeRun| json!([chars(&r.run_type), r.run_displacement, r.run_count, r.run_size]);
        let holes = list(d.dt_holes.count, d.dt_holes.items);
        let fields = json!({
            "combiner": chars(&d.dt_combiner),
            "meaning": chars(&d.dt_meaning),
            "size": d.dt_size,
            "lb": d.dt_lb,
            "extent": d.dt_extent,
            "arguments": arguments,
            "datatypes": refs(d.dt_datatypes),
            "type_map": runs.iter().map(run).collect::<Vec<_>>(),
            "holes": holes.iter().map(|h| (h.hole_displacement, h.hole_length)).collect::<Vec<_>>(),
            "attributes": attributes(d.dt_attributes),
            "used_by": refs(d.dt_used_by),
            "requests": refs(d.dt_requests),
        });
        object(&d.object, fields)
    }
}

unsafe fn message(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let m: ext::MessageInfo = unsafe { take(block) };
    let fields = json!({
        "comm": refer(&m.msg_comm), "source": m.msg_source, "tag": m.msg_tag, "bytes": m.msg_bytes,
    });
    object(&m.object, fields)
}

unsafe fn op(block: *mut c_void) -> Value {
    // SAFETY: the structure and the array of this answer, each once.
    unsafe {
        let o: ext::OpInfo = take(block);
        object(&o.object, json!({ "function": hex(o.op_function), "requests": refs(o.op_requests) }))
    }
}

unsafe fn info(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let i: ext::InfoInfo = take(block);
        object(&i.object, json!({ "pairs": pairs(i.info_pairs), "used_by": refs(i.info_used_by) }))
    }
}

unsafe fn file(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let f: ext::FileInfo = take(block);
        let fields = json!({
            "path": chars(&f.file_name),
            "amode": f.file_amode,
            "mode": chars(&f.file_mode),
            "comm": refer(&f.file_comm),
            "info": refer(&f.file_info),
            "errhandler": refer(&f.file_errhandler),
            "view_displacement": f.file_view_displacement,
            "view_etype": refer(&f.file_view_etype),
            "view_filetype": refer(&f.file_view_filetype),
            "view_datarep": chars(&f.file_view_datarep),
            "info_pairs": pairs(f.file_info_pairs),
            "requests": refs(f.file_requests),
            "reads": f.file_reads,
            "read_bytes": f.file_read_bytes,
            "writes": f.file_writes,
            "written_bytes": f.file_written_bytes,
            "access_ns": f.file_access_ns,
        });
        object(&f.object, fields)
    }
}

unsafe fn window(block: *mut c_void) -> Value {
    // SAFETY: the structure and the arrays of this answer, each once.
    unsafe {
        let w: ext::WindowInfo = take(block);
        let locks = list(w.win_locks.count, w.win_locks.items);
        let fields = json!({
            "comm": refer(&w.win_comm),
            "info": refer(&w.win_info),
            "errhandler": refer(&w.win_errhandler),
            "base": hex(w.win_base),
            "size": w.win_size,
            "displacement_unit": w.win_displacement_unit,
            "flavour": chars(&w.win_flavour),
            "model": chars(&w.win_model),
            "epochs": w.win_epochs,
            "last_sync": chars(&w.win_last_sync),
            "last_sync_from": hex(w.win_last_sync_from),
            "last_sync_ns": w.win_last_sync_ns,
            "locks": locks.iter().map(|l| (l.lock_target, l.lock_exclusive != 0)).collect::<Vec<_>>(),
            "start_procs": procs(w.win_start_procs.count, w.win_start_procs.items),
            "post_procs": procs(w.win_post_procs.count, w.win_post_procs.items),
            "attached": ints(w.win_attached),
            "puts": w.win_puts,
            "gets": w.win_gets,
            "accumulates": w.win_accumulates,
            "pending": w.win_pending,
            "info_pairs": pairs(w.win_info_pairs),
            "attributes": attributes(w.win_attributes),
            "requests": refs(w.win_requests),
        });
        object(&w.object, fields)
    }
}

/// Converts the calls on an object.
///
/// # Safety
/// `block` must be the structure of `mpidbg_calls_query`, and is not used again.
pub unsafe fn calls(block: *mut c_void) -> Value {
    // SAFETY: the structure and the array of this answer, each once.
    unsafe {
        let c: ext::CallsInfo = take(block);
        let show = |c: &ext::Call| {
            json!({
                "function": chars(&c.call_function), "address": hex(c.call_from), "tid": c.call_tid,
                "ns": c.call_ns,
            })
        };
        list(c.calls.count, c.calls.items).iter().map(show).collect()
    }
}

unsafe fn session(block: *mut c_void) -> Value {
    // SAFETY: the structure and the array of this answer, each once.
    unsafe {
        let s: ext::SessionInfo = take(block);
        let fields = json!({
            "info": refer(&s.session_info),
            "errhandler": refer(&s.session_errhandler),
            "groups": refs(s.session_groups),
            "info_pairs": pairs(s.session_info_pairs),
        });
        object(&s.object, fields)
    }
}

unsafe fn keyval(block: *mut c_void) -> Value {
    // SAFETY: the structure of this answer.
    let k: ext::KeyvalInfo = unsafe { take(block) };
    let fields = json!({
        "keyval": k.kv_keyval,
        "of": kind_word(k.kv_of),
        "copy": hex(k.kv_copy_function),
        "delete": hex(k.kv_delete_function),
        "extra_state": hex(k.kv_extra_state),
    });
    object(&k.object, fields)
}
