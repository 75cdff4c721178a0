//! One look at all images of a job: those that other hosts have sent, or that a file has kept, by as many processors as there are.

use crate::base::parallel;
use crate::jobs::evidence::Symbols;
use crate::jobs::job::Job;
use crate::jobs::job_image::JobImage;

/// So many images are looked at by one thread before it takes others: those of one host lie in one file.
const AT_A_TIME: usize = 8;

/// What is seen of each image, in their order. An image that was `kept` brings its own words for addresses: those of other hosts
/// say nothing of it. The others are of processes here.
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
