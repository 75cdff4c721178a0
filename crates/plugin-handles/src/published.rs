//! The published query functions: communicators, error handlers, requests, statuses.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use mpiscope_debug_interfaces::handles::{
    AttributePair, CommInfo, ErrhandlerInfo, FLAG_PREDEFINED, ProcessId, RequestInfo, StatusInfo, comm_cap,
    comm_flag, errhandler_cap, errhandler_flag,
};
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_job::model::objects::{
    Communicator, Errhandler, Kind, Lifetime, Reader, Reference, Request, Topology,
};
use mpiscope_plugin_support::{Allocations, chars};

use crate::answer::{count, ranks, signed};
use crate::context::{Code, Context, Seen};
use crate::status::read_status;

/// Fills a part of a structure.
type Fill<M, T> = fn(&M, &mut Allocations, &mut T) -> Result<(), Code>;

/// The published parts of a communicator, each with its capabilities. The query runs exactly these parts, and
/// the capabilities are exactly those of this table.
const fn comm_parts<const N: usize>() -> [(u32, Fill<Communicator, CommInfo<N>>); 5] {
    [
        (comm_cap::BASIC | comm_cap::FREED_HANDLE | comm_cap::FREED_OBJECT, comm_basic),
        (comm_cap::STRING_NAMES, comm_name),
        (comm_cap::REQUEST_LIST, comm_requests),
        (comm_cap::WINDOW_LIST, comm_windows),
        (comm_cap::FILE_LIST, comm_files),
    ]
}

/// The same for an error handler.
const fn errhandler_parts<const N: usize>() -> [(u32, Fill<Errhandler, ErrhandlerInfo<N>>); 3] {
    [
        (
            errhandler_cap::BASIC | errhandler_cap::FREED_HANDLE | errhandler_cap::FREED_OBJECT,
            errhandler_basic,
        ),
        (errhandler_cap::STRING_NAMES, errhandler_name),
        (errhandler_cap::HANDLE_LIST, errhandler_handles),
    ]
}

const fn all<M, T, const N: usize>(parts: &[(u32, Fill<M, T>); N]) -> u32 {
    let mut bits = 0;
    let mut i = 0;
    while i < N {
        bits |= parts[i].0;
        i += 1;
    }
    bits
}

/// Capabilities for communicators.
pub const COMM_CAPABILITIES: u32 = all(&comm_parts::<64>());
/// Capabilities for error handlers.
pub const ERRHANDLER_CAPABILITIES: u32 = all(&errhandler_parts::<64>());

/// Returns the published properties of a communicator.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_comm_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_comm: TAddr,
    info: *mut *mut c_void,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function; the length of names determines the structure.
    unsafe {
        if context.name_length() == 64 {
            context.answer(info.cast::<*mut CommInfo<64>>(), |reader, _, blocks| comm(reader, c_comm, blocks))
        } else {
            context
                .answer(info.cast::<*mut CommInfo<128>>(), |reader, _, blocks| comm(reader, c_comm, blocks))
        }
    }
}

fn comm<const N: usize>(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<CommInfo<N>, Code> {
    let model: Communicator = reader.get(handle)?;
    let mut info = CommInfo {
        comm_name: [0; N],
        comm_bitflags: if is_reordered(reader, &model) { comm_flag::TOPO_REORDERED } else { 0 },
        comm_rank: 0,
        comm_size: 0,
        comm_num_local_procs: 0,
        comm_local_procs: std::ptr::null_mut(),
        comm_num_remote_procs: 0,
        comm_remote_procs: std::ptr::null_mut(),
        comm_cart_num_dims: 0,
        comm_cart_dims: std::ptr::null_mut(),
        comm_cart_periods: std::ptr::null_mut(),
        comm_graph_num_nodes: 0,
        comm_graph_index: std::ptr::null_mut(),
        comm_graph_edges: std::ptr::null_mut(),
        comm_c_handle: 0,
        comm_fortran_handle: -1,
        comm_num_attrs: 0,
        comm_attrs: std::ptr::null_mut(),
        comm_num_pending_requests: 0,
        comm_pending_requests: std::ptr::null_mut(),
        comm_num_derived_windows: 0,
        comm_derived_windows: std::ptr::null_mut(),
        comm_num_derived_files: 0,
        comm_derived_files: std::ptr::null_mut(),
    };
    for (_, fill) in comm_parts::<N>() {
        fill(&model, blocks, &mut info)?;
    }
    Ok(info)
}

/// Whether a communicator with a topology orders its members differently from its parent.
fn is_reordered(reader: &Reader<'_, Seen<'_>>, model: &Communicator) -> bool {
    let Some(parent) = model.common.parent.as_ref().filter(|_| model.topology.is_some()) else {
        return false;
    };
    let parent = reader.by_uid::<Communicator>(parent.uid).ok().flatten();
    let orders = model.members.as_ref().zip(parent.and_then(|parent| parent.members));
    orders.is_some_and(|(own, parent)| parent.get(..own.len()).is_some_and(|part| part != own.as_slice()))
}

fn comm_basic<const N: usize>(
    model: &Communicator,
    blocks: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    let common = &model.common;
    let mut set = |when: bool, bit: u32| info.comm_bitflags |= if when { bit } else { 0 };
    set(common.predefined, comm_flag::PREDEFINED);
    set(model.inter, comm_flag::INTERCOMM);
    set(common.standing == Lifetime::Null, comm_flag::COMM_NULL);
    set(common.standing.is_handle_freed(), comm_flag::FREED_HANDLE);
    set(common.standing.is_gone(), comm_flag::FREED_OBJECT);
    info.comm_rank = model.rank.map_or(-1, signed);
    info.comm_size = signed(model.size);
    (info.comm_num_local_procs, info.comm_local_procs) = procs(blocks, model.members.as_deref())?;
    (info.comm_num_remote_procs, info.comm_remote_procs) = procs(blocks, model.remote.as_deref())?;
    info.comm_c_handle = common.handle.0;
    info.comm_fortran_handle = common.fortran.unwrap_or(-1);
    info.comm_num_attrs = count(model.attributes.len());
    info.comm_attrs = attributes(model, blocks)?;
    topology(model, blocks, info)
}

fn procs(blocks: &mut Allocations, members: Option<&[i64]>) -> Result<(c_int, *mut ProcessId), Code> {
    let members = ranks(members.unwrap_or_default());
    Ok((count(members.len()), blocks.array(&members)?))
}

fn attributes(model: &Communicator, blocks: &mut Allocations) -> Result<*mut AttributePair, Code> {
    let texts: Vec<(String, String)> = model
        .attributes
        .iter()
        .map(|a| {
            let name = a.name.clone().unwrap_or_else(|| format!("keyval {}", a.keyval));
            (name, a.value.to_string())
        })
        .collect();
    let texts: Vec<[&str; 2]> = texts.iter().map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    let keys: Vec<c_int> = model.attributes.iter().map(|a| a.keyval as c_int).collect();
    Ok(blocks.with_texts(&texts, |i, [keyval_name, value]| AttributePair {
        keyval: keys.get(i).copied().unwrap_or(-1),
        keyval_name,
        value,
    })?)
}

fn topology<const N: usize>(
    model: &Communicator,
    blocks: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    let ints = |values: &[i64]| -> Vec<c_int> { values.iter().map(|v| *v as c_int).collect() };
    match &model.topology {
        Some(Topology::Cartesian { dims, periods, .. }) => {
            info.comm_bitflags |= comm_flag::CARTESIAN;
            info.comm_cart_num_dims = count(dims.len());
            info.comm_cart_dims = blocks.array(&ints(dims))?;
            let periods: Vec<i8> = periods.iter().map(|p| i8::from(*p)).collect();
            info.comm_cart_periods = blocks.array(&periods)?;
        }
        Some(Topology::Graph { index, edges }) => {
            info.comm_bitflags |= comm_flag::GRAPH;
            info.comm_graph_num_nodes = count(index.len());
            info.comm_graph_index = blocks.array(&ints(index))?;
            info.comm_graph_edges = blocks.array(&ints(edges))?;
        }
        Some(Topology::DistGraph { .. }) => info.comm_bitflags |= comm_flag::DIST_GRAPH,
        _ => {}
    }
    Ok(())
}

fn comm_name<const N: usize>(
    model: &Communicator,
    _: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    info.comm_name = chars(model.common.name.as_deref().unwrap_or_default());
    Ok(())
}

fn handles(blocks: &mut Allocations, list: &[Reference]) -> Result<(c_int, *mut TAddr), Code> {
    let handles: Vec<TAddr> = list.iter().map(|reference| reference.handle.0).collect();
    Ok((count(handles.len()), blocks.array(&handles)?))
}

fn comm_requests<const N: usize>(
    m: &Communicator,
    b: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    (info.comm_num_pending_requests, info.comm_pending_requests) = handles(b, &m.requests)?;
    Ok(())
}

fn comm_windows<const N: usize>(
    m: &Communicator,
    b: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    (info.comm_num_derived_windows, info.comm_derived_windows) = handles(b, &m.windows)?;
    Ok(())
}

fn comm_files<const N: usize>(
    m: &Communicator,
    b: &mut Allocations,
    info: &mut CommInfo<N>,
) -> Result<(), Code> {
    (info.comm_num_derived_files, info.comm_derived_files) = handles(b, &m.files)?;
    Ok(())
}

/// Returns the published properties of an error handler.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_errhandler_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_errhandler: TAddr,
    info: *mut *mut c_void,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function; the length of names determines the structure.
    unsafe {
        if context.name_length() == 64 {
            let info = info.cast::<*mut ErrhandlerInfo<64>>();
            context.answer(info, |reader, _, blocks| errhandler(reader, c_errhandler, blocks))
        } else {
            let info = info.cast::<*mut ErrhandlerInfo<128>>();
            context.answer(info, |reader, _, blocks| errhandler(reader, c_errhandler, blocks))
        }
    }
}

fn errhandler<const N: usize>(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<ErrhandlerInfo<N>, Code> {
    let model: Errhandler = reader.get(handle)?;
    let mut info = ErrhandlerInfo {
        eh_name: [0 as c_char; N],
        eh_bitflags: 0,
        eh_c_handle: 0,
        eh_fortran_handle: -1,
        eh_refcount: 0,
        eh_handles: std::ptr::null_mut(),
        eh_callback_func: 0,
    };
    for (_, fill) in errhandler_parts::<N>() {
        fill(&model, blocks, &mut info)?;
    }
    Ok(info)
}

fn errhandler_basic<const N: usize>(
    model: &Errhandler,
    _: &mut Allocations,
    info: &mut ErrhandlerInfo<N>,
) -> Result<(), Code> {
    let common = &model.common;
    let mut set = |when: bool, bit: u32| info.eh_bitflags |= if when { bit } else { 0 };
    let may = |kind: Kind| model.of.is_none_or(|of| of == kind) && common.standing != Lifetime::Null;
    set(common.predefined, errhandler_flag::PREDEFINED);
    set(may(Kind::Communicator), errhandler_flag::COMMUNICATOR);
    set(may(Kind::File), errhandler_flag::FILE);
    set(may(Kind::Window), errhandler_flag::WINDOW);
    set(!model.fortran_function && model.function.0 != 0, errhandler_flag::C_CALLBACK);
    set(common.standing.is_handle_freed(), errhandler_flag::FREED_HANDLE);
    set(common.standing.is_gone(), errhandler_flag::FREED_OBJECT);
    info.eh_c_handle = common.handle.0;
    info.eh_fortran_handle = common.fortran.unwrap_or(-1);
    info.eh_callback_func = model.function.0;
    Ok(())
}

fn errhandler_name<const N: usize>(
    model: &Errhandler,
    _: &mut Allocations,
    info: &mut ErrhandlerInfo<N>,
) -> Result<(), Code> {
    info.eh_name = chars(model.common.name.as_deref().unwrap_or_default());
    Ok(())
}

fn errhandler_handles<const N: usize>(
    model: &Errhandler,
    blocks: &mut Allocations,
    info: &mut ErrhandlerInfo<N>,
) -> Result<(), Code> {
    // The count has 16 bits: a longer list is truncated so that count and list agree.
    let most = usize::from(i16::MAX.cast_unsigned());
    let list = model.attached.get(..most).unwrap_or(&model.attached);
    let (number, handles) = handles(blocks, list)?;
    info.eh_refcount = i16::try_from(number).unwrap_or(i16::MAX);
    info.eh_handles = handles;
    Ok(())
}

/// Returns whether a request's handle is predefined, and its handles.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_request_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_request: TAddr,
    info: *mut *mut RequestInfo,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function.
    unsafe {
        context.answer(info, |reader, _, _| {
            let model: Request = reader.get(c_request)?;
            Ok(RequestInfo {
                req_bitflags: if model.common.predefined { FLAG_PREDEFINED } else { 0 },
                req_c_handle: model.common.handle.0,
                req_fortran_handle: model.common.fortran.unwrap_or(-1),
            })
        })
    }
}

/// Returns whether there is a status at this address. `mpidbg_status_extra_query` returns its content.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_status_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_status: TAddr,
    info: *mut *mut StatusInfo,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function.
    unsafe {
        context.answer(info, |reader, target, _| {
            read_status(reader, target, c_status)?;
            Ok(StatusInfo { status_bitflags: 0 })
        })
    }
}
