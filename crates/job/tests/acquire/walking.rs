//! From any process to the same set, on hosts that exist only in the test.

use crate::memory::{Memory, Proc};
use mpiscope_job::jobs::acquire::{
    self, Acquired, Entry, Error, Hosts, ImageEntry, JobKey, ProcessLocation, Scope, Start, Users, Whom,
};
use mpiscope_target::{ByteOrder, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Processes of several hosts, seen from one of them.
#[derive(Default)]
pub struct Fake {
    host: String,
    pub processes: BTreeMap<(String, u32), Memory>,
    children: BTreeMap<u32, Vec<u32>>,
    /// Owners of processes; 7 by default.
    owners: BTreeMap<u32, u32>,
    pub asked: Mutex<Vec<String>>,
    /// Images of processes on all hosts.
    images: Vec<ImageEntry>,
    /// Hosts of jobs, by name.
    announced: BTreeMap<String, Vec<String>>,
    /// Number of hosts that must be asked concurrently before any of them answers.
    pub together: usize,
    /// The answer of every other host, in place of the true one.
    pub answer: Option<Vec<u8>>,
    /// A host that does not answer.
    silent: Option<String>,
}

impl Fake {
    fn on(host: &str) -> Self {
        Self { host: host.into(), ..Self::default() }
    }

    fn add(&mut self, host: &str, pid: u32, fill: impl FnOnce(&mut Memory)) {
        let mut memory = Memory::new(8, ByteOrder::Little);
        fill(&mut memory);
        self.processes.insert((host.into(), pid), memory);
    }
}

/// Acquires the processes of the first processes' owners.
pub fn acquire(reach: &Fake, start: Start, remote: bool) -> Result<Acquired, Error> {
    acquire::acquire(reach, start, &Scope { remote, ..Scope::default() })
}

impl Hosts for Fake {
    fn host(&self) -> String {
        self.host.clone()
    }
    fn here(&self, host: &str) -> bool {
        host == self.host
    }
    fn open(&self, pid: u32, _: &Path) -> Result<Box<dyn Target>, Error> {
        match self.processes.get(&(self.host.clone(), pid)) {
            Some(memory) => Ok(Box::new(memory.target(pid))),
            None => Err(mpiscope_target::Error::NoProcess { pid }.into()),
        }
    }
    fn descendants(&self, pid: u32) -> Vec<u32> {
        self.children.get(&pid).cloned().unwrap_or_default()
    }
    fn records(&self) -> Vec<ImageEntry> {
        self.images.iter().filter(|image| image.entry.place.host == self.host).cloned().collect()
    }
    fn announced(&self, (_, name): &JobKey) -> Vec<String> {
        self.announced.get(name).cloned().unwrap_or_default()
    }
    fn owner(&self, pid: u32) -> Option<u32> {
        self.processes
            .contains_key(&(self.host.clone(), pid))
            .then(|| self.owners.get(&pid).copied().unwrap_or(7))
    }
    fn ask(&self, host: &str, whom: &Whom, users: &Users) -> Result<Acquired, Error> {
        self.asked.lock().unwrap().push(host.into());
        let begun = Instant::now();
        while self.asked.lock().unwrap().len() < self.together {
            assert!(begun.elapsed() < Duration::from_secs(30), "{host} is asked while others have to wait");
            std::thread::yield_now();
        }
        if self.silent.as_deref() == Some(host) {
            return Err(Error::TimedOut { host: host.into(), seconds: 1.0 });
        }
        if let Some(answer) = &self.answer {
            return serde_json::from_slice(answer)
                .map_err(|error| Error::Remote { host: host.into(), why: error.to_string() });
        }
        let mut there = Fake::on(host);
        there.owners.clone_from(&self.owners);
        there.images.clone_from(&self.images);
        for ((home, pid), memory) in &self.processes {
            let copy = Memory { width: memory.width, order: memory.order, bytes: memory.bytes.clone() };
            there.processes.insert((home.clone(), *pid), copy);
        }
        let jobs = whom.jobs.iter().map(|name| ((7, name.clone()), BTreeSet::new())).collect();
        let scope = Scope { remote: false, users: users.clone(), jobs };
        acquire::acquire(&there, Start::Pids(whom.pids.iter().copied().collect()), &scope)
    }
}

fn rank<'a>(
    host: &'a str,
    world: &'a str,
    pid: i32,
    rank: i32,
    parent: Option<(&'a str, i32, i32)>,
) -> Proc<'a> {
    Proc { host, executable: "/a", world, pid, rank, spawned: parent }
}

/// World 1 (10, 11) on host a spawned world 2 (20 on a, 21 on b); another job, world 3 (30 on b), is
/// connected.
pub fn two_jobs(host: &str) -> Fake {
    let mut fake = Fake::on(host);
    fake.add("a", 10, |m| {
        m.meta("a", "/a", 10);
        m.processes(&[rank("a", "w1", 10, 0, None), rank("a", "w1", 11, 1, None)]);
        m.directory(1, &[("a", "/a", 20)], true);
        m.directory(2, &[("b", "/a", 30)], true);
    });
    fake.add("a", 11, |m| m.meta("a", "/a", 10));
    let parent = Some(("w1", 0, 0));
    fake.add("a", 20, |m| {
        m.meta("a", "/a", 10);
        m.processes(&[rank("a", "w2", 20, 0, parent), rank("b", "w2", 21, 1, parent)]);
    });
    fake.add("b", 21, |m| m.meta("a", "/a", 10));
    fake.add("b", 30, |m| {
        m.meta("b", "/a", 30);
        m.processes(&[rank("b", "w3", 30, 0, None)]);
        m.directory(2, &[("a", "/a", 10)], true);
    });
    fake
}

fn pids(found: &Acquired) -> Vec<(String, u32)> {
    let mut pids: Vec<_> = found.processes.iter().map(|p| (p.place.host.clone(), p.place.pid)).collect();
    pids.sort();
    pids
}

#[test]
fn the_same_set_is_found_from_every_process_of_every_host() {
    let all = [("a", 10), ("a", 11), ("a", 20), ("b", 21), ("b", 30)].map(|(h, p)| (h.to_owned(), p));
    for (host, pid) in &all {
        let found = acquire(&two_jobs(host), Start::Pids(vec![*pid]), true).unwrap();
        assert_eq!(pids(&found), all, "from {host} {pid}: {:?}", found.problems);
        assert!(found.problems.is_empty() && found.elsewhere.is_empty(), "{:?}", found.problems);
    }
}

/// Returns the image entry of a process.
fn image(host: &str, pid: u32, rank: u32) -> ImageEntry {
    let place = ProcessLocation { host: host.into(), pid };
    let (world, executable) = (String::new(), "/a".into());
    let entry =
        Entry { world, rank: Some(rank), place, executable, spawned: None, gone: false, silent: false };
    ImageEntry { job: "j".into(), owner: 7, own_pid: pid, entry }
}

#[test]
fn ranks_in_no_table_are_found_on_the_known_hosts_of_their_job() {
    let fake = |host: &str| {
        let mut fake = two_jobs(host);
        fake.images = vec![image("a", 10, 0), image("c", 40, 5)];
        fake.add("c", 40, |m| m.meta("c", "/a", 40));
        fake.announced.insert("j".into(), ["a", "b", "c"].map(str::to_owned).to_vec());
        fake
    };
    let from_a = fake("a");
    let found = acquire(&from_a, Start::Pids(vec![10]), true).unwrap();
    assert!(pids(&found).contains(&("c".into(), 40)) && found.processes.len() == 6, "{found:?}");
    let mut asked = from_a.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["b", "c"]);
    // By the job's name, even from a host without any process of it.
    let jobs = [((7, "j".to_owned()), BTreeSet::new())].into();
    let scope = Scope { remote: true, users: Users::only(7), jobs };
    let found = acquire::acquire(&fake("login"), Start::Pids(Vec::new()), &scope).unwrap();
    assert_eq!(found.processes.len(), 6, "{found:?}");
}

/// World 1: rank 0 is process 10 of host a, rank 1 process 10 of host b, rank 2 process 10 of host c.
fn equal_numbers(host: &str) -> Fake {
    let mut fake = Fake::on(host);
    let places = [("a", 0), ("b", 1), ("c", 2)];
    for (home, number) in places {
        fake.add(home, 10, |m| {
            m.meta("a", "/a", 10);
            if number == 0 {
                m.processes(&places.map(|(home, number)| rank(home, "w1", 10, number, None)));
            }
        });
    }
    fake
}

#[test]
fn processes_on_different_hosts_may_have_the_same_pid() {
    let all = ["a", "b", "c"].map(|host| (host.to_owned(), 10));
    for (host, _) in &all {
        let found = acquire(&equal_numbers(host), Start::Pids(vec![10]), true).unwrap();
        assert_eq!(pids(&found), all, "from {host}: {:?}", found.problems);
        let ranks = found.processes.iter().map(|entry| entry.rank);
        assert_eq!(ranks.collect::<Vec<_>>(), [Some(0), Some(1), Some(2)], "from {host}");
        assert!(found.problems.is_empty(), "{:?}", found.problems);
    }
    // The ranks of a host that does not answer must not be taken for those of another.
    let mut fake = Fake { silent: Some("c".into()), ..equal_numbers("login") };
    fake.images = [("a", 0), ("b", 1), ("c", 2)].map(|(home, rank)| image(home, 10, rank)).to_vec();
    fake.announced.insert("j".into(), ["a", "b", "c"].map(str::to_owned).to_vec());
    let jobs = [((7, "j".to_owned()), BTreeSet::new())].into();
    let scope = Scope { remote: true, users: Users::only(7), jobs };
    let found = acquire::acquire(&fake, Start::Pids(Vec::new()), &scope).unwrap();
    assert_eq!(pids(&found), all[..2]);
    let said = found.problems.iter().any(|problem| problem.contains("host c: rank 2 not seen"));
    assert!(said, "{:?}", found.problems);
}

#[test]
fn each_host_is_asked_once_even_if_tables_form_cycles() {
    let fake = two_jobs("a");
    acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert_eq!(*fake.asked.lock().unwrap(), ["b"]);
}

#[test]
fn without_asking_the_processes_of_other_hosts_are_named() {
    let found = acquire(&two_jobs("a"), Start::Pids(vec![11]), false).unwrap();
    let place = |pid| ProcessLocation { host: "b".into(), pid };
    assert_eq!(found.elsewhere, [place(21), place(30)]);
}

#[test]
fn a_launcher_leads_to_its_descendant_ranks() {
    let mut fake = two_jobs("a");
    fake.add("a", 5, |m| m.bytes[5] = 1);
    fake.children.insert(5, vec![7, 11]);
    let found = acquire(&fake, Start::Pids(vec![5]), true).unwrap();
    assert_eq!(found.processes.len(), 5);
}

#[test]
fn a_core_file_of_one_rank_leads_to_the_others() {
    let fake = two_jobs("a");
    let core = fake.processes[&("a".to_owned(), 10)].target(10);
    let scope = Scope { remote: true, users: Users::only(7), ..Scope::default() };
    let found = acquire::acquire(&fake, Start::Target(Box::new(core)), &scope).unwrap();
    assert_eq!(found.processes.len(), 5);
}

#[test]
fn a_rank_that_has_ended_stays_in_the_list_and_is_marked() {
    let mut fake = two_jobs("a");
    fake.processes.remove(&("a".to_owned(), 11));
    let found = acquire(&fake, Start::Pids(vec![20]), true).unwrap();
    let gone: Vec<u32> = found.processes.iter().filter(|p| p.gone).map(|p| p.place.pid).collect();
    assert_eq!((found.processes.len(), gone), (5, vec![11]));
}

#[test]
fn a_damaged_table_loses_only_its_own_entries_and_is_reported() {
    let mut fake = two_jobs("a");
    fake.processes.get_mut(&("a".to_owned(), 20)).unwrap().int(0, i32::MAX);
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert!(found.problems.iter().any(|p| p.contains("claims")), "{:?}", found.problems);
    assert_eq!(pids(&found).len(), 3);
}

#[test]
fn a_process_of_no_job_is_distinguished_from_one_that_is_gone() {
    let mut fake = Fake::on("a");
    fake.add("a", 5, |_| {});
    let error = acquire(&fake, Start::Pids(vec![5]), true).unwrap_err().to_string();
    assert!(error.contains("does not belong to any MPI job"), "{error}");
    let error = acquire(&fake, Start::Pids(vec![6]), true).unwrap_err().to_string();
    assert!(error.contains("no process 6"), "{error}");
}

#[test]
fn a_table_of_many_thousand_missing_ranks_is_read_quickly() {
    let mut fake = Fake::on("a");
    fake.add("a", 10, |m| {
        m.meta("a", "/a", 10);
        let ranks: Vec<Proc<'_>> = (0..50_000).map(|i| rank("a", "w", 10 + i, i, None)).collect();
        m.processes(&ranks);
    });
    let begin = Instant::now();
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert_eq!(found.processes.len(), 50_000);
    assert!(begin.elapsed().as_secs() < 20);
}

#[test]
fn a_table_leads_to_processes_of_other_users_only_on_request() {
    let mut fake = two_jobs("a");
    fake.owners.insert(20, 8);
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert!(!pids(&found).contains(&("a".into(), 20)), "{found:?}");
    let why = found.problems.join("; ");
    assert!(why.contains("process 20 belongs to user 8") && why.contains("--user all"), "{why}");
    let scope = Scope { remote: true, users: Users::All, ..Scope::default() };
    let found = acquire::acquire(&fake, Start::Pids(vec![10]), &scope).unwrap();
    assert_eq!((found.processes.len(), found.problems.len()), (5, 0));
    // Naming a process explicitly requests it.
    let found = acquire(&fake, Start::Pids(vec![20]), false).unwrap();
    assert!(pids(&found).contains(&("a".into(), 20)), "{found:?}");
    // The user as which a launcher started the ranks is the job's owner.
    fake.owners = [(5, 0), (10, 8), (11, 8), (20, 8), (21, 8), (30, 8)].into();
    fake.add("a", 5, |m| m.bytes[5] = 1);
    fake.children.insert(5, vec![11]);
    assert_eq!(acquire(&fake, Start::Pids(vec![5]), true).unwrap().processes.len(), 5);
}

#[test]
fn another_host_cannot_add_processes_of_this_or_a_third_host() {
    let mut fake = Fake::on("a");
    fake.add("a", 10, |m| {
        m.meta("b", "/a", 30);
    });
    // Runs here, but is not part of any job.
    fake.add("a", 66, |_| {});
    fake.add("c", 67, |_| {});
    fake.add("b", 30, |m| {
        m.meta("b", "/a", 30);
        let lies = [rank("a", "w", 66, 1, None), rank("c", "w", 67, 2, None), rank("a", "w", 10, 3, None)];
        m.processes(&[&[rank("b", "w", 30, 0, None)], &lies[..]].concat());
    });
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert_eq!(pids(&found), [("a".to_owned(), 10), ("b".to_owned(), 30)]);
    assert_eq!(found.processes.iter().map(|p| p.rank).collect::<Vec<_>>(), [Some(0), Some(3)]);
}

#[test]
fn hosts_known_at_the_same_time_are_asked_in_parallel() {
    let mut fake = Fake::on("a");
    let hosts = ["b", "c", "d"];
    fake.add("a", 10, |m| {
        m.meta("a", "/a", 10);
        m.processes(&[
            rank("a", "w", 10, 0, None),
            rank("b", "w", 11, 1, None),
            rank("c", "w", 12, 2, None),
            rank("d", "w", 13, 3, None),
        ]);
    });
    for (host, pid) in hosts.into_iter().zip(11..) {
        fake.add(host, pid, |m| m.meta("a", "/a", 10));
    }
    fake.together = hosts.len();
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert_eq!((found.processes.len(), found.problems.len()), (4, 0));
    fake.asked.lock().unwrap().sort();
    assert_eq!(*fake.asked.lock().unwrap(), hosts);
}

#[test]
fn inside_pid_namespaces_other_hosts_are_asked_by_job_and_not_by_pid() {
    let mut fake = Fake::on("a");
    fake.announced.insert("j".into(), vec!["a".into(), "b".into()]);
    // Each rank sees itself as process 1; process 1 of host b belongs to another job.
    fake.add("a", 10, |m| {
        m.meta("a", "/a", 1);
        m.processes(&[rank("a", "w", 1, 0, None), rank("b", "w", 1, 1, None)]);
    });
    fake.add("b", 21, |m| m.meta("a", "/a", 1));
    fake.add("b", 1, |m| {
        m.meta("b", "/a", 1);
        m.processes(&[rank("b", "other", 1, 0, None)]);
    });
    for (host, pid, rank) in [("a", 10, 0), ("b", 21, 1)] {
        let mut inside = image(host, pid, rank);
        (inside.own_pid, inside.entry.world) = (1, "w".into());
        fake.images.push(inside);
    }
    let found = acquire(&fake, Start::Pids(vec![10]), true).unwrap();
    assert_eq!(pids(&found), [("a".into(), 10), ("b".into(), 21)]);
    assert!(found.problems.is_empty(), "{found:?}");
}
