//! Checks the properties of functions against their parameters and against the standard's text, read
//! independently of the table.

use mpi_abi::{
    Class, Completes, FUNCTIONS, Fields, Flags, Function, FunctionId, Kind, Moves, ObjectKind, Partners,
    Properties, Role, Start, Waits, f,
};

fn functions() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(|function| function.properties.class != Class::TOOL)
}

/// The function's name without prefix and large-count suffix, in lower case.
fn plain(function: &Function) -> String {
    let name = function.name.trim_start_matches("MPI_");
    let name = if function.flags().has(Flags::C) { name.trim_end_matches("_c") } else { name };
    name.to_lowercase()
}

fn has(function: &Function, kind: Kind) -> bool {
    function.params.iter().any(|param| param.kind == kind)
}

fn of(name: &str) -> Properties {
    FunctionId::from_name(name).unwrap().properties()
}

/// Whether the function is collective according to the chapters of the standard.
fn is_collective(function: &Function) -> bool {
    let name = plain(function);
    // Chapter 6: the operations with their non-blocking and persistent forms; chapter 8: those among
    // neighbors.
    const DATA: [&str; 12] = [
        "barrier",
        "bcast",
        "gather",
        "gatherv",
        "scatter",
        "scatterv",
        "allgather",
        "allgatherv",
        "alltoall",
        "scan",
        "exscan",
        "reduce",
    ];
    const MORE: [&str; 5] = ["allreduce", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"];
    let operation = name.trim_end_matches("_init");
    let forms = [Some(operation), operation.strip_prefix('i')];
    let neighborhood = |form: &str| {
        let among = ["allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"];
        form.strip_prefix("neighbor_").is_some_and(|form| among.contains(&form))
    };
    if forms
        .into_iter()
        .flatten()
        .any(|form| DATA.contains(&form) || MORE.contains(&form) || neighborhood(form))
    {
        return true;
    }
    // Chapters 7, 8, 10 and 11: communicators. Chapter 12: windows. Chapter 14: files.
    const OBJECTS: [&str; 44] = [
        "comm_dup",
        "comm_dup_with_info",
        "comm_idup",
        "comm_idup_with_info",
        "comm_create",
        "comm_create_group",
        "comm_create_from_group",
        "comm_split",
        "comm_split_type",
        "comm_free",
        "comm_set_info",
        "intercomm_create",
        "intercomm_create_from_groups",
        "intercomm_merge",
        "cart_create",
        "cart_sub",
        "graph_create",
        "dist_graph_create",
        "dist_graph_create_adjacent",
        "finalize",
        "comm_spawn",
        "comm_spawn_multiple",
        "comm_accept",
        "comm_connect",
        "comm_disconnect",
        "win_create",
        "win_allocate",
        "win_allocate_shared",
        "win_create_dynamic",
        "win_free",
        "win_fence",
        "win_set_info",
        "file_open",
        "file_close",
        "file_set_size",
        "file_preallocate",
        "file_set_info",
        "file_set_view",
        "file_seek_shared",
        "file_set_atomicity",
        "file_sync",
        "file_iread_all",
        "file_iwrite_all",
        "file_iread_at_all",
    ];
    let shared = ["_all", "_ordered", "_begin", "_end"];
    OBJECTS.contains(&name.as_str())
        || name.starts_with("file_") && shared.iter().any(|ending| name.ends_with(ending))
}

#[test]
fn the_collective_functions_are_those_that_the_standard_calls_collective() {
    for function in functions() {
        assert_eq!(function.flags().has(Flags::COLLECTIVE), is_collective(function), "{}", function.name);
    }
}

#[test]
fn a_collective_has_partners_and_a_blocking_one_may_wait() {
    for function in functions().filter(|function| function.flags().has(Flags::COLLECTIVE)) {
        let Properties { start, waits, partners, .. } = function.properties;
        assert_ne!(partners, Partners::NONE, "{}", function.name);
        let later = matches!(start, Start::NONBLOCKING | Start::PERSISTENT);
        assert_eq!(waits == Waits::NOTHING, later, "{}", function.name);
        let object = [Kind::COMMUNICATOR, Kind::WINDOW, Kind::FILE, Kind::GROUP];
        let about = object.into_iter().any(|kind| has(function, kind));
        assert!(about || function.name == "MPI_Finalize", "{}", function.name);
    }
}

#[test]
fn exactly_the_nonblocking_and_persistent_functions_return_a_request() {
    for function in functions() {
        let gives =
            function.params.iter().any(|param| param.kind == Kind::REQUEST && param.dir == mpi_abi::Dir::Out);
        let start = function.properties.start;
        let converts = function.properties.class == Class::CONVERSION;
        let window = function.properties.class == Class::ONE_SIDED && !gives;
        match start {
            Start::NONBLOCKING => assert!(gives || window, "{}", function.name),
            Start::PERSISTENT | Start::PARTITIONED => {
                assert!(gives && plain(function).ends_with("_init"), "{}", function.name);
            }
            _ => assert!(!gives || converts, "{}", function.name),
        }
        if gives && !converts {
            assert_eq!(function.properties.waits, Waits::NOTHING, "{}", function.name);
        }
    }
}

#[test]
fn all_forms_of_an_operation_move_the_same_data_and_the_blocking_form_waits() {
    for function in functions() {
        let operation = function.operation.function().unwrap();
        assert_eq!(operation.operation, function.operation, "{}", function.name);
        assert!(!operation.flags().has(Flags::C), "{}", function.name);
        let own = function.properties;
        if function.name == "MPI_Parrived" {
            // It polls a partition of the request that MPI_Wait waits for, and belongs to messages as
            // MPI_Pready does.
            assert_eq!((own.class, operation.name), (Class::POINT_TO_POINT, "MPI_Wait"));
            continue;
        }
        assert_eq!(own.class, operation.properties.class, "{}", function.name);
        if function.operation == FunctionId::from_name(function.name).unwrap().base() {
            continue;
        }
        assert!(
            own.start != Start::NONE || own.flags.has(Flags::POLLING),
            "{} is not a form of {}",
            function.name,
            operation.name
        );
        if !own.flags.has(Flags::POLLING) {
            assert_eq!(own.moves, operation.properties.moves, "{}", function.name);
            assert_eq!(own.partners, operation.properties.partners, "{}", function.name);
            let both = own.flags.has(Flags::COLLECTIVE) == operation.flags().has(Flags::COLLECTIVE);
            assert!(both, "{}", function.name);
        }
        // The names differ by I, R, _init, _begin, Test for Wait, or iflush for flush.
        let (form, whole) = (plain(function), plain(operation));
        let without_i = form.replacen('i', "", 1);
        let said = form.starts_with(&whole)
            || without_i == whole
            || form.strip_prefix('r') == Some(&whole)
            || form.replace("test", "wait") == whole
            || form.replace("_i", "_") == whole
            || form.contains("get_status") && whole.starts_with("wait")
            || form.strip_prefix('p').is_some_and(|form| form.starts_with(&whole));
        assert!(said, "{} of {}", function.name, operation.name);
    }
}

#[test]
fn large_count_variants_have_the_properties_of_their_twins() {
    for function in functions() {
        let id = FunctionId::from_name(function.name).unwrap();
        let variant = function.flags().has(Flags::C);
        assert_eq!(
            variant || function.flags().has(Flags::HAS_C),
            function.twin.is_some(),
            "{}",
            function.name
        );
        assert_eq!(id.base() == id, !variant, "{}", function.name);
        let Some(twin) = function.twin.and_then(FunctionId::function) else { continue };
        let only = |p: Properties| Properties { flags: Flags::NONE, ..p };
        assert_eq!(only(function.properties), only(twin.properties), "{}", function.name);
        assert_eq!(function.fields, twin.fields, "{}", function.name);
        let name = if variant { format!("{}_c", twin.name) } else { format!("{}_c", function.name) };
        assert_eq!(name, if variant { function.name } else { twin.name });
    }
}

#[test]
fn lookup_and_polling_functions_never_wait() {
    for function in functions() {
        let Properties { waits, flags, start, .. } = function.properties;
        if flags.has(Flags::LOOKUP) || flags.has(Flags::POLLING) {
            assert_eq!((waits, start), (Waits::NOTHING, Start::NONE), "{}", function.name);
            assert!(!flags.has(Flags::COLLECTIVE), "{}", function.name);
        }
        // A polling function has a flag for its answer, or a count of completed requests.
        if flags.has(Flags::POLLING) {
            let answers = function.params.iter().any(|p| ["flag", "outcount"].contains(&p.name));
            assert!(answers, "{}", function.name);
        }
        // A lookup frees no handle and creates none that would have to be freed.
        if flags.has(Flags::LOOKUP) && function.properties.class != Class::CONVERSION {
            let changes = |p: &mpi_abi::Param| {
                let kind = ObjectKind::from_c_type(p.kind.c_type(function.flags()));
                kind.is_some() && p.dir != mpi_abi::Dir::In
            };
            // The parent communicator is the same each time; a basic datatype is not created.
            let known = ["MPI_Comm_get_parent", "MPI_Type_match_size"].contains(&function.name);
            assert!(known || !function.params.iter().any(changes), "{}", function.name);
        }
    }
}

#[test]
fn every_function_that_polls_is_known() {
    let polls: Vec<_> = functions()
        .filter(|f| f.flags().has(Flags::POLLING))
        .map(|f| f.name.trim_start_matches("MPI_"))
        .collect();
    let known = [
        "Improbe",
        "Iprobe",
        "Parrived",
        "Request_get_status",
        "Request_get_status_all",
        "Request_get_status_any",
        "Request_get_status_some",
        "Test",
        "Testall",
        "Testany",
        "Testsome",
        "Win_test",
    ];
    assert_eq!(polls, known);
}

#[test]
fn completion_functions_complete_one_all_any_or_some_requests() {
    for (names, completes) in [
        (["MPI_Wait", "MPI_Test"], Completes::ONE),
        (["MPI_Waitall", "MPI_Testall"], Completes::ALL),
        (["MPI_Waitany", "MPI_Testany"], Completes::ANY),
        (["MPI_Waitsome", "MPI_Testsome"], Completes::SOME),
    ] {
        for name in names {
            assert_eq!(of(name).completes, completes, "{name}");
        }
    }
    let completing = functions().filter(|f| f.properties.completes != Completes::NONE).count();
    assert_eq!(completing, 8);
    for function in functions().filter(|f| f.properties.waits == Waits::REQUESTS) {
        assert!(plain(function).starts_with("wait"), "{}", function.name);
    }
}

#[test]
fn messages_have_a_peer_and_one_sided_operations_a_target() {
    for function in functions() {
        let Properties { partners, moves, .. } = function.properties;
        let named = |name: &str| function.params.iter().any(|p| p.name == name);
        if matches!(moves, Moves::SEND | Moves::RECEIVE | Moves::EXCHANGE) {
            assert_eq!(partners, Partners::PEER, "{}", function.name);
            let peer = named("dest") || named("source") || has(function, Kind::MESSAGE);
            assert!(peer, "{}", function.name);
            assert_eq!(moves == Moves::EXCHANGE, named("dest") && named("source"), "{}", function.name);
        }
        if matches!(moves, Moves::PUT | Moves::GET | Moves::FETCH) {
            assert_eq!(partners, Partners::TARGET, "{}", function.name);
            assert!(named("target_rank") && has(function, Kind::WINDOW), "{}", function.name);
        }
        if matches!(partners, Partners::ROOT | Partners::LEAVES) {
            assert!(named("root"), "{}", function.name);
        }
        if matches!(moves, Moves::READ | Moves::WRITE) {
            assert!(has(function, Kind::FILE), "{}", function.name);
            assert_eq!(moves == Moves::READ, function.name.contains("read"), "{}", function.name);
        }
        if partners == Partners::NEIGHBORS {
            assert!(plain(function).contains("neighbor_"), "{}", function.name);
        }
    }
}

#[test]
fn functions_that_may_wait_for_all_members_are_known() {
    for name in [
        "MPI_Allreduce_c",
        "MPI_Comm_split",
        "MPI_Comm_spawn",
        "MPI_Win_create",
        "MPI_Win_fence",
        "MPI_Bcast",
    ] {
        assert!(of(name).waits_for_all_members(), "{name}");
    }
    for name in
        ["MPI_Comm_create_group", "MPI_Neighbor_allgather", "MPI_Ibarrier", "MPI_Recv", "MPI_Win_lock_all"]
    {
        assert!(!of(name).waits_for_all_members(), "{name}");
    }
}

#[test]
fn starting_an_operation_does_not_wait_and_finishing_it_does() {
    for (name, waits) in [
        ("MPI_Send", Waits::SEND),
        // Local according to the standard.
        ("MPI_Bsend", Waits::NOTHING),
        ("MPI_Buffer_detach", Waits::SEND),
        ("MPI_Recv_c", Waits::RECEIVE),
        ("MPI_Mprobe", Waits::RECEIVE),
        ("MPI_Allreduce", Waits::COLLECTIVE),
        ("MPI_Iallreduce", Waits::NOTHING),
        ("MPI_Allreduce_init_c", Waits::NOTHING),
        ("MPI_Waitsome", Waits::REQUESTS),
        ("MPI_Neighbor_alltoall", Waits::COLLECTIVE),
        ("MPI_Neighbor_alltoall_init", Waits::NOTHING),
        ("MPI_File_write_at_all_end", Waits::COLLECTIVE),
        ("MPI_File_iread_all", Waits::NOTHING),
        ("MPI_File_read", Waits::FILE),
        ("MPI_Win_flush_local_all", Waits::SYNCHRONIZATION),
        ("MPI_Win_post", Waits::NOTHING),
        ("MPI_Comm_accept", Waits::CONNECTION),
        ("MPI_Comm_rank", Waits::NOTHING),
    ] {
        assert_eq!(of(name).waits, waits, "{name}");
    }
}

#[test]
fn a_barrier_has_only_its_communicator_and_a_receive_nearly_all_fields() {
    let fields = |id: FunctionId| id.function().unwrap().fields;
    assert_eq!(fields(f::MPI_Barrier), Fields { object: Some(ObjectKind::COMM), ..Fields::NONE });
    let receive = Fields {
        object: Some(ObjectKind::COMM),
        peer: Some(Role::Source),
        datatype: true,
        count: true,
        tag: true,
        ..Fields::NONE
    };
    assert_eq!(fields(f::MPI_Recv), receive);
    assert_eq!(fields(f::MPI_Waitall), Fields { count: true, ..Fields::NONE });
    assert!(fields(f::MPI_Sendrecv).receive);
    assert_eq!(fields(f::MPI_Reduce).peer, Some(Role::Root));
}

#[test]
fn words_of_an_image_are_decoded_to_properties_and_fields() {
    for function in &FUNCTIONS {
        assert_eq!(Properties::from_word(function.properties.word()), Some(function.properties));
        assert_eq!(Fields::from_word(function.fields.word()), function.fields);
    }
    assert_eq!(Properties::from_word(0), None, "an image without properties");
    let later = Properties::from_word(0xffff_2020_2020_2020).unwrap();
    assert_eq!((later.word(), later.waits.name()), (0xffff_2020_2020_2020, "?"), "codes of a later version");
}
