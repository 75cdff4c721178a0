//! The images kept for tests; README.md describes the format.

use std::fs;
use std::path::{Path, PathBuf};

/// Their directory.
pub fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../job/tests/corpus")
}

/// Returns an image with its zeros restored.
pub fn image(name: &str) -> Vec<u8> {
    let packed = fs::read(home().join(name)).unwrap();
    let (len, words) = packed.split_first_chunk::<8>().unwrap();
    let mut bytes = vec![0; u64::from_le_bytes(*len) as usize];
    let mut at = 0;
    for entry in words.chunks_exact(12) {
        at += 8 * u32::from_le_bytes(entry[..4].try_into().unwrap()) as usize;
        bytes[at..at + 8].copy_from_slice(&entry[4..]);
    }
    bytes
}
