//! Puts the floors together: the functions that interposition calls.
#![allow(unsafe_code)]

use super::lifecycle;
use crate::base::image_memory;
use crate::debugger;
use crate::interpose::upcalls::{Upcalls, put_in};
use crate::mpi_t;
use crate::record::attach;
use crate::record::{call_path, left, process, start, traffic};
use mpi_abi::{Abi, AbiKind, FunctionId, Mpich, OpenMpi, Standard};
use std::ffi::CStr;

static UPCALLS: Upcalls = Upcalls {
    hooks: |abi, say| with_abi(abi, Hooks(say)),
    found: |abi, library| with_abi(abi, Found(library)),
    attach: attach::attach,
    has_bindings: call_path::exist,
    caller: call_path::of,
    left: left::left,
    callback_left: left::callback_left,
    forked,
    pcontrol: lifecycle::pcontrol,
};

put_in!(UPCALLS);

fn forked() {
    traffic::state::reconsider();
    debugger::forked();
}

/// An action that is generic over the ABI.
trait ForAbi {
    fn run<A: Abi>(self);
}

fn with_abi(abi: AbiKind, what: impl ForAbi) {
    match abi {
        AbiKind::MPICH => what.run::<Mpich>(),
        AbiKind::OPENMPI => what.run::<OpenMpi>(),
        AbiKind::STANDARD => what.run::<Standard>(),
        _ => {}
    }
}

/// Reports the address of each hook.
struct Hooks(fn(FunctionId, usize));

impl ForAbi for Hooks {
    fn run<A: Abi>(self) {
        let first = match A::CODE {
            AbiKind::MPICH => &raw const MPICH_HOOKS,
            AbiKind::OPENMPI => &raw const OPENMPI_HOOKS,
            _ => &raw const STANDARD_HOOKS,
        };
        for (at, function) in NUMBERS.iter().enumerate() {
            // SAFETY: each table has a word for each number.
            let distance = unsafe { first.add(at).read() };
            (self.0)(FunctionId(*function), first.addr().wrapping_add_signed(distance as isize));
        }
    }
}

/// The hooks of one ABI as offsets from the start of their table: pointers would take eight bytes and a
/// relocation each.
macro_rules! table {
    ($label:literal $abi:ty: $($name:ident)*) => {
        std::arch::global_asm!(
            ".pushsection .rodata.mpiscope_hooks,\"a\"",
            concat!(".globl ", $label),
            concat!(".hidden ", $label),
            ".p2align 2",
            concat!($label, ":"),
            $(concat!(".long {", stringify!($name), "} - ", $label),)*
            ".popsection",
            $($name = sym super::$name::<$abi>,)*
        );
    };
}

macro_rules! stubs {
    ($($number:literal $name:ident $profiled:ident;)*) => {
        table!("mpiscope_mpich_hooks" Mpich: $($name)*);
        table!("mpiscope_openmpi_hooks" OpenMpi: $($name)*);
        table!("mpiscope_standard_hooks" Standard: $($name)*);

        /// The functions in the tables.
        static NUMBERS: &[u16] = &[$($number),*];
    };
}

include!("../generated/stubs.rs");

unsafe extern "C" {
    #[link_name = "mpiscope_mpich_hooks"]
    static MPICH_HOOKS: i32;
    #[link_name = "mpiscope_openmpi_hooks"]
    static OPENMPI_HOOKS: i32;
    #[link_name = "mpiscope_standard_hooks"]
    static STANDARD_HOOKS: i32;
}

/// Runs when the library has been found.
struct Found<'a>(&'a CStr);

impl ForAbi for Found<'_> {
    fn run<A: Abi>(self) {
        start::found::<A>();
        if image_memory::start() {
            process::describe_process::<A>(self.0);
        }
        mpi_t::values::publish();
    }
}
