//! Windows and files that variables are bound to.
//!
//! In our variables, such an object is identified by the address of a [`Kept`], so that it is not confused
//! with a later one for which the library reuses the handle. Values of a freed object can be read as long as
//! its record is a tombstone; afterward the handle is invalid.
#![allow(unsafe_code)]

use crate::base::topic::Topic;
use crate::mpi_t::own_categories::{Categories, publish_one};
use crate::mpi_t::recording::Interest;
use crate::mpi_t::{bound, ticks};
use crate::record::objects::table::{Object, Table};
use mpiscope_image::derive::bound::{self as bound_values, Class, OfObject};
use mpiscope_image::layout::Recording;
use mpiscope_image::objects::Life;
use mpit::{Bind, Binding, Datatype, Error, Instrument, Member, PvarClass, PvarSpec, Registry, Result, Unit};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Mutex, PoisonError};

/// An object that a variable was bound to. Lives as long as the process.
pub struct Kept<T: 'static> {
    /// Its record, which may be reused once the object has been freed.
    record: &'static T,
    uid: u64,
}

/// All objects of one kind to which anything was ever bound.
pub type List<T> = Mutex<Vec<&'static Kept<T>>>;

/// A kind of object that our variables can be bound to.
pub trait Subject: Object + Sync {
    #[allow(missing_docs)]
    const BIND: Bind;

    /// The live objects.
    fn table() -> &'static Table<Self>;

    /// The kept objects.
    fn list() -> &'static List<Self>;
}

/// The token of a live object.
///
/// # Errors
/// [`Error::INVALID_HANDLE`] if it is not live, or was created while objects were not recorded.
pub fn token<T: Subject>(handle: u64) -> Result<u64> {
    bound::check(T::BIND, handle)?;
    let record = T::table().find(handle).ok_or(Error::INVALID_HANDLE)?;
    let uid = record.head().uid.get();
    let mut known = T::list().lock().unwrap_or_else(PoisonError::into_inner);
    let kept = known.iter().find(|kept| kept.uid == uid).copied().unwrap_or_else(|| {
        let kept: &'static Kept<T> = Box::leak(Box::new(Kept { record, uid }));
        known.push(kept);
        kept
    });
    Ok(std::ptr::from_ref(kept) as u64)
}

impl<T: Subject> Kept<T> {
    fn is_there(&self) -> bool {
        let head = self.record.head();
        head.uid.get() == self.uid && head.life.get() != Life::EMPTY.0
    }
}

/// Reads the object behind a [`token`], unless its record has been reused.
fn read<T: Subject, R>(token: u64, value: impl FnOnce(&T) -> R) -> Result<R> {
    // SAFETY: words reach the instruments only from `token`, and what they point to is leaked.
    let kept = unsafe { (token as *const Kept<T>).as_ref() }.ok_or(Error::INVALID_HANDLE)?;
    if !kept.is_there() {
        return Err(Error::INVALID_HANDLE);
    }
    let value = value(kept.record);
    // A record is emptied before it is reused, so a read during that time is detected.
    fence(Ordering::Acquire);
    if kept.is_there() { Ok(value) } else { Err(Error::INVALID_HANDLE) }
}

/// A variable for each object of a kind, and its description without method and cost.
pub type Variable<T> = (&'static OfObject<T>, &'static str);

struct Of<T: 'static> {
    variable: &'static OfObject<T>,
    interest: Interest,
}

impl<T: Subject> Instrument for Of<T> {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        read::<T, _>(object, |_| Binding::sampled(1))
    }

    fn sample(&self, object: u64, _element: usize) -> Result<u64> {
        read::<T, _>(object, self.variable.value).map(|value| match self.variable.unit {
            bound_values::Unit::Plain => value,
            bound_values::Unit::Ticks => ticks::units(value),
        })
    }

    fn interest(&self, wanted: bool) {
        self.interest.set(wanted);
    }
}

/// Registers variables; `how` is appended to their descriptions.
pub fn publish<T: Subject>(
    registry: &Registry,
    (categories, topic): (&Categories, Topic),
    variables: impl Iterator<Item = Variable<T>>,
    how: &str,
) {
    for (variable, what) in variables {
        let (datatype, unit, needs) = match variable.unit {
            bound_values::Unit::Plain => (Datatype::UNSIGNED_LONG_LONG, Unit::Plain, Recording::OBJECTS.0),
            bound_values::Unit::Ticks => {
                (Datatype::DOUBLE, Unit::Scaled(ticks::UNIT), Recording::OBJECTS.0 | Recording::TIMES.0)
            }
        };
        let class = match variable.class {
            Class::Counter => PvarClass::COUNTER,
            Class::Timer => PvarClass::TIMER,
            Class::Level => PvarClass::LEVEL,
            Class::Size => PvarClass::SIZE,
        };
        let spec = PvarSpec::new(variable.name, class, datatype);
        let spec = spec.desc(format!("{what}, {how}")).bind(T::BIND).unit(unit);
        let of = Of::<T> { variable, interest: Interest::new(needs) };
        if let Some(index) = publish_one(variable.name, registry.add_pvar(spec, of)) {
            categories.add(topic, Member::Pvar(index));
        }
    }
}
