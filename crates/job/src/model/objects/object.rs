//! Objects of any kind.

use super::build::Missing;
use super::common::{Common, Lifetime};
use super::kind::Kind;
use super::reader::Reader;
use super::{
    Communicator, Datatype, Errhandler, File, Group, Info, Keyval, Message, Op, Request, Session, Window,
};
use mpiscope_image::objects::{Flag, Head};
use mpiscope_image::{Error, Source};
use serde::Serialize;

macro_rules! objects {
    ($($name:ident $number:literal $kind:ident $section:ident $word:literal $noun:literal $c_type:literal;)*) => {
        /// An object of any kind.
        #[derive(Debug, Clone, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum Object {
            $($kind($kind),)*
        }

        impl Object {
            /// Returns what all objects have in common.
            pub fn common(&self) -> &Common {
                match self { $(Self::$kind(object) => &object.common,)* }
            }
        }

        impl<S: Source> Reader<'_, S> {
            /// Returns the object of a kind with this handle.
            pub fn object(&self, kind: Kind, handle: u64) -> Result<Object, Missing> {
                match kind { $(Kind::$kind => self.get::<$kind>(handle).map(Object::$kind),)* }
            }

            /// Returns all objects of a kind that have a record, including freed ones.
            pub fn objects(&self, kind: Kind) -> Result<Vec<Object>, Error> {
                Ok(match kind {
                    $(Kind::$kind => self.all::<$kind>()?.into_iter().map(Object::$kind).collect(),)*
                })
            }

            /// Passes the same objects on one at a time. Those whose outline is not chosen are not built.
            pub fn visit(
                &self,
                kind: Kind,
                choose: &mut dyn FnMut(&Outline<'_>) -> bool,
                each: &mut dyn FnMut(Object),
            ) -> Result<(), Error> {
                let choose = &mut |head: &Head| choose(&Outline::of(head));
                match kind {
                    $(Kind::$kind => self.each::<$kind>(choose, &mut |object| each(Object::$kind(object))),)*
                }
            }

            /// Like `visit`, but skips freed objects that MPI no longer holds unless `freed` is set.
            pub fn visit_standing(
                &self,
                kind: Kind,
                freed: bool,
                choose: &mut dyn FnMut(&Outline<'_>) -> bool,
                each: &mut dyn FnMut(Object),
            ) -> Result<(), crate::Error> {
                let wanted = |standing| freed || standing != Lifetime::Freed;
                let chosen = &mut |one: &Outline<'_>| wanted(self.standing(one.head)) && choose(one);
                // The object may be freed while it is read.
                self.visit(kind, chosen, &mut |object| {
                    if wanted(object.common().standing) {
                        each(object);
                    }
                })?;
                Ok(())
            }

            /// Returns the object with this uid, if its record exists.
            pub fn object_by_uid(&self, uid: u64) -> Result<Option<Object>, Error> {
                let kind = Kind::of_section(mpiscope_image::objects::kind_of(uid));
                Ok(match kind {
                    $(Some(Kind::$kind) => self.by_uid::<$kind>(uid)?.map(Object::$kind),)*
                    None => None,
                })
            }
        }
    };
}

mpi_abi::object_kinds!(objects);

/// What is known of an object before it is read completely.
pub struct Outline<'a> {
    head: &'a Head,
    /// Equal on all processes that share the object; zero if it is local to this process.
    pub identity: u64,
    /// Whether it is predefined, or existed before the program created any object.
    pub predefined: bool,
}

impl<'a> Outline<'a> {
    fn of(head: &'a Head) -> Self {
        let predefined = head.flags.get() & Flag::PREDEFINED.0 != 0 || head.made_by.get() == 0;
        Self { head, identity: head.identity.get(), predefined }
    }
}
