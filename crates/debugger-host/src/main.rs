//! The command: `debugger-host --plugin X.so (--pid N | --core FILE | --evidence FILE) comm 0x44000000`.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use debugger_host::handles::Handles;
use debugger_host::process::Process;
use debugger_host::{kept, memory, published, queues};
use mpiscope_target::{Core, Live, Target};
use serde_json::{Value, json};

/// Text for the help, which does not cover external subcommands.
const KINDS: &str = "\
Name an object by its kind and its handle, several objects one after the other; the answers are JSON:
  debugger-host --pid 1532 comm 0x84000002
  debugger-host --core core datatype 0xcc000000 request 0xac000001

Kinds: comm, group, datatype, request, message, op, errhandler, info, file, win, session, keyval;
of a status the handle is its address.";

/// Loads an MPI debugger plug-in and answers its callbacks from a process, a core file or an evidence file.
#[derive(Parser)]
#[command(version, after_help = KINDS, override_usage = "debugger-host [OPTIONS] <--pid <PID>|--core <CORE>|--evidence <FILE>> <COMMAND>\n       debugger-host [OPTIONS] <--pid <PID>|--core <CORE>|--evidence <FILE>> <KIND> <HANDLE> [<KIND> <HANDLE>]...")]
struct Arguments {
    /// The plug-in: a shared library with mpidbg_* or mqs_* functions. Default: the first existing plug-in
    /// named by the process.
    #[arg(long)]
    plugin: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// The rank in MPI_COMM_WORLD, which a debugger would know from the launcher. For an evidence file,
    /// selects the process.
    #[arg(long, default_value_t = -1)]
    rank: i32,
    #[command(subcommand)]
    question: Question,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Place {
    /// A running process.
    #[arg(long)]
    pid: Option<u32>,
    /// A core file.
    #[arg(long)]
    core: Option<PathBuf>,
    /// A file written by `mpiscope save`. It names no plug-in, so --plugin is required.
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Question {
    /// All message queues (mqs_*).
    Queues,
    /// What a handle plug-in reports about itself and the process (mpidbg_*).
    About,
    /// The C handle that a Fortran handle denotes (mpidbg_*).
    Fortran {
        /// The kind of object.
        kind: String,
        /// The integer.
        #[arg(allow_negative_numbers = true)]
        handle: i32,
    },
    /// An object (mpidbg_*): its kind and its handle, or several such pairs.
    #[command(external_subcommand)]
    Object(Vec<String>),
}

fn main() -> ExitCode {
    match answer(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("debugger-host: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn answer(arguments: &Arguments) -> Result<()> {
    let target: Arc<dyn Target> = match &arguments.place {
        Place { pid: Some(pid), .. } => Arc::new(Live::open(*pid)?),
        Place { core: Some(core), .. } => Arc::new(Core::open(core)?),
        Place { evidence: Some(file), .. } => {
            Arc::new(kept::process(file, u32::try_from(arguments.rank).ok())?)
        }
        _ => bail!("name a process with --pid, a core file with --core or an evidence file with --evidence"),
    };
    let plugin = plugin(arguments, target.as_ref())?;
    let plugin = plugin.as_os_str();
    let process = Process::new(target, arguments.rank);
    let answer = match &arguments.question {
        Question::Queues => serde_json::to_value(queues::dump(plugin, &process)?)?,
        Question::About => Handles::load(plugin, &process)?.about()?,
        Question::Fortran { kind, handle } => {
            let handle = Handles::load(plugin, &process)?.from_fortran(kind, *handle)?;
            json!(format!("{handle:#x}"))
        }
        Question::Object(words) => {
            let handles = Handles::load(plugin, &process)?;
            match words.as_slice() {
                [kind, handle] => handles.object(kind, number(handle)?)?,
                words if words.len() % 2 == 0 => several(&handles, words)?,
                _ => bail!("name a kind and a handle, or several such pairs: comm 0x44000000"),
            }
        }
    };
    tell(&mut std::io::stdout(), &answer)?;
    let left = memory::ledger();
    if left.blocks != 0 || left.wrong_frees != 0 {
        eprintln!(
            "the plug-in did not free {} blocks, and freed {} unknown ones",
            left.blocks, left.wrong_frees
        );
    }
    Ok(())
}

/// A reader that closes the pipe early is not an error.
fn tell(out: &mut impl Write, answer: &Value) -> Result<()> {
    match writeln!(out, "{}", serde_json::to_string_pretty(answer)?) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Returns the specified plug-in, otherwise the first existing plug-in named by the process.
fn plugin(arguments: &Arguments, target: &dyn Target) -> Result<PathBuf> {
    if let Some(plugin) = &arguments.plugin {
        return Ok(plugin.clone());
    }
    let variable =
        if matches!(arguments.question, Question::Queues) { published::QUEUES } else { published::HANDLES };
    let named = published::plugins(target, variable)?;
    let there = named.iter().find(|file| file.is_file());
    there.cloned().with_context(|| match named.first() {
        None => format!("{variable} of the process names no plug-in: specify one with --plugin"),
        Some(first) => {
            format!("none of the plug-ins named by {variable} exists; the first is {}", first.display())
        }
    })
}

/// Queries several objects; an error takes the place of a missing answer.
fn several(handles: &Handles<'_>, words: &[String]) -> Result<Value> {
    let mut answers = Vec::new();
    for pair in words.chunks_exact(2) {
        let [kind, handle] = pair else { continue };
        let answer = match handles.object(kind, number(handle)?) {
            Ok(answer) => answer,
            Err(error) => json!({ "error": error.to_string() }),
        };
        answers.push(json!({ "kind": kind, "handle": handle, "answer": answer }));
    }
    Ok(Value::Array(answers))
}

/// Parses a hexadecimal or decimal handle; an `int` may be negative.
fn number(text: &str) -> Result<u64> {
    if let Some(int) = text.strip_prefix('-').and_then(|_| text.parse::<i32>().ok()) {
        return Ok(u64::from(int.cast_unsigned()));
    }
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.with_context(|| format!("{text:?} is not a handle: give a number such as 0x44000000"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_a_decimal_or_hexadecimal_number_with_an_optional_sign() {
        let of = |text| number(text).ok();
        assert_eq!((of("0x84000002"), of("77")), (Some(0x8400_0002), Some(77)));
        assert_eq!(of("-2080374782"), Some(0x8400_0002));
        assert_eq!((of("solver"), of("-x"), of("-1.5")), (None, None, None));
    }

    /// A pipe or a disk that fails.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_not_an_error_but_a_full_disk_is() {
        assert!(tell(&mut Failing(ErrorKind::BrokenPipe), &json!({ "name": "solver" })).is_ok());
        assert!(tell(&mut Failing(ErrorKind::StorageFull), &json!({ "name": "solver" })).is_err());
    }

    #[test]
    fn the_help_names_the_kinds_and_an_example() {
        use clap::CommandFactory;
        let help = Arguments::command().render_help().to_string();
        assert!(help.contains("comm 0x84000002") && help.contains("errhandler"), "{help}");
    }
}
