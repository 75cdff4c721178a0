//! `mpiscope core` on core files made from sample images of ranks, and on files that are not core files.

use mpiscope_image::layout::{SectionKind, State};
use mpiscope_image::objects::{Comm, Flag, Life};
use mpiscope_image::traffic::{Request, RequestKind};
use mpiscope_job::test_image::TestImage;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// Handles of MPICH's ABI.
const WORLD: u64 = 0x4400_0000;
const INT: u64 = 0x4c00_0405;
const SOLVER: u64 = 0x8400_0001;

fn core(args: &[&str]) -> Output {
    Command::new(MPISCOPE).env("COLUMNS", "400").arg("core").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn note(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut note = Vec::new();
    note.extend([5, body.len() as u32, kind].map(u32::to_le_bytes).concat());
    note.extend(b"CORE\0\0\0\0");
    note.extend(body);
    note.resize(note.len().next_multiple_of(4), 0);
    note
}

/// Stack pointer of the thread that died; no memory is mapped there.
const STACK_POINTER: u64 = 0x7ffd_0000_0000;

/// What killed the process: signal, code, and the address or the sender.
#[derive(Clone, Copy)]
struct Killer(i32, i32, u64);

/// Makes an x86-64 core file with one mapping and the notes of a killed process.
fn core_file(memory: &[u8], killer: Option<Killer>) -> Vec<u8> {
    const AT: usize = 0x1000;
    let tid = std::process::id();
    let mut notes = Vec::new();
    let mut status = vec![0; 336];
    put(&mut status, 32, &tid.to_le_bytes());
    put(&mut status, 112 + 16 * 8, &0x1234u64.to_le_bytes());
    put(&mut status, 112 + 19 * 8, &STACK_POINTER.to_le_bytes());
    notes.extend(note(1, &status));
    if let Some(Killer(signal, code, value)) = killer {
        let mut info = vec![0; 128];
        put(&mut info, 0, &signal.to_le_bytes());
        put(&mut info, 8, &code.to_le_bytes());
        put(&mut info, 16, &value.to_le_bytes());
        notes.extend(note(0x5349_4749, &info));
    }
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([4u16, 62].map(u16::to_le_bytes).concat());
    file.extend(1u32.to_le_bytes());
    file.extend([0u64, 64, 0].map(u64::to_le_bytes).concat());
    file.extend(0u32.to_le_bytes());
    file.extend([64u16, 56, 2, 64, 0, 0].map(u16::to_le_bytes).concat());
    let (len, notes_len) = (memory.len() as u64, notes.len() as u64);
    file.extend([4u32, 4].map(u32::to_le_bytes).concat());
    file.extend([64 + 112, 0, 0, notes_len, 0, 4].map(u64::to_le_bytes).concat());
    file.extend([1u32, 6].map(u32::to_le_bytes).concat());
    file.extend([AT as u64, 0x7f00_0000_0000, 0, len, len, 0x1000].map(u64::to_le_bytes).concat());
    file.extend(notes);
    file.resize(AT, 0);
    file.extend(memory);
    file
}

/// A directory of core files.
struct Cores(TempDir, SystemTime);

impl Cores {
    fn new() -> Self {
        Self(TempDir::new().unwrap(), SystemTime::now() - Duration::from_secs(100))
    }

    /// Adds the core file of a rank that died `after_ms` after a common start.
    fn add(&self, name: &str, sample: &TestImage, killer: Option<Killer>, after_ms: u64) -> PathBuf {
        let path = self.0.path().join(name);
        let mut memory = sample.bytes();
        memory.resize(memory.len().next_multiple_of(4096), 0);
        std::fs::write(&path, core_file(&memory, killer)).unwrap();
        // The earlier of a file's times counts, and its birth time is now.
        let died = self.1 + Duration::from_millis(after_ms);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(died).unwrap();
        path
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }

    fn printed(&self) -> String {
        let output = core(&[self.path()]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn json(&self) -> Value {
        let value = serde_json::from_slice(&core(&["--json", self.path()]).stdout).unwrap();
        mpiscope_testkit::schema::check(&value).unwrap();
        value
    }
}

/// Identity of the communicator, the same on all ranks.
const SHARED: u64 = 0x5eed_5eed_5eed_5eed;

fn rank(rank: u32) -> TestImage {
    member(rank).0
}

/// Makes a rank, and its view of the communicator.
fn member(rank: u32) -> (TestImage, &'static Comm) {
    let sample = TestImage::new("postmortem", rank, 4);
    let comm = sample.shares_comm(SOLVER, "solver", 4, SHARED);
    (sample, comm)
}

/// Makes a rank in the collective with this number on the communicator.
fn inside(rank: u32, function: &str, number: u64, root: i32) -> TestImage {
    let (sample, comm) = member(rank);
    sample.enters_collective(function, (SOLVER, comm), number, root);
    sample
}

const SEGV: Killer = Killer(libc::SIGSEGV, 1, 16);
/// Sent by the launcher, process 7.
const TERM: Killer = Killer(libc::SIGTERM, 0, 7);

/// Makes four core files: rank 2 used a null pointer; rank 0 waits for it in a receive, ranks 1 and 3 in a
/// collective.
fn four() -> Cores {
    let cores = Cores::new();
    let receive = rank(0);
    receive.enters("MPI_Recv", [SOLVER, INT, 100], 2, 7);
    cores.add("core.0", &receive, Some(TERM), 900);
    for r in [1, 3] {
        let reduce = inside(r, "MPI_Allreduce", 1, 0);
        reduce.enters("MPI_Allreduce", [SOLVER, INT, 10], 0, 0);
        cores.add(&format!("core.{r}"), &reduce, Some(TERM), 300);
    }
    cores.add("core.2", &rank(2), Some(SEGV), 500);
    cores
}

#[test]
fn the_first_to_fail_is_the_rank_that_caused_its_own_death() {
    let cores = four();
    let printed = cores.printed();
    assert!(printed.contains("4 core files: ranks [0-3] of 4"), "{printed}");
    let failed = printed.lines().nth(2).unwrap();
    assert_eq!(
        failed, "failed: rank 2 on samplehost: SIGSEGV, null pointer accessed (address 0x10)",
        "{printed}"
    );
    let first = &cores.json()["first"];
    assert_eq!((&first["rank"], &first["failed"]), (&2.into(), &"2".into()));
}

#[test]
fn equal_ranks_share_a_row_and_the_verdict_names_all_waiting_ranks_and_their_peers() {
    let printed = four().printed();
    let row: Vec<&str> =
        printed.lines().find(|line| line.starts_with("[1,3]")).unwrap().split_whitespace().collect();
    assert_eq!(row[..4], ["[1,3]", "samplehost", "SIGTERM", "-"], "{printed}");
    assert_eq!(row[4..10], ["MPI_Allreduce", "-", "-", "\"solver\"", "10", "INT"], "{printed}");
    for wanted in [
        "\nranks [0-1,3] wait for rank 2, which has ended: it died of SIGSEGV\n",
        "  rank 0: in MPI_Recv at 0x1234, waiting for a message from rank 2 with tag 7 on \"solver\"\n",
        "  ranks [1,3]: in MPI_Allreduce at 0x1234, collective 1 on \"solver\", not entered by ranks [0,2]\n",
        "  rank 2: has ended: it died of SIGSEGV\n",
    ] {
        assert!(printed.contains(wanted), "no {wanted:?} in\n{printed}");
    }
    assert!(!printed.contains("mpiscope core"), "what to try next is what is being read: {printed}");
}

#[test]
fn the_earlier_of_two_failures_is_first_and_close_times_are_called_unsure() {
    for (after, wanted) in [(700, "; 200 ms before the next"), (501, "too close together to be sure")] {
        let cores = four();
        cores.add("core.3", &rank(3), Some(Killer(libc::SIGABRT, -6, u64::from(std::process::id()))), after);
        let printed = cores.printed();
        let first = printed.lines().nth(2).unwrap();
        assert!(first.starts_with("first to fail: rank 2") && first.contains(wanted), "{printed}");
        assert_eq!(cores.json()["first"]["failed"], "[2-3]");
    }
}

#[test]
fn an_abort_is_the_cause_even_if_the_signal_came_from_outside() {
    let cores = Cores::new();
    let aborting = rank(1);
    aborting.enters("MPI_Abort", [WORLD, 0, 0], 0, 0);
    aborting.abort(42);
    cores.add("core.1", &aborting, Some(TERM), 900);
    cores.add("core.0", &rank(0), Some(TERM), 0);
    let printed = cores.printed();
    assert!(printed.contains("failed: rank 1 on samplehost: called MPI_Abort with code 42"), "{printed}");
    assert!(printed.contains("not seen: ranks [2-3]: not among the given files"), "{printed}");
    assert_eq!(cores.json()["why"]["unseen"], "[2-3]");
}

#[test]
fn ranks_that_wait_for_each_other_in_a_cycle_are_a_deadlock_without_a_culprit() {
    let cores = ring(Some(TERM));
    let printed = cores.printed();
    assert!(
        printed.contains("\ndeadlock: 0 -> 1 -> 2 -> 3 -> 0 (4 ranks wait for each other)\n"),
        "{printed}"
    );
    assert!(printed.contains("\nnext: break the ring"), "{printed}");
    assert_eq!(cores.json()["why"]["cycle"], serde_json::json!(["0", "1", "2", "3"]));
}

/// Makes a core file of a thread that a signal took out of a system call.
#[cfg(target_arch = "x86_64")]
fn sleeps_in(path: &std::path::Path, call: u64) {
    const REGISTERS: usize = 64 + 2 * 56 + 20 + 112;
    const ERESTART_RESTARTBLOCK: i64 = 516;
    let mut file = std::fs::read(path).unwrap();
    put(&mut file, REGISTERS + 15 * 8, &call.to_le_bytes());
    put(&mut file, REGISTERS + 10 * 8, &(-ERESTART_RESTARTBLOCK).to_le_bytes());
    std::fs::write(path, file).unwrap();
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_signal_from_outside_finds_a_rank_in_its_system_call_and_a_fault_of_its_own_does_not() {
    const CLOCK_NANOSLEEP: u64 = 230;
    let cores = four();
    let sleeping = rank(2);
    sleeping.enters("MPI_Recv", [SOLVER, INT, 1], 0, 7);
    sleeping.leaves();
    let doing = |killer| {
        sleeps_in(&cores.add("core.2", &sleeping, Some(killer), 500), CLOCK_NANOSLEEP);
        cores.json()["why"]["verdict"].as_str().unwrap_or_default().to_owned()
    };
    let sleeps = "ranks [0-1,3] wait for rank 2: sleeping in the system call clock_nanosleep";
    let (outside, own) = (doing(TERM), doing(SEGV));
    assert!(outside.starts_with(sleeps), "{outside}");
    let died = "ranks [0-1,3] wait for rank 2, which has ended: it died of SIGSEGV, after MPI_Recv at 0x1234";
    assert!(own.starts_with(died), "{own}");
}

#[test]
fn a_rank_that_died_outside_mpi_shows_its_last_call_and_its_place() {
    let cores = four();
    let computing = rank(2);
    computing.enters("MPI_Recv", [SOLVER, INT, 1], 0, 7);
    computing.leaves();
    cores.add("core.2", &computing, Some(SEGV), 500);
    let printed = cores.printed();
    let row = printed.lines().find(|line| line.starts_with("2 ")).unwrap();
    assert!(row.contains("  after MPI_Recv  ") && row.trim_end().ends_with("  0x1234"), "{printed}");
    assert!(printed.contains("\n  last call: MPI_Recv at 0x1234\n"), "{printed}");
    assert!(
        printed.contains("\n  rank 2: has ended: it died of SIGSEGV, after MPI_Recv at 0x1234\n"),
        "{printed}"
    );
    let thread = &cores.json()["deaths"][2]["threads"][0];
    assert_eq!((&thread["call"], &thread["last_call"]["function"]), (&Value::Null, &"MPI_Recv".into()));
    assert_eq!((&thread["last_call"]["peer"]["rank"], &thread["last_call"]["tag"]), (&0.into(), &"7".into()));
}

#[test]
fn a_rank_that_died_in_a_call_or_finalized_shows_no_last_call() {
    let cores = four();
    let receiving = rank(2);
    receiving.enters("MPI_Recv", [SOLVER, INT, 1], 0, 7);
    cores.add("core.2", &receiving, Some(SEGV), 500);
    assert!(!cores.printed().contains("last call"), "{}", cores.printed());
    assert_eq!(cores.json()["deaths"][2]["threads"][0]["last_call"], Value::Null);
    receiving.leaves();
    receiving.state(State::FINALIZED);
    cores.add("core.2", &receiving, Some(SEGV), 500);
    assert!(!cores.printed().contains("after MPI_Recv"), "{}", cores.printed());
}

#[test]
fn similar_requests_of_several_ranks_share_a_line_without_foreign_fields() {
    let cores = four();
    for r in [0, 1, 3] {
        let waiting = rank(r);
        // A barrier has no count or datatype; the reused record still holds those of the previous request.
        started(&waiting, 0xac00_0000, RequestKind::COLLECTIVE, "MPI_Ibarrier");
        started(&waiting, 0xac00_0001, RequestKind::COLLECTIVE, "MPI_Ibcast");
        cores.add(&format!("core.{r}"), &waiting, Some(TERM), 300);
    }
    let printed = cores.printed();
    assert!(printed.contains("\n  ranks [0-1,3]: MPI_Ibarrier on \"solver\"\n"), "{printed}");
    assert!(
        printed.contains("\n  ranks [0-1,3]: MPI_Ibcast root 2 on \"solver\" 3 x MPI_INT\n"),
        "{printed}"
    );
}

/// Adds an active receive from rank 2.
fn receive(sample: &TestImage, handle: u64) {
    started(sample, handle, RequestKind::RECV, "MPI_Irecv");
}

/// Adds an active request.
fn started(sample: &TestImage, handle: u64, kind: RequestKind, by: &str) {
    let (_, request) = sample.writer.new_record::<Request>(SectionKind::REQUESTS, 8).unwrap();
    request.head.seq.write(|| {
        request.head.handle.set(handle);
        request.head.life.set(Life::LIVE.0);
        request.head.made_by.set(sample.number(by) as u16 + 1);
        request.head.flags.set(Flag::STARTED.0 | Flag::ACTIVE.0);
        request.kind.set(kind.0);
        request.object.set(SOLVER);
        request.comm_identity.set(SHARED);
        request.peer.set(2);
        request.tag.set(9);
        request.count.set(3);
        request.datatype.set(INT);
    });
}

#[test]
fn a_rank_in_waitall_waits_for_the_peers_of_its_requests() {
    let cores = four();
    let waiting = rank(1);
    receive(&waiting, 0xac00_0000);
    waiting.thread.waited[0].set(0xac00_0000);
    waiting.enters("MPI_Waitall", [0, 0, 1], 0, 0);
    cores.add("core.1", &waiting, Some(TERM), 300);
    let printed = cores.printed();
    let wait = "rank 1: in MPI_Waitall at 0x1234, waiting for a message from rank 2 with tag 9 on \"solver\"";
    assert!(printed.contains(wait), "{printed}");
    assert!(printed.contains("  rank 1: receive from 2 tag 9 on \"solver\" 3 x MPI_INT"), "{printed}");
    assert!(printed.contains("\nranks [0-1,3] wait for rank 2, which has ended"), "{printed}");
    let pending = &cores.json()["deaths"][1]["pending"][0];
    assert_eq!((&pending["tag"], &pending["peer"]["value"]), (&9.into(), &2.into()), "{pending}");
    assert_eq!((&pending["object"]["name"], &pending["object"]["kind"]), (&"solver".into(), &"comm".into()));
    assert_eq!(pending["datatype"]["name"], "MPI_INT", "{pending}");
}

#[test]
fn a_core_file_of_a_surviving_process_is_not_a_problem() {
    let cores = Cores::new();
    let file = cores.add("core", &rank(0), None, 0);
    let output = core(&[file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let postmortem: Value = serde_json::from_slice(&core(&["--json", cores.path()]).stdout).unwrap();
    assert_eq!((&postmortem["schema"], &postmortem["first"]), (&"mpiscope.core/2".into(), &Value::Null));
    assert_eq!(postmortem["deaths"][0]["state"], format!("{:?}", State::INITIALIZED));
}

#[test]
fn files_that_are_not_core_files_of_ranks_are_reported_and_the_others_are_read() {
    let cores = four();
    let other = cores.0.path().join("notes.txt");
    std::fs::write(&other, "text").unwrap();
    assert!(cores.printed().contains("4 core files"), "a directory is searched for core files");
    let file = cores.0.path().join("core.2");
    let output = core(&[file.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("1 core file: rank 2 of 4"));
    assert!(text(&output.stdout).contains("not seen: ") && text(&output.stdout).contains("notes.txt"));
}

#[test]
fn without_anything_to_read_the_status_is_2_with_the_next_thing_to_try() {
    let cores = Cores::new();
    let failed = |args: &[&str]| {
        let output = core(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty());
        text(&output.stderr)
    };
    assert!(failed(&[cores.path()]).contains("ulimit -c"));
    assert!(failed(&["/no/such/core"]).contains("/no/such/core"));
    assert!(failed(&[MPISCOPE]).contains("core file"));
    let write = |bytes: &[u8]| {
        let path = cores.0.path().join("x");
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let foreign = failed(&[&write(&core_file(&[7; 8192], Some(SEGV)))]);
    assert!(foreign.contains("contains no mpiscope image"), "{foreign}");
    let cut = core_file(&[7; 8192], Some(SEGV));
    let cut = failed(&[&write(&cut[..cut.len() - 5000])]);
    assert!(cut.contains("truncated: 5000 bytes are missing"), "{cut}");
    let packed = failed(&[&write(b"\x28\xb5\x2f\xfdpacked")]);
    assert!(packed.contains("zstd -d"), "{packed}");
    assert!(failed(&[]).contains("FILE"));
}

#[test]
fn every_view_of_a_truncated_core_file_says_that_it_is_not_all() {
    let cores = four();
    let file = cores.0.path().join("core.2");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 4096]).unwrap();
    for verb in ["inspect", "ps", "queues", "why"] {
        let output = Command::new(MPISCOPE).arg(verb).arg(&file).output().unwrap();
        let said =
            (text(&output.stdout) + &text(&output.stderr)).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("core.2 is truncated, 4096 bytes are missing"), "{verb}: {said}");
        assert_ne!(output.status.code(), Some(0), "{verb}");
    }
}

#[test]
fn why_with_several_names_explains_that_a_running_job_is_named_alone() {
    let cores = four();
    let file = cores.0.path().join("core.2");
    let output =
        Command::new(MPISCOPE).arg("why").args([file.as_os_str(), "1-2ab".as_ref()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("1-2ab: no such file") && said.contains("name a running job alone"), "{said}");
}

#[test]
fn damaged_files_never_crash_and_never_take_long() {
    let cores = four();
    let path = cores.0.path().join("core.2");
    let whole = std::fs::read(&path).unwrap();
    let answers = |bytes: &[u8], what: &str| {
        std::fs::write(&path, bytes).unwrap();
        let started = std::time::Instant::now();
        let status = core(&[path.to_str().unwrap()]).status.code();
        assert!(matches!(status, Some(0..=2)), "{what}: {status:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "{what}");
    };
    for len in [0, 1, 17, 63, 64, 100, 176, 500, 4095, 4096, 5000, whole.len() / 2] {
        answers(&whole[..len], &format!("{len} bytes"));
    }
    for at in (0..700).step_by(7).chain((4096..4096 + 4096).step_by(61)) {
        for change in [0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            answers(&bytes, &format!("byte {at}"));
        }
    }
}

#[test]
fn names_of_programs_cannot_control_the_terminal() {
    let cores = Cores::new();
    let sample = TestImage::new("postmortem", 0, 2);
    sample.has_comm(SOLVER, "evil\u{1b}[2J", 2);
    sample.enters("MPI_Recv", [SOLVER, INT, 1], 1, 0);
    cores.add("core", &sample, Some(SEGV), 0);
    assert!(!cores.printed().contains('\u{1b}'));
}

#[test]
fn a_rank_that_has_left_a_collective_is_not_waited_for_and_makes_no_deadlock() {
    let cores = Cores::new();
    // One leaf of a reduction has proceeded to the barrier; the others have not.
    for r in [0, 1, 2] {
        cores.add(&format!("core.{r}"), &inside(r, "MPI_Reduce", 5, 0), Some(TERM), 300);
    }
    cores.add("core.3", &inside(3, "MPI_Barrier", 6, 0), Some(TERM), 300);
    let printed = cores.printed();
    assert!(
        printed.contains("ranks [0-2]: in MPI_Reduce at 0x1234, collective 5 on \"solver\"\n"),
        "{printed}"
    );
    let barrier =
        "rank 3: in MPI_Barrier at 0x1234, collective 6 on \"solver\", not entered by ranks [0-2]\n";
    assert!(printed.contains(barrier), "{printed}");
    assert!(!printed.contains("deadlock"), "{printed}");
    assert_eq!(cores.json()["why"]["cycle"], serde_json::json!([]));
}

#[test]
fn a_rank_that_polled_once_for_a_message_does_not_wait_for_it() {
    let first = |function: &str| {
        let cores = Cores::new();
        for r in 0..4 {
            let rank = rank(r);
            let function = if r == 0 { function } else { "MPI_Recv" };
            rank.enters(function, [SOLVER, INT, 1], (r as i32 + 1) % 4, 7);
            cores.add(&format!("core.{r}"), &rank, Some(TERM), 300);
        }
        cores.json()["why"].clone()
    };
    assert_eq!(first("MPI_Probe")["kind"], "deadlock");
    let asks = first("MPI_Iprobe");
    assert_eq!((&asks["problem"], &asks["stuck"]), (&false.into(), &"".into()), "{asks:#}");
    assert_eq!(asks["verdict"], "ranks [1-3] wait for rank 0: in MPI_Iprobe at 0x1234");
}

#[test]
fn another_function_or_root_under_the_same_number_is_a_mismatch() {
    for (function, root, wanted) in [
        (
            "MPI_Reduce",
            2,
            "(root) on \"solver\", collective 5: ranks [0-2] are in MPI_Reduce with root 0 at 0x1234, rank 3 is in MPI_Reduce with root 2 at 0x1234",
        ),
        (
            "MPI_Bcast",
            0,
            "(function) on \"solver\", collective 5: ranks [0-2] are in MPI_Reduce at 0x1234, rank 3 is in MPI_Bcast at 0x1234",
        ),
        (
            "MPI_Barrier",
            0,
            "(function) on \"solver\", collective 5: ranks [0-2] are in MPI_Reduce at 0x1234, rank 3 is in MPI_Barrier at 0x1234",
        ),
    ] {
        let cores = Cores::new();
        for r in 0..4 {
            let (function, root) = if r == 3 { (function, root) } else { ("MPI_Reduce", 0) };
            cores.add(&format!("core.{r}"), &inside(r, function, 5, root), Some(TERM), 300);
        }
        let printed = cores.printed();
        assert!(printed.contains(&format!("\ncollective mismatch {wanted}\n")), "{printed}");
        assert!(!printed.contains("deadlock"), "{printed}");
    }
}

#[test]
fn core_and_why_give_one_verdict_on_the_same_files() {
    for cores in [four(), ring(Some(TERM)), ring(None)] {
        let why = Command::new(MPISCOPE).args(["why", "--json", cores.path()]).output().unwrap();
        let why: Value = serde_json::from_slice(&why.stdout).unwrap();
        assert_eq!(cores.json()["why"], why);
        let shown =
            Command::new(MPISCOPE).env("COLUMNS", "400").args(["why", cores.path()]).output().unwrap();
        let shown = text(&shown.stdout);
        let core = text(&core(&[cores.path()]).stdout);
        for line in shown.lines().filter(|line| !line.starts_with("next: ")) {
            assert!(core.lines().any(|other| other == line), "no {line:?} in\n{core}");
        }
    }
}

/// Makes core files of ranks that receive from each other.
fn ring(killer: Option<Killer>) -> Cores {
    let cores = Cores::new();
    for r in 0..4 {
        let ring = rank(r);
        ring.enters("MPI_Recv", [SOLVER, INT, 1], (r as i32 + 1) % 4, 7);
        cores.add(&format!("core.{r}"), &ring, killer, 100 * u64::from(r));
    }
    cores
}

#[test]
fn a_rank_that_died_while_nobody_waited_is_the_verdict() {
    let cores = Cores::new();
    cores.add("core.0", &rank(0), Some(TERM), 0);
    cores.add("core.2", &rank(2), Some(SEGV), 500);
    let printed = cores.printed();
    assert!(printed.contains("\nrank 2 has ended: it died of SIGSEGV; no rank waits for it\n"), "{printed}");
    let why = Command::new(MPISCOPE).args(["why", cores.path()]).output().unwrap();
    assert_eq!(why.status.code(), Some(1), "{}", text(&why.stdout));
}

#[test]
fn core_files_taken_of_living_ranks_are_snapshots_without_failures() {
    let cores = Cores::new();
    for r in 0..4 {
        let sample = rank(r);
        sample.enters("MPI_Recv", [SOLVER, INT, 1], (r as i32 + 1) % 4, 7);
        let stopped = Killer(libc::SIGSTOP, 0, u64::from(std::process::id()));
        let file = cores.add(&format!("core.{r}"), &sample, Some(stopped), 200_000);
        let shown = Command::new(MPISCOPE).args(["ps", "--json"]).arg(file).output().unwrap();
        let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
        assert!(
            shown["ranks"][0]["threads"][0]["age_s"].as_f64().is_some_and(|age| (0.0..60.0).contains(&age)),
            "{shown}"
        );
    }
    let output = core(&[cores.path()]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "nobody died, but nobody could have gone on: {printed}");
    assert!(!printed.contains("SIGSTOP") && !printed.contains("first to"), "{printed}");
    assert!(
        printed.contains("deadlock: 0 -> 1 -> 2 -> 3 -> 0"),
        "what they wait for is there all the same: {printed}"
    );
    let postmortem = cores.json();
    assert_eq!((&postmortem["first"], &postmortem["deaths"][0]["signal"]), (&Value::Null, &Value::Null));
    assert!(postmortem["deaths"][0]["threads"][0]["age_s"].as_f64().is_some(), "{postmortem}");
}

#[test]
fn a_fault_where_the_stack_ends_is_called_a_stack_overflow() {
    let cores = four();
    cores.add("core.2", &rank(2), Some(Killer(libc::SIGSEGV, 1, STACK_POINTER - 8)), 500);
    let printed = cores.printed();
    assert!(printed.contains("SIGSEGV, stack overflow at 0x7ffcfffffff8"), "{printed}");
    cores.add("core.2", &rank(2), Some(Killer(libc::SIGSEGV, 1, STACK_POINTER - (1 << 30))), 500);
    assert!(!cores.printed().contains("stack overflow"), "{}", cores.printed());
}

#[test]
fn core_files_in_a_folder_for_each_rank_are_found() {
    let cores = four();
    for r in 0..4 {
        let folder = cores.0.path().join(format!("host{}/rank{r}", r % 2));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::rename(cores.0.path().join(format!("core.{r}")), folder.join("core")).unwrap();
    }
    std::os::unix::fs::symlink(cores.0.path(), cores.0.path().join("host0/again")).unwrap();
    let printed = cores.printed();
    assert!(printed.contains("  4 core files: ranks [0-3] of 4"), "{printed}");
    let report = Command::new(MPISCOPE).arg("report").arg(cores.0.path()).output().unwrap();
    let printed = text(&report.stdout);
    assert!(printed.contains("  4 ranks on 1 host"), "{printed}{}", text(&report.stderr));
}

#[test]
fn ranks_of_several_worlds_are_distinguished_in_the_heading_and_the_rows() {
    let cores = Cores::new();
    for (name, job) in [("core.1", "first"), ("core.2", "second")] {
        cores.add(name, &TestImage::new(job, 0, 2), Some(SEGV), 0);
    }
    let printed = cores.printed();
    assert!(printed.contains("2 core files: ranks 0, 1.0 in 2 worlds (shown as world.rank)"), "{printed}");
    assert!(printed.lines().any(|line| line.starts_with("0, 1.0 ")), "{printed}");
}

#[test]
fn the_exit_status_for_a_core_file_without_a_problem_says_whether_it_is_truncated() {
    let cores = Cores::new();
    let file = cores.add("core.1", &rank(1), None, 100);
    let status = || core(&[file.to_str().unwrap()]).status.code();
    assert_eq!(status(), Some(0));
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 4096]).unwrap();
    assert_eq!(status(), Some(1));
}
