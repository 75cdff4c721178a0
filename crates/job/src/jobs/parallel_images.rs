//! Processes all images of a job that other hosts have sent or a file contains, on all processors.

use crate::base::parallel;
use crate::jobs::evidence::Symbols;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;

/// Number of images that a thread takes at a time: those of one host are in one file.
const AT_A_TIME: usize = 8;

/// Returns a result for each image, in order. An image from a file or another host is processed by `kept`,
/// with its own names for addresses because those of other hosts do not apply; `here` processes the images of
/// this host's processes.
pub fn each_image<A: Send>(
    job: &Job,
    kept: impl Fn(&JobImage, &Symbols) -> A + Sync,
    mut here: impl FnMut(&JobImage) -> A,
) -> Vec<A> {
    let of_file = |image| JobImage::symbols(image).map(|symbols| (image, symbols.as_ref()));
    let files: Vec<(&JobImage, &Symbols)> = job.images.iter().filter_map(of_file).collect();
    let parts: Vec<_> = files.chunks(AT_A_TIME).collect();
    let look = |part: &&[(&JobImage, &Symbols)]| -> Vec<A> {
        part.iter().map(|(image, symbols)| kept(image, symbols)).collect()
    };
    let mut seen = parallel::work(&parts, look).into_iter().flatten();
    let one = |image| if JobImage::symbols(image).is_some() { seen.next() } else { Some(here(image)) };
    job.images.iter().filter_map(one).collect()
}
