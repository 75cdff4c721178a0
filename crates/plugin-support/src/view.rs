//! A process as seen through its debugger.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_uchar, c_void};

use mpiscope_image::layout::Header;
use mpiscope_image::{Image, Source};
use mpiscope_target::{ByteOrder, Cached, Callbacks, Target};
use std::mem::offset_of;
use std::sync::OnceLock;

use mpiscope_debug_interfaces::mqs::{
    self, ImageCallbacks, MqsImage, MqsProcess, MqsType, ProcessCallbacks, TargetTypeSizes,
};

/// The variable in which a process publishes the address of its image.
pub const SYMBOL: &str = "mpiscope_image";
/// Maximum number of bytes per fetch: the length is an `int`.
const LARGEST_FETCH: usize = 1 << 20;
/// Number of pages cached while a process is read: 64 MiB.
const PAGES: usize = 1 << 14;
/// Longer images are rejected.
const LONGEST_IMAGE: u64 = 64 << 30;

/// Why a process cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The layer is not in the process.
    #[error(
        "libmpiscope.so is not loaded in this process: start it under `mpiscope run`, or with LD_PRELOAD"
    )]
    NoLayer,
    /// The layer is loaded, but has no image yet.
    #[error("the process has not called MPI yet, or was forked from an MPI process")]
    NoImage,
    /// The debugger passed no callbacks, or invalid data.
    #[error("the debugger does not provide what is needed: {0}")]
    Debugger(String),
    /// The image cannot be read.
    #[error(transparent)]
    Image(#[from] mpiscope_image::Error),
}

/// A process with the callbacks to read it.
#[derive(Debug, Clone, Copy)]
pub struct View {
    process: *mut MqsProcess,
    image: *mut MqsImage,
    of_image: ImageCallbacks,
    of_process: ProcessCallbacks,
}

// SAFETY: the interface is used from one thread at a time (guaranteed by the debugger); the pointers are only
// passed back.
unsafe impl Send for View {}
// SAFETY: as above.
unsafe impl Sync for View {}

impl View {
    /// Creates a view of a process.
    ///
    /// # Safety
    /// `image` and `process` are the debugger's; the tables are null or valid for the life of the view.
    pub unsafe fn new(
        image: *mut MqsImage,
        of_image: *const ImageCallbacks,
        process: *mut MqsProcess,
        of_process: *const ProcessCallbacks,
    ) -> Option<Self> {
        if of_image.is_null() || of_process.is_null() {
            return None;
        }
        // SAFETY: the contract of this function.
        let (of_image, of_process) = unsafe { (of_image.read(), of_process.read()) };
        Some(Self { process, image, of_image, of_process })
    }

    /// Fills `buf` from the target.
    fn fetch(&self, address: u64, buf: &mut [u8]) -> bool {
        let Some(fetch) = self.of_process.fetch_data else { return false };
        let mut at = address;
        for piece in buf.chunks_mut(LARGEST_FETCH) {
            let Ok(len) = c_int::try_from(piece.len()) else { return false };
            // SAFETY: the debugger writes `len` bytes to the given address.
            let code = unsafe { fetch(self.process, at, len, piece.as_mut_ptr().cast::<c_void>()) };
            let Some(next) = at.checked_add(piece.len() as u64) else { return false };
            if code != mqs::OK {
                return false;
            }
            at = next;
        }
        true
    }

    /// Returns the address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u64> {
        let find = self.of_image.find_symbol?;
        let name = CString::new(name).ok()?;
        let mut address = 0;
        // SAFETY: a C string, and a variable for the result.
        let code = unsafe { find(self.image, name.as_ptr().cast_mut(), &mut address) };
        (code == mqs::OK).then_some(address)
    }

    /// Whether the layer is in the process.
    pub fn has_layer(&self) -> bool {
        self.symbol(SYMBOL).is_some()
    }

    /// Returns a type of the target, for a debugger that shows variables of that type; null if there is none.
    ///
    /// # Safety
    /// `image` is the debugger's.
    pub unsafe fn find_type(
        of_image: &ImageCallbacks,
        image: *mut MqsImage,
        name: &str,
        language: u8,
    ) -> *mut MqsType {
        let (Some(find), Ok(name)) = (of_image.find_type, CString::new(name)) else {
            return std::ptr::null_mut();
        };
        // SAFETY: a C string, and the contract of this function.
        unsafe { find(image, name.as_ptr().cast_mut(), language as c_uchar) }
    }

    fn pointer_size(&self) -> Option<usize> {
        let sizes = self.of_image.get_type_sizes?;
        // One published header has seven fields where the others have five: make room for both.
        let mut room = [0 as c_int; 16];
        // SAFETY: room for every known version of the structure, with its alignment.
        unsafe { sizes(self.process, room.as_mut_ptr().cast::<TargetTypeSizes>()) };
        usize::try_from(*room.get(4)?).ok()
    }

    fn byte_order(&self) -> ByteOrder {
        let Some(convert) = self.of_process.target_to_host else { return ByteOrder::HOST };
        ByteOrder::of_conversion(|bytes| {
            let mut converted = bytes;
            // SAFETY: four bytes to read and four to write.
            unsafe { convert(self.process, bytes.as_ptr().cast(), converted.as_mut_ptr().cast(), 4) };
            converted
        })
    }

    /// Returns the process as a target, for one inspection while it is stopped. A callback may be a round
    /// trip to another host, so whole pages are read and cached.
    pub fn target(&self) -> Result<impl Target + use<>, Unavailable> {
        let view = *self;
        let width = self.pointer_size().ok_or_else(|| Unavailable::Debugger("sizes of types".into()))?;
        let fetch = move |address: u64, buf: &mut [u8]| view.fetch(address, buf);
        let symbol = move |name: &str| view.symbol(name);
        Callbacks::new(width, self.byte_order(), fetch, symbol)
            .map(|target| Cached::new(target, PAGES))
            .map_err(|error| Unavailable::Debugger(error.to_string()))
    }
}

/// The bytes of an image in a target's memory.
pub struct ImageMemory<T> {
    target: T,
    address: u64,
    len: u64,
    /// Why the first read failed that failed.
    failed: OnceLock<String>,
}

impl<T: Target> ImageMemory<T> {
    /// Opens the image published by the layer in this target.
    pub fn open(target: T) -> Result<Image<Self>, Unavailable> {
        let unreadable = |error: mpiscope_target::Error| mpiscope_image::Error::Unreadable(error.to_string());
        let symbol = target.symbol(SYMBOL).map_err(unreadable)?.ok_or(Unavailable::NoLayer)?;
        let address = target.read_pointer(symbol).map_err(unreadable)?;
        if address == 0 {
            return Err(Unavailable::NoImage);
        }
        let stated =
            target.read_u64(address.saturating_add(offset_of!(Header, len) as u64)).map_err(unreadable)?;
        let len = stated.clamp(size_of::<Header>() as u64, LONGEST_IMAGE);
        Ok(Image::open(Self { target, address, len, failed: OnceLock::new() })?)
    }

    /// Fails if the debugger did not supply some bytes of the image. Readers leave out what they cannot read, so their
    /// answer would look complete.
    pub fn check(&self) -> Result<(), mpiscope_image::Error> {
        self.failed.get().map_or(Ok(()), |why| Err(mpiscope_image::Error::Unreadable(why.clone())))
    }

    /// The target that contains the image.
    pub fn target(&self) -> &T {
        &self.target
    }
}

impl<T: Target> Source for ImageMemory<T> {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let end = offset.checked_add(buf.len() as u64);
        if end.is_none_or(|end| end > self.len) {
            return Err(format!("{} bytes at {offset} are beyond the end ({})", buf.len(), self.len));
        }
        self.target.read(self.address.wrapping_add(offset), buf).map_err(|error| {
            let why = error.to_string();
            self.failed.get_or_init(|| why.clone());
            why
        })
    }

    fn len(&self) -> u64 {
        self.len
    }
}
