//! Why an archive could not be written.

/// Why there is no archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// With these words.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
