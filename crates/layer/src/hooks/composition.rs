//! Where the floors are put together: what interposition calls.
#![allow(unsafe_code)]

use super::lifecycle;
use crate::base::image;
use crate::interpose::upcalls::{Upcalls, put_in};
use crate::mpi_t;
use crate::record::{call_path, objects, process, threads, traffic};
use mpi_abi::{Abi, AbiKind, FunctionId, Mpich, OpenMpi, Standard};
use std::ffi::CStr;

static UPCALLS: Upcalls = Upcalls {
    hooks: |abi, say| with_abi(abi, Hooks(say)),
    found: |abi, library| with_abi(abi, Found(library)),
    attach: threads::attach,
    has_bindings: call_path::exist,
    caller: call_path::of,
    forked: traffic::state::reconsider,
    pcontrol: lifecycle::pcontrol,
};

put_in!(UPCALLS);

/// Something that is done for one ABI.
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

/// The address of each hook.
struct Hooks(fn(FunctionId, usize));

macro_rules! stubs {
    ($($number:literal $name:ident $profiled:ident;)*) => {
        impl ForAbi for Hooks {
            fn run<A: Abi>(self) {
                let hooks = [$((FunctionId($number), super::$name::<A> as *const () as usize)),*];
                hooks.into_iter().for_each(|(function, hook)| (self.0)(function, hook));
            }
        }
    };
}

include!("../generated/stubs.rs");

/// The library was found.
struct Found<'a>(&'a CStr);

impl ForAbi for Found<'_> {
    fn run<A: Abi>(self) {
        threads::start();
        objects::start::<A>();
        if image::start() {
            process::describe_process::<A>(self.0);
        }
        mpi_t::values::publish();
    }
}
