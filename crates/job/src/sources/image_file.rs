//! Images in files: saved verbatim, or inside core files.

use crate::Error;
use crate::sources::core;
use crate::sources::image_source::{Bytes, Plain};
use mpiscope_image::Image;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Opens an image in a file: saved verbatim, or inside a core file.
pub fn open_file(path: &Path) -> Result<Image<Bytes>, Error> {
    let fail = |why: std::io::Error| Error::File { path: path.to_owned(), why: why.to_string() };
    // Opening a pipe would block.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path);
    let file = file.map_err(fail)?;
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(Error::File {
            path: path.to_owned(),
            why: "not a file: name an image or a core file".into(),
        });
    }
    let mut magic = [0; 4];
    if file.read_exact_at(&mut magic, 0).is_ok() && magic == *b"\x7fELF" {
        return core::open(path);
    }
    let bytes: Bytes = Box::new(Plain::new(file));
    Image::open(bytes).map_err(|why| Error::Image { what: path.display().to_string(), why })
}
