//! Entry points: categories (MPI 5.0, section "Variable Categorization").
#![allow(unsafe_code)]

use super::{REGISTRY, c, library};
use mpit::Error;
use std::ffi::{c_char, c_int};

c::entry_points! {
    /// Number of categories.
    MPI_T_category_get_num PMPI_T_category_get_num(num_cat: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_cat, c::int(REGISTRY.category_count())) };
        Ok(())
    }

    /// Name, description and numbers of members.
    MPI_T_category_get_info PMPI_T_category_get_info(
        cat_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        num_cvars: *mut c_int,
        num_pvars: *mut c_int,
        num_categories: *mut c_int,
    ) {
        let category = REGISTRY.category(cat_index)?;
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put_string(category.name(), name, name_len);
            c::put_string(category.desc(), desc, desc_len);
            c::put(num_cvars, c::int(category.cvars().len()));
            c::put(num_pvars, c::int(category.pvars().len()));
            c::put(num_categories, c::int(category.categories().len()));
        }
        Ok(())
    }

    /// Number of event types in a category.
    MPI_T_category_get_num_events PMPI_T_category_get_num_events(cat_index: c_int, num_events: *mut c_int) {
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_events, c::int(REGISTRY.category(cat_index)?.events().len())) };
        Ok(())
    }

    /// Index of the category with this name.
    MPI_T_category_get_index PMPI_T_category_get_index(name: *const c_char, cat_index: *mut c_int) {
        if cat_index.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's arguments.
        unsafe {
            let name = c::name(name)?;
            c::put(cat_index, c::int(library::find(|| REGISTRY.category_index(&name))?));
        }
        Ok(())
    }

    /// The control variables in a category.
    MPI_T_category_get_cvars PMPI_T_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        // SAFETY: the caller's array of `len` elements.
        unsafe { c::put_indices(&REGISTRY.category(cat_index)?.cvars(), len, indices) }
    }

    /// The performance variables in a category.
    MPI_T_category_get_pvars PMPI_T_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int) {
        // SAFETY: the caller's array of `len` elements.
        unsafe { c::put_indices(&REGISTRY.category(cat_index)?.pvars(), len, indices) }
    }

    /// The event types in a category.
    MPI_T_category_get_events PMPI_T_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) {
        // SAFETY: the caller's array of `len` elements.
        unsafe { c::put_indices(&REGISTRY.category(cat_index)?.events(), len, indices) }
    }

    /// The categories in a category.
    MPI_T_category_get_categories PMPI_T_category_get_categories(
        cat_index: c_int,
        len: c_int,
        indices: *mut c_int,
    ) {
        // SAFETY: the caller's array of `len` elements.
        unsafe { c::put_indices(&REGISTRY.category(cat_index)?.categories(), len, indices) }
    }

    /// The update number: if it has not changed, nothing was added.
    MPI_T_category_changed PMPI_T_category_changed(update_number: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(update_number, REGISTRY.category_changed()) };
        Ok(())
    }
}
