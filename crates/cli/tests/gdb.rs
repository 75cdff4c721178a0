//! The gdb script, as far as it can be tested without an MPI library. The test matrix covers real programs.

use std::path::Path;
use std::process::{Command, ExitCode};

use mpiscope_testkit::trials::{self, trial};

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../share/mpiscope-gdb.py");

fn main() -> ExitCode {
    trials::run(vec![
        trial!(a_manually_loaded_script_finds_the_command_of_its_own_installation, needs trials::gdb),
        trial!(names_cannot_control_the_terminal, needs trials::gdb),
        trial!(a_frame_without_a_symbol_is_shown_with_question_marks_as_in_gdb, needs trials::gdb),
        trial!(a_status_shows_the_bytes_of_the_message_if_its_fields_contain_them, needs trials::gdb),
        trial!(lines_about_leaks_and_unnamed_objects_are_those_of_inspect, needs trials::gdb),
        trial!(the_script_knows_every_kind_of_handle),
    ])
}

/// Returns the output of gdb.
fn gdb(script: &Path, line: &str) -> String {
    let output = Command::new("gdb")
        .args(["-nx", "-batch", "-ex"])
        .arg(format!("source {}", script.display()))
        .args(["-ex", line])
        .env_remove("MPISCOPE")
        .output()
        .expect("gdb runs");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn a_manually_loaded_script_finds_the_command_of_its_own_installation() {
    let dir = tempfile::TempDir::new().unwrap();
    let (share, bin) = (dir.path().join("share"), dir.path().join("bin"));
    std::fs::create_dir(&share).unwrap();
    std::fs::create_dir(&bin).unwrap();
    let script = share.join("mpiscope-gdb.py");
    std::fs::copy(SCRIPT, &script).unwrap();
    std::os::unix::fs::symlink(MPISCOPE, bin.join("mpiscope")).unwrap();
    let said = gdb(&script, "python print('command', command())");
    let wanted = format!("command {}", bin.join("mpiscope").display());
    assert!(said.contains(&wanted), "{said}");
}

fn names_cannot_control_the_terminal() {
    let line = r#"python print(repr(clean("L\u00f6ser \x1b[31m\n\t.")))"#;
    let said = gdb(Path::new(SCRIPT), line);
    assert!(said.contains("ser ?[31m??."), "{said}");
}

fn lines_about_leaks_and_unnamed_objects_are_those_of_inspect() {
    let leak =
        r#"{"count": 1, "kind": "request", "function": "MPI_Isend", "place": "a.c:3", "active": True}"#;
    let said =
        gdb(Path::new(SCRIPT), &format!("python print(left({leak})); print(left(dict({leak}, last=True)))"));
    assert!(said.contains("1 of kind request, MPI_Isend at a.c:3, active"), "{said}");
    assert!(said.contains("1 of kind request, last made by MPI_Isend at a.c:3, active"), "{said}");
    let window = r#"{"kind": "win", "identity": "0xa243f4900000001", "brief": "create", "standing": "live"}"#;
    let said = gdb(
        Path::new(SCRIPT),
        &format!("python print(brief({window})); print(brief(dict({window}, name='halo')))"),
    );
    assert!(said.contains("id:0a243f49: create\ncreate\n"), "{said}");
}

fn a_frame_without_a_symbol_is_shown_with_question_marks_as_in_gdb() {
    let dir = tempfile::TempDir::new().unwrap();
    let (source, program) = (dir.path().join("abort.c"), dir.path().join("abort"));
    std::fs::write(&source, "#include <stdlib.h>\nint main(void) { abort(); }\n").unwrap();
    let built = Command::new("gcc").args(["-s", "-o"]).arg(&program).arg(&source).status().unwrap();
    assert!(built.success());
    let line = format!("python [gdb.execute(c) for c in ('file {}', 'run', 'bt')]", program.display());
    let said = gdb(Path::new(SCRIPT), &line);
    assert!(said.contains(" in ?? ()") && !said.contains(" in  ()"), "{said}");
}

/// A status as laid out by MPICH, Open MPI and the standard ABI.
const STATUSES: &str = "\
#include <stddef.h>
#ifdef MPICH
typedef struct MPI_Status { int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR; } MPI_Status;
MPI_Status status = {-2, 3, 3, 42, 0};
#elif defined OPENMPI
struct ompi_status_public_t { int MPI_SOURCE, MPI_TAG, MPI_ERROR, _cancelled; size_t _ucount; };
typedef struct ompi_status_public_t MPI_Status;
MPI_Status status = {3, 42, 0, 0, 8589934590};
#else
typedef struct { int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5]; } MPI_Status;
MPI_Status status = {3, 42, 0, {1, 2, 3, 4, 5}};
#endif
int main(void) { return 0; }
";

fn a_status_shows_the_bytes_of_the_message_if_its_fields_contain_them() {
    let dir = tempfile::TempDir::new().unwrap();
    let (source, program) = (dir.path().join("status.c"), dir.path().join("status"));
    std::fs::write(&source, STATUSES).unwrap();
    for (library, bytes) in [("MPICH", ", 8589934590 bytes"), ("OPENMPI", ", 8589934590 bytes"), ("ABI", "")]
    {
        let mut gcc = Command::new("gcc");
        gcc.args(["-g", &format!("-D{library}"), "-o"]).arg(&program).arg(&source);
        assert!(gcc.status().unwrap().success(), "{library}");
        let line = format!("python gdb.execute('file {}'); gdb.execute('print status')", program.display());
        let said = gdb(Path::new(SCRIPT), &line);
        let wanted = format!(" = {{MPI_SOURCE = 3, MPI_TAG = 42, MPI_ERROR = 0{bytes}}}\n");
        assert!(said.contains(&wanted), "{library}: {said}");
    }
}

fn the_script_knows_every_kind_of_handle() {
    let script = include_str!("../../../share/mpiscope-gdb.py");
    let table = script.split_once("KINDS = {").unwrap().1.split_once('}').unwrap().0;
    let known: Vec<&str> =
        table.lines().map(|line| line.trim().trim_end_matches(',')).filter(|line| !line.is_empty()).collect();
    let handles = mpiscope_job::model::objects::Kind::ALL.iter().filter(|kind| kind.object_kind().is_some());
    let kinds: Vec<String> =
        handles.map(|kind| format!("\"{}\": \"{}\"", kind.c_type(), kind.name())).collect();
    assert_eq!(known, kinds);
}
