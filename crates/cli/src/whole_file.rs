//! Files that appear when they are whole: whoever reads one sees all of it, and one that cannot be written leaves nothing behind.

use std::fs;
use std::io;
use std::path::Path;

/// Writes a file in the place of the one that may be there.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.{}", std::process::id()));
    let done = fs::write(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if done.is_err() {
        let _gone = fs::remove_file(&draft);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let there = dir.path().join("there");
        fs::create_dir(&there).unwrap();
        assert!(write(&there, b"x").is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        write(&dir.path().join("file"), b"x").unwrap();
        assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"x");
    }
}
