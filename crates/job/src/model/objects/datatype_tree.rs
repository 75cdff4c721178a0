//! A datatype as the tree of its constructors, and the bounds computed from it.
//!
//! Nodes are read on demand and cached by uid. A record may be damaged or part of a cycle: depth and number
//! of nodes are bounded, and anything beyond is [`Shape::Unknown`].

use super::kind::Kind;
use super::reader::Reader;
use mpi_abi::constant;
use mpiscope_image::Source;
use mpiscope_image::objects::{self, BOUND_UNKNOWN, Combiner, SIZE_UNKNOWN};
use std::collections::HashMap;
use std::rc::Rc;

/// Maximum nesting depth.
pub const DEEPEST: usize = 64;
/// Maximum number of nodes read for one type.
const MOST_NODES: usize = 1 << 14;
/// Maximum number of blocks of one constructor that are visited to compute its bounds.
const MOST_BLOCKS: usize = 1 << 20;

/// A datatype in the tree.
#[derive(Debug)]
pub struct Node {
    /// Its handle.
    pub handle: u64,
    /// Lower bound and extent in bytes, if reported by the library.
    pub stated: Option<(i64, i64)>,
    /// What it consists of.
    pub shape: Shape,
    bounds: std::cell::OnceCell<Bounds>,
}

/// What a datatype consists of.
#[derive(Debug)]
pub enum Shape {
    /// A type without parts.
    #[allow(missing_docs)]
    Basic { name: String, size: u64, alignment: u64 },
    /// Two adjacent basic types, as for `MPI_MAXLOC`: name, offset and size of each; and the extent.
    Pair([(&'static str, u64, u64); 2], u64),
    /// Blocks of one type: displacement in bytes and length in elements.
    #[allow(missing_docs)]
    Blocks { old: Rc<Node>, blocks: Blocks },
    /// Blocks of different types.
    Struct(Vec<(i64, i64, Rc<Node>)>),
    /// Another type with other bounds.
    #[allow(missing_docs)]
    Resized { old: Rc<Node>, lb: i64, extent: i64 },
    /// A part of an array: runs of elements in each dimension, slowest-varying first, and the size of the
    /// whole array.
    #[allow(missing_docs)]
    Array { old: Rc<Node>, dimensions: Vec<Dimension> },
    /// Unknown: its construction was not seen, or its record is gone or damaged.
    Unknown,
}

/// Blocks of equal or different lengths.
#[derive(Debug)]
pub enum Blocks {
    /// `count` blocks of `length` elements, `stride` bytes apart.
    #[allow(missing_docs)]
    Regular { count: i64, length: i64, stride: i64 },
    /// Displacement in bytes, and length in elements.
    Listed(Vec<(i64, i64)>),
}

/// A dimension of an array.
#[derive(Debug)]
pub struct Dimension {
    /// Number of elements in the whole array.
    pub size: i64,
    /// The part: runs of first element and length, in ascending order.
    pub runs: Vec<(i64, i64)>,
}

/// Size and bounds of a datatype in bytes; none if unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Number of bytes of data.
    pub size: Option<u64>,
    /// Lower and upper bound derived from the data itself.
    natural: Option<(i64, i64)>,
    /// Bounds set by `MPI_Type_create_resized` somewhere below: they override the natural ones.
    set: Option<(i64, i64)>,
    /// Largest alignment of the basic types.
    alignment: i64,
}

impl Bounds {
    fn ends(&self) -> Option<(i64, i64)> {
        self.set.or(self.natural)
    }

    /// Lower bound.
    pub fn lb(&self) -> Option<i64> {
        self.ends().map(|(lb, _)| lb)
    }

    /// Upper bound minus lower bound.
    pub fn extent(&self) -> Option<i64> {
        self.ends().and_then(|(lb, ub)| ub.checked_sub(lb))
    }

    /// Returns the bounds of `length` consecutive elements starting at `at`.
    fn block(&self, at: i64, length: i64) -> Option<Self> {
        if length <= 0 {
            return Some(Self { size: Some(0), natural: None, set: None, alignment: 1 });
        }
        let last = self.extent()?.checked_mul(length - 1)?;
        let place = |(lb, ub): (i64, i64)| {
            let (low, high) = (last.min(0), last.max(0));
            Some((lb.checked_add(at)?.checked_add(low)?, ub.checked_add(at)?.checked_add(high)?))
        };
        let size = self.size.and_then(|size| size.checked_mul(u64::try_from(length).ok()?));
        Some(Self {
            size,
            natural: self.natural.and_then(place),
            set: self.set.and_then(place),
            alignment: self.alignment,
        })
    }

    fn join(self, other: Self) -> Self {
        let widest = |a: Option<(i64, i64)>, b: Option<(i64, i64)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        Self {
            size: self.size.zip(other.size).and_then(|(a, b)| a.checked_add(b)),
            natural: widest(self.natural, other.natural),
            set: widest(self.set, other.set),
            alignment: self.alignment.max(other.alignment),
        }
    }

    const NOTHING: Self = Self { size: Some(0), natural: None, set: None, alignment: 1 };
}

/// Reads and caches nodes.
pub struct Tree<'r, 'a, S> {
    reader: &'r Reader<'a, S>,
    known: HashMap<u64, Rc<Node>>,
    basics: HashMap<u64, Rc<Node>>,
    nodes: usize,
}

impl<'r, 'a, S: Source> Tree<'r, 'a, S> {
    /// Creates an empty tree.
    pub fn new(reader: &'r Reader<'a, S>) -> Self {
        Self { reader, known: HashMap::new(), basics: HashMap::new(), nodes: 0 }
    }

    /// Returns the datatype with this handle and record.
    pub fn root(&mut self, handle: u64, record: Option<&objects::Datatype>) -> Rc<Node> {
        match record {
            Some(record) => self.node(record, 0),
            None => self.basic(handle),
        }
    }

    fn child(&mut self, handle: u64, uid: u64, depth: usize) -> Rc<Node> {
        if let Some(node) = self.known.get(&uid).filter(|_| uid != 0) {
            return Rc::clone(node);
        }
        let entry = self.reader.entry_of(uid).ok().flatten();
        let record = entry.and_then(|entry| {
            let record = self.reader.record::<objects::Datatype>(Kind::Datatype, entry.index).ok()?.value;
            (record.head.uid.get() == uid).then_some(record)
        });
        match record {
            Some(_) if depth >= DEEPEST || self.nodes >= MOST_NODES => node(handle, None, Shape::Unknown),
            Some(record) => self.node(&record, depth),
            None => self.basic(handle),
        }
    }

    fn node(&mut self, record: &objects::Datatype, depth: usize) -> Rc<Node> {
        self.nodes += 1;
        let handle = record.head.handle.get();
        let stated = (record.lb.get() != BOUND_UNKNOWN)
            .then(|| (record.lb.get().cast_signed(), record.extent.get().cast_signed()));
        let shape = self.shape(record, depth).unwrap_or(Shape::Unknown);
        let made = node(handle, stated, shape);
        self.known.insert(record.head.uid.get(), Rc::clone(&made));
        made
    }

    /// Returns a predefined type, given its handle.
    fn basic(&mut self, handle: u64) -> Rc<Node> {
        if let Some(node) = self.basics.get(&handle) {
            return Rc::clone(node);
        }
        let known = self.reader.predefined().find(Kind::Datatype, handle);
        let size = known
            .and_then(|known| known.size)
            .or_else(|| mpi_abi::predefined::datatype_size(self.reader.abi(), handle));
        let shape = match (known.map(|known| known.name), size) {
            (Some(name), Some(size)) => basic_shape(name, size),
            (None, Some(size)) => basic_shape(&format!("{handle:#x}"), size),
            _ => Shape::Unknown,
        };
        let made = node(handle, None, shape);
        self.basics.insert(handle, Rc::clone(&made));
        made
    }

    fn shape(&mut self, record: &objects::Datatype, depth: usize) -> Option<Shape> {
        let args: [i64; 4] = std::array::from_fn(|i| record.args.get(i).map_or(0, |w| w.get().cast_signed()));
        let [first, second, third, fourth] = args;
        let combiner = Combiner(record.combiner.get());
        let size = Some(record.size.get()).filter(|size| *size != SIZE_UNKNOWN);
        match combiner {
            Combiner::NAMED => return Some(self.named(record, size)),
            Combiner::F90_REAL | Combiner::F90_COMPLEX => {
                return Some(basic_shape(&format!("{}({first},{second})", combiner.name()?), size?));
            }
            Combiner::F90_INTEGER => return Some(basic_shape(&format!("f90_integer({first})"), size?)),
            Combiner::VALUE_INDEX => {
                let value = self.child(first.cast_unsigned(), 0, depth + 1);
                let index = self.child(second.cast_unsigned(), 0, depth + 1);
                let behind = self.bounds(&value).extent()?;
                return Some(Shape::Struct(vec![(0, 1, value), (behind, 1, index)]));
            }
            Combiner::UNKNOWN => return None,
            _ => {}
        }
        let words: Vec<i64> = self.reader.words(&record.array).into_iter().map(u64::cast_signed).collect();
        // Not every constructor's first argument is a length.
        let n = usize::try_from(first).unwrap_or(0);
        if combiner == Combiner::STRUCT {
            return self.structure(&words, n, depth);
        }
        let old = self.child(record.old.get(), record.head.parent.get(), depth + 1);
        match combiner {
            Combiner::RESIZED => Some(Shape::Resized { old, lb: first, extent: second }),
            Combiner::SUBARRAY | Combiner::DARRAY => {
                let mut dimensions = if combiner == Combiner::SUBARRAY {
                    subarray(&words, n)?
                } else {
                    self.darray(&words, n, third, fourth)?
                };
                if Some(second) == constant::value_of(self.reader.abi(), "MPI_ORDER_FORTRAN") {
                    dimensions.reverse();
                }
                Some(Shape::Array { old, dimensions })
            }
            _ => {
                let blocks = blocks(combiner, args, &words, self.bounds(&old).extent())?;
                Some(Shape::Blocks { old, blocks })
            }
        }
    }

    fn named(&self, record: &objects::Datatype, size: Option<u64>) -> Shape {
        let handle = record.head.handle.get();
        let known = self.reader.predefined().find(Kind::Datatype, handle);
        let name = known
            .map(|known| known.name.to_owned())
            .or_else(|| self.reader.text(&record.name))
            .unwrap_or_else(|| format!("{handle:#x}"));
        match size.or(known.and_then(|known| known.size)) {
            Some(size) => basic_shape(&name, size),
            None => Shape::Unknown,
        }
    }

    fn structure(&mut self, words: &[i64], n: usize, depth: usize) -> Option<Shape> {
        let (lengths, places) = (part(words, 0, n)?, part(words, 1, n)?);
        let (handles, uids) = (part(words, 2, n)?, part(words, 3, n)?);
        let mut parts = Vec::with_capacity(n);
        for (i, length) in lengths.into_iter().enumerate() {
            let (handle, uid) = (handles.get(i)?.cast_unsigned(), uids.get(i)?.cast_unsigned());
            parts.push((*places.get(i)?, length, self.child(handle, uid, depth + 1)));
        }
        Some(Shape::Struct(parts))
    }

    /// Returns the part of a distributed array that belongs to a rank of the process grid, which is in
    /// row-major order.
    fn darray(&self, words: &[i64], n: usize, _processes: i64, rank: i64) -> Option<Vec<Dimension>> {
        let value = |name: &str| constant::value_of(self.reader.abi(), name);
        let (sizes, kinds) = (part(words, 0, n)?, part(words, 1, n)?);
        let (arguments, grid) = (part(words, 2, n)?, part(words, 3, n)?);
        let mut rest = rank;
        let mut coords = vec![0; n];
        for (coord, processes) in coords.iter_mut().zip(&grid).rev() {
            *coord = rest.checked_rem(*processes)?;
            rest = rest.checked_div(*processes)?;
        }
        let mut dimensions = Vec::with_capacity(n);
        for i in 0..n {
            let (size, processes, coord) = (*sizes.get(i)?, *grid.get(i)?, *coords.get(i)?);
            let kind = Some(*kinds.get(i)?);
            let argument = Some(*arguments.get(i)?).filter(|a| Some(*a) != value("MPI_DISTRIBUTE_DFLT_DARG"));
            let runs = if kind == value("MPI_DISTRIBUTE_BLOCK") {
                let even = size.checked_add(processes.checked_sub(1)?)?.checked_div(processes)?;
                cyclic(size, processes, coord, argument.unwrap_or(even))?
            } else if kind == value("MPI_DISTRIBUTE_CYCLIC") {
                cyclic(size, processes, coord, argument.unwrap_or(1))?
            } else {
                vec![(0, size)]
            };
            dimensions.push(Dimension { size, runs });
        }
        Some(dimensions)
    }

    /// Returns the size and bounds of a datatype.
    pub fn bounds(&self, node: &Node) -> Bounds {
        if let Some((lb, extent)) = node.stated {
            let own = node.bounds.get_or_init(|| worked_out(self, &node.shape));
            let ends = lb.checked_add(extent).map(|ub| (lb, ub));
            // The library's bounds hold; whether they override natural bounds further up depends on the types
            // below.
            let natural = if own.set.is_some() { own.natural } else { ends };
            return Bounds { set: own.set.and(ends), natural, ..*own };
        }
        *node.bounds.get_or_init(|| worked_out(self, &node.shape))
    }
}

fn node(handle: u64, stated: Option<(i64, i64)>, shape: Shape) -> Rc<Node> {
    Rc::new(Node { handle, stated, shape, bounds: std::cell::OnceCell::new() })
}

fn worked_out<S: Source>(tree: &Tree<'_, '_, S>, shape: &Shape) -> Bounds {
    work_out(tree, shape).unwrap_or_default()
}

fn work_out<S: Source>(tree: &Tree<'_, '_, S>, shape: &Shape) -> Option<Bounds> {
    match shape {
        Shape::Basic { size, alignment, .. } => Some(Bounds {
            size: Some(*size),
            natural: Some((0, i64::try_from(*size).ok()?)),
            set: None,
            alignment: i64::try_from(*alignment).ok()?,
        }),
        Shape::Pair([first, second], extent) => Some(Bounds {
            size: first.2.checked_add(second.2),
            natural: Some((0, i64::try_from(*extent).ok()?)),
            set: None,
            alignment: i64::try_from(first.2.max(second.2)).ok()?,
        }),
        Shape::Blocks { old, blocks } => {
            let old = tree.bounds(old);
            match blocks {
                Blocks::Regular { count, length, stride } => regular(&old, *count, *length, *stride),
                Blocks::Listed(list) => {
                    let mut blocks = list.iter().take(MOST_BLOCKS).map(|(at, len)| old.block(*at, *len));
                    blocks.try_fold(Bounds::NOTHING, |all, block| Some(all.join(block?)))
                }
            }
        }
        Shape::Struct(parts) => {
            let mut blocks = parts.iter().map(|(at, len, part)| tree.bounds(part).block(*at, *len));
            let mut all = blocks.try_fold(Bounds::NOTHING, |all, block| Some(all.join(block?)))?;
            // A structure is padded to its alignment, as for an array of it.
            all.natural = all.natural.map(|(lb, ub)| {
                let extent = ub.saturating_sub(lb);
                let over = extent.checked_rem(all.alignment).unwrap_or(0);
                (lb, if over == 0 { ub } else { ub.saturating_add(all.alignment - over) })
            });
            Some(all)
        }
        Shape::Resized { old, lb, extent } => {
            let old = tree.bounds(old);
            Some(Bounds { set: Some((*lb, lb.checked_add(*extent)?)), ..old })
        }
        Shape::Array { old, dimensions } => {
            let old = tree.bounds(old);
            let whole = dimensions.iter().map(|d| d.size).try_fold(1i64, i64::checked_mul)?;
            let parts =
                dimensions.iter().map(|d| d.runs.iter().map(|run| run.1).try_fold(0, i64::checked_add));
            let part = parts.into_iter().try_fold(1i64, |product, part| product.checked_mul(part?))?;
            let ends = (0, whole.checked_mul(old.extent()?)?);
            let size = old.size.and_then(|size| size.checked_mul(u64::try_from(part).ok()?));
            Some(Bounds { size, natural: Some(ends), set: Some(ends), alignment: old.alignment })
        }
        Shape::Unknown => None,
    }
}

fn regular(old: &Bounds, count: i64, length: i64, stride: i64) -> Option<Bounds> {
    if count <= 0 {
        return Some(Bounds::NOTHING);
    }
    let first = old.block(0, length)?;
    let last = old.block(stride.checked_mul(count - 1)?, length)?;
    let size = first.size.and_then(|size| size.checked_mul(u64::try_from(count).ok()?));
    Some(Bounds { size, ..first.join(last) })
}

/// The blocks of a constructor that repeats one datatype at places of its own; `words` are its arrays.
fn blocks(combiner: Combiner, args: [i64; 4], words: &[i64], extent: Option<i64>) -> Option<Blocks> {
    let [first, second, third, _] = args;
    let n = usize::try_from(first).unwrap_or(0);
    let listed = |lengths: Vec<i64>, places: Vec<i64>, unit: i64| {
        let blocks = places.iter().zip(lengths).map(|(place, len)| Some((place.checked_mul(unit)?, len)));
        Some(Blocks::Listed(blocks.collect::<Option<_>>()?))
    };
    Some(match combiner {
        Combiner::DUP => Blocks::Regular { count: 1, length: 1, stride: 0 },
        Combiner::CONTIGUOUS => Blocks::Regular { count: 1, length: first, stride: 0 },
        Combiner::VECTOR => {
            Blocks::Regular { count: first, length: second, stride: third.checked_mul(extent?)? }
        }
        Combiner::HVECTOR => Blocks::Regular { count: first, length: second, stride: third },
        Combiner::INDEXED => listed(part(words, 0, n)?, part(words, 1, n)?, extent?)?,
        Combiner::HINDEXED => listed(part(words, 0, n)?, part(words, 1, n)?, 1)?,
        Combiner::INDEXED_BLOCK => listed(vec![second; words.len().min(n)], part(words, 0, n)?, extent?)?,
        Combiner::HINDEXED_BLOCK => listed(vec![second; words.len().min(n)], part(words, 0, n)?, 1)?,
        _ => return None,
    })
}

fn part(words: &[i64], place: usize, n: usize) -> Option<Vec<i64>> {
    let start = n.checked_mul(place)?;
    Some(words.get(start..start.checked_add(n)?)?.to_vec())
}

fn subarray(words: &[i64], n: usize) -> Option<Vec<Dimension>> {
    let (sizes, parts, starts) = (part(words, 0, n)?, part(words, 1, n)?, part(words, 2, n)?);
    let each = sizes.into_iter().zip(parts).zip(starts);
    Some(each.map(|((size, part), start)| Dimension { size, runs: vec![(start, part)] }).collect())
}

/// Returns the blocks of `block` elements, distributed cyclically over `processes`, that belong to `coord`.
fn cyclic(size: i64, processes: i64, coord: i64, block: i64) -> Option<Vec<(i64, i64)>> {
    if block <= 0 || processes <= 0 || coord < 0 {
        return None;
    }
    let step = block.checked_mul(processes)?;
    let mut runs = Vec::new();
    let mut at = block.checked_mul(coord)?;
    while at < size && runs.len() < MOST_BLOCKS {
        runs.push((at, block.min(size - at)));
        at = at.checked_add(step)?;
    }
    Some(runs)
}

/// Returns the layout of a predefined type; pair types for minimum and maximum with location are laid out as
/// C structures on LP64.
fn basic_shape(name: &str, size: u64) -> Shape {
    let pair = match name {
        "MPI_FLOAT_INT" => ([("MPI_FLOAT", 0, 4), ("MPI_INT", 4, 4)], 8),
        "MPI_DOUBLE_INT" => ([("MPI_DOUBLE", 0, 8), ("MPI_INT", 8, 4)], 16),
        "MPI_LONG_INT" => ([("MPI_LONG", 0, 8), ("MPI_INT", 8, 4)], 16),
        "MPI_SHORT_INT" => ([("MPI_SHORT", 0, 2), ("MPI_INT", 4, 4)], 8),
        "MPI_2INT" => ([("MPI_INT", 0, 4), ("MPI_INT", 4, 4)], 8),
        "MPI_LONG_DOUBLE_INT" => ([("MPI_LONG_DOUBLE", 0, 16), ("MPI_INT", 16, 4)], 32),
        "MPI_2REAL" => ([("MPI_REAL", 0, 4), ("MPI_REAL", 4, 4)], 8),
        "MPI_2INTEGER" => ([("MPI_INTEGER", 0, 4), ("MPI_INTEGER", 4, 4)], 8),
        "MPI_2DOUBLE_PRECISION" => ([("MPI_DOUBLE_PRECISION", 0, 8), ("MPI_DOUBLE_PRECISION", 8, 8)], 16),
        _ => {
            // A complex type is aligned like its half; no machine requires more than 16 bytes.
            let half = name.contains("COMPLEX") || name.contains("F90_COMPLEX");
            let alignment = if half { size / 2 } else { size };
            let alignment = if alignment.is_power_of_two() { alignment.min(16) } else { 1 };
            return Shape::Basic { name: name.to_owned(), size, alignment: alignment.max(1) };
        }
    };
    Shape::Pair(pair.0, pair.1)
}
