//! Reads the tables of the MPI2 debugger interface ("the document") from a process.
//!
//! Addresses have the target's width and numbers its byte order. Entries of the process table are equal in
//! packed and in natural layout. Entries of the directory tables are not: 20 or 24 bytes on a 64-bit target.
//! The document specifies packed; both are understood, and the stride that makes all entries consistent is
//! used.

use super::{Error, ProcessLocation, Spawned};
use mpiscope_debug_interfaces::mpi2dd::{Address, Layout, MAGIC, Number, VERSION};
pub use mpiscope_debug_interfaces::mpi2dd::{SYMBOL, mpi_flag};
use mpiscope_target::{Cached, Live, Target};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Tables with more entries than this are rejected.
const MOST: i32 = 1 << 20;
/// Maximum length of a string.
const LONGEST: usize = 4096;
/// Number of pages cached while tables are read.
const PAGES: usize = 1024;
/// How often a table that keeps changing is read.
const TRIES: u32 = 6;

/// `MPI2DD_INFO`, with its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// Why the breakpoint was last reached.
    pub debug_state: u8,
    /// Bits set by the debugger.
    pub debugger_flags: u32,
    /// Bits of [`mpi_flag`].
    pub mpi_flags: u32,
    /// Queue plug-in for 64-bit debuggers (the 32-bit one if there is no other).
    pub plug_in: Option<PathBuf>,
    /// The metadirectory, once it is known.
    pub meta: Option<Process>,
    /// The text to show when the job aborts.
    pub abort: Option<String>,
    /// The process table.
    pub processes: Vec<Rank>,
    /// Other directories.
    pub directories: Vec<Process>,
    /// Other metadirectories.
    pub metadirectories: Vec<Process>,
}

/// A process in a directory table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Where it runs.
    pub place: ProcessLocation,
    /// Path of its program.
    pub executable: PathBuf,
}

/// A rank in a process table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rank {
    /// Where it runs, and its program.
    pub process: Process,
    /// Name of its world.
    pub world: String,
    /// Rank in the world.
    pub rank: i32,
    /// The spawn that created the world.
    pub spawned: Option<Spawned>,
}

/// The words of the block that locate the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Head {
    bytes: Vec<u8>,
}

/// Reads the block of a process; `None` if it has none.
pub fn read(target: &dyn Target) -> Result<Option<Block>, Error> {
    match target.symbol(SYMBOL)? {
        Some(address) => read_at(target, address).map(Some),
        None => Ok(None),
    }
}

/// Reads the block of a process of this host; `None` if it has none or it cannot be read.
pub fn read_process(pid: u32) -> Option<Block> {
    read(&Live::open(pid).ok()?).ok()?
}

/// Reads the block at an address.
///
/// # Errors
/// When there is no block, it has another version, or a table remains damaged after several attempts.
pub fn read_at(target: &dyn Target, address: u64) -> Result<Block, Error> {
    let pid = target.pid().unwrap_or(0);
    let mut last = None;
    for attempt in 0..TRIES {
        let head = Head { bytes: target.read_bytes(address, head_size(target), 4096)? };
        let cached = Cached::new(target, PAGES);
        let mut reader = Reader { target: &cached, pid, texts: BTreeMap::new() };
        let result = reader.block(address, &head);
        let again = Head { bytes: target.read_bytes(address, head_size(target), 4096)? };
        match result {
            Ok(block) if again == head => return Ok(block),
            Err(error @ Error::Block { .. }) => return Err(error),
            other => last = Some(other),
        }
        if attempt + 1 < TRIES {
            std::thread::sleep(std::time::Duration::from_millis(1 << attempt));
        }
    }
    // It keeps changing: a consistent older state is better than nothing.
    last.unwrap_or_else(|| Ok(Block::default()))
}

fn head_size(target: &dyn Target) -> u64 {
    Layout { width: target.width() }.info() as u64
}

struct Reader<'a> {
    target: &'a dyn Target,
    pid: u32,
    /// Strings by address: tables share them.
    texts: BTreeMap<u64, String>,
}

impl Reader<'_> {
    fn block(&mut self, address: u64, head: &Head) -> Result<Block, Error> {
        let wrong = |what: String| Error::Block { pid: self.pid, address, what };
        let magic = head.bytes.get(..MAGIC.len()).unwrap_or_default();
        if magic != MAGIC {
            return Err(wrong(format!("{SYMBOL} begins with {magic:02x?}, not with \"MPI2\\x7f\",")));
        }
        let (version, variant) = (self.byte(head, 5), self.byte(head, 6));
        if (version, variant) != VERSION {
            return Err(wrong(format!(
                "version {version}, variant {variant} (only {VERSION:?} is supported)"
            )));
        }
        let layout = self.layout();
        let word = |address: Address| self.number(head, layout.address(address), layout.width);
        let int = |number: Number| self.number(head, layout.number(number), 4) as i32;
        let plug_in = match word(Address::DllName64) {
            0 => word(Address::DllName32),
            for_64_bits => for_64_bits,
        };
        let (host, executable) = (word(Address::MetaHostName), word(Address::MetaExecutableName));
        let (abort, meta_pid) = (word(Address::AbortString), int(Number::MetaPid));
        let (processes, processes_len) = (word(Address::ProcTable), int(Number::ProcTableSize));
        let (directories, directories_len) = (word(Address::DirectoryTable), int(Number::DirectorySize));
        let (metas, metas_len) = (word(Address::MetadirectoryTable), int(Number::MetadirectorySize));
        Ok(Block {
            debug_state: self.byte(head, Layout::DEBUG_STATE),
            debugger_flags: self.number(head, Layout::DEBUGGER_FLAGS, 4) as u32,
            mpi_flags: self.number(head, Layout::MPI_FLAGS, 4) as u32,
            plug_in: if plug_in == 0 { None } else { Some(self.text(plug_in)?.into()) },
            meta: if meta_pid > 0 && host != 0 {
                Some(self.process(host, executable, meta_pid)?)
            } else {
                None
            },
            abort: if abort == 0 { None } else { Some(self.text(abort)?) },
            processes: self.ranks(processes, processes_len)?,
            directories: self.directory(directories, directories_len)?,
            metadirectories: self.directory(metas, metas_len)?,
        })
    }

    fn layout(&self) -> Layout {
        Layout { width: self.target.width() }
    }

    fn byte(&self, head: &Head, at: usize) -> u8 {
        head.bytes.get(at).copied().unwrap_or(0)
    }

    fn number(&self, bytes: &Head, at: usize, size: usize) -> u64 {
        self.target.byte_order().number(bytes.bytes.get(at..at + size).unwrap_or_default())
    }

    fn wrong(&self, what: String) -> Error {
        Error::Table { pid: self.pid, what }
    }

    /// Reads the bytes of a table.
    fn table(&self, name: &str, address: u64, len: i32, stride: usize) -> Result<Head, Error> {
        if !(0..=MOST).contains(&len) || (len > 0 && address == 0) {
            return Err(self.wrong(format!("the {name} at {address:#x} claims {len} entries")));
        }
        let bytes = len as u64 * stride as u64;
        Ok(Head { bytes: self.target.read_bytes(address, bytes, bytes)? })
    }

    fn ranks(&mut self, address: u64, len: i32) -> Result<Vec<Rank>, Error> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let width = self.target.width();
        let stride = self.layout().proc_desc();
        let table = self.table("process table", address, len, stride)?;
        let mut ranks = Vec::new();
        for at in (0..len as usize).map(|index| index * stride) {
            let [host, executable, spawned, world] =
                [0, 1, 2, 3].map(|i| self.number(&table, at + i * width, width));
            let [pid, rank] = [0, 4].map(|i| self.number(&table, at + 4 * width + i, 4) as i32);
            ranks.push(Rank {
                process: self.process(host, executable, pid)?,
                world: if world == 0 { String::new() } else { self.text(world)? },
                rank,
                spawned: if spawned == 0 { None } else { Some(self.spawned(spawned)?) },
            });
        }
        Ok(ranks)
    }

    fn spawned(&mut self, address: u64) -> Result<Spawned, Error> {
        let width = self.target.width() as u64;
        let world = self.target.read_pointer(address)?;
        Ok(Spawned {
            world: if world == 0 { String::new() } else { self.text(world)? },
            rank: self.target.read_i32(address.wrapping_add(width))?,
            sequence: self.target.read_i32(address.wrapping_add(width + 4))?,
        })
    }

    /// Reads a directory table, packed as the document specifies or in natural layout.
    fn directory(&mut self, address: u64, len: i32) -> Result<Vec<Process>, Error> {
        if len == 0 {
            return Ok(Vec::new());
        }
        let (packed, natural) = (self.layout().directory_entry(), self.layout().natural_directory_entry());
        match self.entries(address, len, packed) {
            Err(error) if natural != packed => self.entries(address, len, natural).map_err(|_| error),
            result => result,
        }
    }

    fn entries(&mut self, address: u64, len: i32, stride: usize) -> Result<Vec<Process>, Error> {
        let width = self.target.width();
        let table = self.table("directory table", address, len, stride)?;
        let mut processes = Vec::new();
        for at in (0..len as usize).map(|index| index * stride) {
            let [host, executable] = [0, 1].map(|i| self.number(&table, at + i * width, width));
            let pid = self.number(&table, at + 2 * width, 4) as i32;
            processes.push(self.process(host, executable, pid)?);
        }
        Ok(processes)
    }

    fn process(&mut self, host: u64, executable: u64, pid: i32) -> Result<Process, Error> {
        let Some(pid) = u32::try_from(pid).ok().filter(|pid| *pid > 0) else {
            return Err(self.wrong(format!("{pid} is not a process id")));
        };
        let host = self.text(host)?;
        if host.is_empty() {
            return Err(self.wrong(format!("process {pid} has no host")));
        }
        // A missing executable is no reason to drop the process.
        let executable = if executable == 0 { String::new() } else { self.path(executable)? };
        Ok(Process { place: ProcessLocation { host, pid }, executable: executable.into() })
    }

    /// Reads the name of a host or of a world.
    fn text(&mut self, address: u64) -> Result<String, Error> {
        let text = self.path(address)?;
        if text.chars().any(char::is_control) {
            return Err(self.wrong(format!("no string at {address:#x}")));
        }
        Ok(text)
    }

    /// Reads a path. It may contain any characters: they are escaped where it is shown.
    fn path(&mut self, address: u64) -> Result<String, Error> {
        if let Some(known) = self.texts.get(&address) {
            return Ok(known.clone());
        }
        let bytes = self.target.read_c_string(address, LONGEST)?;
        let text = mpiscope_image::text(&bytes).into_owned();
        self.texts.insert(address, text.clone());
        Ok(text)
    }
}
