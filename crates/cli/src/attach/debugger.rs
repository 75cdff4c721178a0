//! The debugger and its command lines.

use crate::gdb_script;
use std::path::Path;
use std::process::{Command, Stdio};

/// A debugger with the user's options.
#[derive(Debug, Clone)]
pub struct Debugger {
    program: String,
    options: Vec<String>,
}

impl Debugger {
    /// Uses the words given by the user; gdb if there are none or only options.
    pub fn new(words: &[String]) -> Self {
        match words.split_first() {
            Some((program, options)) if !program.starts_with('-') => {
                Self { program: program.clone(), options: options.to_vec() }
            }
            _ => Self { program: "gdb".into(), options: words.to_vec() },
        }
    }

    /// Returns the program to start.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the words given after `--`.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.program).chain(&self.options)
    }

    fn is_lldb(&self) -> bool {
        let name = Path::new(&self.program).file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name.contains("lldb"))
    }

    /// Returns the command line that attaches to a process and leaves the user at the prompt. With `open` the
    /// process also leaves `MPI_Init` as soon as the user continues it.
    pub fn interactive(&self, pid: u32, open: bool) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        words.extend(self.options.iter().cloned());
        if self.is_lldb() {
            words.extend(["-p".into(), pid.to_string()]);
            if open {
                words.extend(["-o", "expression -- *(int*)&MPIR_debug_gate = 1"].map(str::to_owned));
            }
        } else {
            words.push("-q".into());
            words.extend(script());
            // Pagination is off only while attaching, when no user is at the prompt; then the settings of the
            // user's own gdbinit apply.
            words.extend(["-ex".to_owned(), format!("with pagination off -- attach {pid}")]);
            if open {
                words.extend(["-ex", "set var *(int*)&MPIR_debug_gate = 1"].map(str::to_owned));
            }
        }
        words
    }

    /// Returns a command that attaches, runs one debugger command and detaches.
    pub fn batch(&self, pid: u32, command: &str) -> Command {
        let mut run = Command::new(&self.program);
        if self.is_lldb() {
            run.arg("--batch").args(&self.options).args(["-p", &pid.to_string(), "-o", command]);
        } else {
            run.args(["-q", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set width 0"])
                .args(&self.options)
                .args(script());
            run.args(["-p", &pid.to_string(), "-ex", MARK_GDB, "-ex", command]);
        }
        run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        run
    }

    /// Extracts the answer to the command from the debugger's output; `None` if the debugger did not get that
    /// far.
    pub fn answer(&self, printed: &str, command: &str) -> Option<String> {
        let answer = if self.is_lldb() {
            after_mark(printed, &format!("(lldb) {command}"))
        } else {
            after_mark(printed, MARK)
        }?;
        let noise = |line: &&str| {
            let line = line.trim();
            // Messages printed when detaching.
            !(line.starts_with("[Inferior ") && line.ends_with("detached]")
                || line.starts_with("(lldb)")
                || line.starts_with("warning: "))
        };
        Some(answer.lines().filter(noise).collect::<Vec<_>>().join("\n").trim_end().to_owned())
    }
}

/// Returns the gdb options that load the script for MPI objects, which also hides the layer's frames.
fn script() -> Vec<String> {
    let program = std::env::current_exe().ok();
    let line = program.and_then(|program| gdb_script::loading(&program));
    line.into_iter().flat_map(|line| ["-iex".to_owned(), line]).collect()
}

/// Printed by gdb before the answer begins.
const MARK: &str = "--mpiscope--";
const MARK_GDB: &str = "echo --mpiscope--\\n";

/// Returns the text after the line that equals the mark. In gdb a separate command prints it; lldb echoes
/// each command before its answer.
fn after_mark<'a>(printed: &'a str, mark: &str) -> Option<&'a str> {
    let at = printed.lines().position(|line| line.trim_end() == mark)?;
    let lines = printed.split_inclusive('\n').take(at + 1).map(str::len).sum();
    printed.get(lines..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gdb_is_the_default_debugger() {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let without_script = |all: Vec<String>| -> Vec<String> {
            let at = all.iter().position(|word| word.starts_with("python "));
            (0..all.len())
                .filter(|i| at.is_none_or(|at| *i != at && *i + 1 != at))
                .map(|i| all[i].clone())
                .collect()
        };
        let quiet = ["-q", "-ex", "with pagination off -- attach 7"];
        let gdb = without_script(Debugger::new(&[]).interactive(7, false));
        assert_eq!(gdb, words(&[&["gdb"], &quiet[..]].concat()));
        let tui = without_script(Debugger::new(&words(&["-tui"])).interactive(7, false));
        assert_eq!(tui, words(&[&["gdb", "-tui"], &quiet[..]].concat()));
        let lldb = Debugger::new(&words(&["/opt/lldb-15", "-x"]));
        assert_eq!(lldb.interactive(7, false), words(&["/opt/lldb-15", "-x", "-p", "7"]));
        assert!(lldb.interactive(7, true).iter().any(|word| word.contains("MPIR_debug_gate")));
    }

    #[test]
    fn the_answer_is_the_text_after_the_mark_without_the_closing_lines() {
        let printed = "[New LWP 3]\n0x1 in poll ()\n--mpiscope--\n#0  poll ()\n#1  main ()\n[Inferior 1 (process 3) detached]\n";
        let gdb = Debugger::new(&[]);
        assert_eq!(gdb.answer(printed, "bt").as_deref(), Some("#0  poll ()\n#1  main ()"));
        assert_eq!(gdb.answer("ptrace: Operation not permitted.\n", "bt"), None);
        let lldb = Debugger::new(&["lldb".to_owned()]);
        let printed = "(lldb) process attach --pid 3\n  frame #0: poll\n(lldb) bt\n  * frame #0: poll\n    frame #1: main\n";
        assert_eq!(lldb.answer(printed, "bt").as_deref(), Some("  * frame #0: poll\n    frame #1: main"));
        assert_eq!(lldb.answer("(lldb) process attach --pid 3\n", "bt"), None);
    }
}
