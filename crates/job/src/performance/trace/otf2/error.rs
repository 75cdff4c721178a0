//! Why an archive could not be written.

/// The reason why there is no archive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl Error {
    /// Creates an error with this message.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}
