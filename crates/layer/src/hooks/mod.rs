//! The hooks: one generic function for each MPI function, which defines what happens around it.
//!
//! `generated/hooks.rs` invokes `hook!` for every function, or `rare_hook!` for those that are rarely called
//! or take long. The overlays `hooks/*.tsv` name functions of this crate to run `before` (they may change the
//! arguments) and `after` (they see the result).
//!
//! Functions with identical hooks share one: a function and its large-count variant, and others that do the
//! same with their arguments. The gate knows which function was called, and its number determines the width
//! of its counts. Arguments that such a hook does not use are passed through as words. The most frequently
//! called functions have separate hooks.
#![allow(unsafe_code, non_snake_case, unused_mut)]
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc, clippy::useless_conversion)]

use crate::debugger;
use crate::interpose::callbacks;
use crate::interpose::frame::{Call, LookUp, Word, handle_word};
use crate::interpose::tls::Tls;
use crate::record::counts::Width;
use crate::record::{bytes, objects, observe, traffic};
use mpi_abi::{Abi, Handle, f};
use std::ffi::{c_char, c_int, c_void};

mod composition;
mod lifecycle;

/// Stores one recorded argument: handles zero-extended, integers sign-extended.
macro_rules! note {
    ($call:ident, object, $e:expr) => {
        $call.object.set(handle_word($e))
    };
    ($call:ident, datatype, $e:expr) => {
        $call.datatype.set(handle_word($e))
    };
    ($call:ident, request, $e:expr) => {
        $call.request.set(handle_word($e))
    };
    ($call:ident, message, $e:expr) => {
        $call.request.set(handle_word($e))
    };
    ($call:ident, other, $e:expr) => {
        $call.extra[0].set(handle_word($e))
    };
    ($call:ident, leader, $e:expr) => {
        $call.extra[1].set($e.word())
    };
    ($call:ident, extra0, $e:expr) => {
        $call.extra[0].set($e.word())
    };
    ($call:ident, extra1, $e:expr) => {
        $call.extra[1].set($e.word())
    };
    ($call:ident, op, $e:expr) => {
        $call.extra[2].set(handle_word($e))
    };
    ($call:ident, $field:ident, $e:expr) => {
        $call.$field.set($e.word())
    };
}

/// The handle that a parameter points to.
#[inline(always)]
fn at<H: Handle>(pointer: *const H) -> H {
    // SAFETY: the standard requires the parameter to point to a handle; null is checked.
    unsafe { pointer.as_ref() }.map_or(H::from_raw(0), |handle| *handle)
}

/// Number of bytes the call's arguments describe.
macro_rules! bytes {
    () => {
        0
    };
    (both ways $($bytes:tt)*) => {
        bytes!($($bytes)*).wrapping_mul(2)
    };
    (1 * $d:ident) => {
        bytes::elements::<A>(1, $d)
    };
    ($n:ident * $d:ident) => {
        bytes::elements::<A>(i64::from($n), $d)
    };
    (if takes_part($root:ident) { $($bytes:tt)* }) => {
        if bytes::takes_part::<A>($root) { bytes!($($bytes)*) } else { 0 }
    };
    (if has_a_part($root:ident) { $($bytes:tt)* }) => {
        if bytes::has_a_part::<A>($root) { bytes!($($bytes)*) } else { 0 }
    };
    (in_place($buffer:ident, $($named:tt)*) or $($bytes:tt)*) => {
        if $buffer.addr() == A::IN_PLACE { bytes!($($named)*) } else { bytes!($($bytes)*) }
    };
    ($n:ident * $d:ident * $of:ident($c:ident)) => {
        bytes::elements::<A>(i64::from($n), $d).wrapping_mul(bytes::$of::<A>($c))
    };
    (own($n:ident, $d:ident, $c:ident)) => {
        // SAFETY: the standard requires an element for each rank.
        unsafe { bytes::own::<A>($n.into(), $d, $c) }
    };
    (to_neighbors($n:ident, $d:ident, $c:ident)) => {
        // SAFETY: the standard requires an element for each neighbor.
        unsafe { bytes::to_neighbors::<A>($n.into(), $d, $c) }
    };
    (to_neighbors_w($n:ident, $d:ident, $c:ident)) => {
        // SAFETY: as above.
        unsafe { bytes::to_neighbors_w::<A>($n.into(), $d, $c) }
    };
    (vector($n:ident, $d:ident, $of:ident($c:ident))) => {
        // SAFETY: the standard requires an element for each rank.
        unsafe { bytes::vector::<A>($n.into(), $d, bytes::$of::<A>($c)) }
    };
    (vector_w($n:ident, $d:ident, $of:ident($c:ident))) => {
        // SAFETY: as above.
        unsafe { bytes::vector_w::<A>($n.into(), $d, bytes::$of::<A>($c)) }
    };
}

/// Calls the functions that run before the library's: with all arguments as `&mut`, or with those that the
/// overlay lists.
macro_rules! before {
    ([] $($rest:tt)*) => {};
    ([($($path:ident)::+ ($($given:tt)*)) $($more:tt)*] ($call:expr) $($argument:expr),*) => {
        $($path)::+::<A>($call, $($given)*);
        before!([$($more)*] ($call) $($argument),*);
    };
    ([($($path:tt)+) $($more:tt)*] ($call:expr) $($argument:expr),*) => {
        $($path)+::<A>($call, $($argument),*);
        before!([$($more)*] ($call) $($argument),*);
    };
}

/// Calls the functions that run after the library's: with all arguments, or with those that the overlay
/// lists.
macro_rules! after {
    ([] $($rest:tt)*) => {};
    ([($($path:ident)::+ ($($given:tt)*)) $($more:tt)*] ($call:expr, $result:expr) $($argument:expr),*) => {
        $($path)::+::<A>($call, $result, $($given)*);
        after!([$($more)*] ($call, $result) $($argument),*);
    };
    ([($($path:tt)+) $($more:tt)*] ($call:expr, $result:expr) $($argument:expr),*) => {
        $($path)+::<A>($call, $result, $($argument),*);
        after!([$($more)*] ($call, $result) $($argument),*);
    };
}

/// The function that was called: the hook's only one, or the one the gate has stored.
macro_rules! function {
    ($name:ident) => {
        f::$name
    };
    ($name:ident $($also:ident)+) => {
        Tls::get().function()
    };
}

/// Ends a call: of the hook's only function, of which much is known when the hook is compiled, or of one of
/// several.
macro_rules! leave {
    ($name:ident [] $call:expr, $result:expr) => {
        observe::leave($call, f::$name, $result)
    };
    ($name:ident [$($also:ident)+] $call:expr, $result:expr) => {
        observe::leave_shared($call, $result)
    };
}

/// A count as passed to a shared hook: the word of an `int` or an `MPI_Count`.
type Count = i64;

/// An array of counts as passed to a shared hook.
type Vector = *const c_void;

macro_rules! hook {
    (
        sizes $sizes:ident
        $name:ident ($($p:ident : $t:ty),*)
        $( also { $($also:ident),* } counts { $($count:ident),* } vectors { $($vector:ident),* } )?
        note { $($field:ident : $value:expr),* }
        bytes { $($bytes:tt)* }
        before { $( $( $before:ident )::+ $( ( $($with_before:tt)* ) )? ),* }
        after { $( $( $after:ident )::+ $( ( $($with_after:tt)* ) )? ),* }
    ) => {
        pub unsafe extern "C" fn $name<A: Abi>($(mut $p: $t),*) -> c_int {
            #[allow(unused_imports)]
            use bytes::$sizes as bytes;
            let call = Call::<A>::enter(function!($name $($($also)*)?));
            $(
                #[allow(unused_variables)]
                let width = Width::of(call.function());
                $( let mut $count = width.count($count); )*
            )?
            call.publish(|_current| { $( note!(_current, $field, $value); )* });
            observe::call_started(&call);
            {
                $($( #[allow(unused_variables)] let mut $vector = width.counts($vector); )*)?
                before!([$( ($($before)::+ $( ($($with_before)*) )?) )*] (&call) $(&mut $p),*);
            }
            // SAFETY: the type is the function's; the arguments are the program's.
            let result = unsafe { call.real::<unsafe extern "C" fn($($t),*) -> c_int>()($($p),*) };
            $($( #[allow(unused_variables)] let $vector = width.counts($vector); )*)?
            // After a failed call the arguments may be invalid and must not be read.
            if result == A::SUCCESS {
                call.name_bytes(bytes!($($bytes)*));
            }
            after!([$( ($($after)::+ $( ($($with_after)*) )?) )*] (&call, result) $($p),*);
            leave!($name [$($($also)*)?] &call, result);
            result
        }

        $($( pub use self::$name as $also; )*)?
    };
}

/// A hook with its frame out of line: a third of the size.
macro_rules! rare_hook {
    (
        $name:ident ($($p:ident : $t:ty),*)
        $( also { $($also:ident),* } counts { $($count:ident),* } vectors { $($vector:ident),* } )?
        note { $($field:ident : $value:expr),* }
        bytes { $($bytes:tt)* }
        before { $( $( $before:ident )::+ $( ( $($with_before:tt)* ) )? ),* }
        after { $( $( $after:ident )::+ $( ( $($with_after:tt)* ) )? ),* }
    ) => {
        pub unsafe extern "C" fn $name<A: Abi>($(mut $p: $t),*) -> c_int {
            #[allow(unused_imports)]
            use bytes::outlined as bytes;
            let call = Call::<A>::enter_rare(function!($name $($($also)*)?));
            $(
                #[allow(unused_variables)]
                let width = Width::of(call.function());
                $( let mut $count = width.count($count); )*
            )?
            let _current = &call.thread().call;
            $( note!(_current, $field, $value); )*
            observe::started_rare(call.thread(), call.function(), call.since);
            {
                $($( #[allow(unused_variables)] let mut $vector = width.counts($vector); )*)?
                before!([$( ($($before)::+ $( ($($with_before)*) )?) )*] (&call) $(&mut $p),*);
            }
            // SAFETY: the type is the function's; the arguments are the program's.
            let result = unsafe { call.real::<unsafe extern "C" fn($($t),*) -> c_int>()($($p),*) };
            $($( #[allow(unused_variables)] let $vector = width.counts($vector); )*)?
            // After a failed call the arguments may be invalid and must not be read.
            if result == A::SUCCESS {
                call.name_bytes(bytes!($($bytes)*));
            }
            after!([$( ($($after)::+ $( ($($with_after)*) )?) )*] (&call, result) $($p),*);
            let (since, until) = call.times();
            observe::leave_rare::<A>(call.thread(), call.function(), since, until, call.bytes(), result);
            result
        }

        $($( pub use self::$name as $also; )*)?
    };
}

/// The object among a call's recorded arguments; zero if there is none.
macro_rules! object {
    () => {
        0
    };
    (object : $e:expr $(, $($rest:tt)*)?) => {
        handle_word($e)
    };
    ($field:ident : $e:expr $(, $($rest:tt)*)?) => {
        object!($($($rest)*)?)
    };
}

/// The hook of a function that only looks something up. Reading the clock would be most of its cost. The call
/// is counted before the library's function runs, so that only the result has to be kept. The usual case of
/// frequently called functions is inline; everything else continues in a function with the same arguments, so
/// that none has to be saved. The hook is shared, so pointers that it does not use are passed without their
/// type.
macro_rules! look_up_hook {
    (
        $name:ident ($($p:ident : $t:ty),*)
        frequent $frequent:literal
        note { $($note:tt)* }
        recorded $recorded:ident ($($argument:expr),*)
    ) => {
        pub unsafe extern "C" fn $name<A: Abi>($($p: $t),*) -> c_int {
            if $frequent && observe::look_ups_are_counted_only() {
                let call = LookUp::open();
                if observe::looked_up(&call, f::$name, object!($($note)*)) {
                    // SAFETY: the type is the function's; the arguments are the program's.
                    let result = unsafe { call.real::<unsafe extern "C" fn($($t),*) -> c_int>()($($p),*) };
                    call.close();
                    return result;
                }
            }
            // SAFETY: as above.
            unsafe { $recorded::<A>($($argument),*) }
        }
    };
}

/// Continuation of look-ups that are unusual or rarely called.
macro_rules! recorded_look_up {
    (
        $name:ident ($($p:ident : $t:ty),*)
        note { $($note:tt)* }
    ) => {
        #[inline(never)]
        unsafe extern "C" fn $name<A: Abi>($($p: $t),*) -> c_int {
            let function = Tls::get().function();
            let opened = observe::begin_look_up(function, object!($($note)*));
            let call = LookUp::open();
            if let Some(thread) = opened.thread {
                let _current = &thread.call;
                note_all!(_current, $($note)*);
                observe::started_rare(thread, function, opened.since);
            }
            // SAFETY: the types have the layout of the function's; the arguments are the program's.
            let result = unsafe { call.real::<unsafe extern "C" fn($($t),*) -> c_int>()($($p),*) };
            observe::end_look_up::<A>(opened, function, result);
            result
        }
    };
}

/// Stores all recorded arguments of a call.
macro_rules! note_all {
    ($call:ident, $($field:ident : $value:expr),*) => {
        $( note!($call, $field, $value); )*
    };
}

include!("../generated/hooks.rs");

/// `MPI_Pcontrol` has a separate entry ([`crate::interpose::arch::pcontrol`]) and never goes through the
/// gate.
pub unsafe extern "C" fn MPI_Pcontrol<A: Abi>() -> c_int {
    A::SUCCESS
}
