//! State kept between the debugger's queries.

use std::collections::BTreeMap;

use mpiscope_debug_interfaces::handles::NameMap;
use mpiscope_debug_interfaces::mqs::{ImageCallbacks, MqsImage, MqsProcess, ProcessCallbacks};
use mpiscope_job::model::objects::Kind;

use crate::names::Map;

/// State kept for an executable image.
pub struct KeptForImage {
    pub(crate) callbacks: *const ImageCallbacks,
}

/// State kept for a process. It contains nothing read from the process, which may run on before the next
/// query.
pub struct KeptForProcess {
    pub(crate) image: *mut MqsImage,
    pub(crate) process: *mut MqsProcess,
    pub(crate) of_image: *const ImageCallbacks,
    pub(crate) of_process: *const ProcessCallbacks,
    pub(crate) name_length: usize,
    pub(crate) maps: BTreeMap<Kind, Map>,
    pub(crate) no_map: Map,
}

impl KeptForProcess {
    /// The name map of a kind of objects.
    pub(crate) fn map(&self, kind: Option<Kind>) -> *mut NameMap {
        kind.and_then(|kind| self.maps.get(&kind)).unwrap_or(&self.no_map).pointer()
    }
}
