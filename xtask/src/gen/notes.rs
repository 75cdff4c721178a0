//! The rules for a hook's notes of a call's arguments and for counting the call's bytes.
//!
//! Only arguments that the standard makes significant on every process are used, so that a hook never reads
//! values that the caller may leave undefined. That excludes the receive side of a scatter, the receive side
//! of calls that accept `MPI_IN_PLACE` on every process, and the result of `MPI_Get_accumulate`; on
//! intercommunicators, everything where the root is `MPI_PROC_NULL`, and the leaf's side of a gather or
//! scatter where it is `MPI_ROOT`.

use super::overlay::Overlay;
use super::table::{Param, Row};

/// `(field, expression)` of a hook's `note` block.
pub type Note = (String, String);

/// The `note` block of a function: by the rules, except where the overlay overrides them.
pub fn noted(row: &Row, overlay: &Overlay) -> Vec<Note> {
    let mut note = note(row);
    for (field, value) in overlay.notes(row) {
        note.retain(|(name, _)| name != field);
        if !value.is_empty() {
            note.push((field.to_owned(), value.to_owned()));
        }
    }
    note
}

fn note(row: &Row) -> Vec<Note> {
    let mut note = Vec::new();
    let mut put = |field: &str, text: Option<String>| note.extend(text.map(|t| (field.to_owned(), t)));
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
    let other = other(row);
    put("leader", other.and_then(|_| named(row, "local_leader")).map(Param::ident));
    put("other", other.map(Param::ident));
    if row.properties.moves == "exchange" {
        put("extra0", named(row, "source").map(Param::ident));
        put("extra1", named(row, "recvtag").map(Param::ident));
    }
    note
}

/// The second object of a call that is collective over other processes than the members of the first: the
/// group, or the communicator through which the leaders of two groups find each other.
fn other(row: &Row) -> Option<&Param> {
    let group = |p: &Param| p.kind == "GROUP" && p.is_value();
    let on_comm = row.find(|p| p.kind == "COMMUNICATOR" && p.direction == "in").is_some();
    let of_group = || row.find(group).filter(|_| row.properties.partners == "group" && on_comm);
    named(row, "peer_comm").or_else(of_group)
}

fn object(row: &Row) -> Option<String> {
    object_index(row).map(|index| value_of(&row.params[index]))
}

/// The parameter with the object that a call operates on: communicator, window, file or session, otherwise
/// the first input handle.
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

/// The value of a parameter, dereferenced if it is a pointer.
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
    let side = row.properties.side.as_str();
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

/// The expression of a hook's `bytes` block; empty where the call itself moves no data.
pub fn bytes(row: &Row, overlay: &Overlay) -> String {
    if !moves_data(row) {
        return String::new();
    }
    let bytes = match (overlay.get(row, "bytes"), pair(row)) {
        (Some(bytes), _) => bytes.to_owned(),
        (None, (Some(count), Some(datatype))) => format!("{} * {}", count.ident(), datatype.ident()),
        _ => String::new(),
    };
    // No data goes to MPI_PROC_NULL.
    match row.find(|p| ["dest", "target_rank"].contains(&p.name.as_str())) {
        Some(to) if !bytes.is_empty() => format!("if takes_part({}) {{ {bytes} }}", to.ident()),
        _ => bytes,
    }
}

/// Whether the arguments of a call determine how much it moves between processes or storage; for a persistent
/// request, how much each start moves. The size of a received message is known only once it has arrived.
fn moves_data(row: &Row) -> bool {
    let otherwise = matches!(row.properties.start.as_str(), "partitioned" | "end");
    !matches!(row.properties.moves.as_str(), "" | "local" | "receive") && !otherwise
}

#[cfg(test)]
mod tests {
    use super::{bytes, note};
    use crate::r#gen::overlay::Overlay;
    use crate::r#gen::table::{Row, parse};

    fn row(text: &str) -> Row {
        parse(text).unwrap()
    }

    #[test]
    fn a_freed_object_is_read_through_its_pointer() {
        let row = row("MPI_Win_free\tERROR_CODE\t-\twin:WINDOW:inout:-:*");
        assert_eq!(note(&row), [("object".to_owned(), "at(win)".to_owned())]);
    }

    #[test]
    fn the_arguments_of_a_receive_or_a_partitioned_operation_do_not_determine_the_bytes_moved() {
        let nothing = Overlay::default();
        let params = "buf:BUFFER:in:-:const*\tcount:POLYXFER_NUM_ELEM_NNI:in:-\tdatatype:DATATYPE:in:-";
        let mut send = row(&format!("MPI_Send\tERROR_CODE\t-\t{params}"));
        send.properties.moves = "send".to_owned();
        assert_eq!(bytes(&send, &nothing), "count * datatype");
        send.properties.start = "partitioned".to_owned();
        assert_eq!(bytes(&send, &nothing), "");
        send.properties.start = String::new();
        send.properties.moves = "receive".to_owned();
        assert_eq!(bytes(&send, &nothing), "");
    }

    #[test]
    fn the_count_and_datatype_of_a_scatter_are_those_on_every_rank() {
        let mut row =
            row("MPI_Scatter\tERROR_CODE\t-\tsendcount:POLYXFER_NUM_ELEM_NNI:in:-\tsendtype:DATATYPE:in:-\t\
             recvcount:POLYXFER_NUM_ELEM_NNI:in:-\trecvtype:DATATYPE:in:-");
        row.properties.side = "recv".to_owned();
        let value =
            |field: &str| note(&row).into_iter().find(|(name, _)| name == field).map(|(_, value)| value);
        assert_eq!(value("datatype").as_deref(), Some("recvtype"));
        assert_eq!(value("count").as_deref(), Some("recvcount"));
    }

    #[test]
    fn waiting_for_several_requests_notes_their_number() {
        let row = row(
            "MPI_Waitall\tERROR_CODE\t-\tcount:ARRAY_LENGTH_NNI:in:-\tarray_of_requests:REQUEST:inout:count:*",
        );
        assert_eq!(note(&row), [("count".to_owned(), "count".to_owned())]);
    }
}
