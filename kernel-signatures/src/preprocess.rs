//! Directives: which lines of a program count, and what they say once every
//! macro is replaced (C99, 6.10).

use super::SignatureError;
use super::expression::value;
use super::macros::Macros;
use super::token::{Kind, MAX_TOKENS, Token, tokens};

/// Deepest nesting of headers.
const MAX_INCLUDES: u32 = 32;

/// Headers by the names under which programs include them.
pub type Headers<'a> = [(&'a str, &'a str)];

/// A program that is being preprocessed.
pub struct Preprocessor<'a> {
    /// The macros, to define some before.
    pub macros: Macros,
    headers: &'a Headers<'a>,
    out: Vec<Token>,
    /// Tokens of all files that were read, each as often as it was.
    read: usize,
}

/// An `#if` that has yet to end.
struct Conditional {
    /// Whether what stands around it counts.
    outer: bool,
    /// Whether a branch was taken.
    taken: bool,
    /// Whether this branch counts.
    now: bool,
}

impl<'a> Preprocessor<'a> {
    /// Without macros.
    pub fn new(headers: &'a Headers<'a>) -> Self {
        Self {
            macros: Macros::default(),
            headers,
            out: Vec::new(),
            read: 0,
        }
    }

    /// The program's tokens.
    ///
    /// # Errors
    /// [`SignatureError`] if it grows or nests too much.
    pub fn run(mut self, source: &str) -> Result<Vec<Token>, SignatureError> {
        self.file(source, 0)?;
        Ok(self.out)
    }

    fn file(&mut self, source: &str, depth: u32) -> Result<(), SignatureError> {
        if depth > MAX_INCLUDES {
            return Err(SignatureError::TooDeep);
        }
        let mut text = Vec::new();
        let mut conditionals: Vec<Conditional> = Vec::new();
        let all = tokens(source)?;
        self.read += 1 + all.len();
        if self.read > MAX_TOKENS {
            return Err(SignatureError::TooLong);
        }
        for line in all.split(|token| token.kind == Kind::Newline) {
            let counts = conditionals.last().is_none_or(|c| c.now);
            match line {
                [hash, name, rest @ ..] if hash.is("#") => {
                    self.flush(&mut text)?;
                    if !self.conditional(&mut conditionals, &name.text, rest)? && counts {
                        self.directive(&name.text, rest, depth)?;
                    }
                }
                [hash] if hash.is("#") => {}
                _ if counts => text.extend_from_slice(line),
                _ => {}
            }
        }
        self.flush(&mut text)
    }

    /// Expands the text since the last directive.
    fn flush(&mut self, text: &mut Vec<Token>) -> Result<(), SignatureError> {
        let expanded = self.macros.expand(std::mem::take(text))?;
        self.out.extend(expanded);
        match self.out.len() > MAX_TOKENS {
            true => Err(SignatureError::TooLong),
            false => Ok(()),
        }
    }

    /// Whether the directive is one of conditionals, which it then followed.
    fn conditional(
        &mut self,
        conditionals: &mut Vec<Conditional>,
        name: &str,
        rest: &[Token],
    ) -> Result<bool, SignatureError> {
        let counts = conditionals.last().is_none_or(|c| c.now);
        match name {
            "if" | "ifdef" | "ifndef" => {
                let now = counts && self.holds(name, rest)?;
                conditionals.push(Conditional {
                    outer: counts,
                    taken: now,
                    now,
                });
            }
            "elif" | "elifdef" | "elifndef" | "else" => {
                let Some(open) = conditionals.last_mut() else {
                    return Ok(true);
                };
                open.now = open.outer && !open.taken && self.holds(name, rest)?;
                open.taken |= open.now;
            }
            "endif" => drop(conditionals.pop()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn holds(&mut self, name: &str, rest: &[Token]) -> Result<bool, SignatureError> {
        let is_defined = rest
            .first()
            .is_some_and(|t| self.macros.is_defined(&t.text));
        match name {
            "else" => Ok(true),
            "ifdef" | "elifdef" => Ok(is_defined),
            "ifndef" | "elifndef" => Ok(!is_defined),
            _ => {
                let tested = self.tested(rest);
                let expanded = without_features(self.macros.expand(tested)?);
                // A name that is no macro is 0.
                let value = value(&expanded, &|_| Some(0));
                Ok(value.is_some_and(|value| value != 0))
            }
        }
    }

    /// Answers `defined`.
    fn tested(&self, line: &[Token]) -> Vec<Token> {
        let mut out = Vec::new();
        let mut rest = line;
        loop {
            let (name, after) = match rest {
                [word, open, name, close, after @ ..]
                    if word.is_name("defined") && open.is("(") && close.is(")") =>
                {
                    (name, after)
                }
                [word, name, after @ ..] if word.is_name("defined") => (name, after),
                [other, after @ ..] => {
                    out.push(other.clone());
                    rest = after;
                    continue;
                }
                [] => return out,
            };
            let answer = u8::from(self.macros.is_defined(&name.text)).to_string();
            out.push(Token::new(Kind::Number, &answer));
            rest = after;
        }
    }

    fn directive(&mut self, name: &str, rest: &[Token], depth: u32) -> Result<(), SignatureError> {
        match name {
            "define" => self.macros.define(rest),
            "undef" => {
                if let Some(token) = rest.first() {
                    self.macros.undefine(&token.text);
                }
            }
            "include" | "include_next" | "import" => return self.include(rest, depth),
            "pragma" if rest.first().is_some_and(|t| t.is_name("pack")) => {
                let text: Vec<_> = rest[1..].iter().map(|token| &*token.text).collect();
                self.out.push(Token::new(Kind::Pragma, &text.concat()));
            }
            _ => {}
        }
        Ok(())
    }

    /// What is not among the program's headers is the compiler's own, and has
    /// no kernels.
    fn include(&mut self, rest: &[Token], depth: u32) -> Result<(), SignatureError> {
        let spelled = match rest {
            [name, ..] if name.kind == Kind::Text || name.is("<") => rest.to_vec(),
            _ => self.macros.expand(rest.to_vec())?,
        };
        let text: String = spelled.iter().map(|token| &*token.text).collect();
        let name = text.trim_matches(['"', '<', '>']);
        let found = self.headers.iter().find(|(known, _)| *known == name);
        match found {
            Some((_, source)) => self.file(source, depth + 1),
            None => Ok(()),
        }
    }
}

/// `__has_extension(x)` and its kind: what is not known is not there.
fn without_features(line: Vec<Token>) -> Vec<Token> {
    let mut out = Vec::new();
    let mut rest = &line[..];
    while let [first, after @ ..] = rest {
        rest = after;
        let asks = first.kind == Kind::Name && first.text.starts_with("__has_");
        let close = after.iter().position(|token| token.is(")"));
        match close {
            Some(close) if asks => {
                out.push(Token::new(Kind::Number, "0"));
                rest = &after[close + 1..];
            }
            _ => out.push(first.clone()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(source: &str, headers: &Headers<'_>) -> String {
        let mut preprocessor = Preprocessor::new(headers);
        preprocessor.macros.define_as("ONE", "1").unwrap();
        let out = preprocessor.run(source).unwrap();
        let texts: Vec<_> = out.iter().map(|token| &*token.text).collect();
        texts.join(" ")
    }

    #[test]
    fn one_branch_counts() {
        let source = "#if ONE == 2\na\n#elif defined(ONE) && !defined TWO\nb\n#if 0\nx\n#else\nc\n#endif\n#elif 1\nd\n#else\ne\n#endif\nf";
        assert_eq!(of(source, &[]), "b c f");
        let skipped = "#ifdef NO\n#if 1\na\n#else\nb\n#endif\n#define ONE 3\n#else\nONE\n#endif";
        assert_eq!(of(skipped, &[]), "1");
        assert_eq!(of("#if __has_extension(x) || ONE\na\n#endif", &[]), "a");
    }

    #[test]
    fn a_call_may_go_over_lines_and_headers_are_found() {
        assert_eq!(
            of("#define f(a,b) b a\nf(1,\n2)\n#undef f\nf(1)", &[]),
            "2 1 f ( 1 )"
        );
        let headers = [("a.h", "#include \"b.h\"\nA"), ("b.h", "#define A 5")];
        assert_eq!(
            of(
                "#define H <a.h>\n#include H\n#include \"none.h\"\nA",
                &headers
            ),
            "5 5"
        );
    }

    #[test]
    fn headers_that_include_themselves_end() {
        let headers = [("a", "#include <a>")];
        let run = Preprocessor::new(&headers).run("#include <a>");
        assert_eq!(run.err(), Some(SignatureError::TooDeep));
        let names: Vec<String> = (0..31).map(|n| format!("h{n}")).collect();
        let twice: Vec<String> = (1..32)
            .map(|n| format!("#include <h{n}>\n").repeat(2))
            .collect();
        let headers: Vec<(&str, &str)> = names
            .iter()
            .map(|n| &n[..])
            .zip(twice.iter().map(|t| &t[..]))
            .collect();
        let run = Preprocessor::new(&headers).run("#include <h0>");
        assert_eq!(run.err(), Some(SignatureError::TooLong));
    }

    proptest! {
        #[test]
        fn any_directives_are_survived(source in "((#(if|ifdef|else|elif|endif|define|undef|include|pragma) ?)?[a-c0-9()<\" ]{0,9}\n){0,20}") {
            let _ = Preprocessor::new(&[]).run(&source);
        }
    }
}
