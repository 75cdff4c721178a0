//! Metrics named by the conventions of OpenMetrics: base units, counters ending in `_total`, ratios from 0 to
//! 1.

use anyhow::Result;
use mpiscope_job::base::total::total;
use mpiscope_job::performance::snapshot::JobSnapshot;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

type Labels = Vec<(String, String)>;
type Real = Family<Labels, Gauge<f64, AtomicU64>>;
type Seconds = Family<Labels, Counter<f64, AtomicU64>>;
type Count = Family<Labels, Counter>;

/// Microseconds in a second: the resolution of times, far above the error of the clock's rate.
const MICRO: f64 = 1e6;

/// What was reported of the counters, so that they never decrease: a reader takes a smaller value for a restart
/// from zero. Times are converted with the clock's rate, which becomes more exact as the job runs; and a process
/// whose records are gone takes its counts with it.
#[derive(Default)]
pub struct Reported {
    before: HashMap<(&'static str, Labels), u64>,
    now: HashMap<(&'static str, Labels), u64>,
}

impl Reported {
    /// Returns the value, or the one reported before if that is larger.
    fn at_least(&mut self, family: &'static str, labels: &Labels, value: u64) -> u64 {
        let key = (family, labels.clone());
        let value = self.before.get(&key).map_or(value, |before| value.max(*before));
        self.now.insert(key, value);
        value
    }

    /// Begins another report. Jobs that are no longer there are forgotten.
    pub fn next(&mut self) {
        self.before = std::mem::take(&mut self.now);
    }
}

/// All metric families.
pub struct Families {
    registry: Registry,
    info: Real,
    ranks: Real,
    wall: Real,
    load_balance: Real,
    communication: Real,
    parallel: Real,
    in_flight: Real,
    pending: Real,
    resident: Real,
    problems: Real,
    thread: Seconds,
    mpi: Seconds,
    polling: Seconds,
    call: Seconds,
    calls: Count,
    sent: Count,
    received: Count,
    messages: Count,
    lost: Count,
}

impl Families {
    /// Creates the families without any job.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("mpiscope");
        let r = &mut registry;
        Self {
            info: plain(r, "job_info", "A job, its command and library"),
            ranks: plain(r, "ranks", "Ranks that have called MPI"),
            problems: plain(r, "ranks_gone", "Ranks that ended without MPI_Finalize or aborted"),
            wall: in_unit(r, "wall", "Longest time of a rank since MPI_Init", Unit::Seconds),
            load_balance: in_unit(
                r,
                "load_balance",
                "Mean over maximum of the useful times since the start",
                ratio(),
            ),
            communication: in_unit(
                r,
                "communication_efficiency",
                "Maximum of the useful times over wall time",
                ratio(),
            ),
            parallel: in_unit(r, "parallel_efficiency", "The product of both", ratio()),
            in_flight: plain(r, "messages_in_flight", "Messages sent but not yet received"),
            pending: plain(r, "operations_pending", "Operations started but not known to be complete"),
            resident: in_unit(r, "resident_memory", "Resident memory of the ranks together", Unit::Bytes),
            thread: in_unit(r, "thread", "Time of all threads that call MPI", Unit::Seconds),
            mpi: in_unit(r, "mpi", "Time of these threads in MPI", Unit::Seconds),
            polling: in_unit(r, "polling", "Time of these threads between polls", Unit::Seconds),
            call: in_unit(r, "call", "Time in MPI by function", Unit::Seconds),
            calls: plain(r, "calls", "Completed calls by function"),
            sent: in_unit(r, "sent", "Bytes that calls moved out of ranks", Unit::Bytes),
            received: in_unit(r, "received", "Bytes that calls moved into ranks", Unit::Bytes),
            messages: plain(r, "messages_sent", "Messages sent between ranks"),
            lost: plain(r, "lost_records", "Records dropped for lack of space"),
            registry,
        }
    }

    /// Adds the metrics of a job. Users choose the names of their jobs, so a name is unique only with the id of
    /// the user.
    pub fn add(&self, job: &str, owner: u32, seen: &JobSnapshot, reported: &mut Reported) {
        let report = &seen.report;
        let own: Labels = vec![("job".to_owned(), job.to_owned()), ("uid".to_owned(), owner.to_string())];
        let set = |family: &Real, value: f64| {
            family.get_or_create(&own).set(value);
        };
        let rate = |family: &Real, value: Option<f64>| value.into_iter().for_each(|value| set(family, value));
        let mut about = own.clone();
        let words = [
            ("command", &report.command),
            ("library", &report.library),
            ("mpi_version", &report.mpi_version),
        ];
        about.extend(words.map(|(name, value)| (name.to_owned(), value.clone())));
        self.info.get_or_create(&about).set(1.0);
        set(&self.ranks, report.ranks.len() as f64);
        set(&self.problems, seen.statuses.iter().filter(|rank| rank.problem).count() as f64);
        set(&self.wall, report.wall_s);
        rate(&self.load_balance, report.load_balance);
        rate(&self.communication, report.communication_efficiency);
        rate(&self.parallel, report.parallel_efficiency);
        let messages = &report.sections.messages;
        set(&self.in_flight, messages.sent.saturating_sub(messages.received) as f64);
        set(&self.pending, messages.pending as f64);
        let memory = report.sections.memory.iter().filter_map(|rank| rank.placement.as_ref());
        set(&self.resident, total(memory.map(|placement| placement.resident as f64)));
        let mut count = |family: &Count, name, labels: &Labels, value| {
            family.get_or_create(labels).inc_by(reported.at_least(name, labels, value));
        };
        count(&self.messages, "messages", &own, messages.sent);
        count(&self.sent, "sent", &own, report.sent);
        count(&self.received, "received", &own, report.received);
        count(&self.lost, "lost", &own, report.lost);
        let by_function = |name: &str| {
            let mut labels = own.clone();
            labels.push(("function".to_owned(), name.to_owned()));
            labels
        };
        for function in &report.functions {
            count(&self.calls, "calls", &by_function(&function.name), function.total.count);
        }
        let mut seconds = |family: &Seconds, name, labels: &Labels, value: f64| {
            let microseconds = reported.at_least(name, labels, (value * MICRO).round() as u64);
            family.get_or_create(labels).inc_by(microseconds as f64 / MICRO);
        };
        seconds(&self.thread, "thread", &own, report.thread_s);
        seconds(&self.mpi, "mpi", &own, total(report.ranks.iter().map(|rank| rank.mpi_s)));
        let polling = total(report.ranks.iter().map(|rank| rank.polling_share * rank.thread_s));
        seconds(&self.polling, "polling", &own, polling);
        for function in &report.functions {
            if let Some(time) = function.total.time_s {
                seconds(&self.call, "call", &by_function(&function.name), time);
            }
        }
    }

    /// Returns the metrics in text format.
    pub fn text(&self) -> Result<String> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Returns the unit of ratios from 0 to 1.
fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

fn plain<M: Clone + Default + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
) -> M {
    let family = M::default();
    registry.register(name, help, family.clone());
    family
}

fn in_unit<M: Clone + Default + prometheus_client::registry::Metric>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    unit: Unit,
) -> M {
    let family = M::default();
    registry.register_with_unit(name, help, unit, family.clone());
    family
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpiscope_job::performance::report::JobReport;

    #[test]
    fn jobs_of_two_users_with_the_same_name_are_not_added_up() {
        let families = Families::new();
        for owner in [1000, 1001] {
            let report = JobReport::new("./a".into(), Vec::new());
            let seen = JobSnapshot { report, statuses: Vec::new(), silent: 0, errors: Vec::new() };
            families.add("same", owner, &seen, &mut Reported::default());
        }
        let text = families.text().unwrap();
        for uid in ["1000", "1001"] {
            let line = format!("mpiscope_mpi_seconds_total{{job=\"same\",uid=\"{uid}\"}} 0.0");
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
    }

    #[test]
    fn names_have_base_units_counters_end_in_total_and_values_of_the_job_are_escaped() {
        let report = JobReport::new("./a \"b\"\n".into(), Vec::new());
        let families = Families::new();
        let seen = JobSnapshot { report, statuses: Vec::new(), silent: 0, errors: Vec::new() };
        families.add("j-1", 1000, &seen, &mut Reported::default());
        let text = families.text().unwrap();
        for line in [
            "# TYPE mpiscope_mpi_seconds counter",
            "# UNIT mpiscope_mpi_seconds seconds",
            "mpiscope_mpi_seconds_total{job=\"j-1\",uid=\"1000\"} 0.0",
            "# TYPE mpiscope_wall_seconds gauge",
            "mpiscope_ranks{job=\"j-1\",uid=\"1000\"} 0.0",
            "mpiscope_sent_bytes_total{job=\"j-1\",uid=\"1000\"} 0",
        ] {
            assert!(text.lines().any(|known| known == line), "{line}: {text}");
        }
        assert!(text.contains(r#"command="./a \"b\"\n""#) && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn counters_never_decrease_while_a_job_is_there() {
        let mut reported = Reported::default();
        let mut shown = |seconds: f64, sent: u64| {
            reported.next();
            let mut report = JobReport::new("./a".into(), Vec::new());
            (report.thread_s, report.sent) = (seconds, sent);
            let seen = JobSnapshot { report, statuses: Vec::new(), silent: 0, errors: Vec::new() };
            let families = Families::new();
            families.add("j", 0, &seen, &mut reported);
            let text = families.text().unwrap();
            let value = |name: &str| {
                let line = text.lines().find(|line| line.starts_with(name)).unwrap();
                line.rsplit(' ').next().unwrap().to_owned()
            };
            (value("mpiscope_thread_seconds_total"), value("mpiscope_sent_bytes_total"))
        };
        let pair = |seconds: &str, sent: &str| (seconds.to_owned(), sent.to_owned());
        assert_eq!(shown(0.717_828_257_78, 10), pair("0.717828", "10"));
        assert_eq!(shown(0.717_828_257_75, 10), pair("0.717828", "10"));
        assert_eq!(shown(0.5, 4), pair("0.717828", "10"));
        assert_eq!(shown(2.25, 11), pair("2.25", "11"));
    }
}
