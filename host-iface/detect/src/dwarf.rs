//! DWARF: prototypes and structure layouts from an ELF file with debug
//! information.

use super::btf::{Kind, Parameter};
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf as Sections, EndianSlice, LittleEndian, Unit,
    UnitOffset, constants as dw,
};
use object::{Object, ObjectSection};

type Slice<'data> = EndianSlice<'data, LittleEndian>;
type Entry<'data> = DebuggingInformationEntry<Slice<'data>>;

/// Types followed from one to the next, and structures entered.
const DEPTH: usize = 32;
/// Members that are looked at for one that is asked for: structures without a
/// name may lie in each other so that there is no end.
const MEMBERS: usize = 1 << 16;

/// An ELF file's debug information, where it has any. Compressed sections
/// count as none.
#[derive(Debug)]
pub struct Dwarf<'data> {
    sections: Sections<Slice<'data>>,
}

impl<'data> Dwarf<'data> {
    /// Reads an ELF file's sections; only little-endian ones have any.
    pub fn parse(file: &object::File<'data>) -> Self {
        let section = |id: gimli::SectionId| {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.data().ok());
            let is_plain = |data: &&[u8]| !data.is_empty() && file.is_little_endian();
            let data = data.filter(is_plain).unwrap_or_default();
            Ok::<_, gimli::Error>(EndianSlice::new(data, LittleEndian))
        };
        let sections = Sections::load(section).unwrap_or_default();
        Self { sections }
    }

    /// The parameters of the function whose code begins at an address.
    pub fn parameters(&self, address: u64) -> Option<Vec<Parameter>> {
        self.find(|unit, offset, entry| {
            let is_function = entry.tag() == dw::DW_TAG_subprogram;
            let is_it = is_function && self.address(unit, entry) == Some(address);
            is_it.then(|| self.parameters_of(unit, offset)).flatten()
        })
    }

    /// Offset in bytes of a member such as `f_path.dentry`, whose parts may be
    /// members of unnamed structures and unions.
    pub fn offset(&self, structure: &str, path: &str) -> Option<u64> {
        self.find(|unit, offset, entry| {
            let is_it = is_structure(entry) && self.name(unit, entry) == structure;
            is_it.then_some(())?;
            let mut at = offset;
            path.split('.').try_fold(0_u64, |sum, name| {
                let (offset, kind) = self.member(unit, at, name, DEPTH, &mut { MEMBERS })?;
                at = kind;
                sum.checked_add(offset)
            })
        })
    }

    /// The first entry of which something is known. A damaged unit ends where
    /// the damage is.
    fn find<T>(
        &self,
        mut known: impl FnMut(&Unit<Slice<'data>>, UnitOffset, &Entry<'data>) -> Option<T>,
    ) -> Option<T> {
        let mut headers = self.sections.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = self.sections.unit(header) else {
                continue;
            };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if let Some(found) = known(&unit, entry.offset(), entry) {
                    return Some(found);
                }
            }
        }
        None
    }

    fn address(&self, unit: &Unit<Slice<'data>>, entry: &Entry<'data>) -> Option<u64> {
        let value = entry.attr_value(dw::DW_AT_low_pc)?;
        self.sections.attr_address(unit, value).ok()?
    }

    fn name(&self, unit: &Unit<Slice<'data>>, entry: &Entry<'data>) -> &'data str {
        let value = entry.attr_value(dw::DW_AT_name);
        let text = value.and_then(|value| self.sections.attr_string(unit, value).ok());
        let bytes = text.map(|text| text.slice()).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }

    /// What `known` makes of each child of an entry, until it makes something.
    fn children<T>(
        &self,
        unit: &Unit<Slice<'data>>,
        parent: UnitOffset,
        mut known: impl FnMut(&Entry<'data>) -> Option<T>,
    ) -> Option<T> {
        let mut tree = unit.entries_tree(Some(parent)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Ok(Some(child)) = children.next() {
            if let Some(found) = known(child.entry()) {
                return Some(found);
            }
        }
        None
    }

    fn parameters_of(
        &self,
        unit: &Unit<Slice<'data>>,
        function: UnitOffset,
    ) -> Option<Vec<Parameter>> {
        let mut found = Some(Vec::new());
        self.children::<()>(unit, function, |child| {
            if child.tag() == dw::DW_TAG_formal_parameter {
                let parameter = self.parameter(unit, child);
                found = found.take().and_then(|mut all| {
                    all.push(parameter?);
                    Some(all)
                });
            }
            None
        });
        found
    }

    /// A parameter; what is said of it may stand where it was declared.
    fn parameter(&self, unit: &Unit<Slice<'data>>, entry: &Entry<'data>) -> Option<Parameter> {
        let origin = reference(entry, dw::DW_AT_abstract_origin);
        let origin = origin.and_then(|offset| unit.entry(offset).ok());
        let described = origin.as_ref().unwrap_or(entry);
        Some(Parameter {
            name: self.name(unit, described).into(),
            kind: self.kind(unit, reference(described, dw::DW_AT_type)?)?,
        })
    }

    /// A type without its qualifiers and other names.
    fn plain(&self, unit: &Unit<Slice<'data>>, mut at: UnitOffset) -> Option<Entry<'data>> {
        for _ in 0..DEPTH {
            let entry = unit.entry(at).ok()?;
            match entry.tag() {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type => at = reference(&entry, dw::DW_AT_type)?,
                _ => return Some(entry),
            }
        }
        None
    }

    fn kind(&self, unit: &Unit<Slice<'data>>, at: UnitOffset) -> Option<Kind> {
        let entry = self.plain(unit, at)?;
        let size = number(&entry, dw::DW_AT_byte_size).and_then(|size| u32::try_from(size).ok());
        Some(match entry.tag() {
            dw::DW_TAG_pointer_type if self.is_text(unit, &entry) => Kind::Text,
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type
            | dw::DW_TAG_array_type => Kind::Pointer,
            dw::DW_TAG_base_type => match entry.attr_value(dw::DW_AT_encoding)? {
                AttributeValue::Encoding(dw::DW_ATE_float | dw::DW_ATE_complex_float) => {
                    Kind::Float
                }
                AttributeValue::Encoding(encoding) => Kind::Integer {
                    size: size?,
                    signed: matches!(encoding, dw::DW_ATE_signed | dw::DW_ATE_signed_char),
                },
                _ => return None,
            },
            dw::DW_TAG_enumeration_type => Kind::Integer {
                size: size?,
                signed: false,
            },
            _ if is_structure(&entry) => Kind::Composite { size: size? },
            _ => return None,
        })
    }

    /// Whether a pointer is a `const char *`.
    fn is_text(&self, unit: &Unit<Slice<'data>>, pointer: &Entry<'data>) -> bool {
        let Some(target) = reference(pointer, dw::DW_AT_type) else {
            return false;
        };
        let is_const = unit
            .entry(target)
            .is_ok_and(|one| one.tag() == dw::DW_TAG_const_type);
        let plain = self.plain(unit, target);
        is_const && plain.is_some_and(|one| self.name(unit, &one) == "char")
    }

    fn member(
        &self,
        unit: &Unit<Slice<'data>>,
        at: UnitOffset,
        name: &str,
        depth: usize,
        left: &mut usize,
    ) -> Option<(u64, UnitOffset)> {
        let depth = depth.checked_sub(1)?;
        let structure = self.plain(unit, at)?;
        is_structure(&structure).then_some(())?;
        self.children(unit, structure.offset(), |child| {
            (child.tag() == dw::DW_TAG_member).then_some(())?;
            *left = left.checked_sub(1)?;
            let offset = number(child, dw::DW_AT_data_member_location).unwrap_or(0);
            let kind = reference(child, dw::DW_AT_type)?;
            match self.name(unit, child) {
                "" => {
                    let (inner, kind) = self.member(unit, kind, name, depth, left)?;
                    Some((offset.checked_add(inner)?, kind))
                }
                found if found == name => Some((offset, kind)),
                _ => None,
            }
        })
    }
}

fn is_structure(entry: &Entry<'_>) -> bool {
    matches!(
        entry.tag(),
        dw::DW_TAG_structure_type | dw::DW_TAG_union_type | dw::DW_TAG_class_type
    )
}

fn reference(entry: &Entry<'_>, name: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name)? {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

fn number(entry: &Entry<'_>, name: gimli::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}
