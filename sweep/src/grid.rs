//! The points of a sweep.

use crate::SweepError;
use crate::file::{Axis, BYTES_MAX, Sets, Sweep};
use crate::names::KEY;
use crate::profile::set;
use crate::value::Value;
use gil_run_support::{settings, text};
use serde::ser::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use toml::Table;

/// Most points of a sweep: each is a file in one folder.
pub const POINTS_MAX: usize = 100_000;

/// Bytes of a hash that a key has, in hexadecimal digits.
const KEY_BYTES: usize = 10;

/// The points: all combinations of the axes' values. The last axis changes from point to
/// point.
#[derive(Debug)]
pub struct Grid<'a> {
    sweep: &'a Sweep,
    /// What keys are set over, by the profiles' paths; the path of none is empty.
    profiles: BTreeMap<String, Table>,
    keys: Vec<String>,
}

/// A point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its number, from 1 on.
    pub number: usize,
    /// What it is known by.
    pub key: String,
    /// The axes' values.
    pub axes: Axes,
    /// The options of `gil run`, but for what a sweep adds.
    pub options: Vec<String>,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// The text of its board's profile, if it has one of its own.
    pub profile: Option<String>,
}

/// Values by the names of their axes, in the axes' order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes(pub Vec<(String, Value)>);

impl Serialize for Axes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Point {
    /// It in a sentence: its number and its axes.
    pub fn shown(&self) -> String {
        let axes = self.axes.0.iter();
        let axes: Vec<_> = axes
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("point {} ({})", self.number, axes.join(", "))
    }

    /// What follows `gil run` and what a sweep adds.
    pub fn command(&self) -> impl Iterator<Item = &str> {
        let program = self.program.iter().map(String::as_str);
        let options = self.options.iter().map(String::as_str);
        options.chain(["--"]).chain(program)
    }
}

impl<'a> Grid<'a> {
    /// The grid of a sweep. Keys of profiles are set over `blank` if the file names no
    /// profile.
    ///
    /// # Errors
    /// [`SweepError::Many`], and profiles that cannot be used.
    pub fn new(sweep: &'a Sweep, blank: &str) -> Result<Self, SweepError> {
        let len = len(sweep)?;
        let mut grid = Self {
            sweep,
            profiles: BTreeMap::new(),
            keys: Vec::new(),
        };
        for number in 1..=len {
            grid.read_profile(number, blank)?;
            let point = grid.unnamed(number)?;
            grid.keys.push(point.key);
        }
        Ok(grid)
    }

    /// The sweep.
    pub fn sweep(&self) -> &'a Sweep {
        self.sweep
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none; a sweep has some.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The points' keys, in the order of their numbers.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// A point by its number.
    ///
    /// # Errors
    /// [`SweepError::NoPoint`], or its profile.
    pub fn point(&self, number: usize) -> Result<Point, SweepError> {
        let last = self.len();
        if !(1..=last).contains(&number) {
            return Err(SweepError::NoPoint { number, last });
        }
        let mut point = self.unnamed(number)?;
        let place = format!("{{{KEY}}}");
        for text in point.options.iter_mut().chain(&mut point.program) {
            *text = text.replace(&place, &point.key);
        }
        Ok(point)
    }

    /// One point for each value of each axis: what is wrong with a value is wrong there.
    ///
    /// # Errors
    /// Those of [`Grid::point`].
    pub fn samples(&self) -> impl Iterator<Item = Result<Point, SweepError>> {
        let mut step = self.len();
        let steps = self.sweep.axes.iter().map(move |axis| {
            step /= axis.values.len();
            (step, axis.values.len())
        });
        let numbers = steps.flat_map(|(step, values)| (1..values).map(move |at| 1 + at * step));
        std::iter::once(1)
            .chain(numbers)
            .map(|number| self.point(number))
    }

    /// The values of a point's axes.
    pub fn axes(&self, number: usize) -> Axes {
        let values = self.values(number).into_iter();
        Axes(
            values
                .map(|(axis, value)| (axis.name.clone(), value.clone()))
                .collect(),
        )
    }

    fn values(&self, number: usize) -> Vec<(&'a Axis, &'a Value)> {
        let mut rest = number.saturating_sub(1);
        let axes = self.sweep.axes.iter().rev();
        let mut values: Vec<_> = axes
            .map(|axis| {
                let at = rest % axis.values.len();
                rest /= axis.values.len();
                (axis, &axis.values[at])
            })
            .collect();
        values.reverse();
        values
    }

    /// A point whose key is not in its own texts yet.
    fn unnamed(&self, number: usize) -> Result<Point, SweepError> {
        let values = self.values(number);
        let fill = |texts: &[String]| texts.iter().map(|text| filled(text, &values)).collect();
        let mut options: Vec<String> = fill(&self.sweep.options);
        options.extend(values.iter().flat_map(|(axis, value)| given(axis, value)));
        let mut point = Point {
            number,
            key: String::new(),
            axes: self.axes(number),
            options,
            program: fill(&self.sweep.program),
            profile: None,
        };
        point.profile = self.profile(&point, &values)?;
        point.key = key(&point);
        Ok(point)
    }

    fn profile(
        &self,
        point: &Point,
        values: &[(&Axis, &Value)],
    ) -> Result<Option<String>, SweepError> {
        let path = self.profile_path(values);
        let Some(base) = path.and_then(|path| self.profiles.get(&path)) else {
            return Ok(None);
        };
        let wrong = |what: String| SweepError::Profile {
            point: point.shown(),
            what,
        };
        let mut table = base.clone();
        for (axis, value) in values {
            if let Sets::Key(key) = &axis.sets {
                set(&mut table, key, value).map_err(wrong)?;
            }
        }
        let text = toml::to_string(&table);
        text.map(Some).map_err(|error| wrong(error.to_string()))
    }

    /// Where the profile is that keys are set over; empty if a blank one is.
    fn profile_path(&self, values: &[(&Axis, &Value)]) -> Option<String> {
        let has_keys = values
            .iter()
            .any(|(axis, _)| matches!(axis.sets, Sets::Key(_)));
        match &self.sweep.profile {
            Some(path) => Some(filled(path, values)),
            None => has_keys.then(String::new),
        }
    }

    fn read_profile(&mut self, number: usize, blank: &str) -> Result<(), SweepError> {
        let values = self.values(number);
        let Some(name) = self.profile_path(&values) else {
            return Ok(());
        };
        if self.profiles.contains_key(&name) {
            return Ok(());
        }
        let path = self.sweep.folder().join(&name);
        let text = match name.as_str() {
            "" => blank.to_owned(),
            _ => text::read(&path, BYTES_MAX).map_err(|source| SweepError::read(&path, source))?,
        };
        let table = text
            .parse()
            .map_err(|error: toml::de::Error| SweepError::File {
                path,
                what: format!("as a profile: {}", settings::fault(&text, &error)),
            })?;
        self.profiles.insert(name, table);
        Ok(())
    }
}

/// How many points there are.
fn len(sweep: &Sweep) -> Result<usize, SweepError> {
    let mut lens = sweep.axes.iter().map(|axis| axis.values.len());
    let len = lens.try_fold(1_usize, usize::checked_mul);
    match len {
        Some(len) if len <= POINTS_MAX => Ok(len),
        _ => Err(SweepError::Many {
            path: sweep.path.clone(),
            points: len.map_or("more than can be counted".into(), |len| len.to_string()),
        }),
    }
}

/// A text in which axes' names in braces are their values. A value is not looked into.
fn filled(text: &str, values: &[(&Axis, &Value)]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        filled += before;
        let named = values.iter().find_map(|(axis, value)| {
            let place = from[1..].strip_prefix(axis.name.as_str())?;
            Some((value, place.strip_prefix('}')?))
        });
        rest = match named {
            Some((value, behind)) => {
                let _ = write!(filled, "{value}");
                behind
            }
            None => {
                filled.push('{');
                &from[1..]
            }
        };
    }
    filled + rest
}

/// The options that a value of an axis gives.
fn given(axis: &Axis, value: &Value) -> Vec<String> {
    match (&axis.sets, value) {
        (Sets::Text | Sets::Key(_), _) => Vec::new(),
        (Sets::Variable(name), _) => vec![format!("--env={name}={value}")],
        (Sets::Option(option), Value::Flag(true)) => vec![option.clone()],
        (Sets::Option(_), Value::Flag(false)) => Vec::new(),
        (Sets::Option(option), _) if option.starts_with("--") => vec![format!("{option}={value}")],
        (Sets::Option(option), _) => vec![option.clone(), value.to_string()],
    }
}

/// The hash of what makes a point: two points of a sweep differ in an axis' value.
fn key(point: &Point) -> String {
    let parts = (
        &point.axes.0,
        &point.options,
        &point.program,
        &point.profile,
    );
    let text = serde_json::to_vec(&parts).unwrap_or_default();
    let hash = Sha256::digest(text);
    let mut key = String::new();
    for byte in &hash[..KEY_BYTES] {
        let _ = write!(key, "{byte:02x}");
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    const TEXT: &str = r#"
version = 1
program = ["./p", "{size}{mode}", "${HOME} {", "{key}"]
options = ["--timeout=9"]
[[axis]]
name = "size"
values = [1, 11]
[[axis]]
name = "mode"
values = [1, 11, "{size}"]
[[axis]]
option = "--cpu"
values = ["a", "-b"]
[[axis]]
option = "--count"
values = [false, true]
[[axis]]
profile = "cpu.ratio"
values = [1.0, 2.0]
"#;

    fn sweep(text: &str) -> Sweep {
        Sweep::parse(Path::new("/none/s.toml"), text).unwrap()
    }

    #[test]
    fn all_combinations_are_points_and_each_has_a_key() {
        let sweep = sweep(TEXT);
        let grid = Grid::new(&sweep, "version = 1").unwrap();
        assert_eq!(grid.len(), 48);
        let keys: BTreeSet<_> = grid.keys().iter().collect();
        assert_eq!(keys.len(), 48);
        let first = grid.point(1).unwrap();
        assert_eq!(first.options, ["--timeout=9", "--cpu=a"]);
        assert_eq!(first.program, ["./p", "11", "${HOME} {", &grid.keys()[0]]);
        assert_eq!(
            first.profile.as_deref(),
            Some("version = 1\n\n[cpu]\nratio = 1.0\n")
        );
        let last = grid.point(48).unwrap();
        assert_eq!(last.options, ["--timeout=9", "--cpu=-b", "--count"]);
        // A value's own braces are text.
        assert_eq!(last.program[1], "11{size}");
        assert_eq!(
            last.shown(),
            "point 48 (size=11, mode={size}, cpu=-b, count=true, cpu.ratio=2.0)"
        );
        for none in [0, 49] {
            let error = grid.point(none).unwrap_err();
            assert!(matches!(error, SweepError::NoPoint { last: 48, .. }));
        }
    }

    #[test]
    fn samples_have_every_value_of_every_axis() {
        let sweep = sweep(TEXT);
        let grid = Grid::new(&sweep, "version = 1").unwrap();
        let samples: Vec<_> = grid.samples().map(Result::unwrap).collect();
        assert_eq!(samples.len(), 1 + 1 + 2 + 1 + 1 + 1);
        for axis in &sweep.axes {
            for value in &axis.values {
                let has =
                    |point: &Point| point.axes.0.contains(&(axis.name.clone(), value.clone()));
                assert!(samples.iter().any(has), "{} {value}", axis.name);
            }
        }
    }

    #[test]
    fn a_value_more_leaves_the_other_points_their_keys() {
        let sweep_of = |values: &str| sweep(&TEXT.replace("[1, 11]\n[[axis]]\nname", values));
        let more = sweep_of("[0, 1, 11]\n[[axis]]\nname");
        let some = sweep(TEXT);
        let more = Grid::new(&more, "version = 1").unwrap();
        let some = Grid::new(&some, "version = 1").unwrap();
        let all: BTreeSet<_> = more.keys().iter().collect();
        assert_eq!(all.len(), 72);
        assert!(some.keys().iter().all(|key| all.contains(key)));
        // Another profile below makes others.
        let sweep = sweep(TEXT);
        let other = Grid::new(&sweep, "version = 2").unwrap();
        assert!(other.keys().iter().all(|key| !all.contains(key)));
    }

    #[test]
    fn a_million_points_are_refused() {
        let values: Vec<_> = (0..1000).map(|at| at.to_string()).collect();
        let values = values.join(",");
        let axis = |name: &str| format!("[[axis]]\nname = \"{name}\"\nvalues = [{values}]\n");
        let head = "version = 1\nprogram = [\"{a}{b}{c}{d}{e}{f}{g}\"]\n";
        let two = sweep(&format!("{head}{}{}", axis("a"), axis("b")));
        let error = Grid::new(&two, "").unwrap_err().to_string();
        assert!(error.contains("has 1000000 points"), "{error}");
        let seven = ["a", "b", "c", "d", "e", "f", "g"].map(axis).concat();
        let seven = sweep(&format!("{head}{seven}"));
        let error = Grid::new(&seven, "").unwrap_err().to_string();
        assert!(error.contains("more than can be counted"), "{error}");
    }

    #[test]
    fn profiles_that_cannot_be_used_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        let text = TEXT.replace("options", "profile = \"{size}.toml\"\noptions");
        let sweep = Sweep::parse(&path, &text).unwrap();
        let fails = || Grid::new(&sweep, "").unwrap_err().to_string();
        assert!(fails().contains("1.toml cannot be read"), "{}", fails());
        std::fs::write(folder.path().join("1.toml"), "version = ").unwrap();
        assert!(fails().contains("as a profile: "), "{}", fails());
        std::fs::write(folder.path().join("1.toml"), "cpu = 3").unwrap();
        assert!(fails().contains("cpu is no table in it"), "{}", fails());
        assert!(fails().contains("point 1 (size=1, "), "{}", fails());
        for name in ["1.toml", "11.toml"] {
            std::fs::write(folder.path().join(name), format!("# {name}\nx = 1")).unwrap();
        }
        let grid = Grid::new(&sweep, "").unwrap();
        let profile = grid.point(48).unwrap().profile;
        assert_eq!(profile.as_deref(), Some("x = 1\n\n[cpu]\nratio = 2.0\n"));
    }
}
