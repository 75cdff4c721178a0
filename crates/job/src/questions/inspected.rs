//! A process under inspection: its image, and where to look up what the image does not contain.

use crate::Error;
use crate::base::clock::Moment;
use crate::jobs::evidence::Symbols;
use crate::jobs::job_image::JobImage;
use crate::jobs::live_process::{self, Living};
use crate::jobs::symbols::FileSymbols;
use crate::model::locate::Locate;
use crate::model::objects::memory::{FilesAndMemory, Memory};
use crate::model::objects::{FileContext, Kind, Reader, SharedNames};
use crate::model::process::Process;
use crate::questions::leaks::{self, Count, Site};
use crate::sources::core;
use crate::sources::image_file::open_file;
use crate::sources::image_source::Bytes;
use mpiscope_image::Image;
use mpiscope_image::layout::{self, Recording, SectionKind, State};
use mpiscope_target::Core;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// A process whose objects are inspected.
pub struct Inspected {
    image: Image<Bytes>,
    memory: Memory,
    /// The process.
    pub process: Process,
    /// Whether it is alive; `None` for a file.
    pub alive: Option<bool>,
    /// Symbols for its addresses, if it is in an evidence file.
    kept: Option<Arc<Symbols>>,
}

impl Inspected {
    /// Reads a process of a running job; `None` if it has not called MPI.
    ///
    /// # Errors
    /// If its image cannot be read.
    pub fn of_job(reader: &live_process::Reader, found: &JobImage) -> Result<Option<Self>, Error> {
        let Some(Living { image, process, alive, outer_pid }) = reader.read(found)? else { return Ok(None) };
        let memory = outer_pid.map_or(Memory::None, |pid| Memory::Process(pid, OnceCell::new()));
        let kept = found.symbols().cloned();
        Ok(Some(Self { image, memory, process, alive: Some(alive), kept }))
    }

    /// Opens the process of a core file or a saved image.
    ///
    /// # Errors
    /// If the file is neither.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let (image, memory) = match Core::open(path) {
            Ok(core) => {
                let core = Arc::new(core);
                (core::image(&core)?, Memory::Core(core))
            }
            Err(_) => (open_file(path)?, Memory::None),
        };
        // Ages are relative to the last time known to the image, not to the present.
        let now: Option<Moment> = None;
        let process = Process::read(&image, now)
            .map_err(|why| Error::Image { what: path.display().to_string(), why })?;
        Ok(Self { image, memory, process, alive: None, kept: None })
    }

    /// Returns that its core file is truncated, if so.
    pub fn truncated(&self) -> Option<String> {
        match &self.memory {
            Memory::Core(core) => core::truncated(core),
            Memory::Process(..) | Memory::None => None,
        }
    }

    /// Returns why there are no objects to show, if so.
    pub fn blind(&self) -> Option<String> {
        if self.process.state.0 < State::INITIALIZED.0 {
            return Some("it has not completed MPI_Init yet, so it has no objects".into());
        }
        let table = self.image.table::<layout::Process>(SectionKind::PROCESS).ok()?;
        let facts = self.image.get::<layout::Process>(&table, 0).ok()?.value;
        let records = facts.recording.get() & Recording::OBJECTS.0 != 0;
        (!records)
            .then(|| "it does not record objects: leave MPISCOPE_RECORD unset, or add `objects` to it".into())
    }

    /// Returns the names that its program gave to objects which other processes may share.
    pub fn names(&self, symbols: &FileSymbols) -> SharedNames {
        // A damaged image is reported when its objects are read.
        self.look(symbols, &SharedNames::default(), |reader| reader.names_of_shared()).unwrap_or_default()
    }

    /// Takes one snapshot of its objects. `names` are those of objects that it may share with other processes.
    ///
    /// # Errors
    /// If the image is damaged.
    pub fn look<T>(
        &self,
        symbols: &FileSymbols,
        names: &SharedNames,
        look: impl FnOnce(&Reader<'_, Bytes>) -> T,
    ) -> Result<T, Error> {
        let files = FileContext::new(&self.process, self.words(symbols));
        let context = FilesAndMemory { files, memory: &self.memory };
        let reader = Reader::again(&self.image, &self.process, &context)?.with_names(names);
        Ok(look(&reader))
    }

    fn words<'a>(&'a self, symbols: &'a FileSymbols) -> &'a dyn Locate {
        match &self.kept {
            Some(kept) => kept,
            None => symbols,
        }
    }

    /// Returns the number of objects of each kind.
    ///
    /// # Errors
    /// If a table is damaged.
    pub fn counts(&self, symbols: &FileSymbols) -> Result<BTreeMap<Kind, Count>, Error> {
        let count = |reader: &Reader<'_, Bytes>, kind: Kind| Ok((kind, leaks::count(reader, kind)?));
        self.look(symbols, &SharedNames::default(), |reader| {
            Kind::ALL.iter().map(|kind| count(reader, *kind)).collect()
        })?
    }

    /// Returns the places that created objects which are not freed.
    ///
    /// # Errors
    /// If a table is damaged.
    pub fn sites(&self, symbols: &FileSymbols) -> Result<Vec<Site>, Error> {
        Ok(leaks::sites(&self.image, &self.process, self.words(symbols))?)
    }
}
