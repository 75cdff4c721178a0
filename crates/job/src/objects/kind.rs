//! Kinds of objects, and a handle together with its kind.

use mpi_abi::ObjectKind;
use mpiscope_image::layout::SectionKind;
use serde::{Serialize, Serializer};
use std::fmt;

macro_rules! kinds {
    ($($variant:ident $section:ident $name:literal $c_type:literal $abi:expr;)*) => {
        /// A kind of MPI object. What an image can hold is decided by its sections; a kind of a later version is not
        /// looked for.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Kind {
            $($variant,)*
        }

        impl Kind {
            /// All kinds, in the order of listings.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The section of an image that holds its records.
            pub const fn section(self) -> SectionKind {
                match self { $(Self::$variant => SectionKind::$section,)* }
            }

            /// The word for it on command lines and in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The type of its handles in C.
            pub const fn c_type(self) -> &'static str {
                match self { $(Self::$variant => $c_type,)* }
            }

            /// As the tables of predefined handles name it; none for what has no predefined handles.
            pub const fn object_kind(self) -> Option<ObjectKind> {
                match self { $(Self::$variant => $abi,)* }
            }
        }
    };
}

kinds! {
    Communicator COMMS "comm" "MPI_Comm" Some(ObjectKind::COMM);
    Group GROUPS "group" "MPI_Group" Some(ObjectKind::GROUP);
    Datatype DATATYPES "datatype" "MPI_Datatype" Some(ObjectKind::DATATYPE);
    Request REQUESTS "request" "MPI_Request" Some(ObjectKind::REQUEST);
    Message MESSAGES "message" "MPI_Message" Some(ObjectKind::MESSAGE);
    Op OPS "op" "MPI_Op" Some(ObjectKind::OP);
    Errhandler ERRHANDLERS "errhandler" "MPI_Errhandler" Some(ObjectKind::ERRHANDLER);
    Info INFOS "info" "MPI_Info" Some(ObjectKind::INFO);
    File FILES "file" "MPI_File" Some(ObjectKind::FILE);
    Window WINDOWS "win" "MPI_Win" Some(ObjectKind::WIN);
    Session SESSIONS "session" "MPI_Session" Some(ObjectKind::SESSION);
    Keyval KEYVALS "keyval" "int" None;
}

impl Kind {
    /// From a word for people (`comm`, `communicator`, `MPI_Comm`).
    pub fn parse(text: &str) -> Option<Self> {
        let long = match text {
            "communicator" => "comm",
            "type" => "datatype",
            "operation" => "op",
            "window" => "win",
            "requests" => "request",
            other => other,
        };
        Self::ALL.iter().copied().find(|kind| long.eq_ignore_ascii_case(kind.name()) || long == kind.c_type())
    }

    /// The kind whose records stand in this section.
    pub fn of_section(section: SectionKind) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.section() == section)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// A handle or an address: 64 bits, shown in base 16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_names_and_by_its_section() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(*kind));
            assert_eq!(Kind::of_section(kind.section()), Some(*kind));
        }
        assert_eq!(Kind::parse("MPI_Win"), Some(Kind::Window));
        assert_eq!(Kind::parse("communicator"), Some(Kind::Communicator));
        assert_eq!(Kind::parse("thread"), None);
        assert_eq!(Kind::of_section(SectionKind::THREADS), None);
    }
}
