//! Registrations: slots that are never unmapped, in one list per event type.
//!
//! Raisers walk an event type's list without a lock. A slot, once used for an event type, stays in its list
//! and is reused only for it. A thread that runs callbacks of a registration pins its slot; values that the
//! registration's owner replaces meanwhile are kept until no pin is left. See [`crate::state`] for how
//! exactly one thread finishes a freed registration, last. The pins are those of [`crate::spread`], because
//! many threads raise events concurrently.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Hints;
use crate::codes::CbSafety;
use crate::free_list::FreeLink;
use crate::spread::SpreadState;
use crate::table::SlotTable;
use crate::word::{InstanceWord, RegistrationWord};

/// The arguments of an event callback; see [`super::read`] and its siblings for reading the event itself.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// The event instance, valid only during the call and in this thread.
    pub instance: InstanceWord,
    /// The registration that the event is delivered for.
    pub registration: RegistrationWord,
    /// The safety level that the callback must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the callback was registered.
    pub user_data: usize,
}

/// The arguments of a dropped handler.
#[derive(Clone, Copy, Debug)]
pub struct Drops {
    /// Number of events lost since the handler was set or last called; saturates at `i64::MAX`.
    pub count: u64,
    /// The registration that lost them.
    pub registration: RegistrationWord,
    /// The index of the source that dropped them.
    pub source: usize,
    /// The safety level that the handler must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the callback of this safety level was registered.
    pub user_data: usize,
}

/// The arguments of a free-callback.
#[derive(Clone, Copy, Debug)]
pub struct Freed {
    /// The registration, which is no longer valid.
    pub registration: RegistrationWord,
    /// The safety level that the callback must meet now.
    pub safety: CbSafety,
    /// The `user_data` given when the registration was freed.
    pub user_data: usize,
}

/// An event callback.
pub type EventCallback = Box<dyn Fn(Delivery) + Send + Sync>;
/// A dropped handler.
pub type DroppedHandler = Box<dyn Fn(Drops) + Send + Sync>;
/// A free-callback.
pub type FreeCallback = Box<dyn Fn(Freed) + Send + Sync>;

pub(super) struct Callback {
    pub(super) function: EventCallback,
    pub(super) user_data: usize,
}

pub(super) struct FreeRequest {
    pub(super) function: Option<FreeCallback>,
    pub(super) user_data: usize,
}

/// A pointer that readers follow while they hold a pin on its slot.
pub(super) struct Replaceable<T>(AtomicPtr<T>);

impl<T> Default for Replaceable<T> {
    fn default() -> Self {
        Self(AtomicPtr::new(ptr::null_mut()))
    }
}

impl<T> Replaceable<T> {
    #[inline]
    pub(super) fn is_set(&self) -> bool {
        !self.0.load(Ordering::Relaxed).is_null()
    }

    /// Stores another value and returns the old one, which pinned readers may still be using.
    pub(super) fn replace(&self, value: Option<T>) -> Option<Box<T>> {
        let new = value.map_or(ptr::null_mut(), |value| Box::into_raw(Box::new(value)));
        let old = self.0.swap(new, Ordering::SeqCst);
        // SAFETY: a non-null pointer came from `Box::into_raw` above, and the swap has made us its only
        // owner.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl<T> Drop for Replaceable<T> {
    fn drop(&mut self) {
        drop(self.replace(None));
    }
}

pub(super) const LEVELS: usize = 4;

/// The parts that only the owner of a registration touches, under its lock.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "pinned readers use the values where they are")]
pub(super) struct Details {
    pub(super) hints: Hints,
    pub(super) callback_hints: [Hints; LEVELS],
    /// Callbacks that were replaced while another thread held a pin.
    pub(super) old_callbacks: Vec<Box<Callback>>,
    pub(super) old_handlers: Vec<Box<DroppedHandler>>,
}

/// A registration's contribution to the interest in its event type.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Interested {
    /// None: it has no callback, or no longer exists.
    #[default]
    Nothing,
    /// It has callbacks for some objects.
    Of {
        /// The objects' bits.
        bits: u64,
        /// Whether a callback need not be thread-safe.
        in_turn: bool,
    },
}

/// The bit of an object in an event type's set of wanted objects.
#[inline]
pub(super) fn object_bit(object: u64) -> u64 {
    1 << (object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

/// A slot. The fields that raisers read come first, in one cache line.
#[derive(Default)]
#[repr(C, align(64))]
pub(crate) struct Registration {
    pub(super) state: SpreadState,
    /// The next slot in the event type's list; null at the end. Never changes once set.
    pub(super) next: AtomicPtr<Registration>,
    pub(super) object: AtomicU64,
    pub(super) callbacks: [Replaceable<Callback>; LEVELS],
    pub(super) number: AtomicU32,
    pub(super) every_object: AtomicBool,
    pub(super) event: AtomicU32,
    pub(super) dropped_handler: Replaceable<DroppedHandler>,
    pub(super) free_request: Replaceable<FreeRequest>,
    /// Lost events, by source.
    pub(super) lost: SlotTable<AtomicU64>,
    pub(super) details: Mutex<Details>,
    pub(super) free: FreeLink,
    /// This registration's share of the event type's interests; touched only under their lock.
    pub(super) counted: Mutex<Interested>,
}

impl Registration {
    #[inline]
    pub(super) fn matches(&self, object: u64) -> bool {
        self.state.seems_live()
            && (self.every_object.load(Ordering::Relaxed) || self.object.load(Ordering::Relaxed) == object)
    }

    pub(super) fn word(&self, generation: u32) -> RegistrationWord {
        RegistrationWord::new(self.number.load(Ordering::Relaxed) as usize, generation)
    }

    /// The callback of the lowest level that is allowed in this context. The caller holds a pin.
    #[inline]
    pub(super) fn select(&self, context: CbSafety) -> Option<&Callback> {
        let valid = self.callbacks.get(context.0 as usize..)?;
        // SAFETY: set from a box, and dropped only when no pin is left.
        valid.iter().find_map(|callback| unsafe { callback.0.load(Ordering::SeqCst).as_ref() })
    }

    pub(super) fn has_callback(&self) -> bool {
        self.callbacks.iter().any(Replaceable::is_set)
    }

    /// Whether any callback need not be thread-safe.
    fn is_in_turn(&self) -> bool {
        self.callbacks.iter().take(CbSafety::THREAD_SAFE.0 as usize).any(Replaceable::is_set)
    }

    /// The dropped handler. The caller holds a pin.
    pub(super) fn dropped_handler(&self) -> Option<&DroppedHandler> {
        // SAFETY: set from a box, and dropped only when no pin is left.
        unsafe { self.dropped_handler.0.load(Ordering::SeqCst).as_ref() }
    }

    /// The events it is interested in now.
    fn interested(&self) -> Interested {
        if !self.state.seems_live() || !self.has_callback() {
            return Interested::Nothing;
        }
        let bits = match self.every_object.load(Ordering::Relaxed) {
            true => u64::MAX,
            false => object_bit(self.object.load(Ordering::Relaxed)),
        };
        Interested::Of { bits, in_turn: self.is_in_turn() }
    }

    /// Returns the interest counted for it so far and the one to count instead. Under the lock of the event
    /// type's interests.
    pub(super) fn change_of_interest(&self) -> (Interested, Interested) {
        let now = self.interested();
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::replace(&mut *counted, now), now)
    }

    pub(super) fn details(&self) -> MutexGuard<'_, Details> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the free-callback. Called only by the finisher, before [`SpreadState::finish`].
    pub(super) fn call_free_callback(&self, generation: u32, context: CbSafety) {
        // SAFETY: set from a box before the slot was killed, and dropped only after it is finished.
        let Some(request) = (unsafe { self.free_request.0.load(Ordering::Acquire).as_ref() }) else {
            return;
        };
        if let Some(function) = &request.function {
            let registration = self.word(generation);
            function(Freed { registration, safety: context, user_data: request.user_data });
        }
    }

    /// Drops everything left from the former life; the slot is free and belongs to the allocator.
    pub(super) fn clear(&self) {
        self.callbacks.iter().for_each(|callback| drop(callback.replace(None)));
        drop(self.dropped_handler.replace(None));
        drop(self.free_request.replace(None));
        let old = std::mem::take(&mut *self.details());
        drop(old);
    }
}
