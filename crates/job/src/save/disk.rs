//! The file to which an archive is written.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// Writes to a file until an error occurs, and then discards everything without further errors: an abandoned
/// archive writer still tries to finish the archive, and prints to standard error if that fails. The first
/// error is kept.
#[derive(Debug)]
pub struct Disk<'a> {
    file: BufWriter<&'a File>,
    failed: Option<(io::ErrorKind, String)>,
    /// Position in the file, and its length; after an error, what they would be, because the archive writer
    /// relies on them.
    at: u64,
    end: u64,
}

impl<'a> Disk<'a> {
    pub fn new(file: &'a File) -> Self {
        let end = file.metadata().map_or(0, |about| about.len());
        Self { file: BufWriter::new(file), failed: None, at: 0, end }
    }

    /// Returns the error, if any write failed.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.failed.take().map_or(Ok(()), |(kind, why)| Err(io::Error::new(kind, why)))
    }

    /// Performs an operation on the file, or returns `given_up` after an error.
    fn attempt<T>(
        &mut self,
        given_up: T,
        what: impl FnOnce(&mut BufWriter<&'a File>) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.failed.is_some() {
            return Ok(given_up);
        }
        let done = what(&mut self.file);
        if let Err(why) = &done
            && why.kind() != io::ErrorKind::Interrupted
        {
            self.failed = Some((why.kind(), why.to_string()));
        }
        done
    }

    fn goes_to(&mut self, at: u64) -> u64 {
        (self.at, self.end) = (at, self.end.max(at));
        at
    }
}

impl Write for Disk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.attempt(bytes.len(), |file| file.write(bytes))?;
        self.goes_to(self.at.saturating_add(written as u64));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), BufWriter::flush)
    }
}

impl Seek for Disk<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let would = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.end.saturating_add_signed(by),
        };
        let at = self.attempt(would, |file| file.seek(to))?;
        Ok(self.goes_to(at))
    }
}

impl Read for Disk<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.attempt(0, |file| file.get_mut().read(into))?;
        self.goes_to(self.at.saturating_add(read as u64));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    #[test]
    fn a_failed_step_fails_only_once_and_is_remembered() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut disk = Disk::new(&full);
        assert_eq!(disk.write(&[0; 100]).unwrap(), 100);
        assert_eq!(disk.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.write(&[0; 100_000]).unwrap(), 100_000);
        assert_eq!(disk.seek(SeekFrom::Start(5)).unwrap(), 5);
        assert_eq!(disk.seek(SeekFrom::End(-1)).unwrap(), 100_099);
        assert_eq!(disk.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    /// Creates a file that cannot grow beyond this length.
    fn short(most: u64) -> File {
        let file = File::from(memfd_create("short", MemfdFlags::ALLOW_SEALING).unwrap());
        file.set_len(most).unwrap();
        fcntl_add_seals(&file, SealFlags::GROW).unwrap();
        file
    }

    #[test]
    fn an_archive_without_space_fails_and_reports_it_once() {
        // Incompressible data.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        };
        let noise: Vec<u8> = (0..50_000).map(|_| next()).collect();
        for most in [0, 10, 8_000, 9_000, 30_000, 49_000, 60_000, 90_000] {
            let file = short(most);
            let mut zip = ZipWriter::new(Disk::new(&file));
            let mut whole = || {
                for name in ["one", "two"] {
                    zip.start_file(name, SimpleFileOptions::default().large_file(true))?;
                    zip.write_all(&noise)?;
                }
                io::Result::Ok(())
            };
            match whole() {
                Ok(()) => {
                    assert!(zip.finish().map_err(io::Error::from).and_then(Disk::finish).is_err(), "{most}")
                }
                // Dropped unfinished.
                Err(_) => drop(zip),
            }
        }
    }
}
