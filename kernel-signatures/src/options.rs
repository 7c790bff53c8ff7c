//! Build options (OpenCL 3.0, 5.8.6).

use gil_opencl_common::build_options::words;

/// What the options say about macros, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// `-D name=body`.
    Define(String, String),
    /// `-U name`.
    Undefine(String),
}

/// Build options, as far as signatures need them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Changes of macros, in order.
    pub macros: Vec<Change>,
    /// The language's version as 100 times major plus 10 times minor, if
    /// `-cl-std` gives one.
    pub standard: Option<u32>,
    /// `-cl-fast-relaxed-math`.
    pub is_fast: bool,
}

/// Reads build options.
pub fn parse(text: &str) -> Options {
    let mut options = Options::default();
    let mut words = words(text).into_iter().map(|word| word.text);
    while let Some(word) = words.next() {
        // The name may be a word of its own.
        let mut behind = |rest: &str| match rest {
            "" => words.next().unwrap_or_default(),
            _ => rest.to_owned(),
        };
        if let Some(rest) = word.strip_prefix("-D") {
            let definition = behind(rest);
            let (name, body) = definition.split_once('=').unwrap_or((&definition, "1"));
            options
                .macros
                .push(Change::Define(name.into(), body.into()));
        } else if let Some(rest) = word.strip_prefix("-U") {
            options.macros.push(Change::Undefine(behind(rest)));
        } else if let Some(version) = word.strip_prefix("-cl-std=CL") {
            options.standard = standard(version);
        }
        options.is_fast |= word == "-cl-fast-relaxed-math";
    }
    options
}

fn standard(version: &str) -> Option<u32> {
    let (major, minor) = version.split_once('.')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    major.checked_mul(100)?.checked_add(minor.checked_mul(10)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_come_in_every_spelling() {
        let options =
            parse("-D A -DB=2 -D 'C=3 + 4' -I x -U A -D \"S=a\\\"b\" -cl-std=CL1.2 -Werror");
        let define = |name: &str, body: &str| Change::Define(name.into(), body.into());
        let expected = [
            define("A", "1"),
            define("B", "2"),
            define("C", "3 + 4"),
            Change::Undefine("A".into()),
            define("S", "a\"b"),
        ];
        assert_eq!(options.macros, expected);
        assert_eq!(options.standard, Some(120));
        assert_eq!(
            parse("-D"),
            Options {
                macros: vec![define("", "1")],
                ..Options::default()
            }
        );
    }
}
