//! Random traffic on every available MPI library: the image must match exactly what the program did.
//!
//! The program writes what it did and a copy of its image; see `traffic.c`. The tests need `libmpiscope.so`
//! (`cargo build -p mpiscope-layer`) and real MPI libraries (`cargo xtask mpi`), and fail without them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use mpiscope_image::layout::{Loss, SectionKind};
use mpiscope_image::objects::{Comm, Flag, Life};
use mpiscope_image::traffic::{
    Entry, EntryFlag, Peer, Request, RequestKind, Traffic, UNKNOWN_SIZE, size_class,
};
use mpiscope_image::{Image, W64};
use mpiscope_testkit::mpi::{self, Library};
use mpiscope_testkit::{paths, run};

const LIMIT: Duration = Duration::from_secs(120);

/// A message as written by the program: handle of the communicator, peer, tag, bytes.
type Message = (u64, i32, i32, u64);

/// The output of one rank's program.
#[derive(Default)]
struct Truth {
    comms: Vec<(String, u64, u64)>,
    sent: Vec<Message>,
    received: Vec<Message>,
    counts: HashMap<String, u64>,
}

fn truth(path: &Path) -> Result<Truth> {
    let mut truth = Truth::default();
    for line in fs::read_to_string(path).with_context(|| path.display().to_string())?.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["comm", name, handle, n] => truth.comms.push((name.to_owned(), handle.parse()?, n.parse()?)),
            [kind @ ("send" | "recv"), comm, peer, tag, bytes] => {
                // Negative: unknown.
                let bytes = u64::try_from(bytes.parse::<i64>()?).unwrap_or(UNKNOWN_SIZE);
                let message = (comm.parse()?, peer.parse()?, tag.parse()?, bytes);
                if kind == "send" { truth.sent.push(message) } else { truth.received.push(message) }
            }
            [name, number] => {
                truth.counts.insert(name.to_owned(), number.parse()?);
            }
            _ => anyhow::bail!("{}: {line}", path.display()),
        }
    }
    Ok(truth)
}

/// The contents of one rank's image.
struct Seen {
    totals: Traffic,
    lost: u64,
    comms: HashMap<u64, Comm>,
    peers: HashMap<u64, Vec<Peer>>,
    sent: Vec<Entry>,
    received: Vec<Entry>,
    requests: Vec<Request>,
}

fn seen(path: &Path) -> Result<Seen> {
    let image = Image::open(fs::read(path).with_context(|| path.display().to_string())?)?;
    let totals = image.all::<Traffic>(SectionKind::TRAFFIC)?.remove(0).value;
    let mut comms = HashMap::new();
    let mut peers = HashMap::new();
    let table = image.table::<Peer>(SectionKind::PEERS)?;
    for comm in image.all::<Comm>(SectionKind::COMMS)?.into_iter().map(|s| s.value) {
        if comm.head.life.get() != Life::LIVE.0 {
            continue;
        }
        if let Some(first) = comm.peers.get().checked_sub(1) {
            let size = comm.size.get().max(comm.remote_size.get());
            let all = (0..u64::from(size)).map(|i| Ok(image.get(&table, first + i)?.value));
            peers.insert(comm.head.handle.get(), all.collect::<Result<_>>()?);
        }
        comms.insert(comm.head.handle.get(), comm);
    }
    let ledger = image.table::<Entry>(SectionKind::LEDGER)?;
    let (first, capacity) = (totals.ledger_first.get(), totals.ledger_capacity.get());
    let ring = |start: u64, written: u64| -> Result<Vec<Entry>> {
        let oldest = written.saturating_sub(capacity);
        (oldest..written).map(|i| Ok(image.get(&ledger, start + i % capacity)?.value)).collect()
    };
    let sent = ring(first, totals.ledger_sent.get())?;
    let mut received = ring(first + capacity, totals.ledger_received.get())?;
    received.sort_by_key(|e| e.order.get());
    let requests = image.all::<Request>(SectionKind::REQUESTS)?.into_iter().map(|s| s.value).collect();
    let lost = image.header()?.lost[Loss::REQUESTS.0 as usize].get();
    Ok(Seen { totals, lost, comms, peers, sent, received, requests })
}

fn message_of(entry: &Entry, handles: &HashMap<u64, u64>) -> Message {
    let handle = handles.get(&entry.comm.get()).copied().unwrap_or(0);
    (handle, entry.peer.get().cast_signed(), entry.tag.get().cast_signed(), entry.bytes.get())
}

fn same(what: &str, seen: u64, expected: u64) -> Result<()> {
    ensure!(seen == expected, "{what}: {seen} in the image, {expected} in the program");
    Ok(())
}

fn is_known(message: &Message) -> bool {
    message.3 != UNKNOWN_SIZE
}

fn histogram(what: &str, classes: &[W64], messages: &[Message]) -> Result<()> {
    for (class, word) in classes.iter().enumerate() {
        let expected = messages.iter().filter(|m| is_known(m) && size_class(m.3) == class).count() as u64;
        same(&format!("messages {what} of size class {class}"), word.get(), expected)?;
    }
    Ok(())
}

/// Compares one rank's image with the output of its program.
fn compare(truth: &Truth, seen: &Seen) -> Result<()> {
    // First, because it reports which message differs.
    compare_ledgers(truth, seen)?;
    let totals = &seen.totals;
    let sum = |messages: &[Message]| messages.iter().filter(|m| is_known(m)).map(|m| m.3).sum::<u64>();
    let unknown = truth.received.iter().filter(|m| !is_known(m)).count();
    let count = |name: &str| truth.counts.get(name).copied().unwrap_or(u64::MAX);
    same("messages sent", totals.sent.get(), truth.sent.len() as u64)?;
    same("bytes sent", totals.sent_bytes.get(), sum(&truth.sent))?;
    same("messages received", totals.received.get(), truth.received.len() as u64)?;
    same("bytes received", totals.received_bytes.get(), sum(&truth.received))?;
    same("messages of unknown size", totals.received_unsized.get(), unknown as u64)?;
    same("cancelled receives", totals.cancelled_receives.get(), count("cancelled"))?;
    same("probe hits", totals.probe_hits.get(), count("probes"))?;
    same("receives posted ever", totals.posted_ever.get(), count("posted"))?;
    same("partitions ready", totals.partitions_ready.get(), count("ready"))?;
    same("partitions arrived", totals.partitions_arrived.get(), count("arrived"))?;
    same("receives posted now", totals.posted.get(), 0)?;
    same("messages matched and not received", totals.matched.get(), 0)?;
    same("requests lost", seen.lost, 0)?;
    histogram("sent", &totals.sent_sizes, &truth.sent)?;
    histogram("received", &totals.received_sizes, &truth.received)?;
    for (name, handle, collectives) in &truth.comms {
        let comm = seen.comms.get(handle).with_context(|| format!("no communicator {name}"))?;
        same(&format!("collectives on {name}"), comm.collectives.get(), *collectives)?;
    }
    compare_peers(truth, seen)?;
    compare_requests(seen)
}

fn compare_peers(truth: &Truth, seen: &Seen) -> Result<()> {
    let mut expected: BTreeMap<(u64, i32), [u64; 4]> = BTreeMap::new();
    for (at, list) in [(0, &truth.sent), (2, &truth.received)] {
        for (comm, peer, _, bytes) in list {
            let counts = expected.entry((*comm, *peer)).or_default();
            counts[at] += 1;
            counts[at + 1] += if *bytes == UNKNOWN_SIZE { 0 } else { *bytes };
        }
    }
    for (handle, peers) in &seen.peers {
        for (rank, peer) in peers.iter().enumerate() {
            let expected = expected.remove(&(*handle, rank as i32)).unwrap_or_default();
            let names = ["sent", "bytes sent", "received", "bytes received"];
            let words = [&peer.sent, &peer.sent_bytes, &peer.received, &peer.received_bytes];
            for ((name, word), expected) in names.iter().zip(words).zip(expected) {
                same(&format!("{name}, communicator {handle:#x}, peer {rank}"), word.get(), expected)?;
            }
            same(&format!("receives posted from {rank}"), peer.posted.get(), 0)?;
        }
    }
    ensure!(expected.is_empty(), "the image has no record of the peers {:?}", expected.keys());
    Ok(())
}

fn compare_ledgers(truth: &Truth, seen: &Seen) -> Result<()> {
    let handles: HashMap<u64, u64> = seen.comms.iter().map(|(h, c)| (c.head.identity.get(), *h)).collect();
    for (what, entries, expected) in
        [("send", &seen.sent, &truth.sent), ("receive", &seen.received, &truth.received)]
    {
        same(&format!("entries of the ledger, {what}"), entries.len() as u64, expected.len() as u64)?;
        for (place, (entry, expected)) in entries.iter().zip(expected).enumerate() {
            let seen = message_of(entry, &handles);
            ensure!(
                seen == *expected,
                "{what} {place}: {seen:?} in the image, {expected:?} in the program; {entry:?}"
            );
            ensure!(entry.posted.get() != 0, "{what} {place} has no time");
        }
    }
    for entry in &seen.received {
        ensure!(entry.completed.get() >= entry.posted.get(), "received before it was posted: {entry:?}");
    }
    Ok(())
}

fn compare_requests(seen: &Seen) -> Result<()> {
    let mut cancelled = 0;
    for request in seen.requests.iter().filter(|r| r.head.uid.get() != 0) {
        if request.is(Flag::SHARED_HANDLE) {
            same("outstanding requests of a shared handle", request.outstanding.get().into(), 0)?;
        } else if request.head.life.get() == Life::MARKED.0 {
            ensure!(RequestKind(request.kind.get()) == RequestKind::SEND, "marked: {request:?}");
        } else {
            ensure!(request.head.life.get() == Life::FREED.0, "still live: {request:?}");
            ensure!(request.completed_at.get() >= request.started(), "never completed: {request:?}");
            if request.is(Flag::CANCELLED) {
                let nobody =
                    request.source.get().cast_signed() < 0 && request.actual_tag.get().cast_signed() < 0;
                ensure!(nobody && request.bytes.get() == 0, "received nothing: {request:?}");
                cancelled += 1;
            }
        }
    }
    ensure!(cancelled > 0, "no record of a receive that was cancelled");
    // Nor are those pending that were freed while active: their completion will never be known.
    same("requests pending", seen.totals.pending.get(), 0)
}

/// Messages between a rank and `peer` on a communicator, by tag, as recorded by one side.
fn between(entries: &[Entry], comm: u64, peer: u32, partitioned: bool) -> BTreeMap<i32, Vec<&Entry>> {
    let mut by_tag: BTreeMap<i32, Vec<&Entry>> = BTreeMap::new();
    let wanted = entries.iter().filter(|e| {
        e.comm.get() == comm
            && e.peer.get() == peer
            && (e.flags.get() & EntryFlag::PARTITIONED.0 != 0) == partitioned
    });
    for entry in wanted {
        by_tag.entry(entry.tag.get().cast_signed()).or_default().push(entry);
    }
    by_tag
}

/// Checks that the two sides of all messages can be paired by the ledger's rule alone.
fn compare_sides(all: &[Seen]) -> Result<u64> {
    let mut pairs = 0;
    for (a, from) in all.iter().enumerate() {
        for (handle, out) in from.comms.iter().filter(|(_, c)| c.peers.get() != 0) {
            let identity = out.head.identity.get();
            for (b, to) in all.iter().enumerate() {
                let Some(into) = to.comms.values().find(|c| c.head.identity.get() == identity) else {
                    continue;
                };
                // On the intercommunicator, the peers are those of the other half.
                let half = |rank: usize| rank < all.len() / 2;
                if out.remote_size.get() != 0 && half(a) == half(b) {
                    continue;
                }
                for partitioned in [false, true] {
                    let sent = between(&from.sent, identity, into.rank.get(), partitioned);
                    let received = between(&to.received, identity, out.rank.get(), partitioned);
                    ensure!(sent.keys().eq(received.keys()), "{a} to {b} on {handle:#x}: tags differ");
                    for (tag, sent) in &sent {
                        let received = &received[tag];
                        ensure!(sent.len() == received.len(), "{a} to {b} on {handle:#x} tag {tag}");
                        for (sent, received) in sent.iter().zip(received) {
                            let size = received.bytes.get();
                            let fits = size == UNKNOWN_SIZE || size == sent.bytes.get();
                            ensure!(fits, "{a} to {b} on {handle:#x} tag {tag}: {size} bytes received");
                            ensure!(
                                sent.posted.get() < received.completed.get(),
                                "{a} to {b} on {handle:#x} tag {tag}: received before it was sent"
                            );
                        }
                        pairs += sent.len() as u64;
                    }
                }
            }
        }
    }
    Ok(pairs)
}

/// Compiles and runs the program on `ranks` ranks and compares everything.
fn check(library: &Library, ranks: usize, seed: u64, rounds: usize, threads: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let (program, out) = (dir.path().join("traffic"), dir.path().join("ledger"));
    let mut options = vec!["-DABANDON"];
    if library.has(4, 0) {
        options.push("-DHAVE_PARTITIONED");
        options.push("-DHAVE_ISENDRECV");
    }
    library.cc_with(&[&paths::programs().join("traffic.c")], &program, &options)?;
    let mut command = library.launch(ranks);
    command.args(["env", &format!("LD_PRELOAD={}", layer()?.display()), "MPISCOPE_RECORD=all"]);
    command.arg("MPISCOPE_LEDGER=65536").arg(format!("TRAFFIC_OUT={}", out.display()));
    command.arg(&program).args([seed.to_string(), rounds.to_string()]);
    if threads {
        command.arg("threads");
    }
    let outcome = run::bounded(&mut command, LIMIT)?;
    ensure!(outcome.success() && !outcome.stderr.contains("mpiscope:"), "{}", outcome.describe());
    let mut all = Vec::new();
    for rank in 0..ranks {
        let ledger = PathBuf::from(format!("{}.{rank}", out.display()));
        let truth = truth(&ledger)?;
        let seen = seen(&PathBuf::from(format!("{}.image", ledger.display())))?;
        ensure!(!truth.sent.is_empty(), "rank {rank} sent nothing: nothing is tested");
        compare(&truth, &seen).with_context(|| format!("rank {rank} of {ranks}"))?;
        all.push(seen);
    }
    let pairs = compare_sides(&all)?;
    same("messages paired", pairs, all.iter().map(|s| s.totals.sent.get()).sum())
}

fn layer() -> Result<PathBuf> {
    paths::libmpiscope().context("no libmpiscope.so; run `cargo build -p mpiscope-layer`")
}

/// Runs on every library (or the one selected by `MPISCOPE_ONLY`) and reports all failures.
fn everywhere(ranks: usize, seed: u64, rounds: usize, threads: bool) {
    // Ranks wait by spinning, so only one run at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _held = ONE.lock();
    let only = std::env::var("MPISCOPE_ONLY").ok();
    let mut libraries = mpi::found();
    libraries.retain(|l| only.as_ref().is_none_or(|only| *only == l.name));
    assert!(!libraries.is_empty(), "no MPI library; run `cargo xtask mpi`");
    let failures: Vec<String> = libraries
        .iter()
        .filter_map(|library| {
            let error = check(library, ranks, seed, rounds, threads).err()?;
            Some(format!("{}: {error:#}", library.name))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_image_shows_the_traffic_of_two_ranks() {
    everywhere(2, 1, 12, false);
}

#[test]
fn the_image_shows_the_traffic_of_five_ranks() {
    everywhere(5, 7, 4, false);
}

#[test]
fn the_image_shows_the_same_traffic_with_threads_allowed() {
    everywhere(3, 3, 4, true);
}
