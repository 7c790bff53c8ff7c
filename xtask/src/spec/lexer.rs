//! Words of the small languages in a description: C prototypes, annotations,
//! expressions.

/// A word and where it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// The word, number or sign.
    pub text: &'a str,
    /// Its offset.
    pub at: usize,
}

/// The words of a text, one after the other.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

const TWO: [&str; 4] = ["==", "!=", "<=", ">="];

impl<'a> Lexer<'a> {
    /// Starts at the beginning.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The rest of the text, for messages.
    pub fn rest(&self) -> &'a str {
        self.text[self.at..].trim_start()
    }

    /// The whole text.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// The next word without taking it.
    pub fn peek(&self) -> Option<Token<'a>> {
        self.clone().next()
    }

    /// Takes the next word if it is `text`.
    pub fn eat(&mut self, text: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.text == text);
        if found {
            self.next();
        }
        found
    }

    /// Takes the next word if it is a name.
    pub fn name(&mut self) -> Option<&'a str> {
        let token = self.peek().filter(|token| is_name(token.text))?;
        self.next();
        Some(token.text)
    }
}

/// Whether a word is a C identifier.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let at = self.text.len() - rest.len();
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if TWO.iter().any(|two| rest.starts_with(two)) {
            2
        } else {
            first.len_utf8()
        };
        self.at = at + len;
        Some(Token {
            text: &rest[..len],
            at,
        })
    }
}
