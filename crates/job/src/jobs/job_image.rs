//! The image of a process: a memory file held by some processes, or a copy in an evidence file.
//!
//! The rank, its wrapper and the collector hold the same file; it counts once, by inode. No process is
//! stopped and no ptrace permission is needed. A file is opened without blocking, and used only if it is a
//! memory file that cannot shrink.

use crate::Error;
use crate::base::clock::Moment;
use crate::jobs::acquire::{LastStage, ProcessLocation, WhoIs};
use crate::jobs::evidence::{About, Kept, ProcessEnd, Symbols};
use crate::jobs::silent;
use crate::model::process::Process;
use crate::sources::image_source::{Bytes, open_fd, sealed};
use crate::sources::name_space;
use mpiscope_image::{Image, Source};
use mpiscope_target::{Files, Live, procfs};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Prefix of the link to an image's memory file.
pub(crate) const LINK: &str = "/memfd:mpiscope:";

/// File name of the preload library.
const LAYER: &str = "/libmpiscope.so";

/// An image that some process holds, or one saved with what was known of its process.
#[derive(Debug, Clone)]
pub struct JobImage {
    /// The processes that hold it.
    pub holders: Vec<Holder>,
    /// How its process ended, if a process that waited for it reported that.
    pub end: Option<ProcessEnd>,
    /// Whether it is presented as it was while its process lived: see
    /// [`Job::as_it_was`](super::job::Job::as_it_was).
    pub lived: bool,
    bytes: Holds,
    /// A pid in its own namespace and the host's pid of the same process, once found: they do not change.
    made_for: OnceLock<(u32, u32)>,
}

/// Distinguishes an image from those of all other processes, even after its process has ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ImageId {
    /// The host's name, as its process reports it.
    pub host: String,
    /// Inode of its memory file there.
    pub inode: u64,
}

/// A process that holds an image, as one scan of the host found it. Several descriptors are several holders.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// The path by which its copy can be opened.
    pub(crate) path: PathBuf,
    /// Its pids in its namespaces, from the reader's inward.
    pub(crate) numbers: Arc<[u32]>,
}

/// Where the bytes of an image are.
#[derive(Debug, Clone)]
enum Holds {
    Memory(MemoryFile),
    Evidence(Arc<Kept>),
}

/// The identity of a memory file, and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemoryFile {
    /// User id of the owner.
    pub(crate) owner: u32,
    inode: u64,
}

impl MemoryFile {
    /// Returns the identity of the file with this metadata; `None` if it is not a file.
    pub(crate) fn of(about: &fs::Metadata) -> Option<Self> {
        about.is_file().then(|| Self { owner: about.uid(), inode: about.ino() })
    }

    /// Opens the file at a path if it is still this one: anything else that may be there by now, such as a
    /// pipe or device of another user, is left alone and cannot block.
    fn open(self, path: &Path) -> Result<Option<File>, std::io::Error> {
        if Self::of(&fs::metadata(path)?) != Some(self) {
            return Ok(None);
        }
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let same = Self::of(&file.metadata()?) == Some(self);
        Ok((same && sealed(&file)).then_some(file))
    }

    /// Opens the file through whichever descriptor the process has for it.
    fn find(self, pid: u32) -> Option<File> {
        let is_image = |path: &Path| {
            fs::read_link(path)
                .is_ok_and(|link| link.as_os_str().as_encoded_bytes().starts_with(LINK.as_bytes()))
        };
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let paths = descriptors.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(|path| is_image(path)).find_map(|path| self.open(&path).ok().flatten())
    }
}

impl JobImage {
    /// An image without known holders.
    pub(crate) fn in_memory(file: MemoryFile) -> Self {
        Self {
            holders: Vec::new(),
            end: None,
            lived: false,
            bytes: Holds::Memory(file),
            made_for: OnceLock::new(),
        }
    }

    /// A process of an evidence file.
    pub fn kept(kept: Kept) -> Self {
        let end = kept.about.end.clone();
        let holders = vec![Holder { pid: kept.about.pid, path: PathBuf::new(), numbers: Arc::default() }];
        Self { holders, end, lived: false, bytes: Holds::Evidence(Arc::new(kept)), made_for: OnceLock::new() }
    }

    /// What only the host knew of the process, if it is in an evidence file.
    pub fn about(&self) -> Option<&About> {
        match &self.bytes {
            Holds::Memory(_) => None,
            Holds::Evidence(kept) => Some(&kept.about),
        }
    }

    /// Names for addresses, if it is in an evidence file.
    pub fn symbols(&self) -> Option<&Arc<Symbols>> {
        match &self.bytes {
            Holds::Memory(_) => None,
            Holds::Evidence(kept) => Some(&kept.symbols),
        }
    }

    /// The inode of its memory file on its host; `None` if it was saved by an older version.
    pub fn inode(&self) -> Option<u64> {
        match &self.bytes {
            Holds::Memory(file) => Some(file.inode),
            Holds::Evidence(kept) => kept.about.inode,
        }
    }

    /// The image's identity, given the host's name as its process reports it.
    pub fn id(&self, host: &str) -> Option<ImageId> {
        Some(ImageId { host: host.to_owned(), inode: self.inode()? })
    }

    /// Whether some process still holds the image.
    pub fn held(&self) -> bool {
        self.about().is_some() || self.holders.iter().any(|holder| holder.path.symlink_metadata().is_ok())
    }

    /// Whether it is the image of the process with this id on this host: wrapper and collector hold it, too.
    pub fn is_of(&self, pid: u32) -> bool {
        let own = || self.open().ok()?.header().ok().map(|header| header.pid.get());
        self.holders.iter().any(|holder| holder.pid == pid)
            && own().map(|own| self.host_pid(own)) == Some(pid)
    }

    /// Opens the image through the first holder that permits it and still has it: other readers open and
    /// close images all the time, and a process that is starting moves its own to another descriptor.
    pub fn open(&self) -> Result<Image<Bytes>, Error> {
        let memory = match &self.bytes {
            Holds::Memory(file) => file,
            Holds::Evidence(kept) => return kept.open(),
        };
        let mut last = Error::NotFound("the process that held the image is gone; try again".into());
        for Holder { pid, path, .. } in &self.holders {
            match memory.open(path) {
                Ok(Some(file)) => return open_fd(file.into(), &format!("image of process {pid}")),
                Ok(None) => {}
                Err(why) => last = Error::File { path: path.clone(), why: why.to_string() },
            }
        }
        let mut holders: Vec<u32> = self.holders.iter().map(|holder| holder.pid).collect();
        holders.dedup();
        let moved = holders.into_iter().find_map(|pid| Some((pid, memory.find(pid)?)));
        match moved {
            Some((pid, file)) => open_fd(file.into(), &format!("image of process {pid}")),
            None => Err(last),
        }
    }

    /// The identity of its process; `None` if that has not called MPI or the image cannot be read.
    pub fn who(&self) -> Option<WhoIs> {
        let who = match &self.bytes {
            Holds::Memory(_) => WhoIs::of(&self.open().ok()?),
            Holds::Evidence(kept) => kept.who().cloned(),
        };
        let who = who.map(|mut who| {
            who.entry.place.pid = self.host_pid(who.entry.place.pid);
            who
        });
        who.filter(|who| who.stage != LastStage::Silent)
    }

    /// Unpacks an image of an evidence file ahead of time for its next reader.
    pub fn unpack_early(&self) {
        if let Holds::Evidence(kept) = &self.bytes {
            kept.unpack_early();
        }
    }

    /// The moment that the image shows: now, unless it was saved, or its process had ended when it was first
    /// read.
    pub fn moment(&self) -> Moment {
        let read_at = || self.end.as_ref().and_then(|end| end.read_at);
        self.about().map(|about| about.moment).or_else(read_at).unwrap_or_else(Moment::now)
    }

    /// Opens the image and reads its process; returns `None` if the process has not written to it yet.
    /// `files` is shared by all processes of one sample.
    pub fn read(&self, files: &Arc<Files>) -> Result<Option<(Image<Bytes>, Process)>, Error> {
        let image = match self.open() {
            Ok(image) => image,
            // A wrapper made the file and no process has written to it.
            Err(error) if error.is_untouched() => return Ok(None),
            Err(why) => return Err(why),
        };
        let what = || format!("image of process {}", self.holders.first().map_or(0, |holder| holder.pid));
        let process = self.process(&image, self.moment(), files);
        let process = process.map_err(|why| Error::Image { what: what(), why })?;
        Ok(process.called_mpi().then_some((image, process)))
    }

    /// Reads the process from its image, with the frames that only its memory shows.
    pub fn process<S: Source>(
        &self,
        image: &Image<S>,
        moment: Moment,
        files: &Arc<Files>,
    ) -> Result<Process, mpiscope_image::Error> {
        let mut process = Process::read(image, Some(moment))?;
        if let Some(about) = self.about() {
            process.called_from(&about.callers);
        } else if process.calls_through_binding()
            && let Some(Ok(live)) =
                self.outer_pid(self.host_pid(process.pid)).map(|pid| Live::open_among(pid, files.clone()))
        {
            process.see_through_bindings(image, &live);
        }
        self.number(&mut process);
        Ok(process)
    }

    /// Returns the host's pid of the process whose pid in its own namespace is `own`.
    pub fn host_pid(&self, own: u32) -> u32 {
        match self.about() {
            Some(about) => Some(about.pid).filter(|pid| *pid != 0).unwrap_or(own),
            None => self.made_for(own).unwrap_or(own),
        }
    }

    fn made_for(&self, own: u32) -> Option<u32> {
        if let Some((_, pid)) = self.made_for.get().filter(|(known, _)| *known == own) {
            return Some(*pid);
        }
        let pid = name_space::process(own, self.holders.iter().map(|holder| (holder.pid, &*holder.numbers)))?;
        // Another thread may have found the same.
        let _same = self.made_for.set((own, pid));
        Some(pid)
    }

    /// Replaces the ids of a process and its threads by those on the host.
    fn number(&self, process: &mut Process) {
        let pid = self.host_pid(process.pid);
        let tids = match self.about() {
            Some(about) => Cow::Borrowed(&about.tids),
            None if pid == process.pid => return,
            None => Cow::Owned(name_space::threads(pid)),
        };
        process.pid = pid;
        for thread in &mut process.threads {
            thread.tid = tids.get(&thread.tid).copied().unwrap_or(thread.tid);
        }
    }

    /// The processes that hold it. Several descriptors of one process follow each other.
    fn pids(&self) -> impl Iterator<Item = u32> {
        let mut last = None;
        self.holders.iter().map(|holder| holder.pid).filter(move |pid| last.replace(*pid) != Some(*pid))
    }

    /// Returns the pid if the process with this pid on its host still exists; `None` for a saved process.
    pub fn outer_pid(&self, pid: u32) -> Option<u32> {
        self.about().is_none().then(|| self.pids().find(|holder| *holder == pid))?
    }

    /// Returns the process that the image was made for, according to the host, before that process has
    /// written to it.
    pub fn untouched(&self) -> ProcessLocation {
        let holders: Vec<u32> = self.holders.iter().map(|holder| holder.pid).collect();
        match &self.bytes {
            Holds::Memory(_) => ProcessLocation {
                host: procfs::hostname().unwrap_or_default(),
                pid: silent::process(&holders).unwrap_or_default(),
            },
            Holds::Evidence(kept) => ProcessLocation { host: kept.about.host.clone(), pid: kept.about.pid },
        }
    }

    /// Whether the process with this pid on its host is alive.
    pub fn alive(&self, pid: u32) -> bool {
        match &self.bytes {
            _ if self.lived => true,
            Holds::Memory(file) => self.outer_pid(pid).is_some() || maps(pid, file.inode),
            Holds::Evidence(kept) => kept.about.alive,
        }
    }
}

/// An image that is held open: it outlives its process and tells how far that came.
pub struct HeldImage(Image<Bytes>);

impl HeldImage {
    /// Opens an image that was found.
    ///
    /// # Errors
    /// When no process holds it any more.
    pub fn of(found: &JobImage) -> Result<Self, Error> {
        found.open().map(Self)
    }

    /// How far the process has come; `None` if the image cannot be read.
    pub fn stage(&self) -> Option<LastStage> {
        LastStage::of(&self.0)
    }
}

/// Whether the process has this image mapped, even if it has closed the file. Another process that has reused
/// the pid has its own image, if any.
pub fn maps(pid: u32, inode: u64) -> bool {
    procfs::maps(pid).is_ok_and(|maps| mapped(&String::from_utf8_lossy(&maps), inode))
}

/// Returns the MPI process from which process `pid` was forked, if it has inherited the mapping of one of these images
/// and has none of its own. Readers and wrappers also map images, but do not run the layer; a rank whose tool reads
/// variables of its neighbors maps theirs next to its own.
pub fn forked_from<'a>(pid: u32, images: impl Iterator<Item = &'a JobImage>) -> Option<u32> {
    let maps = procfs::maps(pid).ok()?;
    let maps = String::from_utf8_lossy(&maps);
    if !(maps.contains(LINK) && runs_layer(&maps)) {
        return None;
    }
    let is_mapped = |image: &&JobImage| image.inode().is_some_and(|inode| mapped(&maps, inode));
    let owner = |image: &JobImage| Some(image.host_pid(image.open().ok()?.header().ok()?.pid.get()));
    let owners: Vec<u32> =
        images.filter(is_mapped).filter(|image| image.about().is_none()).filter_map(owner).collect();
    if owners.contains(&pid) { None } else { owners.into_iter().find(|owner| *owner != 0) }
}

/// Whether the code of the layer is mapped. Readers map its file, too, while they look up symbols.
fn runs_layer(maps: &str) -> bool {
    let is_code = |line: &str| line.split_whitespace().nth(1).is_some_and(|rights| rights.contains('x'));
    maps.lines().any(|line| line.contains(LAYER) && is_code(line))
}

/// Whether one of the lines is for the memory file with this inode.
fn mapped(maps: &str, inode: u64) -> bool {
    // Addresses, permissions, offset, device, inode, path.
    let number = |line: &str| line.split_whitespace().nth(4)?.parse::<u64>().ok();
    maps.lines().any(|line| line.contains(LINK) && number(line) == Some(inode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_image::memory_file;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_reader_that_looks_up_symbols_of_the_layer_does_not_run_it() {
        let read = "7f31c0000000-7f31c03a0000 r--p 00000000 fd:00 42   /opt/lib/libmpiscope.so\n";
        let run = "7f31c0080000-7f31c0300000 r-xp 00080000 fd:00 42   /opt/lib/libmpiscope.so\n";
        let other = "7f31c1000000-7f31c1200000 r-xp 00080000 fd:00 43   /opt/lib/libc.so.6\n";
        assert!(!runs_layer(&format!("{read}{other}")));
        assert!(runs_layer(&format!("{read}{run}{other}")));
    }

    /// Creates a memory file and the path to open it.
    fn image() -> (std::os::fd::OwnedFd, PathBuf, MemoryFile) {
        let fd = memory_file("discover");
        let path = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
        let file = MemoryFile::of(&fs::metadata(&path).unwrap()).unwrap();
        (fd, path, file)
    }

    fn found(holders: Vec<(u32, PathBuf)>, file: MemoryFile) -> JobImage {
        let holder = |(pid, path)| Holder { pid, path, numbers: Arc::from([pid]) };
        JobImage { holders: holders.into_iter().map(holder).collect(), ..JobImage::in_memory(file) }
    }

    fn why(found: &JobImage) -> String {
        found.open().err().map(|why| why.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_holder_whose_descriptor_now_refers_to_another_file_is_skipped() {
        let (_other, elsewhere, _) = image();
        let (_image, path, file) = image();
        let holders = vec![(1, elsewhere.clone()), (2, path)];
        assert!(why(&found(holders, file)).contains("process 2"));
        assert!(why(&found(vec![(1, elsewhere)], file)).contains("is gone"));
    }

    #[test]
    fn an_image_that_its_process_has_moved_to_another_descriptor_is_found_there() {
        let (_other, elsewhere, _) = image();
        let (image, _, file) = image();
        let own = std::process::id();
        assert!(why(&found(vec![(own, elsewhere.clone())], file)).contains(&format!("process {own}")));
        drop(image);
        assert!(why(&found(vec![(own, elsewhere)], file)).contains("is gone"));
    }

    #[test]
    fn a_pipe_in_place_of_an_image_does_not_block() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memfd:mpiscope:a");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let about = fs::metadata(&path).unwrap();
        assert!(MemoryFile::of(&about).is_none());
        let file = MemoryFile { owner: about.uid(), inode: about.ino() };
        assert!(why(&found(vec![(1, path)], file)).contains("is gone"));
    }

    #[test]
    fn a_file_that_could_shrink_while_being_read_is_not_an_image() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        fs::write(&path, [0; 8192]).unwrap();
        let file = MemoryFile::of(&fs::metadata(&path).unwrap()).unwrap();
        assert!(why(&found(vec![(1, path)], file)).contains("is gone"));
    }

    #[test]
    fn a_process_that_maps_another_image_is_another_process() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 77 /usr/lib/libc.so.6\n\
                    7f10-7f20 rw-s 00000000 00:01 4711 /memfd:mpiscope:a-1 (deleted)\n";
        assert!(mapped(maps, 4711));
        assert!(!mapped(maps, 4712) && !mapped(maps, 77) && !mapped("", 4711));
    }
}
