//! Asks many hosts concurrently and processes their answers in parallel: bounded concurrency, answers in the
//! order of the questions.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// Number of hosts asked concurrently; most of the time is spent waiting, on both ends. Each host of a `why`
/// samples twice, one second apart, so a thousand hosts take about `1000 / AT_ONCE` seconds.
pub const AT_ONCE: usize = 512;

/// Asks all questions concurrently. A slow answer delays the others only when many are slow.
pub fn ask<Q: Sync, A: Send>(questions: &[Q], answer: impl Fn(&Q) -> A + Sync) -> Vec<A> {
    by(AT_ONCE, questions, answer)
}

/// Like [`ask`], for work limited only by processor time.
pub fn work<Q: Sync, A: Send>(parts: &[Q], result: impl Fn(&Q) -> A + Sync) -> Vec<A> {
    match thread::available_parallelism().map_or(1, NonZero::get).min(parts.len()) {
        0 | 1 => parts.iter().map(result).collect(),
        threads => by(threads, parts, result),
    }
}

fn by<Q: Sync, A: Send>(threads: usize, questions: &[Q], answer: impl Fn(&Q) -> A + Sync) -> Vec<A> {
    with(Builder::new, threads, questions, answer)
}

/// The calling thread takes part: if no thread can be spawned, it does all the work.
fn with<Q: Sync, A: Send>(
    builder: impl Fn() -> Builder,
    threads: usize,
    questions: &[Q],
    answer: impl Fn(&Q) -> A + Sync,
) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let given: Mutex<Vec<(usize, A)>> = Mutex::new(Vec::with_capacity(questions.len()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(question) = questions.get(at) else { break };
            let answer = answer(question);
            given.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
        }
    };
    thread::scope(|scope| {
        for _ in 1..questions.len().min(threads) {
            if builder().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut given = given.into_inner().unwrap_or_else(PoisonError::into_inner);
    given.sort_unstable_by_key(|(at, _)| *at);
    given.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_asked_in_parallel_and_answers_keep_their_order() {
        let barrier = std::sync::Barrier::new(3);
        let answers = ask(&["a", "b", "c"], |host| {
            barrier.wait();
            host.to_uppercase()
        });
        assert_eq!(answers, ["A", "B", "C"]);
    }

    #[test]
    fn all_hosts_are_asked_even_if_there_are_more_than_workers() {
        let hosts: Vec<usize> = (0..3 * AT_ONCE).collect();
        assert_eq!(ask(&hosts, |host| *host), hosts);
        assert_eq!(work(&hosts, |host| *host), hosts);
    }

    #[test]
    fn without_threads_the_caller_does_all_the_work() {
        let none = || Builder::new().stack_size(1 << 60);
        assert!(none().spawn(|| ()).is_err());
        let hosts: Vec<usize> = (0..10).collect();
        assert_eq!(with(none, 4, &hosts, |host| *host), hosts);
    }
}
