//! Expressions: parameter names, constants, numbers, arithmetic, `|`, `&`,
//! comparisons, and calls of named helpers. As in Rust, comparisons bind
//! loosest, then `|`, `&`, `+ -`, `* /`.

use super::error::Problem;
use super::lexer::{Lexer, is_name};

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `|`
    Or,
    /// `&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// A number.
    Number(u64),
    /// A parameter or a constant.
    Name(String),
    /// A helper and its arguments.
    Call(String, Vec<Expr>),
    /// Two values.
    Binary(Binary, Box<Expr>, Box<Expr>),
}

const LEVELS: [&[(&str, Binary)]; 5] = [
    &[
        ("==", Binary::Eq),
        ("!=", Binary::Ne),
        ("<=", Binary::Le),
        (">=", Binary::Ge),
        ("<", Binary::Lt),
        (">", Binary::Gt),
    ],
    &[("|", Binary::Or)],
    &[("&", Binary::And)],
    &[("+", Binary::Add), ("-", Binary::Sub)],
    &[("*", Binary::Mul), ("/", Binary::Div)],
];

/// Deepest nesting of parentheses.
const DEPTH: usize = 32;

impl Expr {
    /// Reads a whole text.
    ///
    /// # Errors
    /// [`Problem::Expression`].
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut lexer = Lexer::new(text);
        let expr = Self::read(&mut lexer)?;
        if lexer.is_empty() {
            return Ok(expr);
        }
        Err(bad(&lexer, "an operator or the end"))
    }

    /// Reads as much of a text as is an expression.
    ///
    /// # Errors
    /// [`Problem::Expression`].
    pub fn read(lexer: &mut Lexer<'_>) -> Result<Self, Problem> {
        level(lexer, 0, 0)
    }

    /// Every parameter or constant in it, and every helper.
    pub fn visit<'a>(&'a self, name: &mut impl FnMut(&'a str), helper: &mut impl FnMut(&'a str)) {
        match self {
            Self::Number(_) => {}
            Self::Name(text) => name(text),
            Self::Call(text, args) => {
                helper(text);
                args.iter().for_each(|arg| arg.visit(name, helper));
            }
            Self::Binary(_, a, b) => {
                a.visit(name, helper);
                b.visit(name, helper);
            }
        }
    }
}

fn bad(lexer: &Lexer<'_>, expected: &'static str) -> Problem {
    Problem::Expression {
        text: lexer.text().into(),
        rest: lexer.rest().into(),
        expected,
    }
}

fn level(lexer: &mut Lexer<'_>, depth: usize, of: usize) -> Result<Expr, Problem> {
    let Some(signs) = LEVELS.get(of) else {
        return atom(lexer, depth);
    };
    let mut left = level(lexer, depth, of + 1)?;
    while let Some((sign, op)) = signs
        .iter()
        .find(|(sign, _)| lexer.peek().is_some_and(|token| token.text == *sign))
    {
        lexer.eat(sign);
        let right = level(lexer, depth, of + 1)?;
        left = Expr::Binary(*op, Box::new(left), Box::new(right));
    }
    Ok(left)
}

fn atom(lexer: &mut Lexer<'_>, depth: usize) -> Result<Expr, Problem> {
    const EXPECTED: &str = "a parameter, a constant, a number or \"(\"";
    if depth > DEPTH {
        return Err(bad(lexer, "fewer parentheses"));
    }
    let Some(token) = lexer.peek() else {
        return Err(bad(lexer, EXPECTED));
    };
    if token.text == "(" {
        lexer.next();
        let inner = level(lexer, depth + 1, 0)?;
        return match lexer.eat(")") {
            true => Ok(inner),
            false => Err(bad(lexer, "\")\"")),
        };
    }
    if is_name(token.text) {
        lexer.next();
        return name_or_call(lexer, token.text, depth);
    }
    let number = number(token.text).ok_or_else(|| bad(lexer, EXPECTED))?;
    lexer.next();
    Ok(Expr::Number(number))
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn name_or_call(lexer: &mut Lexer<'_>, name: &str, depth: usize) -> Result<Expr, Problem> {
    if !lexer.eat("(") {
        return Ok(Expr::Name(name.into()));
    }
    let mut args = Vec::new();
    while !lexer.eat(")") {
        if !args.is_empty() && !lexer.eat(",") {
            return Err(bad(lexer, "\",\" or \")\""));
        }
        args.push(level(lexer, depth + 1, 0)?);
    }
    Ok(Expr::Call(name.into(), args))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(expr: &Expr) -> String {
        match expr {
            Expr::Number(n) => n.to_string(),
            Expr::Name(name) => name.clone(),
            Expr::Call(name, args) => {
                format!(
                    "{name}[{}]",
                    args.iter().map(show).collect::<Vec<_>>().join(";")
                )
            }
            Expr::Binary(op, a, b) => format!("({} {op:?} {})", show(a), show(b)),
        }
    }

    #[test]
    fn binds_as_rust_does() {
        let shown = |text| show(&Expr::parse(text).unwrap());
        assert_eq!(shown("a + b * 2 - c"), "((a Add (b Mul 2)) Sub c)");
        assert_eq!(shown("a & (B | C) != 0"), "((a And (B Or C)) Ne 0)");
        assert_eq!(shown("f(a, g(), 0x10) / 4"), "(f[a;g[];16] Div 4)");
    }

    #[test]
    fn what_is_wrong_is_shown() {
        for (text, at) in [
            ("a +", "\"\""),
            ("(a", "\"\""),
            ("f(a b)", "\"b)\""),
            ("a b", "\"b\""),
        ] {
            let error = Expr::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("at {at}")), "{error}");
        }
        let deep = "(".repeat(1000);
        assert!(Expr::parse(&deep).is_err());
    }
}
