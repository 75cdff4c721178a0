//! AArch64, AAPCS64. Tested under an emulator only (`cargo xtask aarch64`); see the README's table of
//! platforms.
//!
//! Between the program's call and the hook, only `x9` to `x12`, `x16` and `x17` are modified: scratch
//! registers that carry no arguments. `x9` carries the slot number from the stub to the gate and the
//! resolver.
#![allow(unsafe_code)]

use crate::interpose::slots::{HOOK, REAL};
use crate::interpose::tls::offset;
use std::arch::{asm, global_asm, naked_asm};

// The thread-local block: 64 zero bytes, accessed through the GOT entry that holds its offset (initial-exec).
global_asm!(
    ".pushsection .tbss.mpiscope,\"awT\",@nobits",
    ".globl mpiscope_tls_block",
    ".hidden mpiscope_tls_block",
    ".type mpiscope_tls_block,@object",
    ".size mpiscope_tls_block,64",
    ".p2align 6",
    "mpiscope_tls_block: .zero 64",
    ".popsection",
);

/// Prefetches the cache line at an address that will be used soon. Any address is allowed.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    // SAFETY: the instruction never faults and has no observable effect.
    unsafe { asm!("prfm pldl1keep, [{0}]", in(reg) address, options(readonly, nostack, preserves_flags)) };
}

/// Address of this thread's block.
#[inline(always)]
pub fn tls_address() -> *const u8 {
    let address: *const u8;
    // SAFETY: reads the thread pointer and the constant offset of the block; accesses nothing else.
    unsafe {
        asm!(
            "adrp {0}, :gottprel:mpiscope_tls_block",
            "ldr {0}, [{0}, :gottprel_lo12:mpiscope_tls_block]",
            "mrs {1}, tpidr_el0",
            "add {0}, {0}, {1}",
            out(reg) address,
            out(reg) _,
            options(pure, readonly, nostack),
        );
    }
    address
}

/// Defines an exported function that jumps to the target of slot `$slot` of the entry table.
macro_rules! export_stub {
    ($name:ident, $slot:expr) => {
        #[allow(non_snake_case, missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                "mov w9, {slot}",
                "adrp x16, {entry}",
                "add x16, x16, :lo12:{entry}",
                "ldr x16, [x16, x9, lsl #3]",
                "br x16",
                slot = const $slot,
                entry = sym $crate::interpose::resolver::ENTRY,
            )
        }
    };
}
pub(crate) use export_stub;

/// Defines an exported function that stores its call site as the gate does, unless a call is open, and
/// continues in `$body`.
macro_rules! export_marked {
    ($name:ident, $body:path) => {
        #[allow(non_snake_case, missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                "adrp x10, :gottprel:mpiscope_tls_block",
                "ldr x10, [x10, :gottprel_lo12:mpiscope_tls_block]",
                "mrs x11, tpidr_el0",
                "add x10, x10, x11",
                "ldr w12, [x10, {depth}]",
                "cbnz w12, 2f",
                "str x30, [x10, {return_address}]",
                "mov x12, sp",
                "str x12, [x10, {stack_pointer}]",
                "2:",
                "b {body}",
                body = sym $body,
                depth = const $crate::interpose::tls::offset::DEPTH,
                return_address = const $crate::interpose::tls::offset::RETURN_ADDRESS,
                stack_pointer = const $crate::interpose::tls::offset::STACK_POINTER,
            )
        }
    };
}
pub(crate) use export_marked;

/// Makes the dynamic linker call `$body` when it relocates this library, using an *indirect function*: the
/// linker calls it to obtain the address.
///
/// On AArch64, glibc calls it when it reaches the relocation in the table, not after all others. A relocation
/// for a function that is only called is placed after those of all functions that this library calls
/// (`memcpy` and the like, which `$body` may need); one for a pointer would be placed before them.
macro_rules! export_at_relocation {
    ($body:path) => {
        ::std::arch::global_asm!(
            ".pushsection .text.mpiscope_at_relocation,\"ax\",@progbits",
            ".globl mpiscope_at_relocation",
            ".hidden mpiscope_at_relocation",
            ".type mpiscope_at_relocation,@gnu_indirect_function",
            "mpiscope_at_relocation: b {body}",
            ".size mpiscope_at_relocation, . - mpiscope_at_relocation",
            ".globl mpiscope_refers_to_at_relocation",
            ".hidden mpiscope_refers_to_at_relocation",
            ".type mpiscope_refers_to_at_relocation,@function",
            "mpiscope_refers_to_at_relocation: b mpiscope_at_relocation",
            ".size mpiscope_refers_to_at_relocation, . - mpiscope_refers_to_at_relocation",
            ".popsection",
            body = sym $body,
        );
        // Never called.
        #[used]
        static AT_RELOCATION: unsafe extern "C" fn() = {
            unsafe extern "C" {
                fn mpiscope_refers_to_at_relocation();
            }
            mpiscope_refers_to_at_relocation
        };
    };
}
pub(crate) use export_at_relocation;

/// Start-up code reads the address of `__gmon_start__` from one location and calls it through another, which
/// is resolved at the call. A definition found for the first must be withdrawn if the second no longer finds
/// it.
pub const ASKS_TWICE: bool = true;

/// Whether a relocation of this kind fills in the address of a symbol: `R_AARCH64_ABS64`, `_GLOB_DAT`, `_JUMP_SLOT`.
pub fn binds_an_address(kind: u32) -> bool {
    matches!(kind, 257 | 1025 | 1026)
}

/// Makes the system call `mprotect`.
pub fn mprotect(start: usize, len: usize, rights: i32) -> bool {
    let mut result = start;
    // SAFETY: the caller owns the pages; the kernel changes only the result's register.
    unsafe {
        asm!(
            "svc 0",
            inlateout("x0") result,
            in("x1") len,
            in("x2") i64::from(rights),
            in("x8") libc::SYS_mprotect,
            options(nostack),
        );
    }
    result == 0
}

/// Calls a function with one argument, passed in `x12`, and preserves `x9` and the arguments of the program's
/// call.
macro_rules! aside {
    ($function:literal) => {
        concat!(
            "stp x29, x30, [sp, #-96]!\n",
            "mov x29, sp\n",
            "stp x0, x1, [sp, #16]\n",
            "stp x2, x3, [sp, #32]\n",
            "stp x4, x5, [sp, #48]\n",
            "stp x6, x7, [sp, #64]\n",
            "stp x8, x9, [sp, #80]\n",
            "mov x0, x12\n",
            "bl {",
            $function,
            "}\n",
            "mov w12, w0\n",
            "ldp x8, x9, [sp, #80]\n",
            "ldp x6, x7, [sp, #64]\n",
            "ldp x4, x5, [sp, #48]\n",
            "ldp x2, x3, [sp, #32]\n",
            "ldp x0, x1, [sp, #16]\n",
            "ldp x29, x30, [sp], #96",
        )
    };
}

/// The target of slots that have a hook: jumps to the library inside a call, and to the hook otherwise.
/// `between` runs on the way to the hook, and must preserve `x9` and the arguments. See the x86-64
/// counterpart.
macro_rules! gate {
    ($(#[$doc:meta])* $name:ident between { $($between:expr,)* } $($operand:ident = sym $path:path)?) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                "3:",
                "adrp x10, :gottprel:mpiscope_tls_block",
                "ldr x10, [x10, :gottprel_lo12:mpiscope_tls_block]",
                "mrs x11, tpidr_el0",
                "add x10, x10, x11",
                "ldr w11, [x10, {depth}]",
                "mov x12, sp",
                "cbnz w11, 2f",
                "mov w11, #1",
                "str w11, [x10, {depth}]",
                "str x12, [x10, {stack_pointer}]",
                "str w9, [x10, {slot}]",
                "str x30, [x10, {return_address}]",
                $($between,)*
                "lsr w9, w9, #1",
                "adrp x12, {hook}",
                "add x12, x12, :lo12:{hook}",
                "ldr x16, [x12, x9, lsl #3]",
                "br x16",
                "2:",
                "ldr x11, [x10, {stack_pointer}]",
                "cmp x12, x11",
                "b.hs 5f",
                "4:",
                "adrp x12, {real}",
                "add x12, x12, :lo12:{real}",
                "ldr x16, [x12, x9, lsl #3]",
                "br x16",
                "5:",
                aside!("left"),
                "cbnz w12, 3b",
                "b 4b",
                $($operand = sym $path,)?
                left = sym crate::interpose::upcalls::is_left,
                real = sym REAL,
                hook = sym HOOK,
                depth = const offset::DEPTH,
                slot = const offset::SLOT,
                return_address = const offset::RETURN_ADDRESS,
                stack_pointer = const offset::STACK_POINTER,
            )
        }
    };
}

gate! {
    /// The gate of most processes.
    gate between {}
}

gate! {
    /// [`gate`] for a process that may call through a binding of another language: also looks up the
    /// program's call site.
    gate_of_bindings between { "mov x12, x29", aside!("see_through"), }
    see_through = sym crate::interpose::upcalls::see_through_binding
}

/// Initial target of every slot: saves the arguments, fills the slots, and jumps again.
#[unsafe(naked)]
pub unsafe extern "C" fn resolver() {
    naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "stp x8, x9, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x9",
        "bl {resolve}",
        "mov x16, x0",
        "ldp q6, q7, [sp, #192]",
        "ldp q4, q5, [sp, #160]",
        "ldp q2, q3, [sp, #128]",
        "ldp q0, q1, [sp, #96]",
        "ldp x8, x9, [sp, #80]",
        "ldp x6, x7, [sp, #64]",
        "ldp x4, x5, [sp, #48]",
        "ldp x2, x3, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        resolve = sym crate::interpose::resolver::resolve_slot,
    )
}

/// Entry of `MPI_Pcontrol`, whose further arguments are unknown: reads the level and passes everything on.
#[unsafe(naked)]
pub unsafe extern "C" fn pcontrol() {
    naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "stp x8, x9, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x1, x30",
        "add x2, sp, #224",
        "ldr x3, [x29]",
        "bl {observe}",
        "ldp q6, q7, [sp, #192]",
        "ldp q4, q5, [sp, #160]",
        "ldp q2, q3, [sp, #128]",
        "ldp q0, q1, [sp, #96]",
        "ldp x8, x9, [sp, #80]",
        "ldp x6, x7, [sp, #64]",
        "ldp x4, x5, [sp, #48]",
        "ldp x2, x3, [sp, #32]",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #224",
        "adrp x16, {real}",
        "add x16, x16, :lo12:{real}",
        "ldr x16, [x16, x9, lsl #3]",
        "br x16",
        observe = sym crate::interpose::upcalls::observe_pcontrol,
        real = sym REAL,
    )
}

/// Body of all trampolines: calls user function number `x9` with a fresh depth. See the x86-64 counterpart.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_callback() {
    naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-64]!",
        ".cfi_def_cfa_offset 64",
        ".cfi_offset x29, -64",
        ".cfi_offset x30, -56",
        "mov x29, sp",
        "stp x19, x20, [sp, #16]",
        ".cfi_offset x19, -48",
        ".cfi_offset x20, -40",
        "adrp x19, :gottprel:mpiscope_tls_block",
        "ldr x19, [x19, :gottprel_lo12:mpiscope_tls_block]",
        "mrs x10, tpidr_el0",
        "add x19, x19, x10",
        "ldr x10, [x19, {callback_stack}]",
        "str x10, [sp, #32]",
        "ldr x10, [x19, {return_address}]",
        "ldr x11, [x19, {stack_pointer}]",
        "stp x10, x11, [sp, #48]",
        "ldr w20, [x19, {depth}]",
        "ldr w10, [x19, {nested}]",
        "add w10, w10, w20",
        "str w10, [x19, {nested}]",
        "mov x10, sp",
        "str x10, [x19, {callback_stack}]",
        // Done last, and first on the way back, so that a signal handler that calls MPI in between does no
        // harm.
        "str wzr, [x19, {depth}]",
        "adrp x10, {targets}",
        "add x10, x10, :lo12:{targets}",
        "ldr x10, [x10, x9, lsl #3]",
        "blr x10",
        "ldp x10, x11, [sp, #48]",
        "str w20, [x19, {depth}]",
        "str x11, [x19, {stack_pointer}]",
        "str x10, [x19, {return_address}]",
        "ldr w10, [x19, {nested}]",
        "sub w10, w10, w20",
        "str w10, [x19, {nested}]",
        "ldr x10, [sp, #32]",
        "str x10, [x19, {callback_stack}]",
        "ldp x19, x20, [sp, #16]",
        "ldp x29, x30, [sp], #64",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        depth = const offset::DEPTH,
        nested = const offset::NESTED,
        callback_stack = const offset::CALLBACK_STACK,
        return_address = const offset::RETURN_ADDRESS,
        stack_pointer = const offset::STACK_POINTER,
        targets = sym crate::interpose::callbacks::TARGETS,
    )
}

/// Maximum number of user functions that can have a trampoline.
pub const TRAMPOLINES: usize = 1024;
/// Bytes from one trampoline to the next.
const TRAMPOLINE_SIZE: usize = 16;

/// The trampolines: each loads its number and jumps to [`enter_callback`].
#[unsafe(naked)]
unsafe extern "C" fn trampolines() {
    naked_asm!(
        ".set mpiscope_trampoline, 0",
        ".rept {count}",
        ".p2align 4",
        "mov w9, mpiscope_trampoline",
        "b {enter}",
        ".set mpiscope_trampoline, mpiscope_trampoline + 1",
        ".endr",
        count = const TRAMPOLINES,
        enter = sym enter_callback,
    )
}

/// Address of trampoline `index`.
pub fn trampoline(index: usize) -> usize {
    (trampolines as *const () as usize).next_multiple_of(TRAMPOLINE_SIZE) + index * TRAMPOLINE_SIZE
}
