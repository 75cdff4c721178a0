//! The C header of the MPI2 debugger interface has the same layouts and numbers as the Rust code.

use mpiscope_debug_interfaces::mpi2dd::{DirectoryEntry, Info, ProcDesc, Reason, SpawnDesc, flag, mpi_flag};
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

macro_rules! fields {
    ($c:literal, $rust:ty, $($field:ident)*) => {
        [
            format!("_Static_assert(sizeof(struct {}) == {}, \"size of {}\");", $c, size_of::<$rust>(), $c),
            $(format!(
                "_Static_assert(offsetof(struct {}, {}) == {}, \"{}\");",
                $c, stringify!($field), offset_of!($rust, $field), stringify!($field)
            ),)*
        ]
        .join("\n")
    };
}

#[test]
fn the_header_states_the_layouts_and_numbers_of_the_library() {
    let numbers = [
        ("DEBUG_START", u32::from(Reason::START.0)),
        ("DEBUG_SPAWN", Reason::SPAWN.0.into()),
        ("DEBUG_CONNECT", Reason::CONNECT.0.into()),
        ("DEBUG_ACCEPT", Reason::ACCEPT.0.into()),
        ("DEBUG_JOIN", Reason::JOIN.0.into()),
        ("DEBUG_DIRECTORY_CHANGED", Reason::DIRECTORY_CHANGED.0.into()),
        ("DEBUG_METADIRECTORY_CHANGED", Reason::METADIRECTORY_CHANGED.0.into()),
        ("DEBUG_ABORT", Reason::ABORT.0.into()),
        ("FLAG_GATE", flag::GATE),
        ("FLAG_BEING_DEBUGGED", flag::BEING_DEBUGGED),
        ("FLAG_REQUEST_DIRECTORY_EVENTS", flag::REQUEST_DIRECTORY_EVENTS),
        ("MPIFLAG_I_AM_METADIR", mpi_flag::I_AM_METADIR),
        ("MPIFLAG_I_AM_DIR", mpi_flag::I_AM_DIR),
        ("MPIFLAG_I_AM_STARTER", mpi_flag::I_AM_STARTER),
        ("MPIFLAG_IGNORE_QUEUE", mpi_flag::IGNORE_QUEUE),
        ("MPIFLAG_PARTIAL_ATTACH_OK", mpi_flag::PARTIAL_ATTACH_OK),
    ];
    let numbers =
        numbers.map(|(name, value)| format!("_Static_assert(MPI2DD_{name} == {value}, \"{name}\");"));
    let layouts = [
        fields!("MPI2DD_INFO", Info, debug_state debugger_flags mpi_flags dll_name_32 dll_name_64 meta_host_name
            meta_executable_name abort_string proctable directory_table metadirectory_table proctable_size
            directory_size metadirectory_size meta_pid),
        fields!("MPI2DD_PROCDESC", ProcDesc, host_name executable_name spawn_desc comm_world_id pid rank),
        fields!("MPI2DD_SPAWNDESC", SpawnDesc, parent_comm_world_id parent_rank sequence),
        fields!("MPI2DD_DIRECTORYENTRY", DirectoryEntry, host_name executable_name pid),
    ];
    let source = format!(
        "#include <stddef.h>\n#include <mpiscope/mpi2dd.h>\n{}\n{}\n",
        numbers.join("\n"),
        layouts.join("\n")
    );
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("layouts.c");
    std::fs::write(&file, &source).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let output = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only", "-I"])
        .args([&include, &file])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}\n{source}", String::from_utf8_lossy(&output.stderr));
}
