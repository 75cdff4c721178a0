//! Maps from names to predefined handles, one set per process.

use std::ffi::{CString, c_char};

use mpiscope_debug_interfaces::handles::NameMap;
use mpiscope_image::Source;
use mpiscope_job::model::objects::{Kind, Reader};

/// The map of one kind. The entries point to the texts, which do not move.
pub struct Map {
    entries: Vec<NameMap>,
    _texts: Vec<CString>,
}

impl Map {
    /// Creates the map of the predefined handles of a kind that are known in the process.
    pub fn of<S: Source>(reader: &Reader<'_, S>, kind: Kind) -> Self {
        let known = reader.predefined().list(kind);
        Self::new(known.map(|(known, handle)| (known.name, handle)))
    }

    fn new<'a>(names: impl Iterator<Item = (&'a str, u64)>) -> Self {
        let named = names.filter_map(|(name, handle)| Some((CString::new(name).ok()?, handle)));
        let (texts, handles): (Vec<CString>, Vec<u64>) = named.unzip();
        let text = |text: &CString| -> *mut c_char { text.as_ptr().cast_mut() };
        let entries = texts.iter().zip(handles);
        let mut entries: Vec<_> =
            entries.map(|(name, handle)| NameMap { map_name: text(name), map_handle: handle }).collect();
        entries.push(NameMap { map_name: std::ptr::null_mut(), map_handle: 0 });
        Self { entries, _texts: texts }
    }

    /// A map without entries.
    pub fn empty() -> Self {
        Self::new(std::iter::empty())
    }

    /// Returns the map in the form of the interface: an array that ends with a null name.
    pub fn pointer(&self) -> *mut NameMap {
        self.entries.as_ptr().cast_mut()
    }
}
