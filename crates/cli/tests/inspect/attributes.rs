//! Attributes: a key is identified by the place that created it.

use super::{SOLVER, Saved, comm, made};
use mpiscope_image::layout::{Recording, SectionKind};
use mpiscope_image::objects::{Attribute, Keyval, Life, keyval_handle};
use mpiscope_job::test_image::TestImage;

const KEY: i32 = 0x6440_0001;

#[test]
fn an_attribute_is_reported_with_its_key_and_the_place_that_created_it() {
    let sample = TestImage::new("look", 0, 4);
    sample.records(Recording::OBJECTS);
    let owner = comm(&sample, SOLVER, 1).head.uid.get();
    let (_, keyval) = sample.writer.new_record::<Keyval>(SectionKind::KEYVALS, 8).unwrap();
    keyval.head.seq.write(|| {
        let handle = keyval_handle(SectionKind::COMMS, KEY);
        made(&sample, &keyval.head, SectionKind::KEYVALS, handle, "MPI_Comm_create_keyval");
    });
    for (key, uid) in [(KEY, keyval.head.uid.get()), (KEY + 1, 0)] {
        let (_, attribute) = sample.writer.new_record::<Attribute>(SectionKind::ATTRIBUTES, 8).unwrap();
        attribute.head.seq.write(|| {
            attribute.head.life.set(Life::LIVE.0);
            attribute.head.parent.set(owner);
            attribute.keyval.set(i64::from(key) as u64);
            attribute.keyval_uid.set(uid);
            attribute.value.set(0x77);
        });
    }
    let (printed, _) = Saved::new(&[sample]).printed(&["--handle", "solver"]);
    let known = "  attribute         key 1681915905 (0x64400001, made at 0x1234) = 0x77\n";
    let unseen = "  attribute         key 1681915906 (0x64400002) = 0x77\n";
    assert!(printed.contains(known) && printed.contains(unseen), "{printed}");
}
