//! Kinds of objects, and handles with their kind.

use mpi_abi::ObjectKind;
use mpiscope_debug_interfaces::extended::kind as debugger_kind;
use mpiscope_image::layout::SectionKind;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::ffi::c_int;
use std::fmt;

macro_rules! kinds {
    ($($name:ident $number:literal $type:ident $section:ident $word:literal $noun:literal $c_type:literal;)*) => {
        /// A kind of MPI object. Kinds of later versions are ignored.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum Kind {
            $($type,)*
        }

        impl Kind {
            /// All kinds, in the order of listings.
            pub const ALL: &'static [Self] = &[$(Self::$type),*];

            /// The section of an image that contains its records.
            pub const fn section(self) -> SectionKind {
                match self { $(Self::$type => SectionKind::$section,)* }
            }

            /// Its name on command lines and in JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$type => $word,)* }
            }

            /// Its name in sentences.
            pub const fn noun(self) -> &'static str {
                match self { $(Self::$type => $noun,)* }
            }

            /// Its number in the extended debugger interface.
            pub const fn debugger_number(self) -> c_int {
                match self { $(Self::$type => debugger_kind::$name,)* }
            }

            /// Returns the kind with that number.
            pub const fn of_debugger_number(number: c_int) -> Option<Self> {
                match number {
                    $(debugger_kind::$name => Some(Self::$type),)*
                    _ => None,
                }
            }

            /// Its number in the tables of the ABIs.
            pub const fn number(self) -> ObjectKind {
                match self { $(Self::$type => ObjectKind::$name,)* }
            }
        }
    };
}
mpi_abi::object_kinds!(kinds);

impl Kind {
    /// The type of its handles in C.
    pub const fn c_type(self) -> &'static str {
        self.number().c_type()
    }

    /// Its number in the tables of predefined handles; `None` for kinds without predefined handles.
    pub fn object_kind(self) -> Option<ObjectKind> {
        Some(self.number()).filter(|kind| kind.null().is_some())
    }
}

impl Kind {
    /// Parses a name entered by a user (`comm`, `communicator`, `MPI_Comm`).
    pub fn parse(text: &str) -> Option<Self> {
        let text =
            if text == "type" { Self::Datatype.name() } else { text.strip_suffix('s').unwrap_or(text) };
        let words = |kind: &Self| [kind.name(), kind.noun(), kind.c_type()];
        Self::ALL.iter().copied().find(|kind| words(kind).iter().any(|word| text.eq_ignore_ascii_case(word)))
    }

    /// Returns the kind whose records are in this section.
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

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom(format!("{text}: not a kind of object")))
    }
}

/// A handle or an address: 64 bits, shown in hexadecimal.
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

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        digits.map(Self).ok_or_else(|| de::Error::custom(format!("{text}: not a hexadecimal number")))
    }
}

impl Hex {
    /// Whether the value is zero, which means none.
    pub fn is_zero(&self) -> bool {
        self.0 == 0
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
