//! Ranks on two hosts: namespaces of one machine that share only the network and the folders.

use crate::common::{self, LIMIT, MPISCOPE, compile, folder, pairs, seen, strip};
use mpiscope_testkit::cluster::{self, Cluster, Ended};
use mpiscope_testkit::mpi::{Family, Library};
use mpiscope_testkit::paths;
use mpiscope_testkit::run::{self, Outcome};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A debugger on the starter, which reads the table by offsets.
const STARTER: &str = r#"
gdb -nx -batch -x starter.gdb --args ./mpiscope run -q "$mpirun" -launcher ssh -launcher-exec "$PWD/rsh" -hosts nodea,nodeb -n 4 -ppn 2 "$program"
"#;

/// The test on the first host; the head of the script sets the variables.
const SCRIPT: &str = r#"
"$mpiscope" run -q "$mpirun" -launcher ssh -launcher-exec "$PWD/rsh" -hosts nodea,nodeb -n 4 -ppn 2 "$program" "$PWD" > said 2>&1 &
job=$!
i=0
until [ -e at.idle.1 ]; do
    i=$((i + 1)); sleep 0.05
    [ $i -lt 600 ] && kill -0 $job || { cat said; exit 1; }
done
here=$(sed -n 's/rank [01] of 4 is process //p' said)
there=$(sed -n 's/rank [23] of 4 is process //p' said)
for pid in $here $job; do "$mpiscope" procs --json $pid; done
for pid in $there; do ./rsh nodeb "MPISCOPE_SSH='$PWD/rsh {host}' '$mpiscope' procs --json $pid"; done
"$mpiscope" ps --json
./rsh nodeb "MPISCOPE_SSH='$PWD/rsh {host}' '$mpiscope' ps --json"
"$mpiscope" attach $job --batch 'info line main'
"$mpiscope" attach $job --ranks 3 --batch 'info inferiors' --json
touch go.1
wait $job
"#;

/// Runs each verb on a job that hangs across hosts, from both hosts; then on what the first host has saved;
/// then with a host that does not answer.
const WHOLE: &str = r#"
"$mpiscope" run -q --hang-after 0 "$mpirun" -launcher ssh -launcher-exec "$PWD/rsh" -hosts nodea,nodeb -n 2 -ppn 1 "$hang" other_tag > said 2>&1 &
job=$!
i=0
until "$mpiscope" why --for 0.1 --json | grep -q message-never-sent; do
    i=$((i + 1)); sleep 0.05
    [ $i -lt 100 ] && kill -0 $job || { cat said; "$mpiscope" why; exit 1; }
done
there() { ./rsh nodeb "MPISCOPE_SSH='$PWD/rsh {host}' '$mpiscope' $*"; }
for verb in why queues inspect ps; do "$mpiscope" $verb --json; there $verb --json; done
"$mpiscope" save all.mpiscope > saved
for verb in why queues inspect ps; do "$mpiscope" $verb --json all.mpiscope; done
began=$(date +%s)
printf '#!/bin/sh\necho >> hung\nexec sleep 600\n' > hangs
chmod +x hangs
MPISCOPE_SSH="$PWD/hangs {host}" MPISCOPE_HOST_SECONDS=1 "$mpiscope" ps --json
rm hung
MPISCOPE_SSH="$PWD/hangs {host}" MPISCOPE_HOST_SECONDS=1 "$mpiscope" procs
echo "asked $(wc -l < hung) times"
echo "took $(($(date +%s) - began)) s"
kill $job
wait $job
"#;

const HOSTS: [&str; 2] = ["nodea", "nodeb"];

/// Runs a script on `nodea`, the first of the two hosts.
fn on_two_hosts(library: &Library, layer: &Path, script: &str) -> Outcome {
    let dir = folder();
    let program = compile(library, "idle", dir.path());
    let hang = dir.path().join("hang");
    library.cc(&[&paths::programs().join("hang.c")], &hang).unwrap();
    let shell = paths::programs().join("acquire/remote_shell.py");
    let rsh = dir.path().join("rsh");
    std::fs::write(&rsh, format!("#!/bin/sh\nexec python3 {} \"$@\"\n", shell.display())).unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&rsh).status().unwrap().success());
    std::fs::write(dir.path().join("starter.gdb"), common::STARTER).unwrap();
    // For the debugger that reads the starter.
    strip(Path::new(MPISCOPE), dir.path());
    let head = format!(
        "export MPISCOPE_SSH=\"$PWD/rsh {{host}}\" TMPDIR=/tmp FI_TCP_IFACE=eth0\nmpiscope={MPISCOPE} mpirun={} program={} hang={}\n",
        library.mpirun.display(),
        program.display(),
        hang.display()
    );
    let job = dir.path().join("job.sh");
    std::fs::write(&job, format!("cd {}\n{head}{script}", dir.path().display())).unwrap();
    let hosts = Ended(Cluster::make(dir.path(), &HOSTS).unwrap());
    // They end with their hosts.
    let serve = |host: &str| hosts.0.on(host, "python3").unwrap().arg(&shell).arg("serve").spawn().unwrap();
    let servers = HOSTS.map(serve);
    // Wait until both shells answer and the link works in both directions.
    let there_and_back = format!("python3 {} {} true", shell.display(), HOSTS[0]);
    let mut settled = hosts.0.on(HOSTS[0], "python3").unwrap();
    settled.arg(&shell).args([HOSTS[1], &there_and_back]);
    assert!(run::bounded(&mut settled, LIMIT).unwrap().success());
    let mut command = hosts.0.on(HOSTS[0], "sh").unwrap();
    command.arg(job);
    common::prepare(&mut command, library, layer);
    let outcome = run::bounded(&mut command, LIMIT * 2).unwrap();
    drop(hosts);
    servers.into_iter().for_each(|mut server| drop(server.wait()));
    outcome
}

/// Whether two hosts can be emulated on this machine.
pub fn two_hosts() -> Option<String> {
    cluster::unavailable()
}

/// Whether there is a launcher that accepts another remote shell.
pub fn a_launcher_for_hosts() -> Option<String> {
    hydras().next().is_none().then(|| "no MPICH with its launcher here".to_owned())
}

/// Returns the libraries with a launcher that accepts another remote shell.
fn hydras() -> impl Iterator<Item = Library> {
    common::libraries().into_iter().filter(|library| library.family == Family::Mpich && library.bin.is_some())
}

pub fn the_ranks_of_two_hosts_are_found_and_attached_to_from_both() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in hydras() {
        let outcome = on_two_hosts(&library, &layer, SCRIPT);
        check(&outcome.stdout, &outcome.describe());
    }
}

pub fn every_verb_shows_the_ranks_of_both_hosts_and_does_not_wait_for_a_hanging_host() {
    let _turn = common::alone();
    let layer = common::layer();
    for library in hydras() {
        let outcome = on_two_hosts(&library, &layer, WHOLE);
        check_whole(&outcome.stdout, &format!("{}\n{}", library.name, outcome.describe()));
    }
}

fn check_whole(stdout: &str, all: &str) {
    let reports: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |schema: &str| -> Vec<&Value> { reports.iter().filter(|r| r["schema"] == schema).collect() };
    let verdicts = of("mpiscope.why/1");
    assert_eq!(verdicts.len(), 3, "{all}");
    for verdict in &verdicts {
        assert_eq!(verdict["kind"], "message-never-sent", "{all}");
        assert_eq!(verdict["verdict"], verdicts[0]["verdict"], "{all}");
        assert_eq!(verdict["not_seen"], Value::Array(Vec::new()), "{all}");
    }
    let queues = of("mpiscope.queues/1");
    assert_eq!(queues.len(), 3, "{all}");
    for queue in queues {
        let entries = queue["communicators"][0]["entries"].as_array().unwrap_or_else(|| panic!("{all}"));
        let has = |state: &str, tag: i64| entries.iter().any(|e| e["state"] == state && e["tag"] == tag);
        assert!(has("posted", 42) && has("unexpected", 41), "{all}");
    }
    let places = |of: &Value| -> Vec<(u64, String)> {
        let place = |r: &Value| (r["rank"].as_u64().unwrap(), r["host"].as_str().unwrap().to_owned());
        of["ranks"].as_array().unwrap().iter().map(place).collect()
    };
    let both = [(0, "nodea".to_owned()), (1, "nodeb".to_owned())];
    let inspections = of("mpiscope.inspect/3");
    assert_eq!(inspections.len(), 3, "{all}");
    inspections.iter().for_each(|found| assert_eq!(places(found), both, "{all}"));
    let looks = of("mpiscope.ps/2");
    let [whole @ .., partial] = looks.as_slice() else { panic!("{all}") };
    assert_eq!(whole.len(), 3, "{all}");
    whole.iter().for_each(|look| assert_eq!(places(look), both, "{all}"));
    assert_eq!(places(partial), both[..1], "{all}");
    let said = partial["errors"].to_string();
    assert!(said.contains("nodeb") && said.contains("did not answer within 1 s"), "{all}");
    // A host that timed out once is not asked again.
    assert!(stdout.contains("\nasked 1 times\n"), "{all}");
    assert!(said.contains("not seen: rank 1 of 2"), "{all}");
    let took =
        stdout.lines().find_map(|line| line.strip_prefix("took ")?.strip_suffix(" s")?.parse::<u32>().ok());
    assert!(took.is_some_and(|took| took < 30), "{all}");
}

pub fn the_starter_lists_the_ranks_of_all_hosts() {
    let _turn = common::alone();
    let (layer, library) = (common::layer(), hydras().next().unwrap());
    let outcome = on_two_hosts(&library, &layer, STARTER);
    let all = outcome.describe();
    assert!(outcome.stdout.contains("SEEN state 1 size 4"), "{all}");
    let (said, read) = (seen(&outcome.stdout, "rank "), seen(&outcome.stdout, "SEEN rank"));
    assert_eq!(pairs(&read, 2, 4), pairs(&said, 1, 6), "{all}");
    let hosts: Vec<_> = read.iter().filter_map(|line| line.split_whitespace().nth(6)).collect();
    assert_eq!(hosts, ["nodea", "nodea", "nodeb", "nodeb"], "{all}");
}

/// Returns the rank and host of each process.
fn wanted() -> [(u64, String); 4] {
    [(0, "nodea"), (1, "nodea"), (2, "nodeb"), (3, "nodeb")].map(|(rank, host)| (rank, host.to_owned()))
}

fn check(stdout: &str, all: &str) {
    let reports: Vec<Value> = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let lists: Vec<&Value> = reports.iter().filter(|r| r["schema"] == "mpiscope.procs/1").collect();
    assert_eq!(lists.len(), 5, "{all}");
    for list in &lists {
        let place = |p: &Value| (p["rank"].as_u64().unwrap(), p["host"].as_str().unwrap().to_owned());
        let places: BTreeSet<_> = list["processes"].as_array().unwrap().iter().map(place).collect();
        assert_eq!(places, BTreeSet::from(wanted()), "{all}");
        assert_eq!(list["processes"], lists[0]["processes"], "{all}");
        assert_eq!(list["problems"], Value::Array(Vec::new()), "{all}");
    }
    let looks: Vec<&Value> = reports.iter().filter(|r| r["schema"] == "mpiscope.ps/2").collect();
    assert_eq!(looks.len(), 2, "{all}");
    for look in looks {
        let place = |r: &Value| (r["rank"].as_u64().unwrap(), r["host"].as_str().unwrap().to_owned());
        let places: Vec<_> = look["ranks"].as_array().unwrap().iter().map(place).collect();
        assert_eq!(places, wanted(), "{all}");
        assert_eq!(look["errors"], Value::Array(Vec::new()), "{all}");
    }
    assert!(stdout.contains("ranks [0-3] (4 processes)"), "{all}");
    let answers: Vec<&Value> = reports.iter().filter(|r| r["schema"] == "mpiscope.answers/1").collect();
    let outputs = answers.first().and_then(|a| a["outputs"].as_array()).unwrap_or_else(|| panic!("{all}"));
    assert_eq!(outputs.len(), 1, "{all}");
    assert!(
        outputs[0]["rank"] == 3 && outputs[0]["host"] == "nodeb" && outputs[0]["text"].is_string(),
        "{all}"
    );
}
