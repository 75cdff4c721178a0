//! Which fields of the open call mean something: it follows from the function's parameters.
//!
//! The layer writes only what the standard makes significant on every process and leaves the other fields as they
//! were, so a reader must know the same rules. They are compared with the layer's hooks in a test.

use mpi_abi::{Dir, Function, FunctionId, Kind, Len, ObjectKind, Param};
use mpiscope_image::traffic::RequestKind;

/// Fields of the open call that a function sets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// `object`, and what it is.
    pub object: Option<ObjectKind>,
    /// `datatype`.
    pub datatype: bool,
    /// `count`.
    pub count: bool,
    /// `peer`, and its role.
    pub peer: Option<Role>,
    /// `tag`.
    pub tag: bool,
    /// `request`.
    pub request: bool,
    /// The receive side of a send-receive: source and tag in `extra`.
    pub receive: bool,
    /// The operation, in `extra`.
    pub op: bool,
}

/// What the rank in `peer` is to the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Where the message goes.
    Destination,
    /// Where it comes from.
    Source,
    /// Root of a collective.
    Root,
    /// Target of a one-sided operation, leader, and so on.
    Other,
}

/// The rules for one function.
pub fn fields(function: &Function) -> Fields {
    let side = side(function.name);
    let find = |wanted: &dyn Fn(&Param) -> bool| function.params.iter().find(|p| wanted(p));
    let value_in = |p: &Param| p.shape.is_empty() && p.dir == Dir::In;
    let paired = |p: &Param| value_in(p) && p.name.starts_with(side);
    let count = find(&|p| p.kind.name().contains("XFER_NUM_ELEM") && paired(p)).is_some();
    let requests = find(&|p| p.kind == Kind::REQUEST && p.len != Len::One);
    let counted = requests.is_some_and(|p| matches!(p.len, Len::Param(_)));
    Fields {
        object: function.object_kind(),
        datatype: find(&|p| p.kind == Kind::DATATYPE && value_in(p)).is_some(),
        count: count || counted,
        peer: find(&|p| role(p).is_some()).and_then(role),
        tag: find(&|p| p.kind == Kind::TAG && p.shape.is_empty()).is_some(),
        request: find(&|p| p.kind == Kind::REQUEST && p.len == Len::One && p.dir != Dir::Out).is_some(),
        receive: function.name.to_ascii_lowercase().contains("sendrecv"),
        op: find(&|p| p.kind == Kind::OPERATION && value_in(p)).is_some(),
    }
}

/// The fields of a request that `function` has made: the others hold what another request left in its record.
pub fn of_request(kind: RequestKind, function: Option<&str>) -> Fields {
    // A message has them all, also one that was matched before and names no source.
    if kind.is_point_to_point() {
        let peer = Some(if kind.receives() { Role::Source } else { Role::Destination });
        return Fields { peer, count: true, datatype: true, ..Fields::default() };
    }
    function.and_then(FunctionId::from_name).and_then(FunctionId::function).map(fields).unwrap_or_default()
}

fn role(p: &Param) -> Option<Role> {
    if !p.kind.name().starts_with("RANK") || !p.shape.is_empty() {
        return None;
    }
    match p.name {
        "dest" => Some(Role::Destination),
        "source" => Some(Role::Source),
        "root" => Some(Role::Root),
        "rank" | "target_rank" | "remote_leader" => Some(Role::Other),
        _ => None,
    }
}

/// How the names of those parameters begin whose count and datatype are significant on every process.
fn side(name: &str) -> &'static str {
    match base(name).as_str() {
        "scatter" | "scatterv" | "allgather" | "alltoall" | "alltoallv" => "recv",
        "get_accumulate" | "rget_accumulate" => "result_",
        _ => "",
    }
}

/// A function's name without `MPI_`, `_c`, `_init` and the `I` of non-blocking collectives, in lower case.
fn base(name: &str) -> String {
    const COLLECTIVES: &[&str] = &["ineighbor_", "iall", "igather", "iscatter", "ireduce"];
    let name =
        name.trim_start_matches("MPI_").trim_end_matches("_c").trim_end_matches("_init").to_lowercase();
    let non_blocking = COLLECTIVES.iter().any(|c| name.starts_with(c));
    name.get(usize::from(non_blocking)..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Fields {
        fields(FunctionId::from_name(name).unwrap().function().unwrap())
    }

    #[test]
    fn a_barrier_has_a_communicator_only_and_a_receive_everything() {
        assert_eq!(of("MPI_Barrier"), Fields { object: Some(ObjectKind::COMM), ..Fields::default() });
        let receive = Fields {
            object: Some(ObjectKind::COMM),
            datatype: true,
            count: true,
            peer: Some(Role::Source),
            tag: true,
            ..Fields::default()
        };
        assert_eq!(of("MPI_Recv"), receive);
        assert_eq!(of("MPI_Waitall"), Fields { count: true, ..Fields::default() });
    }

    /// The names of the fields in a hook's `note { … }`.
    fn noted(line: &str) -> Vec<&str> {
        let inner = line.trim().trim_start_matches("note {").trim_end_matches('}').trim();
        let fields = inner.split(", ").filter_map(|field| Some(field.split_once(':')?.0));
        fields.filter(|f| *f != "message").collect()
    }

    #[test]
    fn the_rules_are_those_of_the_layers_hooks() {
        let hooks = include_str!("../../layer/src/generated/hooks.rs");
        let mut compared = 0;
        let mut lines = hooks.lines();
        while let Some(line) = lines.next() {
            let Some((name, _)) = line.trim().split_once(" (").filter(|(name, _)| name.starts_with("MPI_"))
            else {
                continue;
            };
            let note = lines.next().unwrap();
            let f = of(name);
            let known = [
                ("object", f.object.is_some()),
                ("datatype", f.datatype),
                ("count", f.count),
                ("peer", f.peer.is_some()),
                ("tag", f.tag),
                ("request", f.request),
                ("op", f.op),
                ("extra0", f.receive),
                ("extra1", f.receive),
            ];
            let known: Vec<&str> = known.iter().filter(|(_, set)| *set).map(|(field, _)| *field).collect();
            let mut noted = noted(note);
            noted.sort_by_key(|field| known.iter().position(|k| k == field));
            assert_eq!(noted, known, "{name}");
            compared += 1;
        }
        assert!(compared > 300, "the hooks were not found: {compared}");
    }
}
