//! From images to the report: the arithmetic, several worlds, and invalid images.

use mpiscope_image::Image;
use mpiscope_image::layout::{HEADER_SIZE, State};
use mpiscope_job::base::clock::Moment;
use mpiscope_job::model::locate::NoSymbols;
use mpiscope_job::model::process::Ending;
use mpiscope_job::model::rank::{Rank, SymbolContext};
use mpiscope_job::model::rank_status::RankStatus;
use mpiscope_job::performance::report::Observed;
use mpiscope_job::performance::report::facts::Facts;
use mpiscope_job::sources::image_source::open_fd;
use mpiscope_job::test_image::TestImage;
use mpiscope_job::{JobReport, Process};

fn observed(sample: &TestImage) -> Observed {
    let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
    let process = Process::read(&image, Some(Moment::now())).unwrap();
    Observed {
        process,
        launcher_rank: None,
        pid: 1,
        ended_ns: None,
        end_unseen: false,
        later_ns: 0,
        ending: None,
        core: None,
        leaks: Vec::new(),
        observation: None,
        facts: Facts::default(),
    }
}

/// A rank that ran for `wall` seconds, `mpi` of them in MPI_Send.
fn rank(job: &str, number: u32, size: u32, wall: f64, mpi: f64) -> Observed {
    let sample = TestImage::new(job, number, size);
    sample.called("MPI_Send", 3, (mpi * 1e9) as u64, 100);
    let mut observed = observed(&sample);
    observed.ended_ns = Some(observed.process.begin_ns + (wall * 1e9) as u64);
    observed.ending = Some(Ending::Exit(0));
    observed
}

fn near(a: Option<f64>, b: f64) -> bool {
    a.is_some_and(|a| (a - b).abs() < 1e-6)
}

#[test]
fn efficiencies_follow_the_pop_definitions() {
    // Useful times 4, 2, 2, 4 of 5 seconds: mean 3, maximum 4.
    let ranks = [1.0, 3.0, 3.0, 1.0].iter().enumerate().map(|(i, mpi)| rank("pop", i as u32, 4, 5.0, *mpi));
    let report = JobReport::new("./pop".into(), ranks.collect());
    assert!(near(report.load_balance, 0.75), "{:?}", report.load_balance);
    assert!(near(report.communication_efficiency, 0.8));
    assert!(near(report.parallel_efficiency, 0.6));
    assert!(near(report.mpi_share, 0.4));
    assert!(near(Some(report.wall_s), 5.0));
    let send = &report.functions[0];
    assert_eq!((send.name.as_str(), send.total.count, send.total.bytes), ("MPI_Send", 12, 400));
    assert_eq!((send.min.rank, send.max.rank), (Some(0), Some(1)), "the first of equal ranks is named");
}

#[test]
fn a_job_without_ranks_has_no_efficiencies_and_divides_by_nothing() {
    let report = JobReport::new("true".into(), Vec::new());
    assert_eq!((report.mpi_share, report.load_balance, report.size), (None, None, 0));
    let report = JobReport::new("./instant".into(), vec![rank("instant", 0, 1, 0.0, 0.0)]);
    assert_eq!(report.parallel_efficiency, None);
}

#[test]
fn the_first_world_comes_first_and_its_size_is_the_jobs() {
    let parent = rank("a", 0, 1, 5.0, 1.0);
    let mut children = [rank("b", 1, 2, 3.0, 1.0), rank("b", 0, 2, 3.0, 1.0)];
    children.iter_mut().for_each(|c| c.process.begin_ns += 1_000_000_000);
    let [one, zero] = children;
    let report = JobReport::new("./spawn".into(), vec![one, parent, zero]);
    let order: Vec<_> = report.ranks.iter().map(|r| (r.world.as_str(), r.rank)).collect();
    assert_eq!(order, [("world of a", Some(0)), ("world of b", Some(0)), ("world of b", Some(1))]);
    assert_eq!(report.size, 1);
    let worlds: Vec<_> =
        report.worlds.iter().map(|w| (w.name.as_str(), w.size, w.ranks.to_string())).collect();
    assert_eq!(worlds, [("world of a", 1, "0".to_owned()), ("world of b", 2, "[0-1]".to_owned())]);
    assert_eq!(report.hosts[0].ranks.to_string(), "0, 1.[0-1]");
    let send = &report.functions[0];
    assert_eq!((send.max.world, send.max.rank), (0, Some(0)), "the first of equal ranks is named");
}

#[test]
fn the_call_that_was_open_at_the_end_counts_as_time_in_mpi_but_not_as_a_call() {
    let sample = TestImage::new("open", 0, 1);
    sample.enters("MPI_Barrier", [0x4400_0000, 0, 0], 0, 0);
    let mut observed = observed(&sample);
    observed.ended_ns = Some(observed.process.clock.ns_at(observed.process.threads[0].since) + 2_000_000_000);
    let report = JobReport::new("./open".into(), vec![observed]);
    let rank = &report.ranks[0];
    assert!(near(Some(rank.mpi_s), 2.0) && rank.calls.is_empty(), "{rank:?}");
    assert_eq!(rank.in_call.as_deref(), Some("MPI_Barrier"));
    assert!(near(report.functions[0].total.time_s, 2.0) && near(rank.time_in("MPI_Barrier"), 2.0));
    let open = |name: &str| report.functions.iter().find(|f| f.name == name).map_or(0, |f| f.open);
    assert_eq!((open("MPI_Barrier"), open("MPI_Send")), (1, 0));
    assert_eq!(rank.functions().collect::<Vec<_>>(), ["MPI_Barrier"]);
}

#[test]
fn a_rank_that_ended_outside_mpi_shows_its_last_call_unless_it_finalized() {
    let sample = TestImage::new("last", 0, 1);
    sample.enters("MPI_Barrier", [0x4400_0000, 0, 0], 0, 0);
    sample.leaves();
    let of = |sample: &TestImage| JobReport::new("./last".into(), vec![observed(sample)]).ranks.remove(0);
    let rank = of(&sample);
    assert_eq!((rank.in_call, rank.last_call.as_deref()), (None, Some("MPI_Barrier")));
    sample.state(State::FINALIZED);
    assert_eq!(of(&sample).last_call, None);
}

#[test]
fn a_finalized_rank_ends_when_mpi_finalize_does() {
    let sample = TestImage::new("fin", 0, 1);
    sample.state(State::FINALIZED);
    let mut observed = observed(&sample);
    observed.ended_ns = Some(u64::MAX);
    let report = JobReport::new("./fin".into(), vec![observed]);
    assert!(report.ranks[0].finalized && report.ranks[0].wall_s < 5.0);
}

/// Collects all values in seconds, with their names.
fn seconds(value: &serde_json::Value, found: &mut Vec<(String, f64)>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                found.extend(value.as_f64().filter(|_| name.ends_with("_s")).map(|s| (name.clone(), s)));
                seconds(value, found);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| seconds(value, found)),
        _ => {}
    }
}

#[test]
fn no_time_is_extrapolated_from_a_number_of_calls() {
    let sample = TestImage::new("busy", 0, 1);
    sample.called("MPI_Iprobe", 1 << 40, 1_000_000_000, 0);
    let mut rank = observed(&sample);
    rank.ended_ns = Some(rank.process.begin_ns + 2_000_000_000);
    let report = JobReport::new("./busy".into(), vec![rank]);
    let mut found = Vec::new();
    seconds(&serde_json::to_value(&report).unwrap(), &mut found);
    assert!(found.iter().any(|(name, _)| name == "wall_s"), "{found:?}");
    let longer: Vec<_> = found.iter().filter(|(_, value)| *value > 2.0).collect();
    assert!(longer.is_empty(), "longer than the program ran: {longer:?}");
}

#[test]
fn json_has_the_fields_of_the_schema() {
    let report = JobReport::new("./app".into(), vec![rank("json", 0, 1, 1.0, 0.5)]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "mpiscope.report/1");
    for field in ["library", "abi", "size", "ranks"] {
        assert!(!json[field].is_null(), "{field}");
    }
    for field in ["rank", "host", "pid", "finalized", "wall_s", "mpi_s", "lost", "calls"] {
        assert!(!json["ranks"][0][field].is_null(), "{field}");
    }
    let send = &json["ranks"][0]["calls"]["MPI_Send"];
    assert_eq!((&send["count"], &send["bytes"]), (&3.into(), &100.into()));
    assert!(near(send["time_s"].as_f64(), 0.5));
}

#[test]
fn images_with_any_byte_wrong_make_a_report_or_an_error() {
    let sample = TestImage::new("hostile", 0, 2);
    sample.has_comm(0x8400_0001, "solver", 2);
    sample.enters("MPI_Sendrecv", [0x8400_0001, 0x4c00_080b, 8], 1, 2);
    let whole = sample.bytes();
    let mut read = 0;
    for at in (0..HEADER_SIZE).chain((HEADER_SIZE..whole.len()).step_by(997)) {
        for value in [0, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let Ok(image) = Image::open(bytes) else { continue };
            let Ok(process) = Process::read(&image, Some(Moment::now())) else { continue };
            let context = SymbolContext::new(&process, &NoSymbols);
            let now = RankStatus::new(&Rank::new(&image, &process, &context), true);
            let observed = Observed {
                process,
                launcher_rank: None,
                pid: 1,
                ended_ns: None,
                end_unseen: false,
                later_ns: 0,
                ending: None,
                leaks: Vec::new(),
                observation: None,
                facts: Facts::default(),
                core: None,
            };
            let report = JobReport::new(String::new(), vec![observed]);
            assert!(serde_json::to_string(&(now, report)).is_ok());
            read += 1;
        }
    }
    assert!(read > 100);
}

#[test]
fn the_systems_view_of_a_thread_is_shown_only_outside_mpi() {
    let sample = TestImage::new("outside", 0, 2);
    let says = |said: &str, alive: bool| {
        let image = Image::open(sample.bytes()).unwrap();
        let process = Process::read(&image, Some(Moment::now())).unwrap();
        let context = SymbolContext::new(&process, &NoSymbols);
        let mut status = RankStatus::new(&Rank::new(&image, &process, &context), alive);
        status.outside(&process, |_| said.to_owned(), |_| None);
        status.threads[0].doing.clone()
    };
    sample.enters("MPI_Recv", [0, 0, 4], 0, 0);
    assert_eq!(says("sleeping in the system call read", true), None);
    sample.leaves();
    let sleeping = "sleeping in the system call read";
    assert_eq!(says(sleeping, true).as_deref(), Some(sleeping));
    assert_eq!((says("", true), says(sleeping, false)), (None, None), "nothing is known");
    sample.state(State::FINALIZED);
    assert_eq!(says(sleeping, true), None);
}
