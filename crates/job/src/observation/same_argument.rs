//! The argument of a collective call on a window or file that all members must pass alike (MPI 5.0, sections "Fence"
//! and "File Manipulation" to "Data Access").

use mpi_abi::{AbiKind, constant};
use mpiscope_image::history::Entered;

/// Assertions of `MPI_Win_fence` that all members must pass if one does; the others describe the process alone.
const COLLECTIVE_ASSERTIONS: [&str; 2] = ["MPI_MODE_NOPRECEDE", "MPI_MODE_NOSUCCEED"];

/// What a member passed.
pub struct SameArgument {
    /// Equal if, and only if, the members agree.
    pub value: i64,
    /// `size 4096`, as text for users.
    pub text: String,
}

impl SameArgument {
    /// Converts a recorded argument; `None` if the function has none that must be the same.
    pub fn of(abi: AbiKind, function: &str, entry: &Entered) -> Option<Self> {
        let value = entry.argument()?;
        Some(match function {
            "MPI_Win_fence" => Self::assertions(abi, value),
            "MPI_File_set_atomicity" => Self::named("flag", i64::from(value != 0)),
            "MPI_File_seek_shared" => Self::named("offset", value),
            _ => Self::named("size", value),
        })
    }

    fn named(name: &str, value: i64) -> Self {
        Self { value, text: format!("{name} {value}") }
    }

    fn assertions(abi: AbiKind, passed: i64) -> Self {
        let bit = |name: &&str| constant::value_of(abi, name).unwrap_or(0);
        let names: Vec<&str> =
            COLLECTIVE_ASSERTIONS.into_iter().filter(|name| passed & bit(name) != 0).collect();
        let value = names.iter().fold(0, |all, name| all | bit(name));
        let text = match names.as_slice() {
            [] => format!("neither {}", COLLECTIVE_ASSERTIONS.join(" nor ")),
            names => names.join(" and "),
        };
        Self { value, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(function: &str, argument: i64) -> (i64, String) {
        let entry = Entered::default();
        entry.set_argument(Some(argument));
        let same = SameArgument::of(AbiKind::MPICH, function, &entry).unwrap();
        (same.value, same.text)
    }

    #[test]
    fn only_what_members_must_agree_on_is_compared() {
        let [no_store, no_precede] = ["MPI_MODE_NOSTORE", "MPI_MODE_NOPRECEDE"]
            .map(|name| constant::value_of(AbiKind::MPICH, name).unwrap());
        let fence = |assertions| passed("MPI_Win_fence", assertions);
        assert_eq!(fence(0), fence(no_store));
        assert_ne!(fence(0).0, fence(no_precede).0);
        assert_eq!(fence(no_store | no_precede).1, "MPI_MODE_NOPRECEDE");
        assert_eq!(passed("MPI_File_set_atomicity", 1), passed("MPI_File_set_atomicity", 7));
        assert_eq!(passed("MPI_File_set_size", 4096), (4096, "size 4096".to_owned()));
        assert!(SameArgument::of(AbiKind::MPICH, "MPI_File_sync", &Entered::default()).is_none());
    }
}
