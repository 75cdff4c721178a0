//! The kinds of MPI objects: the single list from which all code that depends on kinds is generated.

use std::fmt;

/// Passes the list to a macro. A row has the constant of [`ObjectKind`], its number, the Rust type, the
/// section of an image, the word used on command lines and in JSON, the noun for humans, and the C type of
/// the handles. The order is that of listings. Tools know the kinds by their numbers, which never change.
#[macro_export]
macro_rules! object_kinds {
    ($callback:ident) => {
        $callback! {
            COMM 1 Communicator COMMS "comm" "communicator" "MPI_Comm";
            GROUP 2 Group GROUPS "group" "group" "MPI_Group";
            DATATYPE 3 Datatype DATATYPES "datatype" "datatype" "MPI_Datatype";
            REQUEST 5 Request REQUESTS "request" "request" "MPI_Request";
            MESSAGE 6 Message MESSAGES "message" "matched message" "MPI_Message";
            OP 4 Op OPS "op" "operation" "MPI_Op";
            ERRHANDLER 10 Errhandler ERRHANDLERS "errhandler" "error handler" "MPI_Errhandler";
            INFO 9 Info INFOS "info" "info object" "MPI_Info";
            FILE 8 File FILES "file" "file" "MPI_File";
            WIN 7 Window WINDOWS "win" "window" "MPI_Win";
            SESSION 11 Session SESSIONS "session" "session" "MPI_Session";
            KEYVAL 12 Keyval KEYVALS "keyval" "attribute key" "int";
        }
    };
}

/// A kind of MPI object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectKind(pub u8);

macro_rules! kinds {
    ($($name:ident $number:literal $type:ident $section:ident $word:literal $noun:literal $c_type:literal;)*) => {
        #[allow(missing_docs)]
        impl ObjectKind {
            $(pub const $name: ObjectKind = ObjectKind($number);)*

            /// All kinds, in the order of listings.
            pub const ALL: &'static [ObjectKind] = &[$(ObjectKind::$name),*];

            /// The C type of its handles; `int` for attribute keys, which are not handles.
            pub const fn c_type(self) -> &'static str {
                match self { $(ObjectKind::$name => $c_type,)* _ => "?" }
            }

            /// The standard's name of its null handle; `None` for attribute keys.
            pub const fn null(self) -> Option<&'static str> {
                if self.0 == ObjectKind::KEYVAL.0 {
                    return None;
                }
                match self {
                    $(ObjectKind::$name => Some(concat!("MPI_", stringify!($name), "_NULL")),)*
                    _ => None,
                }
            }
        }
    };
}
object_kinds!(kinds);

impl ObjectKind {
    /// The kind whose handles have this C type.
    pub fn from_c_type(name: &str) -> Option<ObjectKind> {
        let handles = ObjectKind::ALL.iter().filter(|kind| kind.null().is_some());
        handles.copied().find(|kind| kind.c_type() == name)
    }

    /// Its item of the enumeration `mpiscope_object_kind`: the C type of its handles, or `keyval`.
    pub const fn item_name(self) -> &'static str {
        if self.null().is_none() { "keyval" } else { self.c_type() }
    }
}

impl fmt::Debug for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.c_type())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_at_one_without_gaps_and_every_null_handle_is_predefined() {
        let mut numbers: Vec<u8> = ObjectKind::ALL.iter().map(|kind| kind.0).collect();
        numbers.sort_unstable();
        assert!(numbers.iter().copied().eq(1..=12));
        for null in ObjectKind::ALL.iter().filter_map(|kind| kind.null()) {
            assert!(crate::predefined::by_name(null).is_some(), "{null}");
        }
        assert_eq!(ObjectKind::from_c_type("MPI_Win"), Some(ObjectKind::WIN));
        assert_eq!(ObjectKind::from_c_type("int"), None);
    }
}
