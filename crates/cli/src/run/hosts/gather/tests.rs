use super::super::join;
use super::super::message::Identity;
use super::*;
use mpiscope_job::hosts::other_hosts::Elsewhere;
use mpiscope_job::jobs::discover::discover;
use mpiscope_job::jobs::job_image::ImageId;
use mpiscope_job::model::locate::NoSymbols;
use mpiscope_job::save;
use mpiscope_job::test_image::TestImage;
use std::io::Write;
use tempfile::NamedTempFile;

const JOB: &str = "job";

fn socket(gather: &Gather) -> TcpStream {
    TcpStream::connect(("127.0.0.1", gather.port)).unwrap()
}

/// Connects as a host with rank 7; the gatherer has accepted it when this returns.
fn says(gather: &Gather, secret: &Secret, job: &str) -> io::Result<Sealed> {
    comes(gather, secret, job, ("n7", "n7"), &[7])
}

/// Connects as a host with this name, identity and ranks.
fn comes(
    gather: &Gather,
    secret: &Secret,
    job: &str,
    (name, id): (&str, &str),
    ranks: &[u32],
) -> io::Result<Sealed> {
    let mut host = Sealed::make(socket(gather), secret, Side::Host)?;
    let from = Identity { host: name.to_owned(), id: id.to_owned(), slurm: None };
    message::send(&mut host, &Message::Hello { job: job.to_owned(), from })?;
    loop {
        match message::receive(&mut host)? {
            Message::Time => message::send(&mut host, &Message::Clock(Moment::now().monotonic_ns))?,
            Message::Go => break,
            other => return Err(message::unexpected(&other)),
        }
    }
    message::send(&mut host, &Message::Alive(ranks.to_vec()))?;
    match message::receive(&mut host)? {
        Message::Go => Ok(host),
        other => Err(message::unexpected(&other)),
    }
}

#[test]
fn an_unauthenticated_host_learns_nothing_and_adds_nothing_to_the_report() {
    let gather = Gather::begin(JOB).unwrap();
    assert!(says(&gather, &Secret::new().unwrap(), JOB).is_err());
    // A host of another job that was given this key.
    assert!(says(&gather, &gather.secret, "another").is_err());
    // In plain text, with content that would be accepted from a host that knows the key.
    let mut clear = socket(&gather);
    let hello = br#"{"hello":{"job":"job","from":{"host":"n8","id":"n8"}}}"#;
    clear
        .write_all(&[&u32::try_from(hello.len()).unwrap().to_be_bytes(), hello.as_slice()].concat())
        .unwrap();
    let mut answer = Vec::new();
    let _cut = clear.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    assert!(gather.shared.hosts().is_empty());
    let host = says(&gather, &gather.secret, JOB).unwrap();
    assert_eq!(gather.shared.hosts().iter().map(|known| known.ranks.clone()).collect::<Vec<_>>(), [[7]]);
    drop(host);
    let heard = gather.finish();
    assert_eq!(heard.iter().map(|one| one.host.as_str()).collect::<Vec<_>>(), ["n7"]);
    // One with the wrong key, one without a key. The host of another job knows the key and does not
    // count.
    let refused =
        "2 connections that did not prove knowledge of the job's secret were refused, from 127.0.0.1";
    assert_eq!(gather.refused(), [refused]);
}

#[test]
fn silent_unauthenticated_connections_do_not_block_hosts() {
    let gather = Gather::begin(JOB).unwrap();
    let strangers: Vec<TcpStream> = (0..MOST_UNAUTHENTICATED / 2).map(|_| socket(&gather)).collect();
    for mut stranger in &strangers {
        stranger.write_all(&[0]).unwrap();
    }
    drop(says(&gather, &gather.secret, JOB).unwrap());
    // None of them delays the report.
    assert_eq!(gather.finish().len(), 1);
    drop(strangers);
}

/// Waits until `count` connections have ended.
fn lost(gather: &Gather, count: usize) {
    let until = Instant::now() + SILENCE;
    while gather.shared.hosts().iter().filter(|known| matches!(known.outcome, Some(Err(_)))).count() < count {
        assert!(Instant::now() < until, "the end of the connection is not noticed");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Makes the evidence file of a job on this host.
fn saved(job: &str) -> Vec<u8> {
    let file = NamedTempFile::new().unwrap();
    let found = discover().into_iter().find(|found| found.name == job).unwrap();
    save::save(&found, Duration::ZERO, false, &NoSymbols, Elsewhere::default(), file.path()).unwrap();
    std::fs::read(file.path()).unwrap()
}

/// Sends the final evidence of a job.
fn sends(host: &mut Sealed, job: &str) {
    delivers(host, &saved(job), Message::Evidence);
}

/// Sends a file after the given announcement.
fn delivers(host: &mut Sealed, bytes: &[u8], announced: fn(u64) -> Message) {
    message::send(host, &announced(bytes.len() as u64)).unwrap();
    host.write_all(bytes).unwrap();
    assert_eq!(message::receive(host).unwrap(), Message::Taken);
}

/// Returns hosts that sent nothing, with their ranks.
fn missing(heard: &[FromHost]) -> Vec<(&str, &[u32])> {
    heard.iter().filter(|one| one.evidence.is_err()).map(|one| (one.host.as_str(), &one.ranks[..])).collect()
}

#[test]
fn a_host_that_reconnects_is_announced_once_and_misses_only_unsent_data() {
    let job = "gather-again";
    let gather = Gather::begin(job).unwrap();
    let _rank = TestImage::new(job, 7, 9);
    drop(comes(&gather, &gather.secret, job, ("n7", "n7"), &[7, 8]).unwrap());
    lost(&gather, 1);
    let mut again = comes(&gather, &gather.secret, job, ("n7", "n7"), &[7]).unwrap();
    assert_eq!(again::names(&gather.shared.hosts()), ["n7"]);
    sends(&mut again, job);
    drop(comes(&gather, &gather.secret, job, ("n7", "n7"), &[8]).unwrap());
    lost(&gather, 2);
    let heard = gather.finish();
    assert_eq!(missing(&heard), [("n7", &[8][..])]);
    assert_eq!(heard.len(), 2);
}

#[test]
fn only_a_host_that_still_responds_is_given_more_time() {
    let job = "gather-busy";
    let gather = Gather::begin(job).unwrap();
    let _rank = TestImage::new(job, 7, 8);
    let mut busy = comes(&gather, &gather.secret, job, ("n7", "n7"), &[7]).unwrap();
    let _silent = comes(&gather, &gather.secret, job, ("n8", "n8"), &[8]).unwrap();
    let patience = RECENTLY_HEARD + Duration::from_secs(1);
    // On a busy machine saving may take longer than the silence allowed for a host.
    let evidence = saved(job);
    let heard = thread::scope(|scope| {
        let heard = scope.spawn(|| gather.finish_within(patience));
        let began = Instant::now();
        while began.elapsed() < patience + Duration::from_secs(1) {
            message::send(&mut busy, &Message::Alive(vec![7])).unwrap();
            while let Message::Hosts(_) = message::receive(&mut busy).unwrap() {}
            thread::sleep(Duration::from_millis(200));
        }
        delivers(&mut busy, &evidence, Message::Evidence);
        let heard = heard.join().unwrap();
        assert!(began.elapsed() < patience * EXTENSION_WHILE_HEARD, "the silent one is waited for as well");
        heard
    });
    assert_eq!(missing(&heard), [("n8", &[8][..])]);
    assert_eq!(heard.len(), 2);
}

/// The request for a snapshot.
const SNAPSHOT: Message = Message::Look { milliseconds: 0, stacks: false };

/// Takes no snapshot.
fn sees_nothing(host: &mut Sealed) {
    message::send(host, &Message::Seen(0)).unwrap();
    assert_eq!(message::receive(host).unwrap(), Message::Taken);
}

/// Sends signs of life until the host is asked for this look.
fn is_asked(host: &mut Sealed, wanted: &Message) {
    loop {
        message::send(host, &Message::Alive(vec![7])).unwrap();
        loop {
            match message::receive(host).unwrap() {
                Message::Go => break,
                Message::Hosts(_) => {}
                Message::Time => {
                    message::send(host, &Message::Clock(Moment::now().monotonic_ns)).unwrap();
                }
                other if other == *wanted => return,
                SNAPSHOT => {
                    sees_nothing(host);
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn hosts_are_asked_for_snapshots_and_only_unresponsive_ones_are_missing() {
    let job = "gather-looks";
    let gather = Gather::begin(job).unwrap();
    let _rank = TestImage::new(job, 7, 9);
    let host = |name| comes(&gather, &gather.secret, job, (name, name), &[7]).unwrap();
    let (mut looks, mut ended, _silent) = (host("n7"), host("n8"), host("n9"));
    sends(&mut ended, job);
    let hosts = gather.hosts();
    thread::scope(|scope| {
        let seen = scope.spawn(|| hosts.look(Duration::from_millis(1500), true, Duration::from_secs(5)));
        is_asked(&mut looks, &Message::Look { milliseconds: 1500, stacks: true });
        delivers(&mut looks, &saved(job), Message::Seen);
        let seen = seen.join().unwrap();
        let who: Vec<_> = seen.iter().map(|one| (one.host.as_str(), one.evidence.is_ok())).collect();
        assert_eq!(who, [("n7", true), ("n8", true), ("n9", false)]);
        // An answer to this request does not answer the next one.
        let seen = hosts.look(Duration::from_millis(1), false, Duration::from_millis(50));
        assert_eq!(seen.iter().filter(|one| one.evidence.is_ok()).count(), 1, "only the one that has ended");
        is_asked(&mut looks, &Message::Look { milliseconds: 1, stacks: false });
    });
}

#[test]
fn a_host_that_is_killed_is_reported_as_in_its_last_snapshot_unless_it_sends_its_evidence_later() {
    for comes_again in [false, true] {
        let job = if comes_again { "gather-killed-again" } else { "gather-killed" };
        let gather = Gather::begin(job).unwrap();
        let _rank = TestImage::new(job, 7, 9);
        let host = || comes(&gather, &gather.secret, job, ("n7", "n7"), &[7]).unwrap();
        let mut killed = host();
        is_asked(&mut killed, &SNAPSHOT);
        delivers(&mut killed, &saved(job), Message::Seen);
        drop(killed);
        lost(&gather, 1);
        if comes_again {
            sends(&mut host(), job);
        }
        let mut heard = gather.finish();
        assert!(heard.len() == 1 && heard[0].evidence.is_ok() == comes_again);
        let notes = join::earlier(&mut heard);
        assert!(heard[0].evidence.is_ok());
        let (processes, _) = join::observed(&heard);
        assert!(processes.iter().all(|one| one.end_unseen != comes_again), "{processes:?}");
        assert!(notes.len() == usize::from(!comes_again), "{notes:?}");
        assert!(notes.iter().all(|note| note.contains("what is shown of rank 7 was seen ")), "{notes:?}");
    }
}

#[test]
fn progress_is_each_hosts_latest_report_and_hosts_that_have_sent_all_have_no_live_ranks() {
    let job = "gather-progress";
    let gather = Gather::begin(job).unwrap();
    let _rank = TestImage::new(job, 7, 9);
    let mut hosts = ["n7", "n8"].map(|name| comes(&gather, &gather.secret, job, (name, name), &[7]).unwrap());
    assert_eq!(gather.hosts().progress(), None);
    let mut says = |at: usize, calls: u64, living: &[u64]| {
        let id = |inode: &u64| ImageId { host: format!("n{}", 7 + at), inode: *inode };
        let progress = Progress { calls, living: living.iter().map(id).collect(), ..Progress::default() };
        message::send(&mut hosts[at], &Message::Progress(progress)).unwrap();
        message::send(&mut hosts[at], &Message::Alive(vec![7])).unwrap();
        loop {
            match message::receive(&mut hosts[at]).unwrap() {
                Message::Go => break,
                SNAPSHOT => break sees_nothing(&mut hosts[at]),
                _ => {}
            }
        }
        gather.hosts().progress().map(|all| (all.calls, all.living.len())).unwrap()
    };
    assert_eq!(says(0, 5, &[1, 2]), (5, 2));
    assert_eq!(says(1, 3, &[1]), (8, 3), "two hosts may have images of the same number");
    assert_eq!(says(0, 6, &[2]), (9, 2));
    sends(&mut hosts[0], job);
    assert_eq!(gather.hosts().progress().map(|all| (all.calls, all.living.len())), Some((9, 1)));
}

#[test]
fn data_sent_later_is_not_attributed_to_an_earlier_program() {
    let job = "gather-later";
    let gather = Gather::begin(job).unwrap();
    drop(comes(&gather, &gather.secret, job, ("n7", "n7"), &[7]).unwrap());
    lost(&gather, 1);
    let _rank = TestImage::new(job, 7, 8);
    sends(&mut comes(&gather, &gather.secret, job, ("n7", "n7"), &[7]).unwrap(), job);
    assert_eq!(missing(&gather.finish()), [("n7", &[7][..])]);
}

#[test]
fn hosts_with_equal_names_are_numbered_and_reached_by_their_name() {
    let gather = Gather::begin(JOB).unwrap();
    let ids = ["a", "b", "a", "c", "b"];
    let _open: Vec<Sealed> =
        ids.map(|id| comes(&gather, &gather.secret, JOB, ("n7", id), &[]).unwrap()).into_iter().collect();
    let hosts = gather.shared.hosts();
    let shown: Vec<&str> = hosts.iter().map(|known| known.host.as_str()).collect();
    assert_eq!(shown, ["n7", "n7 (2)", "n7", "n7 (3)", "n7 (2)"]);
    assert_eq!(again::names(&hosts), ["n7"]);
}

#[test]
fn the_slot_of_an_unauthenticated_connection_is_freed_even_without_a_thread() {
    let shared = Arc::new(Shared::default());
    let mut all: Vec<Stranger> =
        (0..MOST_UNAUTHENTICATED).filter_map(|_| Stranger::one_more(&shared)).collect();
    assert_eq!(all.len(), MOST_UNAUTHENTICATED);
    assert!(Stranger::one_more(&shared).is_none() && Stranger::one_more(&shared).is_none());
    let last = all.pop();
    let hear = move || drop(last);
    assert!(thread::Builder::new().stack_size(1 << 60).spawn(hear).is_err());
    assert!(Stranger::one_more(&shared).is_some());
}
