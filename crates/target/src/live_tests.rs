use super::*;
use std::process::{Child, Command, Stdio};

/// A sleeping child, killed and reaped at the end of the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        // The pid exists before the program runs: wait, with a limit, until the child is `sleep`.
        for _ in 0..1000 {
            let name = procfs::executable(child.id()).unwrap_or_default();
            let linked = modules_of(child.id()).map_or(0, |modules| modules.len()) >= 3;
            // It sleeps once the dynamic linker has finished.
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
            if linked && stat.contains(") S ") && name != std::env::current_exe().unwrap() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Self(child)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn modules_symbols_and_memory_of_a_child_are_read() {
    let sleeper = Sleeper::start();
    let live = Live::open(sleeper.0.id()).unwrap();
    assert_eq!((live.width(), live.byte_order()), (size_of::<usize>(), ByteOrder::HOST));
    let modules = live.modules().unwrap();
    assert_eq!(Some(&modules[0].path), live.executable().as_ref());
    let environ = live.symbol("environ").unwrap().expect("libc has it");
    let first = live.read_pointer(live.read_pointer(environ).unwrap()).unwrap();
    assert!(live.read_c_string(first, 1 << 16).unwrap().contains(&b'='));
    let malloc = live.symbol("malloc").unwrap().unwrap();
    assert!(modules.iter().any(|module| module.executable.contains(&malloc)));
    assert_eq!(live.symbol("no_such_symbol_anywhere").unwrap(), None);
    for module in &modules {
        assert_eq!(live.read_bytes(module.start, 4, 4).unwrap(), b"\x7fELF");
    }
}

#[test]
fn a_program_deleted_while_it_runs_still_has_its_symbols() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let (app, source) = (folder.path().join("app"), folder.path().join("app.c"));
    let text =
        "#include <unistd.h>\nint datum = 4711;\nint main(void) { write(1, \"x\", 1); sleep(60); return 0; }";
    std::fs::write(&source, text).unwrap();
    assert!(Command::new("cc").arg("-o").arg(&app).arg(&source).status().unwrap().success());
    let mut sleeper = Sleeper(Command::new(&app).stdout(Stdio::piped()).spawn().unwrap());
    sleeper.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    std::fs::remove_file(&app).unwrap();
    let live = Live::open(sleeper.0.id()).unwrap();
    let datum = live.symbol("datum").unwrap().expect("in the full symbol table");
    assert_eq!(live.read_i32(datum).unwrap(), 4711);
    assert_eq!(live.executable().unwrap(), app.canonicalize().unwrap_or(app));
}

#[test]
fn a_killed_child_is_reported_as_gone() {
    let mut sleeper = Sleeper::start();
    let live = Live::open(sleeper.0.id()).unwrap();
    assert!(live.is_alive());
    sleeper.0.kill().unwrap();
    sleeper.0.wait().unwrap();
    assert!(!live.is_alive());
    assert!(matches!(live.read_u8(0x1000), Err(Error::NoProcess { .. })));
    assert!(matches!(Live::open(sleeper.0.id()), Err(Error::NoProcess { .. })));
}

#[test]
fn a_bad_address_in_a_child_is_an_error() {
    let sleeper = Sleeper::start();
    let live = Live::open(sleeper.0.id()).unwrap();
    for address in [0, 8, u64::MAX, u64::MAX - 3, 1 << 63] {
        assert!(live.read_u64(address).unwrap_err().is_bad_address(), "{address:#x}");
    }
}
