//! Files.

use super::build::Build;
use super::common::{Common, Lifetime};
use super::fortran;
use super::kind::Kind;
use super::open_calls::OpenCall;
use super::reader::Reader;
use super::reference::Reference;
use super::request;
use mpi_abi::{AbiKind, constant};
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Head};
use mpiscope_image::traffic::RequestKind;
use serde::Serialize;

/// A file.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct File {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// Its name as passed by the program.
    pub path: Option<String>,
    /// The communicator it was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub communicator: Option<Reference>,
    /// Access mode, as bits defined by the ABI.
    pub amode: u32,
    /// Access mode, as names: `MPI_MODE_RDWR`.
    pub mode: Vec<String>,
    /// Whether atomic mode is on.
    pub atomic: bool,
    /// The view: displacement, elementary type, file type, data representation.
    pub view: View,
    /// Data access by this process.
    pub access: Access,
    /// Whether it has no Fortran handle because none was requested from this library: ROMIO assigns one only
    /// on request.
    pub fortran_unasked: bool,
    /// The info last passed to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Reference>,
    /// The pairs of that info at that time.
    pub hints: Vec<(String, String)>,
    /// The error handler last attached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errhandler: Option<Reference>,
    /// Requests on it.
    pub requests: Vec<Reference>,
    /// Calls on it that threads are currently in.
    pub calls: Vec<OpenCall>,
}

/// The view of a file.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(missing_docs)]
pub struct View {
    /// In bytes.
    pub displacement: u64,
    /// None for the default view, bytes.
    pub etype: Option<Reference>,
    /// None for the default view.
    pub filetype: Option<Reference>,
    pub representation: String,
}

/// Data access of one process to a file, as requested by calls that succeeded: a split collective counts when
/// it begins, a nonblocking call when it starts.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Access {
    /// Number of calls that read.
    pub reads: u64,
    /// Bytes requested by them: counts times datatype sizes, including data past the end of the file.
    pub read_bytes: u64,
    /// Number of calls that write.
    pub writes: u64,
    /// Bytes requested by them.
    pub written_bytes: u64,
    /// Time in all of these calls, in the ends of split collectives and in `MPI_File_sync`; none if times are
    /// not recorded.
    pub seconds: Option<f64>,
}

impl Access {
    fn of<S: Source>(reader: &Reader<'_, S>, record: &objects::File) -> Self {
        let ticks = record.ticks.get();
        Self {
            reads: record.reads.get(),
            read_bytes: record.read_bytes.get(),
            writes: record.writes.get(),
            written_bytes: record.written_bytes.get(),
            seconds: (ticks != 0).then(|| reader.duration(ticks)),
        }
    }
}

impl Build for File {
    type Record = objects::File;
    const KIND: Kind = Kind::File;

    fn head(record: &objects::File) -> &Head {
        &record.head
    }

    fn fortran(record: &objects::File) -> Option<i32> {
        (record.fortran_known.get() != 0).then(|| record.fortran.get().cast_signed())
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
                access: Access::default(),
                fortran_unasked: false,
                info: None,
                hints: Vec::new(),
                errhandler: None,
                requests: Vec::new(),
                calls: Vec::new(),
            };
        };
        let amode = record.amode.get();
        let datatype = |handle: u64, uid: u64| reader.attached(Kind::Datatype, handle, uid);
        Self {
            path: reader.text(&record.name),
            communicator: common
                .parent
                .clone()
                .or_else(|| reader.attached(Kind::Communicator, record.comm.get(), 0)),
            amode,
            mode: mode(reader.abi(), amode),
            atomic: record.atomicity.get() != 0,
            view: View {
                displacement: record.disp.get(),
                etype: datatype(record.etype.get(), record.etype_uid.get()),
                filetype: datatype(record.filetype.get(), record.filetype_uid.get()),
                representation: reader.text(&record.datarep).unwrap_or_else(|| "native".into()),
            },
            access: Access::of(reader, record),
            fortran_unasked: common.fortran.is_none()
                && common.standing != Lifetime::Freed
                && fortran::numbered_when_asked(reader.abi(), Kind::File),
            info: reader.attached(Kind::Info, record.info.get(), record.info_uid.get()),
            hints: reader.hints(&record.hints),
            // Files have a different default error handler than everything else.
            errhandler: reader
                .attached(Kind::Errhandler, record.errhandler.get(), record.errhandler_uid.get())
                .or_else(|| reader.known(Kind::Errhandler, "MPI_ERRORS_RETURN")),
            requests: request::of_kind(reader, common.handle, RequestKind::is_file),
            calls: reader.calls_about(Kind::File, common.handle.0),
            common,
        }
    }
}

/// Returns the names of the bits of an access mode.
pub fn mode(abi: AbiKind, amode: u32) -> Vec<String> {
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
        constant::value_of(abi, name).is_some_and(|bit| bit != 0 && i64::from(amode) & bit == bit)
    };
    MODES.iter().filter(|name| set(name)).map(|name| (*name).to_owned()).collect()
}
