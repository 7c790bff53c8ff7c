//! Texts that a program gets a pointer to, and keeps.

use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

static TEXTS: Mutex<Option<HashSet<&'static CStr>>> = Mutex::new(None);

/// A text that stays where it is: an API gives no pointer back. There are few.
pub fn keep(text: &[u8]) -> &'static CStr {
    let end = text.iter().position(|&byte| byte == 0);
    let text = CString::new(&text[..end.unwrap_or(text.len())]).unwrap_or_default();
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let texts = texts.get_or_insert_default();
    if let Some(known) = texts.get(text.as_c_str()) {
        return known;
    }
    let kept: &'static CStr = Box::leak(text.into_boxed_c_str());
    texts.insert(kept);
    kept
}

/// Of the words of `all`, those that are among the lines of `known`, in their order.
pub fn among(all: &[u8], known: &str) -> Vec<u8> {
    let all = String::from_utf8_lossy(all);
    let words = all.split([' ', '\0']).filter(|word| !word.is_empty());
    let listed = |word: &&str| {
        let mut lines = known.lines().filter(|line| !line.starts_with('#'));
        lines.any(|line| line == *word)
    };
    let words: Vec<_> = words.filter(listed).collect();
    words.join(" ").into_bytes()
}

/// Whether a text has this word.
pub fn has(text: &[u8], word: &str) -> bool {
    text.split(|&byte| byte == b' ')
        .any(|it| it == word.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_kept_once() {
        let one = keep(b"text\0rubbish");
        assert_eq!(one, c"text");
        assert_eq!(one.as_ptr(), keep(b"text").as_ptr());
        assert_ne!(one.as_ptr(), keep(b"other").as_ptr());
    }

    #[test]
    fn words_that_nobody_listed_are_left_out() {
        assert_eq!(among(b"c b  a d\0", "# a b\na\nc\n"), b"c a");
        assert_eq!(among(b"", "a"), b"");
    }
}
