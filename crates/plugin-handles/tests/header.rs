//! The C header compiles by itself, as C and as C++, next to another header with the names of the message
//! queue interface, and has the same layouts as the plug-in; it declares functions that the plug-in exports.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include")
}

fn compile(compiler: &[&str], source: &str) -> Result<(), String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = dir.path().join("test.src");
    std::fs::write(&file, source).map_err(|e| e.to_string())?;
    let (name, options) = compiler.split_first().ok_or("no compiler")?;
    let output = Command::new(name)
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-I"])
        .arg(include())
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

const C: &[&str] = &["cc", "-std=c11", "-x", "c"];
const CXX: &[&str] = &["c++", "-std=c++17", "-x", "c++"];

#[test]
fn the_header_compiles_alone_in_c_and_in_cxx() {
    let old_c = ["-std=c89", "-std=c99"].map(|standard| vec!["cc", standard, "-x", "c"]);
    let old_cxx = ["-std=c++98", "-std=c++11"].map(|standard| vec!["c++", standard, "-x", "c++"]);
    let old: Vec<&[&str]> = old_c.iter().chain(&old_cxx).map(Vec::as_slice).collect();
    for compiler in [&[C, CXX], old.as_slice()].concat() {
        compile(compiler, "#include <mpiscope/mpihandles.h>\n").unwrap();
        compile(compiler, "#define MPIDBG_MAX_OBJECT_NAME 64\n#include <mpiscope/mpihandles.h>\n").unwrap();
    }
}

#[test]
fn the_header_compiles_after_another_message_queue_header() {
    let text = std::fs::read_to_string(include().join("mpiscope/mqs.h")).unwrap();
    let other = format!("{}\n#include <mpiscope/mpihandles.h>\n", text.replace("MPISCOPE_MQS_H", "OTHER_H"));
    for compiler in [C, CXX] {
        compile(compiler, &other).unwrap();
    }
}

#[test]
fn the_layouts_match_the_plug_in() {
    use mpiscope_debug_interfaces::{extended as e, handles as h};
    let sizes = [
        ("mpidbg_comm_info_64_t", size_of::<h::CommInfo<64>>()),
        ("mpidbg_comm_info_128_t", size_of::<h::CommInfo<128>>()),
        ("mpidbg_errhandler_info_64_t", size_of::<h::ErrhandlerInfo<64>>()),
        ("mpidbg_errhandler_info_128_t", size_of::<h::ErrhandlerInfo<128>>()),
        ("mpidbg_request_info_t", size_of::<h::RequestInfo>()),
        ("mpidbg_status_info_t", size_of::<h::StatusInfo>()),
        ("mpidbg_object_t", size_of::<e::Object>()),
        ("mpidbg_comm_extra_info_t", size_of::<e::CommExtra>()),
        ("mpidbg_group_info_t", size_of::<e::GroupInfo>()),
        ("mpidbg_datatype_info_t", size_of::<e::DatatypeInfo>()),
        ("mpidbg_request_extra_info_t", size_of::<e::RequestExtra>()),
        ("mpidbg_message_info_t", size_of::<e::MessageInfo>()),
        ("mpidbg_op_info_t", size_of::<e::OpInfo>()),
        ("mpidbg_errhandler_extra_info_t", size_of::<e::ErrhandlerExtra>()),
        ("mpidbg_info_info_t", size_of::<e::InfoInfo>()),
        ("mpidbg_file_info_t", size_of::<e::FileInfo>()),
        ("mpidbg_window_info_t", size_of::<e::WindowInfo>()),
        ("mpidbg_session_info_t", size_of::<e::SessionInfo>()),
        ("mpidbg_keyval_info_t", size_of::<e::KeyvalInfo>()),
        ("mpidbg_status_extra_info_t", size_of::<e::StatusExtra>()),
        ("mpidbg_call_t", size_of::<e::Call>()),
        ("mpidbg_calls_info_t", size_of::<e::CallsInfo>()),
        ("mpidbg_type_run_t", size_of::<e::TypeRun>()),
        ("mpidbg_argument_t", size_of::<e::Argument>()),
    ];
    let mut source = String::from("#include <mpiscope/mpihandles.h>\n");
    for (name, size) in sizes {
        source += &format!("MPISCOPE_SIZE({name}, {size});\n");
    }
    source += &format!(
        "MPISCOPE_OFFSET(mpidbg_window_info_t, win_requests, {});\n",
        std::mem::offset_of!(e::WindowInfo, win_requests)
    );
    source += &format!(
        "MPISCOPE_OFFSET(mpidbg_request_extra_info_t, rx_reduction, {});\n",
        std::mem::offset_of!(e::RequestExtra, rx_reduction)
    );
    compile(C, &source).unwrap();
    let wrong = format!("{source}MPISCOPE_SIZE(mpidbg_object_t, 1);\n");
    assert!(compile(C, &wrong).is_err(), "a wrong size must not compile");
}

#[test]
fn everything_that_the_header_declares_is_exported() {
    let header = std::fs::read_to_string(include().join("mpiscope/mpihandles.h")).unwrap();
    let own = std::env::current_exe().unwrap();
    let plugin = own.ancestors().skip(1).take(2).map(|dir| dir.join("libmpiscope_handles.so"));
    let plugin = plugin.into_iter().find(|path| path.is_file()).expect("the plug-in was not built");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(plugin).output().unwrap();
    let exported: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().last().map(str::to_owned))
        .collect();
    let words = header.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let functions = header.match_indices('(').filter_map(|(at, _)| {
        let name = header[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?;
        (name.starts_with("mpidbg_") && !name.ends_with("_t")).then_some(name)
    });
    let mut found = 0;
    for name in functions {
        assert!(exported.iter().any(|known| known == name), "{name} is declared and not exported");
        found += 1;
    }
    assert!(found > 40, "the declarations were not found: {found}");
    for name in
        ["mpidbg_dll_bitness", "mpidbg_comm_name_map", "mpidbg_status_capabilities", "mpidbg_extended_kinds"]
    {
        assert!(words.clone().any(|word| word == name), "{name} is not declared");
        assert!(exported.iter().any(|known| known == name), "{name} is not exported");
    }
}
