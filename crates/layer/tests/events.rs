//! Random traffic on every available MPI library: the events that a tool receives must match exactly what the
//! program did. Also tests events of the library itself, which no packaged library has: those of the mock
//! library (`cargo build -p mpiscope-mock-mpi`).
//!
//! The program writes its ledger (`traffic.c`), a preloaded tool the events it receives (`event_recorder.c`).
//! The tests need `libmpiscope.so` (`cargo build -p mpiscope-layer`) and real MPI libraries (`cargo xtask
//! mpi`), and fail without them. `MPISCOPE_ONLY` selects one library; `MPISCOPE_EVERY_SIZE` runs each library
//! with 2 to 8 ranks.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::{paths, run};

const LIMIT: Duration = Duration::from_secs(120);

/// Communicator handle and peer.
type Place = (u64, i64);
/// Tag and bytes, if known.
type Message = (i64, Option<u64>);

/// What happened, as recorded by the program or the tool.
#[derive(Default)]
struct Ledger {
    sent: BTreeMap<Place, Vec<Message>>,
    /// In the order in which the receives were posted.
    received: BTreeMap<Place, Vec<Message>>,
    /// Other lines: for each word, its number of lines and the sum of their numbers.
    counts: BTreeMap<String, (u64, i64)>,
}

/// Parses the program's output.
fn truth(text: &str) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["comm", ..] => {}
            ["send", comm, peer, tag, bytes] => {
                push(&mut ledger.sent, comm, peer, (tag.parse()?, size(bytes)?))?;
            }
            ["recv", comm, peer, tag, bytes] => {
                push(&mut ledger.received, comm, peer, (tag.parse()?, size(bytes)?))?;
            }
            [name, number] => {
                ledger.counts.insert(name.to_owned(), (1, number.parse()?));
            }
            _ => anyhow::bail!("{line}"),
        }
    }
    Ok(ledger)
}

/// Negative, or all ones: unknown.
fn size(bytes: &str) -> Result<Option<u64>> {
    let bytes: i128 = bytes.parse()?;
    Ok(u64::try_from(bytes).ok().filter(|bytes| *bytes != u64::MAX))
}

fn push(to: &mut BTreeMap<Place, Vec<Message>>, comm: &str, peer: &str, message: Message) -> Result<()> {
    to.entry((comm.parse()?, peer.parse()?)).or_default().push(message);
    Ok(())
}

/// Parses the tool's output.
fn heard(text: &str) -> Result<Ledger> {
    let mut ledger = Ledger::default();
    let mut received = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["send", comm, peer, tag, bytes] => {
                push(&mut ledger.sent, comm, peer, (tag.parse()?, size(bytes)?))?;
            }
            ["recv", comm, peer, tag, bytes, posted] => {
                received.push((posted.parse::<u64>()?, comm, peer, (tag.parse()?, size(bytes)?)));
            }
            [word, ref rest @ ..] => {
                let count = ledger.counts.entry(word.to_owned()).or_default();
                count.0 += 1;
                count.1 += rest.last().map_or(Ok(0), |number| number.parse())?;
            }
            [] => {}
        }
    }
    received.sort_by_key(|(posted, ..)| *posted);
    for (_, comm, peer, message) in received {
        push(&mut ledger.received, comm, peer, message)?;
    }
    Ok(ledger)
}

fn same_messages(
    what: &str,
    heard: &BTreeMap<Place, Vec<Message>>,
    output: &BTreeMap<Place, Vec<Message>>,
) -> Result<()> {
    for ((comm, peer), output) in output {
        let heard = heard.get(&(*comm, *peer)).map_or(&[][..], Vec::as_slice);
        let differs = heard.iter().zip(output).position(|(heard, output)| heard != output);
        ensure!(
            heard == output.as_slice(),
            "{what}, communicator {comm:#x}, peer {peer}: {} heard, {} output, the first that differs is {differs:?}",
            heard.len(),
            output.len()
        );
    }
    let more: Vec<_> = heard.keys().filter(|place| !output.contains_key(place)).collect();
    ensure!(more.is_empty(), "{what}: heard of {more:?}, which the program did not do");
    Ok(())
}

fn compare(output: &Ledger, heard: &Ledger) -> Result<()> {
    same_messages("sent", &heard.sent, &output.sent)?;
    same_messages("received", &heard.received, &output.received)?;
    let total = |messages: &BTreeMap<_, Vec<_>>| messages.values().map(Vec::len).sum::<usize>() as u64;
    let sum = |ledger: &Ledger, word: &str| ledger.counts.get(word).map_or(0, |count| count.1);
    let number = |word: &str| heard.counts.get(word).map_or(0, |count| count.0);
    ensure!(sum(heard, "dropped") == 0, "{} events were dropped", sum(heard, "dropped"));
    for (what, heard, output) in [
        ("partitions ready", sum(heard, "ready"), sum(output, "ready")),
        ("partitions arrived", number("arrived").cast_signed(), sum(output, "arrived")),
        ("cancelled receives", number("cancelled").cast_signed(), sum(output, "cancelled")),
        ("receives matched", number("matched").cast_signed(), total(&output.received).cast_signed()),
        ("requests completed", number("completed").cast_signed(), number("started").cast_signed()),
    ] {
        ensure!(heard == output, "{what}: heard {heard}, output {output}");
    }
    // A receive is posted unless a probe has matched its message.
    let (posted, matched) = (number("posted"), number("matched") + number("cancelled"));
    ensure!(posted <= matched && posted > 0, "{posted} receives posted, {matched} matched or cancelled");
    let sent = number("sent");
    ensure!(sent == total(&output.sent), "{sent} sends completed of {}", total(&output.sent));
    Ok(())
}

/// Compiles program and tool, runs them on `ranks` ranks and compares their output.
fn check(library: &Library, ranks: usize, seed: u64, rounds: usize, threads: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let at = |name: &str| dir.path().join(name);
    let programs = paths::programs();
    let include = format!("-I{}", paths::workspace().join("include").display());
    let tool = programs.join("mpi_t/event_recorder.c");
    library.cc_with(&[&tool], &at("recorder.so"), &["-shared", "-fPIC", &include])?;
    let wide = ["-DHAVE_PARTITIONED", "-DHAVE_ISENDRECV"];
    let options = if library.has(4, 0) { &wide[..] } else { &[] };
    library.cc_with(&[&programs.join("traffic.c")], &at("traffic"), options)?;
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo build -p mpiscope-layer`")?;
    let mut command = library.launch(ranks);
    command.arg("env").arg(format!("LD_PRELOAD={} {}", at("recorder.so").display(), layer.display()));
    command.arg(format!("TRAFFIC_OUT={}", at("output").display()));
    command.arg(format!("EVENT_RECORD={}", at("heard").display()));
    command.arg(at("traffic")).args([seed.to_string(), rounds.to_string()]);
    if threads {
        command.arg("threads");
    }
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success() && !outcome.stderr.contains("mpiscope:"), "{}", outcome.describe());
    for rank in 0..ranks {
        let read = |name: &str| read(&at(&format!("{name}.{rank}")));
        let (output, heard) = (truth(&read("output")?)?, heard(&read("heard")?)?);
        ensure!(!output.sent.is_empty(), "rank {rank} sent nothing: nothing is tested");
        compare(&output, &heard).with_context(|| format!("rank {rank} of {ranks}"))?;
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn libraries() -> Vec<Library> {
    let only = env::var("MPISCOPE_ONLY").ok();
    let mut libraries = mpi::found();
    libraries.retain(|library| only.as_ref().is_none_or(|only| *only == library.name));
    assert!(!libraries.is_empty(), "no MPI library; run `cargo xtask mpi`");
    libraries
}

/// Ranks wait by spinning, so only one run at a time.
static ONE: Mutex<()> = Mutex::new(());

#[test]
fn a_tool_rebuilds_the_ledger_of_random_traffic_from_events() {
    let _held = ONE.lock();
    let every = env::var_os("MPISCOPE_EVERY_SIZE").is_some();
    let mut failures = Vec::new();
    for (at, library) in libraries().iter().enumerate() {
        // Between them, the libraries cover all sizes.
        let sizes: Vec<usize> = if every { (2..=8).collect() } else { vec![2 + at % 7] };
        for ranks in sizes {
            if let Err(error) = check(library, ranks, ranks as u64, 4, ranks % 3 == 0) {
                failures.push(format!("{} with {ranks} ranks: {error:#}", library.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs `mock_events.c` on the mock library, which loses every `lose`-th event.
fn mock_events(lose: Option<&str>) -> Result<String> {
    let layer = paths::libmpiscope().context("no libmpiscope.so; run `cargo build -p mpiscope-layer`")?;
    let mock = paths::mock_library().context("no libmockmpi.so; run `cargo build -p mpiscope-mock-mpi`")?;
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("mock_events");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-I"]).arg(paths::workspace().join("crates/mock-mpi/include"));
    cc.arg(paths::programs().join("mock_events.c")).arg("-o").arg(&program).arg(&mock);
    let compiled = run::bounded(&mut cc, LIMIT)?;
    ensure!(compiled.success(), "{}", compiled.describe());
    let mut command = Command::new(program);
    command.env("LD_PRELOAD", layer).env("LD_LIBRARY_PATH", mock.parent().context("it lies nowhere")?);
    command.envs(lose.map(|every| ("MOCK_LOSE", every)));
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success(), "{}", outcome.describe());
    Ok(outcome.stdout)
}

#[test]
fn events_of_the_library_pass_through_with_time_source_level_and_losses() {
    let said = mock_events(None).expect("the program runs");
    let expected = "mock_sent: 2 elements, in place\n\
        9 delivered, 0 dropped, 0 wrong, tags 945, bytes 45, level 1\n\
        source mock, order 0, 1000 ticks, 1099511627776 at most, its clock goes on\n\
        9 after it was freed\n\
        mock_sent: 2 elements, in place\n\
        1 delivered and 3 dropped for a callback of too low a level\n\
        unexp_message_dequeued: 0 elements, in place\n\
        1 delivered that cannot be read, refused\n";
    assert_eq!(said, expected);
    // The third loss would be reported before an event that never comes.
    let said = mock_events(Some("3")).expect("the program runs");
    assert!(said.contains("\n6 delivered, 2 dropped, 0 wrong, tags 627, bytes 27, level 1\n"), "{said}");
}

#[test]
fn a_ledger_that_differs_in_one_message_is_rejected() {
    let output = truth("send 1 0 5 10\nsend 1 0 5 11\nrecv 2 1 7 3").expect("a ledger");
    let same = heard("send 1 0 5 10\nsend 1 0 5 11\nrecv 2 1 7 3 99").expect("a record");
    same_messages("sent", &same.sent, &output.sent).expect("the same");
    same_messages("received", &same.received, &output.received).expect("the same");
    for other in
        ["send 1 0 5 10", "send 1 0 5 11\nsend 1 0 5 10", "send 1 0 5 10\nsend 1 0 5 11\nsend 9 0 5 11"]
    {
        let other = heard(other).expect("a record");
        assert!(same_messages("sent", &other.sent, &output.sent).is_err());
    }
}

#[test]
fn receives_are_sorted_in_posting_order() {
    let record = heard("recv 1 0 5 10 200\nrecv 1 0 5 11 100").expect("a record");
    assert_eq!(record.received.get(&(1, 0)), Some(&vec![(5, Some(11)), (5, Some(10))]));
}
