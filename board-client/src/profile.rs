//! A board's profile: what `gil calibrate` measured on it, for `gil run
//! --board-profile`. A TOML file:
//!
//! ```toml
//! version = 1
//!
//! [contention]
//! factor = 2.095         # the median of the repetitions
//! least = 2.061
//! most = 2.17
//! repetitions = 20
//! processors = 4         # that were at work at once
//! jobs = 640             # that were measured
//! device = "Mali-T628"
//!
//! [cpu]
//! ratio = 2.5            # the target's CPU takes so many times as long as the board's
//!
//! [calls.gles]           # by the API's name
//! submit_ns = 5000       # for which the CPU submits an operation, one after the other
//! launch_ns = 31000      # from an operation's submission to its start
//! gap_ns = 4000          # from the end of what it waits for to its start
//! wake_ns = 20000        # to a start after a pause, besides,
//! idle_ns = 500000       # of so long
//! completion_ns = 6000   # from its end until a thread that waits for it goes on
//! post_ns = 180          # each call that nobody waits for takes so much less than on the board's CPU
//! scale = 1.0            # its duration is so many times the measured one,
//! offset_ns = 0          # and so much longer
//! repetitions = 20
//! device = "Mali-T628"
//!
//! [calls.gles.fit]       # how sure scale and offset are, if a fit found them
//! programs = 10
//! scale_within = 0.02    # with 95 % confidence
//! offset_within_ns = 310
//! left_out = 10          # programs that the fit is not over
//! mean_error = 0.031     # of these, as parts of their times
//! worst_error = 0.08
//!
//! [board]                # what it has, and
//! gpu_mhz = 600
//! cores = 4              # of the GPU
//! memory_gb_s = 12.8
//! cpu_mhz = 2000
//!
//! [target]               # what the target has instead
//! gpu_mhz = 800
//!
//! [parts.gles]           # parts of an operation's time that these change
//! cpu = 0.05
//! gpu = 0.9              # by clock and cores; at the same time, so that the longest counts,
//! serial = 0.2           # by the clock alone,
//! memory = 0.6           # and by the memory's bandwidth
//!
//! [[governor]]           # clocks from a moment of the guest's time on
//! from_ms = 2500
//! gpu_mhz = 300
//!
//! [guest_governor]       # or: what the guest may set the GPU's clock to
//! gpu_mhz = [300, 600, 800]
//!
//! [copies.gles]          # as the target's bus does them
//! to = { latency_ns = 9000, gb_s = 3.2 }
//! from = { latency_ns = 9000, gb_s = 2.8 }
//! ```
//!
//! What is absent changes nothing.

mod guest_governor;
mod machine;

pub use guest_governor::{GuestGovernor, RATES_MAX};
pub use machine::{
    Bus, CORES_MAX, Copies, GOVERNOR_MAX, Machine, MachineError, Parts, Quantity, Step, Targeted,
};

use gil_run_support::{settings, text};
use gil_wire::api;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Most bytes of a profile that are read.
const BYTES_MAX: u64 = 4 << 20;

/// Version of the layout; raised when a key changes its meaning or goes.
pub const VERSION: u32 = 1;

/// A board's profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`VERSION`].
    pub version: u32,
    /// How a GPU's processors slow each other down, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<Contention>,
    /// The target's CPU beside the board's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// What calls cost, by the names of APIs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub calls: BTreeMap<String, Calls>,
    /// What the board had when it was measured.
    #[serde(default, skip_serializing_if = "is_default")]
    pub board: Machine,
    /// What the target has instead.
    #[serde(default, skip_serializing_if = "is_default")]
    pub target: Machine,
    /// Parts of operations' times, by the names of APIs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Parts>,
    /// The target's bus, by the names of APIs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: BTreeMap<String, Copies>,
    /// When the target's clocks change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub governor: Vec<Step>,
    /// What the guest may set the target's clocks to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest_governor: Option<GuestGovernor>,
}

fn is_default(machine: &Machine) -> bool {
    *machine == Machine::default()
}

/// The target's CPU beside the board's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// How many times as long the target's CPU takes for what a call does on the CPU: above 0.
    pub ratio: f64,
}

/// What an API's calls cost beside the time of their operations, and how it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calls {
    /// Nanoseconds for which the CPU submits an operation; those of one queue are submitted one
    /// after the other.
    pub submit_ns: u64,
    /// Nanoseconds from an operation's submission until it starts on an idle device.
    pub launch_ns: u64,
    /// Nanoseconds from the end of what an operation waits for until it starts.
    pub gap_ns: u64,
    /// Nanoseconds that the first operation after a pause waits besides.
    pub wake_ns: u64,
    /// Nanoseconds without an operation that are a pause.
    pub idle_ns: u64,
    /// Nanoseconds from an operation's end until a thread that waits for it goes on.
    pub completion_ns: u64,
    /// Nanoseconds by which each call that nobody waits for takes less than on the board's CPU,
    /// where something else was at work between one and the next.
    pub post_ns: u64,
    /// An operation lasts so many times what the board's timers say: above 0.
    pub scale: f64,
    /// Nanoseconds that are added to it.
    pub offset_ns: i64,
    /// How many times it was measured.
    pub repetitions: u32,
    /// The device, as its driver calls it.
    pub device: String,
    /// How scale and offset were found, if by a fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<Fitted>,
}

/// How sure scale and offset are, and how well they fit programs that the fit is not over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// Programs that the fit is over.
    pub programs: u32,
    /// With 95 % confidence the scale is within so much of the one above; 0 if none was fitted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub scale_within: f64,
    /// The same of the offset, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub offset_within_ns: f64,
    /// Programs that the fit is not over.
    pub left_out: u32,
    /// The mean of their errors without signs, as parts of their times.
    pub mean_error: f64,
    /// The greatest of them.
    pub worst_error: f64,
}

fn is_zero(within: &f64) -> bool {
    *within == 0.0
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            submit_ns: 0,
            launch_ns: 0,
            gap_ns: 0,
            wake_ns: 0,
            idle_ns: 0,
            completion_ns: 0,
            post_ns: 0,
            scale: 1.0,
            offset_ns: 0,
            repetitions: 0,
            device: String::new(),
            fit: None,
        }
    }
}

/// The contention of a GPU's processors, and how it was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contention {
    /// How many times as long a job takes while all processors are at work as alone: the
    /// median of the repetitions, from 1 on.
    pub factor: f64,
    /// The least of the repetitions; like what follows, 0 in a profile written by hand.
    #[serde(default)]
    pub least: f64,
    /// The greatest.
    #[serde(default)]
    pub most: f64,
    /// How many times it was measured.
    #[serde(default)]
    pub repetitions: u32,
    /// Processors that were at work at once.
    #[serde(default)]
    pub processors: u32,
    /// Jobs that were measured, of both kinds.
    #[serde(default)]
    pub jobs: u64,
    /// The device, as its driver calls it.
    #[serde(default)]
    pub device: String,
}

/// The greatest contention factor.
const FACTOR_MOST: f64 = 1e6;

/// Why a profile cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The file.
    #[error("the board's profile {} cannot be read ({source}): name a file that `gil calibrate` wrote", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Its content.
    #[error("{} is no board's profile ({what}): correct it, or name a file that `gil calibrate` wrote", path.display())]
    Content {
        /// Its path.
        path: PathBuf,
        /// The problem with it.
        what: String,
    },
    /// Another gil's.
    #[error("{} has version {found} of the board's profile, and this gil reads {VERSION}: calibrate with this gil", path.display())]
    Version {
        /// Its path.
        path: PathBuf,
        /// The version in it.
        found: i64,
    },
    /// A factor that cannot be.
    #[error("{} has the contention factor {factor}: it must be a number from 1 to 1000000", path.display())]
    Factor {
        /// Its path.
        path: PathBuf,
        /// The factor in it.
        factor: f64,
    },
    /// Another number that cannot be.
    #[error("{} has {key} = {value}: it must be a finite number above 0", path.display())]
    Number {
        /// Its path.
        path: PathBuf,
        /// The key.
        key: String,
        /// The number in it.
        value: f64,
    },
    /// An API that there is not.
    #[error("{} has [{name}], and there is no API of that name: the names are those of `gil run --board API=…`, such as gles", path.display())]
    Api {
        /// Its path.
        path: PathBuf,
        /// The name in it, with its part.
        name: String,
    },
    /// What it says of board and target.
    #[error("{} has {source}", path.display())]
    Machine {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        source: MachineError,
    },
}

impl Profile {
    /// One of a board on which nothing was measured.
    pub fn empty() -> Self {
        Self {
            version: VERSION,
            contention: None,
            cpu: None,
            calls: BTreeMap::new(),
            board: Machine::default(),
            target: Machine::default(),
            parts: BTreeMap::new(),
            copies: BTreeMap::new(),
            governor: Vec::new(),
            guest_governor: None,
        }
    }

    /// Reads a profile, and checks it.
    ///
    /// # Errors
    /// [`ProfileError`] names the file.
    pub fn read(path: &Path) -> Result<Self, ProfileError> {
        let text = text::read(path, BYTES_MAX).map_err(|source| match source.kind() {
            // The rest of it may say what counts.
            io::ErrorKind::FileTooLarge => ProfileError::Content {
                path: path.into(),
                what: format!("it has more than {BYTES_MAX} bytes"),
            },
            _ => ProfileError::File {
                path: path.into(),
                source,
            },
        })?;
        let content = |error: toml::de::Error| ProfileError::Content {
            path: path.into(),
            what: settings::fault(&text, &error),
        };
        let table: toml::Table = text.parse().map_err(content)?;
        if let Some(found) = table.get("version").and_then(toml::Value::as_integer)
            && found != i64::from(VERSION)
        {
            let path = path.into();
            return Err(ProfileError::Version { path, found });
        }
        // From the text again: what is wrong in a table has no line.
        let profile: Self = toml::from_str(&text).map_err(content)?;
        profile.check(path)?;
        let factor = profile.factor();
        match factor.is_none_or(|factor| (1.0..=FACTOR_MOST).contains(&factor)) {
            true => Ok(profile),
            false => Err(ProfileError::Factor {
                path: path.into(),
                factor: factor.unwrap_or_default(),
            }),
        }
    }

    /// Whether the numbers and names can be, in the profile of that file.
    ///
    /// # Errors
    /// [`ProfileError`] names the file.
    pub fn check(&self, path: &Path) -> Result<(), ProfileError> {
        let path = || path.into();
        let parts = [
            ("calls", self.calls.keys().collect::<Vec<_>>()),
            ("parts", self.parts.keys().collect()),
            ("copies", self.copies.keys().collect()),
        ];
        for (part, names) in parts {
            let unknown = names.into_iter().find(|name| api::named(name).is_none());
            if let Some(name) = unknown {
                let name = format!("{part}.{name}");
                return Err(ProfileError::Api { path: path(), name });
            }
        }
        let ratio = self.cpu.iter().map(|cpu| ("cpu.ratio".into(), cpu.ratio));
        let scales = self.calls.iter();
        let scales = scales.map(|(name, calls)| (format!("calls.{name}.scale"), calls.scale));
        let bounds = self.contention.iter().flat_map(|it| {
            [("contention.least", it.least), ("contention.most", it.most)]
                .map(|(key, value)| (key.into(), value))
        });
        // A factor is checked by itself; bounds that were left out are 0.
        let bounds = bounds.filter(|(_, value)| *value != 0.0);
        let is_wrong = |value: f64| !(value.is_finite() && value > 0.0);
        let mut all = ratio.chain(scales).chain(bounds);
        if let Some((key, value)) = all.find(|(_, value)| is_wrong(*value)) {
            return Err(ProfileError::Number {
                path: path(),
                key,
                value,
            });
        }
        self.check_machines()
            .map_err(|source| ProfileError::Machine {
                path: path(),
                source,
            })
    }

    /// What the target adds, as the host interface's setting `costs` has it; `None` for
    /// nothing.
    pub fn costs(&self) -> Option<String> {
        let mut text = String::new();
        let slower = self.cpu_ratio();
        let ratio = self.cpu.as_ref().map_or(1.0, |cpu| cpu.ratio) * slower;
        if self.cpu.is_some() || ratio != 1.0 {
            let _ = write!(text, "+cpu:{ratio}");
        }
        for (name, calls) in &self.calls {
            let Calls {
                submit_ns,
                launch_ns,
                gap_ns,
                wake_ns,
                idle_ns,
                completion_ns,
                post_ns,
                scale,
                offset_ns,
                ..
            } = calls;
            // The driver's work on the CPU.
            let [submit_ns, launch_ns, gap_ns, wake_ns, completion_ns] =
                [submit_ns, launch_ns, gap_ns, wake_ns, completion_ns]
                    .map(|ns| (*ns as f64 * slower).round() as u64);
            let _ = write!(
                text,
                "+{name}.launch:{launch_ns}+{name}.gap:{gap_ns}+{name}.completion:{completion_ns}\
                 +{name}.scale:{scale}+{name}.offset:{offset_ns}"
            );
            if submit_ns > 0 {
                let _ = write!(text, "+{name}.submit:{submit_ns}");
            }
            if *post_ns > 0 {
                let _ = write!(text, "+{name}.post:{post_ns}");
            }
            if wake_ns > 0 {
                let _ = write!(text, "+{name}.wake:{idle_ns}/{wake_ns}");
            }
        }
        self.write_machines(&mut text);
        text.strip_prefix('+').map(Into::into)
    }

    /// The names of the APIs that it says something of.
    pub fn apis(&self) -> BTreeSet<&str> {
        let all = self.calls.keys().chain(self.parts.keys());
        all.chain(self.copies.keys()).map(String::as_str).collect()
    }

    /// The contention factor, if there is one.
    pub fn factor(&self) -> Option<f64> {
        self.contention.as_ref().map(|it| it.factor)
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let head =
            "# A board's profile, for `gil run --board-profile`. `gil calibrate` wrote it.\n";
        format!("{head}{}", toml::to_string(self).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn measured() -> Profile {
        let contention = Contention {
            factor: 2.095,
            least: 2.061,
            most: 2.17,
            repetitions: 20,
            processors: 4,
            jobs: 640,
            device: "Mali \"T628\"".into(),
        };
        let calls = Calls {
            submit_ns: 5_000,
            launch_ns: 31_000,
            gap_ns: 4_000,
            wake_ns: 20_000,
            idle_ns: 500_000,
            completion_ns: 6_000,
            post_ns: 180,
            scale: 1.02,
            offset_ns: -40,
            repetitions: 20,
            device: "Mali".into(),
            fit: Some(Fitted {
                programs: 10,
                scale_within: 0.02,
                offset_within_ns: 310.5,
                left_out: 10,
                mean_error: 0.031,
                worst_error: 0.08,
            }),
        };
        Profile {
            contention: Some(contention),
            cpu: Some(Cpu { ratio: 2.5 }),
            calls: [("opencl".into(), calls)].into(),
            ..Profile::empty()
        }
    }

    #[test]
    fn a_profile_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        for profile in [measured(), Profile::empty()] {
            fs::write(&path, profile.text()).unwrap();
            assert_eq!(Profile::read(&path).unwrap(), profile);
        }
    }

    #[test]
    fn the_setting_has_all_costs() {
        let costs = "cpu:2.5+opencl.launch:31000+opencl.gap:4000+opencl.completion:6000\
                     +opencl.scale:1.02+opencl.offset:-40+opencl.submit:5000+opencl.post:180+opencl.wake:500000/20000";
        assert_eq!(measured().costs().as_deref(), Some(costs));
        assert_eq!(Profile::empty().costs(), None);
    }

    #[test]
    fn parts_by_hand_may_be_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        fs::write(&path, "version = 1\n[calls.gles]\ngap_ns = 7\n").unwrap();
        let costs = "gles.launch:0+gles.gap:7+gles.completion:0+gles.scale:1+gles.offset:0";
        assert_eq!(
            Profile::read(&path).unwrap().costs().as_deref(),
            Some(costs)
        );
    }

    /// What is said of the profile with this in place of that.
    fn refused(from: &str, to: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board.toml");
        let text = measured().text();
        assert!(text.contains(from), "{text}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let error = Profile::read(&path).unwrap_err().to_string();
        assert!(error.contains("board.toml"), "{error}");
        assert!(!error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn each_fault_of_a_profile_is_one_sentence() {
        let missing = Profile::read(Path::new("/none/board.toml")).unwrap_err();
        assert!(matches!(missing, ProfileError::File { .. }), "{missing}");
        for (from, to, part) in [
            (
                "version = 1",
                "version = 2",
                "has version 2 of the board's profile, and this gil reads 1",
            ),
            ("version = 1", "", "missing field `version`"),
            ("version = 1", "version = \"1\"", "invalid type: string"),
            ("version = 1", "version = ", "is no board's profile"),
            (
                "factor = 2.095",
                "factor = 0.99",
                "the contention factor 0.99",
            ),
            (
                "factor = 2.095",
                "factor = inf",
                "the contention factor inf",
            ),
            (
                "factor = 2.095",
                "factor = nan",
                "the contention factor NaN",
            ),
            ("factor = 2.095", "faktor = 2.095", "unknown field `faktor`"),
            ("[contention]", "[clocks]", "unknown field `clocks`"),
            (
                "[contention]",
                "[board]\ncores = 0\n[contention]",
                "has board.cores = 0: it",
            ),
            (
                "[contention]",
                "[copies.egl3]\n[contention]",
                "has [copies.egl3], and",
            ),
            (
                "[contention]",
                "[target]\ncores = 2\n[contention]",
                "no [board] cores",
            ),
            ("ratio = 2.5", "ratio = 0.0", "has cpu.ratio = 0: it"),
            ("ratio = 2.5", "ratio = -inf", "has cpu.ratio = -inf: it"),
            (
                "scale = 1.02",
                "scale = nan",
                "calls.opencl.scale = NaN: it",
            ),
            (
                "calls.opencl",
                "calls.opengl",
                "has [calls.opengl], and there is no API",
            ),
            (
                "launch_ns = 31000",
                "launch_ns = -1",
                "invalid value: integer `-1`",
            ),
            (
                "launch_ns = 31000",
                "launch_us = 31",
                "unknown field `launch_us`",
            ),
        ] {
            let error = refused(from, to);
            assert!(error.contains(part), "{error}");
        }
    }
}
