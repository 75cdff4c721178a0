//! Tables of all widths, byte orders and sizes, read by this crate and by a C program written from the
//! document alone.

use crate::memory::{BASE, Memory, Proc};
use mpiscope_job::jobs::acquire::mpi2dd::{self, Block, Process};
use mpiscope_job::jobs::acquire::mpir;
use mpiscope_target::{ByteOrder, InMemory};
use std::path::{Path, PathBuf};
use std::process::Command;

const MACHINES: [(usize, ByteOrder); 4] =
    [(4, ByteOrder::Little), (4, ByteOrder::Big), (8, ByteOrder::Little), (8, ByteOrder::Big)];

/// Creates a directory and metadirectory with `n` entries in each table.
fn full(width: usize, order: ByteOrder, n: i32, packed: bool) -> Memory {
    let mut memory = Memory::new(width, order);
    let hosts: Vec<String> = (0..n).map(|i| format!("node{}.site", i / 64)).collect();
    let programs: Vec<String> = (0..n).map(|i| format!("/opt/prog{}", i % 3)).collect();
    let spawned = |i: i32| (i % 2 == 1).then_some(("h:1:1", i, 7));
    let processes: Vec<Proc<'_>> = (0..n)
        .map(|i| Proc {
            host: &hosts[i as usize],
            executable: &programs[i as usize],
            world: if i % 2 == 1 { "h:2:2" } else { "h:1:1" },
            pid: 1000 + i,
            rank: n - 1 - i,
            spawned: spawned(i),
        })
        .collect();
    memory.processes(&processes);
    let others: Vec<(&str, &str, i32)> =
        (0..n).map(|i| (hosts[i as usize].as_str(), programs[i as usize].as_str(), 50_000 + i)).collect();
    memory.directory(1, &others, packed);
    memory.directory(2, &others, packed);
    memory.meta("node0.site", "/opt/prog0", 1000);
    memory.put(7, 6, 1);
    memory.put(8, 0x5, 4);
    memory.put(12, 0x43, 4);
    memory
}

/// Returns the lines that the C reader prints.
fn lines(block: &Block) -> String {
    let dash = || "-".to_owned();
    let process = |p: &Process| format!("{}\t{}\t{}", p.place.host, p.place.pid, p.executable.display());
    let meta = block.meta.as_ref();
    let mut out = vec![format!(
        "info\t{}\t{:x}\t{:x}\t{}\t{}\t{}\t{}",
        block.debug_state,
        block.debugger_flags,
        block.mpi_flags,
        meta.map_or_else(dash, |m| m.place.host.clone()),
        meta.map_or_else(dash, |m| m.executable.display().to_string()),
        meta.map_or(0, |m| m.place.pid),
        block.abort.clone().unwrap_or_else(dash),
    )];
    for rank in &block.processes {
        let spawned = match &rank.spawned {
            Some(by) => format!("{}\t{}\t{}", by.world, by.rank, by.sequence),
            None => "-\t-\t-".into(),
        };
        out.push(format!("proc\t{}\t{}\t{}\t{spawned}", rank.world, rank.rank, process(&rank.process)));
    }
    out.extend(block.directories.iter().map(|p| format!("dir\t{}", process(p))));
    out.extend(block.metadirectories.iter().map(|p| format!("meta\t{}", process(p))));
    out.join("\n") + "\n"
}

/// Builds the C reader.
fn c_reader(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/programs/acquire/reader.c");
    let program = dir.join("reader");
    let mut build = Command::new("cc");
    build.args(["-Wall", "-Werror", "-O1"]).arg(source).arg("-o").arg(&program).arg("-ldl");
    assert!(build.status().unwrap().success());
    program
}

#[test]
fn an_independent_reader_agrees_on_every_width_byte_order_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let reader = c_reader(dir.path());
    for (width, order) in MACHINES {
        for n in [1, 2, 1000] {
            let memory = full(width, order, n, true);
            let file = dir.path().join("memory");
            std::fs::write(&file, &memory.bytes).unwrap();
            let mut command = Command::new(&reader);
            command.arg("dump").arg(&file).arg(width.to_string());
            command.arg(if order == ByteOrder::Big { "big" } else { "little" });
            let output = command.args([format!("{BASE:x}"), format!("{BASE:x}")]).output().unwrap();
            let theirs = String::from_utf8(output.stdout).unwrap();
            let ours = lines(&mpi2dd::read(&memory.target(9)).unwrap().unwrap());
            assert_eq!(ours, theirs, "{width} {order:?} {n}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(ours.lines().count() as i32, 1 + 3 * n);
        }
    }
}

#[test]
fn directories_in_natural_layout_are_read_like_packed_ones() {
    for (width, order) in MACHINES {
        for n in [1, 2, 1000] {
            let read = |packed| mpi2dd::read(&full(width, order, n, packed).target(9)).unwrap().unwrap();
            assert_eq!(lines(&read(true)), lines(&read(false)), "{width} {order:?} {n}");
        }
    }
}

#[test]
fn mpir_reads_only_the_four_bytes_of_the_pid() {
    for (width, order) in MACHINES {
        let mut memory = Memory::new(width, order);
        let mut words = Vec::new();
        for pid in [4711u64, 4712] {
            let texts = ["node1", "/opt/a"].map(|text| memory.text(text));
            words.extend([(texts[0], width), (texts[1], width), (pid, 4)]);
            if width == 8 {
                words.push((0x2f6c_7373, 4));
            }
        }
        let table = memory.words(&words);
        let pointer = memory.words(&[(table, width)]);
        let size = memory.words(&[(2, 4)]);
        let target = memory.target(1).with_symbol("MPIR_Breakpoint", 1);
        let target = target.with_symbol("MPIR_proctable", pointer).with_symbol("MPIR_proctable_size", size);
        let pids: Vec<u32> = mpir::read(&target).unwrap().iter().map(|p| p.place.pid).collect();
        assert_eq!(pids, [4711, 4712], "{width} {order:?}");
    }
}

#[test]
fn a_process_with_a_starters_symbols_but_an_empty_table_is_not_a_starter() {
    let mut memory = Memory::new(8, ByteOrder::Little);
    let zero = memory.words(&[(0, 8), (0, 8)]);
    let target: InMemory = memory.target(1).with_symbol("MPIR_Breakpoint", 1);
    let target = target.with_symbol("MPIR_proctable", zero).with_symbol("MPIR_proctable_size", zero);
    assert!(mpir::read(&target).unwrap().is_empty());
}

#[test]
fn the_c_header_has_the_documents_layout_in_both_widths() {
    let dir = tempfile::tempdir().unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let source = dir.path().join("layout.c");
    let text = "#include <stddef.h>\n#include <mpiscope/mpi2dd.h>\n#define W sizeof(MPI2DD_ADDR_T)\n\
        #define AT(f, n) _Static_assert(offsetof(struct MPI2DD_INFO, f) == (n), #f)\n\
        AT(version, 5); AT(debug_state, 7); AT(debugger_flags, 8); AT(mpi_flags, 12); AT(dll_name_32, 16);\n\
        AT(meta_host_name, 16 + 2 * W); AT(abort_string, 16 + 4 * W); AT(proctable, 16 + 5 * W);\n\
        AT(proctable_size, 16 + 8 * W); AT(meta_pid, 28 + 8 * W); AT(padding, 32 + 8 * W);\n\
        _Static_assert(sizeof(struct MPI2DD_INFO) == 64 + 8 * W, \"\");\n\
        _Static_assert(sizeof(struct MPI2DD_PROCDESC) == 4 * W + 8, \"\");\n\
        _Static_assert(sizeof(struct MPI2DD_SPAWNDESC) == W + 8, \"\");\n\
        _Static_assert(sizeof(struct MPI2DD_DIRECTORYENTRY) == 2 * W + 4, \"\");\n";
    std::fs::write(&source, text).unwrap();
    // -ffreestanding: the C library's 32-bit headers need not be installed.
    for width in ["-m64", "-m32"] {
        let mut compile = Command::new("cc");
        compile.args([
            width,
            "-ffreestanding",
            "-std=c11",
            "-Wall",
            "-Werror",
            "-c",
            "-o",
            "/dev/null",
            "-I",
        ]);
        assert!(compile.arg(&include).arg(&source).status().unwrap().success(), "{width}");
    }
}
