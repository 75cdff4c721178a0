use super::*;
use crate::Process;
use crate::base::clock::Moment;
use crate::model::locate::NoSymbols;
use crate::model::rank::SymbolContext;
use crate::sources::image_source::open_fd;
use crate::test_image::TestImage;

/// The rank has called a function from a place: calls, nanoseconds, bytes.
fn called(sample: &TestImage, name: &str, from: u64, object: u64, (count, ns, bytes): (u64, u64, u64)) {
    let (_, site) = sample.writer.new_record::<Record>(SectionKind::SITES, 4).unwrap();
    site.from.set(from);
    site.object.set(object);
    site.count.set(count);
    site.ticks.set(ns);
    site.bytes.set(bytes);
    site.least.set(ns / count);
    site.greatest.set(ns / count);
    site.durations[mpiscope_image::sites::duration_class(ns / count)].set(count);
    site.function.set(sample.number(name) as u32 + 1);
}

fn read(sample: &TestImage) -> RankSites {
    let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
    let process = Process::read(&image, Some(Moment::now())).unwrap();
    let context = SymbolContext::new(&process, &NoSymbols);
    of_rank(&Rank::new(&image, &process, &context)).unwrap()
}

#[test]
fn records_of_two_threads_share_a_place_and_calls_without_one_are_the_rest() {
    let sample = TestImage::new("sites", 0, 2);
    let comm = sample.has_comm(0x8400_0001, "solver", 2).head.uid.get();
    sample.called("MPI_Send", 10, 1000, 80);
    sample.called("MPI_Recv", 3, 500, 12);
    called(&sample, "MPI_Send", 0x10, comm, (4, 400, 32));
    called(&sample, "MPI_Send", 0x10, comm, (2, 300, 16));
    called(&sample, "MPI_Send", 0x20, comm, (1, 200, 8));
    let found = read(&sample);
    let sums: Vec<_> = found.sites.iter().map(|s| (s.address.0, s.totals.calls, s.totals.sent)).collect();
    assert_eq!(sums, [(0x10, 6, 48), (0x20, 1, 8)]);
    let first = &found.sites[0];
    assert_eq!(first.object.as_ref().unwrap().label(), "\"solver\"");
    assert_eq!(first.extremes_s, Some((1e-7, 1.5e-7)));
    let lengths: Vec<_> = first.durations.iter().map(|d| d.calls).collect();
    assert_eq!(lengths, [4, 2]);
    let rest: Vec<_> = found.rest.iter().map(|rest| (rest.function.as_str(), rest.totals.calls)).collect();
    assert_eq!(rest, [("MPI_Recv", 3), ("MPI_Send", 3)]);
}

#[test]
fn an_older_image_has_no_places_so_all_calls_are_the_rest() {
    let sample = TestImage::new("sites before", 0, 1);
    sample.called("MPI_Barrier", 7, 70, 0);
    let found = read(&sample);
    assert!(found.sites.is_empty());
    assert_eq!(found.rest[0].totals.calls, 7);
}

#[test]
fn ranks_are_merged_by_line_and_the_slowest_is_named() {
    let ranks: Vec<RankSites> = [(0x10, 100), (0x30, 900)]
        .into_iter()
        .map(|(from, ns)| {
            let sample = TestImage::new("sites joined", 0, 2);
            called(&sample, "MPI_Wait", from, 0, (1, ns, 0));
            let mut found = read(&sample);
            found.sites.iter_mut().for_each(|site| site.place = Some("heat.c:52".into()));
            found
        })
        .collect();
    let job = join([((0, Some(0)), &ranks[0]), ((0, Some(1)), &ranks[1])].into_iter());
    let site = &job.sites[0];
    assert_eq!((job.sites.len(), site.totals.calls, site.ranks.to_string().as_str()), (1, 2, "[0-1]"));
    assert_eq!((site.min.rank, site.max.rank), (Some(0), Some(1)));
    assert_eq!((site.least_s, site.greatest_s), (Some(1e-7), Some(9e-7)));
    assert_eq!(site.durations.len(), 2);
}
