//! The variables that this library publishes: the same on every MPI library, with fixed indices, before all
//! others.

mod calls;
mod comm;
mod files;
mod kept;
mod levels;
pub mod objects;
mod posted;
mod process;
mod queue;
mod settings;
mod text;
mod totals;
mod windows;

use super::own_categories::Categories;
use super::{REGISTRY, bound};
use mpiscope_image::objects::{File, Window};
use mpit::Bind;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of our own performance variables.
static PVARS: AtomicUsize = AtomicUsize::new(0);

/// Whether the performance variable with this index is ours.
pub fn is_own_pvar(index: usize) -> bool {
    index < PVARS.load(Ordering::Acquire)
}

/// The token that identifies an object in our variables, in place of its handle.
///
/// # Errors
/// [`mpit::Error::INVALID_HANDLE`] if it is not a live object of this kind.
pub fn token(bind: Bind, handle: u64) -> mpit::Result<u64> {
    match bind {
        Bind::MPI_COMM => bound::token(handle),
        Bind::MPI_WIN => kept::token::<Window>(handle),
        Bind::MPI_FILE => kept::token::<File>(handle),
        _ => Ok(handle),
    }
}

/// Publishes all variables and returns their categories.
pub fn publish() -> Categories {
    let mut categories = Categories::new();
    settings::publish(&REGISTRY, &categories);
    // Single values first, then variables bound to an object, then arrays: some tools print all elements of
    // every variable up to the first that needs an object.
    calls::publish(&REGISTRY, &mut categories);
    process::publish(&REGISTRY, &mut categories);
    levels::publish(&REGISTRY, &mut categories);
    totals::publish(&REGISTRY, &mut categories);
    calls::publish_important(&REGISTRY, &mut categories);
    queue::publish(&REGISTRY, &mut categories);
    comm::publish(&REGISTRY, &mut categories);
    windows::publish(&REGISTRY, &mut categories);
    files::publish(&REGISTRY, &mut categories);
    objects::publish(&REGISTRY, &mut categories);
    calls::publish_arrays(&REGISTRY, &mut categories);
    totals::publish_arrays(&REGISTRY, &mut categories);
    PVARS.store(REGISTRY.pvar_count(), Ordering::Release);
    categories
}
