//! Following tables from process to process until nothing new appears.

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

/// More processes than this are not followed.
const MOST: usize = 1 << 20;
/// More hosts than this are not asked.
const MOST_HOSTS: usize = 1 << 12;

/// Where to begin.
pub enum Start {
    /// Processes of this host: ranks, launchers, `mpiscope run`.
    Pids(Vec<u32>),
    /// A core file (or anything else that holds a block).
    Target(Box<dyn Target>),
}

impl Start {
    /// A core file.
    ///
    /// # Errors
    /// When it is none.
    pub fn core(path: &Path) -> Result<Self, crate::Error> {
        let core = Core::open(path).map_err(|why| crate::Error::NotFound(why.to_string()))?;
        Ok(Self::Target(Box::new(core)))
    }
}

/// How far to go.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Other hosts are asked; else what runs there is listed in [`Acquired::elsewhere`].
    pub remote: bool,
    /// Whose processes are looked at; if nobody is named, those of the owners of the first ones.
    pub users: Users,
    /// Jobs whose processes are wanted, whether a table leads to them or not, and hosts that they are known to be on.
    pub jobs: BTreeMap<JobKey, BTreeSet<String>>,
}

/// Finds all processes of the job.
///
/// # Errors
/// When nothing at all is found. What could be found in part is no error: see [`Acquired::problems`].
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
    /// Everything that any table named, with the program it is to be.
    named: BTreeMap<ProcessLocation, PathBuf>,
    waiting: VecDeque<ProcessLocation>,
    /// Processes of this host that have been looked at.
    seen: BTreeSet<ProcessLocation>,
    entries: BTreeMap<ProcessLocation, Entry>,
    /// What other hosts said about processes that are not theirs: no more than a hint.
    hints: BTreeMap<ProcessLocation, Entry>,
    /// Processes of this host that belong to somebody else.
    strangers: BTreeSet<ProcessLocation>,
    /// Other hosts, and what to ask them for: directories, metadirectories and ranks that are there, and jobs.
    abroad: BTreeMap<String, Whom>,
    /// Jobs that were asked for.
    jobs: BTreeMap<JobKey, BTreeSet<String>>,
    /// What they were asked for, or have answered of themselves.
    asked: BTreeMap<String, Whom>,
    /// Those that did not answer in time, or are not reached.
    lost: BTreeSet<String>,
    problems: Vec<String>,
    /// What other hosts say of jobs that theirs are connected with.
    connected: BTreeSet<Connected>,
    /// What images say of the processes of this host.
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

    /// Begins at processes of this host.
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
                // One of several that has ended meanwhile.
                Err(Error::Target(mpiscope_target::Error::NoProcess { .. })) if pids.len() > 1 => {}
                Err(error) if pids.len() > 1 => self.complain(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        if mute.is_empty() { Ok(()) } else { self.begin_at_images(&mute) }
    }

    /// Begins at a process; below a launcher, at what it started. False if neither has tables.
    fn begin(&mut self, pid: u32, any_owner: bool) -> Result<bool, Error> {
        if let Some(stranger) = self.stranger(pid) {
            self.complain(stranger);
            return Ok(true);
        }
        let target = self.hosts.open(pid, Path::new(""))?;
        let place = ProcessLocation { host: self.hosts.host(), pid };
        // Its image, if it has one, leads to others of its job.
        self.name(place.clone(), target.executable().unwrap_or_default());
        if self.look(&*target, &place)? {
            return Ok(true);
        }
        // Anything without tables may be a launcher: or a shell, a wrapper, a proxy.
        let named = self.users.clone();
        for child in self.hosts.descendants(pid) {
            match self.hosts.owner(child) {
                // Whoever became another user to start the job did so by the kernel's leave, not by what a table says.
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

    /// Ranks that have not come so far as to have tables have images: others of their jobs may know more.
    fn begin_at_images(&mut self, pids: &[u32]) -> Result<(), Error> {
        let records = self.records();
        let known: BTreeSet<u32> = records.iter().map(|record| record.entry.place.pid).collect();
        // One of a job that was asked for may not have called MPI.
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

    /// The processes of jobs that were asked for.
    fn begin_at_jobs(&mut self) {
        let is_asked_for = |record: &ImageEntry| self.jobs.contains_key(&(record.owner, record.job.clone()));
        let records: Vec<ImageEntry> =
            self.records().into_iter().filter(|r| !r.entry.gone && is_asked_for(r)).collect();
        for record in records {
            self.name(record.entry.place, record.entry.executable);
        }
    }

    /// Why a process of this host is left alone, if it is there and belongs to somebody else.
    fn stranger(&self, pid: u32) -> Option<String> {
        let owner = self.hosts.owner(pid).filter(|owner| !self.users.has(*owner))?;
        Some(format!(
            "process {pid} belongs to user {owner} and not to user {}: it is left alone; `--user all` looks at it too",
            self.users
        ))
    }

    /// Learns what a process has to say; false if that is nothing.
    fn look(&mut self, target: &dyn Target, place: &ProcessLocation) -> Result<bool, Error> {
        let mut useful = false;
        self.seen.insert(place.clone());
        if let Some(block) = mpi2dd::read(target)? {
            useful = block.meta.is_some() || !block.processes.is_empty();
            // A rank, whose number and world others know.
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

    /// What the tables of a process say, of this host if it is known.
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

    /// Other hosts that are asked by the name of the job of a process that has a namespace of its own: its tables have the numbers
    /// that processes have for themselves, which on their hosts are those of others.
    fn asked_by_name(&self, pid: Option<u32>) -> Vec<String> {
        let inside =
            |record: &&ImageEntry| Some(record.entry.place.pid) == pid && Some(record.own_pid) != pid;
        let record = self.records.iter().find(inside);
        let hosts =
            record.map_or_else(Vec::new, |record| self.hosts.announced(&(record.owner, record.job.clone())));
        hosts.into_iter().filter(|host| !self.hosts.here(host)).collect()
    }

    /// A process was named: it will be looked at.
    fn name(&mut self, place: ProcessLocation, executable: PathBuf) {
        if self.named.len() >= MOST {
            return self.complain(format!("more than {MOST} processes are named: the rest is left out"));
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

    /// A rank was found. An entry that knows the world is better than one that does not.
    fn add(&mut self, entry: Entry) {
        // Its image has the number that it has here.
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

    /// The hosts that have ranks of the jobs that were found or asked for: not every rank stands in a table, and what is on one
    /// host may not know of another.
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

    /// Asks all hosts that are known by now, side by side, for what they have not been asked for; false if nothing is left.
    fn ask_others(&mut self) -> bool {
        let open = |(host, whom): (&String, &Whom)| {
            let open = self.asked.get(host).map_or_else(|| whom.clone(), |asked| whom.without(asked));
            (!open.is_empty()).then(|| (host.clone(), open))
        };
        // Who has let us wait once would do so again.
        let reached = self.abroad.iter().filter(|(host, _)| !self.lost.contains(*host));
        let mut new: Vec<(String, Whom)> = reached.filter_map(open).collect();
        let room = MOST_HOSTS.saturating_sub(self.asked.len());
        if new.len() > room {
            self.complain(format!("more than {MOST_HOSTS} hosts are named: the rest is not asked"));
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

    /// What another host knows.
    fn take_in(&mut self, host: &str, found: Acquired) {
        let whom = self.abroad.get(host).cloned().unwrap_or_default();
        for mut entry in found.processes {
            // Seen from there, "here" may have another name; a number alone may be that of a process of any host.
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

    /// The records of those who are looked at.
    fn records(&self) -> Vec<ImageEntry> {
        self.records.iter().filter(|record| self.users.has(record.owner)).cloned().collect()
    }

    /// The number on this host of a rank that a table names by the number that it has for itself, in a namespace of its own.
    fn host_pid(&self, world: &str, rank: Option<u32>, pid: u32) -> u32 {
        let inside = self.records.iter().filter(|record| record.own_pid == pid);
        let mut is_it = inside.filter(|record| record.entry.world == world && record.entry.rank == rank);
        is_it.next().map_or(pid, |record| record.entry.place.pid)
    }

    /// Whether only processes in other namespaces have this number: that of this host is somebody else.
    fn is_inside(&self, pid: u32) -> bool {
        let inside = self.records.iter().any(|record| record.own_pid == pid);
        inside && self.records.iter().all(|record| record.entry.place.pid != pid)
    }

    /// What images tell about the jobs of the processes that were found.
    fn add_records(&mut self) {
        let known: BTreeSet<ProcessLocation> = self.named.keys().cloned().collect();
        for record in images::of_jobs_with(self.records(), &known) {
            self.add(record.entry);
        }
        while let Some(place) = self.waiting.pop_front() {
            self.visit(&place);
        }
    }

    /// Ranks of hosts that did not answer, as others say: they are not listed, but whoever looks wants to know their numbers.
    fn name_lost_ranks(&mut self) {
        for host in std::mem::take(&mut self.lost) {
            let there = self.hints.values().filter(|hint| hint.place.host == host);
            let ranks: RankSet = there
                .filter(|hint| !self.entries.contains_key(&hint.place))
                .filter_map(|hint| hint.rank)
                .collect();
            if !ranks.0.is_empty() {
                self.complain(format!(
                    "host {host}: {} not seen, which other hosts say are there",
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
        // A process of somebody else is none of the job's, whatever its tables say.
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
