//! The program's own line for a call that a Fortran binding makes for it.
//!
//! The layer writes down the address behind a call, which for Fortran is one in the library's binding, and the stack
//! pointer. As long as the call is open, the frame of the binding's function lies there, in a process as in a core file,
//! and the unwind table of the binding tells where in it the address of the program is. (What is known about an *object*
//! needs no such look: the layer has already seen through the binding when it wrote it down.)
//!
//! When anything is missing (the right to read the memory of the process, a table, a frame of fixed size), the address
//! in the binding stays.

use crate::model::process::{Process, threads};
use crate::sources::unwind::{Machine, Tables};
use mpi_abi::binding;
use mpiscope_image::layout::Call;
use mpiscope_image::{Image, Source};
use mpiscope_target::{ByteOrder, Module, Target};
use std::collections::{BTreeMap, HashMap};

/// Bindings that call each other at most: that of `mpi_f08` that of `mpif.h`.
const MOST_LEVELS: usize = 4;

impl Process {
    /// Whether an open call comes from a Fortran binding.
    pub fn calls_through_binding(&self) -> bool {
        self.threads.iter().any(|thread| thread.call.is_some() && self.in_binding(thread.return_address))
    }

    /// Whether the code before an address is that of a Fortran binding.
    pub fn in_binding(&self, address: u64) -> bool {
        let module = self.modules.of_call(address);
        module.is_some_and(|module| binding::is_fortran(&module.path))
    }

    /// Replaces the addresses of open calls that Fortran bindings make by those of the program's calls of the bindings.
    /// `target` is the memory of this process, `image` its image.
    pub fn see_through_bindings<S: Source>(&mut self, image: &Image<S>, target: &dyn Target) {
        if !self.calls_through_binding() {
            return;
        }
        let Some(through) = Stacks::new(target) else { return };
        let callers: Vec<Option<u64>> =
            self.threads.iter().map(|thread| through.caller(thread.call.as_ref()?)).collect();
        // A call that ended meanwhile has left anything on the stack.
        let Ok(later) = threads(image) else { return };
        for ((thread, later), caller) in self.threads.iter_mut().zip(&later).zip(callers) {
            let (Some(call), Some(later)) = (&thread.call, &later.call) else { continue };
            if let Some(caller) = caller.filter(|_| is_same(call, later)) {
                thread.return_address = caller;
                call.return_address.set(caller);
            }
        }
    }
}

impl Process {
    /// The same, with callers that were found earlier: by index of the thread.
    pub fn called_from(&mut self, callers: &BTreeMap<u64, u64>) {
        for thread in &mut self.threads {
            let Some(caller) = callers.get(&thread.index) else { continue };
            thread.return_address = *caller;
            thread.call.iter().for_each(|call| call.return_address.set(*caller));
        }
    }
}

/// The address behind the program's call of the binding that made this call, in the memory of the process; nothing for a
/// call that no binding made.
pub fn caller(target: &dyn Target, call: &Call) -> Option<u64> {
    Stacks::new(target)?.caller(call)
}

/// Whether a thread is still in the call that it was in.
pub(crate) fn is_same(call: &Call, later: &Call) -> bool {
    let facts = |call: &Call| {
        let what = (call.open(), call.nested.get(), call.stack_pointer.get());
        (call.completed.get(), call.since.get(), what)
    };
    facts(call) == facts(later)
}

/// A process whose stacks are looked at.
struct Stacks<'a> {
    target: &'a dyn Target,
    machine: Machine,
    modules: Vec<Module>,
}

impl<'a> Stacks<'a> {
    fn new(target: &'a dyn Target) -> Option<Self> {
        let modules = target.modules().ok()?;
        let machine = machine(target, modules.first()?.start)?;
        Some(Self { target, machine, modules })
    }

    /// The address behind the program's call of the binding; nothing for a call that no binding made.
    fn caller(&self, call: &Call) -> Option<u64> {
        let (mut address, mut stack) = (call.return_address.get(), call.stack_pointer.get());
        let mut module = self.binding(address)?;
        for _ in 0..MOST_LEVELS {
            let tables = Tables::read(self.target, module.start)?;
            // No other register is known, so that a frame whose end depends on one has no frame above.
            let registers = HashMap::from([(self.machine.sp(), stack)]);
            let up = tables.up(self.target, self.machine, address.checked_sub(1)?, &registers)?;
            address = up.pc;
            stack = *up.registers.get(&self.machine.sp()).filter(|above| **above > stack)?;
            let Some(binding) = self.binding(address) else {
                return self.is_code(address).then_some(address);
            };
            module = binding;
        }
        None
    }

    fn module(&self, address: u64) -> Option<&Module> {
        self.modules.iter().find(|module| module.contains(address.wrapping_sub(1)))
    }

    fn binding(&self, address: u64) -> Option<&Module> {
        self.module(address).filter(|module| binding::is_fortran(&module.path.to_string_lossy()))
    }

    fn is_code(&self, address: u64) -> bool {
        self.module(address).is_some_and(|module| module.executable.contains(&address.wrapping_sub(1)))
    }
}

/// Known by the header of a module.
fn machine(target: &dyn Target, header: u64) -> Option<Machine> {
    if (target.width(), target.byte_order()) != (8, ByteOrder::Little) {
        return None;
    }
    match target.read_u16(header.wrapping_add(18)).ok()? {
        62 => Some(Machine::X86_64),
        183 => Some(Machine::Aarch64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_target::InMemory;

    fn call(completed: u64, stack: u64) -> Call {
        let call = Call::default();
        call.completed.set(completed);
        call.stack_pointer.set(stack);
        call
    }

    #[test]
    fn a_call_is_the_same_only_if_no_other_ended_meanwhile() {
        assert!(is_same(&call(3, 0x7000), &call(3, 0x7000)));
        assert!(!is_same(&call(3, 0x7000), &call(4, 0x7000)));
        assert!(!is_same(&call(3, 0x7000), &call(3, 0x7010)));
    }

    #[test]
    fn memory_that_cannot_be_read_tells_no_caller() {
        assert_eq!(caller(&InMemory::new(8, ByteOrder::Little), &call(3, 0x7000)), None);
        assert_eq!(caller(&InMemory::new(4, ByteOrder::Big), &call(3, 0x7000)), None);
    }
}
