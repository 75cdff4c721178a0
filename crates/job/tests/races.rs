//! A record that is reused for another object while a model is built from it: the race is forced.

mod corpus;

use std::cell::{Cell, RefCell};

use mpiscope_image::{Image, Source};
use mpiscope_job::model::objects::{Datatype, ImageOnly, Reader};

/// An image whose record is reused for another object at the moment when its name is read.
struct Shifting {
    bytes: RefCell<Vec<u8>>,
    record: usize,
    name: usize,
    shifted: Cell<bool>,
}

/// Offsets in a record: the sequence number comes first, the uid after the handle.
const UID: usize = 16;
const OLD_NAME: &[u8] = b"three pairs";
const NEW_NAME: &[u8] = b"another one";
const NEW_UID: u64 = 0x7777_0012;

impl Source for Shifting {
    fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), String> {
        let offset = offset as usize;
        if offset == self.name && !self.shifted.replace(true) {
            let mut bytes = self.bytes.borrow_mut();
            bytes[self.record] += 2;
            bytes[self.record + UID..][..8].copy_from_slice(&NEW_UID.to_ne_bytes());
            bytes[self.name..][..NEW_NAME.len()].copy_from_slice(NEW_NAME);
        }
        let bytes = self.bytes.borrow();
        buf.copy_from_slice(bytes.get(offset..offset + buf.len()).ok_or("beyond the end")?);
        Ok(())
    }

    fn len(&self) -> u64 {
        self.bytes.borrow().len() as u64
    }
}

#[test]
fn an_object_never_shows_the_name_of_its_records_next_object() {
    let bytes = corpus::image("mpich.image");
    let whole = Image::open(bytes.clone()).unwrap();
    let old: Vec<Datatype> = Reader::new(&whole, &ImageOnly).unwrap().all().unwrap();
    let old = old.iter().find(|d| d.common.name.as_deref() == Some("three pairs")).unwrap();
    let uid = old.common.uid.to_ne_bytes();
    let handle = old.common.handle.0.to_ne_bytes();
    // A record begins with its sequence number, its handle and its uid.
    let at = bytes.windows(16).position(|w| w[..8] == handle && w[8..] == uid).unwrap();
    let name = bytes.windows(OLD_NAME.len()).position(|w| w == OLD_NAME).unwrap();
    let shifting = Shifting { bytes: RefCell::new(bytes), record: at - 8, name, shifted: Cell::new(false) };
    let image = Image::open(shifting).unwrap();
    let reader = Reader::new(&image, &ImageOnly).unwrap();
    let found: Datatype = reader.get(old.common.handle.0).unwrap();
    assert!(image.source().shifted.get(), "the race did not happen");
    assert_eq!((found.common.uid, found.common.name.as_deref()), (NEW_UID, Some("another one")));
}
