//! Statuses: objects in the program's own memory.
#![allow(unsafe_code)]

use std::ffi::c_int;

use mpi_abi::{Abi, AbiKind, Mpich, OpenMpi, Standard};
use mpiscope_debug_interfaces::extended::{StatusExtra, flag};
use mpiscope_debug_interfaces::handles::code;
use mpiscope_debug_interfaces::mqs::{ImageInfo, MqsImage, MqsProcess, ProcessInfo, TAddr};
use mpiscope_image::layout::SectionKind;
use mpiscope_image::traffic::Traffic;
use mpiscope_job::model::objects::{Datatype, Reader, TypeMap};
use mpiscope_target::{ByteOrder, Target};

use crate::answer::bits;
use crate::context::{Code, Context, Seen, guarded};

/// Returns the content of the status at an address.
///
/// # Safety
/// The pointers must be the debugger's; `info` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mpidbg_status_extra_query(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_status: TAddr,
    info: *mut *mut StatusExtra,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    // SAFETY: the contract of this function.
    unsafe { context.answer(info, |reader, target, _| read_status(reader, target, c_status)) }
}

/// Returns how much of a datatype the message of a status contained: whole elements (−1 if that is not a
/// whole number), and elements of basic types.
///
/// # Safety
/// The pointers must be the debugger's; `count` and `elements` are null or writable.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)] // Required by the interface.
pub unsafe extern "C" fn mpidbg_status_elements(
    image: *mut MqsImage,
    image_info: *mut ImageInfo,
    process: *mut MqsProcess,
    process_info: *mut ProcessInfo,
    c_status: TAddr,
    c_datatype: TAddr,
    count: *mut i64,
    elements: *mut i64,
) -> c_int {
    let context = Context { image, image_info, process, process_info };
    guarded(|| {
        let (whole, all) = context.look(|reader, target| {
            let status = read_status(reader, target, c_status)?;
            if status.sx_bitflags & flag::BYTES_KNOWN == 0 {
                return Err(Code(code::UNAVAILABLE));
            }
            let datatype: Datatype = reader.get(c_datatype)?;
            let size = datatype.size.ok_or(Code(code::UNAVAILABLE))?;
            let all = intrinsic_elements(&datatype.type_map, size, status.sx_bytes)?;
            let whole = match size {
                0 => 0,
                size if status.sx_bytes.is_multiple_of(size) => (status.sx_bytes / size).cast_signed(),
                _ => -1,
            };
            Ok((whole, all.cast_signed()))
        })?;
        for (to, value) in [(count, whole), (elements, all)] {
            if !to.is_null() {
                // SAFETY: the contract of this function.
                unsafe { to.write(value) };
            }
        }
        Ok(())
    })
}

/// Returns the number of basic elements in the first `bytes` bytes of a message with this type map; `size` is
/// that of the whole map.
fn intrinsic_elements(map: &TypeMap, size: u64, bytes: u64) -> Result<u64, Code> {
    if map.cut || map.incomplete {
        return Err(Code(code::UNAVAILABLE));
    }
    if size == 0 {
        return Ok(0);
    }
    let in_one: u64 = map.runs.iter().map(|run| run.count).fold(0, u64::saturating_add);
    let (mut elements, mut rest) = ((bytes / size).saturating_mul(in_one), bytes % size);
    for run in &map.runs {
        let fit = rest.checked_div(run.size).unwrap_or(0).min(run.count);
        elements = elements.saturating_add(fit);
        rest = if fit == run.count { rest - fit.saturating_mul(run.size) } else { 0 };
    }
    Ok(elements)
}

/// Reads a status. Fails with `NOT_FOUND` if there cannot be one (`MPI_STATUS_IGNORE`, a stray pointer).
pub fn read_status(
    reader: &Reader<'_, Seen<'_>>,
    target: &dyn Target,
    address: TAddr,
) -> Result<StatusExtra, Code> {
    match reader.abi() {
        AbiKind::MPICH => status_of::<Mpich>(reader, target, address),
        AbiKind::OPENMPI => status_of::<OpenMpi>(reader, target, address),
        AbiKind::STANDARD => status_of::<Standard>(reader, target, address),
        _ => Err(Code(code::UNAVAILABLE)),
    }
}

fn status_of<A: Abi>(
    reader: &Reader<'_, Seen<'_>>,
    target: &dyn Target,
    address: TAddr,
) -> Result<StatusExtra, Code> {
    if address == A::STATUS_IGNORE as u64 || address == A::STATUSES_IGNORE as u64 || address == 0 {
        return Err(Code(code::NOT_FOUND));
    }
    let mut bytes = vec![0; A::STATUS_SIZE];
    target.read(address, &mut bytes).map_err(|_| Code(code::NOT_FOUND))?;
    let word = |at: usize| {
        let bytes = bytes.get(at..at.saturating_add(4)).unwrap_or_default();
        target.byte_order().number(bytes) as u32
    };
    // The private part is decoded in this host's byte order.
    let same = target.byte_order() == ByteOrder::HOST;
    let size =
        A::status_bytes(&bytes).filter(|_| same).or_else(|| learned_size(reader, A::STATUS_SIZE, word));
    let cancelled = A::status_cancelled(&bytes).filter(|_| same);
    let flags = [(size.is_some(), flag::BYTES_KNOWN), (cancelled == Some(true), flag::CANCELLED)];
    Ok(StatusExtra {
        sx_struct_size: size_of::<StatusExtra>() as u32,
        sx_bitflags: bits(&flags),
        sx_address: address,
        sx_source: word(A::STATUS_SOURCE).cast_signed(),
        sx_tag: word(A::STATUS_TAG).cast_signed(),
        sx_error: word(A::STATUS_ERROR).cast_signed(),
        sx_reserved: 0,
        sx_bytes: size.unwrap_or(0),
    })
}

/// Returns the size, if the layer has found out where the library stores it.
fn learned_size(reader: &Reader<'_, Seen<'_>>, len: usize, word: impl Fn(usize) -> u32) -> Option<u64> {
    let totals = reader.image().table::<Traffic>(SectionKind::TRAFFIC).ok()?;
    let facts = reader.image().get::<Traffic>(&totals, 0).ok()?.value;
    let at = |index: usize| index.checked_mul(4).filter(|at| at + 4 <= len);
    let low = at(usize::try_from(facts.status_word.get().checked_sub(1)?).ok()?)?;
    let plain = facts.status_plain.iter().enumerate();
    let mut rest = plain.filter(|(index, _)| facts.status_rest.get() >> (index & 31) & 1 != 0);
    rest.all(|(index, plain)| at(index).is_some_and(|at| word(at) == plain.get()))
        .then(|| u64::from(word(low)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::model::objects::typemap::Run;

    #[test]
    fn only_whole_elements_of_a_partial_type_are_counted() {
        let run = |count, size| Run { datatype: "MPI_INT".into(), displacement: 0, count, size };
        let map = TypeMap { runs: vec![run(2, 4), run(1, 8)], ..TypeMap::default() };
        let elements = |bytes| intrinsic_elements(&map, 16, bytes).unwrap();
        assert_eq!([0, 3, 4, 8, 15, 16, 20, 24, 40].map(elements), [0, 0, 1, 2, 2, 3, 4, 5, 8]);
        let cut = TypeMap { cut: true, ..map };
        assert_eq!(intrinsic_elements(&cut, 16, 4), Err(Code(code::UNAVAILABLE)));
    }
}
