//! Decoding of entries, and the frame of a function of known size.

use super::frame::{Base, Frame, FramePointer};
use super::kept;
use super::owner::Owner;
use super::table::frame_by;

/// Version 1, "zR", units 1 and -8, return address 16, relative addresses of 4 bytes; the frame ends at the
/// stack pointer plus 8, and the return address is 8 bytes before its end: what GCC writes on x86-64.
const COMMON: &[u8] = b"\0\0\0\0\x01zR\0\x01\x78\x10\x01\x1b\x0c\x07\x08\x90\x01\0\0";

/// An entry for a function of 256 bytes with these instructions.
fn own(steps: &[u8]) -> Vec<u8> {
    let mut own = vec![0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
    own.extend(steps);
    own
}

#[cfg(target_arch = "x86_64")]
fn at(steps: &[u8], into: u64) -> Option<u32> {
    let frame = frame_by(COMMON, &own(steps), into)?;
    assert_eq!(frame.returns, 8, "the return address is the last word of the frame");
    (frame.base == Base::Stack).then_some(frame.end)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_size_of_a_frame_follows_from_the_instructions_before_the_call() {
    // After 4 bytes a push (16), after 8 a subtraction (64), at 0x40 remembered and all undone, at 0x44
    // restored.
    let steps = [0x44, 0x0e, 16, 0x86, 2, 0x44, 0x0e, 64, 0x02, 0x38, 0x0a, 0x0e, 8, 0x44, 0x0b];
    let sizes =
        [(0, 8), (3, 8), (4, 16), (7, 16), (8, 64), (0x3f, 64), (0x40, 8), (0x43, 8), (0x44, 64), (0xff, 64)];
    for (into, size) in sizes {
        assert_eq!(at(&steps, into), Some(size), "at {into:#x}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn unoptimized_code_finds_the_end_of_its_frame_from_the_frame_pointer() {
    // Saved by the second byte; the end is relative to it from the fifth on.
    let by_rbp = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6];
    assert_eq!((at(&by_rbp, 0), at(&by_rbp, 1), at(&by_rbp, 4)), (Some(8), Some(16), None));
    let frame = |base, end, pointer| Some(Frame { base, end, returns: 8, pointer });
    let found = |into| frame_by(COMMON, &own(&by_rbp), into);
    assert_eq!(found(0), frame(Base::Stack, 8, FramePointer::Same));
    assert_eq!(found(4), frame(Base::FramePointer, 16, FramePointer::Saved(16)));
    // Computed, then as at the beginning.
    let lost = [0x10, 6, 1, 0x77, 0x44, 0xc6];
    let pointer = |into| Some(frame_by(COMMON, &own(&lost), into)?.pointer);
    assert_eq!((pointer(0), pointer(4)), (Some(FramePointer::Lost), Some(FramePointer::Same)));
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_frame_whose_end_must_be_computed_is_unknown() {
    // Computed, as in the procedure linkage table.
    assert_eq!(at(&[0x0f, 3, 0x77, 8, 0x06], 1), None);
    assert_eq!(
        at(&[0x0f, 3, 0x77, 8, 0x06, 0x44, 0x0c, 7, 32], 4),
        Some(32),
        "relative to the stack pointer again"
    );
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_frame_without_its_return_address_is_unknown() {
    assert_eq!(at(&[0x07, 16], 0), None, "undefined: the outermost function");
    assert_eq!(at(&[0x09, 16, 3], 0), None, "in another register");
    assert_eq!(at(&[0x11, 16, 0x70], 0), None, "beyond the end of the frame");
    assert_eq!(at(&[0x07, 16, 0x44, 0xd0], 4), Some(8), "restored to its initial place");
}

#[test]
fn damaged_entries_yield_nothing() {
    let steps = own(&[0x44, 0x0e, 16]);
    for len in 0..=16 {
        assert_eq!(frame_by(&COMMON[..len], &steps, 4), None, "{len} bytes of the common part");
    }
    for len in 0..13 {
        assert_eq!(frame_by(COMMON, &steps[..len], 4), None, "{len} bytes of the entry");
    }
    for broken in [
        &[0x2d][..],
        &[0x3f],
        &[0x0b],
        &[0x0a; 9],
        &[0x0e],
        &[0x0e, 0xff, 0xff, 0xff, 0xff, 0x7f],
        &[0x0f, 9],
    ] {
        assert_eq!(frame_by(COMMON, &own(broken), 4), None, "{broken:x?}");
    }
    let unknown = |at: usize, byte: u8| {
        let mut common = COMMON.to_vec();
        common[at] = byte;
        frame_by(&common, &steps, 4)
    };
    assert_eq!(unknown(0, 1), None, "not a common part");
    assert_eq!(unknown(4, 2), None, "a version that does not exist");
    assert_eq!(unknown(6, b'S'), None, "the frame that a signal handler returns to");
}

#[test]
fn the_frame_of_an_address_is_the_same_when_asked_again() {
    for _ in 0..2 {
        assert_eq!(kept::of(0x10), kept::Known { frame: None, owner: Owner::UNKNOWN });
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_caller_of_a_function_with_a_frame_of_40_bytes_is_found() {
    let (mut stack, mut behind) = (0, 0);
    // SAFETY: fills the two places and returns.
    let expected = unsafe { marks(&mut stack, &mut behind) };
    for _ in 0..2 {
        assert_eq!(
            kept::of(behind).frame,
            Some(Frame { base: Base::Stack, end: 48, returns: 8, pointer: FramePointer::Same }),
            "40 bytes and the return address"
        );
    }
    // SAFETY: as above.
    let here = || unsafe { marks(&mut 0, &mut 0) };
    assert!(super::code::holds(expected) && super::code::holds(here()));
    assert!(super::code::holds(expected), "the module is remembered");
    assert!(!super::code::holds(&raw const stack as u64) && !super::code::holds(0));
}

/// A function with a frame of 40 bytes: stores its stack pointer and the return address of its call, and
/// returns the word that the frame has for its caller.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn marks(stack: &mut u64, behind: &mut u64) -> u64 {
    std::arch::naked_asm!(
        ".cfi_startproc",
        "sub rsp, 40",
        ".cfi_adjust_cfa_offset 40",
        "mov [rdi], rsp",
        "call {returned}",
        "2:",
        "lea rax, [rip + 2b]",
        "mov [rsi], rax",
        "mov rax, [rsp + 40]",
        "add rsp, 40",
        ".cfi_adjust_cfa_offset -40",
        "ret",
        ".cfi_endproc",
        returned = sym returned,
    )
}

/// Does nothing: leaves all registers alone.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn returned() {
    std::arch::naked_asm!("ret")
}
