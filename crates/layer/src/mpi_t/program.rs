//! The program's progress with MPI itself.

use super::codes::codes;
use crate::record::objects::sessions;
use mpi_abi::{Abi, AbiKind, Mpich, OpenMpi, Standard};

/// The thread level of MPI while it is initialized, counting from 0.
pub fn level() -> Option<usize> {
    fn level_of<A: Abi>() -> Option<usize> {
        let (mut begun, mut over, mut level) = (0, 0, A::THREAD_SINGLE);
        crate::interpose::real::initialized::<A>(&mut begun)?;
        crate::interpose::real::finalized::<A>(&mut over)?;
        if begun == 0 || over != 0 {
            return None;
        }
        crate::interpose::real::query_thread::<A>(&mut level)?;
        codes().thread_level(level)
    }
    match crate::interpose::resolver::abi()? {
        AbiKind::MPICH => level_of::<Mpich>(),
        AbiKind::OPENMPI => level_of::<OpenMpi>(),
        _ => level_of::<Standard>(),
    }
}

/// Whether MPI is initialized through sessions alone: there is no `MPI_COMM_WORLD`, but there may be objects.
pub fn sessions_only() -> bool {
    fn begun<A: Abi>() -> bool {
        let mut begun = 0;
        crate::interpose::real::initialized::<A>(&mut begun).is_none() || begun != 0
    }
    let begun = match crate::interpose::resolver::abi() {
        None => return false,
        Some(AbiKind::MPICH) => begun::<Mpich>(),
        Some(AbiKind::OPENMPI) => begun::<OpenMpi>(),
        Some(_) => begun::<Standard>(),
    };
    !begun && sessions::is_one_open()
}

/// Whether MPI is initialized, through the world or a session.
pub fn is_up() -> bool {
    level().is_some() || sessions_only()
}
