//! A process in an evidence file: its image, and the addresses of its library's predefined objects, which is
//! all that the plug-ins of this project read.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use mpiscope_job::jobs::evidence;
use mpiscope_job::jobs::job_image::JobImage;
use mpiscope_job::model::process::Process;
use mpiscope_target::{ByteOrder, InMemory};

/// The layer's variable that points to the image.
const VARIABLE: &str = "mpiscope_image";
/// The addresses given to the image and that variable: plausible ones in a process.
const IMAGE: u64 = 0x7000_0000_0000;
const POINTER: u64 = 0x6000_0000_0000;
/// Debuggers read whole pages.
const PAGE: usize = 4096;

/// Returns the process of a rank, or the only one in the file.
///
/// # Errors
/// When the file is not an evidence file or is damaged, or no process or several match.
pub fn process(path: &Path, rank: Option<u32>) -> Result<InMemory> {
    let kept = evidence::open(path)?;
    let known: Vec<(Option<u32>, &JobImage)> = kept
        .job
        .images
        .iter()
        .filter_map(|image| Some((image.who()?.entry.rank, image)))
        .filter(|(known, _)| rank.is_none() || *known == rank)
        .collect();
    let image = match known.as_slice() {
        [(_, image)] => image.open()?,
        [] => bail!("{}: it contains no matching process that has called MPI", path.display()),
        several => bail!(
            "{}: {} of its processes match: name a rank with --rank, or save one process alone",
            path.display(),
            several.len()
        ),
    };
    let len = usize::try_from(image.source().len()).context("the image is too long")?;
    let mut bytes = vec![0; len.next_multiple_of(PAGE)];
    let (used, _) = bytes.split_at_mut(len);
    image.source().read(0, used).map_err(anyhow::Error::msg)?;
    let mut pointer = vec![0; PAGE];
    let (first, _) = pointer.split_at_mut(size_of::<u64>());
    first.copy_from_slice(&IMAGE.to_ne_bytes());
    let mut symbols = BTreeMap::from([(VARIABLE.to_owned(), POINTER)]);
    let words = kept.job.symbols();
    for module in Process::read(&image, None)?.modules.iter() {
        // The program comes first: it may have copies of the library's objects, which all modules then use.
        words.exports(module, &mut |name, at| {
            symbols.entry(name.to_owned()).or_insert(at);
        });
    }
    let target = InMemory::new(size_of::<u64>(), ByteOrder::HOST);
    let target = target.segment(IMAGE, bytes).segment(POINTER, pointer);
    Ok(symbols.iter().fold(target, |target, (name, at)| target.with_symbol(name, *at)))
}
