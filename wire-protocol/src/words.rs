//! Text from the other end of a connection, for this end's user.

use std::fmt;

/// Most characters shown of it.
pub const SHOWN_MAX: usize = 1000;

/// A text of the other end's. Shown, it is no longer than [`SHOWN_MAX`]
/// characters and has no character that a terminal obeys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(String);

impl From<String> for Words {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Words {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        let mut all = self.0.chars();
        for c in all.by_ref().take(SHOWN_MAX) {
            match c.is_control() || turns(c) {
                true => write!(f, "{}", c.escape_default())?,
                false => f.write_char(c)?,
            }
        }
        match all.next() {
            Some(_) => f.write_str("…"),
            None => Ok(()),
        }
    }
}

/// Whether it changes the direction of what stands behind it, so that a terminal shows another text
/// (Unicode Standard Annex 9, section 2).
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_of_them() {
        let words = Words::from("clear\u{1b}[2J\r\nfür\u{9b}");
        assert_eq!(words.to_string(), r"clear\u{1b}[2J\r\nfür\u{9b}");
        let words = Words::from("gpj.\u{202e}exe");
        assert_eq!(words.to_string(), r"gpj.\u{202e}exe");
    }

    #[test]
    fn they_are_cut() {
        let fits = "ü".repeat(SHOWN_MAX);
        assert_eq!(Words::from(fits.as_str()).to_string(), fits);
        let longer = Words::from(fits.clone() + "x").to_string();
        assert_eq!(longer, fits + "…");
    }
}
