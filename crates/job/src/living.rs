//! A process of a running job, read once for every view of it.

use crate::Error;
use crate::clock::Moment;
use crate::discover::Found;
use crate::image_source::Bytes;
use crate::names::Locate;
use crate::process::Process;
use crate::rank::{Rank, SymbolContext};
use crate::rank_status::RankStatus;
use mpiscope_image::Image;
use mpiscope_target::{Files, Live};
use std::sync::Arc;

/// A process that runs, or whose image somebody still holds.
pub struct Living {
    /// Its image.
    pub image: Image<Bytes>,
    /// What the image says of it.
    pub process: Process,
    /// Its id on this host, if it is there.
    pub outer_pid: Option<u32>,
    /// Whether it is there.
    pub alive: bool,
}

/// Reads processes of this host. What it has learned of a file serves for all processes that have mapped it.
#[derive(Default)]
pub struct Reader {
    files: Arc<Files>,
}

impl Reader {
    /// Reads a process; nothing if it has not called MPI.
    ///
    /// # Errors
    /// When its image cannot be read.
    pub fn read(&self, found: &Found) -> Result<Option<Living>, Error> {
        let image = match found.open() {
            Ok(image) => image,
            // A wrapper made the file and nobody has written to it.
            Err(error) if error.is_untouched() => return Ok(None),
            Err(error) => return Err(error),
        };
        let process = Process::read(&image, Some(Moment::now())).map_err(|why| {
            let pid = found.holders.first().map_or(0, |(pid, _)| *pid);
            Error::Image { what: format!("image of process {pid}"), why }
        })?;
        let outer_pid = found.outer_pid(process.pid);
        let alive = found.alive(process.pid);
        Ok(process.called_mpi().then_some(Living { image, process, outer_pid, alive }))
    }

    /// The same, with the program's calls of Fortran bindings in place of the bindings' own.
    ///
    /// # Errors
    /// When its image cannot be read.
    pub fn read_calls(&self, found: &Found) -> Result<Option<Living>, Error> {
        let mut living = self.read(found)?;
        if let Some(living) = &mut living
            && living.process.calls_through_binding()
            && let Some(Ok(live)) = living.outer_pid.map(|pid| Live::open_among(pid, self.files.clone()))
        {
            living.process.see_through_bindings(&living.image, &live);
        }
        Ok(living)
    }
}

impl Living {
    /// A look at its rank.
    pub fn look<T>(&self, symbols: &dyn Locate, look: impl FnOnce(&Rank<'_, Bytes>) -> T) -> T {
        let context = SymbolContext::new(&self.process, symbols);
        look(&Rank::new(&self.image, &self.process, &context))
    }

    /// What its threads are doing.
    pub fn status(&self, symbols: &dyn Locate) -> RankStatus {
        self.look(symbols, |rank| RankStatus::new(rank, self.alive))
    }
}

/// Whether the memory of a process may be read.
///
/// # Errors
/// Which rule forbids it, where a debugger would only say that it is not permitted; or that there is no such process.
pub fn may_read(pid: u32) -> Result<(), Error> {
    Live::open(pid).map(drop).map_err(|why| Error::NotFound(why.to_string()))
}
