//! Integer constant expressions (C99, 6.6), over tokens.

use super::token::{Kind, Token};

/// Deepest nesting of parentheses and operators that is followed.
const MAX_DEPTH: u32 = 64;

/// An expression that is being evaluated.
struct Evaluator<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
    names: &'a dyn Fn(&str) -> Option<i128>,
}

/// The expression's value; `None` if it is none that is understood here.
/// Integers are wider than C's, so that none overflows.
pub fn value(tokens: &[Token], names: &dyn Fn(&str) -> Option<i128>) -> Option<i128> {
    let mut evaluator = Evaluator {
        tokens,
        at: 0,
        depth: 0,
        names,
    };
    let value = evaluator.conditional()?;
    (evaluator.at == tokens.len()).then_some(value)
}

/// How tightly an operator binds.
fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

fn apply(operator: &str, a: i128, b: i128) -> Option<i128> {
    let shift = || u32::try_from(b).ok().filter(|by| *by < 64);
    Some(match operator {
        "||" => i128::from(a != 0 || b != 0),
        "&&" => i128::from(a != 0 && b != 0),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "==" => i128::from(a == b),
        "!=" => i128::from(a != b),
        "<" => i128::from(a < b),
        ">" => i128::from(a > b),
        "<=" => i128::from(a <= b),
        ">=" => i128::from(a >= b),
        "<<" => i128::from((a as i64).wrapping_shl(shift()?)),
        ">>" => a >> shift()?,
        "+" => a.checked_add(b)?,
        "-" => a.checked_sub(b)?,
        "*" => a.checked_mul(b)?,
        "/" => a.checked_div(b)?,
        "%" => a.checked_rem(b)?,
        _ => return None,
    })
}

impl Evaluator<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn accept(&mut self, mark: &str) -> bool {
        let is_it = self.peek().is_some_and(|token| token.is(mark));
        self.at += usize::from(is_it);
        is_it
    }

    fn conditional(&mut self) -> Option<i128> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let condition = self.binary(1)?;
        let mut value = condition;
        if self.accept("?") {
            let then = self.conditional()?;
            if !self.accept(":") {
                return None;
            }
            let otherwise = self.conditional()?;
            value = if condition != 0 { then } else { otherwise };
        }
        self.depth -= 1;
        Some(value)
    }

    fn binary(&mut self, least: u8) -> Option<i128> {
        let mut left = self.unary()?;
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Mark) {
            let operator = token.text.clone();
            let Some(binds) = precedence(&operator).filter(|binds| *binds >= least) else {
                break;
            };
            self.at += 1;
            let right = self.binary(binds + 1);
            // What a short circuit skips may divide by zero.
            let right = match (&*operator, left) {
                ("&&", 0) => 0,
                ("||", 1..) => 1,
                _ => right?,
            };
            left = apply(&operator, left, right)?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<i128> {
        let mut operators = Vec::new();
        while let Some(token) = self.peek().filter(|token| token.kind == Kind::Mark) {
            match &*token.text {
                sign @ ("-" | "+" | "!" | "~") => operators.push(sign.as_bytes()[0]),
                _ => break,
            }
            self.at += 1;
        }
        let value = self.primary()?;
        Some(
            operators
                .iter()
                .rfold(value, |value, operator| match operator {
                    b'-' => value.wrapping_neg(),
                    b'!' => i128::from(value == 0),
                    b'~' => !value,
                    _ => value,
                }),
        )
    }

    fn primary(&mut self) -> Option<i128> {
        if self.accept("(") {
            let value = self.conditional()?;
            return self.accept(")").then_some(value);
        }
        let token = self.peek()?.clone();
        self.at += 1;
        match token.kind {
            Kind::Number => number(&token.text),
            Kind::Text => character(&token.text),
            Kind::Name => (self.names)(&token.text),
            _ => None,
        }
    }
}

/// An integer constant.
pub fn number(text: &str) -> Option<i128> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let lower = digits.to_ascii_lowercase();
    let value = match lower.as_bytes() {
        [b'0', b'x', ..] => u64::from_str_radix(&lower[2..], 16),
        [b'0', b'b', ..] => u64::from_str_radix(&lower[2..], 2),
        [b'0', _, ..] => u64::from_str_radix(&lower[1..], 8),
        _ => lower.parse(),
    };
    value.ok().map(i128::from)
}

/// A character constant of one plain character.
fn character(text: &str) -> Option<i128> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut chars = inner.chars();
    match (chars.next()?, chars.next(), chars.next()) {
        (c, None, _) if c != '\\' => Some(i128::from(u32::from(c))),
        ('\\', Some('0'), None) => Some(0),
        ('\\', Some('n'), None) => Some(10),
        ('\\', Some(c @ ('\\' | '\'' | '"')), None) => Some(i128::from(u32::from(c))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> Option<i128> {
        let known = |name: &str| (name == "SEVEN").then_some(7);
        value(&tokens(text).unwrap(), &known)
    }

    #[test]
    fn operators_bind_as_in_c() {
        assert_eq!(of("1 + 2 * 3 - -4"), Some(11));
        assert_eq!(of("10 - 4 - 3"), Some(3));
        assert_eq!(of("1 << 4 | 0x0fu & ~1"), Some(16 | 14));
        assert_eq!(of("!0 && (SEVEN >= 7) ? 010 : 2"), Some(8));
        assert_eq!(of("0 && 1 / 0"), Some(0));
        assert_eq!(of("'a' == 97"), Some(1));
    }

    #[test]
    fn what_is_no_expression_has_no_value() {
        for text in [
            "", "1 +", "(1", "1 2", "x", "1 / 0", "1.5", "\"s\"", "1 << 99",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of(&"(".repeat(100_000)), None);
        assert_eq!(of(&"-".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn sums_are_those_of_integers(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..50) {
            let text = format!("({a}) * {c} + ({b}) / {c} - ({a} < {b})");
            let expected = a * c + b / c - i32::from(a < b);
            prop_assert_eq!(of(&text), Some(expected.into()));
        }

        #[test]
        fn any_tokens_are_survived(text in "[0-9a-z()+*/%<>=!?:&|^~ -]{0,100}") {
            of(&text);
        }
    }
}
