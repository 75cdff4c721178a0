//! The constants of the interface as open newtypes.
//!
//! MPI libraries differ in the numeric values of these constants, and later versions of the standard add new
//! ones. Here they are small dense numbers in the order of the standard's tables; a layer over an MPI library
//! translates them with a table. They are not Rust enums because unknown values arrive from foreign variables
//! and from callers, and must pass through unchanged.

use std::fmt;
use std::num::NonZeroU64;

macro_rules! open_codes {
    ($(#[$meta:meta])* $name:ident { $($(#[$item_meta:meta])* $item:ident = $value:expr;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$item_meta])* pub const $item: Self = Self($value);)*

            /// All named values, in the order of the standard.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// The name in the standard without its prefix, if this is a named value.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$item => Some(stringify!($item)),)*
                    _ => None,
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.name() {
                    Some(name) => write!(f, "{}::{name}", stringify!($name)),
                    None => write!(f, "{}({})", stringify!($name), self.0),
                }
            }
        }
    };
}

open_codes! {
    /// The intended audience and the level of detail (`MPI_T_VERBOSITY_*`).
    Verbosity {
        /// Basic information of interest to end users.
        USER_BASIC = 0;
        /// Detailed information of interest to end users.
        USER_DETAIL = 1;
        /// All information of interest to end users.
        USER_ALL = 2;
        /// Basic information for tuning.
        TUNER_BASIC = 3;
        /// Detailed information for tuning.
        TUNER_DETAIL = 4;
        /// All information for tuning.
        TUNER_ALL = 5;
        /// Basic information for developers of the MPI library.
        MPIDEV_BASIC = 6;
        /// Detailed information for developers of the MPI library.
        MPIDEV_DETAIL = 7;
        /// All information for developers of the MPI library.
        MPIDEV_ALL = 8;
    }
}

open_codes! {
    /// The kind of MPI object that a variable or event type is bound to (`MPI_T_BIND_*`).
    Bind {
        /// Nothing: the object argument is ignored.
        NO_OBJECT = 0;
        /// A communicator.
        MPI_COMM = 1;
        /// A datatype.
        MPI_DATATYPE = 2;
        /// An error handler.
        MPI_ERRHANDLER = 3;
        /// A file.
        MPI_FILE = 4;
        /// A group.
        MPI_GROUP = 5;
        /// A reduction operator.
        MPI_OP = 6;
        /// A request.
        MPI_REQUEST = 7;
        /// A window.
        MPI_WIN = 8;
        /// A matched message.
        MPI_MESSAGE = 9;
        /// An info object.
        MPI_INFO = 10;
        /// An MPI session.
        MPI_SESSION = 11;
    }
}

open_codes! {
    /// In which processes a change to a control variable must be made (`MPI_T_SCOPE_*`).
    Scope {
        /// The value never changes.
        CONSTANT = 0;
        /// Cannot be written through this interface, but may change.
        READONLY = 1;
        /// May be written in a single process.
        LOCAL = 2;
        /// Must be written in a group of processes.
        GROUP = 3;
        /// Must be written to the same value in a group of processes.
        GROUP_EQ = 4;
        /// Must be written in all processes.
        ALL_PROCESSES = 5;
        /// Must be written to the same value in all processes.
        ALL_EQ = 6;
    }
}

impl Scope {
    /// Whether a variable of this scope can ever be written. `true` for unknown scopes: the provider decides.
    pub fn writable(self) -> bool {
        self != Self::CONSTANT && self != Self::READONLY
    }
}

open_codes! {
    /// The class of a performance variable (`MPI_T_PVAR_CLASS_*`), which determines its meaning, starting
    /// value and overflow behavior.
    PvarClass {
        /// One of a set of states. The starting value is the current state.
        STATE = 0;
        /// The current utilization level of a resource.
        LEVEL = 1;
        /// The size of a resource.
        SIZE = 2;
        /// The utilization of a resource, from 0.0 to 1.0.
        PERCENTAGE = 3;
        /// The highest utilization since the start. The starting value is the current utilization.
        HIGHWATERMARK = 4;
        /// The lowest utilization since the start. The starting value is the current utilization.
        LOWWATERMARK = 5;
        /// Number of occurrences of an event since the variable was started, from 0.
        COUNTER = 6;
        /// Sum of values since the variable was started, from 0.
        AGGREGATE = 7;
        /// Time spent since the variable was started, from 0.
        TIMER = 8;
        /// Defined by the variable itself.
        GENERIC = 9;
    }
}

impl PvarClass {
    /// Whether the value is the amount added since the start. Such a value starts at 0 and is measured per
    /// handle.
    pub fn is_cumulative(self) -> bool {
        matches!(self, Self::COUNTER | Self::AGGREGATE | Self::TIMER)
    }

    /// Whether the value is an extreme since the start. Such a value is kept per handle.
    pub fn is_watermark(self) -> bool {
        matches!(self, Self::HIGHWATERMARK | Self::LOWWATERMARK)
    }

    /// Whether the standard's description of the class allows this datatype.
    ///
    /// The fixed-width unsigned integers and `MPI_COUNT` count as unsigned. An unknown class allows every
    /// datatype.
    pub fn allows(self, datatype: Datatype) -> bool {
        let unsigned = datatype.is_unsigned() || datatype == Datatype::COUNT;
        match self {
            Self::STATE => datatype == Datatype::INT,
            Self::PERCENTAGE => datatype == Datatype::DOUBLE,
            Self::COUNTER => unsigned,
            Self::LEVEL
            | Self::SIZE
            | Self::HIGHWATERMARK
            | Self::LOWWATERMARK
            | Self::AGGREGATE
            | Self::TIMER => unsigned || datatype == Datatype::DOUBLE,
            _ => true,
        }
    }
}

open_codes! {
    /// The datatypes of variables and event elements (MPI 4.1, Table 19).
    Datatype {
        /// C `int`.
        INT = 0;
        /// C `unsigned`.
        UNSIGNED = 1;
        /// C `unsigned long`.
        UNSIGNED_LONG = 2;
        /// C `unsigned long long`.
        UNSIGNED_LONG_LONG = 3;
        /// `MPI_Count`, 64 bits in every ABI.
        COUNT = 4;
        /// C `char`: a string, whose count includes the terminating NUL.
        CHAR = 5;
        /// C `double`.
        DOUBLE = 6;
        /// `int32_t`.
        INT32_T = 7;
        /// `int64_t`.
        INT64_T = 8;
        /// `uint32_t`.
        UINT32_T = 9;
        /// `uint64_t`.
        UINT64_T = 10;
    }
}

impl Datatype {
    /// Size of one element in bytes; 0 for an unknown datatype.
    pub const fn size(self) -> usize {
        match self {
            Self::CHAR => 1,
            Self::INT | Self::UNSIGNED | Self::INT32_T | Self::UINT32_T => 4,
            Self::UNSIGNED_LONG => size_of::<std::ffi::c_ulong>(),
            Self::UNSIGNED_LONG_LONG | Self::COUNT | Self::DOUBLE | Self::INT64_T | Self::UINT64_T => 8,
            _ => 0,
        }
    }

    /// Whether this is one of the unsigned integers.
    pub fn is_unsigned(self) -> bool {
        matches!(
            self,
            Self::UNSIGNED | Self::UNSIGNED_LONG | Self::UNSIGNED_LONG_LONG | Self::UINT32_T | Self::UINT64_T
        )
    }
}

open_codes! {
    /// The restrictions that a callback function must observe (`MPI_T_CB_REQUIRE_*`), from the least to the
    /// most strict. The numbers are ranks, not any ABI's values.
    CbSafety {
        /// No restriction: any MPI function may be called.
        NONE = 0;
        /// Only `MPI_T_*`, `MPI_Wtime` and `MPI_Wtick` may be called.
        MPI_RESTRICTED = 1;
        /// In addition, must be reentrant and thread-safe.
        THREAD_SAFE = 2;
        /// In addition, must be safe in a signal handler.
        ASYNC_SIGNAL_SAFE = 3;
    }
}

open_codes! {
    /// The guarantee that a source makes about the order of its timestamps (`MPI_T_SOURCE_*`).
    SourceOrder {
        /// Timestamps of subsequent events increase.
        ORDERED = 0;
        /// No guarantee.
        UNORDERED = 1;
    }
}

/// An error class of the interface.
///
/// An error of an underlying library, reported by a foreign variable, keeps that library's own code: see
/// [`Error::library`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error(NonZeroU64);

const LIBRARY: u64 = 1 << 32;

macro_rules! errors {
    ($($(#[$meta:meta])* $item:ident = $value:literal, $text:literal;)*) => {
        impl Error {
            $($(#[$meta])* pub const $item: Self = Self(NonZeroU64::new($value).unwrap());)*

            /// All error classes of the interface.
            pub const ALL: &'static [Self] = &[$(Self::$item),*];

            /// The name in the standard without `MPI_T_ERR_`; `None` for a library's own code.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$item => Some(stringify!($item)),)*
                    _ => None,
                }
            }

            fn text(self) -> &'static str {
                match self {
                    $(Self::$item => $text,)*
                    _ => "the underlying MPI library returned its own error",
                }
            }
        }
    };
}

errors! {
    /// The interface could not be initialized.
    CANNOT_INIT = 1, "the tool interface could not be initialized";
    /// The call is not possible at this time.
    NOT_ACCESSIBLE = 2, "not possible at this point; try again outside the callback";
    /// `MPI_T_init_thread` has not been called, or every call has been matched by `MPI_T_finalize`.
    NOT_INITIALIZED = 3, "the tool interface is not initialized; call MPI_T_init_thread first";
    /// The requested operation is not supported.
    NOT_SUPPORTED = 4, "not supported by this item";
    /// Out of memory.
    MEMORY = 5, "out of memory";
    /// An invalid argument, or an invalid value written to a variable.
    INVALID = 6, "invalid argument or value";
    /// The index is out of range.
    INVALID_INDEX = 7, "index out of range; ask for the number first";
    /// The item index is out of range (deprecated since MPI 4.0 in favor of [`Error::INVALID_INDEX`]).
    INVALID_ITEM = 8, "item index out of range";
    /// Not a valid performance experiment session.
    INVALID_SESSION = 9, "not a valid performance experiment session; it may have been freed";
    /// Not a valid handle, or not one of this session.
    INVALID_HANDLE = 10, "not a valid handle; it may have been freed or belong to another session";
    /// There is no item of this name.
    INVALID_NAME = 11, "no item of this name; more may appear after MPI_Init";
    /// No more handles are available.
    OUT_OF_HANDLES = 12, "no more handles; free some";
    /// No more sessions are available.
    OUT_OF_SESSIONS = 13, "no more sessions; free some";
    /// The control variable cannot be set now.
    CVAR_SET_NOT_NOW = 14, "this control variable cannot be set at this time; set it before MPI_Init";
    /// The control variable can never be set.
    CVAR_SET_NEVER = 15, "this control variable cannot be set";
    /// The performance variable cannot be written or reset.
    PVAR_NO_WRITE = 16, "this performance variable cannot be written or reset";
    /// The performance variable cannot be started or stopped.
    PVAR_NO_STARTSTOP = 17, "this performance variable cannot be started or stopped";
    /// The performance variable cannot be read and reset atomically.
    PVAR_NO_ATOMIC = 18, "this performance variable cannot be read and reset in one step";
}

impl Error {
    /// Wraps the error code of an underlying MPI library unchanged.
    pub const fn library(code: i32) -> Self {
        match NonZeroU64::new(LIBRARY | code as u32 as u64) {
            Some(value) => Self(value),
            None => Self::INVALID,
        }
    }

    /// Returns the library's own code if this error was made by [`Error::library`].
    pub const fn library_code(self) -> Option<i32> {
        if self.0.get() & LIBRARY == 0 { None } else { Some(self.0.get() as u32 as i32) }
    }

    /// A dense number from 1, for translation tables; 0 for a library's own code.
    pub const fn ordinal(self) -> usize {
        if self.0.get() & LIBRARY == 0 { self.0.get() as usize } else { 0 }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.library_code()) {
            (Some(name), _) => write!(f, "MPI_T_ERR_{name}"),
            (None, Some(code)) => write!(f, "library error {code}"),
            (None, None) => write!(f, "error {}", self.0),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({self:?})", self.text())
    }
}

impl std::error::Error for Error {}

/// The result of the functions of the interface.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safety_levels_are_ordered_from_the_most_permissive() {
        assert!(CbSafety::NONE < CbSafety::MPI_RESTRICTED);
        assert!(CbSafety::MPI_RESTRICTED < CbSafety::THREAD_SAFE);
        assert!(CbSafety::THREAD_SAFE < CbSafety::ASYNC_SIGNAL_SAFE);
    }

    #[test]
    fn unknown_values_are_passed_through_unchanged_and_have_no_name() {
        let unknown = PvarClass(4711);
        assert_eq!(unknown.name(), None);
        assert!(unknown.allows(Datatype::CHAR));
        assert_eq!(format!("{unknown:?}"), "PvarClass(4711)");
    }

    #[test]
    fn a_library_error_keeps_its_number_even_if_negative_or_zero() {
        for code in [i32::MIN, -1, 0, 1, 72, i32::MAX] {
            let error = Error::library(code);
            assert_eq!(error.library_code(), Some(code));
            assert_eq!((error.name(), error.ordinal()), (None, 0));
        }
    }

    #[test]
    fn every_error_class_has_a_unique_name_ordinal_and_text() {
        for (i, error) in Error::ALL.iter().enumerate() {
            assert_eq!(error.ordinal(), i + 1);
            assert_eq!(error.library_code(), None);
            assert!(error.to_string().contains(error.name().unwrap()));
        }
        assert_eq!(Error::ALL.len(), 18);
    }

    #[test]
    fn a_result_without_a_value_fits_a_register() {
        assert_eq!(size_of::<Result<()>>(), 8);
    }

    #[test]
    fn classes_allow_the_datatypes_of_the_standard() {
        assert!(PvarClass::STATE.allows(Datatype::INT));
        assert!(!PvarClass::STATE.allows(Datatype::UNSIGNED));
        assert!(PvarClass::PERCENTAGE.allows(Datatype::DOUBLE));
        assert!(!PvarClass::PERCENTAGE.allows(Datatype::UNSIGNED));
        assert!(PvarClass::COUNTER.allows(Datatype::UNSIGNED_LONG_LONG));
        assert!(!PvarClass::COUNTER.allows(Datatype::DOUBLE));
        assert!(PvarClass::TIMER.allows(Datatype::DOUBLE));
        assert!(!PvarClass::LEVEL.allows(Datatype::INT));
        assert!(PvarClass::GENERIC.allows(Datatype::CHAR));
    }
}
