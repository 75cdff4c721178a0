//! What error classes say about who is to blame.

/// Error classes that indicate invalid arguments or a call at the wrong time. A correct program may encounter
/// the others: a missing file, a failed process, an unsupported operation; or they are detected in another
/// way (`MPI_ERR_TRUNCATE`).
const WRONG_USE: [&str; 33] = [
    "MPI_ERR_AMODE",
    "MPI_ERR_ARG",
    "MPI_ERR_ASSERT",
    "MPI_ERR_BASE",
    "MPI_ERR_BUFFER",
    "MPI_ERR_COMM",
    "MPI_ERR_COUNT",
    "MPI_ERR_DIMS",
    "MPI_ERR_DISP",
    "MPI_ERR_ERRHANDLER",
    "MPI_ERR_FILE",
    "MPI_ERR_GROUP",
    "MPI_ERR_INFO",
    "MPI_ERR_INFO_KEY",
    "MPI_ERR_INFO_VALUE",
    "MPI_ERR_KEYVAL",
    "MPI_ERR_LOCKTYPE",
    "MPI_ERR_NOT_SAME",
    "MPI_ERR_OP",
    "MPI_ERR_RANK",
    "MPI_ERR_REQUEST",
    "MPI_ERR_RMA_CONFLICT",
    "MPI_ERR_RMA_FLAVOR",
    "MPI_ERR_RMA_RANGE",
    "MPI_ERR_RMA_SHARED",
    "MPI_ERR_RMA_SYNC",
    "MPI_ERR_ROOT",
    "MPI_ERR_SESSION",
    "MPI_ERR_SIZE",
    "MPI_ERR_TAG",
    "MPI_ERR_TOPOLOGY",
    "MPI_ERR_TYPE",
    "MPI_ERR_WIN",
];

/// Whether an error indicates invalid arguments or a call at the wrong time.
#[must_use]
pub fn is_wrong_use(error: &str) -> bool {
    WRONG_USE.contains(&error)
}
