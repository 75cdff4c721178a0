//! Follows tables from process to process until nothing new appears.

use super::hosts::Whom;
use super::images::{self, ImageEntry};
use super::model::JobKey;
use super::mpi2dd::{self, Block};
use super::{Acquired, Entry, Error, Hosts, ProcessLocation, Users, mpir};
use crate::base::host_name::same_host;
use crate::base::parallel;
use crate::base::rankset::RankSet;
use crate::base::refusal::Refusal;
use crate::jobs::other_worlds::Connected;
use mpiscope_target::{Core, Target};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// At most this many processes are followed.
const MOST: usize = 1 << 20;
/// At most this many hosts are asked.
const MOST_HOSTS: usize = 1 << 12;

/// Where to start.
pub enum Start {
    /// Processes of this host: ranks, launchers, `mpiscope run`.
    Pids(Vec<u32>),
    /// A core file (or anything else that contains a block).
    Target(Box<dyn Target>),
}

impl Start {
    /// Opens a core file.
    ///
    /// # Errors
    /// When it is not a core file.
    pub fn core(path: &Path) -> Result<Self, crate::Error> {
        let core = Core::open(path).map_err(|why| crate::Error::NotFound(why.to_string()))?;
        Ok(Self::Target(Box::new(core)))
    }
}

/// How far to go.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Whether other hosts are asked; otherwise their processes are listed in [`Acquired::elsewhere`].
    pub remote: bool,
    /// Whose processes are read; if empty, those of the owners of the first processes.
    pub users: Users,
    /// Jobs whose processes are wanted even if no table leads to them, and the hosts that they are known to
    /// run on.
    pub jobs: BTreeMap<JobKey, BTreeSet<String>>,
}

/// Finds all processes of the job.
///
/// # Errors
/// When nothing at all is found. Partial results are not an error: see [`Acquired::problems`].
pub fn acquire(hosts: &(dyn Hosts + Sync), start: Start, scope: &Scope) -> Result<Acquired, Error> {
    let mut walk = Walk::new(hosts, scope);
    match start {
        Start::Pids(pids) => walk.begin_all(&pids, scope.users.unnamed())?,
        Start::Target(target) => {
            if let Some(block) = mpi2dd::read(&*target)? {
                walk.learn(&block, None);
            }
        }
    }
    walk.begin_at_jobs();
    walk.follow(scope.remote);
    walk.add_records();
    let found = walk.finish();
    Ok(found)
}

struct Walk<'a> {
    hosts: &'a (dyn Hosts + Sync),
    users: Users,
    /// All processes that any table named, with the expected program.
    named: BTreeMap<ProcessLocation, PathBuf>,
    waiting: VecDeque<ProcessLocation>,
    /// Processes of this host that have been read.
    seen: BTreeSet<ProcessLocation>,
    entries: BTreeMap<ProcessLocation, Entry>,
    /// What other hosts reported about processes that are not theirs: hints only.
    hints: BTreeMap<ProcessLocation, Entry>,
    /// Processes of this host that belong to other users.
    strangers: BTreeSet<ProcessLocation>,
    /// Other hosts, and what to ask them about: directories, metadirectories and ranks there, and jobs.
    abroad: BTreeMap<String, Whom>,
    /// Requested jobs.
    jobs: BTreeMap<JobKey, BTreeSet<String>>,
    /// What each host has already been asked, or has reported about itself.
    asked: BTreeMap<String, Whom>,
    /// Hosts that timed out or could not be reached.
    lost: BTreeSet<String>,
    problems: Vec<String>,
    /// Connections to other jobs, as reported by other hosts.
    connected: BTreeSet<Connected>,
    /// What the images of this host's processes tell.
    records: Vec<ImageEntry>,
}

impl<'a> Walk<'a> {
    fn new(hosts: &'a (dyn Hosts + Sync), scope: &Scope) -> Self {
        Self {
            records: hosts.records(),
            hosts,
            users: scope.users.clone(),
            jobs: scope.jobs.clone(),
            named: BTreeMap::new(),
            waiting: VecDeque::new(),
            seen: BTreeSet::new(),
            entries: BTreeMap::new(),
            hints: BTreeMap::new(),
            strangers: BTreeSet::new(),
            abroad: BTreeMap::new(),
            asked: BTreeMap::new(),
            lost: BTreeSet::new(),
            problems: Vec::new(),
            connected: BTreeSet::new(),
        }
    }

    /// Starts at processes of this host.
    fn begin_all(&mut self, pids: &[u32], any_owner: bool) -> Result<(), Error> {
        if any_owner {
            let owners = pids.iter().filter_map(|pid| self.hosts.owner(*pid));
            self.users = Users::Only(owners.collect());
        }
        let mut mute = Vec::new();
        for pid in pids {
            match self.begin(*pid, any_owner) {
                Ok(true) => {}
                Ok(false) => mute.push(*pid),
                // One of several, which has ended in the meantime.
                Err(Error::Target(mpiscope_target::Error::NoProcess { .. })) if pids.len() > 1 => {}
                Err(error) if pids.len() > 1 => self.complain(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        if mute.is_empty() { Ok(()) } else { self.begin_at_images(&mute) }
    }

    /// Starts at a process or, if that is a launcher, at its descendants. Returns false if none has tables.
    fn begin(&mut self, pid: u32, any_owner: bool) -> Result<bool, Error> {
        if let Some(stranger) = self.stranger(pid) {
            self.complain(stranger);
            return Ok(true);
        }
        let target = self.hosts.open(pid, Path::new(""))?;
        let place = ProcessLocation { host: self.hosts.host(), pid };
        // Its image, if any, leads to others of its job.
        self.name(place.clone(), target.executable().unwrap_or_default());
        if self.look(&*target, &place)? {
            return Ok(true);
        }
        // Anything without tables may be a launcher, or a shell, a wrapper, a proxy.
        let named = self.users.clone();
        for child in self.hosts.descendants(pid) {
            match self.hosts.owner(child) {
                // A process that changed its user to start the job did so with the kernel's permission, not
                // because of a table.
                Some(owner) if any_owner && !self.users.has(owner) => self.users = Users::only(owner),
                Some(owner) if self.users.has(owner) => {}
                _ => continue,
            }
            let Ok(target) = self.hosts.open(child, Path::new("")) else { continue };
            let place = ProcessLocation { host: self.hosts.host(), pid: child };
            if self.look(&*target, &place).unwrap_or(false) {
                return Ok(true);
            }
        }
        self.users = named;
        Ok(false)
    }

    /// Ranks too young to have tables have images: other processes of their jobs may know more.
    fn begin_at_images(&mut self, pids: &[u32]) -> Result<(), Error> {
        let records = self.records();
        let known: BTreeSet<u32> = records.iter().map(|record| record.entry.place.pid).collect();
        // A process of a requested job may not have called MPI.
        if let Some(pid) = pids.iter().find(|pid| !known.contains(pid)).filter(|_| self.jobs.is_empty()) {
            let name = self.named.get(&ProcessLocation { host: self.hosts.host(), pid: *pid }).cloned();
            return Err(Error::Nothing { pid: *pid, name: name.unwrap_or_default() });
        }
        let own = records.iter().map(|record| record.entry.place.clone());
        let own: BTreeSet<ProcessLocation> = own.filter(|place| pids.contains(&place.pid)).collect();
        for record in images::of_jobs_with(records, &own) {
            self.name(record.entry.place, record.entry.executable);
        }
        Ok(())
    }

    /// Starts at the processes of the requested jobs.
    fn begin_at_jobs(&mut self) {
        let is_asked_for = |record: &ImageEntry| self.jobs.contains_key(&(record.owner, record.job.clone()));
        let records: Vec<ImageEntry> =
            self.records().into_iter().filter(|r| !r.entry.gone && is_asked_for(r)).collect();
        for record in records {
            self.name(record.entry.place, record.entry.executable);
        }
    }

    /// Explains why a process of this host is left alone, if it exists and belongs to another user.
    fn stranger(&self, pid: u32) -> Option<String> {
        let owner = self.hosts.owner(pid).filter(|owner| !self.users.has(*owner))?;
        Some(format!(
            "process {pid} belongs to user {owner}, not to user {}, and was skipped; `--user all` includes it",
            self.users
        ))
    }

    /// Reads what a process knows; returns false if that is nothing.
    fn look(&mut self, target: &dyn Target, place: &ProcessLocation) -> Result<bool, Error> {
        let mut useful = false;
        self.seen.insert(place.clone());
        if let Some(block) = mpi2dd::read(target)? {
            useful = block.meta.is_some() || !block.processes.is_empty();
            // A rank; others know its number and world.
            if block.meta.is_some() && block.mpi_flags & mpi2dd::mpi_flag::I_AM_STARTER == 0 {
                self.add(Entry {
                    world: String::new(),
                    rank: None,
                    place: place.clone(),
                    executable: target.executable().unwrap_or_default(),
                    spawned: None,
                    gone: false,
                    silent: false,
                });
            }
            self.learn(&block, Some(place.pid));
        }
        let started = mpir::read(target).unwrap_or_else(|error| {
            self.problems.push(error.to_string());
            Vec::new()
        });
        for (rank, process) in started.into_iter().enumerate() {
            useful = true;
            self.add(Entry {
                world: String::new(),
                rank: u32::try_from(rank).ok(),
                place: process.place,
                executable: process.executable,
                spawned: None,
                gone: false,
                silent: false,
            });
        }
        Ok(useful)
    }

    /// Takes in the tables of a process, which is `of` if it runs on this host.
    fn learn(&mut self, block: &Block, of: Option<u32>) {
        let by_name = self.asked_by_name(of);
        let by_name = |place: &ProcessLocation| by_name.iter().any(|host| same_host(host, &place.host));
        for rank in block.processes.iter().filter(|rank| !by_name(&rank.process.place)) {
            let (number, mut place) = (u32::try_from(rank.rank).ok(), rank.process.place.clone());
            if self.hosts.here(&place.host) {
                place.pid = self.host_pid(&rank.world, number, place.pid);
            }
            self.add(Entry {
                world: rank.world.clone(),
                rank: number,
                place,
                executable: rank.process.executable.clone(),
                spawned: rank.spawned.clone(),
                gone: false,
                silent: false,
            });
        }
        let others = block.directories.iter().chain(&block.metadirectories).chain(&block.meta);
        for process in others.filter(|process| !by_name(&process.place)) {
            self.name(process.place.clone(), process.executable.clone());
        }
    }

    /// Returns the hosts to ask by job name about a process in its own pid namespace: its tables contain pids
    /// inside the namespace, which denote other processes on the hosts.
    fn asked_by_name(&self, pid: Option<u32>) -> Vec<String> {
        let inside =
            |record: &&ImageEntry| Some(record.entry.place.pid) == pid && Some(record.own_pid) != pid;
        let record = self.records.iter().find(inside);
        let hosts =
            record.map_or_else(Vec::new, |record| self.hosts.announced(&(record.owner, record.job.clone())));
        hosts.into_iter().filter(|host| !self.hosts.here(host)).collect()
    }

    /// Queues a process that was named.
    fn name(&mut self, place: ProcessLocation, executable: PathBuf) {
        if self.named.len() >= MOST {
            return self.complain(format!("more than {MOST} processes are named: the rest are left out"));
        }
        if self.named.contains_key(&place) {
            return;
        }
        if self.hosts.here(&place.host) {
            if self.is_inside(place.pid) {
                return;
            }
            match self.stranger(place.pid) {
                Some(why) => {
                    self.complain(why);
                    self.strangers.insert(place.clone());
                }
                None => self.waiting.push_back(place.clone()),
            }
        } else {
            self.abroad.entry(place.host.clone()).or_default().pids.insert(place.pid);
        }
        self.named.insert(place, executable);
    }

    /// Adds a rank. An entry that knows the world replaces one that does not.
    fn add(&mut self, entry: Entry) {
        // Its image has its pid on this host.
        if self.hosts.here(&entry.place.host) && self.is_inside(entry.place.pid) {
            return;
        }
        self.name(entry.place.clone(), entry.executable.clone());
        match self.entries.get_mut(&entry.place) {
            Some(known) if !known.world.is_empty() => {
                if known.spawned.is_none() {
                    known.spawned = entry.spawned;
                }
                known.gone |= entry.gone;
            }
            _ => {
                self.entries.insert(entry.place.clone(), entry);
            }
        }
    }

    fn complain(&mut self, problem: String) {
        if !self.problems.contains(&problem) && self.problems.len() < 1000 {
            self.problems.push(problem);
        }
    }

    fn follow(&mut self, remote: bool) {
        loop {
            while let Some(place) = self.waiting.pop_front() {
                self.visit(&place);
            }
            if !remote {
                return;
            }
            self.look_for_jobs();
            if !self.ask_others() {
                return;
            }
        }
    }

    fn visit(&mut self, place: &ProcessLocation) {
        if self.seen.contains(place) {
            return;
        }
        let executable = self.named.get(place).cloned().unwrap_or_default();
        match self.hosts.open(place.pid, &executable) {
            Ok(target) => {
                if let Err(error) = self.look(&*target, place) {
                    self.complain(error.to_string());
                }
            }
            Err(Error::Target(mpiscope_target::Error::NoProcess { .. })) => {
                if let Some(entry) = self.entries.get_mut(place) {
                    entry.gone = true;
                }
            }
            Err(error) => self.complain(error.to_string()),
        }
    }

    /// Looks for the hosts that have ranks of the jobs that were found or requested: not every rank is in a
    /// table, and the processes on one host may not know those on another.
    fn look_for_jobs(&mut self) {
        let mut jobs = self.jobs.clone();
        let found = self.records.iter().filter(|record| {
            self.users.has(record.owner) && !record.entry.gone && self.named.contains_key(&record.entry.place)
        });
        for record in found {
            jobs.entry((record.owner, record.job.clone())).or_default();
        }
        for (job, mut hosts) in jobs {
            hosts.extend(self.hosts.announced(&job));
            for host in hosts.into_iter().filter(|host| !self.hosts.here(host)) {
                let known = self.abroad.keys().find(|known| same_host(known, &host)).cloned();
                self.abroad.entry(known.unwrap_or(host)).or_default().jobs.insert(job.1.clone());
            }
        }
    }

    /// Asks all hosts known so far, concurrently, about what they have not been asked yet. Returns false if
    /// nothing is left.
    fn ask_others(&mut self) -> bool {
        let open = |(host, whom): (&String, &Whom)| {
            let open = self.asked.get(host).map_or_else(|| whom.clone(), |asked| whom.without(asked));
            (!open.is_empty()).then(|| (host.clone(), open))
        };
        // A host that timed out once would do so again.
        let reached = self.abroad.iter().filter(|(host, _)| !self.lost.contains(*host));
        let mut new: Vec<(String, Whom)> = reached.filter_map(open).collect();
        let room = MOST_HOSTS.saturating_sub(self.asked.len());
        if new.len() > room {
            self.complain(format!("more than {MOST_HOSTS} hosts are named: the rest were not asked"));
            new.truncate(room);
        }
        for (host, whom) in &new {
            self.asked.entry(host.clone()).or_default().extend(whom.clone());
        }
        let (hosts, users) = (self.hosts, &self.users);
        let answers = parallel::ask(&new, |(host, whom)| hosts.ask(host, whom, users));
        for ((host, whom), answer) in new.iter().zip(answers) {
            match answer {
                Ok(found) => self.take_in(host, found),
                // All ranks there have ended.
                Err(Error::Refused { refusal: Refusal::NoneHere, .. }) if whom.pids.is_empty() => {}
                Err(error) => {
                    if matches!(error, Error::TimedOut { .. } | Error::Unreached { .. }) {
                        self.lost.insert(host.clone());
                    }
                    self.complain(error.to_string());
                }
            }
        }
        !new.is_empty()
    }

    /// Takes in the answer of another host.
    fn take_in(&mut self, host: &str, found: Acquired) {
        let whom = self.abroad.get(host).cloned().unwrap_or_default();
        for mut entry in found.processes {
            // The other host may call itself by another name; a pid alone may denote a process on any host.
            let place = &entry.place;
            let own = match &found.host {
                Some(name) => same_host(&place.host, name),
                None => {
                    whom.pids.contains(&place.pid) || !whom.jobs.is_empty() && same_host(&place.host, host)
                }
            };
            if own && !self.hosts.here(&place.host) && !self.abroad.contains_key(&place.host) {
                host.clone_into(&mut entry.place.host);
            }
            if entry.place.host == host {
                self.asked.entry(host.to_owned()).or_default().pids.insert(entry.place.pid);
                self.add(entry);
            } else {
                self.name(entry.place.clone(), entry.executable.clone());
                self.hints.entry(entry.place.clone()).or_insert(entry);
            }
        }
        self.connected.extend(found.connected);
        for place in found.elsewhere {
            self.name(place, PathBuf::new());
        }
        for problem in found.problems {
            self.complain(format!("{host}: {problem}"));
        }
    }

    /// Returns the records of the users whose processes are read.
    fn records(&self) -> Vec<ImageEntry> {
        self.records.iter().filter(|record| self.users.has(record.owner)).cloned().collect()
    }

    /// Translates the pid in a table, which is the one inside the rank's pid namespace, to that on this host.
    fn host_pid(&self, world: &str, rank: Option<u32>, pid: u32) -> u32 {
        let inside = self.records.iter().filter(|record| record.own_pid == pid);
        let mut is_it = inside.filter(|record| record.entry.world == world && record.entry.rank == rank);
        is_it.next().map_or(pid, |record| record.entry.place.pid)
    }

    /// Whether only processes in other pid namespaces have this pid: on this host it denotes an unrelated
    /// process.
    fn is_inside(&self, pid: u32) -> bool {
        let inside = self.records.iter().any(|record| record.own_pid == pid);
        inside && self.records.iter().all(|record| record.entry.place.pid != pid)
    }

    /// Adds what images tell about the jobs of the processes found.
    fn add_records(&mut self) {
        let known: BTreeSet<ProcessLocation> = self.named.keys().cloned().collect();
        for record in images::of_jobs_with(self.records(), &known) {
            self.add(record.entry);
        }
        while let Some(place) = self.waiting.pop_front() {
            self.visit(&place);
        }
    }

    /// Names ranks that other hosts reported on hosts that did not answer: they are not listed, but users
    /// want to know their numbers.
    fn name_lost_ranks(&mut self) {
        for host in std::mem::take(&mut self.lost) {
            let there = self.hints.values().filter(|hint| hint.place.host == host);
            let ranks: RankSet = there
                .filter(|hint| !self.entries.contains_key(&hint.place))
                .filter_map(|hint| hint.rank)
                .collect();
            if !ranks.0.is_empty() {
                self.complain(format!(
                    "host {host}: {} not seen, although other hosts report them there",
                    ranks.named()
                ));
            }
        }
    }

    fn finish(mut self) -> Acquired {
        self.name_lost_ranks();
        for (place, hint) in std::mem::take(&mut self.hints) {
            if self.entries.contains_key(&place) {
                self.add(hint);
            }
        }
        // A process of another user is not part of the job, whatever its tables claim.
        self.entries.retain(|place, _| !self.strangers.contains(place));
        let elsewhere = self.abroad.iter().filter(|(host, _)| !self.asked.contains_key(*host));
        let elsewhere = elsewhere.flat_map(|(host, whom)| {
            whom.pids.iter().map(|pid| ProcessLocation { host: host.clone(), pid: *pid })
        });
        let mut found = Acquired {
            elsewhere: elsewhere.collect(),
            processes: self.entries.into_values().collect(),
            problems: self.problems,
            connected: self.connected,
            host: Some(self.hosts.host()),
        };
        found.sort();
        found
    }
}
