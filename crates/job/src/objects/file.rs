//! Files.

use super::common::{Common, Reference};
use super::kind::{Hex, Kind};
use super::reader::{Build, Reader};
use mpi_abi::constant;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Head};
use mpiscope_image::traffic;
use serde::Serialize;
use std::mem::offset_of;

/// A file.
#[derive(Debug, Clone, Serialize)]
pub struct File {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Its name as the program gave it.
    pub path: Option<String>,
    /// The communicator it was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Reference>,
    /// Access mode in the ABI's own bits.
    pub amode: u32,
    /// The same as names: `MPI_MODE_RDWR`.
    pub mode: Vec<String>,
    /// Whether atomic mode is on.
    pub atomic: bool,
    /// The view: displacement, elementary type, file type, data representation.
    pub view: View,
    /// The info last given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// The error handler last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// Requests on it.
    pub requests: Vec<Reference>,
}

/// The view of a file.
#[derive(Debug, Clone, Default, Serialize)]
#[allow(missing_docs)]
pub struct View {
    /// In bytes.
    pub displacement: u64,
    /// None while the view is the default one, bytes.
    pub etype: Option<Reference>,
    /// None while the view is the default one.
    pub filetype: Option<Reference>,
    pub representation: String,
}

impl Build for File {
    type Record = objects::File;
    const KIND: Kind = Kind::File;

    fn head(record: &objects::File) -> &Head {
        &record.head
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::File>) -> Self {
        let Some(record) = record else {
            return Self {
                path: common.name.clone(),
                common,
                communicator: None,
                amode: 0,
                mode: Vec::new(),
                atomic: false,
                view: View::default(),
                info: None,
                errhandler: None,
                requests: Vec::new(),
            };
        };
        let uid = common.uid;
        let amode = record.amode.get();
        let datatype = |handle: u64, uid: u64| reader.attached(Kind::Datatype, handle, uid);
        Self {
            path: reader.text(&record.name),
            communicator: common
                .parent
                .clone()
                .or_else(|| reader.attached(Kind::Communicator, record.comm.get(), 0)),
            amode,
            mode: mode(reader, amode),
            atomic: record.atomicity.get() != 0,
            view: View {
                displacement: record.disp.get(),
                etype: datatype(record.etype.get(), record.etype_uid.get()),
                filetype: datatype(record.filetype.get(), record.filetype_uid.get()),
                representation: reader.text(&record.datarep).unwrap_or_else(|| "native".into()),
            },
            info: reader.attached(Kind::Info, record.info.get(), record.info_uid.get()),
            // Files begin with another handler than everything else.
            errhandler: reader
                .attached(Kind::Errhandler, record.errhandler.get(), record.errhandler_uid.get())
                .or_else(|| reader.known(Kind::Errhandler, "MPI_ERRORS_RETURN")),
            requests: requests(reader, common.handle, uid),
            common,
        }
    }
}

/// Requests of the file kinds that name this handle and were made while it was open.
fn requests<S: Source>(reader: &Reader<'_, S>, handle: Hex, _uid: u64) -> Vec<Reference> {
    let named = reader.referring(Kind::Request, offset_of!(traffic::Request, object), handle.0);
    let is_file = |reference: &Reference| {
        let entry = reader.entry_of(reference.uid).ok().flatten()?;
        let record = reader.record::<traffic::Request>(Kind::Request, entry.index).ok()?.value;
        traffic::RequestKind(record.kind.get()).is_file().then_some(())
    };
    named.into_iter().filter(|reference| is_file(reference).is_some()).collect()
}

/// The names of the bits of an access mode.
fn mode<S: Source>(reader: &Reader<'_, S>, amode: u32) -> Vec<String> {
    const MODES: [&str; 9] = [
        "MPI_MODE_CREATE",
        "MPI_MODE_RDONLY",
        "MPI_MODE_WRONLY",
        "MPI_MODE_RDWR",
        "MPI_MODE_DELETE_ON_CLOSE",
        "MPI_MODE_UNIQUE_OPEN",
        "MPI_MODE_EXCL",
        "MPI_MODE_APPEND",
        "MPI_MODE_SEQUENTIAL",
    ];
    let set = |name: &&str| {
        constant::value_of(reader.abi(), name).is_some_and(|bit| bit != 0 && i64::from(amode) & bit == bit)
    };
    MODES.iter().filter(|name| set(name)).map(|name| (*name).to_owned()).collect()
}
