//! Cost of the calls in nanoseconds each: minimum and median of repeated runs.
//!
//! `cargo run --release -p mpit --example bench`

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use mpit::event::{self, Delivery, EventSpec, Hints, Raiser, SourceSpec};
use mpit::{Bind, CbSafety, Datatype, PvarClass, PvarSpec, Registry, Result};

static REGISTRY: Registry = Registry::new();
const RUNS: usize = 31;
const CALLS: u32 = 100_000;

fn measure(what: &str, mut call: impl FnMut()) {
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                call();
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    let (min, median) = (runs.first().copied(), runs.get(RUNS / 2).copied());
    println!("{what:<46} {:>8.2} {:>8.2}", min.unwrap_or(0.0), median.unwrap_or(0.0));
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has this instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[allow(unsafe_code)]
fn variables() -> Result<()> {
    let total = Arc::new(AtomicU64::new(0));
    let counter = |name: String| PvarSpec::new(name, PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG);
    for i in 0..200 {
        REGISTRY.add_pvar(counter(format!("counter_{i}")), total.clone())?;
    }
    let index = REGISTRY.pvar_index("counter_100", PvarClass::COUNTER)?;
    let session = REGISTRY.pvar_session_create()?;
    let (handle, _) = REGISTRY.pvar_handle_alloc(session, index, 0)?;
    REGISTRY.pvar_start(session, handle)?;
    let mut value = 0u64;
    measure("(an empty call, contained in each)", || {
        empty_call(black_box(session).0, black_box(handle).0, &mut value);
        let _ = black_box(Ok::<(), mpit::Error>(()));
    });
    measure("pvar_read, scalar", || {
        let out = (&raw mut value).cast();
        // SAFETY: the variable is one UNSIGNED_LONG_LONG.
        let _ = black_box(unsafe { REGISTRY.pvar_read_raw(black_box(session), black_box(handle), out) });
    });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut out = [0; 8];
            while !stop.load(Ordering::Relaxed) {
                let _ = black_box(REGISTRY.pvar_read(session, handle, &mut out));
            }
        });
        measure("pvar_read, scalar, another thread reading", || {
            let out = (&raw mut value).cast();
            // SAFETY: as above.
            let _ = black_box(unsafe { REGISTRY.pvar_read_raw(black_box(session), handle, out) });
        });
        stop.store(true, Ordering::Relaxed);
    });
    let mut out = [0; 8];
    measure("pvar_readreset, scalar", || {
        let _ = black_box(REGISTRY.pvar_readreset(session, handle, &mut out));
    });
    measure("pvar_stop and pvar_start", || {
        let _ = black_box(REGISTRY.pvar_stop(session, handle));
        let _ = black_box(REGISTRY.pvar_start(session, handle));
    });
    measure("pvar get_info", || {
        let _ = black_box(REGISTRY.pvar(black_box(index)).map(mpit::Pvar::info));
    });
    measure("pvar get_index", || {
        let _ = black_box(REGISTRY.pvar_index(black_box("counter_100"), PvarClass::COUNTER));
    });
    REGISTRY.pvar_session_free(session)
}

#[allow(unsafe_code)]
fn events() -> Result<()> {
    let source = REGISTRY.add_source(SourceSpec::new("ticks", 1_000_000_000, ticks))?;
    let event = EventSpec::new("event")
        .element("first", Datatype::UINT64_T)
        .element("second", Datatype::UINT64_T)
        .bind(Bind::MPI_COMM, |_| Ok(()));
    let event = REGISTRY.add_event(event)?;
    let raiser = REGISTRY.raiser(event, source)?;
    let raise = |what: &str| {
        measure(what, || raise_one(black_box(&raiser), black_box(7)));
    };
    raise("event, nobody registered");
    let hints = Hints::new();
    let safety = CbSafety::THREAD_SAFE;
    let elsewhere = REGISTRY.event_handle_alloc(event, 8, &hints)?;
    REGISTRY.event_register_callback(elsewhere, safety, &hints, 0, Some(Box::new(|_| ())))?;
    raise("event, registered for another object");
    let handle = REGISTRY.event_handle_alloc(event, 7, &hints)?;
    let set = |callback: fn(Delivery)| {
        REGISTRY.event_register_callback(handle, safety, &hints, 0, Some(Box::new(callback)))
    };
    set(|_| ())?;
    raise("event, empty callback, with its timestamp");
    set(|delivery| {
        let _ = black_box(event::timestamp(delivery.instance));
    })?;
    raise("event, callback: timestamp");
    set(|delivery| {
        let mut out = [0u8; 8];
        // SAFETY: element 1 is an UINT64_T.
        let _ = black_box(unsafe { event::read_raw(delivery.instance, 1, out.as_mut_ptr()) });
        black_box(out);
    })?;
    raise("event, callback: read of one element");
    set(|delivery| {
        let mut out = [0u8; 16];
        // SAFETY: the event type is two UINT64_T.
        let _ = black_box(unsafe { event::copy_raw(delivery.instance, out.as_mut_ptr()) });
        black_box(out);
    })?;
    raise("event, callback: copy");
    let clock = REGISTRY.source(source)?;
    measure("source timestamp", || {
        let _ = black_box(black_box(clock).timestamp());
    });
    Ok(())
}

#[inline(never)]
fn empty_call(session: u64, handle: u64, out: &mut u64) {
    *out = session ^ handle;
}

#[inline(never)]
fn raise_one(raiser: &Raiser<'_>, object: u64) {
    raiser.raise(object, CbSafety::NONE, || [1u8; 16]);
}

fn main() -> Result<()> {
    println!("{:<46} {:>8} {:>8}", "nanoseconds per call", "minimum", "median");
    variables()?;
    events()
}
