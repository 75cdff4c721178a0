//! A process of a running job, read once for all views.

use crate::Error;
use crate::jobs::job_image::JobImage;
use crate::model::locate::Locate;
use crate::model::process::Process;
use crate::model::rank::{Rank, SymbolContext};
use crate::model::rank_status::RankStatus;
use crate::sources::image_source::Bytes;
use mpiscope_image::Image;
use mpiscope_target::{Files, Live};
use std::sync::Arc;

/// A running process, or one whose image is still held.
pub struct Living {
    /// Its image.
    pub image: Image<Bytes>,
    /// The process as its image describes it.
    pub process: Process,
    /// Its pid on this host, if it exists.
    pub outer_pid: Option<u32>,
    /// Whether it is alive.
    pub alive: bool,
}

/// Reads processes of this host. What it learns of a file serves all processes that have mapped it.
#[derive(Default)]
pub struct Reader {
    files: Arc<Files>,
}

impl Reader {
    /// Reads a process; `None` if it has not called MPI.
    ///
    /// # Errors
    /// When its image cannot be read.
    pub fn read(&self, found: &JobImage) -> Result<Option<Living>, Error> {
        let Some((image, process)) = found.read(&self.files)? else { return Ok(None) };
        let (outer_pid, alive) = (found.outer_pid(process.pid), found.alive(process.pid));
        Ok(Some(Living { image, process, outer_pid, alive }))
    }
}

impl Living {
    /// Calls `look` with the process's rank.
    pub fn look<T>(&self, symbols: &dyn Locate, look: impl FnOnce(&Rank<'_, Bytes>) -> T) -> T {
        let context = SymbolContext::new(&self.process, symbols);
        look(&Rank::new(&self.image, &self.process, &context))
    }

    /// What its threads are doing.
    pub fn status(&self, symbols: &dyn Locate) -> RankStatus {
        self.look(symbols, |rank| RankStatus::new(rank, self.alive))
    }
}

/// Checks whether the memory of a process may be read.
///
/// # Errors
/// The rule that forbids it, where a debugger would only report a lack of permission; or that there is no
/// such process.
pub fn may_read(pid: u32) -> Result<(), Error> {
    Live::open(pid).map(drop).map_err(|why| Error::NotFound(why.to_string()))
}
