//! Reading a file in `/proc`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Most files in `/proc` are smaller than this.
const USUAL_SIZE: usize = 8 << 10;
/// Number of bytes after which reading stops.
const MAX_SIZE: u64 = 256 << 20;

/// Reads a whole file in `/proc`. Such a file reports no size, so `std::fs::read` begins with a few bytes and
/// takes several times as many system calls, which is where readers of many processes spend their time.
pub(crate) fn whole(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL_SIZE);
    File::open(path)?.take(MAX_SIZE).read_to_end(&mut bytes)?;
    Ok(bytes)
}
