//! The library's control variables.
#![allow(unsafe_code)]

use super::native::{self, Object, Word};
use super::{enumeration, gone};
use crate::mpi_t::codes::codes;
use crate::mpi_t::handles::{self, Widening};
use crate::mpi_t::{REGISTRY, bound, values};
use mpi_abi::AbiKind;
use mpit::{Bind, CvarHandle, CvarInfo, CvarProvider, Datatype, Error, Provenance, Result};
use std::ffi::c_int;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Some libraries copy strings without checking the buffer size, so ours is larger than what they report.
const STRING_ROOM: usize = 1 << 16;

/// Appends the variable with this library index and returns our index.
pub fn append(index: c_int, enumerations: &mut enumeration::Known) -> Option<usize> {
    let (mut info, native) = describe(index).ok()?;
    let (datatype, widening) = handles::datatype_of(native.datatype)?;
    info.datatype = datatype;
    info.enumeration = match datatype {
        Datatype::INT => enumerations.get(native.enumeration),
        _ => None,
    };
    let variable = Variable {
        bind: info.bind,
        index,
        widening,
        datatype,
        name: info.name.clone(),
        written: AtomicBool::new(false),
    };
    REGISTRY.add_cvar(info, Shared(Arc::new(variable))).ok()
}

struct Native {
    datatype: u64,
    enumeration: Word,
}

fn describe(index: c_int) -> Result<(CvarInfo, Native)> {
    let numbers = std::cell::Cell::new((0u64, 0usize, [0; 3]));
    let [name, desc] = native::with_strings(|[name, desc]| {
        let (mut datatype, mut enumeration) = (0u64, 0);
        let (mut verbosity, mut bind, mut scope) = (0, 0, 0);
        let ((name, name_len), (desc, desc_len)) = (name.pointers(), desc.pointers());
        // SAFETY: an index below the library's number, and memory for its results.
        unsafe {
            native::cvar_get_info(
                index,
                name,
                name_len,
                &mut verbosity,
                (&raw mut datatype).cast(),
                &mut enumeration,
                desc,
                desc_len,
                &mut bind,
                &mut scope,
            )?;
        }
        numbers.set((datatype, enumeration, [verbosity, bind, scope]));
        Ok(())
    })?;
    let (datatype, enumeration, [verbosity, bind, scope]) = numbers.get();
    let codes = codes();
    let mut info = CvarInfo::new(name, Datatype::INT);
    info.desc = desc;
    info.verbosity = codes.verbosity_of(verbosity);
    info.bind = codes.bind_of(bind);
    info.scope = codes.scope_of(scope);
    info.env = environment(&info.name, &info.desc);
    Ok((info, Native { datatype, enumeration }))
}

/// The environment variable that sets a control variable: if there are several names, the first that is set,
/// else the usual one.
fn environment(name: &str, desc: &str) -> Option<String> {
    let names = environment_names(crate::interpose::resolver::abi()?, name, desc);
    let set = names.iter().find(|name| values::is_set(name));
    set.or_else(|| names.first()).cloned()
}

/// The names that libraries of this ABI read. MPICH accepts three prefixes; Intel MPI has additional names
/// for some variables, which it gives in the description: `@Alias:# I_MPI_…`.
fn environment_names(abi: AbiKind, name: &str, desc: &str) -> Vec<String> {
    if abi == AbiKind::OPENMPI {
        return vec![format!("OMPI_MCA_{name}")];
    }
    let word = name.strip_prefix("MPIR_CVAR_");
    let own = (word.is_some() || name.starts_with("I_MPI_")).then(|| name.to_owned());
    let prefixed = word.into_iter().flat_map(|word| [format!("MPICH_{word}"), format!("MPIR_PARAM_{word}")]);
    let aliases = desc.split("@Alias:#").skip(1).filter_map(|rest| rest.split_whitespace().next());
    own.into_iter().chain(aliases.map(str::to_owned)).chain(prefixed).collect()
}

struct Variable {
    bind: Bind,
    index: c_int,
    widening: Widening,
    datatype: Datatype,
    name: String,
    written: AtomicBool,
}

struct Shared(Arc<Variable>);

impl CvarProvider for Shared {
    fn open(&self, object: u64) -> Result<Box<dyn CvarHandle>> {
        let variable = self.0.clone();
        variable.check()?;
        let object = bound::check(variable.bind, object)?;
        let mut object = Box::new(Object::new(object));
        let (mut handle, mut count) = (0, 0);
        // SAFETY: an index of the library, an object that is kept with the handle, and memory for the
        // results.
        unsafe { native::cvar_handle_alloc(variable.index, object.pointer(), &mut handle, &mut count)? };
        let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(Error::INVALID_HANDLE)?;
        Ok(Box::new(Handle { variable, handle, count, _object: object }))
    }

    fn provenance(&self) -> Provenance {
        // A variable in the environment proves nothing: check what the library says.
        let source = || gone::source(self.0.index).unwrap_or(Provenance::Other);
        if self.0.written.load(Ordering::Relaxed) { Provenance::Written } else { source() }
    }
}

impl Variable {
    /// Checks that the variable and its memory still exist.
    fn check(&self) -> Result<()> {
        let (mut verbosity, none) = (0, ptr::null_mut());
        // SAFETY: an index of the library; unused results are null, as the standard allows.
        unsafe {
            native::cvar_get_info(
                self.index,
                none,
                &mut 0,
                &mut verbosity,
                ptr::null_mut(),
                ptr::null_mut(),
                none,
                &mut 0,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        }
        .map_err(|_| Error::INVALID_HANDLE)?;
        if gone::is_gone(self.index, self.datatype == Datatype::CHAR) {
            Err(Error::INVALID_HANDLE)
        } else {
            Ok(())
        }
    }
}

struct Handle {
    variable: Arc<Variable>,
    handle: Word,
    count: usize,
    /// Libraries keep the address of the object's handle.
    _object: Box<Object>,
}

impl CvarHandle for Handle {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, out: &mut [u8]) -> Result<()> {
        self.variable.check()?;
        if self.variable.datatype == Datatype::CHAR {
            return self.read_string(out);
        }
        // An element has at most 8 bytes.
        let mut values = vec![0u64; self.count];
        // SAFETY: a live handle, and room for the whole value.
        unsafe { native::cvar_read(self.handle, values.as_mut_ptr().cast())? };
        // SAFETY: words as bytes.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), self.count * 8) };
        match self.variable.widening {
            Widening::None => out.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from),
            Widening::Byte => {
                for (to, from) in out.chunks_exact_mut(4).zip(bytes) {
                    to.copy_from_slice(&i32::from(*from).to_ne_bytes());
                }
            }
        }
        Ok(())
    }

    fn write(&self, from: &[u8]) -> Result<()> {
        self.variable.check()?;
        let mut bytes = match self.variable.widening {
            Widening::None => from.to_vec(),
            Widening::Byte => from.chunks_exact(4).map(narrow).collect::<Result<_>>()?,
        };
        bytes.resize(bytes.len().max(self.count * self.variable.datatype.size()), 0);
        // SAFETY: a live handle, and at least as many bytes as its value has.
        unsafe { native::cvar_write(self.handle, bytes.as_ptr().cast())? };
        self.variable.written.store(true, Ordering::Relaxed);
        // The actual value may differ from the one that was written.
        let mut now = vec![0; self.count * self.variable.datatype.size()];
        if self.read(&mut now).is_ok() {
            values::library_written(&self.variable.name, &values::shown(self.variable.datatype, &now));
        }
        Ok(())
    }
}

fn narrow(value: &[u8]) -> Result<u8> {
    let value = value.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes)).ok_or(Error::INVALID)?;
    u8::try_from(value).map_err(|_| Error::INVALID)
}

impl Handle {
    fn read_string(&self, out: &mut [u8]) -> Result<()> {
        let mut room = vec![0u8; STRING_ROOM.max(self.count + 1)];
        // SAFETY: a live handle, and more memory than the library reports that the value needs.
        unsafe { native::cvar_read(self.handle, room.as_mut_ptr().cast())? };
        let length = room.iter().position(|byte| *byte == 0).unwrap_or(0);
        let text = room.get(..length.min(out.len().saturating_sub(1))).unwrap_or_default();
        out.fill(0);
        out.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // When a variable disappears, so do its handles.
        if self.variable.check().is_ok() {
            // SAFETY: a live handle, freed once.
            let _ = unsafe { native::cvar_handle_free(&mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intel_variable_is_set_by_its_own_name_or_the_name_in_its_description() {
        let desc = "Maximum number of threads. @Alias:# I_MPI_ASYNC_PROGRESS_THREADS @Default:# 1";
        let names = environment_names(AbiKind::STANDARD, "MPIR_CVAR_CH4_MAX_PROGRESS_THREADS", desc);
        assert_eq!(names.first().map(String::as_str), Some("MPIR_CVAR_CH4_MAX_PROGRESS_THREADS"));
        assert!(names.contains(&"I_MPI_ASYNC_PROGRESS_THREADS".to_owned()), "{names:?}");
        assert_eq!(
            environment_names(AbiKind::MPICH, "I_MPI_STATS", "@Default:# not defined"),
            ["I_MPI_STATS"]
        );
        let names = environment_names(AbiKind::MPICH, "MPIR_CVAR_X", "");
        assert_eq!(names, ["MPIR_CVAR_X", "MPICH_X", "MPIR_PARAM_X"]);
        let names = environment_names(AbiKind::OPENMPI, "coll_base_verbose", "");
        assert_eq!(names, ["OMPI_MCA_coll_base_verbose"]);
    }
}
