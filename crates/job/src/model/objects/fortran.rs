//! Fortran handles: an `INTEGER` for every kind of object, by the library's own convention.
//!
//! In MPICH's ABI and in the standard ABI the integer is the C handle, except for `MPI_File`: that is an
//! address in C, and its number is in a table of ROMIO, which assigns one on the first request. So the record
//! of a file contains the number returned to earlier requests, and a file without such a request has no
//! Fortran handle. Open MPI has a table per kind, an `opal_pointer_array_t` with an exported symbol. Its
//! layout may change, so it is recognized by its content: the array that has the predefined handles in their
//! known places.

use super::kind::Kind;
use super::predefined::PredefinedHandles;
use super::process_context::ProcessContext;
use mpi_abi::AbiKind;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Number of bytes of the table's structure that are searched.
const STRUCTURE: usize = 256;
/// Maximum number of entries of a table.
const MOST: usize = 1 << 22;
/// Number of entries read at once.
const PIECE: usize = 512;

/// Whether Fortran handles of a kind are stored in the records of its objects, once they have been requested.
pub fn numbered_when_asked(abi: AbiKind, kind: Kind) -> bool {
    kind == Kind::File && matches!(abi, AbiKind::MPICH | AbiKind::STANDARD)
}

/// File handles below this are numbers, equal in both languages: the null handle.
const FIRST_ADDRESS: u64 = 0x1000;

/// The tables of one process.
pub struct FortranTables<'a> {
    abi: AbiKind,
    around: &'a dyn ProcessContext,
    tables: RefCell<HashMap<Kind, Rc<Entries>>>,
}

/// C handles by index in a table, and vice versa.
#[derive(Debug, Default)]
struct Entries {
    handles: Vec<u64>,
    places: HashMap<u64, i32>,
}

impl Entries {
    fn new(handles: Vec<u64>) -> Self {
        let mut places = HashMap::new();
        for (handle, place) in handles.iter().zip(0..).filter(|(handle, _)| **handle != 0) {
            places.entry(*handle).or_insert(place);
        }
        Self { handles, places }
    }
}

/// Names of a table's symbol, and predefined handles with their indices in the table.
type Signs = (&'static [&'static str], &'static [(usize, &'static str)]);

/// Returns the symbols of Open MPI's table of a kind and predefined handles with their indices.
fn table(kind: Kind) -> Option<Signs> {
    Some(match kind {
        // Since version 1.7 `ompi_mpi_communicators` is the table by context, which begins alike; only older
        // libraries use it for Fortran, too.
        Kind::Communicator => (
            &["ompi_comm_f_to_c_table", "ompi_mpi_communicators"],
            &[(0, "MPI_COMM_WORLD"), (1, "MPI_COMM_SELF"), (2, "MPI_COMM_NULL")],
        ),
        Kind::Group => (&["ompi_group_f_to_c_table"], &[(0, "MPI_GROUP_NULL"), (1, "MPI_GROUP_EMPTY")]),
        Kind::Datatype => (&["ompi_datatype_f_to_c_table"], &[(0, "MPI_DATATYPE_NULL")]),
        Kind::Request => (&["ompi_request_f_to_c_table"], &[(0, "MPI_REQUEST_NULL")]),
        Kind::Message => (&["ompi_message_f_to_c_table"], &[(0, "MPI_MESSAGE_NULL")]),
        Kind::Op => (&["ompi_op_f_to_c_table"], &[(0, "MPI_OP_NULL")]),
        Kind::Errhandler => (&["ompi_errhandler_f_to_c_table"], &[(0, "MPI_ERRHANDLER_NULL")]),
        Kind::Info => (&["ompi_info_f_to_c_table"], &[(0, "MPI_INFO_NULL")]),
        Kind::File => (&["ompi_file_f_to_c_table"], &[(0, "MPI_FILE_NULL")]),
        Kind::Window => (&["ompi_mpi_windows"], &[(0, "MPI_WIN_NULL")]),
        Kind::Session => (&["ompi_instance_f_to_c_table"], &[(0, "MPI_SESSION_NULL")]),
        Kind::Keyval => return None,
    })
}

impl<'a> FortranTables<'a> {
    /// Creates the tables of a process with this ABI.
    pub fn new(abi: AbiKind, around: &'a dyn ProcessContext) -> Self {
        Self { abi, around, tables: RefCell::default() }
    }

    /// Whether the library's convention is known for a kind.
    pub fn knows(&self, kind: Kind) -> bool {
        match self.abi {
            AbiKind::MPICH | AbiKind::STANDARD => true,
            _ => !self.table(kind).handles.is_empty(),
        }
    }

    /// Returns the C handles that a Fortran handle may stand for, most likely first; numbers stored in
    /// records are not considered.
    pub fn to_c(&self, kind: Kind, fortran: i32) -> Vec<u64> {
        match self.abi {
            abi if numbered_when_asked(abi, kind) => {
                let handle = u64::from(fortran.cast_unsigned());
                let predefined = PredefinedHandles::new(abi, self.around).find(kind, handle);
                predefined.map(|_| handle).into_iter().collect()
            }
            AbiKind::MPICH => vec![u64::from(fortran.cast_unsigned())],
            // A number in a pointer: libraries extend it with or without the sign.
            AbiKind::STANDARD => {
                let mut values = vec![i64::from(fortran).cast_unsigned(), u64::from(fortran.cast_unsigned())];
                values.dedup();
                values
            }
            _ => {
                let place = usize::try_from(fortran).ok();
                let entry = place.and_then(|place| self.table(kind).handles.get(place).copied());
                entry.filter(|handle| *handle != 0).into_iter().collect()
            }
        }
    }

    /// Returns the Fortran handle of a C handle, if it has one.
    pub fn index_of(&self, kind: Kind, handle: u64) -> Option<i32> {
        match self.abi {
            abi if numbered_when_asked(abi, kind) => {
                (handle < FIRST_ADDRESS).then_some((handle as u32).cast_signed())
            }
            AbiKind::MPICH => Some((handle as u32).cast_signed()),
            AbiKind::STANDARD => {
                let short = (handle as u32).cast_signed();
                let fits = i64::from(short).cast_unsigned() == handle || handle >> 32 == 0;
                if fits { Some(short) } else { self.inside(kind, handle) }
            }
            _ => self.table(kind).places.get(&handle).copied(),
        }
    }

    /// MPICH's library for the standard ABI uses addresses of objects as some handles (derived datatypes).
    /// Such an object begins with the handle in MPICH's own ABI, which encodes the kind and can therefore be
    /// recognized.
    fn inside(&self, kind: Kind, address: u64) -> Option<i32> {
        let code = match kind {
            Kind::Communicator => 1,
            Kind::Group => 2,
            Kind::Datatype => 3,
            Kind::Errhandler => 5,
            Kind::Op => 6,
            Kind::Info => 7,
            Kind::Window => 8,
            // A message is the request of its receive.
            Kind::Request | Kind::Message => 11,
            Kind::Session => 14,
            _ => return None,
        };
        let mut bytes = [0; 4];
        self.around.memory(address, &mut bytes).then_some(())?;
        let number = u32::from_ne_bytes(bytes);
        // The top two bits tell how the object is stored; 0 is no object.
        (number >> 26 & 0xf == code && number >> 30 != 0).then_some(number.cast_signed())
    }

    fn table(&self, kind: Kind) -> Rc<Entries> {
        if let Some(known) = self.tables.borrow().get(&kind) {
            return Rc::clone(known);
        }
        let handles = if self.abi == AbiKind::OPENMPI { self.read(kind) } else { Vec::new() };
        let table = Rc::new(Entries::new(handles));
        self.tables.borrow_mut().insert(kind, Rc::clone(&table));
        table
    }

    fn read(&self, kind: Kind) -> Vec<u64> {
        let Some((symbols, signs)) = table(kind) else { return Vec::new() };
        let handles = PredefinedHandles::new(self.abi, self.around);
        let sign = |(place, name): &(usize, &str)| {
            Some((*place, handles.value(mpi_abi::predefined::by_name(name)?)?))
        };
        let Some(signs) = signs.iter().map(sign).collect::<Option<Vec<_>>>() else { return Vec::new() };
        let Some(at) = symbols.iter().find_map(|symbol| self.around.symbol(symbol)) else {
            return Vec::new();
        };
        // Some symbols are the structure, others a pointer to it.
        let behind = self.word(at, 0);
        let places = std::iter::once(at).chain(behind);
        places.into_iter().find_map(|place| self.table_at(place, &signs)).unwrap_or_default()
    }

    /// Returns the entries of the structure at an address, if it has an array with these predefined entries.
    fn table_at(&self, at: u64, signs: &[(usize, u64)]) -> Option<Vec<u64>> {
        let mut structure = [0; STRUCTURE];
        self.around.memory(at, &mut structure).then_some(())?;
        let mut arrays = words(&structure).zip(0..).filter(|(address, _)| *address != 0);
        let is_table =
            |array: u64| signs.iter().all(|(place, value)| self.word(array, *place) == Some(*value));
        let (array, place) = arrays.find(|(array, _)| is_table(*array))?;
        Some(self.entries(array, length(&structure, 8 * place)?))
    }

    fn word(&self, array: u64, place: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        let address = array.checked_add(8 * place as u64)?;
        self.around.memory(address, &mut bytes).then(|| u64::from_ne_bytes(bytes))
    }

    /// Returns the array's readable entries.
    fn entries(&self, array: u64, longest: usize) -> Vec<u64> {
        let mut entries = Vec::new();
        let mut piece = PIECE;
        while entries.len() < longest && piece > 0 {
            let mut bytes = [0; 8 * PIECE];
            let Some(part) = bytes.get_mut(..8 * piece.min(longest - entries.len())) else { break };
            let Some(at) = array.checked_add(8 * entries.len() as u64) else { break };
            if self.around.memory(at, part) {
                entries.extend(words(part));
            } else {
                // The end of the readable memory is inside this piece.
                piece /= 2;
            }
        }
        entries
    }
}

/// Returns the array's length. In all versions of the structure five `int`s, padding and the bitmap of free
/// indices precede the array: lowest free index, number of free ones, length, maximum length, block size.
/// Memory past the end must not be taken for entries: it may contain any address, even that of an object.
fn length(structure: &[u8], array: usize) -> Option<usize> {
    let int = |at: usize| structure.get(at..at + 4)?.try_into().ok().map(i32::from_ne_bytes);
    let first = array.checked_sub(32)?;
    let (lowest, free, length) = (int(first)?, int(first + 4)?, int(first + 8)?);
    let (greatest, block) = (int(first + 12)?, int(first + 16)?);
    let right = 0 <= lowest && 0 <= free && lowest.max(free) <= length && length <= greatest && block > 0;
    usize::try_from(length).ok().filter(|length| right && *length <= MOST)
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).filter_map(|c| c.try_into().ok().map(u64::from_ne_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table at 0x1000 whose array is at 0x2000.
    struct Memory;

    impl ProcessContext for Memory {
        fn symbol(&self, name: &str) -> Option<u64> {
            match name {
                "ompi_comm_f_to_c_table" => Some(0x1000),
                // Begins alike, but is the table by context.
                "ompi_mpi_communicators" => Some(0x3000),
                "ompi_instance_f_to_c_table" => Some(0x5000),
                "ompi_mpi_instance_null" => Some(0x40),
                "ompi_mpi_comm_world" => Some(0x10),
                "ompi_mpi_comm_self" => Some(0x20),
                "ompi_mpi_comm_null" => Some(0x30),
                _ => None,
            }
        }

        fn memory(&self, address: u64, buf: &mut [u8]) -> bool {
            let words: Vec<u64> = match address {
                // Lowest free index 4 and 4 of 8 entries free; room for a million in blocks of 8; bitmap;
                // array.
                0x1000 => vec![7, 7, 7, 7, 4 | 4 << 32, 8 | 1_000_000 << 32, 8, 0xf, 0x2000, 7],
                0x3000 => vec![7, 7, 7, 7, 4 | 4 << 32, 8 | 1_000_000 << 32, 8, 0xf, 0x4000, 7],
                0x4000..0x5000 => vec![0x10, 0x20, 0x30, 0, 0xabc0, 0, 0, 0],
                0x5000 => vec![7, 7, 7, 7, 2 | 6 << 32, 8 | 1_000_000 << 32, 8, 3, 0x6000, 7],
                0x6000.. => vec![0x40, 0xabc8, 0, 0, 0, 0, 0, 0],
                // Unrelated data past the end contains an address.
                0x2000..0x3000 => vec![0x10, 0x20, 0x30, 0xabc0, 0, 0, 0, 0, 0xdef0],
                _ => return false,
            };
            let skip = (address % 0x1000) as usize;
            let bytes: Vec<u8> =
                words.iter().flat_map(|w| w.to_ne_bytes()).chain([0; 1024]).skip(skip).collect();
            buf.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            true
        }
    }

    #[test]
    fn open_mpis_table_is_recognized_by_its_predefined_entries() {
        let tables = FortranTables::new(AbiKind::OPENMPI, &Memory);
        assert_eq!(tables.to_c(Kind::Communicator, 3), [0xabc0]);
        assert_eq!(tables.index_of(Kind::Communicator, 0x20), Some(1));
        assert_eq!(tables.to_c(Kind::Communicator, 4), [0u64; 0]);
        assert_eq!(tables.to_c(Kind::Communicator, -1), [0u64; 0]);
        assert!(!tables.knows(Kind::Datatype));
        assert_eq!(tables.index_of(Kind::Communicator, 0xabc0), Some(3));
        assert_eq!(tables.index_of(Kind::Session, 0xabc8), Some(1));
        assert_eq!(tables.index_of(Kind::Communicator, 0xdef0), None, "no entry of the table");
    }

    /// An object at 0x7f00_0000_1000 that begins with the handle of a datatype in MPICH's own ABI.
    struct Inside;

    impl ProcessContext for Inside {
        fn memory(&self, address: u64, buf: &mut [u8]) -> bool {
            buf.copy_from_slice(&0x8c00_0005_u32.to_ne_bytes());
            address == 0x7f00_0000_1000
        }
    }

    /// A message at 0x7f00_0000_1000 and a session a page behind it, which begin with their handles in MPICH's own ABI.
    struct Others;

    impl ProcessContext for Others {
        fn memory(&self, address: u64, buf: &mut [u8]) -> bool {
            let number = if address < 0x7f00_0000_2000 { 0xec00_000f_u32 } else { 0xb800_0000 };
            buf.copy_from_slice(&number.to_ne_bytes());
            true
        }
    }

    #[test]
    fn messages_and_sessions_in_the_standard_abi_have_numbers() {
        let tables = FortranTables::new(AbiKind::STANDARD, &Others);
        let (message, session) = (0x7f00_0000_1000, 0x7f00_0000_2000);
        assert_eq!(tables.index_of(Kind::Message, message), Some(0xec00_000f_u32.cast_signed()));
        assert_eq!(tables.index_of(Kind::Session, session), Some(0xb800_0000_u32.cast_signed()));
        assert_eq!(tables.index_of(Kind::Message, session), None);
    }

    #[test]
    fn an_address_in_the_standard_abi_leads_to_the_number_in_the_object() {
        let tables = FortranTables::new(AbiKind::STANDARD, &Inside);
        let number = Some(0x8c00_0005_u32.cast_signed());
        assert_eq!(tables.index_of(Kind::Datatype, 0x7f00_0000_1000), number);
        assert_eq!(tables.index_of(Kind::Op, 0x7f00_0000_1000), None);
        assert_eq!(tables.index_of(Kind::Datatype, 0x7f00_0000_2000), None);
    }

    #[test]
    fn integer_handles_are_their_own_fortran_handles() {
        let mpich = FortranTables::new(AbiKind::MPICH, &super::super::process_context::ImageOnly);
        assert_eq!(mpich.to_c(Kind::Communicator, 0x4400_0000), [0x4400_0000]);
        let negative = 0x8400_0000_u32.cast_signed();
        assert_eq!(mpich.to_c(Kind::Communicator, negative), [0x8400_0000]);
        assert_eq!(mpich.index_of(Kind::Communicator, 0x8400_0000), Some(negative));
        let standard = FortranTables::new(AbiKind::STANDARD, &super::super::process_context::ImageOnly);
        assert_eq!(standard.to_c(Kind::Communicator, negative), [0xffff_ffff_8400_0000, 0x8400_0000]);
        assert_eq!(standard.index_of(Kind::Communicator, 0x101), Some(0x101));
        assert_eq!(standard.index_of(Kind::Communicator, 0x7fff_1234_5678), None);
    }

    #[test]
    fn the_address_of_a_file_is_never_a_fortran_handle() {
        for abi in [AbiKind::MPICH, AbiKind::STANDARD] {
            let tables = FortranTables::new(abi, &super::super::process_context::ImageOnly);
            assert_eq!(tables.index_of(Kind::File, 0x41_5670), None);
            assert_eq!(tables.index_of(Kind::File, 0), Some(0), "the null handle of MPICH");
            assert!(tables.knows(Kind::File));
        }
    }
}
