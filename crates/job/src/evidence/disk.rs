//! The file that an archive is written to.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

/// Writes to a file until that fails, and then nothing any more, without further errors: an archive that is given up tries to be
/// finished all the same, and complains to the user where it cannot. The failure is kept.
#[derive(Debug)]
pub struct Disk<'a> {
    file: BufWriter<&'a File>,
    failed: Option<(io::ErrorKind, String)>,
}

impl<'a> Disk<'a> {
    pub fn new(file: &'a File) -> Self {
        Self { file: BufWriter::new(file), failed: None }
    }

    /// Whether all that was written is there.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.failed.take().map_or(Ok(()), |(kind, why)| Err(io::Error::new(kind, why)))
    }

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
}

impl Write for Disk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt((), BufWriter::flush)
    }
}

impl Seek for Disk<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.attempt(0, |file| file.seek(to))
    }
}

impl Read for Disk<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.attempt(0, |file| file.get_mut().read(into))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_fails_once_and_is_not_forgotten() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut disk = Disk::new(&full);
        assert_eq!(disk.write(&[0; 100]).unwrap(), 100);
        assert_eq!(disk.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.write(&[0; 100_000]).unwrap(), 100_000);
        assert_eq!(disk.seek(SeekFrom::Start(5)).unwrap(), 0);
        assert_eq!(disk.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }
}
