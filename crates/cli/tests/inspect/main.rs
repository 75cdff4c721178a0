//! `mpiscope inspect` on synthetic images: what is shown, how missing data is reported, exit status, and
//! inconsistent images. The test matrix covers real programs.

mod attributes;
mod datatypes;

use mpiscope_image::layout::{Loss, Recording, SectionKind, State};
use mpiscope_image::objects::{Comm, Flag, Head, Life};
use mpiscope_image::traffic::{Request, RequestKind};
use mpiscope_job::test_image::TestImage;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");
/// Handles of MPICH's ABI.
const INT: u64 = 0x4c00_0405;
const SOLVER: u64 = 0x8400_0001;
const RECEIVE: u64 = 0xac00_0000;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Saved images of some ranks.
struct Saved {
    _dir: TempDir,
    files: Vec<PathBuf>,
}

impl Saved {
    fn new(samples: &[TestImage]) -> Self {
        let dir = TempDir::new().unwrap();
        let mut files = Vec::new();
        for (i, sample) in samples.iter().enumerate() {
            let path = dir.path().join(format!("image.{i}"));
            std::fs::write(&path, sample.bytes()).unwrap();
            files.push(path);
        }
        Self { _dir: dir, files }
    }

    fn inspect(&self, args: &[&str]) -> Output {
        Command::new(MPISCOPE)
            .env("COLUMNS", "400")
            .arg("inspect")
            .args(&self.files)
            .args(args)
            .output()
            .unwrap()
    }

    /// Returns the text output and the exit status.
    fn printed(&self, args: &[&str]) -> (String, Option<i32>) {
        let output = self.inspect(args);
        (text(&output.stdout) + &text(&output.stderr), output.status.code())
    }

    fn json(&self, args: &[&str]) -> Value {
        let value = serde_json::from_slice(&self.inspect(&[args, &["--json"]].concat()).stdout).unwrap();
        mpiscope_testkit::schema::check(&value).unwrap();
        value
    }
}

fn made(sample: &TestImage, head: &Head, kind: SectionKind, handle: u64, by: &str) {
    head.handle.set(handle);
    head.uid.set(mpiscope_image::objects::uid(kind, handle & 0xffff | 0x1_0000));
    head.life.set(Life::LIVE.0);
    head.made_by.set(sample.number(by) as u16 + 1);
    head.made_from.set(0x1234);
}

fn comm(sample: &TestImage, handle: u64, identity: u64) -> &'static Comm {
    let (_, comm) = sample.writer.new_record::<Comm>(SectionKind::COMMS, 8).unwrap();
    comm.head.seq.write(|| {
        made(sample, &comm.head, SectionKind::COMMS, handle, "MPI_Comm_dup");
        comm.head.identity.set(identity);
        comm.size.set(4);
        let name = mpiscope_image::layout::Chars::new(b"solver");
        comm.name.set(&name);
    });
    comm
}

fn receive(sample: &TestImage, handle: u64, life: Life) -> &'static Request {
    let (_, request) = sample.writer.new_record::<Request>(SectionKind::REQUESTS, 8).unwrap();
    request.head.seq.write(|| {
        made(sample, &request.head, SectionKind::REQUESTS, handle, "MPI_Irecv");
        request.head.flags.set(Flag::STARTED.0 | Flag::ACTIVE.0);
        request.head.life.set(life.0);
        request.kind.set(RequestKind::RECV.0);
        request.object.set(SOLVER);
        request.peer.set(3);
        request.tag.set(42);
        request.count.set(10);
        request.datatype.set(INT);
    });
    request
}

/// Makes two ranks that share a communicator; the second one also has a request.
fn two() -> Saved {
    let samples = [0, 1].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        // Handles differ between processes.
        comm(&sample, SOLVER + u64::from(rank), 0x0abc_1234_5678_9abc);
        sample
    });
    receive(&samples[1], RECEIVE, Life::LIVE);
    Saved::new(&samples)
}

#[test]
fn equal_counts_share_a_row_and_unique_ones_have_their_own() {
    let (printed, status) = two().printed(&[]);
    assert_eq!(status, Some(0), "{printed}");
    let row = |kind: &str| {
        let line = printed.lines().find(|line| line.starts_with(kind)).unwrap_or_default();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("comm")[..3], ["comm", "[0-1]", "1"], "{printed}");
    assert_eq!(row("request")[..3], ["request", "1", "1"], "{printed}");
}

#[test]
fn an_object_of_several_ranks_is_one_line_whatever_its_handles() {
    let saved = two();
    let (printed, _) = saved.printed(&["--kind", "comm"]);
    let line = printed.lines().find(|line| line.contains("solver")).unwrap();
    assert!(line.starts_with("id:0abc1234  [0-1]  live   \"solver\": 4 processes"), "{printed}");
    let shared = &saved.json(&["--kind", "comm"])["shared"][0];
    assert_eq!((&shared["name"], &shared["ranks"]), (&"solver".into(), &"[0-1]".into()));
}

#[test]
fn a_list_ends_after_a_thousand_lines_that_still_cover_all_ranks() {
    let samples = [0, 1, 2].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        for i in 1..=1200 {
            // In reverse order on the second rank: its first objects do not fit on the first rank's lines.
            let identity = if rank == 1 { 1201 - i } else { i };
            comm(&sample, SOLVER + i, 0xabc_0000_0000_0000 + (identity << 32));
        }
        sample
    });
    let saved = Saved::new(&samples);
    let (printed, status) = saved.printed(&["--kind", "comm"]);
    assert!(status == Some(0) && printed.contains("more than 1000 lines: --json has all"), "{printed}");
    let rows: Vec<&str> = printed.lines().filter(|line| line.contains("solver")).collect();
    assert_eq!(rows.len(), 1000);
    assert!(rows.iter().all(|row| row.split_whitespace().nth(1) == Some("[0-2]")), "{printed}");
    let shared = &saved.json(&["--kind", "comm"])["shared"];
    assert_eq!(shared.as_array().map(Vec::len), Some(1200), "JSON has all");
}

#[test]
fn a_handle_is_found_in_every_notation_and_by_name() {
    let saved = two();
    let negative = (SOLVER as u32).cast_signed().to_string();
    for handle in ["0x84000001", "0xffffffff84000001", "2214592513", &negative, "solver", "\"solver\""] {
        let (printed, status) = saved.printed(&["--rank", "0", "--handle", handle]);
        assert!(
            status == Some(0) && printed.contains("MPI_Comm \"solver\", handle 0x84000001"),
            "{handle}: {printed}"
        );
    }
    let (printed, status) =
        saved.printed(&["--rank", "0", "--kind", "comm", "--fortran", "--handle", &negative]);
    assert!(status == Some(0) && printed.contains("\"solver\""), "{printed}");
    let (printed, status) = saved.printed(&["--handle", "id:0abc1234"]);
    assert!(status == Some(0) && printed.contains("the same object on ranks [0-1]"), "{printed}");
    assert!(
        printed.contains("0x84000001") && printed.contains("0x84000002"),
        "each rank's own handle: {printed}"
    );
    let (printed, _) = saved.printed(&["--handle", "MPI_COMM_WORLD", "--rank", "1"]);
    assert!(printed.contains("MPI_COMM_WORLD") && printed.contains("predefined"), "{printed}");
}

#[test]
fn similar_objects_of_different_processes_are_reported_once() {
    let samples = [0, 1, 2].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        let request = receive(&sample, RECEIVE, Life::LIVE);
        request.tag.set(if rank == 2 { 43 } else { 42 });
        sample
    });
    let (printed, _) = Saved::new(&samples).printed(&["--handle", "0xac000000"]);
    assert!(
        printed.starts_with("alike on ranks [0-1]:\nMPI_Request, handle 0xac000000, live\n"),
        "{printed}"
    );
    assert_eq!(printed.matches("from 3 tag 42").count(), 1, "{printed}");
    assert!(
        printed.contains("\nrank 2: MPI_Request, handle") && printed.contains("from 3 tag 43"),
        "{printed}"
    );
}

#[test]
fn text_and_json_fold_the_same_similar_objects_but_not_those_of_one_process() {
    let samples = [0, 1, 2].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        for nth in 0..2 {
            receive(&sample, RECEIVE + nth, Life::LIVE).tag.set(if rank == 2 && nth == 1 { 43 } else { 42 });
        }
        sample
    });
    let saved = Saved::new(&samples);
    let (text, _) = saved.printed(&["--kind", "request"]);
    let rows: Vec<String> = text
        .lines()
        .filter(|line| line.contains("from 3 tag"))
        .map(|line| line.split_whitespace().nth(1).unwrap_or_default().to_owned())
        .collect();
    let (json, _) = saved.printed(&["--kind", "request", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let alike: Vec<(&str, &str)> = json["alike"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (group["ranks"].as_str().unwrap(), group["brief"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, ["[0-2]", "[0-1]", "2"], "{text}");
    let ranks: Vec<&str> = alike.iter().map(|group| group.0).collect();
    assert_eq!(ranks, ["[0-2]", "[0-1]"], "{json:#}");
    assert!(alike.iter().all(|group| group.1.starts_with("receive from 3 tag 42")), "{alike:?}");
    let merged = &json["alike"][0]["merged"];
    assert_eq!(merged["agreed"]["tag"], 42, "{merged:#}");
}

#[test]
fn the_color_of_a_split_is_reported_even_if_it_is_zero() {
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    comm(&sample, SOLVER, 1);
    comm(&sample, SOLVER + 1, 2).head.made_by.set(sample.number("MPI_Comm_split") as u16 + 1);
    let saved = Saved::new(&[sample]);
    assert!(!saved.printed(&["--handle", "0x84000001"]).0.contains("color  "));
    let (printed, _) = saved.printed(&["--handle", "0x84000002"]);
    assert!(printed.contains("  color             0\n"), "{printed}");
}

#[test]
fn lists_identify_unnamed_objects_by_what_all_ranks_share() {
    let samples = [0, 1].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        let unnamed = comm(&sample, SOLVER + u64::from(rank), 0x77aa_0000_0000_0001);
        unnamed.name.set(&mpiscope_image::layout::Chars::new(b""));
        let request = receive(&sample, RECEIVE + u64::from(rank), Life::LIVE);
        request.object.set(unnamed.head.handle.get());
        sample
    });
    let (printed, _) = Saved::new(&samples).printed(&["--kind", "request"]);
    let line = "differs  [0-1]  live   receive from 3 tag 42 on id:77aa0000 (size 4) 10 x MPI_INT, completion not yet seen";
    assert!(printed.lines().any(|printed| printed == line), "{printed}");
    assert!(
        printed.contains("handles differ where it says so: --rank N shows those of one rank"),
        "{printed}"
    );
}

#[test]
fn a_request_shows_what_it_waits_for() {
    let (printed, _) = two().printed(&["--handle", "0xac000000", "--rank", "1"]);
    for wanted in ["receive (point-to-point)", "from 3 tag 42", "10 x MPI_INT", "completion not yet seen"] {
        assert!(printed.contains(wanted), "no {wanted:?}: {printed}");
    }
}

#[test]
fn a_collective_request_has_its_own_name_and_no_leftover_fields() {
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    comm(&sample, SOLVER, 1);
    let barrier = receive(&sample, RECEIVE, Life::LIVE);
    let broadcast = receive(&sample, RECEIVE + 1, Life::LIVE);
    for (request, by) in [(barrier, "MPI_Ibarrier"), (broadcast, "MPI_Ibcast")] {
        request.head.seq.write(|| {
            request.kind.set(RequestKind::COLLECTIVE.0);
            request.head.made_by.set(sample.number(by) as u16 + 1);
        });
    }
    let saved = Saved::new(&[sample]);
    let (printed, _) = saved.printed(&["--kind", "request"]);
    assert!(printed.contains("MPI_Ibarrier on \"solver\", completion not yet seen"), "{printed}");
    assert!(
        printed.contains("MPI_Ibcast root 3 on \"solver\" 10 x MPI_INT, completion not yet seen"),
        "{printed}"
    );
    let (printed, _) = saved.printed(&["--handle", "0xac000000"]);
    assert!(printed.contains("operation         MPI_Ibarrier (collective)"), "{printed}");
    for wrong in ["MPI_INT", "buffer", "peer", "tag"] {
        assert!(!printed.contains(wrong), "{wrong:?} in {printed}");
    }
    let (printed, _) = saved.printed(&["--handle", "MPI_INT"]);
    assert!(printed.contains("request 0xac000001") && !printed.contains("request 0xac000000"), "{printed}");
    let request = &saved.json(&["--handle", "0xac000000"])["ranks"][0]["objects"][0];
    assert!(request.get("datatype").is_none() && request.get("peer").is_none(), "{request}");
}

#[test]
fn a_handle_shared_by_several_requests_shows_nothing_specific_to_one() {
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    let request = receive(&sample, RECEIVE, Life::LIVE);
    request.head.seq.write(|| {
        request.head.flags.set(Flag::SHARED_HANDLE.0 | Flag::STARTED.0 | Flag::COMPLETE.0);
        request.head.made_by.set(sample.number("MPI_Isend") as u16 + 1);
        request.kind.set(RequestKind::SEND.0);
        request.starts.set(3);
        request.outstanding.set(2);
    });
    let saved = Saved::new(&[sample]);
    let (printed, _) = saved.printed(&["--kind", "request"]);
    assert!(printed.contains("standard send, complete, the last of 3 with this handle"), "{printed}");
    let (printed, _) = saved.printed(&["--handle", "0xac000000"]);
    assert!(
        printed.contains("3 requests so far, all complete at start; 2 not completed by the program"),
        "{printed}"
    );
    for wrong in ["tag", "MPI_INT", "peer"] {
        assert!(!printed.contains(wrong), "{wrong:?} in {printed}");
    }
}

#[test]
fn leaks_are_a_problem_and_name_the_place_and_the_ranks() {
    let saved = two();
    let (printed, status) = saved.printed(&["--leaks"]);
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("  2 communicators, MPI_Comm_dup at 0x1234 (ranks [0-1])"), "{printed}");
    assert!(printed.contains("  1 request, MPI_Irecv at 0x1234 (rank 1), active"), "{printed}");
    let (printed, status) = saved.printed(&["--leaks", "--kind", "win"]);
    assert!(status == Some(0) && printed.contains("everything that was created has been freed"), "{printed}");
    assert_eq!(saved.json(&["--leaks"])["leaks"][0]["count"], 2);
}

#[test]
fn freed_objects_are_shown_on_request_and_marked() {
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    receive(&sample, RECEIVE, Life::FREED);
    receive(&sample, RECEIVE + 1, Life::MARKED);
    let saved = Saved::new(&[sample]);
    let (printed, _) = saved.printed(&["--kind", "request"]);
    assert!(printed.contains("marked for freeing") && !printed.contains("0xac000000"), "{printed}");
    let (printed, _) = saved.printed(&["--kind", "request", "--freed"]);
    assert!(printed.lines().any(|l| l.starts_with("0xac000000") && l.contains("freed  ")), "{printed}");
    let (printed, status) = saved.printed(&["--handle", "0xac000000"]);
    assert!(status == Some(0) && printed.contains("handle 0xac000000, freed"), "{printed}");
    assert_eq!(saved.printed(&["--leaks"]).1, Some(0), "what is freed is no leak");
}

#[test]
fn forgotten_freed_objects_are_counted_on_request_once_for_all_ranks() {
    let samples = [0, 1, 2].map(|rank| {
        let sample = TestImage::new("look", rank, 4);
        sample.records(Recording::OBJECTS);
        sample.writer.header().lost[Loss::TOMBSTONES.0 as usize].set(40 + u64::from(rank));
        sample
    });
    let saved = Saved::new(&samples);
    let line = "  no longer known on ranks [0-2]: 40 to 42 freed objects";
    assert!(!saved.printed(&[]).0.contains("40"));
    let (printed, _) = saved.printed(&["--freed"]);
    assert_eq!(printed.matches(line).count(), 1, "{printed}");
    let (printed, _) = saved.printed(&["--handle", "0x84000077"]);
    assert_eq!(printed.matches(line).count(), 1, "{printed}");
}

#[test]
fn dropped_objects_are_shown_for_all_ranks_with_the_reason() {
    let samples = [0, 1].map(|rank| {
        let sample = TestImage::new("look", rank, 2);
        sample.records(Recording::OBJECTS);
        sample.writer.header().lost[Loss::OBJECTS.0 as usize].set(2);
        sample
    });
    let (printed, _) = Saved::new(&samples).printed(&[]);
    assert!(printed.contains("  lost on ranks [0-1]: 4 objects: the image could not grow"), "{printed}");
}

#[test]
fn invisible_data_is_reported_and_never_shown_as_empty() {
    let sample = TestImage::new("look", 0, 4);
    let (printed, status) = Saved::new(&[sample]).printed(&[]);
    assert!(
        status == Some(2) && printed.contains("cannot see rank 0: it does not record objects"),
        "{printed}"
    );
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    sample.state(State::STARTED);
    let (printed, status) = Saved::new(&[sample]).printed(&["--kind", "comm"]);
    assert!(status == Some(2) && printed.contains("has not completed MPI_Init yet"), "{printed}");
    assert!(!printed.contains("no comm"), "{printed}");
}

#[test]
fn an_unknown_handle_or_one_of_another_kind_gives_status_2_with_the_reason() {
    let saved = two();
    let (printed, status) = saved.printed(&["--rank", "0", "--kind", "comm", "--handle", "77"]);
    assert!(status == Some(2) && printed.contains("no comm has the handle 0x4d"), "{printed}");
    let (printed, status) = saved.printed(&["--rank", "0", "--kind", "datatype", "--handle", "0x84000001"]);
    assert!(status == Some(2) && printed.contains("is the handle of a comm"), "{printed}");
    let (printed, status) = saved.printed(&["--rank", "0", "--handle", "77"]);
    assert!(status == Some(2) && printed.contains("no object has the handle 77"), "{printed}");
    let (printed, status) = saved.printed(&["--handle", "nobody"]);
    assert!(status == Some(2) && printed.contains("no object has the handle or name nobody"), "{printed}");
    let (printed, status) = saved.printed(&["--rank", "7"]);
    assert!(status == Some(2) && printed.contains("existing ranks: [0-1]"), "{printed}");
    assert_eq!(saved.printed(&["--kind", "thread"]).1, Some(2));
    assert_eq!(saved.printed(&["--rank", "x"]).1, Some(2));
    assert_eq!(
        saved.printed(&["/no/such/file"]).1,
        Some(1),
        "the other files are still shown, and one is missing"
    );
}

#[test]
fn images_with_false_contents_never_crash_or_stall_the_reader() {
    let saved = two();
    let path = &saved.files[1];
    let whole = std::fs::read(path).unwrap();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap_or(0);
    let change = |bytes: &[u8], what: &str| {
        std::fs::write(path, bytes).unwrap();
        for args in [&["--kind", "request"][..], &["--handle", "0xac000000"], &["--leaks", "--json"]] {
            let started = Instant::now();
            let status = saved.inspect(args).status.code();
            assert!(matches!(status, Some(0..=2)), "{what}: {args:?}: {status:?}");
            assert!(started.elapsed() < Duration::from_secs(10), "{what}: {args:?}");
        }
    };
    for at in (512..1100).step_by(13).chain((4096..used).step_by(used / 60)) {
        let mut bytes = whole.clone();
        for (byte, offset) in bytes.iter_mut().skip(at).take(8).zip(0u8..) {
            *byte ^= 0xff - offset;
        }
        change(&bytes, &format!("8 bytes at {at}"));
    }
    for len in [5000, whole.len() / 3, whole.len() - 4096] {
        change(&whole[..len], &format!("{len} bytes"));
    }
}

/// Returns the names of the fields of a definition in the schema.
fn fields(schema: &Value, definition: &str) -> Vec<String> {
    let properties = schema.pointer(&format!("/$defs/{definition}/properties")).and_then(Value::as_object);
    properties.unwrap_or_else(|| panic!("no {definition} in the schema")).keys().cloned().collect()
}

#[test]
fn the_json_matches_the_published_schema() {
    let output = Command::new(MPISCOPE).args(["inspect", "--schema"]).output().unwrap();
    let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../share/mpiscope.inspect.3.schema.json");
    let published = std::fs::read_to_string(published).unwrap();
    let hint = "`mpiscope inspect --schema` is another: write it there, if fields were only added";
    assert!(text(&output.stdout) == published, "share/mpiscope.inspect.3.schema.json: {hint}");
    let schema: Value = serde_json::from_str(&published).unwrap();
    let printed = two().json(&["--kind", "comm"]);
    assert_eq!(printed["schema"], "mpiscope.inspect/3");
    // Shared objects are merged by field, not by their text.
    let merged = &printed["shared"][0]["merged"];
    assert!(merged["agreed"]["size"].is_u64() && merged["agreed"]["kind"] == "comm", "{merged:#}");
    let differs = merged["differs"].as_object().unwrap();
    assert!(differs.values().flat_map(|all| all.as_array().unwrap()).all(|one| one["ranks"].is_string()));
    let object = printed["ranks"][0]["objects"][0].as_object().unwrap();
    let known = [fields(&schema, "Communicator"), vec!["brief".to_owned()]].concat();
    let unknown: Vec<&String> = object.keys().filter(|key| !known.contains(key)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not in the schema");
}
