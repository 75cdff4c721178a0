//! Datatypes: how they were constructed, and from what.

use super::attributes::{self, Attribute};
use super::build::Build;
use super::common::Common;
use super::datatype_tree::Tree;
use super::kind::Kind;
use super::links::parts_of_structure;
use super::open_calls::OpenCall;
use super::reader::Reader;
use super::reference::Reference;
use super::request;
use super::typemap::TypeMap;
use mpi_abi::{AbiKind, constant};
use mpiscope_image::Source;
use mpiscope_image::objects::{self, Combiner, Flag, Head, SIZE_UNKNOWN};
use mpiscope_image::traffic;
use serde::Serialize;
use std::mem::offset_of;
use std::num::NonZeroU8;

/// Maximum number of structures searched for uses of a datatype.
const MOST_STRUCTURES: usize = 4096;

/// A datatype.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datatype {
    #[allow(missing_docs)]
    #[serde(flatten)]
    pub common: Common,
    /// The constructor, as `MPI_COMBINER_…` names it: `vector`.
    pub combiner: &'static str,
    /// Its arguments.
    pub arguments: Arguments,
    /// Whether it is committed.
    pub committed: bool,
    /// Size in bytes, without gaps; none if unknown.
    pub size: Option<u64>,
    /// Lower bound in bytes.
    pub lower_bound: Option<i64>,
    /// Extent in bytes.
    pub extent: Option<i64>,
    /// Whether the bounds were reported by the library rather than computed from the constructors.
    pub bounds_stated: bool,
    /// The types it was created from, each once, in order.
    pub constituents: Vec<Reference>,
    /// The type map, in basic types.
    pub type_map: TypeMap,
    /// The corresponding type in C or Fortran, for a predefined datatype.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<&'static str>,
    /// Number of handles of it that the program must free.
    pub handles: u32,
    /// Its attributes.
    pub attributes: Vec<Attribute>,
    /// Datatypes created from it.
    pub used_by: Vec<Reference>,
    /// Requests with it that still exist.
    pub requests: Vec<Reference>,
    /// Calls with it that threads are currently in.
    pub calls: Vec<OpenCall>,
}

/// The arguments of a constructor.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arguments {
    /// Named numbers, in the order of the constructor: `count`, `blocklength`, `stride`.
    pub numbers: Vec<(&'static str, i64)>,
    /// Named arrays, in the same order: `blocklengths`, `displacements`.
    pub arrays: Vec<(&'static str, Vec<i64>)>,
    /// The datatypes, in the same order.
    pub datatypes: Vec<Reference>,
    /// Names of constants among the numbers and arrays: `order = MPI_ORDER_C`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(&'static str, String)>,
    /// Numbers of elements omitted from arrays, from `datatypes` and from the type's `constituents` in a list
    /// of many datatypes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(&'static str, usize)>,
}

impl Datatype {
    /// Truncates long lists and records how many elements were omitted, for lists of many datatypes.
    pub fn shorten(&mut self, most: usize) {
        self.type_map.shorten(most);
        let Arguments { arrays, datatypes, left_out, .. } = &mut self.arguments;
        let lengths = arrays.iter().map(|(name, array)| (*name, array.len()));
        let lengths =
            lengths.chain([("datatypes", datatypes.len()), ("constituents", self.constituents.len())]);
        left_out.extend(lengths.filter(|(_, len)| *len > most).map(|(name, len)| (name, len - most)));
        arrays.iter_mut().for_each(|(_, array)| array.truncate(most));
        datatypes.truncate(most);
        self.constituents.truncate(most);
    }
}

impl Build for Datatype {
    type Record = objects::Datatype;
    const KIND: Kind = Kind::Datatype;

    fn head(record: &objects::Datatype) -> &Head {
        &record.head
    }

    fn name<S: Source>(reader: &Reader<'_, S>, record: &objects::Datatype) -> Option<String> {
        reader.text(&record.name)
    }

    fn build<S: Source>(reader: &Reader<'_, S>, common: Common, record: Option<&objects::Datatype>) -> Self {
        let mut tree = Tree::new(reader);
        let node = tree.root(common.handle.0, record);
        let bounds = tree.bounds(&node);
        let known = reader.predefined().find(Kind::Datatype, common.handle.0);
        let combiner = record.map_or(Combiner::NAMED, |record| Combiner(record.combiner.get()));
        let stated = node.stated.is_some();
        let null = common.standing == super::common::Lifetime::Null;
        Self {
            combiner: combiner.name().unwrap_or("unknown"),
            arguments: record.map(|record| arguments(reader, record)).unwrap_or_default(),
            committed: common.predefined && !null || common.has(Flag::COMMITTED),
            size: record.map(|record| record.size.get()).filter(|size| *size != SIZE_UNKNOWN).or(bounds.size),
            lower_bound: node.stated.map(|(lb, _)| lb).or_else(|| bounds.lb()),
            extent: node.stated.map(|(_, extent)| extent).or_else(|| bounds.extent()),
            bounds_stated: stated,
            type_map: if null { TypeMap::default() } else { TypeMap::of(&mut tree, &node) },
            meaning: known.and_then(|known| known.meaning),
            handles: record.map_or(0, |record| record.handles.get()),
            constituents: constituents(reader, record),
            attributes: attributes::of(reader, common.uid),
            used_by: used_by(reader, &common),
            requests: requests(reader, &common),
            calls: reader.calls_about(Kind::Datatype, common.handle.0),
            common,
        }
    }
}

impl<S: Source> Reader<'_, S> {
    /// Returns the size in bytes of `count` elements of a datatype, given its handle and, unless it is
    /// predefined, its uid; `None` if the datatype is unknown.
    pub fn bytes_of(&self, count: u64, datatype: u64, uid: u64) -> Option<u64> {
        size_of(self, datatype, uid)?.checked_mul(count)
    }

    /// Returns the size in bytes of the element of a predefined datatype with just one, given its handle.
    pub fn element_of(&self, datatype: u64) -> Option<NonZeroU8> {
        match self.predefined().find(Kind::Datatype, datatype)?.elements {
            [one] => NonZeroU8::new(one.bytes),
            _ => None,
        }
    }
}

/// Returns the size in bytes of the datatype with this handle, without building a [`Datatype`].
pub(super) fn size_of<S: Source>(reader: &Reader<'_, S>, handle: u64, uid: u64) -> Option<u64> {
    let known = reader.predefined().find(Kind::Datatype, handle).and_then(|known| known.size);
    if let Some(size) = known.or_else(|| mpi_abi::predefined::datatype_size(reader.abi(), handle)) {
        return Some(size);
    }
    let entry = match uid {
        0 => reader.index(Kind::Datatype).ok()?.by_handle(handle),
        uid => reader.entry_of(uid).ok()?,
    };
    let record = reader.record::<objects::Datatype>(Kind::Datatype, entry?.index).ok()?.value;
    Some(record.size.get()).filter(|size| *size != SIZE_UNKNOWN).or_else(|| {
        let mut tree = Tree::new(reader);
        let node = tree.root(handle, Some(&record));
        tree.bounds(&node).size
    })
}

/// Returns the datatypes created from it.
fn used_by<S: Source>(reader: &Reader<'_, S>, common: &Common) -> Vec<Reference> {
    if common.uid == 0 {
        return Vec::new();
    }
    let mut found = reader.referring(Kind::Datatype, offset_of!(Head, parent), common.uid);
    // A structure stores its types in an array, so each structure must be searched.
    let combiner = offset_of!(objects::Datatype, combiner);
    let structures = reader.referring_half(Kind::Datatype, combiner, Combiner::STRUCT.0);
    let uses = |structure: &Reference| {
        let entry = reader.entry_of(structure.uid).ok().flatten()?;
        let record = reader.record::<objects::Datatype>(Kind::Datatype, entry.index).ok()?.value;
        parts_of_structure(reader, &record)?.contains(&common.uid).then_some(())
    };
    found.extend(structures.into_iter().take(MOST_STRUCTURES).filter(|structure| uses(structure).is_some()));
    found
}

fn requests<S: Source>(reader: &Reader<'_, S>, common: &Common) -> Vec<Reference> {
    // Only predefined types are identified by the handle alone; another datatype may have had the same handle
    // before.
    let (field, value) = if common.predefined {
        (offset_of!(traffic::Request, datatype), common.handle.0)
    } else {
        (offset_of!(traffic::Request, datatype_uid), common.uid)
    };
    request::with_datatype(reader, reader.referring(Kind::Request, field, value))
}

fn constituents<S: Source>(reader: &Reader<'_, S>, record: Option<&objects::Datatype>) -> Vec<Reference> {
    let mut found = Vec::new();
    for part in record.map(|record| arguments(reader, record).datatypes).unwrap_or_default() {
        if !found.contains(&part) {
            found.push(part);
        }
    }
    found
}

/// Returns the arguments of the constructor, by name.
fn arguments<S: Source>(reader: &Reader<'_, S>, record: &objects::Datatype) -> Arguments {
    let combiner = Combiner(record.combiner.get());
    let args: Vec<i64> = record.args.iter().map(|word| word.get().cast_signed()).collect();
    let names: &[&str] = match combiner {
        Combiner::CONTIGUOUS => &["count"],
        Combiner::VECTOR | Combiner::HVECTOR => &["count", "blocklength", "stride"],
        Combiner::INDEXED | Combiner::HINDEXED | Combiner::STRUCT => &["count"],
        Combiner::INDEXED_BLOCK | Combiner::HINDEXED_BLOCK => &["count", "blocklength"],
        Combiner::SUBARRAY => &["ndims", "order"],
        Combiner::DARRAY => &["ndims", "order", "size", "rank"],
        Combiner::RESIZED => &["lb", "extent"],
        Combiner::F90_REAL | Combiner::F90_COMPLEX => &["precision", "range"],
        Combiner::F90_INTEGER => &["range"],
        _ => &[],
    };
    let arrays: &[&str] = match combiner {
        Combiner::INDEXED | Combiner::HINDEXED | Combiner::STRUCT => &["blocklengths", "displacements"],
        Combiner::INDEXED_BLOCK | Combiner::HINDEXED_BLOCK => &["displacements"],
        Combiner::SUBARRAY => &["sizes", "subsizes", "starts"],
        Combiner::DARRAY => &["gsizes", "distribs", "dargs", "psizes"],
        _ => &[],
    };
    let words = reader.words(&record.array);
    let n = usize::try_from(args.first().copied().unwrap_or(0)).unwrap_or(0);
    let array = |place: usize| {
        let start = n.checked_mul(place).filter(|_| n > 0);
        let words = start.and_then(|start| words.get(start..start.checked_add(n)?)).unwrap_or_default();
        words.iter().map(|word| word.cast_signed()).collect::<Vec<i64>>()
    };
    let numbers: Vec<_> = names.iter().copied().zip(args.iter().copied()).collect();
    let arrays: Vec<_> = arrays.iter().enumerate().map(|(place, name)| (*name, array(place))).collect();
    Arguments {
        words: constants(reader, &numbers),
        numbers,
        arrays,
        datatypes: old_types(reader, record, &words),
        left_out: Vec::new(),
    }
}

fn constants<S: Source>(
    reader: &Reader<'_, S>,
    numbers: &[(&'static str, i64)],
) -> Vec<(&'static str, String)> {
    const ORDERS: [&str; 2] = ["MPI_ORDER_C", "MPI_ORDER_FORTRAN"];
    let order = numbers.iter().filter(|(name, _)| *name == "order");
    let named = order.filter_map(|(name, value)| {
        let word = ORDERS.iter().find(|word| constant::value_of(reader.abi(), word) == Some(*value))?;
        Some((*name, (*word).to_owned()))
    });
    named.collect()
}

fn old_types<S: Source>(reader: &Reader<'_, S>, record: &objects::Datatype, words: &[u64]) -> Vec<Reference> {
    let datatype = |handle: u64, uid: u64| reader.attached(Kind::Datatype, handle, uid);
    match Combiner(record.combiner.get()) {
        Combiner::STRUCT => {
            let n = usize::try_from(record.args.first().map_or(0, |word| word.get())).unwrap_or(0);
            let (handles, uids) = (n.saturating_mul(2), n.saturating_mul(3));
            let pair =
                |i: usize| Some((*words.get(handles.checked_add(i)?)?, *words.get(uids.checked_add(i)?)?));
            (0..n.min(words.len()))
                .map_while(pair)
                .filter_map(|(handle, uid)| datatype(handle, uid))
                .collect()
        }
        Combiner::VALUE_INDEX => {
            record.args.iter().take(2).filter_map(|word| datatype(word.get(), 0)).collect()
        }
        _ => datatype(record.old.get(), record.head.parent.get()).into_iter().collect(),
    }
}

/// Formats a number in an array of a constructor; for a distributed array, a constant by its name.
#[must_use]
pub fn distribution(abi: AbiKind, array: &str, number: i64) -> String {
    const KINDS: &[&str] = &["MPI_DISTRIBUTE_BLOCK", "MPI_DISTRIBUTE_CYCLIC", "MPI_DISTRIBUTE_NONE"];
    let words = match array {
        "distribs" => KINDS,
        "dargs" => &["MPI_DISTRIBUTE_DFLT_DARG"],
        _ => &[],
    };
    let word = words.iter().find(|word| constant::value_of(abi, word) == Some(number));
    word.map_or_else(|| number.to_string(), |word| word.trim_start_matches("MPI_DISTRIBUTE_").to_lowercase())
}
