//! Objects that variables and events are bound to.

use super::{handles, lifecycle};
use mpit::{Bind, Error, Result};

/// Checks that `object` is a live object of this kind, which a library would only find out by a crash.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] if it is not, or if there are no objects before `MPI_Init` and after `MPI_Finalize`.
pub fn check(bind: Bind, object: u64) -> Result<u64> {
    if bind == Bind::NO_OBJECT {
        return Ok(0);
    }
    if lifecycle::program_level().is_none() || !is_known(bind, object) {
        return Err(Error::INVALID_HANDLE);
    }
    Ok(object)
}

fn is_known(bind: Bind, object: u64) -> bool {
    bind == Bind::MPI_COMM
        && ["MPI_COMM_WORLD", "MPI_COMM_SELF"].iter().any(|name| handles::predefined(name) == object)
}
