//! Names for values: of predefined handles and constants by the ABI, of communicators by the image, of addresses
//! by the files in the process.

use crate::identity;
use crate::objects::{ImageOnly, Kind, Object, Reader};
use crate::process::{ModuleFacts, Process};
use mpi_abi::{AbiKind, ObjectKind, constant, predefined};
use mpiscope_image::layout::{AbiCode, SectionKind};
use mpiscope_image::objects::{Comm, Flag, Life};
use mpiscope_image::{Image, Source};
use std::collections::HashMap;

/// More communicators than this are not named.
const MOST_COMMS: u64 = 1 << 16;
/// More members than this are not read.
const MOST_MEMBERS: usize = 1 << 20;

/// What turns an address into words: a source line (or a symbol) of a file.
pub trait Locate {
    /// `file:line` of an address in `module`, or `None`.
    fn line(&self, module: &ModuleFacts, address: u64) -> Option<String>;

    /// The exported object that begins at this address of `module`.
    fn symbol(&self, module: &ModuleFacts, address: u64) -> Option<String>;
}

/// Knows nothing: addresses are shown as module and offset.
#[derive(Debug)]
pub struct NoSymbols;

impl Locate for NoSymbols {
    fn line(&self, _: &ModuleFacts, _: u64) -> Option<String> {
        None
    }

    fn symbol(&self, _: &ModuleFacts, _: u64) -> Option<String> {
        None
    }
}

/// A communicator, as far as rows need it.
#[derive(Debug)]
pub struct CommFacts {
    /// Its name, or empty.
    pub name: String,
    /// Size of the local group.
    pub size: u32,
    /// Ranks in `MPI_COMM_WORLD`; empty if they are those of the world.
    pub members: Vec<u64>,
    /// The same on all processes that share the communicator; zero if not known.
    pub identity: u64,
    /// Collectives that this process has entered on it.
    pub collectives: u64,
}

/// Names in one process.
pub struct Names<'a> {
    abi: AbiKind,
    comms: HashMap<u64, CommFacts>,
    modules: &'a [ModuleFacts],
    locate: &'a dyn Locate,
    given: Box<Given<'a>>,
}

/// What the program calls an object of a kind with this handle.
type Given<'a> = dyn Fn(Kind, u64) -> Option<String> + 'a;

/// The crates number the ABIs differently; the names are what they share.
pub fn abi_kind(code: AbiCode) -> AbiKind {
    match code {
        AbiCode::MPICH => AbiKind::MPICH,
        AbiCode::OPENMPI => AbiKind::OPENMPI,
        AbiCode::STANDARD => AbiKind::STANDARD,
        _ => AbiKind::UNKNOWN,
    }
}

impl<'a> Names<'a> {
    /// The names in the process that `image` belongs to.
    pub fn new<S: Source>(image: &'a Image<S>, process: &'a Process, locate: &'a dyn Locate) -> Self {
        Self {
            abi: abi_kind(process.abi),
            comms: comms(image),
            modules: &process.modules,
            locate,
            given: Box::new(given(image)),
        }
    }

    /// What turns addresses into lines.
    pub fn locate(&self) -> &'a dyn Locate {
        self.locate
    }

    /// Living communicators for people, by their identity.
    pub fn identities(&self) -> HashMap<u64, String> {
        let known = self.comms.iter().filter(|(_, comm)| comm.identity != 0);
        known.map(|(handle, comm)| (comm.identity, self.object(ObjectKind::COMM, *handle))).collect()
    }

    /// The communicator with this handle.
    pub fn comm(&self, handle: u64) -> Option<&CommFacts> {
        self.comms.get(&handle)
    }

    /// A rank that is no rank: `MPI_ANY_SOURCE` and so on.
    pub fn rank(&self, value: i64) -> Option<String> {
        self.constant(&["MPI_ANY_SOURCE", "MPI_PROC_NULL", "MPI_ROOT"], value)
    }

    /// A tag.
    pub fn tag(&self, value: i64) -> String {
        self.constant(&["MPI_ANY_TAG"], value).unwrap_or_else(|| value.to_string())
    }

    fn constant(&self, names: &[&str], value: i64) -> Option<String> {
        if value >= 0 {
            return None;
        }
        let name = names.iter().find(|name| constant::value_of(self.abi, name) == Some(value))?;
        Some((*name).to_owned())
    }

    /// A datatype: predefined ones and those that the program named by name.
    pub fn datatype(&self, handle: u64) -> String {
        let known = self.predefined(ObjectKind::DATATYPE, handle);
        let known = known.or_else(|| (self.given)(Kind::Datatype, handle));
        known.unwrap_or_else(|| format!("derived {handle:#x}"))
    }

    /// Any object. A communicator that the program named has that name, another one its identity.
    pub fn object(&self, kind: ObjectKind, handle: u64) -> String {
        if let Some(name) = self.predefined(kind, handle) {
            return name;
        }
        let comm = self.comm(handle).filter(|_| kind == ObjectKind::COMM);
        match comm {
            Some(comm) if !comm.name.is_empty() => format!("\"{}\"", comm.name),
            // Equal on all ranks, which a handle is not.
            Some(comm) if comm.identity != 0 => {
                format!("{} (size {})", identity::told(comm.identity), comm.size)
            }
            Some(comm) if comm.size > 0 => format!("{handle:#x} (size {})", comm.size),
            _ if kind == ObjectKind::COMM => format!("{handle:#x}"),
            _ => self.other(kind, handle),
        }
    }

    /// Neither predefined nor a communicator: a window's name, a file's path, or kind and handle.
    fn other(&self, kind: ObjectKind, handle: u64) -> String {
        let given = match kind {
            ObjectKind::WIN => (self.given)(Kind::Window, handle),
            ObjectKind::FILE => (self.given)(Kind::File, handle),
            _ => None,
        };
        given.unwrap_or_else(|| format!("{} {handle:#x}", kind.name().trim_start_matches("MPI_")))
    }

    fn predefined(&self, kind: ObjectKind, handle: u64) -> Option<String> {
        if let Some(known) = predefined::name_of(self.abi, kind, handle) {
            return Some(known.name.to_owned());
        }
        // Open MPI's predefined handles are addresses of exported objects.
        let address = (self.abi == AbiKind::OPENMPI).then_some(handle)?;
        let mut symbols = self.modules.iter().filter_map(|module| self.locate.symbol(module, address));
        symbols.find_map(|symbol| predefined::by_symbol(&symbol)).map(|known| known.name.to_owned())
    }

    /// Where the program called from: a source line, or module and offset.
    pub fn place(&self, return_address: u64) -> Option<String> {
        place(self.modules, self.locate, return_address)
    }
}

/// Where the program called from: a source line, or module and offset.
pub fn place(modules: &[ModuleFacts], locate: &dyn Locate, return_address: u64) -> Option<String> {
    // The call itself is before the address that it returns to, perhaps on another line.
    let address = return_address.checked_sub(1)?;
    let Some(module) = modules.iter().find(|m| (m.start..m.end).contains(&address)) else {
        return Some(format!("{return_address:#x}"));
    };
    let line = locate.line(module, address);
    Some(line.unwrap_or_else(|| {
        let name = module.path.rsplit('/').next().unwrap_or_default();
        format!("{name}+{:#x}", return_address.wrapping_sub(module.bias))
    }))
}

/// Finds names that the program gave, and looks at the tables only when it is asked.
fn given<'a, S: Source>(image: &'a Image<S>) -> impl Fn(Kind, u64) -> Option<String> + 'a {
    let reader = Reader::new(image, &ImageOnly).ok();
    move |kind, handle| {
        let name = match reader.as_ref()?.object(kind, handle).ok()? {
            Object::File(file) => file.path?,
            object if object.common().predefined => return object.common().name.clone(),
            object => object.common().name.clone()?,
        };
        (!name.is_empty()).then(|| format!("\"{name}\""))
    }
}

/// Communicators by handle; of several with one handle the living one.
fn comms<S: Source>(image: &Image<S>) -> HashMap<u64, CommFacts> {
    let mut comms = HashMap::new();
    let Ok(table) = image.table::<Comm>(SectionKind::COMMS) else { return comms };
    let records = (0..table.len().min(MOST_COMMS)).filter_map(|i| image.get::<Comm>(&table, i).ok());
    for record in records.filter(|r| r.value.head.life.get() == Life::LIVE.0) {
        let comm = &record.value;
        let inter = comm.head.flags.get() & Flag::INTER.0 != 0;
        // Ranks that an intercommunicator's calls name are those of the remote group.
        let members = if inter { &comm.remote } else { &comm.members };
        let facts = CommFacts {
            name: comm.name.text().into_owned(),
            size: comm.size.get(),
            members: image.words(members, MOST_MEMBERS).unwrap_or_default(),
            identity: comm.head.identity.get(),
            collectives: comm.collectives.get(),
        };
        comms.insert(comm.head.handle.get(), facts);
    }
    comms
}
