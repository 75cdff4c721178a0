//! Separate debug files, as shipped by distributions: found by build id, otherwise by the debug link in the
//! module.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::elf::Mapped;

const DEBUG: &str = "usr/lib/debug";

/// Returns the file with the debug information of a module, if there is one that matches the module.
pub fn find(root: &Path, module: &Path, file: &Mapped) -> Option<Mapped> {
    let object = file.object().ok()?;
    let id = object.build_id().ok().flatten();
    let by_id = id.and_then(|id| by_build_id(root, id)).and_then(|path| Mapped::open(&path).ok());
    if let Some(found) = by_id.filter(|found| same_id(found, id)) {
        return Some(found);
    }
    let (name, crc) = object.gnu_debuglink().ok().flatten()?;
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    let folder = module.canonicalize().ok()?.parent()?.to_path_buf();
    let global = root.join(DEBUG).join(folder.strip_prefix("/").unwrap_or(&folder));
    let places = [folder.join(name), folder.join(".debug").join(name), global.join(name)];
    places.iter().filter(|path| *path != module).find_map(|path| {
        let found = Mapped::open(path).ok()?;
        // The build id is as good as the checksum, and checking it does not read all of a large file.
        let fits = if id.is_some() { same_id(&found, id) } else { crc32(&found) == crc };
        fits.then_some(found)
    })
}

/// Returns the file that debug files share (created by `dwz`): `name` is relative to the file that refers to
/// it.
pub fn find_shared(root: &Path, name: &[u8], id: &[u8], referrer: &Path) -> Option<Mapped> {
    let beside = referrer.parent()?.join(OsStr::from_bytes(name));
    let places = [Some(beside), by_build_id(root, id)];
    let found = places.into_iter().flatten().filter_map(|path| Mapped::open(&path).ok());
    found.into_iter().find(|found| same_id(found, Some(id)))
}

fn by_build_id(root: &Path, id: &[u8]) -> Option<PathBuf> {
    // No linker creates longer ids; the name must fit in a directory entry.
    let (first, rest) = id.split_first().filter(|(_, rest)| (1..=100).contains(&rest.len()))?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(root.join(DEBUG).join(".build-id").join(format!("{first:02x}")).join(format!("{rest}.debug")))
}

fn same_id(file: &Mapped, id: Option<&[u8]>) -> bool {
    id.is_some() && file.object().is_ok_and(|object| object.build_id().ok().flatten() == id)
}

/// The checksum of `.gnu_debuglink`: zlib's CRC-32, four bits at a time.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 16] = {
        let mut table = [0; 16];
        let mut index = 0;
        while index < 16 {
            let mut sum = index as u32;
            let mut bit = 0;
            while bit < 4 {
                sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[index] = sum;
            index += 1;
        }
        table
    };
    let nibble = |sum: u32, bits: u32| (sum >> 4) ^ TABLE[((sum ^ bits) & 15) as usize];
    !bytes.iter().fold(!0, |sum, byte| nibble(nibble(sum, u32::from(*byte)), u32::from(*byte >> 4)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_one_of_the_standard_test_text() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn an_invalid_build_id_finds_no_file() {
        assert_eq!(by_build_id(Path::new("/"), b""), None);
        assert_eq!(by_build_id(Path::new("/"), &[1; 4096]), None);
        let path = by_build_id(Path::new("/"), &[0xab, 0x01]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/01.debug"));
    }
}
