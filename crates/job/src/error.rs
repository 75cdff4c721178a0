//! Errors on the way from bytes to the model.

use crate::base::refusal::Refusal;
use std::path::PathBuf;

/// Why a process or a job cannot be inspected. Each message ends with the next thing to try.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or mapped.
    #[error("{path}: {why}")]
    #[allow(missing_docs)]
    File { path: PathBuf, why: String },
    /// The bytes are not an image that this version can read.
    #[error("{what}: {why}")]
    #[allow(missing_docs)]
    Image { what: String, why: mpiscope_image::Error },
    /// A core file without an image.
    #[error(
        "{path}: this core file contains no mpiscope image. Was the program run under `mpiscope run`? Core files may \
         leave out shared memory: see coredump_filter in core(5)"
    )]
    #[allow(missing_docs)]
    NoImageInCore { path: PathBuf },
    /// The host has nothing that matches the request.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing matches the name that was given.
    #[error("{0}")]
    NotFound(String),
}

impl Error {
    /// Whether the error means that the process has not written to the image yet.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        matches!(self, Self::Image { why: mpiscope_image::Error::NotAnImage, .. })
    }
}

/// For an image that is already open.
impl From<mpiscope_image::Error> for Error {
    fn from(why: mpiscope_image::Error) -> Self {
        Self::Image { what: "the image".to_owned(), why }
    }
}
