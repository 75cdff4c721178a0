//! mpiscope's performance variables of single communicators, files and windows of another process, as found
//! in its image.

use crate::model::objects::{ImageOnly, Kind, Reader, Reference};
use crate::{Error, Process};
use mpiscope_image::derive::bound::{
    COLLECTIVES, COMM_SIZE, FILES, OfObject, PEERS, UNEXPECTED, Unit, WINDOWS,
};
use mpiscope_image::derive::members;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::objects::{Comm, File, Head, Life, Window};
use mpiscope_image::traffic::Peer;
use mpiscope_image::{Image, Record, Source};

/// Maximum number of members read.
const MOST_MEMBERS: u32 = 1 << 16;

/// The value of a variable bound to an object.
pub struct Value {
    /// Name of the variable.
    pub name: &'static str,
    /// Its class.
    pub class: &'static str,
    /// The object it is bound to.
    pub object: Reference,
    /// The value; elements are separated by spaces.
    pub value: String,
}

/// Returns the variables of a process's live objects, except those that depend on the images of all processes
/// together.
///
/// # Errors
/// If a table is damaged.
pub fn values<S: Source>(image: &Image<S>, process: &Process) -> Result<Vec<Value>, Error> {
    let look = Look { image, process, reader: Reader::new(image, &ImageOnly)? };
    let mut values = Vec::new();
    look.communicators(&mut values)?;
    look.each(SectionKind::FILES, Kind::File, &FILES, |file: &File| &file.head, &mut values)?;
    look.each(SectionKind::WINDOWS, Kind::Window, &WINDOWS, |window: &Window| &window.head, &mut values)?;
    Ok(values)
}

/// Returns the length of the unexpected-message queue of each communicator under both variable names; `count`
/// maps a communicator's identity to it.
pub fn unexpected(values: &[Value], count: impl Fn(u64) -> u64) -> Vec<Value> {
    let communicators = values.iter().filter(|value| value.name == COMM_SIZE);
    let both = communicators.flat_map(|comm| {
        let value = count(comm.object.identity.0).to_string();
        UNEXPECTED.map(|name| Value {
            name,
            class: "LEVEL",
            object: comm.object.clone(),
            value: value.clone(),
        })
    });
    both.collect()
}

struct Look<'a, S> {
    image: &'a Image<S>,
    process: &'a Process,
    reader: Reader<'a, S>,
}

impl<S: Source> Look<'_, S> {
    fn object(&self, kind: Kind, head: &Head) -> Reference {
        self.reader.refer_to(kind, head.handle.get())
    }

    fn communicators(&self, values: &mut Vec<Value>) -> Result<(), Error> {
        let peers = self.image.table::<Peer>(SectionKind::PEERS)?;
        for snapshot in self.image.all::<Comm>(SectionKind::COMMS)? {
            let comm = snapshot.value;
            if comm.head.life.get() != Life::LIVE.0 {
                continue;
            }
            let object = self.object(Kind::Communicator, &comm.head);
            let mut add = |name, class, value| {
                values.push(Value { name, class, object: object.clone(), value });
            };
            let size = members::named(&comm).size;
            let of_all = |variable: &OfObject<Peer>| -> String {
                let of = |rank: u32| {
                    let first = comm.peers.get().checked_sub(1)?;
                    let peer = self.image.get::<Peer>(&peers, first.checked_add(rank.into())?).ok()?;
                    Some((variable.value)(&peer.value))
                };
                let elements = (0..size.min(MOST_MEMBERS)).map(|rank| of(rank).unwrap_or(0).to_string());
                elements.collect::<Vec<_>>().join(" ")
            };
            for variable in &PEERS {
                add(variable.name, variable.class.name(), of_all(variable));
            }
            let collectives = (COLLECTIVES.value)(&comm).to_string();
            add(COLLECTIVES.name, COLLECTIVES.class.name(), collectives);
            add(COMM_SIZE, "SIZE", size.to_string());
        }
        Ok(())
    }

    fn each<T: Record>(
        &self,
        section: SectionKind,
        kind: Kind,
        variables: &[OfObject<T>],
        head: fn(&T) -> &Head,
        values: &mut Vec<Value>,
    ) -> Result<(), Error> {
        for snapshot in self.image.all::<T>(section)? {
            let record = snapshot.value;
            if head(&record).life.get() != Life::LIVE.0 {
                continue;
            }
            let object = self.object(kind, head(&record));
            values.extend(variables.iter().map(|variable| Value {
                name: variable.name,
                class: variable.class.name(),
                object: object.clone(),
                value: match variable.unit {
                    Unit::Plain => (variable.value)(&record).to_string(),
                    Unit::Ticks => self.process.clock.seconds((variable.value)(&record)).to_string(),
                },
            }));
        }
        Ok(())
    }
}
