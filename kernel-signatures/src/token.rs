//! The first phases of translation: lines are joined, comments go, what is
//! left is cut into preprocessing tokens (C99, 5.1.1.2 and 6.4).

use super::SignatureError;
use std::rc::Rc;

/// Most tokens of one text. A source of this size takes seconds to compile.
pub const MAX_TOKENS: usize = 1 << 20;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or keyword.
    Name,
    /// A preprocessing number.
    Number,
    /// A string or a character constant, with its quotes.
    Text,
    /// A punctuator, or any other character.
    Mark,
    /// The end of a line.
    Newline,
    /// A pragma that the parser knows; its text is the pragma's.
    Pragma,
}

/// A preprocessing token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Its characters.
    pub text: Rc<str>,
    /// Whether white space stands before it.
    pub spaced: bool,
    /// A macro's name within its own expansion, which is not expanded again.
    pub frozen: bool,
}

impl Token {
    /// A token of these characters.
    pub fn new(kind: Kind, text: &str) -> Self {
        Self {
            kind,
            text: text.into(),
            spaced: false,
            frozen: false,
        }
    }

    /// Whether it is this punctuator.
    pub fn is(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && &*self.text == mark
    }

    /// Whether it is this name.
    pub fn is_name(&self, name: &str) -> bool {
        self.kind == Kind::Name && &*self.text == name
    }
}

/// Longest first.
const MARKS: [&str; 27] = [
    "<<=", ">>=", "...", "%:%:", "##", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&",
    "||", "*=", "/=", "%=", "+=", "-=", "&=", "^=", "|=", "<:", ":>", "::",
];

/// Other spellings of some punctuators.
fn usual(mark: &str) -> &str {
    match mark {
        "%:%:" => "##",
        "<:" => "[",
        ":>" => "]",
        other => other,
    }
}

/// Joins lines that end with a backslash.
fn join(source: &str) -> String {
    let source = source.replace("\r\n", "\n");
    let mut joined = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let (text, has_end) = match line.strip_suffix('\n') {
            Some(text) => (text, true),
            None => (line, false),
        };
        match text.trim_end_matches([' ', '\t']).strip_suffix('\\') {
            Some(begun) if has_end => joined.push_str(begun),
            _ => joined.push_str(line),
        }
    }
    joined
}

struct Lexer<'a> {
    rest: &'a str,
    tokens: Vec<Token>,
    spaced: bool,
}

/// The tokens of a text.
///
/// # Errors
/// [`SignatureError::TooLong`].
pub fn tokens(source: &str) -> Result<Vec<Token>, SignatureError> {
    let joined = join(source);
    let mut lexer = Lexer {
        rest: &joined,
        tokens: Vec::new(),
        spaced: false,
    };
    while lexer.step() {
        if lexer.tokens.len() > MAX_TOKENS {
            return Err(SignatureError::TooLong);
        }
    }
    Ok(lexer.tokens)
}

impl Lexer<'_> {
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        match first {
            '\n' => self.take(Kind::Newline, 1),
            _ if first.is_whitespace() || first == '\0' => self.skip(first.len_utf8()),
            _ if self.rest.starts_with("//") => self.skip(self.line()),
            _ if self.rest.starts_with("/*") => self.skip(self.comment()),
            _ if is_first(first) => self.take(Kind::Name, self.while_in(is_rest)),
            '"' | '\'' => self.take(Kind::Text, self.quoted(first)),
            _ if self.is_number() => self.take(Kind::Number, self.number()),
            _ => self.take(Kind::Mark, self.mark(first)),
        }
        true
    }

    fn take(&mut self, kind: Kind, len: usize) {
        let (text, rest) = self.rest.split_at(len);
        self.tokens.push(Token {
            kind,
            text: usual(text).into(),
            spaced: self.spaced,
            frozen: false,
        });
        self.rest = rest;
        self.spaced = kind == Kind::Newline;
    }

    fn skip(&mut self, len: usize) {
        self.rest = &self.rest[len..];
        self.spaced = true;
    }

    fn line(&self) -> usize {
        self.rest.find('\n').unwrap_or(self.rest.len())
    }

    fn comment(&self) -> usize {
        let end = self.rest[2..].find("*/").map(|at| at + 4);
        end.unwrap_or(self.rest.len())
    }

    fn while_in(&self, is_in: fn(char) -> bool) -> usize {
        let end = self.rest.find(|c| !is_in(c));
        end.unwrap_or(self.rest.len())
    }

    /// To the closing quote, or the end of the line.
    fn quoted(&self, quote: char) -> usize {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => return at,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                _ if c == quote => return at + 1,
                _ => {}
            }
        }
        self.rest.len()
    }

    fn is_number(&self) -> bool {
        let digits = self.rest.strip_prefix('.').unwrap_or(self.rest);
        digits.starts_with(|c: char| c.is_ascii_digit())
    }

    fn number(&self) -> usize {
        let mut before = ' ';
        for (at, c) in self.rest.char_indices() {
            let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E' | 'p' | 'P');
            if !is_rest(c) && c != '.' && !is_sign {
                return at;
            }
            before = c;
        }
        self.rest.len()
    }

    fn mark(&self, first: char) -> usize {
        let mark = MARKS.iter().find(|mark| self.rest.starts_with(**mark));
        mark.map_or(first.len_utf8(), |mark| mark.len())
    }
}

fn is_first(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

fn is_rest(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(source: &str) -> Vec<String> {
        let all = tokens(source).unwrap();
        all.iter().map(|token| token.text.to_string()).collect()
    }

    #[test]
    fn comments_and_joined_lines_vanish() {
        let source = "a/* x\n*/b // c\\\nd\nke\\\nrnel \"/*\" '\\'' 1.e+5f";
        let expected = ["a", "b", "\n", "kernel", "\"/*\"", "'\\''", "1.e+5f"];
        assert_eq!(texts(source), expected);
        assert_eq!(texts("a <<= b##c"), ["a", "<<=", "b", "##", "c"]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_into_its_own_characters(source in "\\PC{0,200}") {
            let kept: String = texts(&source).concat();
            prop_assert!(kept.len() <= source.len());
        }

        #[test]
        fn c_like_text_never_panics(source in "[a-z0-9 \n\\\\\"'/*#.+e<>:%]{0,200}") {
            tokens(&source).unwrap();
        }
    }
}
