//! The signatures of kernels in a SPIR-V module (SPIR-V specification, 2 and 3).
//! Only what describes types, names and entry points is read.

use super::declaration::Declared;
use super::layout::{Access, Record, Shape, Space, Type, scalar, vector};
use super::{Argument, Signatures};
use spirv::{AccessQualifier, Decoration, ExecutionModel, FunctionParameterAttribute, Op};
use spirv::{AddressingModel, StorageClass};
use std::collections::{HashMap, HashSet};

/// Words in front of the first instruction.
const HEADER: usize = 5;

/// A module that is being read.
struct Module {
    address_bits: u32,
    types: HashMap<u32, Type>,
    constants: HashMap<u32, u64>,
    names: HashMap<u32, String>,
    packed: HashSet<u32>,
    by_value: HashSet<u32>,
    /// The kernels' names by their functions.
    entries: HashMap<u32, Vec<String>>,
    /// The kernel whose parameters follow.
    current: Vec<String>,
    kernels: Signatures,
}

/// Whether the bytes are a SPIR-V module.
pub fn is_module(bytes: &[u8]) -> bool {
    words(bytes).is_some()
}

/// The kernels of a module; as far as it goes, if it is none.
pub fn signatures(bytes: &[u8]) -> Signatures {
    let mut module = Module {
        address_bits: 64,
        types: HashMap::new(),
        constants: HashMap::new(),
        names: HashMap::new(),
        packed: HashSet::new(),
        by_value: HashSet::new(),
        entries: HashMap::new(),
        current: Vec::new(),
        kernels: Signatures::new(),
    };
    let words = words(bytes).unwrap_or_default();
    let mut rest = words.get(HEADER..).unwrap_or_default();
    while let Some((first, _)) = rest.split_first() {
        let Some((instruction, after)) = rest.split_at_checked((first >> 16) as usize) else {
            break;
        };
        let Some((first, operands)) = instruction.split_first() else {
            break;
        };
        if let Some(op) = Op::from_u32(first & 0xffff) {
            // What is cut short says nothing.
            let _ = module.instruction(op, operands);
        }
        rest = after;
    }
    module.kernels
}

/// The module's words, in this machine's order.
fn words(bytes: &[u8]) -> Option<Vec<u32>> {
    let (words, _) = bytes.as_chunks::<4>();
    let read = match *words.first()? {
        first if u32::from_le_bytes(first) == spirv::MAGIC_NUMBER => u32::from_le_bytes,
        first if u32::from_be_bytes(first) == spirv::MAGIC_NUMBER => u32::from_be_bytes,
        _ => return None,
    };
    Some(words.iter().map(|word| read(*word)).collect())
}

/// A literal string.
fn string(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Module {
    fn instruction(&mut self, op: Op, operands: &[u32]) -> Option<()> {
        let operand = |index: usize| operands.get(index).copied();
        match op {
            Op::MemoryModel => {
                let is_narrow = operand(0)? == AddressingModel::Physical32 as u32;
                self.address_bits = if is_narrow { 32 } else { 64 };
            }
            Op::EntryPoint if operand(0)? == ExecutionModel::Kernel as u32 => {
                let names = self.entries.entry(operand(1)?).or_default();
                names.push(string(&operands[2..]));
            }
            Op::Name => drop(self.names.insert(operand(0)?, string(&operands[1..]))),
            Op::Decorate => self.decorate(operand(0)?, operand(1)?, operand(2)),
            // The value's high word, if it has one, would be no array's length.
            Op::Constant => drop(self.constants.insert(operand(1)?, operand(2)?.into())),
            Op::Function => {
                let names = self.entries.get(&operand(1)?);
                self.current = names.cloned().unwrap_or_default();
                for name in &self.current {
                    self.kernels.insert(name.clone(), Vec::new());
                }
            }
            Op::FunctionParameter => self.parameter(operand(0)?, operand(1)?),
            Op::FunctionEnd => self.current.clear(),
            _ => {
                let id = operand(0)?;
                let ty = self.ty(op, operands)?;
                self.types.insert(id, ty);
            }
        }
        Some(())
    }

    fn decorate(&mut self, target: u32, decoration: u32, value: Option<u32>) {
        let by_value = FunctionParameterAttribute::ByVal as u32;
        if decoration == Decoration::CPacked as u32 {
            self.packed.insert(target);
        } else if decoration == Decoration::FuncParamAttr as u32 && value == Some(by_value) {
            self.by_value.insert(target);
        }
    }

    fn parameter(&mut self, ty: u32, id: u32) {
        let ty = self.types.get(&ty).cloned();
        let mut ty = ty.unwrap_or(Type::new(Shape::Other, "", None));
        if self.by_value.contains(&id)
            && let Shape::Pointer(to) = ty.shape
        {
            ty = *to;
        }
        let name = self.names.get(&id).map(|name| name.as_str().into());
        let argument = Argument::of(Declared::plain(name, ty));
        for kernel in &self.current {
            if let Some(arguments) = self.kernels.get_mut(kernel) {
                arguments.push(argument.clone());
            }
        }
    }

    /// The type that an instruction declares.
    fn ty(&self, op: Op, operands: &[u32]) -> Option<Type> {
        let operand = |index: usize| operands.get(index).copied();
        let value = |layout| Type::new(Shape::Value, "", layout);
        let known = |index: usize| self.types.get(&operand(index)?);
        let plain = |shape| Some(Type::new(shape, "", None));
        match op {
            Op::TypeInt | Op::TypeFloat => {
                let bytes = operand(1)?.div_ceil(8).next_power_of_two();
                Some(value(Some(scalar(bytes.into()))))
            }
            Op::TypeVector => {
                let count = operand(2)?.into();
                Some(value(known(1)?.layout.and_then(|one| vector(one, count))))
            }
            Op::TypeArray => {
                let count = self.constants.get(&operand(2)?)?;
                Some(value(known(1)?.clone().array(Some((*count).into())).layout))
            }
            Op::TypeStruct => Some(value(self.record(operands).finish(None))),
            Op::TypePointer => self.pointer(operand(1)?, known(2)),
            Op::TypeImage => {
                let mut image = Type::new(Shape::Image, "", None);
                image.access = access(operand(8));
                Some(image)
            }
            Op::TypeSampler => plain(Shape::Sampler),
            Op::TypePipe => plain(Shape::Pipe),
            Op::TypeQueue => plain(Shape::Queue),
            Op::TypeVoid | Op::TypeBool | Op::TypeOpaque | Op::TypeEvent | Op::TypeFunction => {
                plain(Shape::Other)
            }
            _ => None,
        }
    }

    fn record(&self, operands: &[u32]) -> Record {
        let mut record = Record::new(false, None);
        let is_packed = self.packed.contains(&operands[0]);
        for field in &operands[1..] {
            let layout = self.types.get(field).and_then(|ty| ty.layout);
            record.add(layout, is_packed, None);
        }
        record
    }

    fn pointer(&self, storage: u32, to: Option<&Type>) -> Option<Type> {
        let mut to = to.cloned().unwrap_or(Type::new(Shape::Other, "", None));
        to.space = match StorageClass::from_u32(storage)? {
            StorageClass::CrossWorkgroup => Space::Global,
            StorageClass::UniformConstant => Space::Constant,
            StorageClass::Workgroup => Space::Local,
            _ => Space::Private,
        };
        Some(to.pointer(self.address_bits))
    }
}

fn access(qualifier: Option<u32>) -> Access {
    match qualifier.and_then(AccessQualifier::from_u32) {
        Some(AccessQualifier::WriteOnly) => Access::WriteOnly,
        Some(AccessQualifier::ReadWrite) => Access::ReadWrite,
        _ => Access::ReadOnly,
    }
}

#[cfg(test)]
mod tests {
    use super::super::What;
    use super::*;
    use proptest::prelude::*;

    /// A module of these instructions.
    fn module(instructions: &[(Op, &[u32])]) -> Vec<u8> {
        let mut words = vec![spirv::MAGIC_NUMBER, 0x0001_0000, 0, 100, 0];
        for (op, operands) in instructions {
            words.push((operands.len() as u32 + 1) << 16 | *op as u32);
            words.extend(*operands);
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    const K: u32 = u32::from_le_bytes([b'k', 0, 0, 0]);

    fn kernel() -> Vec<u8> {
        let kernel = ExecutionModel::Kernel as u32;
        let by_value = FunctionParameterAttribute::ByVal as u32;
        module(&[
            (Op::MemoryModel, &[AddressingModel::Physical32 as u32, 2]),
            (Op::EntryPoint, &[kernel, 50, K]),
            (Op::Name, &[51, u32::from_le_bytes(*b"out\0")]),
            (
                Op::Decorate,
                &[56, Decoration::FuncParamAttr as u32, by_value],
            ),
            (Op::Decorate, &[8, Decoration::CPacked as u32]),
            (Op::TypeVoid, &[1]),
            (Op::TypeInt, &[2, 32, 0]),
            (Op::TypeInt, &[3, 8, 0]),
            (Op::TypeFloat, &[4, 32]),
            (Op::TypeVector, &[5, 4, 3]),
            (Op::Constant, &[2, 6, 5]),
            (Op::TypeArray, &[7, 3, 6]),
            (Op::TypeStruct, &[8, 3, 2, 7]),
            (Op::TypeStruct, &[9, 3, 5, 8]),
            (
                Op::TypePointer,
                &[10, StorageClass::CrossWorkgroup as u32, 2],
            ),
            (Op::TypePointer, &[11, StorageClass::Workgroup as u32, 2]),
            (Op::TypePointer, &[12, StorageClass::Function as u32, 9]),
            (Op::TypeImage, &[13, 1, 1, 0, 0, 0, 0, 0, 1]),
            (Op::TypeSampler, &[14]),
            (Op::TypeFunction, &[15, 1]),
            (Op::Function, &[1, 40, 0, 15]),
            (Op::FunctionParameter, &[2, 41]),
            (Op::FunctionEnd, &[]),
            (Op::Function, &[1, 50, 0, 15]),
            (Op::FunctionParameter, &[10, 51]),
            (Op::FunctionParameter, &[5, 52]),
            (Op::FunctionParameter, &[11, 53]),
            (Op::FunctionParameter, &[13, 54]),
            (Op::FunctionParameter, &[14, 55]),
            (Op::FunctionParameter, &[12, 56]),
            (Op::FunctionParameter, &[12, 57]),
            (Op::FunctionEnd, &[]),
        ])
    }

    #[test]
    fn a_kernels_parameters_are_read() {
        let all = signatures(&kernel());
        assert_eq!(all.len(), 1);
        let args: Vec<_> = all["k"].iter().map(|arg| (arg.what, arg.size)).collect();
        let expected = [
            (What::Buffer, None),
            (What::Value, Some(16)),
            (What::Local, None),
            (What::Image, None),
            (What::Sampler, None),
            // A byte, at 16 a vector of the room of four, at 32 packed 10.
            (What::Value, Some(48)),
            (What::Unknown, None),
        ];
        assert_eq!(args, expected);
        assert_eq!(all["k"][0].name, "out");
        assert_eq!(all["k"][3].access, Access::WriteOnly);
    }

    #[test]
    fn either_order_of_bytes_is_read() {
        let little = kernel();
        let (words, _) = little.as_chunks::<4>();
        let big = words.iter().flat_map(|[a, b, c, d]| [*d, *c, *b, *a]);
        assert_eq!(signatures(&big.collect::<Vec<u8>>()), signatures(&little));
        assert!(is_module(&little) && !is_module(b"\x7fELF") && !is_module(b""));
    }

    proptest! {
        #[test]
        fn any_words_are_survived(
            instructions in prop::collection::vec((0u32..70, prop::collection::vec(0u32..12, 0..6)), 0..60),
            cut in 0usize..40,
        ) {
            let mut words = vec![spirv::MAGIC_NUMBER, 0, 0, 0, 0];
            for (op, operands) in &instructions {
                words.push((operands.len() as u32 + 1) << 16 | op);
                words.extend(operands);
            }
            let mut bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
            bytes.truncate(bytes.len().saturating_sub(cut));
            signatures(&bytes);
        }

        #[test]
        fn a_changed_module_is_survived(at in 0usize..500, byte: u8) {
            let mut bytes = kernel();
            let at = at % bytes.len();
            bytes[at] = byte;
            signatures(&bytes);
        }
    }
}
