//! A program that publishes variables and events, and a tool within it that watches them: one thread moves
//! items through a queue, another prints the variables and what the events reported.
//!
//! `cargo run -p mpit --example publish_and_watch`

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{error, thread};

use mpit::event::{self, Delivery, EventSpec, Hints, SourceSpec};
use mpit::{
    CbSafety, Counter, CvarInfo, Datatype, Gauge, Member, PvarClass, PvarSpec, PvarWord, Registry, Setting,
    SettingValue, Unit,
};

static REGISTRY: Registry = Registry::new();

/// The worker's ends of what it published.
struct Worker {
    items: Arc<Counter>,
    busy: Arc<Counter>,
    queue: Arc<Gauge>,
    burst: Arc<Setting>,
    done: event::Raiser<'static>,
}

fn publish() -> mpit::Result<Worker> {
    let (items, busy, queue) = <(Arc<Counter>, Arc<Counter>, Arc<Gauge>)>::default();
    let category = REGISTRY.add_category("worker", "a thread that moves items through a queue")?;
    let mut variables = vec![
        REGISTRY.add_pvar(
            PvarSpec::new("items", PvarClass::COUNTER, Datatype::UNSIGNED_LONG_LONG).desc("items moved"),
            items.clone(),
        )?,
        REGISTRY.add_pvar(
            PvarSpec::new("busy", PvarClass::TIMER, Datatype::DOUBLE)
                .desc("seconds spent moving")
                .unit(Unit::Scaled(1e-9)),
            busy.clone(),
        )?,
    ];
    for class in [PvarClass::LEVEL, PvarClass::HIGHWATERMARK, PvarClass::LOWWATERMARK] {
        let spec = PvarSpec::new("queue", class, Datatype::UNSIGNED).desc("items in the queue");
        variables.push(REGISTRY.add_pvar(spec, queue.clone())?);
    }
    for variable in variables {
        REGISTRY.add_to_category(category, Member::Pvar(variable))?;
    }
    let burst = Setting::new(Datatype::INT, SettingValue::Int(100))
        .check(|value| matches!(value, SettingValue::Int(1..=10_000)));
    let burst = Arc::new(burst);
    let info = CvarInfo { desc: "items moved at a time".into(), ..CvarInfo::new("burst", Datatype::INT) };
    REGISTRY.add_cvar(info, burst.clone())?;

    let start = Instant::now();
    let clock = move || start.elapsed().as_nanos() as u64;
    let source = REGISTRY.add_source(SourceSpec::new("worker", 1_000_000_000, clock))?;
    let event = REGISTRY.add_event(EventSpec::new("burst_done").element("items", Datatype::UINT64_T))?;
    Ok(Worker { items, busy, queue, burst, done: REGISTRY.raiser(event, source)? })
}

impl Worker {
    fn run(&self, bursts: u64) {
        for burst in 0..bursts {
            let start = Instant::now();
            let count = self.burst.int() as u64 + burst;
            for _ in 0..count {
                self.queue.add(1);
                self.items.add(1);
            }
            self.queue.sub(count);
            thread::sleep(Duration::from_micros(200));
            self.busy.add(start.elapsed().as_nanos() as u64);
            self.done.raise(0, CbSafety::THREAD_SAFE, || count.to_ne_bytes());
        }
    }
}

fn main() -> Result<(), Box<dyn error::Error>> {
    let worker = publish()?;
    REGISTRY.init();
    let (burst, _) = REGISTRY.cvar_handle_alloc(REGISTRY.cvar_index("burst")?, 0)?;
    REGISTRY.cvar_write(burst, &500i32.to_ne_bytes())?;

    let heard = Arc::new(AtomicU64::new(0));
    let sum = heard.clone();
    let callback = move |delivery: Delivery| {
        let mut items = [0; 8];
        if event::read(delivery.instance, 0, &mut items).is_ok() {
            sum.fetch_add(u64::from_ne_bytes(items), Ordering::Relaxed);
        }
    };
    let hints = Hints::new();
    let registration = REGISTRY.event_handle_alloc(REGISTRY.event_index("burst_done")?, 0, &hints)?;
    let safety = CbSafety::THREAD_SAFE;
    REGISTRY.event_register_callback(registration, safety, &hints, 0, Some(Box::new(callback)))?;

    let session = REGISTRY.pvar_session_create()?;
    let handles: Vec<_> = (0..REGISTRY.pvar_count())
        .map(|index| REGISTRY.pvar_handle_alloc(session, index, 0).map(|(handle, _)| (index, handle)))
        .collect::<mpit::Result<_>>()?;
    REGISTRY.pvar_start(session, PvarWord::ALL_HANDLES)?;
    thread::scope(|scope| {
        scope.spawn(|| worker.run(50));
    });
    for (index, handle) in handles {
        let info = REGISTRY.pvar(index)?.info();
        let value = match info.datatype {
            Datatype::DOUBLE => REGISTRY.pvar_value::<f64>(session, handle)?,
            Datatype::UNSIGNED => f64::from(REGISTRY.pvar_value::<u32>(session, handle)?),
            _ => REGISTRY.pvar_value::<u64>(session, handle)? as f64,
        };
        println!("{:<8} {:<14} {value:>12} {}", info.name, info.class.name().unwrap_or("?"), info.desc);
    }
    println!("events announced {} items", heard.load(Ordering::Relaxed));
    REGISTRY.finalize()?;
    Ok(())
}
