//! The program's environment and folder, as the user names them: as `docker run` has it.

use gil_run_support::text;
use std::env::{self, VarError};
use std::io;
use std::path::Path;

/// Most bytes of a file of variables.
const FILE_MAX: u64 = 16 << 20;

/// Variables that one option sets, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, String)>);

/// All of several options; a later variable replaces an earlier one.
pub fn join<'a>(options: impl IntoIterator<Item = &'a Variables>) -> Vec<(String, String)> {
    let each = options.into_iter().map(|variables| variables.0.clone());
    each.flatten().collect()
}

/// `NAME=VALUE`, or `NAME` with its value here; none if there is none here.
pub fn variable(text: &str) -> Result<Variables, String> {
    if text.is_empty() || text.starts_with('=') {
        return Err("write NAME=VALUE, or NAME for its value on this machine".into());
    }
    let one = |name: &str, value: &str| Variables(vec![(name.into(), value.into())]);
    if let Some((name, value)) = text.split_once('=') {
        return Ok(one(name, value));
    }
    match env::var(text) {
        Ok(value) => Ok(one(text, &value)),
        Err(VarError::NotPresent) => Ok(Variables::default()),
        Err(VarError::NotUnicode(_)) => Err(format!(
            "the value of {text} on this machine is not UTF-8: write {text}=VALUE"
        )),
    }
}

/// The variables of a file: one a line, each as [`variable`] takes it; lines that
/// are empty or begin with `#` are left out.
pub fn file(path: &str) -> Result<Variables, String> {
    let text = text::read(Path::new(path), FILE_MAX).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => format!(
            "is larger than {} MiB: no program takes an environment of that size",
            FILE_MAX >> 20
        ),
        _ => format!("cannot be read: {error}"),
    })?;
    // Editors on Windows begin files with it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut all = Variables::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let name = line.split('=').next().unwrap_or_default();
        if name.contains(char::is_whitespace) {
            return Err(format!(
                "line {}: {name:?} is no variable's name: write NAME=VALUE, without `export`",
                at + 1
            ));
        }
        let found = variable(line).map_err(|error| format!("line {}: {error}", at + 1))?;
        all.0.extend(found.0);
    }
    Ok(all)
}

/// A folder of the guest. A relative one is taken from the current folder of this
/// machine, for a guest that has it at the same path.
pub fn folder(text: &str) -> Result<String, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    let path = path.into_os_string().into_string();
    path.map_err(|_| "the current folder's path is not UTF-8: give an absolute path".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        of.iter().map(own).collect()
    }

    #[test]
    fn a_name_alone_has_its_value_here() {
        // Cargo sets it for every test.
        let here = env!("CARGO_PKG_NAME");
        let found = ["CARGO_PKG_NAME", "GIL_NO_SUCH_VARIABLE", "A=b=c", "B="]
            .map(|text| variable(text).unwrap());
        let all = [("CARGO_PKG_NAME", here), ("A", "b=c"), ("B", "")];
        assert_eq!(join(&found), pairs(&all));
        for wrong in ["", "=", "=x"] {
            assert!(variable(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        assert!(file("/dev/zero").unwrap_err().contains("16 MiB"));
    }

    #[test]
    fn a_byte_order_mark_belongs_to_no_name() {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all("\u{feff}A=1\r\n".as_bytes()).unwrap();
        let found = file(named.path().to_str().unwrap()).unwrap();
        assert_eq!(found.0, pairs(&[("A", "1")]));
    }

    #[test]
    fn a_line_of_a_shells_is_refused() {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        named.write_all(b"A=1\nexport B=2\n").unwrap();
        let refused = file(named.path().to_str().unwrap()).unwrap_err();
        assert!(refused.starts_with("line 2: \"export B\""), "{refused}");
    }

    #[test]
    fn a_file_has_one_a_line() {
        let mut named = tempfile::NamedTempFile::new().unwrap();
        let text = "# comment\n\nA=1 # all of it\n  B=\"2\"\nCARGO_PKG_NAME\nA=3\n";
        named.write_all(text.as_bytes()).unwrap();
        let path = &named.path().to_str().unwrap().to_owned();
        let all = [
            ("A", "1 # all of it"),
            ("B", "\"2\""),
            ("CARGO_PKG_NAME", env!("CARGO_PKG_NAME")),
            ("A", "3"),
        ];
        assert_eq!(file(path).unwrap().0, pairs(&all));
        named.write_all(b"=x\n").unwrap();
        assert!(file(path).unwrap_err().contains("line 7"));
        assert!(
            file("/no/such/file")
                .unwrap_err()
                .contains("cannot be read")
        );
    }

    #[test]
    fn a_relative_folder_is_one_of_this_machine() {
        assert_eq!(folder("/x/y").unwrap(), "/x/y");
        let here = env::current_dir().unwrap();
        assert_eq!(folder("z").unwrap(), here.join("z").to_str().unwrap());
        assert_eq!(folder(".").unwrap(), here.to_str().unwrap());
        assert!(folder("").is_err());
    }
}
