//! A call's argument, field by field, with the memory that its fields point to.

use crate::field::{Count, Element, Field, Pointer, Role, Scalar, Type};
use crate::table::{Ioctl, Struct, Table};

/// More bytes than any driver takes in one piece of memory.
pub const BYTES_MAX: u64 = 64 << 20;

/// More elements than any driver takes in one list.
pub const ELEMENTS_MAX: u64 = 1 << 16;

/// Why a call has no meaning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The driver has no such ioctl: `EINVAL`.
    #[error("{driver} has no ioctl of the number {number:#x}")]
    Ioctl {
        /// The driver.
        driver: String,
        /// The number, from `DRM_COMMAND_BASE`.
        number: u32,
    },
    /// Memory that is not the program's: `EFAULT`.
    #[error("{field} points to {len} bytes at {address:#x}, which the program has not")]
    Memory {
        /// The field.
        field: String,
        /// Its value.
        address: u64,
        /// The bytes.
        len: u64,
    },
    /// More than [`BYTES_MAX`] or [`ELEMENTS_MAX`]: `EINVAL`.
    #[error("{field} points to {count} elements: more than {max}")]
    Long {
        /// The field.
        field: String,
        /// How many.
        count: u64,
        /// How many there may be.
        max: u64,
    },
    /// A field that has to be 0, or flags that the driver does not know: `EINVAL`.
    #[error("{field} is {value:#x}: the driver knows {known:#x}")]
    Value {
        /// The field.
        field: String,
        /// Its value.
        value: u64,
        /// What it may have.
        known: u64,
    },
}

/// Memory that a field points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// None: the pointer, or the number of elements, is 0.
    Nothing,
    /// Bytes.
    Bytes(Vec<u8>),
    /// Numbers of buffers or sync objects.
    Numbers(Vec<u32>),
    /// Structures.
    Structs(Vec<Vec<Value>>),
    /// So many bytes that the driver writes.
    Out(u64),
}

/// A field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its name; with a dot, in an inner structure.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Numbers: one, or an array. Signed ones as 64 bits of two's complement.
    pub numbers: Vec<u64>,
    /// What it points to.
    pub memory: Memory,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The ioctl.
    pub ioctl: &'a Ioctl,
    /// Its argument's fields.
    pub values: Vec<Value>,
}

impl Call<'_> {
    /// A field of the argument.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|it| it.name == name)
    }
}

/// Memory of the program's, as its driver reads it.
pub trait Program {
    /// Reads so many bytes at an address; `None` if the program has not all of them.
    fn read(&mut self, address: u64, len: usize) -> Option<Vec<u8>>;
}

impl<F: FnMut(u64, usize) -> Option<Vec<u8>>> Program for F {
    fn read(&mut self, address: u64, len: usize) -> Option<Vec<u8>> {
        self(address, len)
    }
}

impl Table {
    /// Decodes a call. As the kernel has it, an argument that is shorter than the
    /// driver's ends in zeros, and what is longer is not seen.
    ///
    /// # Errors
    /// [`DecodeError`].
    pub fn decode(
        &self,
        number: u32,
        argument: &[u8],
        program: &mut impl Program,
    ) -> Result<Call<'_>, DecodeError> {
        let unknown = || DecodeError::Ioctl {
            driver: self.driver.clone(),
            number,
        };
        let ioctl = self.ioctl(number).ok_or_else(unknown)?;
        let structure = self.structure(&ioctl.argument).ok_or_else(unknown)?;
        let mut bytes = argument[..argument.len().min(structure.size)].to_vec();
        bytes.resize(structure.size, 0);
        let mut values = Vec::new();
        self.values(structure, &bytes, "", program, &mut values)?;
        Ok(Call { ioctl, values })
    }

    fn values(
        &self,
        structure: &Struct,
        bytes: &[u8],
        before: &str,
        program: &mut impl Program,
        values: &mut Vec<Value>,
    ) -> Result<(), DecodeError> {
        let first = values.len();
        for (offset, field) in &structure.fields {
            let name = format!("{before}{}", field.name);
            let size = self.size_of(&field.ty).0;
            let part = bytes.get(*offset..offset + size).unwrap_or_default();
            match &field.ty {
                Type::Struct(inner) => {
                    if let Some(inner) = self.structure(inner) {
                        self.values(inner, part, &format!("{name}."), program, values)?;
                    }
                }
                Type::Numbers(scalar, _) => values.push(Value {
                    numbers: numbers(*scalar, part),
                    role: field.role.clone(),
                    memory: Memory::Nothing,
                    name: name.clone(),
                }),
            }
            check(field, &name, values.last())?;
        }
        self.follow(structure, before, program, &mut values[first..])
    }

    /// Reads what the fields point to.
    fn follow(
        &self,
        structure: &Struct,
        before: &str,
        program: &mut impl Program,
        values: &mut [Value],
    ) -> Result<(), DecodeError> {
        for (_, field) in &structure.fields {
            let Role::Pointer(pointer) = &field.role else {
                continue;
            };
            let number = |name: &str| {
                let name = format!("{before}{name}");
                let value = values.iter().find(|it| it.name == name);
                value
                    .and_then(|it| it.numbers.first())
                    .copied()
                    .unwrap_or(0)
            };
            let count = match &pointer.count {
                Count::Fixed(count) => *count,
                Count::Field(name) => number(name),
            };
            let address = number(&field.name);
            let name = format!("{before}{}", field.name);
            let memory = self.memory(pointer, &name, (address, count), program)?;
            if let Some(value) = values.iter_mut().find(|it| it.name == name) {
                value.memory = memory;
            }
        }
        Ok(())
    }

    fn memory(
        &self,
        pointer: &Pointer,
        field: &str,
        (address, count): (u64, u64),
        program: &mut impl Program,
    ) -> Result<Memory, DecodeError> {
        let (size, max) = match &pointer.element {
            Element::Byte => (1, BYTES_MAX),
            Element::Buffer | Element::Sync => (4, ELEMENTS_MAX),
            Element::Struct(name) => {
                let size = self.structure(name).map_or(0, |it| it.size);
                (size as u64, ELEMENTS_MAX)
            }
        };
        if count > max {
            let field = field.into();
            return Err(DecodeError::Long { field, count, max });
        }
        let len = count * size;
        if len == 0 || pointer.is_out {
            return Ok(if pointer.is_out {
                Memory::Out(len)
            } else {
                Memory::Nothing
            });
        }
        let read = usize::try_from(len).ok();
        let read = read.and_then(|len| program.read(address, len));
        // A program that gives another number of bytes has not all of them.
        let read = read.filter(|it| it.len() as u64 == len);
        let bytes = read.ok_or_else(|| DecodeError::Memory {
            field: field.into(),
            address,
            len,
        })?;
        self.elements(&pointer.element, bytes, field, program)
    }

    fn elements(
        &self,
        element: &Element,
        bytes: Vec<u8>,
        field: &str,
        program: &mut impl Program,
    ) -> Result<Memory, DecodeError> {
        let structure = match element {
            Element::Byte => return Ok(Memory::Bytes(bytes)),
            Element::Buffer | Element::Sync => {
                let words = numbers(Scalar::U32, &bytes).into_iter();
                return Ok(Memory::Numbers(words.map(|it| it as u32).collect()));
            }
            Element::Struct(name) => self.structure(name),
        };
        let mut structs = Vec::new();
        if let Some(structure) = structure {
            for (n, bytes) in bytes.chunks_exact(structure.size).enumerate() {
                let mut values = Vec::new();
                let before = format!("{field}[{n}].");
                self.values(structure, bytes, &before, program, &mut values)?;
                structs.push(values);
            }
        }
        Ok(Memory::Structs(structs))
    }
}

/// What a field may have.
fn check(field: &Field, name: &str, value: Option<&Value>) -> Result<(), DecodeError> {
    let known = match field.role {
        Role::Zero => 0,
        Role::Flags(known) | Role::Polls { known, .. } | Role::Processor(Some(known)) => known,
        _ => return Ok(()),
    };
    let numbers = value.map(|it| it.numbers.as_slice()).unwrap_or_default();
    match numbers.iter().find(|it| **it & !known != 0) {
        None => Ok(()),
        Some(&value) => Err(DecodeError::Value {
            field: name.into(),
            value,
            known,
        }),
    }
}

/// The numbers in bytes, which are little-endian.
pub(crate) fn numbers(scalar: Scalar, bytes: &[u8]) -> Vec<u64> {
    let chunks = bytes.chunks_exact(scalar.size());
    let number = |chunk: &[u8]| {
        let mut whole = [0; 8];
        whole[..chunk.len()].copy_from_slice(chunk);
        let word = u64::from_le_bytes(whole);
        match scalar {
            Scalar::I32 => i64::from(word as u32 as i32).cast_unsigned(),
            _ => word,
        }
    };
    chunks.map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn none(_: u64, _: usize) -> Option<Vec<u8>> {
        None
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|it| it.to_le_bytes()).collect()
    }

    #[test]
    fn a_job_of_lima_names_its_buffers_and_its_frame() {
        let table = crate::table("lima").unwrap();
        // ctx, pipe, nr_bos, frame_size, bos, frame, flags, out_sync, in_sync
        let argument = words(&[7, 1, 2, 8, 0x1000, 0, 0x2000, 0, 0, 5, 6, 0]);
        let mut program = |address, len| match (address, len) {
            (0x1000, 16) => Some(words(&[11, 1, 12, 2])),
            (0x2000, 8) => Some(words(&[0xaa, 0xbb])),
            _ => None,
        };
        let call = table.decode(3, &argument, &mut program).unwrap();
        assert_eq!(call.ioctl.name, "GEM_SUBMIT");
        assert_eq!(call.value("in_sync").unwrap().numbers, [6, 0]);
        let Memory::Structs(bos) = &call.value("bos").unwrap().memory else {
            panic!("{call:?}")
        };
        let handles: Vec<_> = bos.iter().map(|it| it[0].numbers[0]).collect();
        assert_eq!(handles, [11, 12]);
        assert_eq!(bos[1][1].name, "bos[1].flags");
        let frame = Memory::Bytes(words(&[0xaa, 0xbb]));
        assert_eq!(call.value("frame").unwrap().memory, frame);
    }

    #[test]
    fn inner_structures_and_signed_numbers_have_their_values() {
        let table = crate::table("virtio_gpu").unwrap();
        let argument = words(&[3, 10, 11, 12, 13, 14, 15, 0, 64, 0, 0]);
        let call = table.decode(7, &argument, &mut none).unwrap();
        assert_eq!(call.value("box.w").unwrap().numbers, [13]);
        assert_eq!(call.value("offset").unwrap().numbers, [64]);
        let mut argument = words(&[0, 0, 0, 0, 0, 0, 0, u32::MAX, 0, 0]);
        let call = table.decode(2, &argument, &mut none).unwrap();
        assert_eq!(call.value("fence_fd").unwrap().numbers, [u64::MAX]);
        argument[0] = 8;
        let refused = table.decode(2, &argument, &mut none).unwrap_err();
        let sentence = "flags is 0x8: the driver knows 0x7";
        assert_eq!(refused.to_string(), sentence);
    }

    #[test]
    fn what_is_not_the_programs_is_refused() {
        let table = crate::table("panfrost").unwrap();
        let submit = |buffers: u32| words(&[0, 1, 0, 0, 0, 0, 0x5000, 0, buffers, 0]);
        let refused = table.decode(0, &submit(2), &mut none).unwrap_err();
        let sentence = "bo_handles points to 8 bytes at 0x5000, which the program has not";
        assert_eq!(refused.to_string(), sentence);
        let refused = table.decode(0, &submit(u32::MAX), &mut none).unwrap_err();
        assert!(matches!(refused, DecodeError::Long { .. }), "{refused}");
        let refused = table.decode(0x5f, &[], &mut none).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "panfrost has no ioctl of the number 0x5f"
        );
        let call = table.decode(0, &submit(0)[..16], &mut none).unwrap();
        assert_eq!(call.value("jc").unwrap().numbers, [1 << 32]);
    }

    proptest! {
        /// Whatever a program gives, a call has a meaning or is refused.
        #[test]
        fn no_argument_panics(
            number in 0..0x20_u32,
            argument in prop::collection::vec(any::<u8>(), 0..100),
            given in 0..40_usize,
        ) {
            for name in crate::names() {
                let table = crate::table(name).unwrap();
                let mut program = |_, len: usize| Some(vec![0; len.min(given)]);
                let _ = table.decode(number, &argument, &mut program);
            }
        }
    }
}
