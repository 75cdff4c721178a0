//! x86-64, System V calling convention.
//!
//! Between the program's call and the hook, only `r10`, `r11` and `rax` are modified: scratch registers that
//! carry no arguments of functions with a fixed parameter list. (`MPI_Pcontrol`, for which `rax` holds the
//! number of vector registers, has a separate entry.) `r11` carries the slot number from the stub to the gate
//! and the resolver.
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

/// Address of this thread's block.
#[inline(always)]
pub fn tls_address() -> *const u8 {
    let address: *const u8;
    // SAFETY: reads the thread pointer and the constant offset of the block; accesses nothing else.
    unsafe {
        asm!(
            "mov {0}, qword ptr [rip + mpiscope_tls_block@GOTTPOFF]",
            "add {0}, qword ptr fs:[0]",
            out(reg) address,
            options(pure, readonly, nostack),
        );
    }
    address
}

/// Prefetches the cache line at an address that will be used soon. Any address is allowed.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction exists on every x86-64 processor and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Defines an exported function that jumps to the target of slot `$slot` of `ENTRY`.
macro_rules! export_stub {
    ($name:ident, $slot:expr) => {
        #[allow(non_snake_case, missing_docs)]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            ::std::arch::naked_asm!(
                "mov r11d, {slot}",
                "jmp qword ptr [rip + {entry} + 8 * {slot}]",
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
                "mov r10, qword ptr [rip + mpiscope_tls_block@GOTTPOFF]",
                "cmp dword ptr fs:[r10 + {depth}], 0",
                "jne 2f",
                "mov rax, qword ptr [rsp]",
                "mov qword ptr fs:[r10 + {return_address}], rax",
                "lea rax, [rsp + 8]",
                "mov qword ptr fs:[r10 + {stack_pointer}], rax",
                "2:",
                "jmp {body}",
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
macro_rules! export_at_relocation {
    ($body:path) => {
        ::std::arch::global_asm!(
            ".pushsection .text.mpiscope_at_relocation,\"ax\",@progbits",
            ".globl mpiscope_at_relocation",
            ".hidden mpiscope_at_relocation",
            ".type mpiscope_at_relocation,@gnu_indirect_function",
            "mpiscope_at_relocation: jmp {body}",
            ".size mpiscope_at_relocation, . - mpiscope_at_relocation",
            ".popsection",
            body = sym $body,
        );
        #[used]
        static AT_RELOCATION: unsafe extern "C" fn() = {
            unsafe extern "C" {
                fn mpiscope_at_relocation();
            }
            mpiscope_at_relocation
        };
    };
}
pub(crate) use export_at_relocation;

/// Start-up code calls `__gmon_start__` through the same location from which it reads the address.
pub const ASKS_TWICE: bool = false;

/// Whether a relocation of this kind fills in the address of a symbol: `R_X86_64_64`, `_GLOB_DAT`, `_JUMP_SLOT`.
pub fn binds_an_address(kind: u32) -> bool {
    matches!(kind, 1 | 6 | 7)
}

/// Makes the system call `mprotect`.
pub fn mprotect(start: usize, len: usize, rights: i32) -> bool {
    let mut result = libc::SYS_mprotect;
    // SAFETY: the caller owns the pages; the kernel changes only these registers.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") start,
            in("rsi") len,
            in("rdx") i64::from(rights),
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
    result == 0
}

/// Calls a function with one argument, passed in `rax`, and preserves `r11` and the arguments of the
/// program's call.
macro_rules! aside {
    ($function:literal) => {
        concat!(
            "push rbp\n",
            ".cfi_adjust_cfa_offset 8\n",
            ".cfi_rel_offset rbp, 0\n",
            "mov rbp, rsp\n",
            ".cfi_def_cfa_register rbp\n",
            "push rdi\n push rsi\n push rdx\n push rcx\n push r8\n push r9\n push r11\n",
            // Keeps the stack aligned to 16 bytes: eight words and the return address are on it.
            "sub rsp, 8\n",
            "mov rdi, rax\n",
            "call {",
            $function,
            "}\n",
            "add rsp, 8\n",
            "pop r11\n pop r9\n pop r8\n pop rcx\n pop rdx\n pop rsi\n pop rdi\n",
            "pop rbp\n",
            ".cfi_def_cfa rsp, 8",
        )
    };
}

/// The target of slots that have a hook: jumps to the library inside a call, and to the hook otherwise.
/// `between` runs on the way to the hook, and must preserve `r11` and the arguments.
///
/// Calls made by the library are deeper in the stack than the open call. A call that is not shows that the
/// program has left the open one, by `longjmp` or an exception.
///
/// The depth is raised before anything is stored, and the stack pointer, which is zero until then, is stored
/// next: a signal handler may call MPI between any two instructions here, and must not change which function
/// the hook finds.
macro_rules! gate {
    ($(#[$doc:meta])* $name:ident between { $($between:expr,)* } $($operand:ident = sym $path:path)?) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "3:",
                "mov r10, qword ptr [rip + mpiscope_tls_block@GOTTPOFF]",
                "lea rax, [rsp + 8]",
                "cmp dword ptr fs:[r10 + {depth}], 0",
                "jne 2f",
                "mov dword ptr fs:[r10 + {depth}], 1",
                "mov qword ptr fs:[r10 + {stack_pointer}], rax",
                "mov dword ptr fs:[r10 + {slot}], r11d",
                "mov rax, qword ptr [rsp]",
                "mov qword ptr fs:[r10 + {return_address}], rax",
                $($between,)*
                "shr r11d, 1",
                "lea rax, [rip + {hook}]",
                "jmp qword ptr [rax + 8 * r11]",
                "2:",
                "cmp rax, qword ptr fs:[r10 + {stack_pointer}]",
                "jae 5f",
                "4:",
                "lea rax, [rip + {real}]",
                "jmp qword ptr [rax + 8 * r11]",
                "5:",
                aside!("left"),
                "test eax, eax",
                "jne 3b",
                "jmp 4b",
                ".cfi_endproc",
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
    /// `gate` for a process that may call through a binding of another language: also looks up the
    /// program's call site.
    gate_of_bindings between { "mov rax, rbp", aside!("see_through"), }
    see_through = sym crate::interpose::upcalls::see_through_binding
}

/// Initial target of every slot: saves the arguments, fills the slots, and jumps again.
#[unsafe(naked)]
pub unsafe extern "C" fn resolver() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "mov rbp, rsp",
        ".cfi_def_cfa rbp, 16",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax", "push r11",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov rdi, r11",
        "call {resolve}",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "mov r10, rax",
        "pop r11", "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "pop rbp",
        "jmp r10",
        ".cfi_endproc",
        resolve = sym crate::interpose::resolver::resolve_slot,
    )
}

/// Entry of `MPI_Pcontrol`, whose further arguments are unknown: reads the level and passes everything on.
#[unsafe(naked)]
pub unsafe extern "C" fn pcontrol() {
    naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_adjust_cfa_offset 8",
        "mov rbp, rsp",
        ".cfi_def_cfa rbp, 16",
        "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax", "push r11",
        "sub rsp, 128",
        "movups [rsp], xmm0", "movups [rsp + 16], xmm1", "movups [rsp + 32], xmm2", "movups [rsp + 48], xmm3",
        "movups [rsp + 64], xmm4", "movups [rsp + 80], xmm5", "movups [rsp + 96], xmm6", "movups [rsp + 112], xmm7",
        "mov rsi, qword ptr [rbp + 8]",
        "lea rdx, [rbp + 16]",
        "mov rcx, qword ptr [rbp]",
        "call {observe}",
        "movups xmm0, [rsp]", "movups xmm1, [rsp + 16]", "movups xmm2, [rsp + 32]", "movups xmm3, [rsp + 48]",
        "movups xmm4, [rsp + 64]", "movups xmm5, [rsp + 80]", "movups xmm6, [rsp + 96]", "movups xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r11", "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
        "pop rbp",
        "lea r10, [rip + {real}]",
        "jmp qword ptr [r10 + 8 * r11]",
        ".cfi_endproc",
        observe = sym crate::interpose::upcalls::observe_pcontrol,
        real = sym REAL,
    )
}

/// Body of all trampolines: calls user function number `r11` with a fresh depth.
///
/// Up to six register arguments are passed through unchanged, and two more on the stack: a Fortran attribute
/// copy function has seven. The previous depth and callback stack are saved on the stack, and so is the call
/// site of the call that the user's function interrupts. They are (deliberately) lost if the user's function
/// exits by `longjmp` or an exception: the program is then back in its own code, where depth 0 is right.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_callback() {
    naked_asm!(
        ".cfi_startproc",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_rel_offset rbx, 0",
        "sub rsp, 48",
        ".cfi_adjust_cfa_offset 48",
        // Past the frame, rbx and the return address.
        "mov r10, qword ptr [rsp + 64]",
        "mov qword ptr [rsp], r10",
        "mov r10, qword ptr [rsp + 72]",
        "mov qword ptr [rsp + 8], r10",
        "mov rbx, qword ptr [rip + mpiscope_tls_block@GOTTPOFF]",
        "mov r10, qword ptr fs:[rbx + {callback_stack}]",
        "mov qword ptr [rsp + 16], r10",
        "mov r10d, dword ptr fs:[rbx + {depth}]",
        "mov dword ptr [rsp + 24], r10d",
        "mov r10, qword ptr fs:[rbx + {return_address}]",
        "mov qword ptr [rsp + 32], r10",
        "mov r10, qword ptr fs:[rbx + {stack_pointer}]",
        "mov qword ptr [rsp + 40], r10",
        "mov r10d, dword ptr [rsp + 24]",
        "add dword ptr fs:[rbx + {nested}], r10d",
        "mov qword ptr fs:[rbx + {callback_stack}], rsp",
        // Done last, and first on the way back, so that a signal handler that calls MPI in between does no
        // harm.
        "mov dword ptr fs:[rbx + {depth}], 0",
        "lea r10, [rip + {targets}]",
        "call qword ptr [r10 + 8 * r11]",
        "mov r10d, dword ptr [rsp + 24]",
        "mov r11, qword ptr [rsp + 40]",
        "mov dword ptr fs:[rbx + {depth}], r10d",
        "mov qword ptr fs:[rbx + {stack_pointer}], r11",
        "sub dword ptr fs:[rbx + {nested}], r10d",
        "mov r10, qword ptr [rsp + 32]",
        "mov qword ptr fs:[rbx + {return_address}], r10",
        "mov r10, qword ptr [rsp + 16]",
        "mov qword ptr fs:[rbx + {callback_stack}], r10",
        "add rsp, 48",
        ".cfi_adjust_cfa_offset -48",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
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
        "mov r11d, mpiscope_trampoline",
        "jmp {enter}",
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
