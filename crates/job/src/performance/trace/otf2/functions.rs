//! OTF2's classification of MPI functions; the numbers are those of its enumerations.

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation(pub u8);

/// Role of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role(pub u8);

#[allow(missing_docs)]
impl Role {
    pub const FUNCTION: Self = Self(1);
    pub const BARRIER: Self = Self(15);
    pub const ONE_TO_ALL: Self = Self(23);
    pub const ALL_TO_ONE: Self = Self(24);
    pub const ALL_TO_ALL: Self = Self(25);
    pub const OTHER_COLLECTIVE: Self = Self(26);
    pub const FILE: Self = Self(27);
    pub const POINT_TO_POINT: Self = Self(28);
    pub const ONE_SIDED: Self = Self(29);
}

/// Blocking collectives, with their OTF2 operation and region role.
const COLLECTIVES: [(&str, u8, Role); 17] = [
    ("Barrier", 0, Role::BARRIER),
    ("Bcast", 1, Role::ONE_TO_ALL),
    ("Gather", 2, Role::ALL_TO_ONE),
    ("Gatherv", 3, Role::ALL_TO_ONE),
    ("Scatter", 4, Role::ONE_TO_ALL),
    ("Scatterv", 5, Role::ONE_TO_ALL),
    ("Allgather", 6, Role::ALL_TO_ALL),
    ("Allgatherv", 7, Role::ALL_TO_ALL),
    ("Alltoall", 8, Role::ALL_TO_ALL),
    ("Alltoallv", 9, Role::ALL_TO_ALL),
    ("Alltoallw", 10, Role::ALL_TO_ALL),
    ("Allreduce", 11, Role::ALL_TO_ALL),
    ("Reduce", 12, Role::ALL_TO_ONE),
    ("Reduce_scatter", 13, Role::ALL_TO_ALL),
    ("Scan", 14, Role::OTHER_COLLECTIVE),
    ("Exscan", 15, Role::OTHER_COLLECTIVE),
    ("Reduce_scatter_block", 16, Role::ALL_TO_ALL),
];

/// Name prefixes of functions that move messages.
const MESSAGES: [&str; 32] = [
    "Send",
    "Recv",
    "Isend",
    "Irecv",
    "Bsend",
    "Ibsend",
    "Ssend",
    "Issend",
    "Rsend",
    "Irsend",
    "Sendrecv",
    "Isendrecv",
    "Mrecv",
    "Imrecv",
    "Probe",
    "Iprobe",
    "Mprobe",
    "Improbe",
    "Psend",
    "Precv",
    "Start",
    "Startall",
    "Wait",
    "Waitall",
    "Waitany",
    "Waitsome",
    "Test",
    "Testall",
    "Testany",
    "Testsome",
    "Cancel",
    "Pready",
];

fn known(function: &str) -> Option<(Operation, Role)> {
    let name = base(function);
    let (_, number, role) = COLLECTIVES.iter().find(|(known, ..)| *known == name)?;
    Some((Operation(*number), *role))
}

/// Strips `MPI_` and the suffix of the large-count variant.
fn base(function: &str) -> &str {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    name.strip_suffix("_c").unwrap_or(name)
}

/// Returns the operation of a collective that OTF2 knows; `None` for others and for all non-blocking ones.
pub fn operation(function: &str) -> Option<Operation> {
    known(function).map(|(operation, _)| operation)
}

/// Returns the region role of a function.
pub fn role(function: &str) -> Role {
    let name = base(function);
    let of_messages =
        |known: &str| name == known || name.strip_prefix(known).is_some_and(|rest| rest.starts_with('_'));
    match known(function) {
        Some((_, role)) => role,
        None if MESSAGES.iter().any(|known| of_messages(known)) => Role::POINT_TO_POINT,
        None if name.starts_with("File_") => Role::FILE,
        None if ["Put", "Get", "Accumulate", "Rput", "Rget"].contains(&name) || name.starts_with("Win_") => {
            Role::ONE_SIDED
        }
        None => Role::FUNCTION,
    }
}
