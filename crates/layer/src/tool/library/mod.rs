//! The library's own variables.

/// The interface was initialised.
pub fn started() {}

/// Appends what the library has added.
pub fn refresh() {}
