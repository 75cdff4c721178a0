//! Values of the interface's constants in each ABI.
//!
//! The engine numbers them independently; here its numbers are converted to those of the library that was
//! found, and back. Open MPI before version 6 lacks some constants: they get the values of version 6, as in
//! the project's header.

use mpi_abi::{AbiKind, mpich, openmpi, standard};
use mpit::{Bind, CbSafety, Error, PvarClass, Scope, SourceOrder, Verbosity};
use std::ffi::c_int;

/// The values of one ABI; each list is indexed by the engine's number.
pub struct Codes {
    errors: [i64; 18],
    verbosity: [i64; 9],
    bind: [i64; 12],
    scope: [i64; 7],
    class: [i64; 10],
    safety: [i64; 4],
    order: [i64; 2],
    /// `MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`.
    pub threads: [i64; 4],
    /// `MPI_ERR_OTHER`: for failures of the library that have no class here.
    other: i64,
}

macro_rules! codes {
    ($abi:ident, $not_accessible:expr, $not_supported:expr, $bind_session:expr, $safety:expr, $order:expr) => {{
        use $abi::*;
        Codes {
            errors: [
                MPI_T_ERR_CANNOT_INIT,
                $not_accessible,
                MPI_T_ERR_NOT_INITIALIZED,
                $not_supported,
                MPI_T_ERR_MEMORY,
                MPI_T_ERR_INVALID,
                MPI_T_ERR_INVALID_INDEX,
                MPI_T_ERR_INVALID_ITEM,
                MPI_T_ERR_INVALID_SESSION,
                MPI_T_ERR_INVALID_HANDLE,
                MPI_T_ERR_INVALID_NAME,
                MPI_T_ERR_OUT_OF_HANDLES,
                MPI_T_ERR_OUT_OF_SESSIONS,
                MPI_T_ERR_CVAR_SET_NOT_NOW,
                MPI_T_ERR_CVAR_SET_NEVER,
                MPI_T_ERR_PVAR_NO_WRITE,
                MPI_T_ERR_PVAR_NO_STARTSTOP,
                MPI_T_ERR_PVAR_NO_ATOMIC,
            ],
            verbosity: [
                MPI_T_VERBOSITY_USER_BASIC,
                MPI_T_VERBOSITY_USER_DETAIL,
                MPI_T_VERBOSITY_USER_ALL,
                MPI_T_VERBOSITY_TUNER_BASIC,
                MPI_T_VERBOSITY_TUNER_DETAIL,
                MPI_T_VERBOSITY_TUNER_ALL,
                MPI_T_VERBOSITY_MPIDEV_BASIC,
                MPI_T_VERBOSITY_MPIDEV_DETAIL,
                MPI_T_VERBOSITY_MPIDEV_ALL,
            ],
            bind: [
                MPI_T_BIND_NO_OBJECT,
                MPI_T_BIND_MPI_COMM,
                MPI_T_BIND_MPI_DATATYPE,
                MPI_T_BIND_MPI_ERRHANDLER,
                MPI_T_BIND_MPI_FILE,
                MPI_T_BIND_MPI_GROUP,
                MPI_T_BIND_MPI_OP,
                MPI_T_BIND_MPI_REQUEST,
                MPI_T_BIND_MPI_WIN,
                MPI_T_BIND_MPI_MESSAGE,
                MPI_T_BIND_MPI_INFO,
                $bind_session,
            ],
            scope: [
                MPI_T_SCOPE_CONSTANT,
                MPI_T_SCOPE_READONLY,
                MPI_T_SCOPE_LOCAL,
                MPI_T_SCOPE_GROUP,
                MPI_T_SCOPE_GROUP_EQ,
                MPI_T_SCOPE_ALL,
                MPI_T_SCOPE_ALL_EQ,
            ],
            class: [
                MPI_T_PVAR_CLASS_STATE,
                MPI_T_PVAR_CLASS_LEVEL,
                MPI_T_PVAR_CLASS_SIZE,
                MPI_T_PVAR_CLASS_PERCENTAGE,
                MPI_T_PVAR_CLASS_HIGHWATERMARK,
                MPI_T_PVAR_CLASS_LOWWATERMARK,
                MPI_T_PVAR_CLASS_COUNTER,
                MPI_T_PVAR_CLASS_AGGREGATE,
                MPI_T_PVAR_CLASS_TIMER,
                MPI_T_PVAR_CLASS_GENERIC,
            ],
            safety: $safety,
            order: $order,
            threads: [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE],
            other: MPI_ERR_OTHER,
        }
    }};
}

macro_rules! complete {
    ($abi:ident) => {
        codes!(
            $abi,
            $abi::MPI_T_ERR_NOT_ACCESSIBLE,
            $abi::MPI_T_ERR_NOT_SUPPORTED,
            $abi::MPI_T_BIND_MPI_SESSION,
            [
                $abi::MPI_T_CB_REQUIRE_NONE,
                $abi::MPI_T_CB_REQUIRE_MPI_RESTRICTED,
                $abi::MPI_T_CB_REQUIRE_THREAD_SAFE,
                $abi::MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
            ],
            [$abi::MPI_T_SOURCE_ORDERED, $abi::MPI_T_SOURCE_UNORDERED]
        )
    };
}

static STANDARD: Codes = complete!(standard);
static MPICH: Codes = complete!(mpich);
static OPENMPI: Codes = codes!(openmpi, 81, 82, 11, [0, 1, 2, 3], [0, 1]);

/// The values for the library that was found; the standard's while there is none.
pub fn codes() -> &'static Codes {
    match crate::interpose::resolver::abi() {
        Some(AbiKind::MPICH) => &MPICH,
        Some(AbiKind::OPENMPI) => &OPENMPI,
        _ => &STANDARD,
    }
}

/// The ABI's value. An unknown number from a library is passed through.
fn number(list: &[i64], own: u32) -> c_int {
    list.get(own as usize).map_or(own as c_int, |number| *number as c_int)
}

/// The engine's number. An unknown value is kept, marked so that it differs from all known ones.
fn own(list: &[i64], number: c_int) -> u32 {
    list.iter().position(|n| *n == i64::from(number)).map_or(number as u32 | UNKNOWN, |at| at as u32)
}

/// Marks values that are not the engine's.
const UNKNOWN: u32 = 1 << 31;

fn foreign(list: &[i64], own: u32) -> c_int {
    if own & UNKNOWN != 0 { (own & !UNKNOWN) as c_int } else { number(list, own) }
}

macro_rules! translations {
    ($($list:ident: $type:ident, $to:ident $(, $from:ident)?;)*) => {$(
        /// The ABI's value.
        pub fn $to(&self, value: $type) -> c_int {
            foreign(&self.$list, value.0)
        }

        $(
            /// The meaning of the ABI's value.
            pub fn $from(&self, number: c_int) -> $type {
                $type(own(&self.$list, number))
            }
        )?
    )*};
}

impl Codes {
    translations! {
        verbosity: Verbosity, verbosity, verbosity_of;
        bind: Bind, bind, bind_of;
        scope: Scope, scope, scope_of;
        class: PvarClass, class, class_of;
        safety: CbSafety, safety, safety_of;
        order: SourceOrder, order, order_of;
    }

    /// The error class, or a library's own error code.
    pub fn error(&self, error: Error) -> c_int {
        match (error.library_code(), error.ordinal().checked_sub(1)) {
            (Some(code), _) => code,
            (None, Some(at)) => self.errors.get(at).map_or(self.other as c_int, |code| *code as c_int),
            (None, None) => self.other as c_int,
        }
    }

    /// The meaning of an error code of the library.
    pub fn error_of(&self, code: c_int) -> Error {
        let at = self.errors.iter().position(|c| *c == i64::from(code));
        at.and_then(|at| Error::ALL.get(at).copied()).unwrap_or(Error::library(code))
    }

    /// The index of a thread level; `None` if it is not one of the four.
    pub fn thread_level(&self, level: c_int) -> Option<usize> {
        self.threads.iter().position(|l| *l == i64::from(level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives_its_translation_in_every_abi() {
        for codes in [&STANDARD, &MPICH, &OPENMPI] {
            for bind in Bind::ALL {
                assert_eq!(codes.bind_of(codes.bind(*bind)), *bind);
            }
            for class in PvarClass::ALL {
                assert_eq!(codes.class_of(codes.class(*class)), *class);
            }
            for error in Error::ALL {
                assert_eq!(codes.error_of(codes.error(*error)), *error);
            }
            for safety in CbSafety::ALL {
                assert_eq!(codes.safety_of(codes.safety(*safety)), *safety);
            }
        }
    }

    #[test]
    fn an_unknown_number_is_kept_and_matches_no_named_value() {
        let bind = MPICH.bind_of(3);
        assert_eq!(bind.name(), None);
        assert_eq!(MPICH.bind(bind), 3);
        assert_eq!(MPICH.error(MPICH.error_of(4711)), 4711);
    }
}
