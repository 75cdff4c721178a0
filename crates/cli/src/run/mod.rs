//! `mpiscope run`: runs a program under the layer and reports when it has ended.
//!
//! ```text
//! form 1    mpiscope run ──► mpirun ──► ranks          a single parent: starts the launcher, collects, reports
//!               ▲ images ─────────────────┘
//!
//! form 2    mpirun ──► mpiscope run ──► rank           a wrapper per rank; the first one on a host leaves a
//!                          │ image, end                collector behind, which reports when the last rank
//!                          └──► collector              of the host has ended
//! ```
//!
//! Images arrive over a local socket ([`protocol`]) and are kept open so that killed ranks can be read too.
//! Nothing is written to the program's standard output, and its exit status becomes ours.

pub mod banner;
mod child;
mod collector;
pub mod ended;
mod ending;
pub mod environment;
mod evidence;
mod follow;
pub mod hosts;
pub mod launcher;
mod lost;
mod nobody;
mod pace;
mod peers;
mod preload;
mod protocol;
pub mod question;
mod rendezvous;
mod signals;
pub mod start_form;
mod starter;
pub mod watch;
mod wrapper;

use crate::attach::tmux;
use crate::open_files;
use crate::render::{bytes, complain};
use crate::seconds;
use anyhow::{Context, Result, bail};
use collector::Collector;
use hosts::relay::Meeting;
use mpiscope_job::performance::trace;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use watch::{Scope, Watch};

/// Run a program or a whole job under the layer and report what it did
///
/// There are two forms: `mpiscope run mpirun -n 4 ./app` and `mpirun -n 4 mpiscope run ./app`. Both produce
/// one report for all hosts; the second form also covers ranks that never call MPI or die before MPI_Init.
#[derive(clap::Args)]
pub struct Options {
    /// Also write the report to DIR/report.json, and everything known about the ranks to
    /// DIR/evidence.mpiscope
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON (on standard error, like the text)
    #[arg(long)]
    pub json: bool,
    /// Also compare both ends of every message, and buffers before and after they are sent, at a cost of up to a
    /// microsecond per message and more for long ones
    #[arg(long)]
    pub check: bool,
    /// Also keep the last calls of every thread, for `mpiscope trace`; SIZE is the memory per thread, for
    /// example 64M
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = TRACE_ON, value_parser = trace_size)]
    pub trace: Option<String>,
    /// Trace only calls between FROM and TO, in seconds since each rank's first call; without TO, until the
    /// rank's end
    #[arg(long, value_name = "FROM,TO", requires = "trace", value_parser = trace_window)]
    pub trace_window: Option<TraceWindow>,
    /// Hold every rank at the end of MPI_Init until a debugger releases it
    #[arg(long)]
    pub hold: bool,
    /// Hold every rank as --hold does, and open a debugger on each in tmux
    #[arg(long)]
    pub debug: bool,
    /// Explain why the job hangs if no rank completes a call for this long; 0 disables this. Everything known
    /// is saved to DIR/hang.mpiscope, or without --out to mpiscope-hang-JOB.mpiscope
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, allow_negative_numbers = true, value_parser = seconds::between(0.0, LONGEST))]
    pub hang_after: f64,
    /// Run this shell command when the job hangs, or when a signal ends it during a hang, with MPISCOPE_JOB,
    /// MPISCOPE_VERDICT, MPISCOPE_VERDICT_KIND and MPISCOPE_EVIDENCE set
    #[arg(long, value_name = "COMMAND")]
    pub on_hang: Option<OsString>,
    /// End the job when one of its hosts has not answered for this long; 0 leaves that to the launcher, which
    /// may wait forever
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, allow_negative_numbers = true, value_parser = seconds::between(0.0, LONGEST))]
    pub lost_after: f64,
    /// Print no report
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
    /// Collect the data of job processes spawned on this host; started by the layer
    #[arg(long, hide = true)]
    pub collect: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// The largest number of seconds that an option accepts.
const LONGEST: f64 = 1e9;
/// The value of `--trace` without a size.
const TRACE_ON: &str = "on";

/// Parses a size as the layer reads it from `MPISCOPE_TRACE`.
fn trace_size(text: &str) -> Result<String, String> {
    let wrong = || "write a size from 4K to 4G, such as 64M".to_owned();
    let bytes = trace::size(text).ok_or_else(wrong)?;
    if (1 << 12..=1 << 32).contains(&bytes) { Ok(text.to_owned()) } else { Err(wrong()) }
}

/// The period in which calls are traced, in the layer's format (milliseconds).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceWindow {
    typed: String,
    milliseconds: String,
}

fn trace_window(text: &str) -> Result<TraceWindow, String> {
    let wrong = || "write two numbers of seconds, such as 2.5,10 or 60,".to_owned();
    let (from, to) = text.split_once(',').ok_or_else(wrong)?;
    let ms = |text: &str| -> Result<String, String> {
        match text.trim() {
            "" => Ok(String::new()),
            text => {
                let seconds = text
                    .parse::<f64>()
                    .ok()
                    .filter(|seconds| (0.0..=LONGEST).contains(seconds))
                    .ok_or_else(wrong)?;
                Ok(((seconds * 1000.0).round() as u64).to_string())
            }
        }
    };
    let milliseconds = format!("{},{}", ms(from)?, ms(to)?);
    trace::window(&milliseconds).ok_or_else(wrong)?;
    Ok(TraceWindow { typed: text.to_owned(), milliseconds })
}

/// Returns the message shown before a traced run.
fn traces_need(size: &str) -> String {
    let calls = trace::size(size).unwrap_or(0);
    format!(
        "the trace needs up to {} for each thread that calls MPI, and up to {} for the messages and one-sided operations of \
         each process",
        bytes(calls),
        bytes(trace::messages_size(calls))
    )
}

impl Options {
    /// Returns the command as the user typed it, for display.
    pub fn command(&self) -> String {
        let words = self.program.iter().map(|w| w.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Runs the program and returns its exit status.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.collect {
        return wrapper::stand_in(options);
    }
    refuse_option("run", &options.program)?;
    refuse_trace_size(options)?;
    if options.debug {
        // The ranks would wait for debuggers that do not come.
        tmux::is_there()?;
    }
    let layer = environment::find_layer()?;
    if let Some(dir) = &options.out {
        std::fs::create_dir_all(dir).with_context(|| {
            format!("--out {}: cannot create the directory; name one that you can write to", dir.display())
        })?;
    }
    match start_form::detect(&options.program) {
        start_form::StartForm::Rank(place) => wrapper::run(options, &layer, &place),
        start_form::StartForm::Whole => whole(options, &layer),
    }
}

/// Returns what a program needs to run under the layer with these options.
fn under_layer(options: &Options, layer: &Path, job: &str) -> Result<environment::Environment> {
    let mut environment = environment::Environment::new(layer, job)?;
    environment.hold = options.hold || options.debug;
    environment.check = options.check;
    environment.trace = options.trace.clone();
    environment.trace_window = options.trace_window.clone();
    Ok(environment)
}

fn collector_of(job: &str) -> std::io::Result<Collector> {
    let (collector, unused) = rendezvous::Folder::first(|folder| {
        let place = folder.place(job);
        let listener = folder.listen(&place, &folder.turn()?)?;
        Ok(Collector::new(listener, place))
    })?;
    unused.iter().for_each(rendezvous::report_unused);
    Ok(collector)
}

/// Rejects what cannot be the name of a program after `mpiscope VERB`: an option, of this command or of a
/// launcher, or nothing.
pub fn refuse_option(verb: &str, program: &[OsString]) -> Result<()> {
    if program.first().is_some_and(|word| word.is_empty()) {
        bail!(
            "the program's name is empty: is a variable unset? Usage: mpiscope {verb} [OPTIONS] mpirun -n 4 ./app"
        );
    }
    let Some(option) = program.first().and_then(|word| word.to_str()).filter(|word| word.starts_with('-'))
    else {
        return Ok(());
    };
    let rest: Vec<_> = program.iter().map(|word| word.to_string_lossy()).collect();
    if matches!(
        option,
        "-n" | "-np" | "-N" | "-c" | "--np" | "-ppn" | "-hostfile" | "--hostfile" | "-host" | "--host"
    ) {
        bail!(
            "{option} is an option of the launcher, which `mpiscope {verb}` does not replace: \
             mpiscope {verb} mpirun {}",
            rest.join(" ")
        );
    }
    bail!(
        "`mpiscope {verb}` has no option {option}; see `mpiscope {verb} --help`. Usage: mpiscope {verb} [OPTIONS] mpirun -n 4 ./app"
    )
}

/// Returns what `mpiscope run` would start if this command is one, as behind a launcher, or the command itself.
pub fn below(command: &[OsString]) -> Cow<'_, [OsString]> {
    #[derive(clap::Parser)]
    struct Run {
        #[command(flatten)]
        options: Options,
    }
    let is_ours =
        command.first().is_some_and(|word| Path::new(word).file_name() == Some("mpiscope".as_ref()));
    let words = command.get(1..).filter(|words| is_ours && words.first().is_some_and(|verb| verb == "run"));
    match words.map(<Run as clap::Parser>::try_parse_from) {
        Some(Ok(run)) => Cow::Owned(run.options.program),
        _ => Cow::Borrowed(command),
    }
}

/// Rejects a size after `--trace`, where the program is expected.
fn refuse_trace_size(options: &Options) -> Result<()> {
    let size = options.program.first().and_then(|word| word.to_str());
    let Some(size) = size.filter(|word| word.starts_with(|c: char| c.is_ascii_digit())) else {
        return Ok(());
    };
    if options.trace.as_deref() == Some(TRACE_ON)
        && trace_size(size).is_ok()
        && !launcher::command::is_program(size.as_ref())
    {
        let rest: Vec<_> = options.program.iter().skip(1).map(|word| word.to_string_lossy()).collect();
        bail!("the size of a trace is written with `=`: mpiscope run --trace={size} {}", rest.join(" "));
    }
    Ok(())
}

/// Returns the command to start so that the report covers the ranks of all hosts, and the listener for those
/// hosts.
fn across(
    options: &Options,
    environment: &mut environment::Environment,
) -> Result<(Vec<OsString>, Option<hosts::gather::Gather>)> {
    let program = || options.program.clone();
    let names = hosts::wrapped::passed(std::env::vars_os().map(|(name, _)| name));
    match hosts::wrapped::plan(&options.program, &inner(options)?, &names) {
        hosts::wrapped::Plan::Here => Ok((program(), None)),
        hosts::wrapped::Plan::Unclear => {
            complain(
                "run",
                "cannot tell which word of this command is the program: the report will cover only the ranks of this \
                 host. To cover all ranks: mpirun ... mpiscope run APP",
            );
            Ok((program(), None))
        }
        hosts::wrapped::Plan::Wrapped(words) => match hosts::gather::Gather::begin(environment.job()) {
            Ok(gather) => {
                environment.uplink = gather.variables().to_vec();
                environment.uplink.push((hosts::COMPANION, companion(&inner(options)?, &options.program)));
                Ok((words, Some(gather)))
            }
            Err(why) => {
                complain(
                    "run",
                    &format!(
                        "other hosts cannot connect ({why}): the report will cover only the ranks of this host"
                    ),
                );
                Ok((program(), None))
            }
        },
    }
}

/// Returns the words that precede the program on every host.
fn inner(options: &Options) -> Result<Vec<OsString>> {
    let exe = std::env::current_exe()?;
    let mut words: Vec<OsString> = vec![exe.into(), "run".into()];
    words.extend(["--hang-after".into(), options.hang_after.to_string().into()]);
    if let Some(dir) = &options.out {
        words.extend(["--out".into(), std::path::absolute(dir)?.into()]);
    }
    let flags =
        [("--check", options.check), ("--hold", options.hold || options.debug), ("--quiet", options.quiet)];
    words.extend(options.trace.iter().map(|size| format!("--trace={size}").into()));
    words.extend(options.trace_window.iter().map(|window| format!("--trace-window={}", window.typed).into()));
    words.extend(flags.iter().filter(|(_, is_set)| *is_set).map(|(flag, _)| (*flag).into()));
    Ok(words)
}

/// Returns the command run by processes spawned on a host that had no rank before, as separated words. The
/// program in it is only a name.
fn companion(inner: &[OsString], program: &[OsString]) -> OsString {
    let mut words = inner.to_vec();
    words.push("--collect".into());
    words.extend_from_slice(program);
    words.join(std::ffi::OsStr::new("\u{1f}"))
}

/// Returns the data that other hosts sent, over connections or through the directory of `--out`, and notes on
/// it for the report.
fn gathered(
    gather: &hosts::gather::Gather,
    options: &Options,
    job: &str,
) -> (Vec<hosts::FromHost>, Vec<String>) {
    let mut others = gather.finish();
    let mut notes = gather.refused();
    if options.out.is_some()
        && let Ok(shared) = hosts::shared::Shared::find(options.out.as_deref(), job)
    {
        let through = shared.take(std::time::Duration::ZERO, |_| false);
        // No host waits for the report: those that can connect are released over their connection.
        shared.done();
        notes.extend(hosts::join::through(&through, shared.folder()));
        hosts::join::add(&mut others, through);
    }
    (others, notes)
}

/// Tells an enclosing `mpiscope run`, if any, that this one collects and reports what it starts.
fn tell_enclosing_run() {
    let Some(place) = std::env::var_os("MPISCOPE_COLLECTOR") else { return };
    let message = protocol::Message { kind: protocol::Kind::INNER, words: [protocol::VERSION, 0, 0] };
    // If the outer one is gone or has another version, it reports what it has.
    let _told = rendezvous::reach(Path::new(&place)).and_then(|outer| protocol::send(&outer, &message, None));
}

/// Acts as parent of the launcher when nothing can be collected.
fn alone(options: &Options, job: &str, environment: &environment::Environment) -> Result<ExitCode> {
    let signals = signals::Signals::block()?;
    let child = match child::spawn(&options.program, environment, &signals, child::Tie::Loose) {
        Ok(child) => child,
        Err(e) => return Ok(child::not_started(&options.program, &e)),
    };
    let watch = Watch::begin(job, options, None, Scope::Here);
    let ending = child::supervise(child, &signals, None, &|_| ())?;
    drop(watch);
    signals.mask().restore();
    child::end_like(ending)
}

/// Implements form 1: acts as parent of the launcher.
fn whole(options: &Options, layer: &Path) -> Result<ExitCode> {
    let job = environment::new_job();
    let mut environment = under_layer(options, layer, &job)?;
    environment.hold |= starter::being_debugged();
    open_files::as_many_as_allowed();
    let mut collector = match collector_of(&job) {
        Ok(collector) => collector,
        Err(why) => {
            complain("run", &format!("no report: {why}; the program runs anyway"));
            return alone(options, &job, &environment);
        }
    };
    tell_enclosing_run();
    environment.collector = Some(collector.place().to_owned());
    if let Some(size) = options.trace.as_ref().filter(|_| !options.quiet) {
        complain("run", &traces_need(size));
    }
    // Before any thread is started: threads inherit the mask, so none of them takes a signal.
    let signals = signals::Signals::block()?;
    let (program, gather) = across(options, &mut environment)?;
    collector.gathers = gather.is_some();
    collector.meeting = gather.as_ref().map(|gather| Meeting::Here(gather.meetings()));
    collector.follow();
    let mut starter = starter::Starter::new(options.debug);
    let child = match child::spawn(&program, &environment, &signals, child::Tie::Loose) {
        Ok(child) => child,
        Err(e) => return Ok(child::not_started(&options.program, &e)),
    };
    let scope = gather.as_ref().map_or(Scope::Here, |gather| Scope::Heard(gather.hosts()));
    let watch = Watch::begin(&job, options, None, scope);
    let mut lost = lost::Lost::new(gather.as_ref(), options.lost_after);
    let whole = Some((&mut collector, &mut starter, &mut lost));
    let ending = child::supervise(child, &signals, whole, &|sent| {
        if sent { watch.look_back() } else { watch.last_look() }
    })?;
    starter.close();
    collector.settle();
    let (mut others, mut notes) =
        gather.map_or_else(Default::default, |gather| gathered(&gather, options, &job));
    watch.look_back_on(&collector.ends(), &others);
    notes.extend(hosts::join::earlier(&mut others));
    let mut report = collector.report(options.command(), &others);
    report.notes.extend(notes.into_iter().map(|note| (note, Default::default())));
    // If a nested run has reported the ranks, do not report that there were none.
    let reported = collector.inner && report.ranks.is_empty();
    if reported {
        let note = "the program was reported by another `mpiscope run`, nested in this one";
        report.notes.push((note.to_owned(), Default::default()));
    }
    if !reported || options.json || options.out.is_some() {
        let scope = banner::Scope { whole: true, ending: Some(ending), ends: collector.ends(), others };
        banner::deliver(options, &job, report, scope, None);
    }
    signals.mask().restore();
    child::end_like(ending)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_program_of_a_run_behind_a_launcher_is_known() {
        let of = |line: &str| below(&words(line)).join(std::ffi::OsStr::new(" ")).into_string().unwrap();
        assert_eq!(of("/opt/bin/mpiscope run --out dir --check ./app -n 3"), "./app -n 3");
        assert_eq!(of("mpiscope run mpirun -n 2 ./app"), "mpirun -n 2 ./app");
        for other in ["./app mpiscope run", "mpiscope ps", "mpiscope run", "./run run ./app"] {
            assert_eq!(of(other), other);
        }
    }
}
