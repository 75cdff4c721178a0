//! What a hook notes of a call's arguments, and how it reckons the call's bytes: the rules.
//!
//! Only arguments that the standard makes significant on every process are used, so that a hook never reads what the
//! caller was free to leave undefined: the receive side of a scatter, the receive side of calls that know
//! `MPI_IN_PLACE` on every process, the result of `MPI_Get_accumulate`; on intercommunicators nothing where the root
//! is `MPI_PROC_NULL`, and not the leaf's side of a gather or scatter where it is `MPI_ROOT`.

use super::table::{Param, Row};

/// `(field, expression)` of a hook's `note` block.
pub type Note = (&'static str, String);

/// The `note` block of a function.
pub fn note(row: &Row) -> Vec<Note> {
    let mut note = Vec::new();
    let mut put = |field, text: Option<String>| note.extend(text.map(|t| (field, t)));
    put("object", object(row));
    let (count, datatype) = pair(row);
    put("datatype", datatype.or_else(|| first_datatype(row)).map(Param::ident));
    put("count", count.or_else(|| request_count(row)).map(Param::ident));
    put("peer", peer(row).map(Param::ident));
    let is_tag = |p: &Param| p.kind == "TAG" && p.is_value();
    put("tag", row.find(is_tag).map(Param::ident));
    put("request", single_handle(row, "REQUEST"));
    put("message", single_handle(row, "MESSAGE"));
    put("op", row.find(|p| p.kind == "OPERATION" && p.is_value() && p.direction == "in").map(Param::ident));
    if row.name.to_lowercase().contains("sendrecv") {
        put("extra0", named(row, "source").map(Param::ident));
        put("extra1", named(row, "recvtag").map(Param::ident));
    }
    note
}

fn object(row: &Row) -> Option<String> {
    object_index(row).map(|index| value_of(&row.params[index]))
}

/// The parameter with the object that a call is about: communicator, window, file or session, else the first handle
/// that goes in.
pub fn object_index(row: &Row) -> Option<usize> {
    const FIRST: &[&str] = &["COMMUNICATOR", "WINDOW", "FILE", "SESSION"];
    const REST: &[&str] = &["GROUP", "DATATYPE", "INFO", "OPERATION", "ERRHANDLER", "REQUEST", "MESSAGE"];
    let of = |kinds: &[&str]| {
        let is_one = |p: &Param| kinds.contains(&p.kind.as_str()) && p.is_single() && p.direction != "out";
        row.params.iter().position(is_one)
    };
    FIRST.iter().find_map(|kind| of(&[kind])).or_else(|| of(REST))
}

fn single_handle(row: &Row, kind: &str) -> Option<String> {
    row.find(|p| p.kind == kind && p.is_single() && p.direction != "out").map(value_of)
}

/// The value of a parameter, through its pointer if it is one.
fn value_of(p: &Param) -> String {
    if p.levels() == 0 { p.ident() } else { format!("at({})", p.ident()) }
}

fn named<'a>(row: &'a Row, name: &str) -> Option<&'a Param> {
    row.find(|p| p.name == name)
}

fn first_datatype(row: &Row) -> Option<&Param> {
    row.find(|p| p.kind == "DATATYPE" && p.is_value() && p.direction == "in")
}

/// The element count and the datatype that are significant on every process.
fn pair(row: &Row) -> (Option<&Param>, Option<&Param>) {
    let is_count = |p: &Param| p.kind.contains("XFER_NUM_ELEM") && p.is_value() && p.direction == "in";
    let is_type = |p: &Param| p.kind == "DATATYPE" && p.is_value() && p.direction == "in";
    let side = match base(&row.name).as_str() {
        "scatter" | "scatterv" | "allgather" | "alltoall" | "alltoallv" => "recv",
        "get_accumulate" | "rget_accumulate" => "result_",
        _ => "",
    };
    // An Alltoallv or Scatterv has one vector and one plain count: the vector is left to `bytes`.
    (
        row.find(|p| is_count(p) && p.name.starts_with(side)),
        row.find(|p| is_type(p) && p.name.starts_with(side)),
    )
}

fn request_count(row: &Row) -> Option<&Param> {
    let array = row.find(|p| p.kind == "REQUEST" && !p.is_single())?;
    named(row, &array.length)
}

fn peer(row: &Row) -> Option<&Param> {
    const NAMES: &[&str] = &["dest", "source", "root", "rank", "target_rank", "remote_leader"];
    row.find(|p| p.kind.starts_with("RANK") && p.is_value() && NAMES.contains(&p.name.as_str()))
}

/// A function's name without `MPI_`, `_c`, `_init` and the `I` of non-blocking collectives, in lower case.
fn base(name: &str) -> String {
    const COLLECTIVES: &[&str] = &["ineighbor_", "iall", "ibcast", "igather", "iscatter", "ireduce"];
    let name =
        name.trim_start_matches("MPI_").trim_end_matches("_c").trim_end_matches("_init").to_lowercase();
    if COLLECTIVES.iter().any(|c| name.starts_with(c)) { name[1..].to_owned() } else { name }
}

/// The expression of a hook's `bytes` block; empty where the call itself moves no data.
pub fn bytes(row: &Row) -> String {
    if !moves_data(row) {
        return String::new();
    }
    let base = base(&row.name);
    let (count, datatype) = pair(row);
    let single = match (count, datatype) {
        (Some(count), Some(datatype)) => format!("{} * {}", count.ident(), datatype.ident()),
        _ => String::new(),
    };
    match base.as_str() {
        "alltoall" | "reduce_scatter_block" => format!("{single} * peers(comm)"),
        "alltoallv" => "vector(sendbuf, sendcounts, sendtype, comm)".to_owned(),
        "alltoallw" => "vector_w(sendbuf, sendcounts, sendtypes, comm)".to_owned(),
        "reduce_scatter" => "vector(recvcounts, datatype, comm)".to_owned(),
        "neighbor_alltoallv" => "neighbor_vector(sendcounts, sendtype, comm)".to_owned(),
        "neighbor_alltoallw" => "neighbor_vector_w(sendcounts, sendtypes, comm)".to_owned(),
        "gather" | "gatherv" => format!("if is_leaf(root) {{ unless_in_place(sendbuf, {single}) }}"),
        "scatter" | "scatterv" => format!("if is_leaf(root) {{ unless_in_place(recvbuf, {single}) }}"),
        "bcast" | "reduce" => format!("if takes_part(root) {{ {single} }}"),
        "allgatherv" => format!("unless_in_place(sendbuf, {single})"),
        _ if base.starts_with("neighbor_") => format!("{single} * neighbors(comm)"),
        "fetch_and_op" | "compare_and_swap" => "1 * datatype".to_owned(),
        _ => single,
    }
}

/// Whether a call moves data: it has a buffer and a count, is not local packing or reducing, and is not the
/// initialisation of a persistent operation, whose bytes move when it is started.
fn moves_data(row: &Row) -> bool {
    let name = row.name.trim_end_matches("_c");
    let local = name.starts_with("MPI_Pack") || name.starts_with("MPI_Unpack") || name == "MPI_Reduce_local";
    let buffer = row.find(|p| p.kind == "BUFFER").is_some();
    buffer && !local && !name.ends_with("_init")
}

#[cfg(test)]
mod tests {
    use super::{base, bytes, note};
    use crate::r#gen::table::{Row, parse};

    fn row(text: &str) -> Row {
        parse(text).unwrap()
    }

    #[test]
    fn variants_of_an_operation_share_their_base() {
        for name in
            ["MPI_Alltoall", "MPI_Ialltoall", "MPI_Ialltoall_c", "MPI_Alltoall_init", "MPI_Alltoall_init_c"]
        {
            assert_eq!(base(name), "alltoall");
        }
        assert_eq!(base("MPI_Ineighbor_alltoallv_c"), "neighbor_alltoallv");
        assert_eq!(base("MPI_Isend"), "isend");
    }

    #[test]
    fn a_freed_object_is_read_through_its_pointer() {
        let row = row("MPI_Win_free\tERROR_CODE\t-\twin:WINDOW:inout:-:*");
        assert_eq!(note(&row), [("object", "at(win)".to_owned())]);
    }

    #[test]
    fn the_initialisation_of_a_persistent_operation_moves_no_bytes() {
        let params = "buf:BUFFER:in:-:const*\tcount:POLYXFER_NUM_ELEM_NNI:in:-\tdatatype:DATATYPE:in:-";
        assert_eq!(bytes(&row(&format!("MPI_Send\tERROR_CODE\t-\t{params}"))), "count * datatype");
        assert_eq!(bytes(&row(&format!("MPI_Send_init\tERROR_CODE\t-\t{params}"))), "");
        assert_eq!(bytes(&row(&format!("MPI_Send_init_c\tERROR_CODE\tc\t{params}"))), "");
    }

    #[test]
    fn what_is_not_significant_on_an_intercommunicator_is_not_looked_at() {
        let params = "buffer:BUFFER:inout:-:*\tcount:POLYXFER_NUM_ELEM_NNI:in:-\tdatatype:DATATYPE:in:-\t\
                      root:RANK:in:-\tcomm:COMMUNICATOR:in:-";
        let wanted = "if takes_part(root) { count * datatype }";
        for name in ["MPI_Bcast", "MPI_Ibcast"] {
            assert_eq!(bytes(&row(&format!("{name}\tERROR_CODE\t-\t{params}"))), wanted);
        }
    }

    #[test]
    fn waiting_for_many_notes_how_many() {
        let row = row(
            "MPI_Waitall\tERROR_CODE\t-\tcount:ARRAY_LENGTH_NNI:in:-\tarray_of_requests:REQUEST:inout:count:*",
        );
        assert_eq!(note(&row), [("count", "count".to_owned())]);
    }
}
