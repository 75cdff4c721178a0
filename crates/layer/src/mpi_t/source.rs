//! Entry points: event sources (MPI 5.0, section "Event Sources").
#![allow(unsafe_code)]

use super::codes::codes;
use super::{REGISTRY, c, info, library};
use mpit::Error;
use std::ffi::{c_char, c_int, c_void};

c::entry_points! {
    /// Number of sources.
    MPI_T_source_get_num PMPI_T_source_get_num(num_sources: *mut c_int) {
        library::refresh();
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(num_sources, c::int(REGISTRY.source_count())) };
        Ok(())
    }

    /// Describes a source.
    MPI_T_source_get_info PMPI_T_source_get_info(
        source_index: c_int,
        name: *mut c_char,
        name_len: *mut c_int,
        desc: *mut c_char,
        desc_len: *mut c_int,
        ordering: *mut c_int,
        ticks_per_second: *mut i64,
        max_ticks: *mut i64,
        info: *mut c_void,
    ) {
        let source = REGISTRY.source(source_index)?;
        let count = |ticks: u64| i64::try_from(ticks).unwrap_or(i64::MAX);
        // SAFETY: the caller's OUT arguments.
        unsafe {
            c::put_string(source.name(), name, name_len);
            c::put_string(source.desc(), desc, desc_len);
            c::put(ordering, codes().order(source.order()));
            c::put(ticks_per_second, count(source.ticks_per_second()));
            c::put(max_ticks, count(source.max_ticks()));
            info::put(info, source.hints());
        }
        Ok(())
    }

    /// The current time of a source. Async-signal-safe.
    MPI_T_source_get_timestamp PMPI_T_source_get_timestamp(source_index: c_int, timestamp: *mut i64) {
        let now = REGISTRY.source(source_index)?.timestamp()?;
        if timestamp.is_null() {
            return Err(Error::INVALID);
        }
        // SAFETY: the caller's OUT argument.
        unsafe { c::put(timestamp, now.cast_signed()) };
        Ok(())
    }
}
