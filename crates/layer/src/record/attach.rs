//! Attaches a thread at its first MPI call and detaches it when it ends.
#![allow(unsafe_code)]

use crate::base::{clock, image};
use crate::events;
use crate::interpose::tls::Tls;
use crate::record::local::{self, Local};
use crate::record::{left, observe, sites, threads, trace};
use mpiscope_image::layout::{Loss, State, Thread};
use std::sync::atomic::{AtomicU32, Ordering};

/// The key whose destructor runs when a thread ends; `u32::MAX` until it has been created.
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Creates the key. Called once, after the library has been found.
pub fn start() {
    let mut key: libc::pthread_key_t = 0;
    // SAFETY: `key` is ours; the destructor has the right type.
    if unsafe { libc::pthread_key_create(&mut key, Some(ended)) } == 0 {
        KEY.store(key, Ordering::Release);
    }
}

/// Gives this thread a record. There always is one: if the image has no room it is private memory, whose
/// calls are counted as lost when the thread ends.
#[cold]
pub fn attach(tls: &Tls) -> &'static Thread {
    crate::record::objects::lock::attached();
    let (index, thread) = threads::take().unwrap_or_else(|| (u64::MAX, threads::private()));
    let local: &'static Local = Box::leak(Local::new());
    local.index.store(index, Ordering::Relaxed);
    local.before.set(thread.call.completed.get());
    local.sites.set((index != u64::MAX).then(|| sites::of_thread(index)));
    if index != u64::MAX {
        local.trace.set(trace::of_thread(index));
    }
    // SAFETY: no arguments; this call cannot fail.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    thread.tid.set(tid);
    thread.generation.add_mine(1);
    thread.attached.set(clock::now());
    thread.polls.set(0);
    thread.longest_run.set(0);
    thread.raised.function.set(0);
    thread.interpreter.set(0);
    thread.call.seq.write(|| {
        thread.call.forget();
        thread.call.since.set(clock::now());
    });
    tls.local.set(&raw const local.interrupted);
    tls.thread.set(thread);
    let key = KEY.load(Ordering::Acquire);
    if key != u32::MAX {
        // SAFETY: the key was created by `start`; the value is the record, which is never freed.
        unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(thread).cast()) };
    }
    observe::thread_seen(tid);
    thread
}

/// The thread of `record` has ended. Its counts are kept; another thread may reuse the record.
unsafe extern "C" fn ended(record: *mut libc::c_void) {
    let tls = Tls::get();
    left::ended(tls);
    let in_image = local::index(tls) != u64::MAX;
    if let Some(sites) = local::of(tls).and_then(|local| local.sites.take()) {
        sites::give_back(local::index(tls), sites);
    }
    events::thread_ended();
    let before = local::of(tls).map_or(0, |local| local.before.get());
    tls.thread.set(std::ptr::null());
    let local = tls.local.replace(std::ptr::null());
    if !local.is_null() {
        // SAFETY: `attach` made it from a box; only this thread, which is ending, ever refers to it.
        drop(unsafe { Box::from_raw(local.cast::<Local>().cast_mut()) });
    }
    // SAFETY: `attach` stored a record that is never freed.
    let Some(thread) = (unsafe { record.cast::<Thread>().as_ref() }) else { return };
    if !in_image {
        if let Some(writer) = image::writer() {
            writer.lose(Loss::CALLS, thread.call.completed.get().saturating_sub(before));
        }
        threads::spare(thread);
    } else if let Some(writer) = image::writer()
        && writer.header().state.get() < State::FINALIZED.0
    {
        thread.lived.add_mine(clock::now().saturating_sub(thread.attached.get()));
        thread.tid.atomic().store(0, Ordering::Release);
    }
}
