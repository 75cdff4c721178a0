//! The exported functions, and the list of them.
//!
//! `generated/stubs.rs` is one invocation of `stubs!`. It is included twice here, with two definitions of
//! that macro (and a third time in `hooks`).
#![allow(unsafe_code)]

use mpi_abi::FunctionId;

mod exports {
    use crate::interpose::arch::export_stub;

    macro_rules! stubs {
        ($($number:literal $name:ident $profiled:ident;)*) => {
            $(
                export_stub!($name, 2 * $number);
                export_stub!($profiled, 2 * $number + 1);
            )*
        };
    }

    include!("../generated/stubs.rs");
}

mod list {
    use super::FunctionId;

    macro_rules! stubs {
        ($($number:literal $name:ident $profiled:ident;)*) => {
            /// The functions that this library exports.
            pub const EXPORTED: &[FunctionId] = &[$(FunctionId($number)),*];
        };
    }

    include!("../generated/stubs.rs");
}

/// The functions that this library exports, ordered by number.
pub fn exported() -> &'static [FunctionId] {
    list::EXPORTED
}
