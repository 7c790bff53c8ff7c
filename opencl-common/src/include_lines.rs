//! The include lines of a program's text, found without a preprocessor, by guest and
//! board alike. Lines that only a preprocessor recognises (names behind macros,
//! comments between the words, continued lines) are not found.

/// Directives that name a file; the longer first.
const DIRECTIVES: [&[u8]; 4] = [b"include_next", b"include", b"import", b"embed"];

/// Where the names begin that stand in quotes or angle brackets: each is the
/// offset of the first byte behind the opening one.
pub fn names(text: &[u8]) -> impl Iterator<Item = usize> {
    let line = |line: &[u8]| offset(text, line);
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.flat_map(move |of| in_line(of).map(move |at| line(of) + at))
}

/// Whether a text names a file by its absolute path.
pub fn has_absolute(text: &[u8]) -> bool {
    names(text).any(|at| text[at..].starts_with(b"/"))
}

fn in_line(line: &[u8]) -> impl Iterator<Item = usize> {
    let signs = line.iter().enumerate().filter(|(_, byte)| **byte == b'#');
    signs.filter_map(|(at, _)| {
        let name = is_front(&line[..at]).then(|| named(&line[at + 1..]))??;
        Some(offset(line, name))
    })
}

/// Whether a directive may follow: nothing stands before it, but a comment's
/// end or a file's mark of UTF-8.
fn is_front(text: &[u8]) -> bool {
    let end = text.iter().rposition(|byte| !is_space(*byte));
    let text = end.map_or(&[][..], |end| &text[..=end]);
    text.is_empty() || text.ends_with(b"*/") || text == "\u{feff}".as_bytes()
}

/// What follows the opening quote or bracket of a directive.
fn named(text: &[u8]) -> Option<&[u8]> {
    let text = behind_space(text);
    let mut found = DIRECTIVES
        .iter()
        .filter_map(|word| text.strip_prefix(*word));
    match behind_space(found.next()?).split_first()? {
        (b'"' | b'<', name) => Some(name),
        _ => None,
    }
}

fn behind_space(text: &[u8]) -> &[u8] {
    let spaces = text.iter().take_while(|byte| is_space(**byte));
    &text[spaces.count()..]
}

/// What compilers pass over within a line; a NUL is among it.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | 0)
}

/// Where a part of a text stands in it.
fn offset(text: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(text: &str) -> Option<&str> {
        names(text.as_bytes()).next().map(|at| &text[at..])
    }

    #[test]
    fn names_are_found_in_every_spelling() {
        for line in [
            "#include \"/a.h\"",
            "x\n \t # \x0b include</a.h\"",
            "x\r#include_next\"/a.h\"",
            "/* a */ #import </a.h\"",
            "\u{feff}#embed \0 \"/a.h\"",
            "# #include\n#include \"/a.h\"",
        ] {
            assert_eq!(first(line), Some("/a.h\""), "{line}");
            assert!(has_absolute(line.as_bytes()), "{line}");
        }
        assert_eq!(first("#include \"a.h\""), Some("a.h\""));
        assert!(!has_absolute(b"#include \"a.h\""));
    }

    #[test]
    fn other_lines_name_nothing() {
        for line in [
            "",
            "#",
            "#include",
            "#include A",
            "include \"/a\"",
            "#included \"/a\"",
            "char *s = \"#include </a>\";",
            "// #include \"/a\"",
            "#include\n\"/a\"",
        ] {
            assert_eq!(first(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn a_name_stands_behind_its_opening(text in "([# \\n\"</*]|include|/a){0,40}") {
            for at in names(text.as_bytes()) {
                prop_assert!(matches!(text.as_bytes()[at - 1], b'"' | b'<'));
                let line = text[..at].rsplit('\n').next().unwrap();
                prop_assert!(line.contains("#") && line.contains("include"));
            }
        }
    }
}
