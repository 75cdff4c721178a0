//! What a debugger sees without debug information: gdb in batch mode on stripped files reads the tables by
//! documented offsets alone.

use crate::common::{
    self, LIMIT, MPISCOPE, STARTER, compile, folder, libraries, pairs, prepare, seen, strip,
};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reads `MPI2DD_info` at the first stop: state, size, then each entry.
const RANK: &str = r#"set pagination off
set confirm off
set breakpoint pending on
break MPI2DD_breakpoint
run
set language c
set $i = (char *)&MPI2DD_info
printf "SEEN state %d flags %x size %d meta %d\n", *($i + 7), *(int *)($i + 12), *(int *)($i + 80), *(int *)($i + 92)
set $n = *(int *)($i + 80)
set $k = 0
while $k < $n
  set $e = *(char **)($i + 56) + 40 * $k
  printf "SEEN rank %d pid %d host %s program %s\n", *(int *)($e + 36), *(int *)($e + 32), *(char **)$e, *(char **)($e + 8)
  set $k = $k + 1
end
continue
"#;

/// Prints every state at which a rank stops; `FLAGS` is set at the first stop.
const STATES: &str = r#"set pagination off
set confirm off
set breakpoint pending on
set language c
break MPI2DD_breakpoint
run
set $i = (char *)&MPI2DD_info
set var *(int *)($i + 8) |= FLAGS
set $k = 0
while $k < 12 && $_isvoid($_exitcode)
  printf "STATE %d\n", *($i + 7)
  set $k = $k + 1
  continue
end
"#;

fn check(library: &Library, text: &str, program: &Path, n: usize) {
    let said = pairs(&seen(text, "rank "), 1, 6);
    let said: BTreeSet<_> = said.into_iter().collect();
    let read = seen(text, "SEEN rank");
    assert_eq!(said.len(), n, "{}: {text}", library.name);
    assert_eq!(pairs(&read, 2, 4), said, "{}: {text}", library.name);
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    for line in read {
        assert!(line.contains(&format!("host {} program {}", host.trim(), program.display())), "{line}");
    }
}

/// Writes a wrapper script for a launcher: rank 0 runs `program` in gdb, the others run it directly, all with
/// the layer.
fn under_gdb(dir: &Path, layer: &Path, script: &Path, program: &str) -> PathBuf {
    let wrapper = dir.join("wrapper.sh");
    let text = format!(
        "r=${{PMIX_RANK:-${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}}}\n\
         if [ \"$r\" = 0 ]; then exec gdb -nx -batch -ex 'set environment LD_PRELOAD {layer}' -x {script} --args {program}; fi\n\
         LD_PRELOAD={layer} exec {program}\n",
        layer = layer.display(),
        script = script.display(),
    );
    std::fs::write(&wrapper, text).unwrap();
    wrapper
}

pub fn gdb_stops_in_a_rank_and_reads_the_process_table_by_offsets() {
    let _turn = common::alone();
    let layer = common::layer();
    let dir = folder();
    let layer = strip(&layer, dir.path());
    for library in libraries() {
        eprintln!("MPI2DD: {}", library.name);
        let program = compile(&library, "idle", dir.path());
        let script = dir.path().join("rank.gdb");
        std::fs::write(&script, RANK).unwrap();
        let wrapper = under_gdb(dir.path(), &layer, &script, &program.display().to_string());
        let mut command = library.launch(2);
        command.arg("sh").arg(&wrapper);
        prepare(&mut command, &library, &layer);
        let outcome = run::bounded(&mut command, LIMIT).unwrap();
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(
            seen(&text, "SEEN state 1 flags").first().is_some_and(|l| l.contains("size 2")),
            "{}: {text}",
            library.name
        );
        check(&library, &text, &program, 2);
    }
}

/// Returns the states at which rank 0 of a job that spawns twice stops, with these debugger flags set.
fn states(library: &Library, layer: &Path, flags: u32) -> Vec<u32> {
    let dir = folder();
    let program = compile(library, "grow", dir.path());
    run::copy_program(&program, format!("{}.other", program.display()).as_ref()).unwrap();
    (1..=4).for_each(|step| common::go(dir.path(), step));
    let script = dir.path().join("states.gdb");
    std::fs::write(&script, STATES.replace("FLAGS", &flags.to_string())).unwrap();
    let line = format!("{} {}", program.display(), dir.path().display());
    let mut command = library.launch(2);
    command.arg("sh").arg(under_gdb(dir.path(), layer, &script, &line));
    prepare(&mut command, library, layer);
    // The children inherit the environment of the launcher.
    command.env("MPISCOPE_ACQUIRE", "1").env("LD_PRELOAD", layer);
    let outcome = run::bounded(&mut command, LIMIT).unwrap();
    let states = seen(&outcome.stdout, "STATE ");
    assert!(!states.is_empty(), "{}", outcome.describe());
    states.iter().filter_map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect()
}

pub fn directory_changes_stop_a_debugger_only_on_request() {
    const REQUEST_DIRECTORY_EVENTS: u32 = 4;
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    let [start, spawn, changed] = [1, 2, 6];
    // All parents take part in both spawns; rank 0 is the metadirectory and has both worlds.
    assert_eq!(states(&library, &layer, 0), [start, spawn, spawn]);
    let asked = states(&library, &layer, REQUEST_DIRECTORY_EVENTS);
    assert_eq!(asked, [start, changed, spawn, changed, spawn]);
}

pub fn gdb_stops_in_the_starter_of_every_launcher_and_reads_mpirs_table() {
    let _turn = common::alone();
    let layer = common::layer();
    let dir = folder();
    let starter = strip(Path::new(MPISCOPE), dir.path());
    for library in libraries() {
        eprintln!("MPIR: {}", library.name);
        let program = compile(&library, "idle", dir.path());
        let script = dir.path().join("starter.gdb");
        std::fs::write(&script, STARTER).unwrap();
        let mut command = Command::new("gdb");
        command
            .args(["-nx", "-batch", "-x"])
            .arg(&script)
            .arg("--args")
            .arg(&starter)
            .args(["run", "--quiet"]);
        command.arg(&library.mpirun).args(library.launch_arguments(3)).arg(&program);
        prepare(&mut command, &library, &layer);
        let outcome = run::bounded(&mut command, LIMIT).unwrap();
        let text = format!("{}{}", outcome.stdout, outcome.stderr);
        assert!(text.contains("SEEN state 1 size 3"), "{}: {text}", library.name);
        check(&library, &text, &program, 3);
    }
}

pub fn a_debugger_that_announces_itself_has_the_ranks_held_until_it_continues_the_starter() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), common::one());
    let dir = folder();
    let program = compile(&library, "idle", dir.path());
    let script = dir.path().join("held.gdb");
    let text = "set pagination off\nset language c\nbreak main\nrun\ndelete\nset var *(int *)&MPIR_being_debugged = 1\n\
                break MPIR_Breakpoint\ncontinue\necho AT BREAKPOINT\\n\nshell sleep 1\necho CONTINUING\\n\ncontinue\n";
    std::fs::write(&script, text).unwrap();
    let mut command = Command::new("gdb");
    command.args(["-nx", "-batch", "-x"]).arg(&script).arg("--args").arg(MPISCOPE).args(["run", "--quiet"]);
    command.arg(&library.mpirun).args(library.launch_arguments(2)).arg(&program);
    prepare(&mut command, &library, &layer);
    let outcome = run::bounded(&mut command, LIMIT).unwrap();
    let at =
        |word: &str| outcome.stdout.find(word).unwrap_or_else(|| panic!("{word}: {}", outcome.describe()));
    assert!(
        at("AT BREAKPOINT") < at("CONTINUING") && at("CONTINUING") < at("rank 0 of 2"),
        "{}",
        outcome.describe()
    );
}

pub fn an_abort_stops_the_starter_with_the_state_and_the_reason() {
    let _turn = common::alone();
    let layer = common::layer();
    let dir = folder();
    let source = dir.path().join("abort.c");
    let text = "#include <mpi.h>\nint main(int c, char **v) { int r; MPI_Init(&c, &v); MPI_Comm_rank(MPI_COMM_WORLD, &r);\n\
                if (r == 1) MPI_Abort(MPI_COMM_WORLD, 7); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); return 0; }\n";
    std::fs::write(&source, text).unwrap();
    let script = dir.path().join("abort.gdb");
    let text = "set pagination off\nset language c\nbreak MPIR_Breakpoint if *(int *)&MPIR_debug_state == 2\nrun\n\
                printf \"SEEN %d %s\\n\", *(int *)&MPIR_debug_state, *(char **)&MPIR_debug_abort_string\ncontinue\n";
    std::fs::write(&script, text).unwrap();
    for library in libraries() {
        let program = dir.path().join(format!("abort.{}", library.name));
        library.cc(&[&source], &program).unwrap();
        let mut command = Command::new("gdb");
        command
            .args(["-nx", "-batch", "-x"])
            .arg(&script)
            .arg("--args")
            .arg(MPISCOPE)
            .args(["run", "--quiet"]);
        command.arg(&library.mpirun).args(library.launch_arguments(2)).arg(&program);
        prepare(&mut command, &library, &layer);
        let outcome = run::bounded(&mut command, LIMIT).unwrap();
        let line = seen(&outcome.stdout, "SEEN 2").first().map(|line| (*line).to_owned());
        assert!(
            line.is_some_and(|l| l.contains("rank 1 of world") && l.contains("MPI_Abort")),
            "{}: {}",
            library.name,
            outcome.describe()
        );
    }
}

pub fn open_mpis_own_plug_in_stays_named_if_ours_is_missing() {
    let _turn = common::alone();
    let layer = common::layer();
    let dir = folder();
    // Alone in its folder, the layer has no plug-ins next to it.
    let layer = strip(&layer, dir.path());
    for library in libraries().iter().filter(|library| library.family == Family::OpenMpi) {
        let program = compile(library, "idle", dir.path());
        let mut command = Command::new("gdb");
        command.args(["-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "break MPI2DD_breakpoint"]);
        command.arg("-ex").arg(format!("set environment LD_PRELOAD {}", layer.display()));
        command.args([
            "-ex",
            "run",
            "-ex",
            "set language c",
            "-ex",
            "printf \"NAME %s\\n\", (char *)&MPIR_dll_name",
        ]);
        command.arg(&program);
        prepare(&mut command, library, &layer);
        let outcome = run::bounded(&mut command, LIMIT).unwrap();
        assert!(
            seen(&outcome.stdout, "NAME /").first().is_some_and(|l| l.contains("dbg_msgq")),
            "{}",
            outcome.describe()
        );
    }
}
