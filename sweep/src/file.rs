//! The sweep's file:
//!
//! ```toml
//! version = 1
//! program = ["./matmul", "{size}"]          # as behind `gil run`
//! options = ["--board=replay:{size}.trace"] # of `gil run`, in front of the program
//! profile = "board.toml"                    # what keys of a profile are set over
//!
//! [[axis]]
//! name = "size"                  # {size} above
//! values = [64, 128, 256]
//!
//! [[axis]]
//! option = "--cpu"               # an option of `gil run`
//! values = ["cortex-a53", "cortex-a57"]
//!
//! [[axis]]
//! profile = "cpu.ratio"          # a key of the board's profile
//! values = [1.0, 2.5]
//!
//! [[axis]]
//! env = "MODE"                   # a variable of the program
//! values = ["fast", "exact"]
//!
//! [plot]
//! column = "simulated_ns"
//! x = "size"
//! lines = "cpu"
//! ```
//!
//! Paths begin at the file's folder.

use crate::SweepError;
use crate::names;
use crate::profile::KeyPath;
use crate::value::Value;
use gil_run_support::{settings, text};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Version of the layout; raised when a key changes its meaning or goes.
pub const VERSION: i64 = 1;

/// Most bytes of a sweep's file, or of a profile.
pub(crate) const BYTES_MAX: u64 = 1 << 20;

/// Options of `gil run` that a sweep sets itself.
const OWN: [&str; 3] = ["--json", "--quiet", "-q"];

/// Options of `gil run` that name a file which the run writes.
const WRITTEN: [&str; 4] = ["--calls", "--keep", "--record", "--screen"];

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "version")]
    _version: i64,
    program: Vec<String>,
    #[serde(default)]
    options: Vec<String>,
    profile: Option<String>,
    #[serde(default)]
    axis: Vec<WrittenAxis>,
    plot: Option<Plot>,
}

/// An axis as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAxis {
    name: Option<String>,
    option: Option<String>,
    env: Option<String>,
    profile: Option<String>,
    values: Vec<toml::Value>,
}

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plot {
    /// A column of the table; simulated time if it is not said.
    pub column: Option<String>,
    /// The axis to the right; the first of several values if it is not said.
    pub x: Option<String>,
    /// An axis with a line for each value; the next of several values.
    pub lines: Option<String>,
}

/// What an axis changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sets {
    /// What stands in braces in the program, the options, and the profile's path.
    Text,
    /// An option of `gil run`.
    Option(String),
    /// A variable in the program's environment.
    Variable(String),
    /// A key of the board's profile.
    Key(KeyPath),
}

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its name, which is its column's.
    pub name: String,
    /// What it changes.
    pub sets: Sets,
    /// Its values, each once.
    pub values: Vec<Value>,
}

/// A sweep's file, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The file.
    pub path: PathBuf,
    /// The program and its arguments.
    pub program: Vec<String>,
    /// Options of `gil run`.
    pub options: Vec<String>,
    /// The profile's path, if one is given.
    pub profile: Option<String>,
    /// The axes; the last changes from point to point.
    pub axes: Vec<Axis>,
    /// What is drawn.
    pub plot: Plot,
}

impl Sweep {
    /// Reads a sweep's file, and checks it.
    ///
    /// # Errors
    /// [`SweepError`] names the file.
    pub fn read(path: &Path) -> Result<Self, SweepError> {
        let text = text::read(path, BYTES_MAX).map_err(|source| SweepError::read(path, source))?;
        Self::parse(path, &text)
    }

    /// The same of a file's text.
    ///
    /// # Errors
    /// [`SweepError`] names the file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, SweepError> {
        let wrong = |what: String| SweepError::File {
            path: path.into(),
            what,
        };
        let toml = |error: toml::de::Error| wrong(settings::fault(text, &error));
        let table: toml::Table = text.parse().map_err(toml)?;
        if let Some(found) = table.get("version").and_then(toml::Value::as_integer)
            && found != VERSION
        {
            let path = path.into();
            return Err(SweepError::Version { path, found });
        }
        // From the text again: what is wrong in a table has no line.
        let written: Written = toml::from_str(text).map_err(toml)?;
        let axes: Result<Vec<_>, _> = written.axis.into_iter().map(axis).collect();
        let sweep = Self {
            path: path.into(),
            program: written.program,
            options: written.options,
            profile: written.profile,
            axes: axes.map_err(wrong)?,
            plot: written.plot.unwrap_or_default(),
        };
        sweep.check().map_err(wrong)?;
        Ok(sweep)
    }

    /// The folder in which paths begin.
    pub fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// An axis by its name.
    pub fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }

    /// Texts in which names of axes may stand in braces.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let all = self.program.iter().chain(&self.options);
        all.chain(&self.profile)
    }

    fn check(&self) -> Result<(), String> {
        if self.program.is_empty() {
            return Err("program = [] has no program".into());
        }
        if self.axes.is_empty() {
            return Err("it has no [[axis]]: a single run needs no sweep".into());
        }
        let mut called = BTreeSet::new();
        for axis in &self.axes {
            if !called.insert(&axis.name) {
                return Err(format!("two axes are called {}", axis.name));
            }
            self.check_used(axis)?;
        }
        let set = |axis: &&Axis| matches!(axis.sets, Sets::Variable(_) | Sets::Key(_));
        let set: Vec<&Axis> = self.axes.iter().filter(set).collect();
        let same = set.iter().enumerate().find_map(|(at, one)| {
            let mut later = set[at + 1..].iter();
            later.find(|it| it.sets == one.sets).map(|it| (one, it))
        });
        if let Some((one, other)) = same {
            return Err(format!(
                "the axes {} and {} set the same, so that one would not count: leave one out",
                one.name, other.name
            ));
        }
        self.check_options()?;
        self.check_plot()
    }

    fn check_used(&self, axis: &Axis) -> Result<(), String> {
        let name = &axis.name;
        let place = format!("{{{name}}}");
        match axis.sets == Sets::Text && !self.texts().any(|text| text.contains(&place)) {
            true => Err(format!(
                "the axis {name} changes nothing: write {place} in program, options or profile, or what it sets: option, env or profile"
            )),
            false => Ok(()),
        }
    }

    fn check_options(&self) -> Result<(), String> {
        let of_axes = self.axes.iter().filter_map(|axis| match &axis.sets {
            Sets::Option(option) => Some(option),
            _ => None,
        });
        let name = |option: &str| option.split('=').next().unwrap_or_default().to_owned();
        let is_alone = self.axes.iter().all(|axis| axis.values.len() < 2);
        let files = self.options.iter().enumerate();
        let mut files = files.filter(|(_, option)| WRITTEN.contains(&name(option).as_str()));
        let one = files.find_map(|(at, option)| {
            let file = option.split_once('=').map(|(_, file)| file);
            let file = file.or(self.options.get(at + 1).map(String::as_str))?;
            (!file.contains('{')).then(|| (name(option), file))
        });
        if let Some((option, file)) = one.filter(|_| !is_alone) {
            return Err(format!(
                "{option} {file} is one file for all points: write {{key}} in its name"
            ));
        }
        let mut options = self.options.iter().chain(of_axes);
        match options.find(|option| OWN.contains(&name(option).as_str())) {
            Some(option) => Err(format!("{option} is what a sweep gives each run itself")),
            None => Ok(()),
        }
    }

    fn check_plot(&self) -> Result<(), String> {
        let axes = [("x", &self.plot.x), ("lines", &self.plot.lines)];
        for (key, name) in axes {
            if let Some(name) = name
                && self.axis(name).is_none()
            {
                return Err(format!("plot.{key} = {name:?} is no axis"));
            }
        }
        match &self.plot.column {
            Some(column) if !names::is_number(column) => Err(format!(
                "plot.column = {column:?} is no column of numbers: these are {}",
                names::numbers().collect::<Vec<_>>().join(", ")
            )),
            _ => Ok(()),
        }
    }
}

fn axis(written: WrittenAxis) -> Result<Axis, String> {
    let sets = sets(&written)?;
    let usual = match &sets {
        Sets::Text => return named(written.name.clone().unwrap_or_default(), sets, written),
        Sets::Option(option) => option.trim_start_matches('-').to_owned(),
        Sets::Variable(name) => name.clone(),
        Sets::Key(key) => key.to_string(),
    };
    named(written.name.clone().unwrap_or(usual), sets, written)
}

fn sets(written: &WrittenAxis) -> Result<Sets, String> {
    let WrittenAxis {
        name,
        option,
        env,
        profile,
        ..
    } = written;
    match (option, env, profile) {
        (None, None, None) if name.is_some() => Ok(Sets::Text),
        (Some(option), None, None) if is_option(option) => Ok(Sets::Option(option.clone())),
        (Some(option), None, None) => Err(format!(
            "{option:?} is no option: write it as for `gil run`, such as --cpu"
        )),
        (None, Some(name), None) if is_variable(name) => Ok(Sets::Variable(name.clone())),
        (None, Some(name), None) => Err(format!("{name:?} is no variable's name")),
        (None, None, Some(key)) => key.parse().map(Sets::Key),
        _ => Err("an axis has one of option, env and profile, or a name alone".into()),
    }
}

fn is_option(text: &str) -> bool {
    let name = text.trim_start_matches('-');
    text.starts_with('-') && !name.is_empty() && !text.contains(['=', '\0', ' ', '\n'])
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

/// Whether an axis may be called so: it names a column, and stands in braces.
fn is_name(name: &str) -> bool {
    let is_fit = |c: char| !c.is_control() && !"{}".contains(c);
    !name.is_empty() && name.chars().all(is_fit)
}

fn named(name: String, sets: Sets, written: WrittenAxis) -> Result<Axis, String> {
    if !is_name(&name) {
        return Err(format!(
            "an axis is called {name:?}: give it a name of letters"
        ));
    }
    if names::is_column(&name) {
        return Err(format!(
            "an axis is called {name}, as a column of the table: give it another name"
        ));
    }
    if written.values.is_empty() {
        return Err(format!("the axis {name} has no values"));
    }
    let values = written.values.into_iter().map(Value::try_from);
    let values: Result<Vec<_>, _> = values.collect();
    let values = values.map_err(|error| format!("the axis {name} {error}"))?;
    let mut seen = BTreeSet::new();
    match values.iter().find(|value| !seen.insert(value.to_string())) {
        Some(twice) => Err(format!("the axis {name} has the value {twice} twice")),
        None => Ok(Axis { name, sets, values }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: &str = r#"
version = 1
program = ["./matmul", "{size}"]
options = ["--board=replay:{size}.trace"]

[[axis]]
name = "size"
values = [64, 128]

[[axis]]
option = "--cpu"
values = ["cortex-a53", "cortex-a57"]

[[axis]]
profile = 'calls."part".scale'
values = [1.0, 2.5]

[[axis]]
env = "MODE"
values = ["fast"]

[plot]
x = "size"
"#;

    fn parse(text: &str) -> Result<Sweep, SweepError> {
        Sweep::parse(Path::new("some/sweep.toml"), text)
    }

    #[test]
    fn axes_have_names_and_values() {
        let sweep = parse(WHOLE).unwrap();
        let names: Vec<_> = sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
        assert_eq!(names, ["size", "cpu", "calls.part.scale", "MODE"]);
        assert_eq!(sweep.axes[0].values, [Value::Whole(64), Value::Whole(128)]);
        assert_eq!(sweep.folder(), Path::new("some"));
        assert_eq!(sweep.plot.x.as_deref(), Some("size"));
    }

    #[test]
    fn each_fault_is_one_sentence() {
        for (from, to, part) in [
            (
                "version = 1",
                "version = 2",
                "has version 2 of the sweep's file",
            ),
            ("version = 1", "", "missing field `version`"),
            ("version = 1", "version = ", "is no sweep"),
            ("options =", "option =", "unknown field `option`"),
            (
                "options = [",
                "options = [\"--record=a.trace\", ",
                "--record a.trace is one file for all points: write {key} in its name",
            ),
            ("x = \"size\"", "y = \"size\"", "unknown field `y`"),
            (
                "x = \"size\"",
                "x = \"width\"",
                "plot.x = \"width\" is no axis",
            ),
            (
                "x = \"size\"",
                "column = \"reason\"",
                "no column of numbers: these are exit_code, simulated_ns",
            ),
            (
                "values = [64, 128]",
                "values = []",
                "the axis size has no values",
            ),
            (
                "env = \"MODE\"",
                "name = \"other\"\nprofile = 'calls.\"part\".scale'",
                "set the same, so that one would not count",
            ),
            (
                "values = [64, 128]",
                "values = [64, nan]",
                "the axis size has the value NaN: numbers are finite",
            ),
            (
                "values = [64, 128]",
                "values = [64, inf]",
                "has the value inf",
            ),
            (
                "values = [64, 128]",
                "values = [64, [1]]",
                "a value that is a list",
            ),
            (
                "values = [64, 128]",
                "values = [64, 64]",
                "the axis size has the value 64 twice",
            ),
            ("values = [64, 128]", "", "missing field `values`"),
            (
                "name = \"size\"",
                "name = \"width\"",
                "the axis width changes nothing",
            ),
            (
                "name = \"size\"",
                "",
                "an axis has one of option, env and profile",
            ),
            (
                "name = \"size\"",
                "name = \"calls\"",
                "called calls, as a column of the table",
            ),
            (
                "\"--cpu\"",
                "\"cpu\"",
                "\"cpu\" is no option: write it as for `gil run`",
            ),
            (
                "\"--cpu\"",
                "\"--json\"",
                "--json is what a sweep gives each run itself",
            ),
            ("\"MODE\"", "\"A=B\"", "no variable's name"),
            ("\"MODE\"", "\"cpu\"", "two axes are called cpu"),
            (
                "'calls.\"part\".scale'",
                "'calls..scale'",
                "is no key of a profile",
            ),
            (
                "program = [\"./matmul\", \"{size}\"]",
                "program = []",
                "has no program",
            ),
        ] {
            assert!(WHOLE.contains(from), "{from}");
            let error = parse(&WHOLE.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(error.contains("sweep.toml"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
        let none = parse("version = 1\nprogram = [\"x\"]")
            .unwrap_err()
            .to_string();
        assert!(none.contains("has no [[axis]]"), "{none}");
    }

    proptest! {
        /// Parts of a file that are gone, twice there or changed.
        #[test]
        fn any_file_is_a_sweep_or_a_sentence(
            from in 0..WHOLE.len(),
            len in 0..40_usize,
            with in "[-a-z0-9=\"'{}\\[\\].\n# ]{0,12}",
        ) {
            let until = (from + len).min(WHOLE.len());
            let text = format!("{}{with}{}", &WHOLE[..from], &WHOLE[until..]);
            let made = parse(&text).and_then(|sweep| {
                let grid = crate::grid::Grid::new(&sweep, "version = 1")?;
                grid.point(1).map(drop)
            });
            if let Err(error) = made {
                let error = error.to_string();
                prop_assert!(!error.contains('\n'), "{}", error);
            }
        }
    }

    #[test]
    fn a_file_without_an_end_is_refused() {
        let error = Sweep::read(Path::new("/dev/zero")).unwrap_err();
        assert!(matches!(error, SweepError::Read { .. }), "{error}");
    }
}
