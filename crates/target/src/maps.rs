//! The files mapped into a process.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// No program has more mappings (`vm.max_map_count` is 65530 unless raised).
const MAX_MAPPINGS: usize = 1 << 20;

/// A part of a file mapped into the target's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address past the end.
    pub end: u64,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Whether it is executable.
    pub executable: bool,
    /// The file, without the kernel's suffix for deleted ones.
    pub path: PathBuf,
    /// Whether the kernel reports that the path no longer denotes this file.
    pub deleted: bool,
    /// Device and inode as the kernel reports them; zero if unknown, as in a core file.
    pub inode: (u64, u64),
}

/// Parses the file-backed mappings from text in the format of `/proc/PID/maps`. Malformed lines are skipped.
pub fn parse(text: &[u8]) -> Vec<Mapping> {
    text.split(|byte| *byte == b'\n').filter_map(line).take(MAX_MAPPINGS).collect()
}

fn line(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let mut field = || fields.next().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let (start, end) = field()?.split_once('-')?;
    let (rights, offset) = (field()?, field()?);
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (hex(start)?, hex(end)?, hex(offset)?);
    let executable = rights.contains('x');
    let mut field = || fields.next().and_then(|bytes| std::str::from_utf8(bytes).ok());
    let (major, minor) = field()?.split_once(':')?;
    let inode = (hex(major)? << 32 | hex(minor)?, field()?.parse().ok()?);
    let path = fields.next()?.trim_ascii_start();
    let (path, deleted) = match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let path = PathBuf::from(OsStr::from_bytes(path));
    (start < end && path.is_absolute()).then_some(Mapping {
        start,
        end,
        offset,
        executable,
        path,
        deleted,
        inode,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const MAPS: &[u8] = b"\
5581a000-5581b000 r--p 00000000 08:01 42                     /opt/my app\n\
5581b000-5581c000 r-xp 00001000 08:01 42                     /opt/my app\n\
5581d000-5581e000 rw-p 00002000 08:01 42                     /opt/my app\n\
5581e000-5581f000 rw-p 00000000 00:00 0                      [heap]\n\
7f000000-7f001000 r--p 00000000 00:2d 9                      /usr/share/data\n\
7f100000-7f101000 r-xp 00000000 00:2d 7                      /lib/x.so (deleted)\n\
7f200000-7f201000 rw-s 00000000 00:01 3                      /memfd:image (deleted)\n\
7f300000-7f301000 r-xp 00000000 00:2d 7                      /lib/x.so (deleted)\n\
zzz\n\
\xff\xfe-3 r-xp\n";

    #[test]
    fn a_path_with_a_space_and_a_deleted_file_are_distinguished() {
        let mappings = parse(MAPS);
        assert_eq!((mappings[0].path.to_str(), mappings[0].deleted), (Some("/opt/my app"), false));
        assert_eq!((mappings[4].path.to_str(), mappings[4].deleted), (Some("/lib/x.so"), true));
    }
}
