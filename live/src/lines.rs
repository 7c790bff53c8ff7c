//! The last lines of a program's output, without what a terminal would obey.

use std::collections::VecDeque;

/// Lines that are kept.
const LINES_MAX: usize = 100;
/// Characters that are kept of each.
const CHARS_MAX: usize = 400;

/// The last lines that were written.
#[derive(Debug, Default)]
pub struct Lines {
    whole: VecDeque<String>,
    open: String,
    /// Bytes of a character that is not whole.
    rest: Vec<u8>,
    escape: Escape,
    /// What comes next replaces the open line.
    returns: bool,
}

/// Where in a control sequence the text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// Behind the first character.
    Begun,
    /// In one that a letter ends.
    Control,
    /// In one that a bell or another sequence ends.
    Text,
}

impl Lines {
    /// These bytes were written.
    pub fn write(&mut self, bytes: &[u8]) {
        self.rest.extend(bytes);
        let bytes = std::mem::take(&mut self.rest);
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.put(c));
            let invalid = chunk.invalid();
            let is_last = bytes.as_ptr_range().end == invalid.as_ptr_range().end;
            match is_last && std::str::from_utf8(invalid).is_err_and(|it| it.error_len().is_none())
            {
                true => self.rest = invalid.to_vec(),
                false if !invalid.is_empty() => self.put('\u{fffd}'),
                false => {}
            }
        }
    }

    /// The last of them, no more than this, from the earliest.
    pub fn last(&self, most: usize) -> Vec<&str> {
        let open = (!self.open.is_empty()).then_some(self.open.as_str());
        let all = open
            .into_iter()
            .chain(self.whole.iter().rev().map(String::as_str));
        let mut last: Vec<_> = all.take(most).collect();
        last.reverse();
        last
    }

    fn put(&mut self, c: char) {
        if self.escape != Escape::None {
            self.escape = self.escape.next(c);
            return;
        }
        match c {
            '\u{1b}' => self.escape = Escape::Begun,
            '\n' => self.end(),
            '\r' => self.returns = true,
            '\t' => (0..4).for_each(|_| self.show(' ')),
            c if c.is_control() => {}
            c => self.show(c),
        }
    }

    fn show(&mut self, c: char) {
        if std::mem::take(&mut self.returns) {
            self.open.clear();
        }
        if self.open.len() < CHARS_MAX {
            self.open.push(c);
        }
    }

    fn end(&mut self) {
        self.returns = false;
        self.whole.push_back(std::mem::take(&mut self.open));
        if self.whole.len() > LINES_MAX {
            self.whole.pop_front();
        }
    }
}

impl Escape {
    fn next(self, c: char) -> Self {
        match (self, c) {
            (Self::Begun, '[') => Self::Control,
            (Self::Begun, ']' | 'P' | '^' | '_') => Self::Text,
            (Self::Begun, ' '..='/') => Self::Begun,
            (Self::Control, '@'..='~') | (Self::Text, '\u{7}') | (Self::Begun, _) => Self::None,
            (Self::Text, '\u{1b}') => Self::Begun,
            (same, _) => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> String {
        let mut lines = Lines::default();
        pieces.iter().for_each(|piece| lines.write(piece));
        lines.last(100).join("|")
    }

    #[test]
    fn lines_come_in_any_pieces() {
        assert_eq!(lines(&[b"a\nb", b"c\n", b"d"]), "a|bc|d");
        assert_eq!(lines(&[b"\xc3", b"\xbc\n"]), "ü");
        assert_eq!(lines(&[b"a\xffb\xc3", b"x"]), "a\u{fffd}b\u{fffd}x");
        assert_eq!(lines(&[b"\n\nx\n"]), "||x");
    }

    #[test]
    fn a_terminal_obeys_nothing_of_them() {
        let text = b"\x1b[31mred\x1b[0m\x1b]0;title\x07 \x1b(Bx\x1b[2J\x08\n";
        assert_eq!(lines(&[text]), "red x");
        assert_eq!(lines(&[b"\x1b]0;title\x1b\\y"]), "y");
        assert_eq!(lines(&[b"\x1b", b"[1", b"mz"]), "z");
    }

    #[test]
    fn a_line_that_is_written_anew_is_one() {
        assert_eq!(lines(&[b"10 %\r20 %\r30 %\r\nnext\r\n"]), "30 %|next");
    }

    #[test]
    fn they_are_bounded() {
        let mut lines = Lines::default();
        (0..1000).for_each(|n| lines.write(format!("{n}\n").as_bytes()));
        assert_eq!(lines.whole.len(), LINES_MAX);
        assert_eq!(lines.last(2), ["998", "999"]);
        lines.write(&[b'x'; 10_000]);
        assert_eq!(lines.last(1)[0].len(), CHARS_MAX);
    }
}
