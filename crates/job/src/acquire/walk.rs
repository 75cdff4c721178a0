//! Following tables from process to process until nothing new appears.

use super::mpi2dd::{self, Block};
use super::records;
use super::{Acquired, Entry, Error, Place, Reach, mpir};
use mpiscope_target::Target;
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

/// Finds all processes of the job.
///
/// With `remote` other hosts are asked; without, what runs there is listed in [`Acquired::elsewhere`].
///
/// # Errors
/// When nothing at all is found. What could be found in part is no error: see [`Acquired::problems`].
pub fn acquire(reach: &dyn Reach, start: Start, remote: bool) -> Result<Acquired, Error> {
    let mut walk = Walk::new(reach);
    match start {
        Start::Pids(pids) => {
            for pid in &pids {
                walk.begin(*pid, pids.len() == 1)?;
            }
        }
        Start::Target(target) => {
            if let Some(block) = mpi2dd::read(&*target)? {
                walk.learn(&block);
            }
        }
    }
    walk.follow(remote);
    walk.add_records();
    let found = walk.finish();
    Ok(found)
}

struct Walk<'a> {
    reach: &'a dyn Reach,
    /// Everything that any table named, with the program it is to be.
    named: BTreeMap<Place, PathBuf>,
    waiting: VecDeque<Place>,
    entries: BTreeMap<Place, Entry>,
    /// Processes of other hosts that are worth asking: directories, metadirectories, and ranks.
    abroad: BTreeMap<String, BTreeSet<u32>>,
    asked: BTreeSet<String>,
    problems: Vec<String>,
}

impl<'a> Walk<'a> {
    fn new(reach: &'a dyn Reach) -> Self {
        Self {
            reach,
            named: BTreeMap::new(),
            waiting: VecDeque::new(),
            entries: BTreeMap::new(),
            abroad: BTreeMap::new(),
            asked: BTreeSet::new(),
            problems: Vec::new(),
        }
    }

    /// Begins at a process of this host; below a launcher, at what it started.
    fn begin(&mut self, pid: u32, alone: bool) -> Result<(), Error> {
        let target = match self.reach.open(pid, Path::new("")) {
            Ok(target) => target,
            // One of several that has ended meanwhile.
            Err(Error::Target(mpiscope_target::Error::NoProcess { .. })) if !alone => return Ok(()),
            Err(error) => return Err(error),
        };
        let name = target.executable().unwrap_or_default();
        // Its image, if it has one, leads to others of its job.
        self.name(Place { host: self.reach.host(), pid }, name.clone());
        if self.look(&*target)? {
            return Ok(());
        }
        // Anything without tables may be a launcher: or a shell, a wrapper, a proxy.
        for child in self.reach.descendants(pid) {
            let Ok(target) = self.reach.open(child, Path::new("")) else { continue };
            if self.look(&*target).unwrap_or(false) {
                return Ok(());
            }
        }
        // A rank that has not come so far has an image: others of its job may know more.
        let records = self.reach.records();
        let own = records.iter().find(|record| record.entry.place.pid == pid);
        let Some(own) = own.map(|record| record.entry.place.clone()) else {
            return Err(Error::Nothing { pid, name });
        };
        for record in records::of_jobs_with(records, &BTreeSet::from([own])) {
            self.name(record.entry.place, record.entry.executable);
        }
        Ok(())
    }

    /// Learns what a process has to say; false if that is nothing.
    fn look(&mut self, target: &dyn Target) -> Result<bool, Error> {
        let mut useful = false;
        if let Some(block) = mpi2dd::read(target)? {
            useful = block.meta.is_some() || !block.processes.is_empty();
            self.learn(&block);
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
            });
        }
        Ok(useful)
    }

    fn learn(&mut self, block: &Block) {
        for rank in &block.processes {
            self.add(Entry {
                world: rank.world.clone(),
                rank: u32::try_from(rank.rank).ok(),
                place: rank.process.place.clone(),
                executable: rank.process.executable.clone(),
                spawned: rank.spawned.clone(),
                gone: false,
            });
        }
        let others = block.directories.iter().chain(&block.metadirectories).chain(&block.meta);
        for process in others {
            self.name(process.place.clone(), process.executable.clone());
        }
    }

    /// A process was named: it will be looked at.
    fn name(&mut self, place: Place, executable: PathBuf) {
        if self.named.len() >= MOST {
            return self.complain(format!("more than {MOST} processes are named: the rest is left out"));
        }
        if self.named.contains_key(&place) {
            return;
        }
        if self.reach.here(&place.host) {
            self.waiting.push_back(place.clone());
        } else {
            self.abroad.entry(place.host.clone()).or_default().insert(place.pid);
        }
        self.named.insert(place, executable);
    }

    /// A rank was found. An entry that knows the world is better than one that does not.
    fn add(&mut self, entry: Entry) {
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
            if !remote || !self.ask_next() {
                return;
            }
        }
    }

    fn visit(&mut self, place: &Place) {
        let executable = self.named.get(place).cloned().unwrap_or_default();
        match self.reach.open(place.pid, &executable) {
            Ok(target) => {
                if let Err(error) = self.look(&*target) {
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

    /// Asks the next host; false if none is left.
    fn ask_next(&mut self) -> bool {
        let next = self.abroad.iter().find(|(host, _)| !self.asked.contains(*host));
        let Some((host, pids)) =
            next.map(|(host, pids)| (host.clone(), pids.iter().copied().collect::<Vec<_>>()))
        else {
            return false;
        };
        if self.asked.len() >= MOST_HOSTS {
            self.complain(format!("more than {MOST_HOSTS} hosts are named: the rest is not asked"));
            return false;
        }
        self.asked.insert(host.clone());
        match self.reach.ask(&host, &pids) {
            Ok(found) => {
                for mut entry in found.processes {
                    // Seen from there, "here" may have another name.
                    if self.abroad.get(&host).is_some_and(|pids| pids.contains(&entry.place.pid))
                        && !self.reach.here(&entry.place.host)
                        && !self.named.contains_key(&entry.place)
                    {
                        entry.place.host.clone_from(&host);
                    }
                    self.add(entry);
                }
                for place in found.elsewhere {
                    self.name(place, PathBuf::new());
                }
                for problem in found.problems {
                    self.complain(format!("{host}: {problem}"));
                }
            }
            Err(error) => self.complain(error.to_string()),
        }
        true
    }

    /// What images tell about the jobs of the processes that were found.
    fn add_records(&mut self) {
        let known: BTreeSet<Place> = self.named.keys().cloned().collect();
        let records = records::of_jobs_with(self.reach.records(), &known);
        for record in records {
            self.add(record.entry);
        }
        while let Some(place) = self.waiting.pop_front() {
            self.visit(&place);
        }
    }

    fn finish(self) -> Acquired {
        let elsewhere = self.abroad.iter().filter(|(host, _)| !self.asked.contains(*host));
        let elsewhere =
            elsewhere.flat_map(|(host, pids)| pids.iter().map(|pid| Place { host: host.clone(), pid: *pid }));
        let mut found = Acquired {
            elsewhere: elsewhere.collect(),
            processes: self.entries.into_values().collect(),
            problems: self.problems,
        };
        found.sort();
        found
    }
}
