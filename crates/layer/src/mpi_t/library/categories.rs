//! The library's categories, below a root for all of them. The root also holds variables that the library has
//! put in no category (`I_MPI_STATS` of Intel MPI; those that components of Open MPI have lost), so that a
//! walk through the categories finds all.
#![allow(unsafe_code)]

use super::native;
use crate::mpi_t::REGISTRY;
use crate::record::process;
use mpit::{Member, Result};
use std::cell::Cell;
use std::ffi::c_int;

/// The categories that have been appended.
#[derive(Default)]
pub struct Known {
    root: Option<usize>,
    /// Our index, by the library's index.
    ours: Vec<Option<usize>>,
}

struct Described {
    name: String,
    desc: String,
    members: [c_int; 3],
}

type Members = unsafe fn(c_int, c_int, *mut c_int) -> Result<()>;

impl Known {
    /// Appends new categories, and new members of all categories.
    pub fn append(
        &mut self,
        count: c_int,
        cvars: &[Option<usize>],
        pvars: &[Option<usize>],
        events: &[Option<usize>],
    ) {
        let has_any = [cvars, pvars, events].iter().any(|all| all.iter().any(Option::is_some));
        if (count > 0 || has_any) && self.root.is_none() {
            let name = "MPI library";
            let library = process::record().map(|process| process.library.text().into_owned());
            let desc = format!("Variables of the MPI library itself: {}", library.unwrap_or_default());
            self.root = REGISTRY.add_category(name, &desc).ok();
        }
        let described: Vec<Option<Described>> = (0..count).map(|index| describe(index).ok()).collect();
        self.ours.resize(self.ours.len().max(described.len()), None);
        for (ours, described) in self.ours.iter_mut().zip(&described) {
            if let (None, Some(described)) = (&ours, described) {
                *ours = REGISTRY.add_category(&described.name, &described.desc).ok();
            }
        }
        let mut inner = vec![false; described.len()];
        let mut outside = Outside { cvars: cvars.to_vec(), pvars: pvars.to_vec(), events: events.to_vec() };
        for ((index, ours), described) in (0..).zip(&self.ours).zip(&described) {
            let (Some(ours), Some(described)) = (ours, described) else { continue };
            let [of_cvars, of_pvars, of_categories] = described.members;
            let of_cvars = members(native::category_get_cvars, index, of_cvars);
            let of_pvars = members(native::category_get_pvars, index, of_pvars);
            forget(&mut outside.cvars, &of_cvars);
            forget(&mut outside.pvars, &of_pvars);
            add(*ours, of_cvars, cvars, Member::Cvar);
            add(*ours, of_pvars, pvars, Member::Pvar);
            let mut of_events = 0;
            // SAFETY: a category of the library, and memory for the result; older libraries have no such
            // function.
            if unsafe { native::category_get_num_events(index, &mut of_events) }.is_ok() {
                let of_events = members(native::category_get_events, index, of_events);
                forget(&mut outside.events, &of_events);
                add(*ours, of_events, events, Member::Event);
            }
            let below = members(native::category_get_categories, index, of_categories);
            for child in &below {
                if let Some(inner) = inner.get_mut(*child) {
                    *inner = true;
                }
            }
            add(*ours, below, &self.ours, Member::Category);
        }
        let Some(root) = self.root else { return };
        for (ours, inner) in self.ours.iter().zip(inner) {
            if let (Some(ours), false) = (ours, inner) {
                // A failure would be a bug of ours; the category exists nevertheless.
                let _ = REGISTRY.add_to_category(root, Member::Category(*ours));
            }
        }
        outside.members().for_each(|member| _ = REGISTRY.add_to_category(root, member));
    }
}

/// Our indices of what is in no category of the library, by the library's index.
struct Outside {
    cvars: Vec<Option<usize>>,
    pvars: Vec<Option<usize>>,
    events: Vec<Option<usize>>,
}

impl Outside {
    fn members(self) -> impl Iterator<Item = Member> {
        let cvars = self.cvars.into_iter().flatten().map(Member::Cvar);
        let pvars = self.pvars.into_iter().flatten().map(Member::Pvar);
        cvars.chain(pvars).chain(self.events.into_iter().flatten().map(Member::Event))
    }
}

fn forget(outside: &mut [Option<usize>], members: &[usize]) {
    for member in members {
        if let Some(entry) = outside.get_mut(*member) {
            *entry = None;
        }
    }
}

fn add(category: usize, indices: Vec<usize>, ours: &[Option<usize>], member: fn(usize) -> Member) {
    for index in indices {
        if let Some(Some(index)) = ours.get(index) {
            // Fails only if it would close a cycle, which is the library's error.
            let _ = REGISTRY.add_to_category(category, member(*index));
        }
    }
}

fn members(get: Members, category: c_int, count: c_int) -> Vec<usize> {
    let mut indices = vec![-1; usize::try_from(count).unwrap_or(0)];
    // SAFETY: a category of the library, and an array of the stated length.
    if unsafe { get(category, count, indices.as_mut_ptr()) }.is_err() {
        return Vec::new();
    }
    indices.into_iter().filter_map(|index| usize::try_from(index).ok()).collect()
}

fn describe(index: c_int) -> Result<Described> {
    let numbers = Cell::new([0; 3]);
    let [name, desc] = native::with_strings(|[name, desc]| {
        let [mut cvars, mut pvars, mut categories] = [0; 3];
        let ((name, name_len), (desc, desc_len)) = (name.pointers(), desc.pointers());
        // SAFETY: an index below the library's number, and memory for its results.
        unsafe {
            native::category_get_info(
                index,
                name,
                name_len,
                desc,
                desc_len,
                &mut cvars,
                &mut pvars,
                &mut categories,
            )?;
        }
        numbers.set([cvars, pvars, categories]);
        Ok(())
    })?;
    Ok(Described { name, desc, members: numbers.get() })
}
