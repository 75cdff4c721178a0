//! Variables that are bound to a window: what this process did through it.
#![allow(unsafe_code)]

use super::categories::{Categories, Place};
use super::publish_one;
use crate::objects::windows::WINDOWS;
use crate::tool::bound;
use crate::tool::recording::Interest;
use mpiscope_image::layout::Recording;
use mpiscope_image::objects::{Life, Window};
use mpit::{Bind, Binding, Datatype, Error, Instrument, Member, PvarClass, PvarSpec, Registry, Result};
use std::sync::{Mutex, PoisonError};

/// A window that some variable was bound to. Lives as long as the process.
struct Bound {
    /// Its record, which may become another's when it has been freed.
    window: &'static Window,
    uid: u64,
}

/// The word by which our variables know a window: the address of its [`Bound`].
///
/// # Errors
/// [`Error::INVALID_HANDLE`] if it is none, or was made while objects were not recorded.
pub fn token(handle: u64) -> Result<u64> {
    static KNOWN: Mutex<Vec<&'static Bound>> = Mutex::new(Vec::new());
    bound::check(Bind::MPI_WIN, handle)?;
    let window = WINDOWS.find(handle).ok_or(Error::INVALID_HANDLE)?;
    let uid = window.head.uid.get();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let bound = known.iter().find(|bound| bound.uid == uid).copied().unwrap_or_else(|| {
        let bound: &'static Bound = Box::leak(Box::new(Bound { window, uid }));
        known.push(bound);
        bound
    });
    Ok(std::ptr::from_ref(bound) as u64)
}

/// The window behind a word of [`token`], as long as its record is not another's.
fn window(token: u64) -> Result<&'static Window> {
    // SAFETY: words reach the instruments only from `token`, and what they point to is leaked.
    let bound = unsafe { (token as *const Bound).as_ref() }.ok_or(Error::INVALID_HANDLE)?;
    let head = &bound.window.head;
    let same = head.uid.get() == bound.uid && head.life.get() != Life::EMPTY.0;
    if same { Ok(bound.window) } else { Err(Error::INVALID_HANDLE) }
}

/// Something of a window.
struct OfWindow {
    value: fn(&Window) -> u64,
    interest: Interest,
}

impl Instrument for OfWindow {
    fn bind(&self, object: u64) -> Result<Binding<'_>> {
        window(object).map(|_| Binding::sampled(1))
    }

    fn sample(&self, object: u64, _element: usize) -> Result<u64> {
        window(object).map(self.value)
    }

    fn interest(&self, wanted: bool) {
        self.interest.tell(wanted);
    }
}

/// Name, class, description, and the word of the record.
type Variable = (&'static str, PvarClass, &'static str, fn(&Window) -> u64);

const VARIABLES: [Variable; 5] = [
    ("mpiscope_puts", PvarClass::COUNTER, "MPI_Put and MPI_Rput that this process started", |w| w.puts.get()),
    ("mpiscope_gets", PvarClass::COUNTER, "MPI_Get and MPI_Rget that this process started", |w| w.gets.get()),
    (
        "mpiscope_accumulates",
        PvarClass::COUNTER,
        "MPI_Accumulate and its like, MPI_Fetch_and_op and MPI_Compare_and_swap that this process started",
        |w| w.accumulates.get(),
    ),
    (
        "mpiscope_window_pending",
        PvarClass::LEVEL,
        "Operations that this process has started since the last call that completed all of them",
        |w| w.pending.get(),
    ),
    (
        "mpiscope_window_size",
        PvarClass::SIZE,
        "Bytes of this process's memory; 0 for a dynamic window",
        |w| w.size.get(),
    ),
];

/// Registers the variables.
pub fn publish(registry: &Registry, categories: &mut Categories) {
    for (name, class, desc, value) in VARIABLES {
        let desc = format!("{desc}, by window. Costs nothing beyond the recording of objects");
        let spec = PvarSpec::new(name, class, Datatype::UNSIGNED_LONG_LONG).desc(desc).bind(Bind::MPI_WIN);
        let of_window = OfWindow { value, interest: Interest::new(Recording::OBJECTS.0) };
        if let Some(index) = publish_one(name, registry.add_pvar(spec, of_window)) {
            categories.add(Place::RMA, Member::Pvar(index));
        }
    }
}
