//! Types from debug information, for the answers to `find_type`, `field_offset` and `sizeof`.
//!
//! If a module (or its separate debug file, found by build id) has DWARF, its named types are indexed once.
//! Otherwise there are no types, and plug-ins that need them report that, as with every stripped MPI library.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{AttributeValue, DW_AT_byte_size, DW_AT_data_member_location, DW_AT_declaration, DW_AT_name};
use gimli::{DW_AT_type, DwTag, Dwarf, EndianArcSlice, EntriesTreeNode, RunTimeEndian, Unit, UnitOffset};
use memmap2::Mmap;
use mpiscope_target::Module;
use object::{Object, ObjectSection};

type Reader = EndianArcSlice<RunTimeEndian>;

/// Maximum length of debug information: tests and small tools do not need more.
const MOST_BYTES: u64 = 1 << 30;
/// Maximum length of a chain of typedefs.
const LONGEST_CHAIN: usize = 32;

/// A type of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFacts {
    /// Its name, as requested.
    pub name: String,
    /// Its size in bytes, if complete.
    pub size: Option<u64>,
    /// Its members with their offsets in bytes.
    pub fields: HashMap<String, u64>,
}

/// The named types of all modules.
#[derive(Default)]
pub struct Types {
    units: Vec<(Arc<Dwarf<Reader>>, Unit<Reader>)>,
    named: HashMap<String, (usize, UnitOffset)>,
    /// Modules with debug information.
    with_debug: Vec<PathBuf>,
}

impl Types {
    /// Reads the debug information of those modules that have any.
    pub fn of(modules: &[Module]) -> Self {
        let mut types = Self::default();
        for module in modules {
            if let Some(dwarf) = load(&module.path) {
                types.with_debug.push(module.path.clone());
                types.index(&Arc::new(dwarf));
            }
        }
        types
    }

    /// The modules with debug information.
    pub fn modules(&self) -> &[PathBuf] {
        &self.with_debug
    }

    /// Returns the type with this name. Structures are found by their tag, with or without a preceding
    /// `struct`.
    pub fn find(&self, name: &str) -> Option<TypeFacts> {
        let plain = name.strip_prefix("struct ").or(name.strip_prefix("union ")).unwrap_or(name).trim();
        let (unit, offset) = *self.named.get(plain)?;
        let (dwarf, unit) = self.units.get(unit)?;
        facts(dwarf, unit, offset, name)
    }

    fn index(&mut self, dwarf: &Arc<Dwarf<Reader>>) {
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            if is_rust(&unit) {
                continue;
            }
            let number = self.units.len();
            let mut found = Vec::new();
            if let Ok(mut tree) = unit.entries_tree(None)
                && let Ok(root) = tree.root()
            {
                names(dwarf, &unit, root, "", &mut found);
            }
            for (name, offset) in found {
                self.named.entry(name).or_insert((number, offset));
            }
            self.units.push((Arc::clone(dwarf), unit));
        }
    }
}

/// No MPI interface uses Rust types, and there are many.
fn is_rust(unit: &Unit<Reader>) -> bool {
    let root = unit.entry(unit.header.root_offset()).ok();
    let language = root.and_then(|root| root.attr_value(gimli::DW_AT_language));
    language == Some(AttributeValue::Language(gimli::DW_LANG_Rust))
}

/// Collects the complete types directly below a unit or a namespace.
fn names(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    scope: EntriesTreeNode<'_, '_, Reader>,
    prefix: &str,
    found: &mut Vec<(String, UnitOffset)>,
) {
    let mut children = scope.children();
    while let Ok(Some(child)) = children.next() {
        let entry = child.entry();
        let space = entry.tag() == gimli::DW_TAG_namespace;
        if !(space || is_type(entry.tag())) || entry.attr(DW_AT_declaration).is_some() {
            continue;
        }
        let Some(name) = name_of(dwarf, unit, entry.attr_value(DW_AT_name)) else { continue };
        let name = format!("{prefix}{name}");
        if space {
            names(dwarf, unit, child, &format!("{name}::"), found);
        } else {
            found.push((name, entry.offset()));
        }
    }
}

fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_typedef
            | gimli::DW_TAG_base_type
            | gimli::DW_TAG_enumeration_type
    )
}

fn name_of(
    dwarf: &Dwarf<Reader>,
    unit: &Unit<Reader>,
    value: Option<AttributeValue<Reader>>,
) -> Option<String> {
    let text = dwarf.attr_string(unit, value?).ok()?;
    Some(gimli::Reader::to_string_lossy(&text).ok()?.into_owned())
}

/// Follows typedefs and qualifiers to the type with a size and members.
fn facts(dwarf: &Dwarf<Reader>, unit: &Unit<Reader>, start: UnitOffset, name: &str) -> Option<TypeFacts> {
    let mut offset = start;
    for _ in 0..LONGEST_CHAIN {
        let mut tree = unit.entries_tree(Some(offset)).ok()?;
        let node = tree.root().ok()?;
        let entry = node.entry();
        let size = entry.attr(DW_AT_byte_size).and_then(gimli::Attribute::udata_value);
        let through = matches!(
            entry.tag(),
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type
        );
        if let (true, Some(AttributeValue::UnitRef(next))) = (through, entry.attr_value(DW_AT_type)) {
            offset = next;
            continue;
        }
        let pointer = entry.tag() == gimli::DW_TAG_pointer_type;
        let size = size.or_else(|| pointer.then(|| u64::from(unit.encoding().address_size)));
        let mut fields = HashMap::new();
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let member = child.entry();
            let name = name_of(dwarf, unit, member.attr_value(DW_AT_name));
            if let (gimli::DW_TAG_member, Some(name)) = (member.tag(), name) {
                // A member of a union has no location: its offset is zero.
                let at = member.attr(DW_AT_data_member_location).and_then(gimli::Attribute::udata_value);
                fields.insert(name, at.unwrap_or(0));
            }
        }
        return Some(TypeFacts { name: name.to_owned(), size, fields });
    }
    None
}

fn load(path: &Path) -> Option<Dwarf<Reader>> {
    let file = map(path)?;
    let object = object::File::parse(&*file).ok()?;
    if has_debug(&object) {
        return sections(&object);
    }
    let id = object.build_id().ok().flatten()?;
    let (first, rest) = id.split_first()?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    let separate = map(Path::new(&format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug")))?;
    let object = object::File::parse(&*separate).ok()?;
    (has_debug(&object) && object.build_id().ok().flatten() == Some(id)).then(|| sections(&object))?
}

fn has_debug(object: &object::File<'_>) -> bool {
    let section = object.section_by_name(".debug_info");
    section.is_some_and(|section| (1..MOST_BYTES).contains(&section.size()))
}

fn sections(object: &object::File<'_>) -> Option<Dwarf<Reader>> {
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: gimli::SectionId| -> Result<Reader, object::Error> {
        let section = object.section_by_name(id.name()).filter(|section| section.size() < MOST_BYTES);
        let bytes = section.map(|section| section.uncompressed_data()).transpose()?.unwrap_or_default();
        Ok(EndianArcSlice::new(Arc::from(&*bytes), endian))
    };
    Dwarf::load(load).ok()
}

#[allow(unsafe_code)]
fn map(path: &Path) -> Option<Mmap> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    // SAFETY: private and read-only, of an installed program or library, which is replaced by renaming.
    unsafe { Mmap::map(&file) }.ok()
}
