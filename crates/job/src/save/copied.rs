//! The processes of a job at one moment: their images are copied one right after the other, and everything that takes
//! longer is done afterwards.

use crate::Error;
use crate::base::clock::Moment;
use crate::jobs::acquire::ProcessLocation;
use crate::jobs::evidence::{About, InMemory, LONGEST_IMAGE};
use crate::jobs::job_image::JobImage;
use crate::jobs::placement::Placement;
use crate::model::process::{Process, ThreadFacts};
use crate::model::thread_stack::ThreadStack;
use crate::questions::live::{self, Places};
use mpiscope_image::{Image, Source};
use std::collections::BTreeMap;

/// Number of bytes of an image copied at once.
const PIECE: usize = 1 << 20;
/// Total length of copies that memory certainly has room for. More are made when these have been written to the file.
const MOST: usize = 1 << 30;

/// The copy of an image.
pub(super) struct ImageCopy {
    /// When it was made, or when the image had been saved.
    moment: Moment,
    /// `None` if the process has not touched its image.
    bytes: Option<Vec<u8>>,
}

/// Copies the next images, as many as fit in memory.
pub(super) fn some<'a>(
    images: &mut impl Iterator<Item = &'a JobImage>,
) -> Vec<(&'a JobImage, Result<ImageCopy, Error>)> {
    let (mut copies, mut room) = (Vec::new(), MOST);
    while room > 0
        && let Some(found) = images.next()
    {
        let copy = ImageCopy::of(found);
        let bytes = copy.as_ref().ok().and_then(|copy| copy.bytes.as_ref()).map_or(0, Vec::len);
        room = room.saturating_sub(bytes);
        copies.push((found, copy));
    }
    copies
}

impl ImageCopy {
    fn of(found: &JobImage) -> Result<Self, Error> {
        let image = match found.open() {
            Ok(image) => image,
            Err(Error::Image { why: mpiscope_image::Error::NotAnImage, .. }) => {
                return Ok(Self { moment: Moment::now(), bytes: None });
            }
            Err(why) => return Err(why),
        };
        let moment = found.moment();
        let bytes = copy(image.source().as_ref())
            .map_err(|why| Error::NotFound(format!("{}: {why}", name(found))))?;
        Ok(Self { moment, bytes: Some(bytes) })
    }
}

fn name(found: &JobImage) -> String {
    format!("image of process {}", found.holders.first().map_or(0, |holder| holder.pid))
}

/// The state of a process at one moment.
pub(super) struct Copied {
    pub about: About,
    /// `None` if it has not touched its image.
    pub seen: Option<(Image<InMemory>, Process)>,
}

impl Copied {
    /// Adds what only the system shows of the process.
    pub fn of(
        found: &JobImage,
        copy: ImageCopy,
        places: &Places,
        stacks: &dyn Fn(&JobImage, &Process) -> Vec<ThreadStack>,
    ) -> Result<Self, Error> {
        let ImageCopy { moment, bytes } = copy;
        let Some(bytes) = bytes else { return Ok(Self { about: silent(found, moment), seen: None }) };
        let damaged = |why| Error::Image { what: name(found), why };
        let copied = Image::open(InMemory(bytes)).map_err(damaged)?;
        let own = Process::read(&copied, Some(moment)).map_err(damaged)?;
        let seen = found.process(&copied, moment, &places.files).map_err(damaged)?;
        let caller = |(own, seen): (&ThreadFacts, &ThreadFacts)| {
            (own.return_address != seen.return_address).then_some((seen.index, seen.return_address))
        };
        let number =
            |(own, seen): (&ThreadFacts, &ThreadFacts)| (own.tid != seen.tid).then_some((own.tid, seen.tid));
        let others = live::others(found, &seen, places);
        let tids = seen.threads.iter().map(|thread| thread.tid).filter(|tid| *tid != 0);
        let tids = tids.chain(others.iter().copied());
        let outside = seen.threads.iter().filter(|thread| thread.tid != 0 && thread.call.is_none());
        let outside = outside.map(|thread| thread.tid).chain(others.iter().copied());
        let alive = found.alive(seen.pid);
        let stacks = if alive { stacks(found, &seen) } else { Vec::new() };
        let about = About {
            stacks: stacks.into_iter().map(|stack| (stack.tid, stack)).collect(),
            placement: placement(found, &seen),
            pid: found.outer_pid(seen.pid).unwrap_or(seen.pid),
            host: seen.host.clone(),
            inode: found.inode(),
            silent: false,
            alive,
            moment,
            doing: tids.map(|tid| (tid, live::doing(found, &seen, places, tid))).collect(),
            at: outside.filter_map(|tid| Some((tid, live::at(found, &seen, places, tid)?))).collect(),
            tids: own.threads.iter().zip(&seen.threads).filter_map(number).collect(),
            callers: own.threads.iter().zip(&seen.threads).filter_map(caller).collect(),
            end: found.end.clone(),
        };
        Ok(Self { about, seen: Some((copied, seen)) })
    }
}

/// Returns the current placement, or the saved one for a saved process; for a process that has ended, the
/// last one that its starter observed.
fn placement(found: &JobImage, process: &Process) -> Option<Box<Placement>> {
    match found.about() {
        Some(about) => about.placement.clone(),
        None if found.alive(process.pid) => Placement::of(found.outer_pid(process.pid)?).map(Box::new),
        None => found.end.as_ref()?.placement.clone(),
    }
}

fn silent(found: &JobImage, moment: Moment) -> About {
    let ProcessLocation { host, pid } = found.untouched();
    let (doing, at, callers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let alive = found.end.as_ref().is_none_or(|end| end.ended_ns.is_none());
    let (stacks, end) = (BTreeMap::new(), found.end.clone());
    let (tids, inode) = (BTreeMap::new(), found.inode());
    About {
        pid,
        host,
        inode,
        silent: true,
        alive,
        moment,
        doing,
        at,
        stacks,
        callers,
        tids,
        end,
        placement: None,
    }
}

/// Copies all bytes of an image that may still be written to.
fn copy(source: &(dyn Source + Send)) -> Result<Vec<u8>, String> {
    let len = source.len();
    if len > LONGEST_IMAGE {
        return Err(format!("its {len} bytes do not fit in an evidence file; `ps` and `inspect` show it"));
    }
    let len = usize::try_from(len).map_err(|why| why.to_string())?;
    let mut bytes = vec![0; len];
    for (at, piece) in (0..).step_by(PIECE).zip(bytes.chunks_mut(PIECE)) {
        source.read(at, piece)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::discover::discover;
    use crate::model::locate::NoSymbols;
    use crate::save::{Recorder, Saved, copy_processes};
    use crate::test_image::TestImage;

    #[test]
    fn all_processes_are_copied_before_the_first_copy_is_written_to_the_file() {
        let ranks = [0, 1, 2].map(|rank| TestImage::new("copied-at-once", rank, 3));
        let job = discover().into_iter().find(|job| job.name == "copied-at-once").unwrap();
        let recorder = Recorder::new(&NoSymbols);
        let mut inside = Vec::new();
        copy_processes(
            &job,
            false,
            &Places::default(),
            &recorder,
            &mut Saved::default(),
            |number, copied| {
                let (_, process) = copied.seen.as_ref().unwrap();
                inside.push(process.threads.iter().filter(|thread| thread.call.is_some()).count());
                if number == 0 {
                    ranks.iter().for_each(|rank| rank.enters("MPI_Barrier", [0; 3], 0, 0));
                }
                Ok(())
            },
        )
        .unwrap();
        assert_eq!(inside, [0, 0, 0], "what the others did meanwhile is not in their copies");
    }
}
