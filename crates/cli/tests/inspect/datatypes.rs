//! Datatypes: names for the numeric arguments of a constructor, built-in types of several parts, and lists
//! that stay short.

use super::{INT, Saved, made};
use mpiscope_image::layout::{Recording, SectionKind, Words};
use mpiscope_image::objects::{BOUND_UNKNOWN, Combiner, Datatype};
use mpiscope_job::test_image::TestImage;
use serde_json::{Value, json};

const ARRAY: u64 = 0xcc00_0001;
/// Values of MPICH's ABI.
const ORDER_FORTRAN: u64 = 57;
const BLOCK: u64 = 121;
const CYCLIC: u64 = 122;
const NONE: u64 = 123;
const DEFAULT: u64 = -49767_i64 as u64;
/// Far more than a list shows.
const BLOCKS: u64 = 1000;

/// Makes a datatype of `int`s.
fn datatype(combiner: Combiner, by: &str, args: [u64; 4], array: &[u64]) -> Saved {
    let sample = TestImage::new("types", 0, 4);
    sample.records(Recording::OBJECTS);
    let Words { offset, len } = sample.writer.words(array);
    let (_, record) = sample.writer.new_record::<Datatype>(SectionKind::DATATYPES, 8).unwrap();
    record.head.seq.write(|| {
        made(&sample, &record.head, SectionKind::DATATYPES, ARRAY, by);
        record.combiner.set(combiner.0);
        record.old.set(INT);
        record.args.iter().zip(args).for_each(|(to, arg)| to.set(arg));
        record.array.offset.set(offset.get());
        record.array.len.set(len.get());
        record.size.set(u64::MAX);
        record.lb.set(BOUND_UNKNOWN);
    });
    Saved::new(&[sample])
}

#[test]
fn the_arguments_of_a_distributed_array_are_reported_in_words() {
    let sizes = [100, 200, 300];
    let (kinds, arguments, grid) = ([BLOCK, CYCLIC, NONE], [DEFAULT, 2, DEFAULT], [2, 2, 1]);
    let array = [sizes, kinds, arguments, grid].concat();
    let saved = datatype(Combiner::DARRAY, "MPI_Type_create_darray", [3, ORDER_FORTRAN, 4, 1], &array);
    let (printed, _) = saved.printed(&["--handle", "0xcc000001"]);
    let wanted = "darray(ndims 3, order MPI_ORDER_FORTRAN, size 4, rank 1, gsizes 100 200 300, \
                  distribs block cyclic none, dargs dflt_darg 2 dflt_darg, psizes 2 2 1)";
    assert!(printed.contains(wanted), "{printed}");
}

#[test]
fn a_built_in_type_has_a_type_map_only_if_it_has_two_parts() {
    let saved = datatype(Combiner::CONTIGUOUS, "MPI_Type_contiguous", [3, 0, 0, 0], &[]);
    let (printed, _) = saved.printed(&["--handle", "MPI_2INT"]);
    assert!(
        printed.contains("  type map          no holes\n") && printed.contains("  2 x MPI_INT\n"),
        "{printed}"
    );
    let (printed, _) = saved.printed(&["--handle", "MPI_INT"]);
    assert!(printed.contains("4 bytes") && !printed.contains("type map"), "{printed}");
}

/// Returns the type as shown in a list, or alone.
fn of(saved: &Saved, arguments: &[&str]) -> Value {
    let answer = saved.json(arguments);
    let objects = answer["ranks"][0]["objects"].as_array().unwrap();
    objects.iter().find(|object| object["handle"] == "0xcc000001").unwrap().clone()
}

#[test]
fn a_list_gives_the_length_of_a_type_and_the_object_or_a_whole_list_has_all_of_it() {
    let blocks: Vec<u64> = (0..BLOCKS).map(|_| 1).chain((0..BLOCKS).map(|i| 3 * i)).collect();
    let saved = datatype(Combiner::INDEXED, "MPI_Type_indexed", [BLOCKS, 0, 0, 0], &blocks);
    let length = |value: &Value| value.as_array().unwrap().len();
    let lengths = |printed: &Value| {
        let (map, arrays) = (&printed["type_map"], &printed["arguments"]["arrays"]);
        [&map["runs"], &map["holes"], &arrays[0][1], &arrays[1][1]].map(length)
    };
    let listed = of(&saved, &["--kind", "datatype"]);
    assert_eq!(lengths(&listed), [16; 4]);
    let map = &listed["type_map"];
    assert_eq!((&map["runs_left_out"], &map["holes_left_out"]), (&984.into(), &983.into()), "{map}");
    assert_eq!(listed["arguments"]["left_out"], json!([["blocklengths", 984], ["displacements", 984]]));
    assert_eq!(listed["arguments"]["numbers"][0], json!(["count", 1000]));
    for arguments in [&["--kind", "datatype", "--whole"][..], &["--handle", "0xcc000001"]] {
        let whole = of(&saved, arguments);
        assert_eq!(lengths(&whole), [1000, 999, 1000, 1000], "{arguments:?}");
        assert_eq!(whole["type_map"]["runs_left_out"], Value::Null);
        assert_eq!(whole["arguments"]["left_out"], Value::Null);
    }
}
