use crate::registry::Registry;
pub struct EventType;
pub struct Source;
pub(crate) struct Registrations;
impl Registrations { pub(crate) const fn new() -> Self { Self } }
impl Registry { pub(crate) fn free_all_registrations(&self) {} }
