//! `mpiscope trace`: exports a job's individual calls for other programs.

use crate::exit;
use crate::host_scope::HostScope;
use crate::render::{self, complain, while_working};
use crate::report::source::{self, Kind};
use crate::{selection, whole_file};
use anyhow::{Context, Result, bail};
use mpiscope_job::performance::trace::{self, JobTrace, Looked, jsonl, otf2, perfetto};
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write the individual calls and messages of a job for Perfetto, as JSON lines or as OTF2
///
/// The job must have been started with `mpiscope run --trace`; it may still run, or be saved by
/// `run --out DIR` or `mpiscope save`. Each thread keeps its last calls; the number of older calls that were
/// overwritten is reported. Exit status: 0 written, 1 some ranks are missing, 2 nothing could be read.
#[derive(clap::Args)]
pub struct Options {
    /// A job, the process id of a rank or of its launcher, the DIR of `run --out`, evidence files, saved
    /// images, core files or a DIR with them; not needed if there is only one job
    #[arg(value_name = "JOB|PID|DIR|FILE")]
    targets: Vec<OsString>,
    /// `perfetto` opens in ui.perfetto.dev; `jsonl` has one line per call or message, for pandas; `otf2` is a
    /// folder for Vampir and other tools, and needs the OTF2 library
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "jsonl")]
    format: Format,
    /// The file to write, or the folder for `otf2`; the default is standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the JSON Schema of a `jsonl` line and nothing else
    #[arg(long, exclusive = true)]
    schema: bool,
    #[command(flatten)]
    host_scope: HostScope,
}

#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// Protocol buffers: tracks, slices, arrows
    Perfetto,
    /// One JSON object per line (schema mpiscope.trace/1)
    Jsonl,
    /// An archive in a new folder; open its traces.otf2
    Otf2,
}

impl Format {
    fn predicted(self, trace: &JobTrace) -> u64 {
        match self {
            Self::Perfetto => perfetto::predicted(trace),
            Self::Jsonl => jsonl::predicted(trace),
            Self::Otf2 => otf2::predicted(trace),
        }
    }

    fn stream(self, trace: &JobTrace, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Perfetto => perfetto::write(trace, out),
            Self::Jsonl => jsonl::write(trace, out),
            Self::Otf2 => Err(io::Error::other("this format is a folder")),
        }
    }

    fn file(self, trace: &JobTrace, path: &Path) -> Result<()> {
        if self == Self::Otf2 {
            return Ok(otf2::write(trace, path)?);
        }
        whole_file::stream(path, |out| self.stream(trace, out))
    }
}

/// The schema of a `mpiscope.trace/1` line; a test checks it against the code.
const SCHEMA: &str = include_str!("../../../share/mpiscope.trace.1.schema.json");

pub fn trace(options: &Options) -> Result<ExitCode> {
    if options.schema {
        io::stdout().lock().write_all(SCHEMA.as_bytes())?;
        return Ok(ExitCode::from(exit::FINE));
    }
    if options.output.is_none() && options.format == Format::Otf2 {
        bail!("this format is a folder: name one with --output DIR");
    }
    if options.output.is_none() && options.format == Format::Perfetto && io::stdout().is_terminal() {
        bail!("this format is not for terminals: name a file with --output FILE");
    }
    options.output.iter().try_for_each(|path| whole_file::spare_evidence(path))?;
    let Looked { trace, mut errors } = while_working("reading the ranks", || read(options))?;
    if trace.ranks.iter().all(|rank| rank.threads.is_empty()) {
        if trace.ranks.is_empty() && !errors.is_empty() {
            bail!("{}", errors.join("; "));
        }
        bail!("none of its ranks keeps a trace: start the job with `mpiscope run --trace`");
    }
    say(options, &trace);
    match &options.output {
        Some(path) => options.format.file(&trace, path)?,
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            options
                .format
                .stream(&trace, &mut out)
                .and_then(|()| out.flush())
                .context(render::NOT_WRITTEN)?;
        }
    }
    errors.sort();
    errors.iter().for_each(|why| complain("trace", why));
    Ok(ExitCode::from(if errors.is_empty() { exit::FINE } else { exit::PROBLEM }))
}

/// Announces what will be written and what is missing.
fn say(options: &Options, trace: &JobTrace) {
    let count = |number: u64, noun: &str| render::count(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let to = options.output.as_ref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    complain(
        "trace",
        &format!(
            "{to}about {}, {} and {} of {}",
            render::bytes(options.format.predicted(trace)),
            count(trace.calls(), "call"),
            count(trace.messages.len() as u64, "message"),
            count(trace.ranks.len() as u64, "rank"),
        ),
    );
    if trace.gone() > 0 {
        let gone = count(trace.gone(), "older call");
        complain("trace", &format!("{gone} missing from it: use a larger `run --trace=SIZE` to keep more"));
    }
    if let cut @ 1.. = trace.messages_cut() {
        let cut = render::count(cut, "message");
        complain("trace", &format!("{cut} with one end missing: it is older than the rest of the trace"));
    }
    if trace.ranks.iter().any(|rank| rank.messages_gone) {
        complain(
            "trace",
            "the oldest messages have no arrows: set MPISCOPE_LEDGER=N before the start to keep more",
        );
    }
    if trace.hosts > 1 {
        complain("trace", jsonl::CLOCKS);
    }
}

fn read(options: &Options) -> Result<Looked> {
    Ok(match source::find("trace", &options.targets, options.host_scope)? {
        Kind::Job { job, errors: mut not_seen, .. } => {
            let mut looked = trace::of_job(&job);
            looked.errors.append(&mut not_seen);
            looked
        }
        Kind::Files(files) => trace::of_files(&files, &*selection::symbols()),
    })
}
