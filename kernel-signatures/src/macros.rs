//! Macros and their expansion (C99, 6.10.3).

use super::SignatureError;
use super::token::{Kind, MAX_TOKENS, Token, tokens};
use std::collections::HashMap;
use std::rc::Rc;

/// Deepest nesting of macro arguments.
const MAX_DEPTH: u32 = 64;
/// Most macros that are within each other's expansions.
const MAX_ACTIVE: usize = 256;
/// Most parameters of a macro; C asks for 127.
const MAX_PARAMETERS: usize = 256;
/// Longest token that is made, in bytes.
const MAX_TEXT: usize = 1 << 14;
const VARIADIC: &str = "__VA_ARGS__";

/// A macro.
#[derive(Debug)]
pub struct Macro {
    /// Its parameters, if it is like a function.
    pub parameters: Option<Vec<Rc<str>>>,
    /// Whether the last parameter takes all that is left.
    pub is_variadic: bool,
    /// Its replacement.
    pub body: Vec<Token>,
}

/// The macros that are defined.
#[derive(Debug, Default)]
pub struct Macros {
    defined: HashMap<Rc<str>, Rc<Macro>>,
    /// Tokens that all expansions made together.
    made: usize,
}

/// What is to be scanned: the last is the next.
enum Item {
    Token(Token),
    /// A macro's expansion ends here.
    End(Rc<str>),
}

impl Macros {
    /// Defines a macro like an object, from text.
    ///
    /// # Errors
    /// [`SignatureError::TooLong`].
    pub fn define_as(&mut self, name: &str, body: &str) -> Result<(), SignatureError> {
        let line = format!("{name} {body}");
        self.define(&tokens(&line)?);
        Ok(())
    }

    /// Defines what stands behind `#define`; what is none is left.
    pub fn define(&mut self, line: &[Token]) {
        let Some((name, rest)) = line.split_first() else {
            return;
        };
        let is_function = rest.first().is_some_and(|t| t.is("(") && !t.spaced);
        let made = match is_function {
            true => function_like(&rest[1..]),
            false => Some(Macro {
                parameters: None,
                is_variadic: false,
                body: rest.to_vec(),
            }),
        };
        if let (Kind::Name, Some(made)) = (name.kind, made) {
            self.defined.insert(name.text.clone(), Rc::new(made));
        }
    }

    /// Forgets a macro.
    pub fn undefine(&mut self, name: &str) {
        self.defined.remove(name);
    }

    /// Whether there is a macro of this name.
    pub fn is_defined(&self, name: &str) -> bool {
        self.defined.contains_key(name)
    }

    /// Replaces every macro in a text.
    ///
    /// # Errors
    /// [`SignatureError`] if it grows or nests too much.
    pub fn expand(&mut self, text: Vec<Token>) -> Result<Vec<Token>, SignatureError> {
        self.expand_within(text, &[], 0)
    }

    fn expand_within(
        &mut self,
        text: Vec<Token>,
        active: &[Rc<str>],
        depth: u32,
    ) -> Result<Vec<Token>, SignatureError> {
        if depth > MAX_DEPTH {
            return Err(SignatureError::TooDeep);
        }
        self.charge(active.len())?;
        let mut scan = Scan {
            items: text.into_iter().rev().map(Item::Token).collect(),
            active: active.to_vec(),
            out: Vec::new(),
        };
        while let Some(token) = scan.next() {
            self.token(&mut scan, token, depth)?;
        }
        Ok(scan.out)
    }

    fn token(
        &mut self,
        scan: &mut Scan,
        mut token: Token,
        depth: u32,
    ) -> Result<(), SignatureError> {
        let found = match token.kind == Kind::Name && !token.frozen {
            true => self.defined.get(&token.text).cloned(),
            false => None,
        };
        let Some(found) = found else {
            scan.out.push(token);
            return Ok(());
        };
        if scan.active.contains(&token.text) {
            token.frozen = true;
            scan.out.push(token);
            return Ok(());
        }
        let Some(parameters) = &found.parameters else {
            let body = self.substitute(&found, &[], &scan.active, depth)?;
            return self.replace(scan, token, body);
        };
        let Some(given) = scan.arguments()? else {
            scan.out.push(token);
            return Ok(());
        };
        self.charge(given.iter().map(Vec::len).sum())?;
        let given = matched(given, parameters.len(), found.is_variadic);
        let body = self.substitute(&found, &given, &scan.active, depth)?;
        self.replace(scan, token, body)
    }

    /// Puts a macro's expansion in front of what is to be scanned.
    fn replace(
        &mut self,
        scan: &mut Scan,
        name: Token,
        body: Vec<Token>,
    ) -> Result<(), SignatureError> {
        self.charge(body.len() + 1)?;
        if scan.active.len() >= MAX_ACTIVE {
            return Err(SignatureError::TooDeep);
        }
        scan.active.push(name.text.clone());
        scan.items.push(Item::End(name.text));
        scan.items.extend(body.into_iter().rev().map(Item::Token));
        Ok(())
    }

    fn charge(&mut self, count: usize) -> Result<(), SignatureError> {
        self.made += count;
        match self.made > MAX_TOKENS {
            true => Err(SignatureError::TooLong),
            false => Ok(()),
        }
    }

    /// The macro's body with its arguments in place.
    fn substitute(
        &mut self,
        found: &Macro,
        given: &[Vec<Token>],
        active: &[Rc<str>],
        depth: u32,
    ) -> Result<Vec<Token>, SignatureError> {
        let mut out: Vec<Token> = Vec::new();
        let mut at = 0;
        while let Some(token) = found.body.get(at) {
            at += 1;
            let next = found.body.get(at);
            if let ("#", Some(index)) = (&*token.text, next.and_then(|t| found.parameter(t))) {
                out.push(stringified(&given[index])?);
                at += 1;
                continue;
            }
            if let ("##", Some(right), false) = (&*token.text, next, out.is_empty()) {
                let right = match found.parameter(right) {
                    Some(index) => given[index].clone(),
                    None => vec![right.clone()],
                };
                self.charge(right.len())?;
                paste(&mut out, right)?;
                at += 1;
                continue;
            }
            let Some(index) = found.parameter(token) else {
                out.push(token.clone());
                continue;
            };
            let mut value = given[index].clone();
            self.charge(value.len())?;
            if !next.is_some_and(|next| next.is("##")) {
                value = self.expand_within(value, active, depth + 1)?;
            } else if value.is_empty() {
                // A placemarker: pasting to nothing gives the other side.
                value.push(Token::new(Kind::Name, ""));
            }
            out.extend(value);
        }
        out.retain(|token| !token.text.is_empty());
        Ok(out)
    }
}

impl Macro {
    fn parameter(&self, token: &Token) -> Option<usize> {
        let parameters = self.parameters.as_ref()?;
        match token.kind {
            Kind::Name => parameters.iter().position(|name| *name == token.text),
            _ => None,
        }
    }
}

/// The macro behind `NAME(`.
fn function_like(line: &[Token]) -> Option<Macro> {
    let end = line.iter().position(|token| token.is(")"))?;
    let mut parameters: Vec<Rc<str>> = Vec::new();
    let mut is_variadic = false;
    for token in line[..end].iter().filter(|token| !token.is(",")) {
        match token.kind {
            Kind::Name => parameters.push(token.text.clone()),
            _ if token.is("...") => is_variadic = true,
            _ => return None,
        }
    }
    // GNU's `name...` names the rest; the standard's has a name of its own.
    let has_name = end > 1 && line[end - 2].kind == Kind::Name;
    if is_variadic && !has_name {
        parameters.push(VARIADIC.into());
    }
    if parameters.len() > MAX_PARAMETERS {
        return None;
    }
    Some(Macro {
        parameters: Some(parameters),
        is_variadic,
        body: line[end + 1..].to_vec(),
    })
}

/// As many arguments as there are parameters.
fn matched(mut given: Vec<Vec<Token>>, wanted: usize, is_variadic: bool) -> Vec<Vec<Token>> {
    if is_variadic && wanted > 0 && given.len() > wanted {
        let rest = given.split_off(wanted - 1);
        let comma = [Token::new(Kind::Mark, ",")];
        given.push(rest.join(&comma[..]));
    }
    given.resize(wanted, Vec::new());
    given
}

fn stringified(argument: &[Token]) -> Result<Token, SignatureError> {
    let mut text = String::from("\"");
    for (n, token) in argument.iter().enumerate() {
        if n > 0 && token.spaced {
            text.push(' ');
        }
        text.push_str(&token.text.replace('\\', "\\\\").replace('"', "\\\""));
        if text.len() > MAX_TEXT {
            return Err(SignatureError::TooLong);
        }
    }
    Ok(Token::new(Kind::Text, &(text + "\"")))
}

/// Makes the last token and the first of `right` one.
fn paste(out: &mut Vec<Token>, right: Vec<Token>) -> Result<(), SignatureError> {
    let mut right = right.into_iter();
    let left = out.last().expect("something stands before ##");
    match right.next() {
        // GNU's `, ## __VA_ARGS__`: without arguments no comma.
        None if left.is(",") => drop(out.pop()),
        Some(first) if left.is(",") => out.push(first),
        Some(first) => {
            let both = format!("{}{}", left.text, first.text);
            if both.len() > MAX_TEXT {
                return Err(SignatureError::TooLong);
            }
            let spaced = left.spaced;
            out.pop();
            let first_new = out.len();
            out.extend(tokens(&both)?);
            if let Some(token) = out.get_mut(first_new) {
                token.spaced = spaced;
            }
        }
        None => {}
    }
    out.extend(right);
    Ok(())
}

struct Scan {
    items: Vec<Item>,
    active: Vec<Rc<str>>,
    out: Vec<Token>,
}

impl Scan {
    fn next(&mut self) -> Option<Token> {
        loop {
            match self.items.pop()? {
                Item::Token(token) => return Some(token),
                Item::End(name) => self.active.retain(|active| *active != name),
            }
        }
    }

    /// The arguments of a macro like a function, if a parenthesis follows.
    fn arguments(&mut self) -> Result<Option<Vec<Vec<Token>>>, SignatureError> {
        let next = self.items.iter().rev().find_map(|item| match item {
            Item::Token(token) => Some(token),
            Item::End(_) => None,
        });
        if !next.is_some_and(|next| next.is("(")) {
            return Ok(None);
        }
        self.next();
        let mut given = vec![Vec::new()];
        let mut depth = 0;
        while let Some(token) = self.next() {
            match &*token.text {
                ")" if depth == 0 => return Ok(Some(given)),
                "," if depth == 0 => {
                    given.push(Vec::new());
                    continue;
                }
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            given.last_mut().expect("never empty").push(token);
        }
        Err(SignatureError::Unclosed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(defines: &[&str], text: &str) -> Result<String, SignatureError> {
        let mut macros = Macros::default();
        for define in defines {
            macros.define(&tokens(define)?);
        }
        let out = macros.expand(tokens(text)?)?;
        let texts: Vec<_> = out.iter().map(|token| &*token.text).collect();
        Ok(texts.join(" "))
    }

    #[test]
    fn the_standards_own_examples() {
        // C99, 6.10.3.5, example 3.
        let defines = [
            "x 3",
            "f(a) f(x * (a))",
            "g f",
            "z z[0]",
            "h g(~",
            "m(a) a(w)",
            "w 0,1",
            "t(a) a",
            "p() int",
            "q(x) x",
            "r(x,y) x ## y",
            "str(x) # x",
        ];
        let of = |text| expanded(&defines[1..], text).unwrap();
        assert_eq!(of("t(t(g)(0) + t)(1);"), "f ( x * ( 0 ) ) + t ( 1 ) ;");
        assert_eq!(of("g(2)"), "f ( x * ( 2 ) )");
        assert_eq!(of("z"), "z [ 0 ]");
        assert_eq!(of("m(t)"), "0 , 1");
        assert_eq!(
            of("p() i[q()] = { r(2,3), r(4,), r(,5), r(,) };"),
            "int i [ ] = { 23 , 4 , 5 , } ;"
        );
        assert_eq!(of("str(a  + \"b\")"), "\"a + \\\"b\\\"\"");
        assert_eq!(of("f"), "f");
    }

    #[test]
    fn variadic_macros_take_the_rest() {
        let defines = ["ARGS(...) (__VA_ARGS__)", "G(a, r...) a(1, ##r)", "E() x"];
        let of = |text| expanded(&defines, text).unwrap();
        assert_eq!(of("ARGS(a, b)"), "( a , b )");
        assert_eq!(of("G(f)"), "f ( 1 )");
        assert_eq!(of("G(f, 2, 3)"), "f ( 1 , 2 , 3 )");
        assert_eq!(of("E ()"), "x");
    }

    #[test]
    fn growth_is_bounded() {
        let doubling: Vec<String> = (0..40).map(|n| format!("d{} d{n} d{n}", n + 1)).collect();
        let doubling: Vec<&str> = doubling.iter().map(String::as_str).collect();
        assert_eq!(expanded(&doubling, "d40"), Err(SignatureError::TooLong));
        let nested = "f(".repeat(1000) + &")".repeat(1000);
        assert_eq!(expanded(&["f(a) a"], &nested), Err(SignatureError::TooDeep));
    }

    proptest! {
        #[test]
        fn any_macros_end(
            defines in prop::collection::vec("[a-d](\\([a-d,.]{0,6}\\))? ?[a-d#() ,0-9]{0,12}", 0..6),
            text in "[a-d() ,#0-9]{0,40}",
        ) {
            let defines: Vec<&str> = defines.iter().map(String::as_str).collect();
            let _ = expanded(&defines, &text);
        }
    }
}
