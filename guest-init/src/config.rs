//! What to run, as `gil run` wrote it into the guest's image.

use crate::Error;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The file's path in the guest.
pub const PATH: &str = "/etc/gil/run.json";
/// Default path of the driver in the image.
pub const MODULE: &str = "/usr/lib/gil/gil.ko";
/// Default folders in which programs are looked up.
const SEARCH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The program to run, and its environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Its environment, beside `PATH` and `HOME`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Its working folder.
    #[serde(default = "root")]
    pub cwd: PathBuf,
    /// The file that is its standard input; none: empty.
    #[serde(default)]
    pub stdin: Option<PathBuf>,
    /// Standard input that the host is asked for; none: [`Config::stdin`].
    #[serde(default)]
    pub input: Option<Live>,
    /// Folders of the host, by their numbers there.
    #[serde(default)]
    pub shares: Vec<Share>,
    /// What is copied to the host when the program has ended: each to a folder of
    /// its own, numbered behind `shares`.
    #[serde(default)]
    pub outputs: Vec<PathBuf>,
    /// The network; none: loopback alone.
    #[serde(default)]
    pub network: Option<Network>,
    /// The display; none: there is none.
    #[serde(default)]
    pub display: Option<Display>,
    /// The driver of a GPU; none: there is none.
    #[serde(default)]
    pub driver: Option<Driver>,
    /// gil's own driver.
    #[serde(default = "module")]
    pub module: String,
    /// The user it runs as; also its group.
    #[serde(default)]
    pub uid: u32,
    /// Seed of the guest's random numbers: other seeds, other runs.
    #[serde(default)]
    pub seed: u64,
}

/// How input that the host is asked for reaches the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Live {
    /// Through a pipe.
    Pipe,
    /// Through a terminal, which is the program's output, too.
    Terminal,
}

/// A network of the simulator's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Modules of the kernel, in the order in which they are loaded.
    pub modules: Vec<String>,
    /// Where the host's servers are if nothing else is reached; none: it leads outside.
    pub servers: Option<Ipv4Addr>,
}

/// A display of the simulator's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Display {
    /// Modules in the order in which they are loaded; the last one is gil's own.
    pub modules: Vec<String>,
    /// Microseconds of simulated time between pictures; 0: there are no such pictures.
    pub every_us: u64,
}

/// A driver of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// Modules in the order in which they are loaded.
    pub modules: Vec<String>,
    /// The driver as which the last one, gil's own, answers; none: all are the kernel's.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether it has the display.
    #[serde(default)]
    pub outputs: bool,
}

/// A folder of the host in the guest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Where it is mounted.
    pub at: PathBuf,
    /// Whether nothing can be changed there.
    #[serde(default)]
    pub read_only: bool,
}

fn root() -> PathBuf {
    "/".into()
}

fn module() -> String {
    MODULE.into()
}

impl Config {
    /// Reads and completes it.
    ///
    /// # Errors
    /// [`Error::ConfigRead`] and [`Error::ConfigParse`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read(path).map_err(|error| Error::ConfigRead {
            path: path.into(),
            error,
        })?;
        let mut config: Self =
            serde_json::from_slice(&text).map_err(|error| Error::ConfigParse {
                path: path.into(),
                error,
            })?;
        config.complete();
        Ok(config)
    }

    fn complete(&mut self) {
        for (name, value) in [("PATH", SEARCH), ("HOME", "/root")] {
            self.env.entry(name.into()).or_insert_with(|| value.into());
        }
    }

    /// The folders in which programs are looked for.
    pub fn search(&self) -> &str {
        self.env.get("PATH").map_or(SEARCH, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        std::fs::write(&path, text).unwrap();
        Config::read(&path)
    }

    #[test]
    fn little_is_needed() {
        let config = read(r#"{"argv": ["true"]}"#).unwrap();
        assert_eq!(config.cwd, Path::new("/"));
        assert_eq!(config.module, MODULE);
        assert_eq!(config.search(), SEARCH);
        assert_eq!(config.env["HOME"], "/root");
        assert_eq!((config.stdin, config.uid, config.input), (None, 0, None));
        assert!(config.shares.is_empty() && config.outputs.is_empty());
        let config = read(r#"{"argv": ["true"], "input": "terminal"}"#).unwrap();
        assert_eq!(config.input, Some(Live::Terminal));
    }

    #[test]
    fn what_is_said_stays() {
        let config = read(
            r#"{"argv": ["a", "b"], "env": {"PATH": "/x", "LANG": "C"}, "cwd": "/tmp",
                "stdin": "/in", "module": "/m.ko", "uid": 1000, "seed": 7,
                "shares": [{"at": "/mnt/a"}, {"at": "/mnt/b", "read_only": true}],
                "outputs": ["o"], "network": {"modules": ["/n.ko"], "servers": "10.0.2.9"},
                "display": {"modules": ["/d.ko"], "every_us": 500},
                "driver": {"modules": ["/drm.ko"], "name": "lima", "outputs": true}}"#,
        )
        .unwrap();
        assert_eq!(config.search(), "/x");
        assert_eq!(config.env["LANG"], "C");
        assert_eq!(config.stdin.as_deref(), Some(Path::new("/in")));
        assert_eq!((config.module.as_str(), config.uid), ("/m.ko", 1000));
        assert_eq!(config.seed, 7);
        let shared = |at: &str, read_only| Share {
            at: at.into(),
            read_only,
        };
        let shares = [shared("/mnt/a", false), shared("/mnt/b", true)];
        assert_eq!(config.shares, shares);
        assert_eq!(config.outputs, [Path::new("o")]);
        let network = config.network.unwrap();
        assert_eq!(
            (&network.modules[..], network.servers),
            (&["/n.ko".to_owned()][..], Some([10, 0, 2, 9].into()))
        );
        let display = config.display.unwrap();
        assert_eq!(
            (&display.modules[..], display.every_us),
            (&["/d.ko".to_owned()][..], 500)
        );
        let driver = config.driver.unwrap();
        assert_eq!(
            (&driver.modules[..], driver.name.as_deref(), driver.outputs),
            (&["/drm.ko".to_owned()][..], Some("lima"), true)
        );
    }

    #[test]
    fn errors_say_where() {
        let unknown = read(r#"{"argv": ["a"], "arg": 1}"#)
            .unwrap_err()
            .to_string();
        assert!(
            unknown.contains("run.json") && unknown.contains("arg"),
            "{unknown}"
        );
        assert!(matches!(
            Config::read(Path::new("/nowhere/run.json")),
            Err(Error::ConfigRead { .. })
        ));
    }
}
