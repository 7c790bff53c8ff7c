//! What is wrong in a file of settings (TOML), said with its line.

use std::ops::Range;
use toml::de::Error;

/// Longest part of a line that is repeated, in characters.
const SHOWN_MAX: usize = 60;

/// What the parser says of `text`, in one line: the number of the line that it is about, and
/// what stands there, if it is about one.
#[must_use]
pub fn fault(text: &str, error: &Error) -> String {
    let what = words(error.message());
    // What the whole file lacks is not about its first line.
    let lacks = error.message().starts_with("missing field");
    let span = error.span().filter(|span| span.start > 0 || !lacks);
    let said = match span.and_then(|span| line(text, &span)) {
        Some((number, line)) => format!("line {number}, `{line}`: {what}"),
        None => what,
    };
    harmless(&said)
}

/// Without what a terminal would obey: the file may be somebody else's.
fn harmless(text: &str) -> String {
    let shown = |char: char| match char.is_control() {
        true => char.escape_unicode().to_string(),
        false => char.to_string(),
    };
    text.chars().map(shown).collect()
}

/// The parser's words for a user, who does not know Rust's types.
fn words(message: &str) -> String {
    let types = [
        ("u64", "a whole number from 0 on"),
        ("u32", "a whole number from 0 to 4294967295"),
        ("i64", "a whole number"),
        ("f64", "a number"),
    ];
    types
        .iter()
        .fold(message.replace('\n', ", "), |what, (from, to)| {
            what.replace(&format!("expected {from}"), &format!("expected {to}"))
        })
}

/// The number and the text of the line in which a span begins; none if it is empty.
fn line<'a>(text: &'a str, span: &Range<usize>) -> Option<(usize, &'a str)> {
    let before = text.get(..span.start)?;
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1)?.trim();
    let end = line.char_indices().nth(SHOWN_MAX);
    let line = &line[..end.map_or(line.len(), |(end, _)| end)];
    (!line.is_empty()).then_some((number, line))
}

#[cfg(test)]
mod tests {
    use super::fault;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "read by the parser alone")]
    struct File {
        version: u32,
        #[serde(default)]
        calls: BTreeMap<String, Calls>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "read by the parser alone")]
    struct Calls {
        launch_ns: u64,
    }

    #[test]
    fn a_fault_has_its_line() {
        let long = format!("version = 1\n{} = ", "k".repeat(100));
        for (text, said) in [
            (
                "version = 1\n[calls.a]\nlaunch_ns = -3\n",
                "line 3, `launch_ns = -3`: invalid value: integer `-3`, expected a whole number from 0 on",
            ),
            (
                "version = 1\n\n[calls.a]\nlanch_ns = 3\n",
                "line 4, `lanch_ns = 3`: unknown field `lanch_ns`, expected `launch_ns`",
            ),
            (
                "version = 1\n version = 1\n",
                "line 2, `version = 1`: duplicate key",
            ),
            (
                "version = 1\n[calls.a]\n",
                "line 2, `[calls.a]`: missing field `launch_ns`",
            ),
            ("", "missing field `version`"),
            ("calls = {}\n", "missing field `version`"),
            (
                "version = 1\n\"\\u001b[2J\" = 1\n# \n",
                "line 2, `\"\\u001b[2J\" = 1`: unknown field `\\u{1b}[2J`",
            ),
            ("a = \"\u{1b}[2J", "line 1, `a = \"\\u{1b}[2J`: "),
            (&long, &format!("line 2, `{}`: ", "k".repeat(60))),
        ] {
            let error = toml::from_str::<File>(text).unwrap_err();
            let found = fault(text, &error);
            assert!(found.starts_with(said), "{found}");
            assert!(!found.contains(char::is_control), "{found}");
        }
    }
}
