//! Output on a terminal: a pager for long output, colors when requested; and the output of `--version`,
//! `help`, `completions` and the manual pages.

use std::path::Path;
use std::process::{Command, Output, Stdio};

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");

/// Runs the command with a terminal of `rows` rows as its standard output.
fn on_terminal(rows: usize, pager: &str, arguments: &str) -> String {
    let line = format!("stty rows {rows} cols 80; {MPISCOPE} {arguments}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).stdin(Stdio::null());
    let output = command.env("PAGER", pager).env("TERM", "xterm").env_remove("NO_COLOR").output();
    String::from_utf8(output.expect("`script` of util-linux").stdout).unwrap()
}

fn run(arguments: &[&str]) -> Output {
    Command::new(MPISCOPE).args(arguments).env_remove("NO_COLOR").output().unwrap()
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

const PAGER: &str = "sed 's/^/paged: /'";

#[test]
fn long_output_on_a_terminal_goes_through_the_pager_and_short_output_does_not() {
    for arguments in ["help run", "run --help"] {
        let long = on_terminal(10, PAGER, arguments);
        assert!(long.contains("paged: ") && long.contains("--on-hang"), "{long}");
        assert!(!on_terminal(500, PAGER, arguments).contains("paged: "));
    }
}

#[test]
fn no_pager_is_used_if_unwanted_or_unavailable() {
    for (pager, arguments) in [
        (PAGER, "--no-pager help run"),
        (PAGER, "--no-pager run --help"),
        (PAGER, "run --help --no-pager"),
        ("", "help run"),
        ("no-such-pager-anywhere", "help run"),
    ] {
        let shown = on_terminal(10, pager, arguments);
        assert!(shown.contains("--on-hang") && !shown.contains("paged: "), "{pager}: {shown}");
    }
    assert!(!text(&["help", "run"]).contains("paged: "));
}

#[test]
fn colors_are_printed_on_request() {
    assert!(on_terminal(500, "", "help").contains('\x1b'));
    assert!(!on_terminal(500, "", "help --color never").contains('\x1b'));
    assert!(!on_terminal(500, "", "ps --color=never --help").contains('\x1b'));
    assert!(!text(&["help"]).contains('\x1b'));
    assert!(text(&["--color", "always", "help"]).contains('\x1b'));
}

#[test]
fn help_for_a_verb_is_the_verbs_help_and_an_unknown_verb_is_named() {
    assert_eq!(text(&["help", "ps"]), text(&["ps", "--help"]));
    assert_eq!(text(&["help"]), text(&["--help"]));
    let output = run(&["help", "nothing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'nothing'"), "{output:?}");
}

#[test]
fn the_version_names_the_files_that_would_be_used() {
    let dir = tempfile::tempdir().unwrap();
    let (bin, lib) = (dir.path().join("bin"), dir.path().join("lib"));
    std::fs::create_dir(&bin).unwrap();
    std::fs::create_dir(&lib).unwrap();
    let command = bin.join("mpiscope");
    mpiscope_testkit::run::copy_program(Path::new(MPISCOPE), &command).unwrap();
    let version = |command: &Path| {
        let output = Command::new(command).arg("--version").env_remove("MPISCOPE_LAYER").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let without = version(&command);
    assert!(without.starts_with(&format!("mpiscope {}", env!("CARGO_PKG_VERSION"))), "{without}");
    assert!(without.contains("not found"), "{without}");
    // Any library of this machine will do; programs have the format of one.
    std::fs::copy(MPISCOPE, lib.join("libmpiscope.so")).unwrap();
    std::fs::write(lib.join("libmpiscope_queues.so"), "").unwrap();
    let with = version(&command).replace(&dir.path().canonicalize().unwrap().display().to_string(), "ROOT");
    assert!(with.replace("\n    ", "").contains("ROOT/lib/libmpiscope.so"), "{with}");
    assert!(with.contains("libmpiscope_queues.so"), "{with}");
    assert!(with.contains("not found next to the layer: libmpiscope_handles.so"), "{with}");
}

#[test]
fn completions_are_valid_for_their_shells() {
    for (shell, check, telling) in [
        ("bash", "-n", "complete -F"),
        ("zsh", "-n", "#compdef mpiscope"),
        ("fish", "-n", "complete -c mpiscope"),
        ("tcsh", "-n", "complete mpiscope"),
    ] {
        let script = text(&["completions", shell]);
        assert!(script.contains(telling) && script.contains("gdb-script"), "{shell}: {script}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("script");
        std::fs::write(&file, script).unwrap();
        match Command::new(shell).arg(check).arg(&file).output() {
            Ok(read) => assert!(read.status.success(), "{shell}: {read:?}"),
            Err(_) => eprintln!("{shell} is not installed: its script was not read"),
        }
    }
}

#[test]
fn bash_completes_the_verb_that_help_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("script");
    std::fs::write(&file, text(&["completions", "bash"])).unwrap();
    let typed = r#". "$1"; COMP_WORDS=(mpiscope help qu) COMP_CWORD=2; _mpiscope mpiscope qu help; echo "${COMPREPLY[@]}""#;
    let Ok(completed) = Command::new("bash").args(["-c", typed, "bash"]).arg(&file).output() else {
        eprintln!("bash is not installed");
        return;
    };
    assert_eq!(String::from_utf8_lossy(&completed.stdout).trim(), "queues", "{completed:?}");
}

#[test]
fn every_verb_has_a_manual_page() {
    let dir = tempfile::tempdir().unwrap();
    text(&["man-pages", dir.path().to_str().unwrap()]);
    let verbs = text(&["completions", "fish"]);
    for verb in ["run", "ps", "why", "inspect", "completions", "help"] {
        let page = std::fs::read_to_string(dir.path().join(format!("mpiscope-{verb}.1"))).unwrap();
        let head = page.lines().find(|line| line.starts_with(".TH")).unwrap_or_default();
        assert!(
            head.ends_with(&format!(" 1 \"\" \"mpiscope {}\" mpiscope", env!("CARGO_PKG_VERSION"))),
            "{head}"
        );
        assert!(page.contains(".SH NAME") && page.contains(&format!("mpiscope\\-{verb}")), "{page}");
        assert!(verbs.contains(verb));
    }
    assert!(dir.path().join("mpiscope.1").is_file() && !dir.path().join("mpiscope-man-pages.1").exists());
}
