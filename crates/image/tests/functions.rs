//! What a reader knows about functions: from the image, or else from its own table.
#![allow(unsafe_code)]

mod common;

use common::Memory;
use mpi_abi::{Class, Fields, FunctionId, Moves, Partners, Properties, Role, Start, Waits};
use mpiscope_image::layout::{Chars, FunctionRecord, SectionKind};
use mpiscope_image::{Functions, Image, Record, words};

/// A function record from before properties were added.
#[repr(C)]
struct ShortFunction {
    name: Chars<48>,
}

// SAFETY: repr(C), bytes only.
unsafe impl Record for ShortFunction {
    const SEQUENCED: bool = false;
}

fn read(memory: &Memory) -> Functions {
    Functions::read(&Image::open(memory.bytes(1 << 20)).unwrap()).unwrap()
}

#[test]
fn an_unknown_function_is_read_as_the_image_describes_it() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    let properties = Properties {
        class: Class::POINT_TO_POINT,
        waits: Waits::SEND,
        partners: Partners::PEER,
        moves: Moves::SEND,
        ..Properties::default()
    };
    let fields = Fields { peer: Some(Role::Destination), count: true, ..Fields::NONE };
    for (name, start) in [("MPI_Zsend", Start::NONE), ("MPI_Izsend", Start::NONBLOCKING)] {
        let (_, function) = writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, 2).unwrap();
        function.name.set(&Chars::new(name.as_bytes()));
        function.properties.set(Properties { start, ..properties }.word());
        function.fields.set(fields.word());
        function.operation.set(1);
    }
    let functions = read(&memory);
    let started = functions.get(1).unwrap();
    assert_eq!((started.name.as_str(), started.operation.as_str()), ("MPI_Izsend", "MPI_Zsend"));
    assert_eq!(started.properties, Properties { start: Start::NONBLOCKING, ..properties });
    assert_eq!(started.fields, fields);
    // If the image lacks the base, it is the function itself.
    assert_eq!(functions.named("MPI_Izsend").unwrap().base, "MPI_Izsend");
    assert!(functions.get(2).is_none());
}

#[test]
fn functions_in_an_older_image_are_recognized_by_name() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    for name in ["MPI_Irecv_c", "MPI_Zsend"] {
        let (_, function) = writer.new_record::<ShortFunction>(SectionKind::FUNCTIONS, 2).unwrap();
        function.name.set(&Chars::new(name.as_bytes()));
    }
    let functions = read(&memory);
    let receive = functions.get(0).unwrap();
    let id = FunctionId::from_name("MPI_Irecv_c").unwrap();
    assert_eq!(receive.properties, id.properties());
    assert_eq!((receive.base.as_str(), receive.operation.as_str()), ("MPI_Irecv", "MPI_Recv"));
    assert!(receive.fields.tag);
    let unknown = functions.get(1).unwrap();
    assert_eq!((unknown.properties, unknown.base.as_str()), (Properties::default(), "MPI_Zsend"));
}

#[test]
fn every_function_of_the_table_reads_as_it_was_written() {
    let memory = Memory::new(1 << 20, 1 << 20);
    let writer = memory.writer();
    for id in FunctionId::all() {
        let (_, function) =
            writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, mpi_abi::COUNT).unwrap();
        function.name.set(&Chars::new(id.name().as_bytes()));
        let (properties, fields, base, operation) = words(id);
        function.properties.set(properties);
        function.fields.set(fields);
        function.base.set(base);
        function.operation.set(operation);
    }
    let functions = read(&memory);
    assert_eq!(functions.iter().len(), mpi_abi::COUNT);
    for function in functions.iter() {
        assert_eq!(*function, mpiscope_image::Function::of_table(&function.name));
    }
}

#[test]
fn images_with_different_tables_are_distinguished() {
    let image = |operation: u32| {
        let memory = Memory::new(1 << 20, 1 << 20);
        let writer = memory.writer();
        for name in ["MPI_Send", "MPI_Isend"] {
            let (_, function) = writer.new_record::<FunctionRecord>(SectionKind::FUNCTIONS, 2).unwrap();
            function.name.set(&Chars::new(name.as_bytes()));
            function
                .properties
                .set(Properties { class: Class::POINT_TO_POINT, ..Properties::default() }.word());
            function.operation.set(operation);
        }
        memory
    };
    let operation = |memory: &Memory| read(memory).get(1).unwrap().operation.clone();
    let (one, other) = (image(1), image(2));
    for _ in 0..2 {
        assert_eq!(operation(&one), "MPI_Send");
        assert_eq!(operation(&other), "MPI_Isend");
    }
}
