//! The call that a process which called `MPI_Abort` ended in.
#![allow(clippy::unwrap_used)]

use super::{Context, observe};
use crate::base::clock::Moment;
use crate::model::abort::{FUNCTION, place};
use crate::model::locate::NoSymbols;
use crate::model::process::Process;
use crate::model::rank::{Rank, SymbolContext};
use crate::sources::image_source::open_fd;
use crate::test_image::TestImage;
use mpiscope_image::layout::SectionKind;
use mpiscope_image::sites::Site;

struct Ended;

impl Context for Ended {
    fn ended(&self) -> Option<String> {
        Some("it called MPI_Abort".to_owned())
    }
}

/// The place of the abort, and the call that the main thread ended in.
fn found(image: &TestImage) -> (Option<String>, Option<(String, Option<String>)>) {
    let image = open_fd(image.fd.try_clone().unwrap(), "aborts").unwrap();
    let process = Process::read(&image, Some(Moment::now())).unwrap();
    let context = SymbolContext::new(&process, &NoSymbols);
    let rank = Rank::new(&image, &process, &context);
    let call = observe(&rank, &Ended).threads.remove(0).call;
    (place(&rank), call.map(|call| (call.function, call.place)))
}

#[test]
fn a_process_ended_in_mpi_abort_even_if_it_called_mpi_again() {
    let image = TestImage::new("aborts", 0, 2);
    image.enters(FUNCTION, [0x4400_0000, 0, 0], 0, 0);
    image.abort(3);
    let at = |address: &str| Some(address.to_owned());
    assert_eq!(found(&image), (at("0x1234"), Some((FUNCTION.to_owned(), at("0x1234")))));
    image.leaves();
    let (_, site) = image.writer.new_record::<Site>(SectionKind::SITES, 8).unwrap();
    site.from.set(0x77);
    site.count.set(1);
    site.function.set(image.number(FUNCTION) as u32 + 1);
    image.enters("MPI_Finalize", [0; 3], 0, 0);
    assert_eq!(found(&image), (at("0x77"), Some((FUNCTION.to_owned(), at("0x77")))));
}

#[test]
fn without_an_abort_the_last_call_is_the_one_it_ended_in() {
    let image = TestImage::new("aborts", 0, 2);
    image.enters("MPI_Barrier", [0x4400_0000, 0, 0], 0, 0);
    assert_eq!(found(&image), (None, Some(("MPI_Barrier".to_owned(), Some("0x1234".to_owned())))));
}
