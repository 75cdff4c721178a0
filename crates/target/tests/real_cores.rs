//! Core files written by the kernel, or by gdb if the kernel's are written elsewhere.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;

use mpiscope_target::{Core, Segment, Symbolizer, Target};
use mpiscope_testkit::cores::{core_in, written_where_the_program_runs};
use mpiscope_testkit::damage::Dice;
use mpiscope_testkit::trials::{self, trial};

fn main() -> ExitCode {
    trials::run(vec![
        trial!(a_core_file_of_the_kernel_shows_the_thread_its_signal_memory_and_symbols, needs written_where_the_program_runs),
        trial!(a_core_file_of_gdb_with_omitted_segments_shows_the_same, needs gcore),
        trial!(a_damaged_core_file_of_the_kernel_gives_answers_or_errors, needs written_where_the_program_runs),
        trial!(a_damaged_core_file_of_gdb_gives_answers_or_errors, needs gcore),
    ])
}

/// Requires that gdb can write a core file of a child.
fn gcore() -> Option<String> {
    static TAKEN: OnceLock<bool> = OnceLock::new();
    let take = || taken_by_gdb(&program()).is_some();
    (!TAKEN.get_or_init(take)).then(|| "there is no gcore, or it may not trace".to_owned())
}

const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
const char constant_text[] = "only in the file";
int written = 0x1234567;
int main(int argc, char **argv) {
    written += argc;
    int fd = memfd_create("image", 0);
    ftruncate(fd, 8192);
    strcpy(mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), "MAGIC of an image");
    puts("ready"); fflush(stdout);
    if (argc > 1) { sleep(60); return 0; }
    *(volatile int *)16 = 1;
    return 0;
}
"#;

fn program() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("app.c"), PROGRAM).unwrap();
    let built = Command::new("cc").arg("-g").arg("-o").arg(at("app")).arg(at("app.c")).status();
    assert!(built.expect("a C compiler is needed").success());
    folder
}

/// Returns `None` if this system does not write core files to the directory of the program.
fn written_by_kernel(folder: &tempfile::TempDir) -> Option<PathBuf> {
    let script = "ulimit -c unlimited; exec ./app";
    let run = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output().unwrap();
    assert!(!run.status.success());
    core_in(folder.path())
}

/// Returns `None` if there is no gdb, or it may not trace.
fn taken_by_gdb(folder: &tempfile::TempDir) -> Option<PathBuf> {
    use std::io::Read;
    let mut child = Command::new(folder.path().join("app"))
        .arg("wait")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 6];
    child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let pid = child.id().to_string();
    let taken = Command::new("gcore").arg("-o").arg(folder.path().join("core")).arg(&pid).output();
    child.kill().unwrap();
    child.wait().unwrap();
    taken.ok().filter(|taken| taken.status.success())?;
    Some(folder.path().join(format!("core.{pid}")))
}

/// Checks what both kinds of core file must contain. Returns the address of `main`.
fn check(core: &Core, app: &Path, written_value: u32) -> u64 {
    assert_eq!(core.executable().as_deref(), Some(app));
    let written = core.symbol("written").unwrap().expect("in the full symbol table");
    assert_eq!(core.read_u32(written).unwrap(), written_value);
    let text = core.symbol("constant_text").unwrap().unwrap();
    assert_eq!(core.read_c_string(text, 100).unwrap(), b"only in the file");
    let main = core.symbol("main").unwrap().unwrap();
    let modules = core.modules().unwrap();
    assert!(modules[0].executable.contains(&main) && modules[0].path == app);
    assert!(!modules[0].executable.contains(&text));
    // An image in unnamed shared memory is found by its magic bytes at the start of a segment.
    let magic =
        |segment: &&Segment| core.read_bytes(segment.address, 5, 5).is_ok_and(|bytes| bytes == b"MAGIC");
    let images: Vec<_> = core.segments().iter().filter(magic).collect();
    assert_eq!(images.len(), 1);
    assert_eq!(core.read_c_string(images[0].address, 100).unwrap(), b"MAGIC of an image");
    let thread = &core.threads()[0];
    assert_eq!(core.pid(), Some(thread.tid));
    assert_eq!(core.process().unwrap().name, "app");
    assert!(core.read_u64(thread.sp.unwrap()).is_ok());
    assert!(modules.iter().any(|module| module.executable.contains(&thread.pc.unwrap())));
    main
}

fn a_core_file_of_the_kernel_shows_the_thread_its_signal_memory_and_symbols() {
    let folder = program();
    let app = folder.path().join("app").canonicalize().unwrap();
    let path = written_by_kernel(&folder).unwrap();
    let core = Core::open(&path).unwrap();
    let main = check(&core, &app, 0x0123_4568);
    let crash = core.crash().unwrap();
    assert_eq!(
        (mpiscope_target::signal_name(crash.signal), crash.fault_address),
        (Some("SIGSEGV"), Some(16))
    );
    let pc = core.threads()[0].pc.unwrap();
    assert!((main..main + 200).contains(&pc));
    let place = Symbolizer::new().locate(&app, core.modules().unwrap()[0].address_in_file(pc));
    let line = 1 + PROGRAM.lines().position(|line| line.contains("(volatile int *)16")).unwrap();
    assert_eq!(format!("{place:#}"), format!("main at app.c:{line}"));

    // Another program at the same path must not be used in place of the one that died.
    std::fs::copy("/bin/true", folder.path().join("other")).unwrap();
    std::fs::rename(folder.path().join("other"), &app).unwrap();
    let core = Core::open(&path).unwrap();
    assert!(core.read_u64(main).unwrap_err().to_string().contains("missing or has changed"));
    assert_eq!(core.symbol("main").unwrap_or_default(), None);
}

fn a_core_file_of_gdb_with_omitted_segments_shows_the_same() {
    let folder = program();
    let app = folder.path().join("app").canonicalize().unwrap();
    let path = taken_by_gdb(&folder).unwrap();
    check(&Core::open(&path).unwrap(), &app, 0x0123_4569);
}

fn a_damaged_core_file_of_the_kernel_gives_answers_or_errors() {
    let folder = program();
    damaged(&written_by_kernel(&folder).unwrap());
}

fn a_damaged_core_file_of_gdb_gives_answers_or_errors() {
    let folder = program();
    damaged(&taken_by_gdb(&folder).unwrap());
}

/// Asks everything of the file with random damage; any answers will do, as long as they come.
fn damaged(path: &Path) {
    let whole = std::fs::read(path).unwrap();
    let mut dice = Dice(0x1234_5678_9abc_def1);
    // The tables are at the front; damage to mere memory has no effect.
    let tables = whole.len().min(8192);
    for round in 0..300 {
        let mut bytes = whole.clone();
        let at = dice.below(tables);
        match round % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << dice.below(8),
            _ => bytes[at..(at + 8).min(tables)].fill(0xff),
        }
        std::fs::write(path, &bytes).unwrap();
        let Ok(core) = Core::open(path) else { continue };
        let _asked = (core.modules(), core.symbol("environ"), core.executable(), core.crash().cloned());
        for segment in core.segments().iter().take(64) {
            for address in [segment.address, segment.address.wrapping_add(segment.stored), u64::MAX] {
                let _asked = (core.read_u64(address), core.read_c_string(address, 4096));
            }
        }
    }
}
