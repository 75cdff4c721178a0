//! Window calls at the wrong time: an epoch they need is not open, or one that must be closed first is still
//! open. The rules are those of `mpiscope_image::derive::epochs`.

use mpi_abi::Partners;
use mpiscope_image::Function;
use mpiscope_image::derive::epochs::{Open, Untimely, Use, untimely};
use mpiscope_image::objects::Epoch;

/// Returns why a window call is made at the wrong time, if so; `target` is the rank it refers to.
pub fn wrong(function: &Function, open: &Open, target: i64) -> Option<String> {
    let call = use_of(function, target)?;
    Some(said(untimely(call, *open)?, call, target))
}

/// Returns why a window call that has been recorded as made at the wrong time was, likewise.
pub fn recorded(function: &Function, open: &Open, target: i64) -> Option<String> {
    // Its arguments are not recorded.
    let with_assertion = || {
        let why =
            untimely(Use::FirstFence, *open).filter(|_| use_of(function, target) == Some(Use::Fence))?;
        Some(said(why, Use::FirstFence, target))
    };
    wrong(function, open, target).or_else(with_assertion)
}

/// Whether a function asks for the lock of a member's memory.
pub fn asks_for_lock(function: &Function) -> bool {
    use_of(function, 0) == Some(Use::Lock)
}

/// What a function does with the epochs of a window, if anything.
fn use_of(function: &Function, target: i64) -> Option<Use> {
    Some(match function.base.as_str() {
        "MPI_Win_lock" => Use::Lock,
        "MPI_Win_lock_all" => Use::LockAll,
        "MPI_Win_unlock" => Use::Unlock,
        "MPI_Win_unlock_all" => Use::UnlockAll,
        "MPI_Win_flush" | "MPI_Win_flush_local" => Use::Flush,
        "MPI_Win_flush_all" | "MPI_Win_flush_local_all" => Use::FlushAll,
        "MPI_Win_start" => Use::Start,
        "MPI_Win_complete" => Use::Complete,
        "MPI_Win_post" => Use::Post,
        "MPI_Win_wait" | "MPI_Win_test" => Use::Wait,
        "MPI_Win_fence" => Use::Fence,
        "MPI_Win_free" => Use::Free,
        name if !name.starts_with("MPI_Win_")
            && function.properties.partners == Partners::TARGET
            && target >= 0 =>
        {
            match name {
                "MPI_Rput" | "MPI_Rget" | "MPI_Raccumulate" | "MPI_Rget_accumulate" => Use::RequestedAccess,
                _ => Use::Access,
            }
        }
        _ => return None,
    })
}

fn said(why: Untimely, call: Use, target: i64) -> String {
    let calls = |epochs: u32| {
        let all = [Epoch::START, Epoch::POST, Epoch::LOCK, Epoch::LOCK_ALL];
        let names = all.iter().filter(|epoch| epoch.0 & epochs != 0).filter_map(|epoch| epoch.name());
        names.map(|name| format!("MPI_Win_{name}")).collect::<Vec<_>>().join(" and ")
    };
    match why {
        Untimely::NoAccess => "without an epoch in which it may access the memory of others".to_owned(),
        Untimely::NotLocked if call == Use::FlushAll => "without a lock".to_owned(),
        Untimely::NotLocked => format!("without a lock on the memory of rank {target}"),
        Untimely::Locked => format!("while it already holds a lock on the memory of rank {target}"),
        Untimely::NotBegun(epoch) => format!("without an earlier {}", calls(epoch.0)),
        Untimely::NotEnded(epochs) => format!("before it has ended what {} began", calls(epochs)),
        Untimely::NotFenced if call == Use::FirstFence => {
            "with MPI_MODE_NOPRECEDE, although operations since the last fence were not complete".to_owned()
        }
        Untimely::NotFenced => {
            "before MPI_Win_fence has completed the operations since the last one".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(name: &str, epochs: u32, locked: bool) -> Option<String> {
        let id = mpi_abi::FunctionId::all().find(|id| id.name() == name).expect(name);
        let (name, properties) = (name.to_owned(), id.properties());
        let function = Function {
            base: name.clone(),
            operation: name.clone(),
            name,
            properties,
            fields: mpi_abi::Fields::NONE,
        };
        wrong(&function, &Open { epochs, locked, pending: false }, 1)
    }

    #[test]
    fn a_recorded_fence_with_operations_before_it_had_an_assertion_that_denies_them() {
        let id = mpi_abi::FunctionId::all().find(|id| id.name() == "MPI_Win_fence").unwrap();
        let (name, properties) = (id.name().to_owned(), id.properties());
        let (base, operation) = (name.clone(), name.clone());
        let function = Function { base, operation, name, properties, fields: mpi_abi::Fields::NONE };
        let open = Open { epochs: Epoch::FENCE.0, locked: true, pending: true };
        let why = "with MPI_MODE_NOPRECEDE, although operations since the last fence were not complete";
        assert_eq!(recorded(&function, &open, -1).as_deref(), Some(why));
        assert_eq!(wrong(&function, &open, -1), None, "a call that has not returned");
    }

    #[test]
    fn calls_within_their_epochs_are_valid() {
        let (fence, start, post, lock, all) =
            (Epoch::FENCE.0, Epoch::START.0, Epoch::POST.0, Epoch::LOCK.0, Epoch::LOCK_ALL.0);
        for (name, epochs, locked) in [
            ("MPI_Put", fence, false),
            ("MPI_Get", start | post, false),
            ("MPI_Rput", all, false),
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
            assert_eq!(verdict(name, epochs, locked), None, "{name}");
        }
    }

    #[test]
    fn calls_outside_their_epoch_or_inside_another_one_are_reported() {
        let with = |name: &str, epochs: u32, locked: bool| verdict(name, epochs, locked).unwrap_or_default();
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
