use super::*;
use crate::base::clock_offset::{HostClock, Offset};

const S: u64 = 1_000_000_000;

/// Observes ranks every `step` nanoseconds; `useful` returns the fraction of the time a rank works at a
/// moment, in seconds.
fn run(ranks: u32, seconds: u64, step: u64, useful: impl Fn(u32, f64) -> f64) -> Timeline {
    let mut course = Timeline::default();
    let mut mpi = vec![0.0; ranks as usize];
    for look in 1..=(seconds * S / step) {
        let until = look * step;
        for rank in 0..ranks {
            let middle = (until - step / 2) as f64 / 1e9;
            let inside = &mut mpi[rank as usize];
            *inside += step as f64 / 1e9 * (1.0 - useful(rank, middle));
            let time = until as f64 / 1e9;
            course.add(&Reading {
                process: rank as usize,
                world: "w".into(),
                rank: Some(rank),
                until_ns: 5 * S + until,
                wall_s: time,
                time_s: time,
                mpi_s: *inside,
                ..Reading::default()
            });
        }
    }
    course
}

#[test]
fn windows_show_when_a_rank_starts_to_fall_behind() {
    let late = |rank: u32, at: f64| if rank == 3 || at < 2.0 { 0.8 } else { 0.4 };
    let found = run(4, 6, 20_000_000, late).windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert_eq!(found.said.len(), 2, "{:?}", found.said);
    assert!(found.said[0].starts_with("until 2.00 s, the ranks are balanced: "), "{:?}", found.said);
    let wanted = "then, from 2.00 s to 6.00 s, rank 3 falls behind: it works 1.6 times the mean";
    assert!(found.said[1].starts_with(wanted), "{:?}", found.said);
    let window = &found.list[100];
    assert!((window.load_balance.unwrap() - 0.625).abs() < 1e-3 && window.slowest == Some(3), "{window:?}");
    assert!((window.communication_efficiency.unwrap() - 0.8).abs() < 1e-3, "{window:?}");
    assert_eq!(window.mpi, [0.6, 0.6, 0.6, 0.2].map(Some));
}

#[test]
fn the_last_sentence_ends_with_the_run_and_not_after_it() {
    let late = |rank: u32, at: f64| if rank == 3 || at < 32.0 { 0.8 } else { 0.4 };
    // Windows of 800 ms.
    let found = run(4, 90, 20_000_000, late).windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert!(found.seconds * found.list.len() as f64 > 90.1, "{} of {} s", found.list.len(), found.seconds);
    let last = found.said.last().unwrap();
    assert!(last.starts_with("then, from 32.0 s to 90.0 s, rank 3 falls behind"), "{last}");
}

#[test]
fn the_number_of_windows_is_bounded_without_losing_time() {
    for (seconds, step) in [(1000, 300_000_000), (100, 10_000_000), (3, 2_000_000_000)] {
        let found = run(2, seconds, step, |rank, _| if rank == 0 { 0.5 } else { 0.25 });
        let windows = found.windows(f64::INFINITY, |_, _, _| 0).unwrap();
        assert!(windows.list.len() <= MOST && windows.list.len() > 2, "{}", windows.list.len());
        let looked = (seconds * S / step * step) as f64 / 1e9;
        for track in &found.tracks {
            let all = track.windows.iter().fold(Part::default(), |sum, part| sum.and(*part, 1.0));
            assert!((all.wall - looked).abs() < 1e-6 * looked, "{all:?}, not {looked}");
        }
        assert_eq!(windows.said.len(), 1, "{:?}", windows.said);
    }
}

#[test]
fn a_row_that_merges_several_windows_is_consistent() {
    // The ranks take turns working, so that every window is unbalanced and all together are not.
    let turns = |rank: u32, at: f64| if (at / 0.05) as u32 % 4 == rank { 0.9 } else { 0.1 };
    let found = run(4, 6, 10_000_000, turns).windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert!(found.list.len() > found.rows.len() && found.rows.len() <= MOST_ROWS, "{}", found.rows.len());
    for row in &found.rows {
        let (balance, communication) = (row.load_balance.unwrap(), row.communication_efficiency.unwrap());
        assert!((row.parallel_efficiency.unwrap() - balance * communication).abs() < 1e-9, "{row:?}");
        assert!((row.over_mean.unwrap() * balance - 1.0).abs() < 1e-9, "{row:?}");
        assert!(balance > 0.99, "in 0.4 s each has worked twice: {row:?}");
    }
    assert!((found.row_s() - 0.4).abs() < 1e-9 && (found.rows[3].from_s - 1.2).abs() < 1e-9);
}

#[test]
fn noise_is_not_a_change() {
    // Pseudorandom numbers between zero and a tenth.
    let noise = |rank: u32, at: f64| {
        let mut bits = (at * 1000.0).round() as u64 ^ (u64::from(rank) << 40);
        for _ in 0..3 {
            bits = (bits ^ (bits >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        0.1 * (bits >> 40) as f64 / f64::from(1 << 24)
    };
    let found =
        run(4, 6, 50_000_000, |rank, at| 0.6 + noise(rank, at)).windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert_eq!(found.said.len(), 1, "{:?}", found.said);
    assert!(found.said[0].starts_with("the whole run is uniform and balanced"), "{:?}", found.said);
}

#[test]
fn a_stretch_of_work_is_not_the_whole_run() {
    let work = |rank: u32, at: f64| {
        if !(1.0..2.0).contains(&at) {
            0.0
        } else if rank == 0 {
            0.8
        } else {
            0.4
        }
    };
    let found = run(2, 6, 50_000_000, work).windows(f64::INFINITY, |_, _, _| 0).unwrap();
    let wanted = "from 1.00 s to 2.00 s, rank 0 falls behind: it works 1.3 times the mean; load balance 75 %";
    assert!(found.said[0].starts_with(wanted), "{:?}", found.said);
}

#[test]
fn ranks_that_start_late_or_end_early_count_only_while_present() {
    let mut course = Timeline::default();
    course.add(&Reading { until_ns: 50_000_000, wall_s: 0.05, ..Reading::default() });
    let mut see = |rank, until: f64, wall: f64| {
        let until_ns = (until * 1e9) as u64;
        let (process, rank) = (rank as usize, Some(rank));
        course.add(&Reading { process, rank, until_ns, wall_s: wall, time_s: wall, ..Reading::default() });
    };
    (1..=10).for_each(|at| see(0, f64::from(at) * 0.1, f64::from(at) * 0.1));
    (1..=5).for_each(|at| see(1, 0.5 + f64::from(at) * 0.1, f64::from(at) * 0.1));
    let found = course.windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert_eq!(found.ranks, ["0", "1"]);
    assert_eq!(found.list[2].mpi, [Some(0.0), None]);
    assert_eq!(found.list[15].mpi, [Some(0.0), Some(0.0)]);
}

/// A launcher that does not belong to the library numbers processes that turn out to be worlds of their own.
#[test]
fn a_process_has_one_row_also_if_its_rank_changes_when_it_is_initialized() {
    let mut course = Timeline::default();
    for look in 1..=10u32 {
        for process in 0..3u32 {
            let wall = 0.05 * f64::from(look);
            let known = look > 2 + process;
            course.add(&Reading {
                process: process as usize,
                world: if known { format!("world {process}") } else { "the launcher's".into() },
                rank: Some(if known { 0 } else { process }),
                pid: 1,
                until_ns: 5 * S + (wall * 1e9) as u64,
                wall_s: wall,
                time_s: wall,
                ..Reading::default()
            });
        }
    }
    let number = |world: &str, _: &str, _| world.chars().last().unwrap().to_digit(10).unwrap() as usize;
    let found = course.windows(f64::INFINITY, number).unwrap();
    assert_eq!(found.ranks, ["0", "1.0", "2.0"]);
    assert!(found.list.iter().all(|window| window.mpi == [Some(0.0); 3]), "{:?}", found.list);
}

/// One host's timeline as received by another.
fn sent(course: &Timeline) -> Timeline {
    serde_json::from_str(&serde_json::to_string(course).unwrap()).unwrap()
}

fn of_host(mut course: Timeline, host: &str, first: u32) -> Timeline {
    for track in &mut course.tracks {
        track.host = host.into();
        track.rank = track.rank.map(|rank| rank + first);
    }
    course
}

#[test]
fn ranks_of_other_hosts_appear_in_the_same_windows_by_the_reporting_hosts_clock() {
    let late = |rank: u32, at: f64| if rank == 1 && at > 3.0 { 0.9 } else { 0.5 };
    let mut here = of_host(run(2, 6, 20_000_000, |_, _| 0.5), "n1", 0);
    // Their clock is an hour behind, and they were observed rarely.
    let mut there = of_host(run(2, 6, 100_000_000, late), "n2", 2);
    let hour = 3_600 * S;
    for track in &mut there.tracks {
        (track.from_ns, track.until_ns) = (track.from_ns + 40_000_000, track.until_ns + 40_000_000);
    }
    there.begin_ns = there.begin_ns.map(|ns| ns + 40_000_000);
    for track in &mut here.tracks {
        (track.from_ns, track.until_ns) = (track.from_ns + hour, track.until_ns + hour);
    }
    here.begin_ns = here.begin_ns.map(|ns| ns + hour);
    let clock = HostClock::new(0, Offset { later_ns: hour as i64, error_ns: 1 });
    for (mut first, second, later) in
        [(here.clone(), sent(&there), Some(&clock)), (Timeline::default(), sent(&here), None)]
    {
        let alone = first.tracks.is_empty();
        first.take_in(second, later);
        if alone {
            first.take_in(sent(&there), Some(&clock));
        }
        let found = first.windows(f64::INFINITY, |_, _, _| 0).unwrap();
        assert_eq!(found.ranks, ["0", "1", "2", "3"]);
        assert!((found.list.len() as i64 - 121).abs() <= 1, "{}", found.list.len());
        assert!(found.said.iter().any(|said| said.contains("rank 3 falls behind")), "{:?}", found.said);
        assert_eq!((found.list[100].slowest, found.list[100].mpi[3]), (Some(3), Some(0.1)));
        for track in &first.tracks {
            let wall: f64 = track.windows.iter().map(|part| part.wall).sum();
            assert!((wall - 6.0).abs() < 1e-3, "no time is lost: {wall}");
        }
    }
}

#[test]
fn runs_of_different_length_get_windows_of_equal_width_and_bounded_size() {
    let mut long = of_host(run(1, 100, 50_000_000, |_, _| 0.5), "n1", 0);
    let short = of_host(run(1, 3, 20_000_000, |_, _| 0.5), "n2", 1);
    let mut other = short.clone();
    other.take_in(sent(&long), None);
    long.take_in(sent(&short), None);
    for course in [&long, &other] {
        let found = course.windows(f64::INFINITY, |_, _, _| 0).unwrap();
        assert!(found.list.len() <= MOST && found.list.len() > MOST / 2 - 1, "{}", found.list.len());
        assert_eq!(found.list.last().unwrap().mpi.iter().flatten().count(), 1);
    }
    let mut broken = sent(&short);
    broken.width_ns = 0;
    broken.tracks[0].until_ns = u64::MAX;
    broken.tracks[0].windows = vec![Part::default(); 10 * MOST];
    long.take_in(broken, None);
    assert!(long.tracks.iter().all(|track| track.windows.len() <= MOST));
}

#[test]
fn a_window_after_the_last_iteration_belongs_to_it() {
    let mut iterations = Iterations::default();
    iterations.count = 202;
    let windows = Windows { iterations: Some(iterations), ..Windows::default() };
    let of = |over| windows.iteration_of(&Window { iterations_over: over, ..Window::default() });
    assert_eq!([Some(0.0), Some(1.5), Some(202.0), None].map(of), [Some(1), Some(2), Some(202), None]);
    assert_eq!(
        Windows::default().iteration_of(&Window { iterations_over: Some(1.0), ..Window::default() }),
        None
    );
}

#[test]
fn the_last_stretch_includes_the_last_iteration() {
    let mut course = run(2, 6, 50_000_000, |rank, at| if rank == 1 && at > 2.0 { 0.9 } else { 0.5 });
    let begin = course.begin_ns.unwrap();
    // An iteration every tenth of a second: when the last one is marked, 59 are over.
    for mark in 0..60 {
        let marked = Some((begin + mark * 100_000_000, mark + 1));
        course.repeat(&Reading { rank: Some(0), marked, ..Reading::default() }, &[]);
    }
    let found = course.windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert_eq!(found.said[0], "60 iterations, marked by MPI_Pcontrol");
    assert!(found.said.last().unwrap().contains(" to 60)"), "{:?}", found.said);
}

#[test]
fn consecutive_programs_are_judged_by_their_own_ranks_and_iterations() {
    let mut course = Timeline::default();
    let program = |course: &mut Timeline, world: &str, begin: f64, useful: [f64; 2]| {
        for look in 1..=60 {
            let wall_s = 0.05 * f64::from(look);
            for (rank, useful) in (0u32..).zip(useful) {
                course.add(&Reading {
                    process: 2 * world.len() + rank as usize,
                    world: world.to_owned(),
                    rank: Some(rank),
                    pid: world.len() as u32,
                    until_ns: 5 * S + ((begin + wall_s) * 1e9) as u64,
                    wall_s,
                    time_s: wall_s,
                    mpi_s: wall_s * (1.0 - useful),
                    ..Reading::default()
                });
            }
        }
    };
    program(&mut course, "a", 0.0, [0.8, 0.8]);
    for mark in 0..30 {
        let marked = Some((5 * S + mark * 100_000_000, mark + 1));
        course.repeat(&Reading { rank: Some(0), marked, ..Reading::default() }, &[]);
    }
    program(&mut course, "bb", 3.0, [0.8, 0.8]);
    program(&mut course, "ccc", 6.0, [0.8, 0.4]);
    let found = course.windows(f64::INFINITY, |world, _, _| world.len() - 1).unwrap();
    let said: Vec<&str> = found.said.iter().map(String::as_str).collect();
    let expected = [
        "30 iterations, marked by MPI_Pcontrol",
        "until 3.00 s (iterations 1 to 30, ranks [0-1] only), the ranks are balanced: load balance 100 %, parallel efficiency 80 %",
        "then, from 3.00 s to 6.00 s (ranks 1.[0-1] only), the ranks are balanced: load balance 100 %, parallel efficiency 80 %",
        "then, from 6.00 s to 9.00 s (ranks 2.[0-1] only), rank 2.0 falls behind: it works 1.3 times the mean; load balance 75 %, parallel efficiency 60 %",
    ];
    assert_eq!(said, expected);
    let counted: Vec<bool> = found.rows.iter().map(|row| row.iterations_over.is_some()).collect();
    let first = counted.iter().filter(|counted| **counted).count();
    assert!(counted.iter().take(first).all(|counted| *counted) && (1..=6).contains(&first), "{counted:?}");
}

#[test]
fn windows_contain_no_more_waits_than_the_whole_run() {
    let mut course = run(2, 4, 50_000_000, |rank, _| if rank == 0 { 0.9 } else { 0.4 });
    let begin = course.begin_ns.unwrap();
    let who = ("w".into(), Some(1));
    course.wait(&[Waiting { who, from_ns: begin, until_ns: begin + 4 * S, seconds: 2.0 }]);
    let waited = |most_s| course.windows(most_s, |_, _, _| 0).unwrap().waited_s;
    let near = |found: Vec<f64>, all_s: f64| (found.iter().sum::<f64>() - all_s).abs() < 1e-6;
    assert!(near(waited(f64::INFINITY), 2.0) && near(waited(3.0), 2.0), "{:?}", waited(3.0));
    assert!(near(waited(1.5), 1.5), "{:?}", waited(1.5));
}

/// A loop that asks with `MPI_Test` is mostly between these calls.
#[test]
fn waiting_in_a_polling_loop_is_not_taken_for_slow_transfers() {
    let mut course = Timeline::default();
    for look in 1..=80 {
        let wall_s = 0.05 * f64::from(look);
        for rank in 0..2u32 {
            let (mpi_s, polling_s) = if rank == 0 { (0.0, 0.0) } else { (0.1 * wall_s, 0.7 * wall_s) };
            course.add(&Reading {
                process: rank as usize,
                world: "w".into(),
                rank: Some(rank),
                until_ns: 5 * S + (wall_s * 1e9) as u64,
                wall_s,
                time_s: wall_s,
                mpi_s,
                polling_s,
                ..Reading::default()
            });
        }
    }
    let begin = course.begin_ns.unwrap();
    let who = ("w".into(), Some(1));
    course.wait(&[Waiting { who, from_ns: begin, until_ns: begin + 4 * S, seconds: 3.0 }]);
    let found = course.windows(f64::INFINITY, |_, _, _| 0).unwrap();
    assert!(found.waited_s[0] == 0.0 && (found.waited_s[1] - 3.0).abs() < 1e-6, "{:?}", found.waited_s);
}

#[test]
fn the_first_sentence_continues_none_if_no_rank_worked_outside_mpi_before() {
    let mut course = Timeline::default();
    for look in 1..=120 {
        let wall_s = 0.05 * f64::from(look);
        for rank in 0..2 {
            // Two seconds in MPI_Init, then balanced work, and then rank 1 has half of it.
            let second = (wall_s - 4.0).max(0.0) * if rank == 0 { 0.8 } else { 0.4 };
            let useful_s = 0.8 * (wall_s - 2.0).clamp(0.0, 2.0) + second;
            course.add(&Reading {
                process: rank as usize,
                rank: Some(rank),
                pid: rank + 1,
                until_ns: 5 * S + (wall_s * 1e9) as u64,
                wall_s,
                time_s: wall_s,
                mpi_s: wall_s - useful_s,
                ..Reading::default()
            });
        }
    }
    let found = course.windows(f64::INFINITY, |_, _, _| 0).unwrap();
    let starts: Vec<&str> = found.said.iter().filter_map(|said| said.split(" s").next()).collect();
    assert_eq!(starts, ["from 2.00", "then, from 4.00"], "{:?}", found.said);
}

#[test]
fn waits_that_exceed_the_time_in_mpi_of_their_window_belong_to_those_next_to_it() {
    let part = |mpi, waits| vec![Part { wall: 1.0, time: 1.0, mpi, waits, ..Part::default() }];
    let waits = |all: &[Vec<Part>]| -> Vec<f64> { all.iter().flatten().map(|part| part.waits).collect() };
    // The time in MPI between two samples is spread evenly; waits are known exactly.
    let mut all = [part(0.25, 0.0), part(0.25, 0.5), part(0.25, 0.0), part(0.25, 0.25)];
    bound_waits(&mut all, 10.0);
    assert_eq!(waits(&all), [0.0, 0.25, 0.25, 0.25]);
    let mut all = [part(0.25, 0.0), part(0.25, 0.0), part(0.25, 1.0)];
    bound_waits(&mut all, 10.0);
    assert_eq!(waits(&all), [0.25, 0.25, 0.25]);
}
