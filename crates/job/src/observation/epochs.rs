//! Window calls at the wrong time: an epoch they need is not open, or one that must be closed first is still
//! open.
//!
//! Libraries need not check, and some terminate the job in such a call.

use mpi_abi::Partners;
use mpiscope_image::Function;
use mpiscope_image::objects::Epoch;

/// What a process has open on a window.
pub struct Open {
    /// Bits of [`Epoch`].
    pub epochs: u32,
    /// Whether it has locked the memory the call refers to.
    pub locked: bool,
}

/// A lock of one member or of all.
const LOCKS: u32 = Epoch::LOCK.0 | Epoch::LOCK_ALL.0;
/// Epochs that let a process access the memory of others.
const ACCESS: u32 = Epoch::FENCE.0 | Epoch::START.0 | LOCKS;
/// Epochs that are ended by a dedicated call.
const ENDED: [Epoch; 4] = [Epoch::START, Epoch::POST, Epoch::LOCK, Epoch::LOCK_ALL];

/// Returns why a window call is made at the wrong time, if so; `target` is the rank it refers to.
pub fn wrong(function: &Function, open: &Open, target: i64) -> Option<String> {
    let lacks = |epochs: u32| open.epochs & epochs == 0;
    let without = |what: &str| Some(format!("without {what}"));
    match function.base.as_str() {
        "MPI_Win_unlock" if !open.locked => without(&format!("a lock on the memory of rank {target}")),
        "MPI_Win_lock" if open.locked => {
            Some(format!("while it already holds a lock on the memory of rank {target}"))
        }
        "MPI_Win_unlock_all" if lacks(Epoch::LOCK_ALL.0) => without("an earlier MPI_Win_lock_all"),
        "MPI_Win_complete" if lacks(Epoch::START.0) => without("an earlier MPI_Win_start"),
        "MPI_Win_wait" if lacks(Epoch::POST.0) => without("an earlier MPI_Win_post"),
        "MPI_Win_free" | "MPI_Win_fence" => {
            let left = ENDED.iter().filter(|epoch| !lacks(epoch.0)).filter_map(|epoch| epoch.name());
            let left: Vec<_> = left.map(|name| format!("MPI_Win_{name}")).collect();
            (!left.is_empty()).then(|| format!("before it has ended what {} began", left.join(" and ")))
        }
        name if name.starts_with("MPI_Win_flush") && lacks(LOCKS) => without("a lock"),
        name if !name.starts_with("MPI_Win_")
            && function.properties.partners == Partners::TARGET
            && target >= 0
            && lacks(ACCESS) =>
        {
            without("an epoch in which it may access the memory of others")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str, epochs: u32, locked: bool) -> Option<String> {
        let id = mpi_abi::FunctionId::all().find(|id| id.name() == name).expect(name);
        let (name, properties) = (name.to_owned(), id.properties());
        let function = Function {
            base: name.clone(),
            operation: name.clone(),
            name,
            properties,
            fields: mpi_abi::Fields::NONE,
        };
        wrong(&function, &Open { epochs, locked }, 1)
    }

    #[test]
    fn calls_within_their_epochs_are_valid() {
        let (fence, start, post, lock, all) =
            (Epoch::FENCE.0, Epoch::START.0, Epoch::POST.0, Epoch::LOCK.0, Epoch::LOCK_ALL.0);
        for (name, epochs, locked) in [
            ("MPI_Put", fence, false),
            ("MPI_Get", start | post, false),
            ("MPI_Fetch_and_op", all, false),
            ("MPI_Win_flush", lock, true),
            ("MPI_Win_unlock", lock, true),
            ("MPI_Win_lock", lock, false),
            ("MPI_Win_complete", start, false),
            ("MPI_Win_wait", post, false),
            ("MPI_Win_fence", fence, false),
            ("MPI_Win_fence", 0, false),
            ("MPI_Win_free", fence, false),
            ("MPI_Win_sync", 0, false),
            ("MPI_Win_start", 0, false),
        ] {
            assert_eq!(said(name, epochs, locked), None, "{name}");
        }
    }

    #[test]
    fn calls_outside_their_epoch_or_inside_another_one_are_reported() {
        let with = |name: &str, epochs: u32, locked: bool| said(name, epochs, locked).unwrap_or_default();
        assert_eq!(
            with("MPI_Put", Epoch::POST.0, false),
            "without an epoch in which it may access the memory of others"
        );
        assert_eq!(with("MPI_Win_unlock", 0, false), "without a lock on the memory of rank 1");
        assert_eq!(with("MPI_Win_flush_all", Epoch::FENCE.0, false), "without a lock");
        let twice = "while it already holds a lock on the memory of rank 1";
        assert_eq!(with("MPI_Win_lock", Epoch::LOCK.0, true), twice);
        let left = Epoch::FENCE.0 | Epoch::LOCK_ALL.0;
        assert_eq!(with("MPI_Win_free", left, false), "before it has ended what MPI_Win_lock_all began");
    }
}
