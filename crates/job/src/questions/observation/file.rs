//! Observing the process that a core file or a saved image is of.

use super::Observation;
use super::read::{Context, observe};
use crate::clock::Moment;
use crate::image_source::open_file;
use crate::names::Locate;
use crate::postmortem::{Signal, death};
use crate::process::Process;
use crate::rank::{Rank, SymbolContext};
use crate::{Error, core};
use mpiscope_image::{Image, Source};
use mpiscope_target::Core;
use std::path::Path;
use std::sync::Arc;

/// Looks at one file.
///
/// # Errors
/// When it is neither a core file with an image nor an image.
pub fn open(path: &Path, symbols: &dyn Locate) -> Result<Observation, Error> {
    let damaged = |why| Error::Image { what: path.display().to_string(), why };
    let Ok(file) = Core::open(path) else {
        let image = open_file(path)?;
        let process = Process::read(&image, None).map_err(damaged)?;
        return Ok(of_image(&image, &process, symbols));
    };
    let file = Arc::new(file);
    let image = core::image(&file)?;
    // The core file of a process of this host has the host's clock.
    let mut process = Process::read(&image, Some(Moment::now())).map_err(damaged)?;
    process.see_through_bindings(&image, &file);
    let context = SymbolContext::new(&process, symbols);
    let rank = Rank::new(&image, &process, &context);
    // Who was killed by somebody else, the launcher for one, is shown where it was: it did not fail.
    let signal = file.crash().map(|crash| Signal::new(crash, process.pid)).filter(|signal| signal.own);
    let ended = match (signal, process.abort_code) {
        (_, Some(code)) => Some(format!("it called MPI_Abort with {code}")),
        (Some(signal), None) => Some(format!("it died of {}", signal.name)),
        (None, None) => None,
    };
    Ok(observe(&rank, &Kept { ended, died: Some(death::time_of(path)) }))
}

/// What an image says that is written no more.
pub fn of_image<S: Source>(image: &Image<S>, process: &Process, symbols: &dyn Locate) -> Observation {
    let context = SymbolContext::new(process, symbols);
    let rank = Rank::new(image, process, &context);
    observe(&rank, &Kept { ended: None, died: None })
}

/// Nothing moves any more, and the kernel cannot be asked.
struct Kept {
    ended: Option<String>,
    /// Of a core file: when it was written, if that is known.
    died: Option<Option<f64>>,
}

impl Context for Kept {
    fn doing(&self, _: u32) -> String {
        "outside of MPI".to_owned()
    }

    fn at(&self, _: u32) -> Option<String> {
        None
    }

    fn ended(&self) -> Option<String> {
        self.ended.clone()
    }

    fn age(&self, process: &Process, since: u64) -> Option<f64> {
        match self.died {
            Some(died) => death::age(process, died, since),
            None => Some(process.clock.end_ns().saturating_sub(process.clock.ns_at(since)) as f64 / 1e9),
        }
    }
}
