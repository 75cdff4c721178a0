use super::*;
use object::{Object, ObjectSymbol};
use std::process::Command;
use std::time::{Duration, Instant};

// The tests depend on the line numbers.
const PROGRAM: &str = "\
__attribute__((noinline)) void callee(volatile int *p) { *p += 1; }
__attribute__((noinline)) void caller(volatile int *p) {
    callee(p);
    *p += 2;
}
int main(void) { volatile int n = 0; caller(&n); return n; }
";

fn run(program: &str, arguments: &[&str], folder: &Path) {
    let status =
        Command::new(program).args(arguments).current_dir(folder).status().expect("binutils are needed");
    assert!(status.success(), "{program} {arguments:?}");
}

fn built(flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prog.c"), PROGRAM).unwrap();
    run("cc", &[&["-O1", "-o", "app", "prog.c"], flags].concat(), folder.path());
    let app = folder.path().join("app");
    (folder, app)
}

/// Address and size of a function, determined without the code under test.
fn function(app: &Path, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(app).unwrap();
    let object = object::File::parse(bytes.as_slice()).unwrap();
    let symbol = object.symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
    (symbol.address(), symbol.size())
}

/// All locations in `caller` on line 3, where the call is.
fn call_lines(symbolizer: &Symbolizer, app: &Path, (address, size): (u64, u64)) -> Vec<String> {
    let places = (address..address + size).map(|at| symbolizer.locate(app, at).to_string());
    let mut places: Vec<_> = places.collect();
    places.dedup();
    places
}

#[test]
fn a_call_is_found_at_its_line_and_in_its_function() {
    for flags in [&["-g"][..], &["-g", "-gdwarf-4"], &["-g", "-gz"]] {
        let (_folder, app) = built(flags);
        let symbolizer = Symbolizer::new();
        let range = function(&app, "caller");
        assert!(call_lines(&symbolizer, &app, range).contains(&"prog.c:3".to_owned()), "{flags:?}");
        let place = symbolizer.locate(&app, range.0);
        assert_eq!((place.function.as_deref(), place.line), (Some("caller"), Some(2)));
        assert_eq!(format!("{place:#}"), "caller at prog.c:2");
        assert_eq!(symbolizer.problem(&app), None);
    }
}

#[test]
fn a_call_in_inlined_functions_is_found_in_each_of_them() {
    // The calls are on lines 2 and 3, 4, and 6.
    let source = "extern void out(void);\nstatic inline __attribute__((always_inline)) void inner(void) { out();\n\
                  out(); }\nstatic inline __attribute__((always_inline)) void outer(void) { inner(); }\n\
                  void out(void) { __asm__ volatile(\"\"); }\nint main(void) { outer(); return 0; }\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("prog.c"), source).unwrap();
    run("cc", &["-g", "-O1", "-fno-inline", "-o", "app", "prog.c"], folder.path());
    let app = folder.path().join("app");
    let (symbolizer, (address, size)) = (Symbolizer::new(), function(&app, "main"));
    let shown = |at| {
        symbolizer
            .locate_return_inlined(&app, at)
            .iter()
            .map(|place| format!("{place:#}"))
            .collect::<Vec<_>>()
    };
    let all: Vec<Vec<String>> = (address + 1..=address + size).map(shown).collect();
    for line in [2, 3] {
        let wanted =
            [format!("inner at prog.c:{line}"), "outer at prog.c:4".into(), "main at prog.c:6".into()];
        assert!(all.iter().any(|places| *places == wanted), "{all:#?}");
    }
    assert_eq!(
        symbolizer.locate_inlined(Path::new("/no/such/file"), 7).len(),
        1,
        "of what cannot be read, too"
    );
}

#[test]
fn a_return_address_at_the_start_of_the_next_function_belongs_to_the_call_before_it() {
    let (_folder, app) = built(&["-g"]);
    let symbolizer = Symbolizer::new();
    let (address, size) = function(&app, "caller");
    let place = symbolizer.locate_return(&app, address + size);
    assert_eq!((place.function.as_deref(), place.offset), (Some("caller"), address + size));
    let module = Module {
        path: app.clone(),
        bias: 0x5000_0000,
        start: 0x5000_0000,
        end: 0x5001_0000,
        executable: 0..0,
    };
    let called = symbolizer.locate_call(&[module], 0x5000_0000 + address + size).unwrap();
    assert_eq!(called, place);
    assert_eq!(symbolizer.locate_call(&[], 7), None);
}

#[test]
fn without_debug_information_the_function_and_the_offset_remain() {
    let (folder, app) = built(&[]);
    let (address, _) = function(&app, "caller");
    let place = Symbolizer::new().locate(&app, address + 1);
    assert_eq!(place.function.as_deref(), Some("caller"));
    assert_eq!(
        (place.to_string(), format!("{place:#}")),
        ("caller+0x1 in app".into(), "caller+0x1 in app".into())
    );
    assert!(Symbolizer::new().problem(&app).unwrap().contains("-g"));
    run("strip", &["app"], folder.path());
    let place = Symbolizer::new().locate(&app, address + 1);
    assert_eq!((place.function.clone(), place.to_string()), (None, format!("app+{:#x}", address + 1)));
}

#[test]
fn a_call_in_a_stripped_library_is_named_only_by_its_exported_functions() {
    let folder = tempfile::tempdir().unwrap();
    let source = "extern void out(void);\nstatic __attribute__((noinline)) void hidden(void) { out(); out(); }\n\
                  void seen(void) { out(); hidden(); }\n";
    std::fs::write(folder.path().join("lib.c"), source).unwrap();
    run("cc", &["-O0", "-shared", "-fPIC", "-o", "lib.so", "lib.c"], folder.path());
    let library = folder.path().join("lib.so");
    let ((seen, size), (hidden, _)) = (function(&library, "seen"), function(&library, "hidden"));
    run("strip", &["lib.so"], folder.path());
    let symbolizer = Symbolizer::new();
    let call = symbolizer.locate_return(&library, seen + size);
    assert_eq!(
        call.to_string(),
        format!("seen+{size:#x} in lib.so"),
        "the end of a call that does not return"
    );
    let call = symbolizer.locate_return(&library, hidden + 9);
    assert_eq!(call.to_string(), format!("lib.so+{:#x}", hidden + 9), "no other function's name");
}

#[test]
fn a_function_without_a_size_ends_with_its_section() {
    let folder = tempfile::tempdir().unwrap();
    let source = ".globl _start, bare\n.text\n_start: ret\nbare: ret\nret\n.section .more,\"ax\"\nret\n";
    std::fs::write(folder.path().join("bare.s"), source).unwrap();
    run("cc", &["-nostdlib", "-static", "-o", "bare", "bare.s"], folder.path());
    let (symbolizer, file) = (Symbolizer::new(), folder.path().join("bare"));
    let (bare, _) = function(&file, "bare");
    assert_eq!(symbolizer.locate(&file, bare + 1).to_string(), "bare+0x1 in bare");
    assert_eq!(symbolizer.locate(&file, bare + 2).function, None, "of another section");
}

#[test]
fn a_separate_debug_file_is_used_if_and_only_if_it_belongs_to_the_module() {
    for id in ["-Wl,--build-id", "-Wl,--build-id=none"] {
        let (folder, app) = built(&["-g", id]);
        let range = function(&app, "caller");
        run("objcopy", &["--only-keep-debug", "app", "app.debug"], folder.path());
        run("strip", &["app"], folder.path());
        run("objcopy", &["--add-gnu-debuglink=app.debug", "app"], folder.path());
        let place = Symbolizer::new().locate(&app, range.0);
        assert_eq!(
            (place.function.as_deref(), place.to_string().as_str()),
            (Some("caller"), "prog.c:2"),
            "{id}"
        );

        let (other, _) = built(&["-g", "-O0", id]);
        run("objcopy", &["--only-keep-debug", "app", "app.debug"], other.path());
        std::fs::rename(other.path().join("app.debug"), folder.path().join("app.debug")).unwrap();
        assert_eq!(Symbolizer::new().locate(&app, range.0).line, None, "{id}: of another program");
    }
}

#[test]
fn a_debug_file_is_found_by_build_id_below_the_root() {
    let (folder, app) = built(&["-g", "-Wl,--build-id=0xabcdef0123"]);
    let range = function(&app, "caller");
    let root = folder.path().join("root");
    let debug = root.join("usr/lib/debug/.build-id/ab");
    std::fs::create_dir_all(&debug).unwrap();
    run(
        "objcopy",
        &["--only-keep-debug", "app", debug.join("cdef0123.debug").to_str().unwrap()],
        folder.path(),
    );
    run("strip", &["app"], folder.path());
    std::fs::rename(&app, root.join("app")).unwrap();
    let place = Symbolizer::with_root(&root).locate(Path::new("/app"), range.0);
    assert_eq!(place.to_string(), "prog.c:2");
}

#[test]
fn a_file_that_is_not_a_program_is_reported_and_shown_as_module_and_offset() {
    let symbolizer = Symbolizer::new();
    for (path, reason) in
        [("/no/such/file", "No such file"), ("/dev/null", "regular"), ("/etc/passwd", "not an ELF")]
    {
        let place = symbolizer.locate(Path::new(path), 0x10);
        assert!(place.to_string().ends_with("+0x10"));
        let problem = symbolizer.problem(Path::new(path)).unwrap();
        assert!(problem.contains(reason), "{problem}");
    }
}

#[test]
fn damaged_programs_give_places_or_none_in_bounded_time() {
    let (folder, app) = built(&["-g"]);
    let (address, _) = function(&app, "caller");
    let (good, bad) = (std::fs::read(&app).unwrap(), folder.path().join("bad"));
    let (start, mut seed) = (Instant::now(), 0x9e37_79b9_u64);
    let mut below = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    for round in 0..1500 {
        let mut bytes = good.clone();
        match round % 3 {
            0 => bytes.truncate(below(good.len())),
            1 => (0..8).for_each(|_| bytes[below(good.len())] ^= 1 << below(8)),
            // The tables of segments and sections are at the ends.
            _ => {
                let at = if round % 2 == 0 { below(1024) } else { good.len() - 1 - below(2048) };
                bytes[at] = 0xff;
            }
        }
        // A new file each time: a mapped one must not be written to.
        let _ = std::fs::remove_file(&bad);
        std::fs::write(&bad, &bytes).unwrap();
        let symbolizer = Symbolizer::new();
        for at in [0, address, address + 5, u64::MAX] {
            let _ = symbolizer.locate_return(&bad, at).to_string();
        }
        let _ = symbolizer.problem(&bad);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
