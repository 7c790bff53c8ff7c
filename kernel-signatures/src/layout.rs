//! Types of OpenCL C as far as a kernel's arguments need them: what they are,
//! and how large on the device (OpenCL C 3.0, 6.3 and 6.13).

use std::rc::Rc;

/// Bytes of a type, and the multiple at which it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its size in bytes.
    pub size: u64,
    /// Its alignment in bytes, a power of two.
    pub align: u64,
}

/// An address space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    /// A work-item's own.
    #[default]
    Private,
    /// `__global`.
    Global,
    /// `__constant`.
    Constant,
    /// `__local`.
    Local,
}

/// What may be done with an image or a pipe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Neither.
    #[default]
    None,
    /// `read_only`.
    ReadOnly,
    /// `write_only`.
    WriteOnly,
    /// `read_write`.
    ReadWrite,
}

/// Type qualifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    /// `const`.
    pub is_const: bool,
    /// `restrict`.
    pub is_restrict: bool,
    /// `volatile`.
    pub is_volatile: bool,
}

/// The shape of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A number, a vector, a structure, a union, an enumeration.
    Value,
    /// A pointer to a type.
    Pointer(Box<Type>),
    /// An array of a type.
    Array(Box<Type>),
    /// A function.
    Function,
    /// An image.
    Image,
    /// `sampler_t`.
    Sampler,
    /// A pipe.
    Pipe,
    /// `queue_t`.
    Queue,
    /// `void`, or a type that no kernel takes, or one that is not known.
    Other,
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its shape.
    pub shape: Shape,
    /// As a compiler writes it.
    pub name: Rc<str>,
    /// Its size, if it has one that is known.
    pub layout: Option<Layout>,
    /// The address space of an object of this type.
    pub space: Space,
    /// Its qualifiers.
    pub qualifiers: Qualifiers,
    /// The allowed access.
    pub access: Access,
    /// How many pointers and arrays it goes through.
    levels: u32,
}

/// Most pointers and arrays that a type goes through.
const MAX_LEVELS: u32 = 64;

impl Type {
    /// A type of this shape.
    pub fn new(shape: Shape, name: &str, layout: Option<Layout>) -> Self {
        Self {
            shape,
            name: name.into(),
            layout,
            space: Space::Private,
            qualifiers: Qualifiers::default(),
            access: Access::None,
            levels: 0,
        }
    }

    /// A type made of this one; one that goes through too many is none.
    fn derived(self, name: &str, layout: Option<Layout>, shape: fn(Box<Self>) -> Shape) -> Self {
        let levels = self.levels + 1;
        if levels > MAX_LEVELS {
            return Self::new(Shape::Other, "", None);
        }
        let derived = Self::new(shape(Box::new(self)), name, layout);
        Self { levels, ..derived }
    }

    /// A pointer to this type on a device with addresses of so many bits.
    pub fn pointer(self, address_bits: u32) -> Self {
        let name = format!("{}*", self.name);
        let layout = scalar(u64::from(address_bits / 8));
        self.derived(&name, Some(layout), Shape::Pointer)
    }

    /// An array of this type.
    pub fn array(self, len: Option<i128>) -> Self {
        let len = len.and_then(|len| u64::try_from(len).ok());
        let layout = self.layout.zip(len).and_then(|(one, len)| {
            let size = one.size.checked_mul(len)?;
            Some(Layout { size, ..one })
        });
        let (space, name) = (self.space, self.name.clone());
        let array = self.derived(&name, layout, Shape::Array);
        Self { space, ..array }
    }

    /// At least this alignment; none if it is no power of two.
    pub fn align(&mut self, align: Option<u64>) {
        if let (Some(layout), Some(align)) = (&mut self.layout, align) {
            layout.align = layout.align.max(align);
        }
    }
}

/// A scalar's layout.
pub fn scalar(size: u64) -> Layout {
    Layout { size, align: size }
}

/// A vector's: three elements take the room of four.
pub fn vector(element: Layout, count: u64) -> Option<Layout> {
    let count = if count == 3 { 4 } else { count };
    element.size.checked_mul(count).map(scalar)
}

/// A type that the language names with one word.
pub fn builtin(name: &str, address_bits: u32) -> Option<Type> {
    let address = u64::from(address_bits / 8);
    let size = match name {
        "void" => return Some(Type::new(Shape::Other, name, None)),
        "bool" | "_Bool" | "uchar" => 1,
        "half" | "ushort" => 2,
        "uint"
        | "float"
        | "atomic_int"
        | "atomic_uint"
        | "atomic_float"
        | "atomic_flag"
        | "cl_mem_fence_flags"
        | "memory_scope"
        | "memory_order"
        | "clk_profiling_info"
        | "kernel_enqueue_flags_t" => 4,
        "ulong" | "double" | "atomic_long" | "atomic_ulong" | "atomic_double" => 8,
        "size_t" | "ptrdiff_t" | "intptr_t" | "uintptr_t" | "atomic_size_t"
        | "atomic_ptrdiff_t" | "atomic_intptr_t" | "atomic_uintptr_t" => address,
        _ => return opaque(name).or_else(|| vector_name(name)),
    };
    Some(Type::new(Shape::Value, name, Some(scalar(size))))
}

fn opaque(name: &str) -> Option<Type> {
    let is_image = name.starts_with("image") && name.ends_with("_t");
    let shape = match name {
        _ if is_image => Shape::Image,
        "sampler_t" => Shape::Sampler,
        "queue_t" => Shape::Queue,
        "event_t" | "clk_event_t" | "reserve_id_t" | "ndrange_t" => Shape::Other,
        _ => return None,
    };
    Some(Type::new(shape, name, None))
}

/// `float4` and its kind.
fn vector_name(name: &str) -> Option<Type> {
    let element = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let size = match element {
        "char" | "uchar" => 1,
        "short" | "ushort" | "half" => 2,
        "int" | "uint" | "float" => 4,
        "long" | "ulong" | "double" => 8,
        _ => return None,
    };
    let count = match &name[element.len()..] {
        count @ ("2" | "3" | "4" | "8" | "16") => count.parse().ok()?,
        _ => return None,
    };
    Some(Type::new(Shape::Value, name, vector(scalar(size), count)))
}

/// A structure or union that grows field by field.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    is_union: bool,
    /// Fields lie at no larger multiple than this.
    pack: Option<u64>,
    layout: Option<Layout>,
}

impl Record {
    /// Without fields.
    pub fn new(is_union: bool, pack: Option<u64>) -> Self {
        Self {
            is_union,
            pack,
            layout: Some(Layout { size: 0, align: 1 }),
        }
    }

    /// Adds a field; one of unknown size makes the whole unknown.
    pub fn add(&mut self, field: Option<Layout>, is_packed: bool, aligned: Option<u64>) {
        self.layout = self.layout.zip(field).and_then(|(whole, field)| {
            let natural = if is_packed { 1 } else { field.align };
            let align = natural.max(aligned.unwrap_or(1));
            let align = align.min(self.pack.unwrap_or(u64::MAX));
            let begin = if self.is_union {
                0
            } else {
                up(whole.size, align)?
            };
            Some(Layout {
                size: whole.size.max(begin.checked_add(field.size)?),
                align: whole.align.max(align),
            })
        });
    }

    /// The whole.
    pub fn finish(self, aligned: Option<u64>) -> Option<Layout> {
        let Layout { size, align } = self.layout?;
        let align = align.max(aligned.unwrap_or(1));
        let size = up(size, align)?;
        Some(Layout { size, align })
    }
}

/// The next multiple.
fn up(size: u64, align: u64) -> Option<u64> {
    size.checked_next_multiple_of(align.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(name: &str) -> Option<Layout> {
        builtin(name, 32).unwrap().layout
    }

    #[test]
    fn the_languages_own_types_have_their_sizes() {
        assert_eq!(of("float3"), Some(scalar(16)));
        assert_eq!(of("ulong16"), Some(scalar(128)));
        assert_eq!(of("size_t"), Some(scalar(4)));
        assert_eq!(builtin("size_t", 64).unwrap().layout, Some(scalar(8)));
        assert_eq!(of("image2d_array_depth_t"), None);
        for name in ["float5", "bool2", "size_t2", "foo", "float02"] {
            assert_eq!(builtin(name, 64), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn structures_hold_their_fields(sizes in prop::collection::vec(0u32..4, 1..20)) {
            let mut record = Record::new(false, None);
            let mut packed = Record::new(false, None);
            let mut sum = 0;
            for size in sizes {
                let field = scalar(1 << size);
                record.add(Some(field), false, None);
                packed.add(Some(field), true, None);
                sum += field.size;
            }
            let whole = record.finish(None).unwrap();
            prop_assert_eq!(whole.size % whole.align, 0);
            prop_assert!(whole.size >= sum);
            prop_assert_eq!(packed.finish(None), Some(Layout { size: sum, align: 1 }));
        }
    }
}
