//! The query functions for objects that the published interface does not cover.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpiscope_debug_interfaces::extended::{
    Argument, CommExtra, DatatypeInfo, ErrhandlerExtra, FileInfo, GroupInfo, InfoInfo, KeyvalInfo, Lock,
    MessageInfo, OpInfo, RequestExtra, SessionInfo, TypeHole, TypeRun, WindowInfo, flag, kind,
};
use mpiscope_debug_interfaces::handles::code;
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_image::traffic::UNKNOWN_SIZE;
use mpiscope_job::model::objects::{
    Communicator, Datatype, Errhandler, File, Group, Info, Keyval, Kind, Message, Op, Reader, Request,
    Session, Topology, Window,
};
use mpiscope_plugin_support::{Allocations, chars};

use crate::answer::{
    attributes, bits, ints, key_values, nanoseconds, object, processes, reference, references, signed,
};
use crate::context::{Code, Context, Seen};

macro_rules! queries {
    ($($(#[$doc:meta])* $name:ident $kind:ident $info:ty = $make:ident;)*) => {
        /// Kinds with a query function in this module: bit `1 << kind`.
        pub const KINDS: u32 = 0 $(| 1 << kind::$kind)* | 1 << kind::STATUS;

        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// The pointers must be the debugger's; `info` is null or writable.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                image: *mut MqsImage,
                image_info: *mut ImageInfo,
                process: *mut MqsProcess,
                process_info: *mut ProcessInfo,
                c_handle: TAddr,
                info: *mut *mut $info,
            ) -> c_int {
                let context = Context { image, image_info, process, process_info };
                // SAFETY: the contract of this function.
                unsafe { context.answer(info, |reader, _, blocks| $make(reader, c_handle, blocks)) }
            }
        )*
    };
}

queries! {
    /// Returns what the published structure of communicators has no room for.
    mpidbg_comm_extra_query COMM CommExtra = comm;
    /// Returns the properties of a group.
    mpidbg_group_query GROUP GroupInfo = group;
    /// Returns the properties of a datatype.
    mpidbg_datatype_query DATATYPE DatatypeInfo = datatype;
    /// Returns the properties of a request.
    mpidbg_request_extra_query REQUEST RequestExtra = request;
    /// Returns the properties of a matched message.
    mpidbg_message_query MESSAGE MessageInfo = message;
    /// Returns the properties of an operation.
    mpidbg_op_query OP OpInfo = op;
    /// Returns what the published structure of error handlers has no room for.
    mpidbg_errhandler_extra_query ERRHANDLER ErrhandlerExtra = errhandler;
    /// Returns the properties of an info object.
    mpidbg_info_query INFO InfoInfo = info;
    /// Returns the properties of a file.
    mpidbg_file_query FILE FileInfo = file;
    /// Returns the properties of a window.
    mpidbg_window_query WIN WindowInfo = window;
    /// Returns the properties of a session.
    mpidbg_session_query SESSION SessionInfo = session;
    /// Returns the properties of an attribute key. The handle is the key, with the number of the kind that it
    /// applies to above its 32 bits.
    mpidbg_keyval_query KEYVAL KeyvalInfo = keyval;
}

fn comm(reader: &Reader<'_, Seen<'_>>, handle: TAddr, blocks: &mut Allocations) -> Result<CommExtra, Code> {
    let model: Communicator = reader.get(handle)?;
    let inter = if model.inter { flag::INTER } else { 0 };
    let mut extra = CommExtra {
        object: object::<CommExtra>(&model.common, inter),
        cx_rank: model.rank.map_or(-1, signed),
        cx_size: signed(model.size),
        cx_remote_size: signed(model.remote_size),
        cx_has_dist_graph: 0,
        cx_collectives: model.collectives,
        cx_colour: model.colour,
        cx_errhandler: reference(model.errhandler.as_ref()),
        cx_info: reference(model.info.as_ref()),
        cx_other_parent: reference(model.other_parent.as_ref()),
        cx_local: processes(blocks, model.members.as_deref())?,
        cx_remote: processes(blocks, model.remote.as_deref())?,
        cx_cart_coords: Default::default(),
        cx_graph_edges: Default::default(),
        cx_sources: Default::default(),
        cx_source_weights: Default::default(),
        cx_destinations: Default::default(),
        cx_destination_weights: Default::default(),
        cx_attributes: attributes(blocks, &model.attributes)?,
        cx_groups: references(blocks, &model.groups)?,
        cx_requests: references(blocks, &model.requests)?,
        cx_windows: references(blocks, &model.windows)?,
        cx_files: references(blocks, &model.files)?,
        cx_info_pairs: key_values(blocks, &model.hints)?,
    };
    match &model.topology {
        Some(Topology::Cartesian { coords, .. }) => extra.cx_cart_coords = ints(blocks, Some(coords))?,
        Some(Topology::Graph { edges, .. }) => extra.cx_graph_edges = ints(blocks, Some(edges))?,
        Some(Topology::DistGraph { sources, source_weights, destinations, destination_weights }) => {
            extra.cx_has_dist_graph = 1;
            extra.cx_sources = ints(blocks, Some(sources))?;
            extra.cx_source_weights = ints(blocks, source_weights.as_deref())?;
            extra.cx_destinations = ints(blocks, Some(destinations))?;
            extra.cx_destination_weights = ints(blocks, destination_weights.as_deref())?;
        }
        Some(Topology::Unknown) => extra.object.obj_bitflags |= flag::INCOMPLETE,
        None => {}
    }
    Ok(extra)
}

fn group(reader: &Reader<'_, Seen<'_>>, handle: TAddr, blocks: &mut Allocations) -> Result<GroupInfo, Code> {
    let model: Group = reader.get(handle)?;
    let outside = if model.rank.is_none() { flag::NOT_MEMBER } else { 0 };
    Ok(GroupInfo {
        object: object::<GroupInfo>(&model.common, outside),
        group_rank: model.rank.map_or(-1, signed),
        group_size: signed(model.size),
        group_procs: processes(blocks, model.members.as_deref())?,
        group_comms: references(blocks, &model.communicators)?,
    })
}

fn datatype(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<DatatypeInfo, Code> {
    let model: Datatype = reader.get(handle)?;
    let flags = [
        (model.committed, flag::COMMITTED),
        (model.bounds_stated, flag::BOUNDS_STATED),
        (model.type_map.cut, flag::CUT),
        (model.type_map.incomplete || model.size.is_none(), flag::INCOMPLETE),
    ];
    let runs: Vec<TypeRun> = model
        .type_map
        .runs
        .iter()
        .map(|run| TypeRun {
            run_type: chars(&run.datatype),
            run_displacement: run.displacement,
            run_count: run.count,
            run_size: run.size,
        })
        .collect();
    let holes: Vec<TypeHole> = model
        .type_map
        .holes
        .iter()
        .map(|hole| TypeHole { hole_displacement: hole.displacement, hole_length: hole.length })
        .collect();
    let (names, values) = arguments(&model);
    Ok(DatatypeInfo {
        object: object::<DatatypeInfo>(&model.common, bits(&flags)),
        dt_combiner: chars(model.combiner),
        dt_meaning: chars(model.meaning.unwrap_or_default()),
        dt_size: model.size.unwrap_or(0),
        dt_lb: model.lower_bound.unwrap_or(0),
        dt_extent: model.extent.unwrap_or(0),
        dt_arguments: blocks.list(&names)?,
        dt_values: blocks.list(&values)?,
        dt_datatypes: references(blocks, &model.arguments.datatypes)?,
        dt_runs: blocks.list(&runs)?,
        dt_holes: blocks.list(&holes)?,
        dt_attributes: attributes(blocks, &model.attributes)?,
        dt_used_by: references(blocks, &model.used_by)?,
        dt_requests: references(blocks, &model.requests)?,
    })
}

/// Returns the constructor's arguments: names with positions, and the values.
fn arguments(model: &Datatype) -> (Vec<Argument>, Vec<i64>) {
    let (mut names, mut values) = (Vec::new(), Vec::new());
    let numbers = model.arguments.numbers.iter().map(|(name, value)| (*name, 0, std::slice::from_ref(value)));
    let arrays = model.arguments.arrays.iter().map(|(name, array)| (*name, 1, array.as_slice()));
    for (name, is_array, part) in numbers.chain(arrays) {
        names.push(Argument {
            arg_name: chars(name),
            arg_is_array: is_array,
            arg_count: part.len() as u64,
            arg_first: values.len() as u64,
        });
        values.extend_from_slice(part);
    }
    (names, values)
}

fn request(reader: &Reader<'_, Seen<'_>>, handle: TAddr, _: &mut Allocations) -> Result<RequestExtra, Code> {
    let model: Request = reader.get(handle)?;
    let flags = [
        (model.persistent, flag::PERSISTENT),
        (model.started, flag::STARTED),
        (model.active, flag::ACTIVE),
        (model.complete, flag::COMPLETE),
        (model.cancelled, flag::CANCELLED),
        (model.tag.is_none() && model.peer.is_some() && model.class == "point-to-point", flag::ANY_TAG),
        (model.peer.as_ref().is_some_and(|peer| peer.name == Some("MPI_ANY_SOURCE")), flag::ANY_SOURCE),
    ];
    let at = |when: &Option<mpiscope_job::model::objects::request::When>| {
        when.as_ref().map_or((0, 0), |when| (when.address.0, nanoseconds(when.seconds)))
    };
    let (started, completed) = (at(&model.start), at(&model.completion));
    let (source, tag) = model.received.unwrap_or((-1, -1));
    let (dest, send_tag) = model.send.unwrap_or((-1, -1));
    Ok(RequestExtra {
        object: object::<RequestExtra>(&model.common, bits(&flags)),
        rx_class: chars(model.class),
        rx_operation: chars(model.operation.unwrap_or_default()),
        rx_of: reference(model.object.as_ref()),
        rx_datatype: reference(model.datatype.as_ref()),
        rx_peer: model.peer.map_or(-1, |peer| peer.value),
        rx_tag: model.tag.unwrap_or(-1),
        rx_count: model.count,
        rx_buffer: model.buffer.0,
        rx_started_from: started.0,
        rx_started_ns: started.1,
        rx_completed_from: completed.0,
        rx_completed_ns: completed.1,
        rx_actual_source: source,
        rx_actual_tag: tag,
        rx_bytes: model.bytes.unwrap_or(UNKNOWN_SIZE),
        rx_starts: model.starts,
        rx_send_dest: dest,
        rx_send_tag: send_tag,
        rx_error: model.error.cast_signed(),
        rx_partitions: signed(model.partitions),
        rx_reduction: reference(model.reduction.as_ref()),
    })
}

fn message(reader: &Reader<'_, Seen<'_>>, handle: TAddr, _: &mut Allocations) -> Result<MessageInfo, Code> {
    let model: Message = reader.get(handle)?;
    Ok(MessageInfo {
        object: object::<MessageInfo>(&model.common, 0),
        msg_comm: reference(model.communicator.as_ref()),
        msg_source: model.source,
        msg_tag: model.tag,
        msg_bytes: model.bytes,
    })
}

fn op(reader: &Reader<'_, Seen<'_>>, handle: TAddr, blocks: &mut Allocations) -> Result<OpInfo, Code> {
    let model: Op = reader.get(handle)?;
    let flags = [
        (model.commutative == Some(true), flag::COMMUTATIVE),
        (model.fortran_function, flag::FORTRAN_CALLBACK),
        (model.commutative.is_none(), flag::INCOMPLETE),
    ];
    Ok(OpInfo {
        object: object::<OpInfo>(&model.common, bits(&flags)),
        op_function: model.function.0,
        op_requests: references(blocks, &model.requests)?,
    })
}

fn errhandler(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<ErrhandlerExtra, Code> {
    let model: Errhandler = reader.get(handle)?;
    let fortran = if model.fortran_function { flag::FORTRAN_CALLBACK } else { 0 };
    Ok(ErrhandlerExtra {
        object: object::<ErrhandlerExtra>(&model.common, fortran),
        ex_function: model.function.0,
        ex_of: model.of.map_or(kind::NONE, Kind::debugger_number),
        ex_reserved: 0,
        ex_attached: references(blocks, &model.attached)?,
    })
}

fn info(reader: &Reader<'_, Seen<'_>>, handle: TAddr, blocks: &mut Allocations) -> Result<InfoInfo, Code> {
    let model: Info = reader.get(handle)?;
    let cut = if model.lost > 0 { flag::CUT } else { 0 };
    Ok(InfoInfo {
        object: object::<InfoInfo>(&model.common, cut),
        info_pairs: key_values(blocks, &model.pairs)?,
        info_used_by: references(blocks, &model.used_by)?,
    })
}

fn file(reader: &Reader<'_, Seen<'_>>, handle: TAddr, blocks: &mut Allocations) -> Result<FileInfo, Code> {
    let model: File = reader.get(handle)?;
    let atomic = if model.atomic { flag::ATOMIC } else { 0 };
    Ok(FileInfo {
        object: object::<FileInfo>(&model.common, atomic),
        file_name: chars(model.path.as_deref().unwrap_or_default()),
        file_amode: signed(model.amode),
        file_reserved: 0,
        file_mode: chars(&model.mode.join("|")),
        file_comm: reference(model.communicator.as_ref()),
        file_info: reference(model.info.as_ref()),
        file_errhandler: reference(model.errhandler.as_ref()),
        file_view_displacement: model.view.displacement,
        file_view_etype: reference(model.view.etype.as_ref()),
        file_view_filetype: reference(model.view.filetype.as_ref()),
        file_view_datarep: chars(&model.view.representation),
        file_info_pairs: key_values(blocks, &model.hints)?,
        file_requests: references(blocks, &model.requests)?,
        file_reads: model.access.reads,
        file_read_bytes: model.access.read_bytes,
        file_writes: model.access.writes,
        file_written_bytes: model.access.written_bytes,
        file_access_ns: model.access.seconds.map_or(0, nanoseconds),
    })
}

fn window(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<WindowInfo, Code> {
    let model: Window = reader.get(handle)?;
    let sync = model.last_synchronisation.as_ref();
    let lock = |lock: &mpiscope_job::model::objects::window::Lock| Lock {
        lock_target: signed(lock.target),
        lock_exclusive: c_int::from(lock.exclusive),
    };
    let locks: Vec<Lock> = model.locks.iter().map(lock).collect();
    let attached: Vec<i64> =
        model.attached.iter().flat_map(|(base, len)| [base.0.cast_signed(), len.cast_signed()]).collect();
    Ok(WindowInfo {
        object: object::<WindowInfo>(&model.common, 0),
        win_comm: reference(model.communicator.as_ref()),
        win_info: reference(model.info.as_ref()),
        win_errhandler: reference(model.errhandler.as_ref()),
        win_base: model.base.0,
        win_size: model.size,
        win_displacement_unit: model.displacement_unit,
        win_flavour: chars(model.flavour),
        win_model: chars(model.model),
        win_epochs: model.epoch_bits,
        win_reserved: 0,
        win_last_sync: chars(sync.and_then(|sync| sync.function.as_deref()).unwrap_or_default()),
        win_last_sync_from: sync.map_or(0, |sync| sync.address.0),
        win_last_sync_ns: sync.map_or(0, |sync| nanoseconds(sync.seconds)),
        win_locks: blocks.list(&locks)?,
        win_start_procs: processes(blocks, model.start_group.as_deref())?,
        win_post_procs: processes(blocks, model.post_group.as_deref())?,
        win_attached: blocks.list(&attached)?,
        win_puts: model.operations.puts,
        win_gets: model.operations.gets,
        win_accumulates: model.operations.accumulates,
        win_pending: model.operations.pending,
        win_info_pairs: key_values(blocks, &model.hints)?,
        win_attributes: attributes(blocks, &model.attributes)?,
        win_requests: references(blocks, &model.requests)?,
    })
}

fn session(
    reader: &Reader<'_, Seen<'_>>,
    handle: TAddr,
    blocks: &mut Allocations,
) -> Result<SessionInfo, Code> {
    let model: Session = reader.get(handle)?;
    Ok(SessionInfo {
        object: object::<SessionInfo>(&model.common, 0),
        session_info: reference(model.info.as_ref()),
        session_errhandler: reference(model.errhandler.as_ref()),
        session_groups: references(blocks, &model.groups)?,
        session_info_pairs: key_values(blocks, &model.hints)?,
    })
}

fn keyval(reader: &Reader<'_, Seen<'_>>, handle: TAddr, _: &mut Allocations) -> Result<KeyvalInfo, Code> {
    Kind::of_debugger_number((handle >> 32) as c_int).ok_or(Code(code::OUT_OF_RANGE))?;
    let model: Keyval = reader.get(handle)?;
    Ok(KeyvalInfo {
        object: object::<KeyvalInfo>(&model.common, 0),
        kv_keyval: model.keyval,
        kv_of: model.of.map_or(kind::NONE, Kind::debugger_number),
        kv_copy_function: model.copy.0,
        kv_delete_function: model.delete.0,
        kv_extra_state: model.extra_state.0,
    })
}
