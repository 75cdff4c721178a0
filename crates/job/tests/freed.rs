//! Freed objects, what MPI still holds of them, and what is pending, on generated images.

use mpiscope_image::layout::{SectionKind, State};
use mpiscope_image::objects::{
    Comm, Datatype, Errhandler, Flag, Head, Info, Keyval as RawKeyval, Life, Op, uid,
};
use mpiscope_image::traffic::{Request, RequestKind};
use mpiscope_job::Bytes;
use mpiscope_job::model::objects::{self, ImageOnly, Kind, Lifetime, Reader};
use mpiscope_job::questions::leaks;
use mpiscope_job::sources::image_source::open_fd;
use mpiscope_job::test_image::TestImage;

/// In MPICH's ABI.
const PROC_NULL: u32 = u32::MAX;
const COMM: u64 = 0x8400_0001;
const MPI_INT: u64 = 0x4c00_0405;
const OP: u64 = 0x9800_0001;

fn made(sample: &TestImage, head: &Head, kind: SectionKind, (serial, handle): (u64, u64), by: &str) {
    head.uid.set(uid(kind, serial));
    head.handle.set(handle);
    head.life.set(Life::LIVE.0);
    head.made_by.set(sample.number(by) as u16 + 1);
    head.made_at.set(100 * serial);
}

fn freed(sample: &TestImage, head: &Head, by: &str, at: u64) {
    head.life.set(Life::FREED.0);
    head.freed_by.set(sample.number(by) as u32 + 1);
    head.freed_at.set(at);
}

fn request(sample: &TestImage, comm: &Comm, serial: u64, by: &str, kind: RequestKind) -> &'static Request {
    let (_, request) = sample.writer.new_record::<Request>(SectionKind::REQUESTS, 8).unwrap();
    made(sample, &request.head, SectionKind::REQUESTS, (serial, 0xac00_0000 + serial), by);
    request.head.flags.set(Flag::STARTED.0 | Flag::ACTIVE.0);
    request.head.parent.set(comm.head.uid.get());
    request.kind.set(kind.0);
    request.object.set(comm.head.handle.get());
    request
}

fn solver(sample: &TestImage) -> &'static Comm {
    let comm = sample.has_comm(COMM, "solver", 4);
    made(sample, &comm.head, SectionKind::COMMS, (1, COMM), "MPI_Comm_dup");
    comm
}

fn look<R>(sample: &TestImage, look: impl FnOnce(&Reader<'_, Bytes>) -> R) -> R {
    let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
    let reader = Reader::new(&image, &ImageOnly).unwrap();
    look(&reader)
}

#[test]
fn a_predefined_object_is_recognized_by_its_record_without_a_symbol() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    let label = |reader: &Reader<'_, Bytes>| reader.refer_to(Kind::Communicator, COMM).label();
    assert_eq!(look(&sample, label), "\"solver\"");
    comm.head.flags.set(Flag::PREDEFINED.0);
    assert_eq!(look(&sample, label), "solver");
}

#[test]
fn a_communicator_with_a_pending_receive_is_marked_for_freeing_and_its_queue_is_shown() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    let receive = request(&sample, comm, 2, "MPI_Irecv", RequestKind::RECV);
    freed(&sample, &comm.head, "MPI_Comm_free", 300);
    look(&sample, |reader| {
        let comm = reader.get::<objects::Communicator>(COMM).unwrap().common;
        assert_eq!(comm.standing, Lifetime::Marked);
        assert_eq!(comm.freed.unwrap().function.as_deref(), Some("MPI_Comm_free"));
        assert_eq!(reader.queues().unwrap()[0].receives.len(), 1);
        let count = leaks::count(reader, Kind::Communicator).unwrap();
        assert_eq!((count.marked, count.freed), (1, 0));
    });
    sample.state(State::FINALIZED);
    let after =
        |reader: &Reader<'_, Bytes>| reader.get::<objects::Communicator>(COMM).unwrap().common.standing;
    assert_eq!(look(&sample, after), Lifetime::Freed, "nothing outlives MPI");
    sample.state(State::INITIALIZED);
    receive.head.flags.set(Flag::STARTED.0 | Flag::COMPLETE.0);
    assert_eq!(look(&sample, after), Lifetime::Freed);
    assert!(look(&sample, |reader| reader.queues().unwrap().is_empty()));
}

#[test]
fn an_error_handler_is_kept_by_objects_that_inherited_it_from_a_freed_communicator() {
    let sample = TestImage::new("freed", 0, 4);
    let parent = solver(&sample);
    let child = sample.has_comm(COMM + 1, "child", 4);
    made(&sample, &child.head, SectionKind::COMMS, (2, COMM + 1), "MPI_Comm_dup");
    child.head.parent.set(parent.head.uid.get());
    let (_, handler) = sample.writer.new_record::<Errhandler>(SectionKind::ERRHANDLERS, 8).unwrap();
    made(&sample, &handler.head, SectionKind::ERRHANDLERS, (1, 0x94), "MPI_Comm_create_errhandler");
    parent.errhandler.set(0x94);
    parent.errhandler_uid.set(handler.head.uid.get());
    freed(&sample, &handler.head, "MPI_Errhandler_free", 300);
    freed(&sample, &parent.head, "MPI_Comm_free", 400);
    let standing =
        |reader: &Reader<'_, Bytes>| reader.get::<objects::Errhandler>(0x94).unwrap().common.standing;
    assert_eq!(look(&sample, standing), Lifetime::Marked);
    freed(&sample, &child.head, "MPI_Comm_free", 500);
    assert_eq!(look(&sample, standing), Lifetime::Freed);
}

#[test]
fn a_reduction_keeps_the_operation_that_had_the_handle_at_its_creation() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    let [before, then, later] = [1, 3, 5].map(|serial| {
        let (_, op) = sample.writer.new_record::<Op>(SectionKind::OPS, 8).unwrap();
        made(&sample, &op.head, SectionKind::OPS, (serial, OP), "MPI_Op_create");
        freed(&sample, &op.head, "MPI_Op_free", 100 * serial + 150);
        op.head.uid.get()
    });
    let reduction = request(&sample, comm, 4, "MPI_Allreduce_init", RequestKind::COLLECTIVE);
    reduction.head.flags.set(Flag::PERSISTENT.0);
    reduction.entry.set(OP);
    look(&sample, |reader| {
        let standing = |uid| reader.by_uid::<objects::Op>(uid).unwrap().unwrap().common.standing;
        let expected = [Lifetime::Freed, Lifetime::Marked, Lifetime::Freed];
        assert_eq!([before, then, later].map(standing), expected);
    });
}

#[test]
fn a_live_request_does_not_show_the_free_of_the_previous_one_in_its_record() {
    let sample = TestImage::new("freed", 0, 4);
    let live = request(&sample, solver(&sample), 2, "MPI_Irecv", RequestKind::RECV);
    freed(&sample, &live.head, "MPI_Wait", 150);
    live.head.life.set(Life::LIVE.0);
    let common = look(&sample, |reader| reader.all::<objects::Request>().unwrap()[0].common.clone());
    assert_eq!((common.standing, common.freed), (Lifetime::Live, None));
}

#[test]
fn pending_receives_are_in_the_order_in_which_they_were_posted() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    // Records are reused in any order.
    let [third, first, again] = [7, 3, 2].map(|serial| {
        let receive = request(&sample, comm, serial, "MPI_Irecv", RequestKind::RECV);
        receive.tag.set(serial as u32);
        receive
    });
    // Created first, but started between the others.
    again.head.flags.set(again.head.flags.get() | Flag::PERSISTENT.0);
    again.set_operation(5);
    let tags = |reader: &Reader<'_, Bytes>| {
        let queue = reader.queues().unwrap().remove(0);
        queue.receives.iter().map(|receive| receive.tag.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(look(&sample, tags), [3, 2, 7]);
    assert!(first.operation() < again.operation() && again.operation() < third.operation());
}

#[test]
fn an_attribute_key_has_one_handle_wherever_it_is_shown() {
    let sample = TestImage::new("freed", 0, 4);
    let (_, key) = sample.writer.new_record::<RawKeyval>(SectionKind::KEYVALS, 8).unwrap();
    let stored = u64::from(SectionKind::DATATYPES.0) << 32 | 0xa4c0_0005;
    made(&sample, &key.head, SectionKind::KEYVALS, (1, stored), "MPI_Type_create_keyval");
    look(&sample, |reader| {
        let listed = reader.all::<objects::Keyval>().unwrap().remove(0);
        assert_eq!(
            listed.common.handle.0,
            3 << 32 | 0xa4c0_0005,
            "the debugger interface's number of datatypes"
        );
        assert_eq!((listed.keyval, listed.of), (0xa4c0_0005_u32.cast_signed(), Some(Kind::Datatype)));
        let found = reader.get::<objects::Keyval>(listed.common.handle.0).unwrap();
        assert_eq!(found.common.uid, listed.common.uid);
    });
}

#[test]
fn requests_with_proc_null_are_not_pending() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    let both = request(&sample, comm, 2, "MPI_Isendrecv", RequestKind::SENDRECV);
    both.dest.set(PROC_NULL);
    both.peer.set(3);
    let pending = |reader: &Reader<'_, Bytes>| {
        let queue = reader.queues().unwrap().remove(0);
        (queue.sends.len(), queue.receives.len())
    };
    assert_eq!(look(&sample, pending), (0, 1));
    both.peer.set(PROC_NULL);
    assert_eq!(look(&sample, pending), (0, 0));
    both.dest.set(2);
    assert_eq!(look(&sample, pending), (1, 0));
    request(&sample, comm, 3, "MPI_Isend", RequestKind::SEND).peer.set(PROC_NULL);
    assert_eq!(look(&sample, pending), (1, 0));
}

#[test]
fn what_the_program_did_not_free_has_ended_after_finalize_but_not_after_abort() {
    let sample = TestImage::new("freed", 0, 4);
    let comm = solver(&sample);
    let active = request(&sample, comm, 2, "MPI_Irecv", RequestKind::RECV);
    active.head.life.set(Life::MARKED.0);
    let (_, info) = sample.writer.new_record::<Info>(SectionKind::INFOS, 8).unwrap();
    made(&sample, &info.head, SectionKind::INFOS, (3, 0x9c), "MPI_Info_create");
    let all = |reader: &Reader<'_, Bytes>| {
        let predefined = reader.get::<objects::Datatype>(MPI_INT).unwrap().common.standing;
        [reader.standing(&comm.head), reader.standing(&active.head), reader.standing(&info.head), predefined]
    };
    let used = [Lifetime::Live, Lifetime::Marked, Lifetime::Live, Lifetime::Live];
    assert_eq!(look(&sample, all), used);
    sample.state(State::FINALIZED);
    assert_eq!(look(&sample, all), [Lifetime::Ended, Lifetime::Freed, Lifetime::Live, Lifetime::Ended]);
    assert!(look(&sample, |reader| reader.queues().unwrap().is_empty()));
    sample.abort(1);
    assert_eq!(look(&sample, all), used);
}

#[test]
fn only_what_was_made_from_the_world_has_ended_while_a_session_is_open() {
    let sample = TestImage::new("freed", 0, 4);
    let world = sample.has_comm(0x4400_0000, "", 4);
    made(&sample, &world.head, SectionKind::COMMS, (1, 0x4400_0000), "MPI_Init");
    world.head.flags.set(Flag::PREDEFINED.0);
    let [child, grandchild, other] = [2, 3, 4].map(|serial| {
        let comm = sample.has_comm(COMM + serial, "", 4);
        made(&sample, &comm.head, SectionKind::COMMS, (serial, COMM + serial), "MPI_Comm_dup");
        comm
    });
    child.head.parent.set(world.head.uid.get());
    grandchild.head.parent.set(child.head.uid.get());
    let all = |reader: &Reader<'_, Bytes>| {
        [world, child, grandchild, other].map(|comm| reader.standing(&comm.head))
    };
    assert_eq!(look(&sample, all), [Lifetime::Live; 4]);
    sample.leaves_world();
    let [ended, live] = [Lifetime::Ended, Lifetime::Live];
    assert_eq!(look(&sample, all), [ended, ended, ended, live]);
}

#[test]
fn a_blocking_receive_is_a_posted_one_and_a_probe_is_not() {
    let sample = TestImage::new("posted", 0, 4);
    solver(&sample);
    for (function, posted) in
        [("MPI_Recv", 1), ("MPI_Probe", 0), ("MPI_Mprobe", 0), ("MPI_Sendrecv_replace", 1)]
    {
        sample.enters(function, [COMM, MPI_INT, 1], 1, 7);
        let image = open_fd(sample.fd.try_clone().unwrap(), "sample").unwrap();
        let process = mpiscope_job::Process::read(&image, None).unwrap();
        let rank = mpiscope_job::model::rank::Rank::new(&image, &process, &ImageOnly);
        let observed = mpiscope_job::observation::of_messages(&rank);
        assert_eq!(observed.posted.len(), posted, "{function}");
        let plugin = look(&sample, |reader| reader.queues().unwrap()[0].receives.len());
        assert_eq!(plugin, posted, "{function}");
    }
}

#[test]
fn a_predefined_object_that_the_program_named_keeps_the_standard_name_everywhere() {
    const WORLD: u64 = 0x4400_0000;
    let sample = TestImage::new("renamed", 0, 4);
    sample.has_comm(WORLD, "my world", 4);
    look(&sample, |reader| {
        let world = reader.get::<objects::Communicator>(WORLD).unwrap().common;
        let given = world.given_name.as_deref();
        assert_eq!((world.name.as_deref(), given), (Some("MPI_COMM_WORLD"), Some("my world")));
        assert_eq!(reader.refer_to(Kind::Communicator, WORLD).label(), "MPI_COMM_WORLD");
        assert_eq!(reader.queues().unwrap()[0].comm.label(), "MPI_COMM_WORLD");
    });
}

#[test]
fn pending_operations_name_their_datatype_and_communicator_as_all_views_do() {
    let sample = TestImage::new("named", 0, 4);
    let comm = solver(&sample);
    let (_, datatype) = sample.writer.new_record::<Datatype>(SectionKind::DATATYPES, 8).unwrap();
    made(&sample, &datatype.head, SectionKind::DATATYPES, (1, 0xcc00_0000), "MPI_Type_contiguous");
    let name = sample.writer.text(b"triple");
    datatype.name.offset.set(name.offset.get());
    datatype.name.len.set(name.len.get());
    let receive = request(&sample, comm, 1, "MPI_Irecv", RequestKind::RECV);
    receive.datatype.set(0xcc00_0000);
    receive.datatype_uid.set(uid(SectionKind::DATATYPES, 1));
    look(&sample, |reader| {
        let queue = reader.queues().unwrap().remove(0);
        let datatype = queue.receives[0].datatype.as_ref().map(objects::Reference::label);
        assert_eq!((queue.comm.label().as_str(), datatype.as_deref()), ("\"solver\"", Some("\"triple\"")));
    });
}
