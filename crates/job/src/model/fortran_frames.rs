//! The program's own line for a call that a Fortran binding makes on its behalf.
//!
//! The layer records the return address of a call, which for Fortran is in the library's binding, and the
//! stack pointer. While the call is open, the frame of the binding's function is at that stack pointer, in a
//! process as in a core file, and the binding's unwind table locates the return address into the program.
//! (For *objects* this is unnecessary: the layer has already resolved the binding when it recorded them.)
//!
//! If anything is missing (permission to read the process's memory, an unwind table, a frame of fixed size),
//! the address in the binding is kept.

use crate::model::process::{Process, threads};
use crate::sources::unwind::{Machine, Tables};
use mpi_abi::binding;
use mpiscope_image::layout::Call;
use mpiscope_image::{Image, Source};
use mpiscope_target::{ByteOrder, Module, Target};
use std::collections::{BTreeMap, HashMap};

/// Maximum nesting of bindings: the `mpi_f08` binding may call that of `mpif.h`.
const MOST_LEVELS: usize = 4;

impl Process {
    /// Whether an open call comes from a Fortran binding.
    pub fn calls_through_binding(&self) -> bool {
        self.threads.iter().any(|thread| thread.call.is_some() && self.in_binding(thread.return_address))
    }

    /// Whether the code before an address belongs to a Fortran binding.
    pub fn in_binding(&self, address: u64) -> bool {
        let module = self.modules.of_call(address);
        module.is_some_and(|module| binding::is_fortran(&module.path))
    }

    /// Replaces the return addresses of open calls in Fortran bindings by those of the program's calls of the
    /// bindings. `target` is the memory of this process, `image` its image.
    pub fn see_through_bindings<S: Source>(&mut self, image: &Image<S>, target: &dyn Target) {
        if !self.calls_through_binding() {
            return;
        }
        let Some(through) = Stacks::new(target) else { return };
        let callers: Vec<Option<u64>> =
            self.threads.iter().map(|thread| through.caller(thread.call.as_ref()?)).collect();
        // If a call has ended in the meantime, its stack may contain anything.
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
    /// Applies callers that were found earlier, by index of the thread.
    pub fn called_from(&mut self, callers: &BTreeMap<u64, u64>) {
        for thread in &mut self.threads {
            let Some(caller) = callers.get(&thread.index) else { continue };
            thread.return_address = *caller;
            thread.call.iter().for_each(|call| call.return_address.set(*caller));
        }
    }
}

/// Returns the return address of the program's call of the binding that made this call, read from the memory
/// of the process; `None` for a call that no binding made.
pub fn caller(target: &dyn Target, call: &Call) -> Option<u64> {
    Stacks::new(target)?.caller(call)
}

/// Whether a thread is still in the same call.
pub(crate) fn is_same(call: &Call, later: &Call) -> bool {
    let facts = |call: &Call| {
        let what = (call.open(), call.nested.get(), call.stack_pointer.get());
        (call.completed.get(), call.since.get(), what)
    };
    facts(call) == facts(later)
}

/// A process whose stacks are read.
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

    /// Returns the return address of the program's call of the binding; `None` for a call that no binding
    /// made.
    fn caller(&self, call: &Call) -> Option<u64> {
        let (mut address, mut stack) = (call.return_address.get(), call.stack_pointer.get());
        let mut module = self.binding(address)?;
        for _ in 0..MOST_LEVELS {
            let tables = Tables::read(self.target, module.start)?;
            // No other register is known: a frame whose size depends on one cannot be unwound.
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

/// Identifies the machine by a module's header.
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
    fn a_call_is_the_same_only_if_no_other_call_ended_in_between() {
        assert!(is_same(&call(3, 0x7000), &call(3, 0x7000)));
        assert!(!is_same(&call(3, 0x7000), &call(4, 0x7000)));
        assert!(!is_same(&call(3, 0x7000), &call(3, 0x7010)));
    }

    #[test]
    fn unreadable_memory_yields_no_caller() {
        assert_eq!(caller(&InMemory::new(8, ByteOrder::Little), &call(3, 0x7000)), None);
        assert_eq!(caller(&InMemory::new(4, ByteOrder::Big), &call(3, 0x7000)), None);
    }
}
