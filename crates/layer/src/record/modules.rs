//! The files that the process has mapped, listed in the image so that addresses can be resolved after the
//! process is gone.
#![allow(unsafe_code)]

use mpiscope_image::Writer;
use mpiscope_image::layout::{Module, SectionKind};
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

/// Lists the mapped files. Called again when more may have been loaded; existing entries stay.
pub fn list(writer: &Writer) {
    visit(&mut |bias, code, path| add(writer, bias, code, path));
}

/// Lists the file that contains the code at an address, unless it is listed: one loaded after `MPI_Init` would otherwise
/// be unknown to readers before `MPI_Finalize`. Allocates nothing if it is listed: the caller may be a signal handler.
#[cold]
pub fn list_owner(writer: &Writer, address: u64) {
    if is_listed(writer, |start, end| (start..end).contains(&address)) {
        return;
    }
    visit(&mut |bias, code, path| {
        if code.contains(&address) {
            add(writer, bias, code, path);
        }
    });
}

/// Called for a file with its load bias, the address range of its code, and its path.
type Visitor<'a> = &'a mut dyn FnMut(u64, Range<u64>, &[u8]);

/// Visits all mapped files that contain code.
pub fn visit(mut visitor: Visitor<'_>) {
    unsafe extern "C" fn show(info: *mut libc::dl_phdr_info, _: usize, visitor: *mut c_void) -> c_int {
        // SAFETY: the dynamic linker passes a valid record, and the visitor that we gave it.
        let (info, visitor) = unsafe { (&*info, &mut *visitor.cast::<Visitor<'_>>()) };
        // SAFETY: the dynamic linker provides the address and number of the headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let code = headers.iter().find(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
        if let Some(code) = code {
            // SAFETY: null or a C string of the dynamic linker.
            let name =
                (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes());
            let path = name.filter(|n| !n.is_empty()).map_or_else(executable, <[u8]>::to_vec);
            let start = info.dlpi_addr + code.p_vaddr;
            visitor(info.dlpi_addr, start..start + code.p_memsz, &path);
        }
        0
    }
    // SAFETY: `show` has the right type and gets the visitor.
    unsafe { libc::dl_iterate_phdr(Some(show), (&raw mut visitor).cast()) };
}

/// Returns the path of the executable.
pub fn executable() -> Vec<u8> {
    use std::os::unix::ffi::OsStringExt;
    std::fs::read_link("/proc/self/exe").map_or_else(|_| Vec::new(), |path| path.into_os_string().into_vec())
}

/// Adds a file unless it is already listed.
pub fn add(writer: &Writer, bias: u64, code: Range<u64>, path: &[u8]) {
    if is_listed(writer, |start, end| start == code.start && end == code.end) {
        return;
    }
    let text = writer.text(path);
    if let Some((_, module)) = writer.new_record::<Module>(SectionKind::MODULES, 64) {
        module.seq.write(|| {
            module.bias.set(bias);
            module.start.set(code.start);
            module.end.set(code.end);
            module.path.offset.set(text.offset.get());
            module.path.len.set(text.len.get());
        });
    }
}

/// Whether there is an entry whose first address and end meet a condition.
fn is_listed(writer: &Writer, condition: impl Fn(u64, u64) -> bool) -> bool {
    let mut all = (0..).map_while(|index| writer.record::<Module>(SectionKind::MODULES, index));
    all.any(|module| condition(module.start.get(), module.end.get()))
}
