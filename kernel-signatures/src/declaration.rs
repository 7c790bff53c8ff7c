//! Declaration specifiers and declarators (C99, 6.7.2 to 6.7.5; OpenCL C 3.0,
//! 6.7 to 6.13).

use super::layout::{Access, Qualifiers, Shape, Space, Type, builtin, scalar, vector};
use super::parser::Parser;
use super::token::Kind;
use std::rc::Rc;

/// Most parameters of a kernel.
const MAX_LIST: usize = 4096;

/// What stands in front of a declarator.
#[derive(Debug)]
pub struct Specifiers {
    /// The type.
    pub base: Type,
    /// `typedef`.
    pub is_typedef: bool,
    /// `kernel`.
    pub is_kernel: bool,
}

/// A declared name and its type.
#[derive(Debug)]
pub struct Declared {
    /// Its name.
    pub name: Option<Rc<str>>,
    /// Its type.
    pub ty: Type,
    /// A kernel's parameters.
    pub parameters: Option<Vec<Declared>>,
    /// `aligned` and `packed` of its own.
    pub attributes: Attributes,
}

impl Declared {
    /// A parameter of this type.
    pub(super) fn plain(name: Option<Rc<str>>, ty: Type) -> Self {
        Self {
            name,
            ty,
            parameters: None,
            attributes: Attributes::default(),
        }
    }
}

/// Attributes that change a type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes {
    /// `packed`.
    pub is_packed: bool,
    /// `aligned(n)`: bytes.
    pub aligned: Option<u64>,
    /// `ext_vector_type(n)`: elements.
    elements: Option<u64>,
    /// `vector_size(n)`: bytes.
    bytes: Option<u64>,
}

/// Specifiers while they are read.
#[derive(Default)]
struct Words {
    base: Option<Type>,
    numbers: NumberWords,
    is_typedef: bool,
    is_kernel: bool,
    is_pipe: bool,
    space: Option<Space>,
    access: Option<Access>,
    qualifiers: Qualifiers,
    attributes: Attributes,
}

/// The words of C's own types.
#[derive(Default)]
struct NumberWords {
    is_unsigned: bool,
    is_signed: bool,
    longs: u32,
    word: Option<&'static str>,
}

impl NumberWords {
    fn accept(&mut self, word: &str) -> bool {
        match word {
            "unsigned" => self.is_unsigned = true,
            "signed" | "__signed" | "__signed__" => self.is_signed = true,
            "long" => self.longs += 1,
            "int" => self.word = self.word.or(Some("int")),
            "char" => self.word = Some("char"),
            "short" => self.word = Some("short"),
            "float" => self.word = Some("float"),
            "double" => self.word = Some("double"),
            _ => return false,
        }
        true
    }

    fn is_any(&self) -> bool {
        self.is_unsigned || self.is_signed || self.longs > 0 || self.word.is_some()
    }

    fn ty(&self) -> Type {
        let (name, size) = match self.word {
            Some("char") => ("char", 1),
            Some("short") => ("short", 2),
            Some("float") => ("float", 4),
            Some("double") => ("double", 8),
            _ if self.longs > 0 => ("long", 8),
            _ => ("int", 4),
        };
        let name = match self.is_unsigned {
            true => format!("u{name}"),
            false => name.into(),
        };
        Type::new(Shape::Value, &name, Some(scalar(size)))
    }
}

fn space(word: &str) -> Option<Space> {
    Some(match word {
        "global" | "__global" => Space::Global,
        "constant" | "__constant" => Space::Constant,
        "local" | "__local" => Space::Local,
        "private" | "__private" | "generic" | "__generic" => Space::Private,
        _ => return None,
    })
}

fn access(word: &str) -> Option<Access> {
    Some(match word {
        "read_only" | "__read_only" => Access::ReadOnly,
        "write_only" | "__write_only" => Access::WriteOnly,
        "read_write" | "__read_write" => Access::ReadWrite,
        _ => return None,
    })
}

fn qualify(qualifiers: &mut Qualifiers, word: &str) -> bool {
    match word {
        "const" | "__const" | "__const__" => qualifiers.is_const = true,
        "restrict" | "__restrict" | "__restrict__" => qualifiers.is_restrict = true,
        "volatile" | "__volatile" | "__volatile__" => qualifiers.is_volatile = true,
        _ => return false,
    }
    true
}

impl Words {
    /// Whether the word is one of these, which it then notes.
    fn plain(&mut self, word: &str) -> bool {
        match word {
            "typedef" => self.is_typedef = true,
            "kernel" | "__kernel" => self.is_kernel = true,
            "pipe" | "__pipe" => self.is_pipe = true,
            "extern" | "static" | "inline" | "__inline" | "__inline__" | "register"
            | "__extension__" | "_Atomic" => {}
            _ => {
                if let Some(space) = space(word) {
                    self.space = Some(space);
                } else if let Some(access) = access(word) {
                    self.access = Some(access);
                } else {
                    return qualify(&mut self.qualifiers, word) || self.number(word);
                }
            }
        }
        true
    }

    fn number(&mut self, word: &str) -> bool {
        self.base.is_none() && self.numbers.accept(word)
    }

    fn has_type(&self) -> bool {
        self.base.is_some() || self.numbers.is_any()
    }

    fn finish(self) -> Option<Specifiers> {
        let base = match self.numbers.is_any() {
            true => Some(self.numbers.ty()),
            false => self.base,
        };
        let mut base = base?;
        if self.is_pipe {
            base = Type::new(Shape::Pipe, &base.name, None);
        }
        base.qualifiers.is_const |= self.qualifiers.is_const;
        base.qualifiers.is_volatile |= self.qualifiers.is_volatile;
        base.qualifiers.is_restrict |= self.qualifiers.is_restrict;
        base.space = self.space.unwrap_or(base.space);
        base.access = self.access.unwrap_or(base.access);
        self.attributes.change(&mut base);
        Some(Specifiers {
            base,
            is_typedef: self.is_typedef,
            is_kernel: self.is_kernel,
        })
    }
}

impl Attributes {
    fn change(&self, ty: &mut Type) {
        if let (Some(layout), Some(count)) = (ty.layout, self.elements) {
            ty.layout = vector(layout, count);
        }
        if let (Some(_), Some(bytes)) = (ty.layout, self.bytes) {
            ty.layout = Some(scalar(bytes));
        }
        ty.align(self.aligned);
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            is_packed: self.is_packed || other.is_packed,
            aligned: self.aligned.max(other.aligned),
            elements: self.elements.or(other.elements),
            bytes: self.bytes.or(other.bytes),
        }
    }
}

impl Parser {
    /// Declaration specifiers; `None` if no type is among them.
    pub(super) fn specifiers(&mut self) -> Option<Specifiers> {
        let mut words = Words::default();
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Name) {
            let word = token.text.clone();
            if &*word == "__attribute__" || &*word == "__attribute" {
                words.attributes = words.attributes.and(self.attributes()?);
            } else if words.plain(&word) {
                self.at += 1;
            } else if words.has_type() {
                break;
            } else {
                words.base = Some(self.named_type(&word)?);
            }
        }
        words.finish()
    }

    /// A type that is not of C's own words.
    fn named_type(&mut self, word: &str) -> Option<Type> {
        match word {
            "struct" | "union" => self.nested(Self::record),
            "enum" => self.enumeration(),
            _ => {
                let known = self.typedefs.get(word).cloned();
                let ty = known.or_else(|| builtin(word, self.address_bits))?;
                self.at += 1;
                Some(ty)
            }
        }
    }

    /// All attributes that stand here.
    pub(super) fn attributes(&mut self) -> Option<Attributes> {
        let mut all = Attributes::default();
        while self
            .peek()
            .is_some_and(|t| t.is_name("__attribute__") || t.is_name("__attribute"))
        {
            self.at += 1;
            let inner = self.group()?;
            let end = self.at;
            self.at = inner.start;
            while self.at + 1 < inner.end {
                let name = self.name();
                let value = match self.is("(") {
                    // The list's own parentheses are passed.
                    true if name.is_none() => {
                        self.at += 1;
                        continue;
                    }
                    true => self.group(),
                    false => None,
                };
                let Some(name) = name else {
                    self.at += 1;
                    continue;
                };
                all = all.and(self.attribute(&name, value));
            }
            self.at = end;
        }
        Some(all)
    }

    fn attribute(&mut self, name: &str, value: Option<std::ops::Range<usize>>) -> Attributes {
        let has_value = value.is_some();
        let value = value.and_then(|range| self.constant(range));
        let value = value.and_then(|value| u64::try_from(value).ok());
        let mut attributes = Attributes::default();
        match name.trim_matches('_') {
            "packed" => attributes.is_packed = true,
            // Without a value: the largest that the machine has use for.
            "aligned" if !has_value => attributes.aligned = Some(16),
            "aligned" => attributes.aligned = value.filter(|n| n.is_power_of_two()),
            "ext_vector_type" => attributes.elements = value,
            "vector_size" => attributes.bytes = value.filter(|n| n.is_power_of_two()),
            _ => {}
        }
        attributes
    }

    /// A declarator, abstract or not. The parameters of functions are read if
    /// `is_kernel`, and skipped otherwise.
    pub(super) fn declarator(&mut self, base: Type, is_kernel: bool) -> Option<Declared> {
        self.nested(|parser| parser.declarator_within(base, is_kernel))
    }

    fn declarator_within(&mut self, base: Type, is_kernel: bool) -> Option<Declared> {
        let base = self.pointers(base);
        let before = self.attributes()?;
        let inner = match self.is("(") && self.is_declarator() {
            true => {
                let begin = self.at + 1;
                self.group()?;
                Some(begin)
            }
            false => None,
        };
        let name = match inner {
            None => self.name(),
            Some(_) => None,
        };
        let (ty, parameters) = self.suffixes(base, is_kernel)?;
        let attributes = before.and(self.attributes()?);
        let mut declared = Declared {
            name,
            ty,
            parameters,
            attributes,
        };
        if let Some(begin) = inner {
            let end = std::mem::replace(&mut self.at, begin);
            let within = self.declarator(declared.ty, false)?;
            self.expect(")")?;
            self.at = end;
            declared.ty = within.ty;
            declared.name = within.name;
        }
        attributes.change(&mut declared.ty);
        Some(declared)
    }

    /// Whether a parenthesis holds a declarator, and not parameters.
    fn is_declarator(&self) -> bool {
        self.peek_behind().is_some_and(|next| {
            let is_type = self.typedefs.contains_key(&next.text)
                || builtin(&next.text, self.address_bits).is_some();
            next.is("*") || next.is("(") || (next.kind == Kind::Name && !is_type)
        })
    }

    fn pointers(&mut self, mut ty: Type) -> Type {
        loop {
            let word = self.peek().filter(|token| token.kind == Kind::Name);
            let word = word.map(|token| token.text.clone());
            if self.accept("*") {
                ty = ty.pointer(self.address_bits);
            } else if word.is_some_and(|word| qualified(&mut ty, &word)) {
                self.at += 1;
            } else {
                return ty;
            }
        }
    }

    /// Dimensions or parameters.
    fn suffixes(&mut self, base: Type, is_kernel: bool) -> Option<(Type, Option<Vec<Declared>>)> {
        if self.is("(") {
            let parameters = match is_kernel {
                true => Some(self.parameters()?),
                false => {
                    self.group()?;
                    None
                }
            };
            return Some((Type::new(Shape::Function, &base.name, None), parameters));
        }
        let mut dimensions = Vec::new();
        while self.is("[") {
            let range = self.group()?;
            dimensions.push(self.constant(range));
        }
        let array = dimensions.into_iter().rfold(base, Type::array);
        Some((array, None))
    }

    fn parameters(&mut self) -> Option<Vec<Declared>> {
        self.expect("(")?;
        let mut all = Vec::new();
        let is_void = self.peek().is_some_and(|t| t.is_name("void"));
        if is_void && self.peek_behind().is_some_and(|token| token.is(")")) {
            self.at += 1;
        }
        while !self.accept(")") {
            let base = self.specifiers()?.base;
            all.push(self.declarator(base, false)?);
            if !self.accept(",") && !self.is(")") || all.len() > MAX_LIST {
                return None;
            }
        }
        Some(all)
    }
}

/// Whether the word qualifies a type in a declarator, which it then does.
fn qualified(ty: &mut Type, word: &str) -> bool {
    if let Some(space) = space(word) {
        ty.space = space;
    } else if let Some(access) = access(word) {
        ty.access = access;
    } else {
        return qualify(&mut ty.qualifiers, word);
    }
    true
}
