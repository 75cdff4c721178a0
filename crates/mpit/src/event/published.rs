//! Sources and event types of a registry.

use super::source::{Source, SourceSpec};
use super::types::{EventSpec, EventType, MAX_EXTENT};
use crate::codes::{Error, Result};
use crate::enumeration::Enumeration;
use crate::registry::Registry;
use crate::table::index;

impl Registry {
    /// Publishes a source and returns its index.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] for an empty name; [`Error::MEMORY`] if the table is full.
    pub fn add_source(&self, spec: SourceSpec) -> Result<usize> {
        if spec.name.is_empty() {
            return Err(Error::INVALID_NAME);
        }
        let _adding = self.adding();
        let index = self.sources.len();
        // Add the counters first, so that losses can be counted as soon as the source is visible.
        self.registrations.cover_sources(index + 1);
        self.sources.push(Source::new(spec, index)).map_err(|_| Error::MEMORY)?;
        self.changed();
        Ok(index)
    }

    /// Number of sources.
    pub fn source_count(&self) -> usize {
        self.sources.len()
    }

    /// The source at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    #[inline]
    pub fn source(&self, at: impl TryInto<usize>) -> Result<&Source> {
        self.sources.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }
}

impl Registry {
    /// Publishes an event type, with an enumeration of its elements' names, and returns its index.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`] if the name is empty or taken; [`Error::INVALID`] for an element of unknown
    /// datatype or a payload larger than [`MAX_EXTENT`].
    pub fn add_event(&self, spec: EventSpec) -> Result<usize> {
        let EventSpec { mut info, element_names, check, interest } = spec;
        let unknown = info.elements.iter().any(|element| element.datatype.size() == 0);
        if unknown || info.extent > MAX_EXTENT {
            return Err(Error::INVALID);
        }
        if self.event_index(&info.name).is_ok() {
            return Err(Error::INVALID_NAME);
        }
        if !element_names.is_empty() {
            let names = Enumeration::new(format!("{} elements", info.name)).items(element_names);
            info.enumeration = Some(self.add_enumeration(names)?);
        }
        let name = info.name.clone();
        let _adding = self.adding();
        let index = self.events.len();
        self.events.add(&name, 0, EventType::new(info, check, interest, index))?;
        self.changed();
        Ok(index)
    }

    /// Number of event types.
    pub fn event_count(&self) -> usize {
        self.events.len()
    }

    /// The event type at an index.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`].
    #[inline]
    pub fn event(&self, at: impl TryInto<usize>) -> Result<&EventType> {
        self.events.get(index(at)?).ok_or(Error::INVALID_INDEX)
    }

    /// The index of the event type with this name.
    ///
    /// # Errors
    /// [`Error::INVALID_NAME`].
    pub fn event_index(&self, name: &str) -> Result<usize> {
        self.events.find(name, 0)
    }
}
