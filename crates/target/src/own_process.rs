//! The reader's own process.

#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::elf::CodeFile;
use crate::process_memory::{self, Refusal};
use crate::{ByteOrder, Error, Module, Result, Target, modules};

/// The reader's own process, read as if it were another: a bad address is an error, and it is safe if another
/// thread frees the memory meanwhile. Modules come from the dynamic linker, so `/proc` is not needed.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnProcess;

impl Target for OwnProcess {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<()> {
        let (pid, len) = (std::process::id(), buf.len());
        process_memory::read(pid, address, buf).map_err(|refusal| {
            let why = match refusal {
                Refusal::Address => "nothing is mapped there",
                _ => "the kernel does not let the process read itself; a container filter may forbid it",
            };
            Error::Unreadable { address, len, why }
        })
    }

    fn width(&self) -> usize {
        size_of::<usize>()
    }

    fn byte_order(&self) -> ByteOrder {
        ByteOrder::HOST
    }

    fn modules(&self) -> Result<Vec<Module>> {
        let mut modules: Vec<Module> = Vec::new();
        // SAFETY: the callback gets the pointer to `modules`, which outlives the call and is not used
        // otherwise during it.
        unsafe { libc::dl_iterate_phdr(Some(add_module), (&raw mut modules).cast()) };
        Ok(modules)
    }

    fn symbol(&self, name: &str) -> Result<Option<u64>> {
        modules::symbol(&self.modules()?, name, |module| CodeFile::open(&module.path))
    }

    fn pid(&self) -> Option<u32> {
        Some(std::process::id())
    }

    fn executable(&self) -> Option<PathBuf> {
        std::env::current_exe().ok()
    }
}

/// Adds one entry of the dynamic linker's list. The first entry is the executable and has no name.
unsafe extern "C" fn add_module(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    modules: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the linker passes a valid entry for the duration of the call, and our own pointer back.
    let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Module>>()) };
    // SAFETY: the linker keeps `dlpi_phnum` program headers at `dlpi_phdr`, and a NUL-terminated name or
    // NULL.
    let (headers, name) = unsafe {
        let headers = match info.dlpi_phdr.is_null() {
            true => &[],
            false => std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)),
        };
        let name = (!info.dlpi_name.is_null()).then(|| CStr::from_ptr(info.dlpi_name).to_bytes());
        (headers, name.unwrap_or_default())
    };
    let path = match (name, modules.is_empty()) {
        (b"", true) => std::env::current_exe().unwrap_or_default(),
        (name, _) => PathBuf::from(OsStr::from_bytes(name)),
    };
    // The vDSO has a name but no file.
    if path.is_absolute() {
        modules.extend(module(path, info.dlpi_addr, headers));
    }
    0
}

fn module(path: PathBuf, bias: u64, headers: &[libc::Elf64_Phdr]) -> Option<Module> {
    let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let code = || loads().filter(|header| header.p_flags & libc::PF_X != 0);
    let first = |header: &libc::Elf64_Phdr| bias.wrapping_add(header.p_vaddr);
    let behind = |header: &libc::Elf64_Phdr| first(header).wrapping_add(header.p_memsz);
    let (start, end) = (loads().map(first).min()?, loads().map(behind).max()?);
    let executable = code().map(first).min().unwrap_or(start)..code().map(behind).max().unwrap_or(start);
    Some(Module { path, bias, start, end, executable })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A symbol to find by name; a test program has it in its full table, but not in the dynamic one.
    #[unsafe(no_mangle)]
    static TARGET_OWN_TEST_DATUM: u32 = 0xfeed_beef;

    #[test]
    fn a_variable_of_this_process_is_found_by_name_and_read() {
        let address = OwnProcess.symbol("TARGET_OWN_TEST_DATUM").unwrap().unwrap();
        assert_eq!(address, (&raw const TARGET_OWN_TEST_DATUM) as u64);
        assert_eq!(OwnProcess.read_u32(address).unwrap(), 0xfeed_beef);
    }

    #[test]
    fn a_function_of_a_library_has_the_address_assigned_by_the_linker() {
        let address = OwnProcess.symbol("getpid").unwrap().unwrap();
        assert_eq!(address, libc::getpid as *const () as u64);
    }

    #[test]
    fn the_linker_and_the_kernel_list_the_same_modules() {
        let modules = OwnProcess.modules().unwrap();
        let code = |modules: &[Module]| -> Vec<_> {
            let mut of: Vec<_> = modules.iter().map(|module| (module.bias, module.path.clone())).collect();
            of.sort();
            of
        };
        let kernel = crate::live::modules_of(std::process::id()).unwrap();
        assert!(modules.len() >= 3);
        for (ours, theirs) in code(&modules).iter().zip(code(&kernel)) {
            assert_eq!(ours.0, theirs.0, "{}", ours.1.display());
        }
        assert_eq!(modules.len(), kernel.len());
        let here = add_module as *const () as u64;
        assert!(modules[0].executable.contains(&here));
    }

    #[test]
    fn a_bad_address_in_this_process_is_an_error() {
        assert!(OwnProcess.read_u8(8).unwrap_err().is_bad_address());
    }
}
