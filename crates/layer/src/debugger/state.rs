//! The state that this process publishes: its tables, and the links to other jobs that they are derived from.

use super::block::{self, MPI2DD_info};
use super::hello::Hello;
use super::process_descriptor::ProcessDescriptor;
use super::table::{Table, TableSlot};
use mpiscope_debug_interfaces::mpi2dd::{DirectoryEntry, Info, ProcDesc, Reason, SpawnDesc, flag, mpi_flag};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

/// All state that may change after `MPI_Init`.
pub struct State {
    /// This process.
    pub own: ProcessDescriptor,
    /// Name of the world.
    pub world: String,
    /// Rank 0 of the world, if known.
    pub directory: Option<ProcessDescriptor>,
    /// The metadirectory, if known.
    pub meta: Option<ProcessDescriptor>,
    processes: Table<ProcDesc>,
    directories: Table<DirectoryEntry>,
    metas: Table<DirectoryEntry>,
    links: Vec<Link>,
    texts: BTreeMap<Vec<u8>, usize>,
}

/// An intercommunicator to another job.
struct Link {
    /// The handle, zero-extended.
    comm: u64,
    entry: DirectoryEntry,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// Number of spawns of which this process was the root.
static SPAWNS: AtomicI32 = AtomicI32::new(0);

/// Accesses the state, if the process has any yet.
pub fn with<T>(work: impl FnOnce(&mut State) -> T) -> Option<T> {
    STATE.lock().ok()?.as_mut().map(work)
}

/// Installs the state.
pub fn set(state: State) {
    if let Ok(mut place) = STATE.lock() {
        *place = Some(state);
    }
}

/// Number of the next spawn of which this process is the root.
pub fn next_spawn() -> i32 {
    SPAWNS.fetch_add(1, Ordering::Relaxed)
}

fn info() -> &'static Info {
    &MPI2DD_info
}

fn directories() -> TableSlot<'static> {
    TableSlot { address: &info().directory_table, len: &info().directory_size }
}

fn metas() -> TableSlot<'static> {
    TableSlot { address: &info().metadirectory_table, len: &info().metadirectory_size }
}

impl State {
    /// Creates a state without tables.
    pub fn new(
        own: ProcessDescriptor,
        world: String,
        directory: Option<ProcessDescriptor>,
        meta: Option<ProcessDescriptor>,
    ) -> Self {
        Self {
            own,
            world,
            directory,
            meta,
            processes: Table::new(),
            directories: Table::new(),
            metas: Table::new(),
            links: Vec::new(),
            texts: BTreeMap::new(),
        }
    }

    /// This process's introduction when it meets others.
    pub fn hello(&self, sequence: i32, name: u64) -> Hello {
        Hello {
            world: self.world.clone(),
            rank: self.own.rank,
            sequence,
            name,
            directory: self.directory,
            meta: self.meta,
        }
    }

    /// Whether this process is the metadirectory.
    pub fn is_meta(&self) -> bool {
        self.meta.is_some_and(|meta| meta.same(&self.own))
    }

    /// Publishes the process table and the metadirectory's location. `parent` describes the process that
    /// spawned this world.
    pub fn publish(&mut self, descriptors: &[ProcessDescriptor], spawned: bool, parent: Option<&Hello>) {
        if self.own.rank == 0 {
            let spawn_desc = if spawned { self.spawn_descriptor(parent) } else { 0 };
            let world = self.world.clone();
            let entries: Vec<ProcDesc> = descriptors
                .iter()
                .map(|process| ProcDesc {
                    host_name: self.text(process.host()),
                    executable_name: self.text(process.executable()),
                    spawn_desc,
                    comm_world_id: self.text(world.as_bytes()),
                    pid: process.pid,
                    rank: process.rank,
                })
                .collect();
            let place = TableSlot { address: &info().proctable, len: &info().proctable_size };
            self.processes.extend(&place, entries);
            info().mpi_flags.fetch_or(mpi_flag::I_AM_DIR, Ordering::SeqCst);
        }
        if let Some(meta) = self.meta {
            let entry = self.entry(&meta);
            info().meta_host_name.store(entry.host_name, Ordering::SeqCst);
            info().meta_executable_name.store(entry.executable_name, Ordering::SeqCst);
            info().meta_pid.store(entry.pid, Ordering::SeqCst);
        }
        let meta = if self.is_meta() { mpi_flag::I_AM_METADIR } else { 0 };
        info().mpi_flags.fetch_or(meta | mpi_flag::PARTIAL_ATTACH_OK, Ordering::SeqCst);
    }

    /// Describes the parent of this world; a parent that did not introduce itself has no name and rank -1.
    fn spawn_descriptor(&mut self, parent: Option<&Hello>) -> usize {
        let name = parent.map_or_else(String::new, |p| p.world.clone());
        let descriptor = SpawnDesc {
            parent_comm_world_id: self.text(name.as_bytes()),
            parent_rank: parent.map_or(-1, |p| p.rank),
            sequence: parent.map_or(-1, |p| p.sequence),
        };
        std::ptr::from_ref(Box::leak(Box::new(descriptor))) as usize
    }

    /// Adds a spawned world whose directory is `descriptor`.
    pub fn add_directory(&mut self, descriptor: &ProcessDescriptor) -> bool {
        if descriptor.same(&self.own) {
            return false;
        }
        self.become_meta();
        self.list_directory(descriptor)
    }

    fn list_directory(&mut self, descriptor: &ProcessDescriptor) -> bool {
        let entry = self.entry(descriptor);
        if descriptor.same(&self.own) || self.directories.entries().contains(&entry) {
            return false;
        }
        self.directories.extend(&directories(), [entry]);
        true
    }

    /// Adds a connection over `comm` to the job of the metadirectory `descriptor`.
    pub fn add_link(&mut self, comm: u64, descriptor: &ProcessDescriptor) -> bool {
        if self.meta.is_some_and(|meta| meta.same(descriptor)) {
            return false;
        }
        self.become_meta();
        let entry = self.entry(descriptor);
        self.links.push(Link { comm, entry });
        self.list_meta(descriptor)
    }

    fn list_meta(&mut self, descriptor: &ProcessDescriptor) -> bool {
        let entry = self.entry(descriptor);
        if descriptor.same(&self.own) || self.metas.entries().contains(&entry) {
            return false;
        }
        self.metas.extend(&metas(), [entry]);
        true
    }

    /// Removes the link over `comm`, which is being disconnected. Returns whether a job can no longer be
    /// reached.
    pub fn remove_link(&mut self, comm: u64) -> bool {
        let Some(index) = self.links.iter().position(|link| link.comm == comm) else { return false };
        let entry = self.links.swap_remove(index).entry;
        if self.links.iter().any(|link| link.entry == entry) {
            return false;
        }
        self.metas.remove(&metas(), |other| *other == entry)
    }

    /// Makes this process a metadirectory too, because it must hold an edge that cannot be reported to the
    /// real one. It lists the real metadirectory and the directory of its own world.
    fn become_meta(&mut self) {
        let before = info().mpi_flags.fetch_or(mpi_flag::I_AM_METADIR, Ordering::SeqCst);
        if before & mpi_flag::I_AM_METADIR != 0 {
            return;
        }
        if let Some(meta) = self.meta {
            self.list_meta(&meta);
        }
        if let Some(directory) = self.directory {
            self.list_directory(&directory);
        }
    }

    fn entry(&mut self, descriptor: &ProcessDescriptor) -> DirectoryEntry {
        DirectoryEntry {
            host_name: self.text(descriptor.host()),
            executable_name: self.text(descriptor.executable()),
            pid: descriptor.pid,
        }
    }

    /// Address of a C string that is never freed; equal texts have the same address.
    fn text(&mut self, text: &[u8]) -> usize {
        *self.texts.entry(text.to_vec()).or_insert_with(|| leak(text))
    }
}

/// Address of a C string that is never freed.
pub fn leak(text: &[u8]) -> usize {
    let whole = text.iter().copied().take_while(|b| *b != 0).collect::<Vec<u8>>();
    CString::new(whole).map_or(0, |c| c.into_raw() as usize)
}

/// Stops for a change of a table, if the debugger has requested that.
pub fn changed(reason: Reason) {
    if info().asked(flag::REQUEST_DIRECTORY_EVENTS) {
        block::stop(reason);
    }
}
