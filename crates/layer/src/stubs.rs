//! The exported functions, and the list of them.
//!
//! `generated/stubs.rs` is one invocation of `stubs!`; it is read twice, with two meanings of that macro.
#![allow(unsafe_code)]

use mpi_abi::FunctionId;

mod exports {
    use crate::arch::export_stub;

    macro_rules! stubs {
        ($($number:literal $name:ident $profiled:ident;)*) => {
            $(
                export_stub!($name, 2 * $number);
                export_stub!($profiled, 2 * $number + 1);
            )*
        };
    }

    include!("generated/stubs.rs");
}

mod list {
    use super::FunctionId;
    use crate::hooks;
    use mpi_abi::Abi;

    macro_rules! stubs {
        ($($number:literal $name:ident $profiled:ident;)*) => {
            /// The functions that this library exports.
            pub const EXPORTED: &[FunctionId] = &[$(FunctionId($number)),*];

            /// The hooks of one ABI, as addresses.
            pub fn hooks<A: Abi>() -> impl Iterator<Item = (FunctionId, usize)> {
                [$((FunctionId($number), hooks::$name::<A> as *const () as usize)),*].into_iter()
            }
        };
    }

    include!("generated/stubs.rs");
}

pub use list::hooks;

/// The functions that this library exports, in order of their numbers.
pub fn exported() -> &'static [FunctionId] {
    list::EXPORTED
}
