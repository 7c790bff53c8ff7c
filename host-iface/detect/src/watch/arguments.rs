//! A function's arguments at its entry, by the calling conventions of AArch64
//! (AAPCS64: `x0` to `x7`, then the stack) and AArch32 (AAPCS: `r0` to `r3`,
//! then the stack).

use super::Guest;
use crate::btf::{Kind, Parameter};
use gil_uapi::VirtualAddress;
use std::borrow::Cow;
use std::fmt;

/// Registers given of a function whose prototype is not known.
const UNKNOWN: u8 = 4;
/// Arguments given of a function.
const MOST: usize = 32;
/// Bytes given of a text.
const TEXT: usize = 64;

/// A calling convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// 64-bit code.
    Aarch64,
    /// 32-bit code.
    Aarch32,
}

impl Convention {
    /// Bytes of a register, and of a place on the stack.
    fn word(self) -> u32 {
        match self {
            Self::Aarch64 => 8,
            Self::Aarch32 => 4,
        }
    }

    /// Registers that hold arguments, and what they are called.
    fn registers(self) -> (u8, char) {
        match self {
            Self::Aarch64 => (8, 'x'),
            Self::Aarch32 => (4, 'r'),
        }
    }
}

/// The arguments of a call. Prints as `name=value` with commas between.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments<'a> {
    /// In the prototype's order; the first registers where there is none.
    pub values: Vec<Argument<'a>>,
    /// How many more the function has.
    pub left_out: usize,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    /// Its name, or its register's where the prototype is not known; empty if
    /// the parameter has none.
    pub name: Cow<'a, str>,
    /// Its type; `None` where the prototype is not known.
    pub kind: Option<Kind>,
    /// `None` if the simulator does not show it.
    pub value: Option<Value>,
}

/// A passed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A signed integer.
    Signed(i128),
    /// An unsigned integer.
    Unsigned(u128),
    /// An address, or a register of unknown meaning.
    Word(u64),
    /// The address of characters.
    Text {
        /// Their address.
        address: VirtualAddress,
        /// What is there, where memory shows it.
        text: Option<Text>,
    },
    /// A structure in registers or on the stack, word by word.
    Words(Vec<Option<u64>>),
    /// The address of a structure that is passed by value.
    CopyAt(VirtualAddress),
}

/// The beginning of a text in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// What was read, without the NUL.
    pub text: String,
    /// Whether the NUL was reached.
    pub is_whole: bool,
}

/// The place of the next argument.
struct Next<'a> {
    guest: &'a dyn Guest,
    convention: Convention,
    word: u32,
    registers: u8,
    register: u8,
    stack: u64,
}

/// The arguments of a function at whose entry the guest is.
pub fn read<'a>(
    parameters: Option<&'a [Parameter]>,
    convention: Convention,
    guest: &dyn Guest,
) -> Arguments<'a> {
    let (registers, letter) = convention.registers();
    let Some(parameters) = parameters else {
        let register = |number| Argument {
            name: format!("{letter}{number}").into(),
            kind: None,
            value: guest.register(number, convention).map(Value::Word),
        };
        let values = (0..UNKNOWN).map(register).collect();
        return Arguments {
            values,
            left_out: 0,
        };
    };
    let mut next = Next {
        guest,
        convention,
        word: convention.word(),
        registers,
        register: 0,
        stack: 0,
    };
    let given = parameters.iter().take(MOST);
    let argument = |parameter: &'a Parameter| Argument {
        name: (&*parameter.name).into(),
        kind: Some(parameter.kind),
        value: next.value(parameter.kind),
    };
    Arguments {
        values: given.map(argument).collect(),
        left_out: parameters.len().saturating_sub(MOST),
    }
}

impl Next<'_> {
    fn value(&mut self, kind: Kind) -> Option<Value> {
        match kind {
            Kind::Integer { size, signed } => self.integer(size, signed),
            Kind::Pointer => self.take().map(Value::Word),
            Kind::Text => self.text(),
            Kind::Composite { size } => self.composite(size),
            // In another register.
            Kind::Float => None,
        }
    }

    /// The next register or place on the stack.
    fn take(&mut self) -> Option<u64> {
        if self.register < self.registers {
            let value = self.guest.register(self.register, self.convention);
            self.register += 1;
            return value;
        }
        let address = self.guest.stack(self.convention)?.checked_add(self.stack)?;
        self.stack += u64::from(self.word);
        let mut bytes = [0; 8];
        let read = self.guest.read(address, &mut bytes[..self.word as usize]);
        read.then(|| u64::from_le_bytes(bytes))
    }

    /// What takes two words begins at an even one.
    fn align(&mut self) {
        if self.register < self.registers {
            self.register = self.register.next_multiple_of(2);
        } else {
            self.stack = self.stack.next_multiple_of(2 * u64::from(self.word));
        }
    }

    fn integer(&mut self, size: u32, signed: bool) -> Option<Value> {
        if size > self.word {
            self.align();
        }
        // Each place is taken, whether it can be read or not.
        let words: Vec<_> = (0..size.div_ceil(self.word).max(1))
            .map(|_| self.take())
            .collect();
        let words = words.into_iter().collect::<Option<Vec<u64>>>()?;
        let shift = 8 * self.word;
        let value = words
            .iter()
            .rev()
            .fold(0_u128, |value, &word| value << shift | u128::from(word));
        let unused = 128 - 8 * size.clamp(1, 16);
        let value = value << unused;
        Some(match signed {
            true => Value::Signed(value as i128 >> unused),
            false => Value::Unsigned(value >> unused),
        })
    }

    /// Small ones travel in words, others by address (AArch64).
    fn composite(&mut self, size: u32) -> Option<Value> {
        let words = size.div_ceil(self.word).max(1);
        if self.word == 8 && words > 2 {
            return self.take().map(VirtualAddress).map(Value::CopyAt);
        }
        // All in registers or all on the stack.
        if self.word == 8 && self.register + words as u8 > self.registers {
            self.register = self.registers;
        }
        let words = (0..words.min(16)).map(|_| self.take());
        Some(Value::Words(words.collect()))
    }

    fn text(&mut self) -> Option<Value> {
        let address = VirtualAddress(self.take()?);
        let text = read_text(self.guest, address);
        Some(Value::Text { address, text })
    }
}

/// A text in memory, cut; as far as the page goes, since the next may not be
/// there.
fn read_text(guest: &dyn Guest, address: VirtualAddress) -> Option<Text> {
    let rest = 4096 - (address.0 % 4096) as usize;
    let mut bytes = vec![0; rest.min(TEXT)];
    let is_there = address.0 != 0 && guest.read(address, &mut bytes);
    is_there.then_some(())?;
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = &bytes[..end.unwrap_or(bytes.len())];
    Some(Text {
        text: String::from_utf8_lossy(text).into_owned(),
        is_whole: end.is_some(),
    })
}

impl fmt::Display for Arguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, argument) in self.values.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            argument.fmt(f)?;
        }
        f.write_str(if self.left_out == 0 { "" } else { ", …" })
    }
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{}=", self.name)?;
        }
        match (&self.value, self.kind) {
            (Some(value), _) => value.fmt(f),
            (None, Some(Kind::Float)) => f.write_str("(in a floating-point register)"),
            // Those in words have a value.
            (None, Some(Kind::Composite { .. })) => f.write_str("at ?"),
            (None, _) => f.write_str("?"),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed(value) => value.fmt(f),
            Self::Unsigned(value @ 0..=9) => value.fmt(f),
            Self::Unsigned(value) => write!(f, "{value:#x}"),
            Self::Word(word) => write!(f, "{word:#x}"),
            Self::Text { address, text } => {
                address.fmt(f)?;
                text.iter().try_for_each(|text| write!(f, " {text}"))
            }
            Self::Words(words) => {
                let hex = |word: &Option<u64>| match word {
                    Some(word) => format!("{word:#x}"),
                    None => "?".into(),
                };
                let words: Vec<_> = words.iter().map(hex).collect();
                write!(f, "{{{}}}", words.join(", "))
            }
            Self::CopyAt(address) => write!(f, "at {address}"),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = if self.is_whole { "" } else { "…" };
        write!(f, "{:?}", format!("{}{rest}", self.text))
    }
}
