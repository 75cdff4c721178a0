//! Variables whose memory is gone.
//!
//! Open MPI 4.1 keeps variables (`opal_common_ucx_verbose`, `osc_ucx_verbose`) registered after it has
//! unloaded the component that contains their values. Reading one crashes the process. Its libraries export a
//! function that returns where a value is stored, and where it came from.
//!
//! Performance variables of Open MPI's components are implemented by code of the component, which runs when a
//! handle is allocated, read or freed, and accesses data that the component creates in `MPI_Init`. So they
//! cannot be used before and after; and those of a transport (`mtl_psm2_…` of Open MPI 4.1) never, if it was
//! not selected, since only a selected transport creates that data.
#![allow(unsafe_code)]

use crate::interpose::resolver;
use crate::mpi_t::program;
use mpi_abi::AbiKind;
use mpit::Provenance;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

/// Whether the library's performance variables can be used now.
pub fn pvars_usable() -> bool {
    resolver::abi() != Some(AbiKind::OPENMPI) || program::is_up()
}

/// Whether this is a performance variable of a transport that Open MPI has not selected.
pub fn is_unselected(pvar: &str) -> bool {
    if resolver::abi() != Some(AbiKind::OPENMPI) || !pvar.starts_with("mtl_") {
        return false;
    }
    match selected_transport() {
        Transport::Unknown => false,
        Transport::None => true,
        Transport::Named(name) => !is_of(pvar, &name),
    }
}

enum Transport {
    Unknown,
    None,
    /// The prefix of its variables' names: `mtl_psm2`.
    Named(String),
}

fn is_of(pvar: &str, component: &str) -> bool {
    pvar.strip_prefix(component).is_some_and(|rest| rest.starts_with('_'))
}

/// The transport that the library uses for messages. Its module is a variable named after the component.
fn selected_transport() -> Transport {
    let Some(place) = resolver::symbol(c"ompi_mtl") else { return Transport::Unknown };
    // SAFETY: a pointer variable of the library, set by `MPI_Init`.
    let module = unsafe { place.cast::<*const c_void>().read() };
    if module.is_null() {
        return Transport::None;
    }
    // SAFETY: consists of pointers only, for which zero is a valid value.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be queried, with memory for the result.
    if unsafe { libc::dladdr(module, &mut found) } == 0 || found.dli_sname.is_null() {
        return Transport::Unknown;
    }
    // SAFETY: a name in the symbol table of a loaded object.
    let name = unsafe { CStr::from_ptr(found.dli_sname) }.to_string_lossy();
    name.strip_prefix("ompi_").map_or(Transport::Unknown, |name| Transport::Named(name.to_owned()))
}

/// `mca_base_var_get_value`: index, address of the value, source, file.
type GetValue = unsafe extern "C" fn(c_int, *mut *const c_void, *mut c_int, *mut *const c_char) -> c_int;

fn value_of(index: c_int) -> Option<(*const c_void, c_int)> {
    static GET: OnceLock<Option<GetValue>> = OnceLock::new();
    let get = (*GET.get_or_init(|| {
        let address = resolver::symbol(c"mca_base_var_get_value")?;
        // SAFETY: the C type of the function in Open MPI 1.7 to 5.
        Some(unsafe { std::mem::transmute::<*mut c_void, GetValue>(address) })
    }))?;
    let (mut value, mut source, mut file) = (std::ptr::null(), -1, std::ptr::null());
    // SAFETY: an index from the library, and memory for its results.
    (unsafe { get(index, &mut value, &mut source, &mut file) } == 0).then_some((value, source))
}

/// Whether the memory of the control variable with this library index is unmapped.
pub fn is_gone(index: c_int, is_string: bool) -> bool {
    let Some((value, _)) = value_of(index) else { return false };
    if !is_mapped(value) {
        return true;
    }
    // SAFETY: the value of a string is a pointer, and was just found to be mapped.
    let text = if is_string { unsafe { value.cast::<*const c_void>().read_unaligned() } } else { value };
    !text.is_null() && !is_mapped(text)
}

/// Origin of a control variable's value.
pub fn source(index: c_int) -> Option<Provenance> {
    // The numbering of `mca_base_var_source_t`.
    Some(match value_of(index)?.1 {
        0 => Provenance::Default,
        1 | 2 => Provenance::Environment,
        4 => Provenance::Written,
        _ => Provenance::Other,
    })
}

fn is_mapped(address: *const c_void) -> bool {
    const PAGE: usize = 4096;
    let page = (address as usize / PAGE * PAGE) as *mut c_void;
    // SAFETY: changes nothing; the kernel refuses pages that are not mapped.
    !page.is_null() && unsafe { libc::msync(page, 1, libc::MS_ASYNC) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_of_a_transport_is_recognized_by_the_name_of_its_component() {
        assert!(is_of("mtl_psm2_rx_user_bytes", "mtl_psm2"));
        assert!(!is_of("mtl_psm2_rx_user_bytes", "mtl_psm"));
        assert!(!is_of("mtl_psm2_rx_user_bytes", "mtl_ofi"));
    }

    #[test]
    fn unmapped_memory_is_distinguished_from_mapped() {
        let here = 0u8;
        assert!(is_mapped((&raw const here).cast()));
        assert!(!is_mapped(std::ptr::null()));
        // SAFETY: a mapping of our own, unmapped before it is tested.
        let gone = || unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0);
            assert!(is_mapped(page));
            libc::munmap(page, 4096);
            page
        };
        // Another test may map something there in the meantime, though not every time.
        assert!((0..100).any(|_| !is_mapped(gone())));
    }
}
