//! `mpiscope ps` on running jobs of fake ranks, on saved images, on core files, and on invalid files.

mod fake_job;

use fake_job::{FOUR_IN_RECV, Job, MPISCOPE, ps, text};
use mpiscope_image::layout::{Header, Loss, SectionKind, State};
use mpiscope_image::objects::{Comm, Life};
use mpiscope_job::test_image::TestImage;
use serde_json::Value;

use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Handles of MPICH's ABI.
const WORLD: u64 = 0x4400_0000;
const DOUBLE: u64 = 0x4c00_080b;

#[test]
fn equal_ranks_share_a_row_with_names_for_everything() {
    let job = Job::start(FOUR_IN_RECV, 4);
    let (printed, status) = job.shows(|printed| printed.contains("[0-3]") && printed.contains("MPI_Recv"));
    let words: Vec<&str> = printed.lines().nth(1).unwrap().split_whitespace().collect();
    let wanted =
        ["[0-3]", "samplehost", "x4", "in", "call", "MPI_Recv", "ANY_SOURCE", "7", "WORLD", "100", "DOUBLE"];
    assert_eq!(words.get(..wanted.len()), Some(&wanted[..]), "{printed}");
    assert_eq!((status, printed.lines().count()), (Some(0), 2));
}

#[test]
fn ranks_on_an_unnamed_communicator_share_a_row_even_if_their_handles_differ() {
    let identity = 0x3f2a_91c0_u64 << 32 | 7;
    let script = format!(
        "trap 'kill $p' TERM
        for r in 0 1 2 3; do FAKE_RANK=$r FAKE_SIZE=4 $RANK barrier=$(({identity} + (r / 2 << 32))) & p=\"$p $!\"; done
        wait; wait"
    );
    let job = Job::start(&script, 4);
    // Until then they have not called anything.
    job.shows(|printed| {
        let shown = |ranks: &str, comm: &str| {
            printed.lines().any(|line| line.starts_with(ranks) && line.contains(comm))
        };
        shown("[0-1]", "id:3f2a91c0 (size 2)") && shown("[2-3]", "id:3f2a91c1 (size 2)")
    });
}

#[test]
fn json_has_every_rank_and_the_job_is_found_by_name_and_by_a_ranks_process() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]") && printed.contains("MPI_Recv"));
    let json = |target: &str| -> Value { serde_json::from_slice(&ps(&[target, "--json"]).stdout).unwrap() };
    let first = json(&job.child.id().to_string());
    mpiscope_testkit::schema::check(&first).unwrap();
    let name = first["job"].as_str().unwrap();
    let pid = first["ranks"][2]["pid"].to_string();
    for target in [name, &name[..name.len() - 1], &pid] {
        let seen = json(target);
        assert_eq!(seen["job"], name);
        let ranks: Vec<_> = seen["ranks"].as_array().unwrap().iter().map(|r| r["rank"].as_u64()).collect();
        assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3)]);
    }
    let call = &first["ranks"][0]["threads"][0]["call"];
    assert_eq!((&call["function"], &call["datatype"]["name"]), (&"MPI_Recv".into(), &"MPI_DOUBLE".into()));
    assert_eq!((&call["peer"]["rank"], &call["peer"]["name"]), (&(-2).into(), &"MPI_ANY_SOURCE".into()));
    assert!(first["ranks"][0]["threads"][0]["age_s"].as_f64().unwrap() >= 0.0);
}

#[test]
fn the_folder_of_a_run_stands_for_the_evidence_in_it_in_every_verb() {
    let job = Job::start(FOUR_IN_RECV, 4);
    job.shows(|printed| printed.contains("[0-3]") && printed.contains("MPI_Recv"));
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("evidence.mpiscope");
    let run = |verb: &str, path: &Path| {
        let output = Command::new(MPISCOPE).env("COLUMNS", "400").arg(verb).arg(path).output().unwrap();
        (text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let verbs = ["ps", "why", "queues", "inspect", "vars", "procs", "core", "report"];
    for verb in verbs {
        let (printed, said, status) = run(verb, dir.path());
        assert_eq!((printed.as_str(), status), ("", Some(2)), "{verb}: {said}");
        assert!(said.contains(&dir.path().display().to_string()), "{verb}: {said}");
    }
    let id = job.child.id().to_string();
    let saved =
        Command::new(MPISCOPE).args(["save", "--here", &id, "--for=0.1"]).arg(&file).output().unwrap();
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    for verb in verbs {
        let (printed, said, status) = run(verb, dir.path());
        assert_eq!((&printed, status), (&run(verb, &file).0, run(verb, &file).2), "{verb}: {said}");
        assert!(!printed.is_empty(), "{verb}: {said}");
    }
}

#[test]
fn a_rank_that_was_killed_is_shown_as_gone_and_is_a_problem() {
    let script = "trap 'kill $a' TERM; FAKE_SIZE=2 $RANK recv & a=$!
        FAKE_RANK=1 FAKE_SIZE=2 $RANK kill=9; wait; wait";
    let job = Job::start(script, 2);
    let (printed, status) =
        job.shows(|printed| printed.contains("gone without MPI_Finalize") && printed.contains("in call"));
    assert_eq!(status, Some(1), "{printed}");
    let gone = printed.lines().find(|line| line.contains("gone")).unwrap();
    assert!(gone.starts_with("1 ") && gone.contains("MPI_Recv"), "{printed}");
}

#[test]
fn several_jobs_are_listed_when_none_was_named() {
    let jobs = [Job::start(FOUR_IN_RECV, 4), Job::start(FOUR_IN_RECV, 4)];
    jobs.iter().for_each(|job| drop(job.shows(|printed| printed.contains("[0-3]"))));
    let output = ps(&[]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for job in &jobs {
        let name = format!("{}-", job.child.id());
        let line = printed.lines().find(|line| line.starts_with(&name)).unwrap();
        assert!(line.contains("[0-3]") && line.contains("./sample"), "{printed}");
    }
    assert!(printed.contains("mpiscope ps JOB"));
    let listed: Value = serde_json::from_slice(&ps(&["--json"]).stdout).unwrap();
    assert_eq!(listed["schema"], "mpiscope.jobs/1");
    mpiscope_testkit::schema::check(&listed).unwrap();
    for job in &jobs {
        let name = format!("{}-", job.child.id());
        let of_job = |line: &&Value| line["job"].as_str().is_some_and(|job| job.starts_with(&name));
        let line = listed["jobs"].as_array().unwrap().iter().find(of_job).unwrap();
        assert_eq!((&line["ranks"], &line["size"]), (&"[0-3]".into(), &4.into()), "{listed}");
    }
}

#[test]
fn an_unknown_target_is_reported_with_the_next_thing_to_try() {
    let output = ps(&["nosuchjob"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("nosuchjob: no such job, process or file"));
    assert_eq!(ps(&["/no/such/file"]).status.code(), Some(2));
    assert_eq!(ps(&["/dev/null"]).status.code(), Some(2));
    assert_eq!(ps(&["--nosuchoption"]).status.code(), Some(2));
}

#[test]
fn for_an_ended_job_its_saved_files_are_named() {
    let dir = TempDir::new().unwrap();
    let ask = || {
        let output = Command::new(MPISCOPE)
            .env("COLUMNS", "400")
            .current_dir(dir.path())
            .args(["why", "1-ended"])
            .output()
            .unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (status, said) = ask();
    assert!(status == Some(2) && said.contains("name the DIR of `mpiscope run --out DIR`"), "{said}");
    std::fs::write(dir.path().join("mpiscope-hang-1-ended.mpiscope"), "").unwrap();
    let (status, said) = ask();
    let named = "hung; its state was saved: name the file mpiscope-hang-1-ended.mpiscope";
    assert!(status == Some(2) && said.contains(named), "{said}");
}

/// Makes a saved image of a rank in a send, and a directory for it.
fn saved() -> (TempDir, Vec<u8>) {
    let sample = TestImage::new("saved", 2, 4);
    sample.has_comm(0x8400_0001, "solver", 2);
    sample.enters("MPI_Ssend", [0x8400_0001, DOUBLE, 8], 1, -1);
    (TempDir::new().unwrap(), sample.bytes())
}

fn write(dir: &TempDir, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join("image");
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn a_saved_image_is_shown_like_a_living_rank() {
    let (dir, bytes) = saved();
    let output = ps(&[write(&dir, &bytes).to_str().unwrap()]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        printed.contains("MPI_Ssend") && printed.contains("\"solver\"") && printed.contains("ANY_TAG"),
        "{printed}"
    );
}

#[test]
fn dropped_records_are_shown_with_their_kind_and_the_reason() {
    let sample = TestImage::new("lossy", 2, 4);
    sample.enters("MPI_Recv", [WORLD, DOUBLE, 8], 1, 7);
    sample.writer.header().lost[Loss::REQUESTS.0 as usize].set(5);
    let (dir, _) = saved();
    let path = write(&dir, &sample.bytes());
    let printed = text(&ps(&[path.to_str().unwrap()]).stdout);
    assert!(printed.contains("lost on rank 2: 5 requests: the image could not grow"), "{printed}");
    let json: Value = serde_json::from_slice(&ps(&[path.to_str().unwrap(), "--json"]).stdout).unwrap();
    assert_eq!(json["ranks"][0]["losses"]["requests"], 5);
}

#[test]
fn a_rank_that_computes_shows_its_last_call_and_where_that_was() {
    let sample = TestImage::new("computing", 0, 1);
    sample.enters("MPI_Waitall", [0, 0, 4], 0, 0);
    sample.leaves();
    let (dir, _) = saved();
    let path = write(&dir, &sample.bytes());
    let words = |path: &Path| -> Vec<String> {
        let printed = text(&ps(&[path.to_str().unwrap()]).stdout);
        printed.lines().nth(1).unwrap().split_whitespace().skip(3).map(str::to_owned).collect()
    };
    let seen = words(&path);
    assert_eq!(seen[..8], ["computing", "after", "MPI_Waitall", "-", "-", "-", "-", "-"], "{seen:?}");
    assert_eq!(seen.last().unwrap(), "0x1234");
    let json: Value = serde_json::from_slice(&ps(&["--json", path.to_str().unwrap()]).stdout).unwrap();
    let thread = &json["ranks"][0]["threads"][0];
    assert_eq!((&thread["call"], &thread["last_call"]["count"]), (&Value::Null, &4.into()));
    sample.state(State::FINALIZED);
    assert_eq!(words(&write(&dir, &sample.bytes()))[..2], ["finalized", "-"]);
}

#[test]
fn an_image_of_the_first_version_is_read_and_has_no_last_call() {
    let (dir, mut bytes) = saved();
    bytes[offset_of!(Header, version)] = 1;
    let printed = text(&ps(&[write(&dir, &bytes).to_str().unwrap()]).stdout);
    assert!(printed.contains("MPI_Ssend") && printed.contains("\"solver\""), "{printed}");
    let mut bytes = TestImage::new("first", 0, 1).bytes();
    bytes[offset_of!(Header, version)] = 1;
    let printed = text(&ps(&[write(&dir, &bytes).to_str().unwrap()]).stdout);
    assert!(printed.contains("computing") && !printed.contains("after"), "{printed}");
}

#[test]
fn a_damaged_image_is_a_clear_error_and_not_a_crash() {
    let (dir, whole) = saved();
    let mut damaged: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "not an image"),
        (vec![0; whole.len()], "not an image"),
        (whole[..100].to_vec(), "damaged"),
        (whole[..5000].to_vec(), "damaged"),
    ];
    let mut version = whole.clone();
    version[offset_of!(Header, version)] = 99;
    damaged.push((version, "layout version 99"));
    for (bytes, wanted) in damaged {
        let output = ps(&[write(&dir, &bytes).to_str().unwrap()]);
        let printed = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{wanted}: {printed}");
        assert!(printed.contains(wanted) && text(&output.stdout).is_empty(), "{wanted}: {printed}");
    }
    for at in (0..4096).step_by(31) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x80;
        let status = ps(&[write(&dir, &bytes).to_str().unwrap()]).status;
        assert!(matches!(status.code(), Some(0..=2)), "byte {at}: {status}");
    }
}

/// Makes an x86-64 core file with one mapping.
fn core_file(memory: &[u8]) -> Vec<u8> {
    const AT: u64 = 0x1000;
    let mut core = Vec::new();
    core.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    for half in [4u16, 62] {
        core.extend(half.to_le_bytes());
    }
    core.extend(1u32.to_le_bytes());
    for word in [0u64, 64, 0] {
        core.extend(word.to_le_bytes());
    }
    core.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 64, 0, 0] {
        core.extend(half.to_le_bytes());
    }
    // PT_LOAD, readable and writable.
    core.extend([1u32, 6].map(u32::to_le_bytes).concat());
    let len = memory.len() as u64;
    core.extend([AT, 0x7f00_0000_0000, 0, len, len, 0x1000].map(u64::to_le_bytes).concat());
    core.resize(AT as usize, 0);
    core.extend(memory);
    core
}

#[test]
fn the_image_in_a_core_file_is_found_wherever_its_mapping_begins() {
    let (dir, image) = saved();
    for before in [0, 3 * 4096] {
        let mut memory = vec![0; before];
        memory.extend(&image);
        memory.resize(memory.len().next_multiple_of(4096), 0);
        let output = ps(&[write(&dir, &core_file(&memory)).to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("MPI_Ssend"));
    }
}

#[test]
fn a_core_file_of_another_program_and_a_program_are_distinguished() {
    let (dir, _) = saved();
    let printed = |path: &Path| {
        let output = ps(&[path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let core = printed(&write(&dir, &core_file(&[7; 8192])));
    assert!(core.contains("contains no mpiscope image") && core.contains("coredump_filter"), "{core}");
    let program = printed(Path::new(MPISCOPE));
    assert!(program.contains("core") && !program.contains("coredump_filter"), "{program}");
    let cut = printed(&write(&dir, &core_file(&[7; 8192])[..80]));
    assert!(cut.starts_with("mpiscope: "), "{cut}");
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let (dir, bytes) = saved();
    let path = write(&dir, &bytes);
    let mut child = Command::new(MPISCOPE)
        .arg("ps")
        .arg(&path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn a_communicator_that_is_being_freed_keeps_its_name_and_identity() {
    let (dir, _) = saved();
    let sample = TestImage::new("w", 0, 4);
    sample.shares_comm(0x8400_0001, "parting", 2, 0x3f2a_91c0_0000_0001);
    let comm = sample.writer.record::<Comm>(SectionKind::COMMS, 0).unwrap();
    comm.head.seq.write(|| comm.head.life.set(Life::MARKED.0));
    sample.enters("MPI_Barrier", [0x8400_0001, DOUBLE, 8], 3, 4);
    let path = write(&dir, &sample.bytes());
    let printed = text(&ps(&[path.to_str().unwrap()]).stdout);
    assert!(printed.contains("\"parting\""), "{printed}");
    let json: Value = serde_json::from_slice(&ps(&[path.to_str().unwrap(), "--json"]).stdout).unwrap();
    let object = &json["ranks"][0]["threads"][0]["call"]["object"];
    assert_eq!((&object["kind"], &object["name"]), (&"comm".into(), &"parting".into()), "{object}");
    assert_eq!(
        (&object["handle"], &object["identity"]),
        (&"0x84000001".into(), &"0x3f2a91c000000001".into()),
        "{object}"
    );
}

#[test]
fn a_barrier_shows_no_leftover_arguments_of_earlier_calls() {
    let (dir, _) = saved();
    let sample = TestImage::new("w", 0, 1);
    sample.enters("MPI_Barrier", [WORLD, DOUBLE, 8], 3, 4);
    let printed = text(&ps(&[write(&dir, &sample.bytes()).to_str().unwrap()]).stdout);
    let words: Vec<&str> = printed.lines().nth(1).unwrap().split_whitespace().skip(3).take(8).collect();
    assert_eq!(words, ["in", "call", "MPI_Barrier", "-", "-", "WORLD", "-", "-"], "{printed}");
}
