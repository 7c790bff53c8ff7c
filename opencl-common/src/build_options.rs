//! Options of OpenCL's compilers (OpenCL 3.0, 5.8.6), as far as guest and board both
//! read them: their words, which of them may reach a compiler, and their paths.

mod allowed;

pub use allowed::refused;

/// A word of build options, and where each of its characters stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The word, without quotes and the backslashes of escapes.
    pub text: String,
    /// Byte offsets in the options, one for each character of `text`.
    places: Vec<usize>,
}

impl Word {
    fn push(&mut self, c: char, place: usize) {
        self.text.push(c);
        self.places.push(place);
    }

    /// What follows a prefix, and where it begins: nothing for the whole word.
    fn behind(&self, prefix: &str) -> Option<(&str, Option<usize>)> {
        let rest = self.text.strip_prefix(prefix)?;
        let skipped = prefix.chars().count();
        Some((rest, self.places.get(skipped).copied()))
    }
}

/// Words with spaces between; quotes keep spaces, a backslash the next
/// character.
pub fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if quote == Some(c) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            '\\' if quote != Some('\'') => {
                let word = word.get_or_insert_default();
                if let Some((at, c)) = chars.next() {
                    word.push(c, at);
                }
            }
            _ if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c, at),
        }
    }
    words.extend(word);
    words
}

/// A path in build options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The path.
    pub text: String,
    /// Byte offset of its first character in the options.
    pub at: usize,
    /// Whether it is a folder to search (`-I`), not a macro's value.
    pub is_folder: bool,
}

/// The folders to search, and the macros whose value is an absolute path (which
/// programs put into their `#include` lines), in order.
pub fn paths(options: &str) -> Vec<Path> {
    let mut paths = Vec::new();
    let words = words(options);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut behind = |prefix| match word.behind(prefix) {
            // The argument may be a word of its own.
            Some(("", _)) => words.next().and_then(|word| word.behind("")),
            found => found,
        };
        if let Some((text, Some(at))) = behind("-I") {
            let text = text.to_owned();
            paths.push(Path {
                text,
                at,
                is_folder: true,
            });
        } else if let Some((text, Some(at))) = behind("-D") {
            paths.extend(value(text, options, at));
        }
    }
    paths
}

/// The absolute path that a macro is defined as, with or without quotes.
fn value(definition: &str, options: &str, at: usize) -> Option<Path> {
    let (_, value) = definition.split_once('=')?;
    let text = value.trim_matches('"');
    if !text.starts_with('/') {
        return None;
    }
    Some(Path {
        text: text.to_owned(),
        at: at + options.get(at..)?.find('/')?,
        is_folder: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(options: &str) -> Vec<(String, usize)> {
        let paths = paths(options).into_iter();
        paths.map(|path| (path.text, path.at)).collect()
    }

    #[test]
    fn words_keep_what_quotes_and_backslashes_keep() {
        let texts = |text| -> Vec<_> { words(text).into_iter().map(|word| word.text).collect() };
        assert_eq!(texts(" -a  b\t"), ["-a", "b"]);
        assert_eq!(
            texts(r#"-D "A=b c" 'd"e' f\ g"#),
            ["-D", "A=b c", "d\"e", "f g"]
        );
        assert_eq!(texts(r#""""#), [""]);
        assert_eq!(
            texts(r"'a\b' 'c\'"),
            [r"a\b", r"c\"],
            "single quotes keep them"
        );
        assert_eq!(texts("ends\\"), ["ends"]);
    }

    #[test]
    fn folders_are_found_in_every_spelling() {
        let wanted = [("a", 2), ("/b", 7), ("c d", 13), ("e f", 21), (".", 29)];
        let options = r#"-Ia -I /b -I"c d" "-Ie f" -I ."#;
        let wanted: Vec<_> = wanted.map(|(path, at)| (path.to_owned(), at)).into();
        assert_eq!(all(options), wanted);
        assert_eq!(all("-I"), []);
        assert_eq!(all("-I \"\""), []);
    }

    #[test]
    fn macros_that_are_absolute_paths_are_found() {
        let one = |path: &str, at| vec![(path.to_owned(), at)];
        assert_eq!(all("-DP=/usr/x"), one("/usr/x", 4));
        assert_eq!(all("-D P=/usr/x"), one("/usr/x", 5));
        assert_eq!(all(r#"-DP=\"/a/b.h\""#), one("/a/b.h", 6));
        assert_eq!(all("-DP=a/b -DQ -DR=1/2"), []);
    }

    proptest! {
        #[test]
        fn a_path_stands_where_it_is_said_to(options in r#"[-ID= /a"'\\.é]{0,40}"#) {
            for path in paths(&options) {
                let first = path.text.chars().next();
                prop_assert_eq!(options[path.at..].chars().next(), first);
            }
        }
    }
}
