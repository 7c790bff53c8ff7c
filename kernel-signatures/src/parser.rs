//! The declarations of a file (C99, 6.7 and 6.9), as far as kernels need them:
//! types are followed, function bodies and initialisers skipped. Unknown syntax is
//! skipped too, and its kernels stay unknown.

use super::declaration::Declared;
use super::expression;
use super::layout::{Layout, Type};
use super::token::{Kind, Token};
use super::{Argument, Signatures};
use std::collections::HashMap;
use std::rc::Rc;

/// Deepest nesting of structures and declarators.
pub const MAX_DEPTH: u32 = 64;

/// A file that is being parsed.
pub struct Parser {
    pub(super) tokens: Vec<Token>,
    /// Where the group that a token opens is closed; 0 where none is.
    ends: Vec<u32>,
    pub(super) at: usize,
    pub(super) depth: u32,
    pub(super) address_bits: u32,
    pub(super) typedefs: HashMap<Rc<str>, Type>,
    /// Structures, unions and enumerations by their tags.
    pub(super) tags: HashMap<Rc<str>, Option<Layout>>,
    pub(super) enumerators: HashMap<Rc<str>, i128>,
    /// What `#pragma pack` says, and said before.
    pub(super) pack: Option<u64>,
    packs: Vec<Option<u64>>,
    kernels: Signatures,
}

impl Parser {
    /// Parses these tokens for a device with addresses of so many bits.
    pub fn new(tokens: Vec<Token>, address_bits: u32) -> Self {
        Self {
            ends: ends(&tokens),
            tokens,
            at: 0,
            depth: 0,
            address_bits,
            typedefs: HashMap::new(),
            tags: HashMap::new(),
            enumerators: HashMap::new(),
            pack: None,
            packs: Vec::new(),
            kernels: Signatures::new(),
        }
    }

    /// The kernels of the file.
    pub fn run(mut self) -> Signatures {
        while let Some(token) = self.peek() {
            if token.kind == Kind::Pragma {
                self.pragma();
            } else if !self.accept(";") && self.declaration().is_none() {
                self.recover();
            }
        }
        self.kernels
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    /// The token behind the next.
    pub(super) fn peek_behind(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1)
    }

    pub(super) fn is(&self, mark: &str) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    pub(super) fn accept(&mut self, mark: &str) -> bool {
        let is_it = self.is(mark);
        self.at += usize::from(is_it);
        is_it
    }

    /// `None` unless this punctuator is next.
    pub(super) fn expect(&mut self, mark: &str) -> Option<()> {
        self.accept(mark).then_some(())
    }

    /// The next token, if it is a name.
    pub(super) fn name(&mut self) -> Option<Rc<str>> {
        let token = self.peek().filter(|token| token.kind == Kind::Name)?;
        let name = token.text.clone();
        self.at += 1;
        Some(name)
    }

    /// One level deeper; `None` where that is too deep.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = f(self);
        self.depth -= 1;
        value
    }

    /// Skips a group that begins here, to behind its closing parenthesis,
    /// bracket or brace; returns what is within.
    pub(super) fn group(&mut self) -> Option<std::ops::Range<usize>> {
        let begin = self.at + 1;
        let end = *self.ends.get(self.at)? as usize;
        self.at = (end >= begin).then_some(end + 1)?;
        Some(begin..end)
    }

    /// To behind the end of a declaration that is not understood.
    fn recover(&mut self) {
        while let Some(token) = self.peek() {
            let (ends, opens) = (token.is(";"), token.is("{"));
            let begins_group = opens || token.is("(") || token.is("[");
            let before = self.at;
            if !begins_group || self.group().is_none() {
                self.at = before + 1;
            }
            let goes_on = self.is(";") || self.is(",") || self.is("=");
            if ends || (opens && !goes_on) {
                return;
            }
        }
    }

    /// A declaration or definition.
    fn declaration(&mut self) -> Option<()> {
        let specifiers = self.specifiers()?;
        if self.accept(";") {
            return Some(());
        }
        loop {
            let declared = self.declarator(specifiers.base.clone(), specifiers.is_kernel)?;
            if specifiers.is_typedef {
                let Declared { name, mut ty, .. } = declared;
                let name = name?;
                ty.name = match ty.shape {
                    super::layout::Shape::Other => ty.name,
                    _ => name.clone(),
                };
                self.typedefs.insert(name, ty);
            } else if specifiers.is_kernel {
                self.kernel(declared)?;
            }
            if self.is("{") {
                return self.group().map(drop);
            }
            if self.accept("=") {
                self.initialiser();
            }
            if !self.accept(",") {
                return self.expect(";");
            }
        }
    }

    fn kernel(&mut self, declared: Declared) -> Option<()> {
        let name = declared.name?;
        let arguments = declared.parameters?;
        let arguments = arguments.into_iter().map(Argument::of);
        self.kernels.insert(name.to_string(), arguments.collect());
        Some(())
    }

    /// To the comma or semicolon behind an initialiser.
    fn initialiser(&mut self) {
        while let Some(token) = self.peek() {
            if token.is(",") || token.is(";") {
                return;
            }
            let before = self.at;
            if !(token.is("{") || token.is("(") || token.is("[")) || self.group().is_none() {
                self.at = before + 1;
            }
        }
    }

    /// `#pragma pack`: `(n)`, `()`, `(push)`, `(push,n)`, `(pop)`.
    pub(super) fn pragma(&mut self) {
        let text = self.tokens[self.at].text.clone();
        self.at += 1;
        let inner = text.trim_matches(['(', ')']);
        for word in inner.split(',') {
            match (word, word.parse()) {
                ("push", _) if self.packs.len() < 256 => self.packs.push(self.pack),
                ("pop", _) => self.pack = self.packs.pop().flatten(),
                ("", _) => self.pack = None,
                (_, Ok(bytes)) => self.pack = Some(bytes).filter(|n: &u64| n.is_power_of_two()),
                _ => {}
            }
        }
    }

    /// The value of the expression in a range of tokens.
    pub(super) fn constant(&mut self, range: std::ops::Range<usize>) -> Option<i128> {
        let tokens = self.without_sizeof(range)?;
        let names = |name: &str| self.enumerators.get(name).copied();
        expression::value(&tokens, &names)
    }

    /// The tokens, with sizes for `sizeof(type)`.
    fn without_sizeof(&mut self, range: std::ops::Range<usize>) -> Option<Vec<Token>> {
        let mut out = Vec::new();
        let after = self.at;
        self.at = range.start;
        while self.at < range.end {
            let token = self.tokens[self.at].clone();
            self.at += 1;
            if !token.is_name("sizeof") {
                out.push(token);
                continue;
            }
            let size = self.nested(Self::size_of);
            let Some(size) = size else {
                self.at = after;
                return None;
            };
            out.push(Token::new(Kind::Number, &size.to_string()));
        }
        self.at = after;
        Some(out)
    }

    fn size_of(&mut self) -> Option<u64> {
        self.expect("(")?;
        let specifiers = self.specifiers()?;
        let declared = self.declarator(specifiers.base, false)?;
        self.expect(")")?;
        declared.ty.layout.map(|layout| layout.size)
    }
}

/// For each token that opens a group: where that is closed.
fn ends(tokens: &[Token]) -> Vec<u32> {
    let mut ends = vec![0; tokens.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    let marks = tokens.iter().enumerate();
    for (at, token) in marks.filter(|(_, token)| token.kind == Kind::Mark) {
        match &*token.text {
            "(" => open.push((at, ")")),
            "[" => open.push((at, "]")),
            "{" => open.push((at, "}")),
            close @ (")" | "]" | "}") => {
                // What closes nothing, or something else, closes none around.
                match open.pop() {
                    Some((begin, wanted)) if wanted == close => ends[begin] = at as u32,
                    _ => open.clear(),
                }
            }
            _ => {}
        }
    }
    ends
}
