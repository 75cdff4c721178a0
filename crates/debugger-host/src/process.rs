//! The inspected process, and the callbacks through which a plug-in sees it.
//!
//! `mqs_image *` and `mqs_process *` are addresses of the [`Image`] and the [`Process`] here, which own the
//! plug-in's infos and outlive every call into the plug-in.
#![allow(unsafe_code)]

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uchar, c_void};
use std::sync::Arc;

use mpiscope_debug_interfaces::mqs::{
    self, BasicCallbacks, ImageCallbacks, ImageInfo, MqsImage, MqsProcess, MqsType, ProcessCallbacks,
    ProcessInfo, TAddr, TargetTypeSizes,
};
use mpiscope_target::{ByteOrder, Target};

use crate::memory;
use crate::types::{TypeFacts, Types};

/// The executable, with the plug-in's state for it.
pub struct Image {
    target: Arc<dyn Target>,
    info: Cell<*mut ImageInfo>,
    symbols: RefCell<HashMap<String, Option<u64>>>,
    types: OnceCell<Types>,
    /// Boxed, because the plug-in holds their addresses.
    #[allow(clippy::vec_box)]
    handed_out: RefCell<Vec<Box<TypeFacts>>>,
    refusals: RefCell<Vec<String>>,
}

/// The process, with the plug-in's state for it.
pub struct Process {
    image: Box<Image>,
    rank: c_int,
    info: Cell<*mut ProcessInfo>,
}

impl Image {
    /// Returns the address of a symbol; the answers of the target are cached.
    fn symbol(&self, name: &str) -> Option<u64> {
        if let Some(known) = self.symbols.borrow().get(name) {
            return *known;
        }
        let found = self.target.symbol(name).ok().flatten();
        self.symbols.borrow_mut().insert(name.to_owned(), found);
        found
    }

    fn types(&self) -> &Types {
        self.types.get_or_init(|| Types::of(&self.target.modules().unwrap_or_default()))
    }

    /// Returns what the plug-in requested but did not get, in order, without duplicates.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.borrow().clone()
    }

    /// Whether a module of the target has debug information.
    pub fn has_types(&self) -> bool {
        !self.types().modules().is_empty()
    }

    fn refuse(&self, what: String) {
        let mut refusals = self.refusals.borrow_mut();
        if !refusals.contains(&what) {
            refusals.push(what);
        }
    }

    /// The pointer by which the plug-in refers to it.
    pub fn as_mqs(&self) -> *mut MqsImage {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The plug-in's state.
    pub fn info(&self) -> *mut ImageInfo {
        self.info.get()
    }
}

impl Process {
    /// Creates a process. `rank` is what the debugger assumes to be its rank in `MPI_COMM_WORLD`.
    pub fn new(target: Arc<dyn Target>, rank: c_int) -> Box<Self> {
        let image = Box::new(Image {
            target,
            info: Cell::new(std::ptr::null_mut()),
            symbols: RefCell::default(),
            types: OnceCell::new(),
            handed_out: RefCell::default(),
            refusals: RefCell::default(),
        });
        Box::new(Self { image, rank, info: Cell::new(std::ptr::null_mut()) })
    }

    /// Its executable.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// The pointer by which the plug-in refers to it.
    pub fn as_mqs(&self) -> *mut MqsProcess {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// The plug-in's state.
    pub fn info(&self) -> *mut ProcessInfo {
        self.info.get()
    }

    /// The source of its memory contents.
    pub fn target(&self) -> &dyn Target {
        &*self.image.target
    }
}

/// Callbacks that need no process.
pub static BASIC: BasicCallbacks = BasicCallbacks {
    malloc: Some(memory::malloc),
    free: Some(memory::free),
    dprints: Some(memory::dprints),
    errorstring: Some(memory::errorstring),
    put_image_info: Some(put_image_info),
    get_image_info: Some(get_image_info),
    put_process_info: Some(put_process_info),
    get_process_info: Some(get_process_info),
};

/// Callbacks about an image.
pub static IMAGE: ImageCallbacks = ImageCallbacks {
    get_type_sizes: Some(get_type_sizes),
    find_function: Some(find_function),
    find_symbol: Some(find_symbol),
    find_type: Some(find_type),
    field_offset: Some(field_offset),
    sizeof_type: Some(sizeof_type),
};

/// Callbacks about a process.
pub static PROCESS: ProcessCallbacks = ProcessCallbacks {
    get_global_rank: Some(get_global_rank),
    get_image: Some(get_image),
    fetch_data: Some(fetch_data),
    target_to_host: Some(target_to_host),
};

/// Returns the image behind a plug-in's pointer.
///
/// # Safety
/// `pointer` is null or the address of a live [`Image`].
unsafe fn image<'a>(pointer: *mut MqsImage) -> Option<&'a Image> {
    // SAFETY: the contract above.
    unsafe { pointer.cast::<Image>().cast_const().as_ref() }
}

/// Returns the process behind a plug-in's pointer.
///
/// # Safety
/// `pointer` is null or the address of a live [`Process`].
unsafe fn process<'a>(pointer: *mut MqsProcess) -> Option<&'a Process> {
    // SAFETY: the contract above.
    unsafe { pointer.cast::<Process>().cast_const().as_ref() }
}

/// Returns a name passed by a plug-in.
///
/// # Safety
/// `pointer` is null or a C string.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: the contract above.
    let text = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })?;
    text.to_str().ok().map(str::to_owned)
}

unsafe extern "C" fn put_image_info(of: *mut MqsImage, info: *mut ImageInfo) {
    // SAFETY: plug-ins pass back the pointers they were given.
    if let Some(image) = unsafe { image(of) } {
        image.info.set(info);
    }
}

unsafe extern "C" fn get_image_info(of: *mut MqsImage) -> *mut ImageInfo {
    // SAFETY: plug-ins pass back the pointers they were given.
    unsafe { image(of) }.map_or(std::ptr::null_mut(), Image::info)
}

unsafe extern "C" fn put_process_info(of: *mut MqsProcess, info: *mut ProcessInfo) {
    // SAFETY: plug-ins pass back the pointers they were given.
    if let Some(process) = unsafe { process(of) } {
        process.info.set(info);
    }
}

unsafe extern "C" fn get_process_info(of: *mut MqsProcess) -> *mut ProcessInfo {
    // SAFETY: plug-ins pass back the pointers they were given.
    unsafe { process(of) }.map_or(std::ptr::null_mut(), Process::info)
}

unsafe extern "C" fn get_type_sizes(of: *mut MqsProcess, sizes: *mut TargetTypeSizes) {
    // SAFETY: plug-ins pass back the pointers they were given.
    let Some(process) = (unsafe { process(of) }) else { return };
    let width = if process.target().width() == 8 { 8 } else { 4 };
    let stated = TargetTypeSizes {
        short_size: 2,
        int_size: 4,
        long_size: width,
        long_long_size: 8,
        pointer_size: width,
    };
    if !sizes.is_null() {
        // SAFETY: the plug-in's own structure, with at least the five fields that all headers have.
        unsafe { sizes.write_unaligned(stated) };
    }
}

unsafe extern "C" fn find_function(
    of: *mut MqsImage,
    name: *mut c_char,
    _: c_uchar,
    address: *mut TAddr,
) -> c_int {
    // SAFETY: functions and data are in the same tables.
    unsafe { find_symbol(of, name, address) }
}

unsafe extern "C" fn find_symbol(of: *mut MqsImage, name: *mut c_char, address: *mut TAddr) -> c_int {
    // SAFETY: plug-ins pass back the pointers they were given, and C strings.
    let (Some(image), Some(name)) = (unsafe { (image(of), text(name)) }) else { return mqs::NO_INFORMATION };
    let Some(found) = image.symbol(&name) else {
        image.refuse(format!("symbol {name}"));
        return mqs::NO_INFORMATION;
    };
    if !address.is_null() {
        // SAFETY: the plug-in's own variable; null was a test for existence.
        unsafe { address.write_unaligned(found) };
    }
    mqs::OK
}

unsafe extern "C" fn find_type(of: *mut MqsImage, name: *mut c_char, _: c_uchar) -> *mut MqsType {
    // SAFETY: plug-ins pass back the pointers they were given, and C strings.
    let (Some(image), Some(name)) = (unsafe { (image(of), text(name)) }) else {
        return std::ptr::null_mut();
    };
    let Some(facts) = image.types().find(&name) else {
        image.refuse(format!("type {name}"));
        return std::ptr::null_mut();
    };
    let facts = Box::new(facts);
    let pointer = std::ptr::from_ref(&*facts).cast_mut().cast();
    image.handed_out.borrow_mut().push(facts);
    pointer
}

unsafe extern "C" fn field_offset(of: *mut MqsType, name: *mut c_char) -> c_int {
    // SAFETY: types come from `find_type` and live as long as the image; names are C strings.
    let (facts, name) = unsafe { (of.cast::<TypeFacts>().cast_const().as_ref(), text(name)) };
    let offset = facts.zip(name).and_then(|(facts, name)| facts.fields.get(&name).copied());
    offset.and_then(|offset| c_int::try_from(offset).ok()).unwrap_or(-1)
}

unsafe extern "C" fn sizeof_type(of: *mut MqsType) -> c_int {
    // SAFETY: types come from `find_type` and live as long as the image.
    let facts = unsafe { of.cast::<TypeFacts>().cast_const().as_ref() };
    facts.and_then(|facts| c_int::try_from(facts.size?).ok()).unwrap_or(-1)
}

unsafe extern "C" fn get_global_rank(of: *mut MqsProcess) -> c_int {
    // SAFETY: plug-ins pass back the pointers they were given.
    unsafe { process(of) }.map_or(mqs::INVALID_PROCESS, |process| process.rank)
}

unsafe extern "C" fn get_image(of: *mut MqsProcess) -> *mut MqsImage {
    // SAFETY: plug-ins pass back the pointers they were given.
    unsafe { process(of) }.map_or(std::ptr::null_mut(), |process| process.image.as_mqs())
}

unsafe extern "C" fn fetch_data(of: *mut MqsProcess, from: TAddr, len: c_int, to: *mut c_void) -> c_int {
    // SAFETY: plug-ins pass back the pointers they were given.
    let (Some(process), Ok(len)) = (unsafe { process(of) }, usize::try_from(len)) else {
        return mqs::NO_INFORMATION;
    };
    if to.is_null() {
        return mqs::NO_INFORMATION;
    }
    // Read into our own memory: the plug-in's need not be initialized.
    let mut bytes = vec![0; len];
    if process.target().read(from, &mut bytes).is_err() {
        return mqs::NO_INFORMATION;
    }
    // SAFETY: the plug-in guarantees room for `len` bytes.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), len) };
    mqs::OK
}

unsafe extern "C" fn target_to_host(of: *mut MqsProcess, from: *const c_void, to: *mut c_void, len: c_int) {
    // SAFETY: plug-ins pass back the pointers they were given.
    let (Some(process), Ok(len)) = (unsafe { process(of) }, usize::try_from(len)) else { return };
    if from.is_null() || to.is_null() {
        return;
    }
    // SAFETY: the plug-in guarantees `len` bytes at both addresses, which may be equal.
    unsafe {
        std::ptr::copy(from.cast::<u8>(), to.cast(), len);
        if process.target().byte_order() != ByteOrder::HOST {
            std::slice::from_raw_parts_mut(to.cast::<u8>(), len).reverse();
        }
    }
}
