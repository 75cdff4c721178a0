//! With a core file that the kernel, or gdb where the kernel's go elsewhere, wrote.

use super::*;
use std::process::Command;

const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
const char constant_text[] = "only in the file";
int written = 0x1234567;
int main(int argc, char **argv) {
    written += argc;
    puts("ready"); fflush(stdout);
    if (argc > 1) { sleep(60); return 0; }
    *(volatile int *)16 = 1;
    return 0;
}
"#;

/// A folder with the program and a core file of it; whether the program crashed by itself.
fn core() -> Option<(tempfile::TempDir, PathBuf, bool)> {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("app.c"), PROGRAM).unwrap();
    let built = Command::new("cc").arg("-g").arg("-o").arg(at("app")).arg(at("app.c")).status();
    assert!(built.expect("a C compiler is needed").success());
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.trim() == "core" {
        let script = "ulimit -c unlimited; exec ./app";
        let run = Command::new("sh").args(["-c", script]).current_dir(folder.path()).output().unwrap();
        assert!(!run.status.success());
    }
    let written = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.path());
    let is_core = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("core");
    if let Some(path) = written.into_iter().find(is_core) {
        return Some((folder, path, true));
    }
    let path = taken_by_gdb(&folder)?;
    Some((folder, path, false))
}

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

#[test]
fn a_real_core_tells_who_died_of_what_and_shows_memory_and_symbols() {
    let Some((folder, path, crashed)) = core() else {
        eprintln!("skipped: the kernel's core files go elsewhere and there is no gcore");
        return;
    };
    let core = Core::open(&path).unwrap();
    let app = folder.path().join("app").canonicalize().unwrap();
    assert_eq!(core.executable().as_deref(), Some(app.as_path()));
    let written = core.symbol("written").unwrap().expect("in the full symbol table");
    assert_eq!(core.read_u32(written).unwrap(), 0x0123_4567 + if crashed { 1 } else { 2 });
    let text = core.symbol("constant_text").unwrap().unwrap();
    assert_eq!(core.read_c_string(text, 100).unwrap(), b"only in the file");
    let main = core.symbol("main").unwrap().unwrap();
    let modules = core.modules().unwrap();
    assert!(modules[0].executable.contains(&main) && modules[0].path == app);
    let thread = &core.threads()[0];
    assert_eq!(core.pid(), Some(thread.tid));
    assert_eq!(core.process().unwrap().name, "app");
    assert!(core.read_u64(thread.sp.unwrap()).is_ok());
    assert!(modules.iter().any(|module| module.executable.contains(&thread.pc.unwrap())));
    if crashed {
        let crash = core.crash().unwrap();
        assert_eq!((crash.signal_name(), crash.fault_address), (Some("SIGSEGV"), Some(16)));
        assert!((main..main + 200).contains(&thread.pc.unwrap()));
    }
    // Another program under the same path must not stand in for the one that died.
    std::fs::copy("/bin/true", folder.path().join("other")).unwrap();
    std::fs::rename(folder.path().join("other"), &app).unwrap();
    let core = Core::open(&path).unwrap();
    if crashed {
        assert!(core.read_u64(main).is_err());
    }
    assert_ne!(core.symbol("main").unwrap_or_default(), Some(main));
}

#[test]
fn a_real_core_that_is_damaged_gives_answers_or_errors() {
    let Some((_folder, path, _)) = core() else { return };
    let bytes = std::fs::read(path).unwrap();
    mutate(&bytes, 400, 0x1234_5678_9abc_def1);
}
