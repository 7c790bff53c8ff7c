//! Keys that axes set in a board's profile, which is any TOML here.

use crate::value::Value;
use std::fmt;
use std::str::FromStr;
use toml::Table;

/// A key as TOML has it, in parts: `calls."opengl es".launch_ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPath(Vec<String>);

/// A part that no key has.
const BEHIND: &str = "__behind";

impl FromStr for KeyPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no key of a profile: write it as in TOML");
        // TOML itself says where a key ends: a part more must come out behind it.
        let longer = format!("{text}.{BEHIND} = 0");
        let table: Table = longer.parse().map_err(|_| wrong())?;
        let mut parts = Vec::new();
        let mut inner = &toml::Value::Table(table);
        while let toml::Value::Table(table) = inner {
            let mut entries = table.iter();
            let (Some((part, value)), None) = (entries.next(), entries.next()) else {
                return Err(wrong());
            };
            parts.push(part.clone());
            inner = value;
        }
        let behind = parts.pop();
        match behind.as_deref() == Some(BEHIND) && !parts.is_empty() {
            true => Ok(Self(parts)),
            false => Err(wrong()),
        }
    }
}

/// The parts with dots between them.
impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Sets a key, in tables that are made where there are none.
///
/// # Errors
/// The part that is there and is no table.
pub fn set(profile: &mut Table, key: &KeyPath, value: &Value) -> Result<(), String> {
    let Some((last, tables)) = key.0.split_last() else {
        return Ok(());
    };
    let mut at = profile;
    for part in tables {
        let empty = || toml::Value::Table(Table::new());
        let inner = at.entry(part.clone()).or_insert_with(empty);
        at = inner
            .as_table_mut()
            .ok_or_else(|| format!("{key} cannot be set: {part} is no table in it"))?;
    }
    at.insert(last.clone(), value.clone().into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> KeyPath {
        text.parse().unwrap()
    }

    #[test]
    fn a_key_is_read_as_toml_has_it() {
        assert_eq!(key("a.b").0, ["a", "b"]);
        assert_eq!(key("calls.\"x.y\".n").0, ["calls", "x.y", "n"]);
        assert_eq!(key("calls.\"x.y\".n").to_string(), "calls.x.y.n");
        for wrong in [
            "", ".", "a.", "a b", "[a]", "a = 1\nb", "a = 0 #", "a = {b", "# a",
        ] {
            let error = wrong.parse::<KeyPath>().unwrap_err();
            assert!(error.contains("no key of a profile"), "{error}");
        }
    }

    #[test]
    fn keys_are_set_over_what_is_there() {
        let mut profile: Table = "version = 1\n[cpu]\nratio = 2.0\nother = 3"
            .parse()
            .unwrap();
        set(&mut profile, &key("cpu.ratio"), &Value::Number(4.5)).unwrap();
        set(&mut profile, &key("calls.part.n"), &Value::Whole(7)).unwrap();
        let expected = "version = 1\n[cpu]\nratio = 4.5\nother = 3\n[calls.part]\nn = 7";
        assert_eq!(profile, expected.parse().unwrap());
        let error = set(&mut profile, &key("version.x"), &Value::Whole(7)).unwrap_err();
        assert_eq!(error, "version.x cannot be set: version is no table in it");
    }
}
