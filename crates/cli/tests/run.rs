//! `mpiscope run` with programs that behave like ranks under the layer (see `examples/fake_rank.rs`): exit
//! status, output and report, in both forms and for every kind of end. The test matrix covers real MPI
//! libraries.

use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MPISCOPE: &str = env!("CARGO_BIN_EXE_mpiscope");

fn fake_rank() -> PathBuf {
    Path::new(MPISCOPE).with_file_name("examples").join("fake_rank")
}

/// A run in a separate directory, with an empty library in place of the layer.
struct Run {
    dir: TempDir,
    command: Command,
}

impl Run {
    fn new() -> Self {
        Self::of(MPISCOPE)
    }

    fn of(program: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let layer = dir.path().join("libmpiscope.so");
        let source = dir.path().join("empty.c");
        std::fs::write(&source, "int nothing;\n").unwrap();
        let built = Command::new("gcc").args(["-shared", "-o"]).arg(&layer).arg(&source).status().unwrap();
        assert!(built.success());
        let mut command = Command::new(program);
        let foreign = std::env::vars().filter(|(name, _)| {
            ["PMI", "OMPI_", "MPI", "SLURM_", "PALS_"].iter().any(|prefix| name.starts_with(prefix))
        });
        for (name, _) in foreign {
            command.env_remove(name);
        }
        command
            .env("COLUMNS", "400")
            .env("MPISCOPE_LAYER", &layer)
            .env("RANK", fake_rank())
            .env("MPISCOPE", MPISCOPE);
        Self { dir, command }
    }

    fn args(mut self, args: &[&str]) -> Self {
        self.command.args(args);
        self
    }

    fn report(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.dir.path().join("report.json")).unwrap()).unwrap()
    }

    fn go(&mut self) -> Output {
        let started = Instant::now();
        let mut child =
            self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        while child.try_wait().unwrap().is_none() {
            if started.elapsed() > Duration::from_secs(20) {
                child.kill().unwrap();
                panic!("no end after 20 s");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    }

    /// Makes a shell run `script` in place of a launcher, below `mpiscope run --out`.
    fn whole(script: &str) -> Self {
        let run = Self::new();
        let dir = run.dir.path().to_str().unwrap().to_owned();
        run.args(&["run", "--out", &dir, "sh", "-c", script])
    }

    /// Makes a shell run `script` as the launcher: every rank has its own `mpiscope run`.
    fn ranks(script: &str) -> Self {
        let mut run = Self::of("sh").args(&["-c", script]);
        let dir = run.dir.path().to_owned();
        run.command.env("DIR", dir);
        run
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Collects the values that differ between the two. Times are recomputed from clocks that have advanced a
/// little.
fn differences(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                differences(&format!("{at}.{name}"), &one[name], &other[name], found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (number, (a, b)) in a.iter().zip(b).enumerate() {
                differences(&format!("{at}.{number}"), a, b, found);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            if (a - b).abs() > 1e-3 * a.abs().max(b.abs()) + 1e-6 {
                found.push(format!("{at}: {a} {b}"));
            }
        }
        _ if one != other => found.push(format!("{at}: {one} {other}")),
        _ => {}
    }
}

#[test]
fn the_report_of_a_folder_is_the_report_that_was_written_there() {
    // Two also fail after MPI_Finalize: which was the first to end is told by how long the processes lived.
    let mut run = Run::whole(
        "export FAKE_SIZE=4; for r in 0 1 2; do how=finalize=7; [ $r = 0 ] && how=finalize
           FAKE_RANK=$r $RANK $how & done; FAKE_RANK=3 $RANK kill=9 & wait",
    );
    run.go();
    let dir = run.dir.path().to_str().unwrap();
    let output = Command::new(MPISCOPE).args(["report", "--json", dir]).output().unwrap();
    let again: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    mpiscope_testkit::schema::check(&again).unwrap();
    let mut found = Vec::new();
    differences("", &run.report(), &again, &mut found);
    assert!(found.is_empty(), "{found:#?}");
    let text = Command::new(MPISCOPE).args(["report", "--section", "time", dir]).output().unwrap();
    assert_eq!(text.status.code(), Some(1), "a rank was killed");
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("(not in MPI)") && text.contains("MPI_Allreduce"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn the_report_has_every_ranks_counts_and_leaves_standard_output_to_the_program() {
    let mut run = Run::whole("for r in 0 1 2 3; do FAKE_RANK=$r FAKE_SIZE=4 $RANK finalize & done; wait");
    let output = run.go();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stdout), "output of the program\n".repeat(4));
    let shown = text(&output.stderr);
    assert!(shown.lines().count() <= 20 && shown.contains("4 ranks on 1 host: samplehost [0-3]"), "{shown}");
    let report = run.report();
    assert_eq!(report["schema"], "mpiscope.report/1");
    assert_eq!((&report["abi"], &report["size"]), (&"mpich".into(), &4.into()));
    for rank in 0..4 {
        let one = &report["ranks"][rank];
        assert_eq!((&one["rank"], &one["finalized"], &one["lost"]), (&rank.into(), &true.into(), &0.into()));
        assert_eq!(one["calls"]["MPI_Allreduce"]["count"], 10 + rank);
        assert_eq!(one["calls"]["MPI_Send"]["bytes"], 4096);
        let (wall, mpi) = (one["wall_s"].as_f64().unwrap(), one["mpi_s"].as_f64().unwrap());
        assert!(wall >= 0.03 && mpi > 0.0 && mpi < wall);
        // Known even though the process has ended.
        let memory = &report["sections"]["memory"][rank];
        assert!(memory["peak"].as_u64().unwrap() > 100_000 && memory["cpus"] != "", "{memory}");
    }
    let most = &report["functions"][0];
    assert_eq!(
        (&most["name"], &most["min"]["rank"], &most["max"]["rank"]),
        (&"MPI_Allreduce".into(), &0.into(), &3.into())
    );
}

#[test]
fn exit_status_and_signal_are_those_of_the_program() {
    assert_eq!(Run::whole("$RANK finalize=7").go().status.code(), Some(7));
    assert_eq!(signal(Run::whole("kill -TERM $$").go().status), Some(libc_signal("TERM")));
    assert_eq!(signal(Run::whole("kill -KILL $$").go().status), Some(libc_signal("KILL")));
    assert_eq!(Run::new().args(&["run", "/no/such/program"]).go().status.code(), Some(127));
    assert_eq!(Run::new().args(&["run", "/dev/null"]).go().status.code(), Some(126));
}

fn libc_signal(name: &str) -> i32 {
    match name {
        "KILL" => 9,
        "SEGV" => 11,
        "TERM" => 15,
        _ => unreachable!("no test uses {name}"),
    }
}

#[test]
fn a_killed_rank_is_in_the_report_with_the_call_it_was_in() {
    let mut run = Run::whole("FAKE_SIZE=2 $RANK finalize & FAKE_RANK=1 FAKE_SIZE=2 $RANK kill=9; wait");
    let shown = text(&run.go().stderr);
    // How it ended is known only with Linux 6.15 or newer.
    let end = shown.lines().find(|line| line.contains("rank 1: ended without MPI_Finalize")).unwrap();
    assert!(end.ends_with(", last seen in MPI_Recv at 0x1234"), "{shown}");
    let report = run.report();
    assert_eq!(
        (&report["ranks"][0]["finalized"], &report["ranks"][1]["finalized"]),
        (&true.into(), &false.into())
    );
    assert!(report["ranks"][1]["mpi_s"].as_f64().unwrap() >= 0.05, "the open call counts until the end");
}

#[test]
fn a_rank_killed_between_two_calls_is_reported_with_the_earlier_one() {
    let mut run = Run::whole("$RANK kill-later=9; true");
    let shown = text(&run.go().stderr);
    let end = shown.lines().find(|line| line.contains("rank 0: ended without MPI_Finalize")).unwrap();
    assert!(end.ends_with(", last call MPI_Recv at 0x1234"), "{shown}");
    let rank = &run.report()["ranks"][0];
    assert_eq!((&rank["in_call"], &rank["last_call"]), (&Value::Null, &"MPI_Recv".into()));
}

#[test]
fn an_abort_is_reported_with_its_code() {
    let mut run = Run::whole("$RANK abort=3");
    let output = run.go();
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("rank 0: called MPI_Abort with code 3"));
}

#[test]
fn if_no_process_called_mpi_one_sentence_says_so_with_the_next_thing_to_try() {
    let mut run = Run::whole("$RANK silent");
    let output = run.go();
    let shown = text(&output.stderr);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("no process called MPI under the layer"), "{shown}");
    assert!(
        shown.contains("/sh is not linked with MPI")
            && shown.contains(
                "Run `mpiscope doctor COMMAND` to find out. A process whose calls could not be recorded said so above."
            ),
        "{shown}"
    );
    assert_eq!((output.status.code(), &run.report()["ranks"]), (Some(0), &Value::Array(Vec::new())));
}

#[test]
fn wrappers_give_one_report_for_all_ranks_of_the_host_and_know_how_each_ended() {
    let mut run = Run::ranks(
        "for r in 0 1 2; do
           how=finalize; [ $r = 1 ] && how=kill=11
           [ $r = 2 ] && how=silent
           PMI_RANK=$r PMI_SIZE=3 MPI_LOCALNRANKS=3 $MPISCOPE run --out $DIR $RANK $how &
         done; wait",
    );
    let output = run.go();
    let shown = text(&output.stderr);
    assert_eq!(shown.matches("mpiscope: ").count(), 1, "{shown}");
    assert_eq!(text(&output.stdout), "output of the program\n".repeat(3));
    assert!(shown.contains(
        "rank 1: ended without MPI_Finalize, killed by signal 11 (SIGSEGV), last seen in MPI_Recv"
    ));
    assert!(shown.contains("rank 2: never called MPI, exit status 0"), "{shown}");
    let report = run.report();
    assert_eq!(report["ranks"].as_array().unwrap().len(), 2);
    assert_eq!(report["silent"][0]["rank"], 2);
}

#[test]
fn leaks_are_reported_for_a_rank_that_crashes_in_finalize_but_not_for_one_killed_there() {
    for (signal, count) in [("6", 1), ("9", 0)] {
        let mut run = Run::ranks(&format!(
            "PMI_RANK=0 PMI_SIZE=1 MPI_LOCALNRANKS=1 $MPISCOPE run --out $DIR $RANK kill-finalizing={signal}"
        ));
        run.go();
        assert_eq!(run.report()["leaks"].as_array().unwrap().len(), count, "{signal}");
    }
}

#[test]
fn a_wrapper_ends_as_its_program_does() {
    let status = |how: &str| {
        let mut run = Run::new().args(&["run", "--quiet"]);
        run.command.arg(fake_rank()).arg(how);
        run.command.env("PMI_RANK", "0").env("MPI_LOCALNRANKS", "1");
        run.go().status
    };
    assert_eq!(status("finalize=5").code(), Some(5));
    assert_eq!(signal(status("kill=9")), Some(9));
    assert_eq!(signal(status("kill=11")), Some(11));
}

#[test]
fn a_rank_that_may_not_write_files_and_so_has_no_image_still_runs() {
    let mut run = Run::ranks(
        "ulimit -f 0; PMI_RANK=0 PMI_SIZE=1 MPI_LOCALNRANKS=1 $MPISCOPE run sh -c 'echo it runs; exit 7'",
    );
    let output = run.go();
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(7), "it runs\n".to_owned()), "{said}");
    assert!(said.contains("this rank cannot be watched (File too large"), "{said}");
}

#[test]
fn a_launcher_that_kills_its_ranks_still_gets_the_report_and_no_process_remains() {
    let mut run = Run::ranks(
        "export PMI_SIZE=2 MPI_LOCALNRANKS=2
         PMI_RANK=0 $MPISCOPE run --out $DIR $RANK recv & a=$!
         PMI_RANK=1 $MPISCOPE run --out $DIR $RANK recv & b=$!
         sleep 0.5; kill -9 $a $b; wait",
    );
    let started = Instant::now();
    let shown = text(&run.go().stderr);
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(shown.contains("ranks [0-1]: ended without MPI_Finalize, last seen in MPI_Recv"), "{shown}");
    assert_eq!(run.report()["ranks"].as_array().unwrap().len(), 2);
}

#[test]
fn ranks_that_never_come_do_not_keep_the_launcher_waiting() {
    let mut run = Run::ranks("PMI_RANK=0 PMI_SIZE=9 MPI_LOCALNRANKS=9 $MPISCOPE run $RANK finalize");
    let started = Instant::now();
    let shown = text(&run.go().stderr);
    assert!(shown.contains("1 of 9 ranks on 1 host: samplehost 0"), "{shown}");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_signal_to_run_reaches_the_program() {
    for environment in [&[][..], &[("PMI_RANK", "0"), ("MPI_LOCALNRANKS", "1")]] {
        let mut run = Run::new().args(&["run", "--quiet", "sh", "-c"]);
        run.command.envs(environment.iter().copied());
        run.command.arg("trap 'exit 42' USR1; kill -USR1 $PPID; sleep 0.1; sleep 0.1; sleep 3; exit 1");
        assert_eq!(run.go().status.code(), Some(42));
    }
}

#[test]
fn a_missing_layer_is_reported_before_the_program_runs() {
    let mut run = Run::new().args(&["run", "echo", "x"]);
    run.command.env("MPISCOPE_LAYER", "/no/such/libmpiscope.so");
    let output = run.go();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()));
    assert!(text(&output.stderr).contains("MPISCOPE_LAYER"));
}

#[test]
fn json_replaces_the_text_and_quiet_silences_it() {
    let output = Run::new().args(&["run", "--json"]).args(&[fake_rank().to_str().unwrap(), "finalize"]).go();
    let report: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(report["ranks"][0]["calls"]["MPI_Send"]["count"], 5);
    let output = Run::new().args(&["run", "-q"]).args(&[fake_rank().to_str().unwrap(), "finalize"]).go();
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn an_option_in_place_of_the_program_is_rejected_with_the_right_usage() {
    for (words, says) in [
        (["run", "--frob", "./app"].as_slice(), "has no option --frob"),
        (&["run", "-n", "2", "./app"], "mpiscope run mpirun -n 2 ./app"),
        (&["run", "--quiet", "-np", "2", "./app"], "mpiscope run mpirun -np 2 ./app"),
    ] {
        let output = Run::new().args(words).go();
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), String::new()), "{words:?}");
        assert!(text(&output.stderr).contains(says), "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn an_outer_launcher_reports_how_each_rank_ended_and_which_was_first() {
    let mut run = Run::whole(
        "$RANK recv & a=$!; FAKE_RANK=1 $RANK recv & b=$!; sleep 0.5; kill -9 $b; sleep 0.3; kill -9 $a; wait; true",
    );
    let shown = text(&run.go().stderr);
    // Older kernels do not report how a process ended if its parent has already reaped it.
    if shown.contains("killed by signal") {
        assert!(shown.contains("killed by signal 9 (SIGKILL)"), "{shown}");
    }
    let first = run.report()["first_end"]["before_s"].as_f64().unwrap();
    assert!(first > 0.1, "{first}");
    let (number, unit) = if first < 0.9995 { (first * 1e3, "ms") } else { (first, "s") };
    let three = shown.split("first to end: rank 1, ").nth(1).and_then(|rest| rest.split(" before").next());
    let (text, its) = three.and_then(|text| text.split_once(' ')).unwrap_or_default();
    assert!(its == unit && (text.parse::<f64>().unwrap() / number - 1.0).abs() < 0.006, "{shown}");
}

#[test]
fn ranks_that_can_never_continue_are_reported_while_others_work() {
    let script = "trap 'kill $p' TERM
        FAKE_RANK=0 FAKE_SIZE=3 $RANK collective=MPI_Barrier & p=$!
        FAKE_RANK=1 FAKE_SIZE=3 $RANK collective=MPI_Bcast & p=\"$p $!\"
        FAKE_RANK=2 FAKE_SIZE=3 $RANK works & p=\"$p $!\"; wait; wait";
    let mut run = Run::new();
    let dir = run.dir.path().join("out");
    run.command
        .args(["run", "--quiet", "--hang-after", "0.5", "--on-hang", "exit 3", "--out"])
        .arg(&dir)
        .args(["sh", "-c", script]);
    let screen = run.dir.path().join("said");
    let stderr = File::create(&screen).unwrap();
    let mut child = run.command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap();
    let said = || std::fs::read_to_string(&screen).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !said().contains("--on-hang failed") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    child.wait().unwrap();
    let said = said().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("mpiscope: ranks [0-1] have completed no MPI call for "), "{said}");
    assert!(said.contains("s, and never can: collective mismatch (function)"), "{said}");
    assert!(said.contains("mpiscope run: the command of --on-hang failed: exit status: 3"), "{said}");
    assert!(dir.join("hang.mpiscope").exists(), "{said}");
}

#[test]
fn the_folder_of_a_job_that_hung_until_killed_explains_the_hang() {
    let script = "trap 'kill $p' TERM
        FAKE_RANK=0 FAKE_SIZE=2 $RANK collective=MPI_Barrier & p=$!
        FAKE_RANK=1 FAKE_SIZE=2 $RANK collective=MPI_Bcast & p=\"$p $!\"; wait; wait";
    let mut run = Run::new();
    let dir = run.dir.path().join("out");
    run.command.args(["run", "--quiet", "--hang-after", "0.5", "--out"]).arg(&dir).args(["sh", "-c", script]);
    let mut child = run.command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !dir.join("why.json").exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
    child.wait().unwrap();
    assert!(dir.join("evidence.mpiscope").is_file());
    let hung: Value = serde_json::from_slice(&std::fs::read(dir.join("why.json")).unwrap()).unwrap();
    for verb in ["why", "core"] {
        let said = Command::new(MPISCOPE).args([verb, "--json"]).arg(&dir).output().unwrap();
        let answer: Value = serde_json::from_slice(&said.stdout).unwrap();
        let why = if verb == "core" { &answer["why"] } else { &answer };
        assert_eq!(why["verdict"], hung["verdict"], "{verb}");
        assert!(text(&said.stderr).contains("hang.mpiscope"), "{verb}: {}", text(&said.stderr));
        assert_eq!(said.status.code(), Some(1));
    }
    // A run that was killed leaves nothing else.
    std::fs::remove_file(dir.join("evidence.mpiscope")).unwrap();
    let said = Command::new(MPISCOPE).args(["why", "--json"]).arg(&dir).output().unwrap();
    let answer: Value = serde_json::from_slice(&said.stdout).unwrap();
    assert_eq!(answer["verdict"], hung["verdict"]);
}

#[test]
fn an_unusable_socket_folder_does_not_stop_a_job_and_ranks_learn_the_folder_in_use() {
    let script = "FAKE_SIZE=1 $RANK finalize; echo in $MPISCOPE_RUNTIME_DIR";
    let mut run = Run::whole(script);
    run.command.env("MPISCOPE_RUNTIME_DIR", "/no/such/folder");
    let output = run.go();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("MPISCOPE_RUNTIME_DIR: /no/such/folder"),
        "{}",
        text(&output.stderr)
    );
    assert!(text(&output.stdout).contains("in /") && !text(&output.stdout).contains("/no/such"));
    assert_eq!(run.report()["ranks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn an_unusable_socket_folder_is_reported_once_for_all_ranks_of_a_host() {
    let script = "for r in 0 1 2 3; do
           PMI_RANK=$r PMI_SIZE=4 MPI_LOCALNRANKS=4 $MPISCOPE run --out $DIR $RANK finalize &
         done; wait";
    let mut run = Run::ranks(script);
    run.command.env("MPISCOPE_RUNTIME_DIR", "/no/such/folder");
    let output = run.go();
    let said = text(&output.stderr);
    assert_eq!(said.matches("MPISCOPE_RUNTIME_DIR: /no/such/folder").count(), 1, "{said}");
    assert_eq!(run.report()["ranks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn programs_inherit_the_original_open_file_limit() {
    let mut run = Run::of("sh").args(&["-c", "ulimit -Sn 200; $MPISCOPE run -q sh -c 'ulimit -Sn'"]);
    assert_eq!(text(&run.go().stdout).trim(), "200");
}

#[test]
fn json_explains_like_the_text_why_no_process_called_mpi() {
    let mut run = Run::new().args(&["run", "--json", "true"]);
    let report: Value = serde_json::from_slice(&run.go().stderr).unwrap();
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("no process called MPI under the layer") && notes.contains("mpiscope doctor"),
        "{notes}"
    );
}

#[test]
fn at_the_open_file_limit_the_report_covers_what_fits_and_counts_the_rest() {
    let script = "for r in $(seq 0 39); do FAKE_RANK=$r FAKE_SIZE=40 FAKE_WAIT=$DIR/go $RANK finalize & done
        sleep 1; touch $DIR/go; wait";
    let mut run = Run::of("sh");
    let dir = run.dir.path().to_owned();
    run.command.args(["-c", "ulimit -n 80; exec $MPISCOPE run --out $DIR sh -c \"$SCRIPT\""]);
    run.command.env("DIR", dir).env("SCRIPT", script);
    let output = run.go();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report = run.report();
    let seen = report["ranks"].as_array().map_or(0, Vec::len);
    assert!((4..40).contains(&seen), "{seen} ranks");
    let notes = report["notes"].to_string();
    assert!(notes.contains(&format!("{} processes are missing here", 40 - seen)), "{seen}: {notes}");
}

#[test]
fn a_nested_run_reports_and_the_outer_one_does_not_claim_that_nothing_ran() {
    let mut run = Run::new().args(&["run", "sh", "-c", "$MPISCOPE run sh -c 'FAKE_SIZE=1 $RANK finalize'"]);
    let said = text(&run.go().stderr);
    assert!(said.contains("1 rank on 1 host") && !said.contains("no process called MPI"), "{said}");
    let mut alone = Run::new().args(&["run", "sh", "-c", "$MPISCOPE --version"]);
    assert!(text(&alone.go().stderr).contains("no process called MPI"));
}
