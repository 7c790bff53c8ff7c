//! A function's arguments at its entry, by the calling conventions of AArch64
//! (AAPCS64: `x0` to `x7`, then the stack) and AArch32 (AAPCS: `r0` to `r3`,
//! then the stack).

use super::Guest;
use crate::btf::{Kind, Parameter};
use std::fmt::Write;

/// Registers shown of a function whose prototype is not known.
const UNKNOWN: u8 = 4;
/// Parameters shown of a function.
const MOST: usize = 32;
/// Bytes shown of a text.
const TEXT: usize = 64;

/// How a function is called.
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

/// Where the next argument lies.
struct Next<'a> {
    guest: &'a dyn Guest,
    convention: Convention,
    word: u32,
    registers: u8,
    register: u8,
    stack: u64,
}

/// The arguments, as `name=value` with commas between.
pub fn describe(
    parameters: Option<&[Parameter]>,
    convention: Convention,
    guest: &dyn Guest,
) -> String {
    let (registers, letter) = convention.registers();
    let Some(parameters) = parameters else {
        let value = |number| hex(guest.register(number, convention));
        let one = |number| format!("{letter}{number}={}", value(number));
        return (0..UNKNOWN).map(one).collect::<Vec<_>>().join(", ");
    };
    let mut next = Next {
        guest,
        convention,
        word: convention.word(),
        registers,
        register: 0,
        stack: 0,
    };
    let shown = parameters.iter().take(MOST);
    let mut all: Vec<_> = shown.map(|one| next.show(one)).collect();
    if parameters.len() > MOST {
        all.push("…".into());
    }
    all.join(", ")
}

fn hex(value: Option<u64>) -> String {
    value.map_or_else(|| "?".into(), |value| format!("{value:#x}"))
}

impl Next<'_> {
    fn show(&mut self, parameter: &Parameter) -> String {
        let value = match parameter.kind {
            Kind::Integer { size, signed } => self.integer(size, signed),
            Kind::Pointer => hex(self.take()),
            Kind::Text => self.text(),
            Kind::Composite { size } => self.composite(size),
            Kind::Float => "(in a floating-point register)".into(),
        };
        match &*parameter.name {
            "" => value,
            name => format!("{name}={value}"),
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

    fn integer(&mut self, size: u32, signed: bool) -> String {
        if size > self.word {
            self.align();
        }
        let words: Vec<_> = (0..size.div_ceil(self.word).max(1))
            .map(|_| self.take())
            .collect();
        let Some(words) = words.into_iter().collect::<Option<Vec<u64>>>() else {
            return "?".into();
        };
        let shift = 8 * self.word;
        let value = words
            .iter()
            .rev()
            .fold(0_u128, |value, &word| value << shift | u128::from(word));
        let unused = 128 - 8 * size.clamp(1, 16);
        let value = value << unused;
        let signed_value = value as i128 >> unused;
        match (signed, value >> unused) {
            (true, _) => signed_value.to_string(),
            (false, value @ 0..=9) => value.to_string(),
            (false, value) => format!("{value:#x}"),
        }
    }

    /// Small ones travel in words, others by address (AArch64).
    fn composite(&mut self, size: u32) -> String {
        let words = size.div_ceil(self.word).max(1);
        if self.word == 8 && words > 2 {
            return format!("at {}", hex(self.take()));
        }
        // All in registers or all on the stack.
        if self.word == 8 && self.register + words as u8 > self.registers {
            self.register = self.registers;
        }
        let words: Vec<_> = (0..words.min(16)).map(|_| hex(self.take())).collect();
        format!("{{{}}}", words.join(", "))
    }

    fn text(&mut self) -> String {
        let Some(address) = self.take() else {
            return "?".into();
        };
        let mut out = format!("{address:#x}");
        if let Some(text) = read_text(self.guest, address) {
            // A String takes what is written.
            let _ = write!(out, " {text:?}");
        }
        out
    }
}

/// A text in memory, cut; as far as the page goes, since the next may not be
/// there.
fn read_text(guest: &dyn Guest, address: u64) -> Option<String> {
    let rest = 4096 - (address % 4096) as usize;
    let mut bytes = vec![0; rest.min(TEXT)];
    let is_there = address != 0 && guest.read(address, &mut bytes);
    is_there.then_some(())?;
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned();
    Some(match end {
        Some(_) => text,
        None => text + "…",
    })
}
