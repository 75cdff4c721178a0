//! What the report of a job takes from an evidence file: ranks that ended on another host.

use crate::Error;
use crate::discover::JobImage;
use crate::image_source::Bytes;
use crate::leaks;
use crate::process::Process;
use crate::questions::observation;
use crate::report::Observed;
use mpiscope_image::{Error as ImageError, Image};
use mpiscope_target::Files;
use std::sync::Arc;

/// The process of a kept image, as the one who saved it saw it end. `later_ns` is what the clock of this host is ahead of that
/// one's.
///
/// # Errors
/// When the image is damaged.
pub fn observed(kept: &JobImage, later_ns: i64) -> Result<Observed, Error> {
    let end = kept.end.clone().unwrap_or_default();
    let damaged = |why: ImageError| Error::Image { what: format!("image of process {}", end.pid), why };
    let image = match kept.open() {
        Ok(image) => Some(image),
        Err(error) if error.is_untouched() => None,
        Err(why) => return Err(why),
    };
    let process = match &image {
        Some(image) => kept.process(image, kept.moment(), &Arc::new(Files::default())).map_err(damaged)?,
        None => Process::untouched(),
    };
    let (leaks, observation) = match &image {
        Some(image) => seen(kept, image, &process).map_err(damaged)?,
        None => (Vec::new(), None),
    };
    Ok(Observed {
        launcher_rank: end.launcher_rank,
        pid: end.pid,
        ended_ns: end.ended_ns,
        later_ns,
        ending: end.ending,
        core: end.core,
        leaks,
        observation,
        process,
    })
}

type Seen = (Vec<leaks::Site>, Option<observation::Observation>);

fn seen(kept: &JobImage, image: &Image<Bytes>, process: &Process) -> Result<Seen, ImageError> {
    let Some(symbols) = kept.symbols() else { return Ok((Vec::new(), None)) };
    // What a program that did not get to its end has not freed is no leak.
    let leaks = match process.finalized() {
        true => leaks::sites(image, process, symbols.as_ref())?,
        false => Vec::new(),
    };
    Ok((leaks, Some(observation::of_image(image, process, symbols.as_ref()))))
}
