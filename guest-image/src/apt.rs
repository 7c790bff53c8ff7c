//! Debian packages for the guest (and, for the kernel's build scripts, for this
//! machine), fetched by apt with a state of our own: its own architecture,
//! lists, cache and an empty package database. The machine's apt is only asked
//! where its Debian archive is.

use crate::checksum;
use crate::platforms::Platforms;
use gil_run_support::cache::{self, At, Cache, CacheError};
use gil_run_support::progress::Progress;
use gil_run_support::tool::{self, ToolError};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// There is no such package.
    #[error(
        "there is no package {name} for {arch} in Debian {release}: check its name with `apt-cache search`"
    )]
    NoPackage {
        /// As it was asked for.
        name: String,
        /// Debian's name of the architecture.
        arch: String,
        /// Debian's code name.
        release: String,
    },
    /// The packages do not fit together.
    #[error("the packages {names} cannot be installed together: {detail}")]
    Conflict {
        /// As they were asked for.
        names: String,
        /// apt's words.
        detail: String,
    },
    /// The archive is not reached.
    #[error(
        "packages could not be downloaded: check the network and run the same command again, it goes on where it stopped ({detail})"
    )]
    Network {
        /// apt's words.
        detail: String,
    },
    /// The machine's apt has no Debian archive.
    #[error(
        "the apt sources of this machine name no Debian archive for {release}: gil takes the guest's packages from there, so it needs Debian, or Debian's archive among the sources"
    )]
    NoArchive {
        /// The machine's code name.
        release: String,
    },
    /// The machine does not say which Debian it is.
    #[error(
        "/etc/os-release names no Debian release (VERSION_CODENAME): gil takes the guest's packages from the machine's own Debian archive"
    )]
    NoRelease,
    /// A package's metadata is not as expected.
    #[error(
        "the package {package} depends on no package named {wanted}: report this, Debian changed its kernel packages"
    )]
    NoDependency {
        /// The package.
        package: String,
        /// How the dependency's name begins.
        wanted: String,
    },
    /// A package's file is not the one that the index names.
    #[error(
        "{} is not the file that Debian's index names (SHA256 {expected}): run the same command again, and if that does not help, remove {}",
        path.display(),
        path.parent().unwrap_or(path).display()
    )]
    Checksum {
        /// The file.
        path: PathBuf,
        /// The checksum in the index.
        expected: String,
    },
    /// A tool failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A file of the cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// A package file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Deb {
    /// Its file name, `NAME_VERSION_ARCH.deb`.
    pub file: String,
    /// Bytes.
    pub size: u64,
    /// Its SHA256 in the archive's signed index, in hexadecimal digits.
    pub sha256: String,
}

impl Deb {
    /// `NAME:ARCH=VERSION`, as apt takes it. None if the file name is none of apt's.
    fn exact(&self) -> Option<String> {
        let mut fields = self.file.strip_suffix(".deb")?.splitn(3, '_');
        let (name, version, arch) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{name}:{arch}={}", version.replace("%3a", ":")))
    }

    /// Whether what was downloaded to the folder is the file that the index
    /// names.
    fn check(&self, folder: &Path) -> Result<(), AptError> {
        let path = folder.join(&self.file);
        match checksum::is_right(&path, &self.sha256)? {
            true => Ok(()),
            false => Err(AptError::Checksum {
                path,
                expected: self.sha256.clone(),
            }),
        }
    }
}

/// apt for one architecture, or for a machine with a second one, in the cache.
pub struct Apt {
    cache: Cache,
    root: PathBuf,
    /// Its folder is this process's.
    is_held: Cell<bool>,
    /// Debian's names; the first is the machine's own.
    archs: Vec<String>,
    release: String,
    progress: Progress,
    /// Lists were fetched now, but not all of them.
    partly_updated: Cell<bool>,
}

/// Suites of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suites {
    /// The release with its updates.
    All,
    /// The release as it came out.
    Release,
}

/// Lists older than this are fetched again before a package is called missing.
const LISTS_FRESH: Duration = Duration::from_secs(12 * 3600);

/// Bytes that apt's lists and its index of them take, generously.
const ROOM_FOR_LISTS: u64 = 256 << 20;
/// Room for a package: its file, its unpacked files, their archive.
const PACKED_AND_UNPACKED: u64 = 8;

impl Apt {
    /// apt for a machine of these architectures, its own first, of this
    /// machine's Debian release. Asks nothing yet.
    ///
    /// # Errors
    /// [`AptError::NoRelease`] on a machine that is no Debian.
    pub fn open(cache: &Cache, archs: &[&str], progress: &Progress) -> Result<Self, AptError> {
        let release = debian_release().ok_or(AptError::NoRelease)?;
        let name = format!("{release}-{}", archs.join("+"));
        Ok(Self {
            cache: cache.clone(),
            root: cache.root().join("apt").join(name),
            is_held: Cell::new(false),
            archs: archs.iter().map(|&arch| arch.into()).collect(),
            release,
            progress: progress.clone(),
            partly_updated: Cell::new(false),
        })
    }

    /// Debian's code name.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// `packages` and all they depend on, but what `platforms` has installed.
    ///
    /// # Errors
    /// [`AptError`], with the package's name if it does not exist.
    pub fn resolve(&self, packages: &[String], platforms: Platforms) -> Result<Vec<Deb>, AptError> {
        self.hold()?;
        let status = self.root.join("installed");
        fs::write(&status, platforms.installed(&self.archs[0])).at(&status)?;
        let status = format!("Dir::State::status={}", status.display());
        let verb = ["install", "--yes", "--no-install-recommends", "-o", &status];
        self.uris(&verb, packages)
    }

    /// `packages` alone.
    ///
    /// # Errors
    /// As [`Apt::resolve`].
    pub fn alone(&self, packages: &[String]) -> Result<Vec<Deb>, AptError> {
        self.uris(&["download"], packages)
    }

    /// The direct dependency of `package` whose name begins with `prefix`.
    ///
    /// # Errors
    /// [`AptError::NoDependency`] if it has none.
    pub fn dependency(&self, package: &str, prefix: &str) -> Result<String, AptError> {
        let text = self.fresh(|| self.call("apt-cache", &["depends"], &[package.into()]))?;
        text.lines()
            .filter_map(|line| line.trim().strip_prefix("Depends: "))
            .find(|name| name.starts_with(prefix))
            .map(str::to_owned)
            .ok_or_else(|| AptError::NoDependency {
                package: package.into(),
                wanted: prefix.into(),
            })
    }

    /// The newest version of `package` that can be had, if there is any.
    ///
    /// # Errors
    /// As [`Apt::resolve`].
    pub fn candidate(&self, package: &str) -> Result<Option<String>, AptError> {
        let text = self.fresh(|| self.call("apt-cache", &["policy"], &[package.into()]))?;
        let found = text.lines().find_map(candidate);
        Ok(found.map(str::to_owned))
    }

    /// The machine's Debian archive and the release's backports beside it, as a list of
    /// sources; none if the machine does not have the release from there.
    ///
    /// # Errors
    /// As [`Apt::sources`].
    pub fn with_backports(&self) -> Result<Option<String>, AptError> {
        Ok(add_backports(self.sources()?, &self.release))
    }

    /// Downloads what is not there yet; returns the files' paths.
    ///
    /// # Errors
    /// [`AptError::Network`], or a full disk.
    pub fn fetch(&self, debs: &[Deb]) -> Result<Vec<PathBuf>, AptError> {
        self.hold()?;
        let folder = self.root.join("debs");
        fs::create_dir_all(&folder).at(&folder)?;
        let mut missing = Vec::new();
        for deb in debs {
            let path = folder.join(&deb.file);
            if !checksum::is_right(&path, &deb.sha256)? {
                remove_if_there(&path)?;
                missing.push(deb);
            }
        }
        if !missing.is_empty() {
            let bytes: u64 = debs.iter().map(|deb| deb.size).sum();
            cache::has_room(&folder, bytes.saturating_mul(PACKED_AND_UNPACKED))?;
            self.download(&folder, &missing)?;
        }
        Ok(debs.iter().map(|deb| folder.join(&deb.file)).collect())
    }

    fn download(&self, folder: &Path, debs: &[&Deb]) -> Result<(), AptError> {
        let exact: Vec<String> = debs.iter().filter_map(|deb| deb.exact()).collect();
        self.fresh(|| self.call_in(folder, "apt-get", &["download"], &exact))?;
        debs.iter().try_for_each(|deb| deb.check(folder))
    }

    fn uris(&self, verb: &[&str], packages: &[String]) -> Result<Vec<Deb>, AptError> {
        let mut arguments = verb.to_vec();
        arguments.extend(["--print-uris", "-o", "Acquire::ForceHash=SHA256"]);
        let text = self.fresh(|| self.call("apt-get", &arguments, packages))?;
        let mut debs: Vec<Deb> = text.lines().filter_map(parse_uri).collect();
        debs.sort();
        Ok(debs)
    }

    /// Runs `ask`; fetches lists before if there are none, and between two
    /// tries if they are old.
    fn fresh(&self, ask: impl Fn() -> Result<String, AptError>) -> Result<String, AptError> {
        self.settle()?;
        let stamp = self.root.join("updated");
        let age = fs::metadata(&stamp)
            .and_then(|m| m.modified())
            .map(|at| SystemTime::now().duration_since(at).unwrap_or_default());
        let Ok(age) = age else {
            if !self.partly_updated.get() {
                self.update(&stamp)?;
            }
            return ask();
        };
        match ask() {
            Err(AptError::NoPackage { .. } | AptError::Network { .. }) if age > LISTS_FRESH => {
                self.update(&stamp)?;
                ask()
            }
            answer => answer,
        }
    }

    /// Keeps its folder, which is made if need be, in the cache: what is added there
    /// while packages are unpacked may make it larger than its limit.
    fn hold(&self) -> Result<(), CacheError> {
        fs::create_dir_all(&self.root).at(&self.root)?;
        if !self.is_held.get() {
            self.is_held.set(self.cache.is_used(&self.root));
        }
        Ok(())
    }

    /// Names its folder in apt's settings, if the cache was moved since they were written.
    fn settle(&self) -> Result<(), AptError> {
        let path = self.root.join("apt.conf");
        let own = format!("\"{}/state\"", self.root.display());
        match fs::read_to_string(&path) {
            Ok(text) if !text.contains(&own) => Ok(fs::write(&path, self.settings()?).at(&path)?),
            _ => Ok(()),
        }
    }

    fn update(&self, stamp: &Path) -> Result<(), AptError> {
        self.hold()?;
        cache::has_room(&self.root, ROOM_FOR_LISTS)?;
        match self.update_lists(Suites::All) {
            Ok(()) => Ok(fs::write(stamp, "").at(stamp)?),
            Err(error) if is_mirrors_fault(&error) => self.update_partly(error),
            Err(error) => Err(error),
        }
    }

    /// A mirror whose files do not belong together can still have the release
    /// itself, which never changes. Without the stamp, the next set of packages
    /// tries all again.
    fn update_partly(&self, error: AptError) -> Result<(), AptError> {
        if self.update_lists(Suites::Release).is_err() {
            return Err(error);
        }
        self.partly_updated.set(true);
        self.progress.note(&format!(
            "the mirror's lists of Debian {}'s updates do not match their checksums (is it being updated?): packages come from the release itself, without updates",
            self.release
        ));
        Ok(())
    }

    fn update_lists(&self, suites: Suites) -> Result<(), AptError> {
        self.configure(suites)?;
        self.call("apt-get", &["update", "--error-on=any"], &[])?;
        Ok(())
    }

    fn call(&self, tool: &str, verb: &[&str], packages: &[String]) -> Result<String, AptError> {
        // Not among the packages: apt does not name those that lie where it is
        // called.
        self.call_in(&self.root, tool, verb, packages)
    }

    fn call_in(
        &self,
        folder: &Path,
        tool: &str,
        verb: &[&str],
        packages: &[String],
    ) -> Result<String, AptError> {
        let mut command = Command::new(tool);
        command
            .env("APT_CONFIG", self.root.join("apt.conf"))
            .env("LC_ALL", "C")
            .current_dir(folder)
            .args(verb)
            .arg("--")
            .args(packages);
        tool::run(&mut command, "fetching packages", folder)
            .map(|out| String::from_utf8_lossy(&out).into_owned())
            .map_err(|error| self.explain(error, packages))
    }

    fn explain(&self, error: ToolError, packages: &[String]) -> AptError {
        let detail = error.detail();
        if let Some(name) = missing_package(detail) {
            return AptError::NoPackage {
                name: name.into(),
                arch: self.archs.join(" and "),
                release: self.release.clone(),
            };
        }
        if detail.contains("unmet dependencies") || detail.contains("Unable to correct problems") {
            return AptError::Conflict {
                names: packages.join(" "),
                detail: detail.into(),
            };
        }
        if detail.contains("Failed to fetch") || detail.contains("Unable to fetch") {
            return AptError::Network {
                detail: detail.into(),
            };
        }
        error.into()
    }

    /// Writes apt's configuration and sources, taken from the machine's.
    fn configure(&self, suites: Suites) -> Result<(), AptError> {
        for folder in ["debs", "state/lists/partial", "cache/archives/partial"] {
            let folder = self.root.join(folder);
            fs::create_dir_all(&folder).at(&folder)?;
        }
        let all = self.sources()?;
        let is_taken =
            |line: &&str| suites == Suites::All || line.contains(&format!(" {} ", self.release));
        let sources = all.lines().filter(is_taken);
        let files = [
            ("status", String::new()),
            (
                "sources.list",
                sources.map(|line| format!("{line}\n")).collect(),
            ),
            ("apt.conf", self.settings()?),
        ];
        for (name, text) in files {
            let path = self.root.join(name);
            fs::write(&path, text).at(&path)?;
        }
        Ok(())
    }

    /// One line for each part of the machine's own Debian archive.
    ///
    /// # Errors
    /// [`AptError::NoArchive`] if it has none.
    pub fn sources(&self) -> Result<String, AptError> {
        let mut lines = self.sources_known(None)?;
        if lines.is_empty() {
            // A machine whose lists were never fetched names no archive: fetch
            // them into a folder of our own.
            let lists = self.root.join("machine-lists");
            fs::create_dir_all(lists.join("partial")).at(&lists)?;
            let mut update = Command::new("apt-get");
            update
                .args(["update", "-o", "APT::Sandbox::User=root", "-o"])
                .arg(lists_option(&lists));
            tool::run(&mut update, "fetching package lists", &lists)?;
            lines = self.sources_known(Some(&lists))?;
            fs::remove_dir_all(&lists).at(&lists)?;
        }
        if lines.is_empty() {
            return Err(AptError::NoArchive {
                release: self.release.clone(),
            });
        }
        Ok(lines.into_iter().collect())
    }

    fn sources_known(&self, lists: Option<&Path>) -> Result<BTreeSet<String>, AptError> {
        let format = "$(CREATED_BY)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(SOURCESENTRY)";
        let mut command = Command::new("apt-get");
        command.args(["indextargets", "--format", format]);
        if let Some(lists) = lists {
            command.arg("-o").arg(lists_option(lists));
        }
        let text = tool::run(&mut command, "looking for the Debian archive", &self.root)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.lines();
        Ok(lines
            .filter_map(|line| source_line(line, &self.release))
            .collect())
    }

    /// How the machine reaches its archive (proxies, retries), and our places.
    fn settings(&self) -> Result<String, AptError> {
        let dump = tool::run(
            Command::new("apt-config").arg("dump"),
            "reading apt's settings",
            &self.root,
        )?;
        let dump = String::from_utf8_lossy(&dump).into_owned();
        let inherited = dump.lines().filter(|line| {
            line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets")
        });
        let (root, own) = (self.root.display(), &self.archs[0]);
        let archs: String = self
            .archs
            .iter()
            .map(|arch| format!("APT::Architectures:: \"{arch}\";\n"))
            .collect();
        let ours = format!(
            r#"APT::Architecture "{own}";
{archs}APT::Install-Recommends "0";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::GzipIndexes "true";
Acquire::Retries "3";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "{root}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State "{root}/state";
Dir::State::status "{root}/status";
Dir::Cache "{root}/cache";
"#
        );
        Ok(inherited
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            + &ours)
    }
}

/// Whether the archive's files do not belong together, as while a mirror is
/// being updated.
fn is_mirrors_fault(error: &AptError) -> bool {
    matches!(error, AptError::Network { detail } if detail.contains("Mirror sync in progress?"))
}

fn lists_option(lists: &Path) -> String {
    format!("Dir::State::lists={}", lists.display())
}

fn remove_if_there(path: &Path) -> Result<(), CacheError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).at(path),
        _ => Ok(()),
    }
}

/// The package that apt says it does not have.
fn missing_package(detail: &str) -> Option<&str> {
    let after = detail.split("Unable to locate package ").nth(1);
    if let Some(rest) = after {
        return rest.split_whitespace().next();
    }
    let before = detail.split("' has no installation candidate").next()?;
    (before.len() < detail.len()).then(|| before.rsplit('\'').next())?
}

/// `'URI' FILE SIZE SHA256:HASH`; of a package whose index has no SHA256, no
/// file is the right one.
fn parse_uri(line: &str) -> Option<Deb> {
    let mut fields = line.strip_prefix('\'')?.split_whitespace().skip(1);
    Some(Deb {
        file: fields
            .next()
            .filter(|f| f.ends_with(".deb") && !f.contains('/'))?
            .into(),
        size: fields.next()?.parse().ok()?,
        sha256: fields
            .next()
            .and_then(|hash| hash.strip_prefix("SHA256:"))
            .unwrap_or_default()
            .into(),
    })
}

/// A line for `sources.list` from one index of the machine's, if it is of
/// Debian's own archive for `release`.
fn source_line(target: &str, release: &str) -> Option<String> {
    let fields: Vec<&str> = target.split('|').collect();
    let &["Packages", uri, suite, "main", entry] = &fields[..] else {
        return None;
    };
    let part = suite.strip_prefix(release)?;
    if !matches!(part, "" | "-updates" | "-security") {
        return None;
    }
    let options = signed_by(entry).map_or(String::new(), |key| format!("[signed-by={key}] "));
    Some(format!("deb {options}{uri} {suite} main\n"))
}

/// From apt's answer on a package.
fn candidate(line: &str) -> Option<&str> {
    let version = line.trim().strip_prefix("Candidate: ")?;
    (version != "(none)").then_some(version)
}

/// Behind each line of the release, one of its backports.
fn add_backports(sources: String, release: &str) -> Option<String> {
    let own = format!(" {release} ");
    let of_release = sources.lines().filter(|line| line.contains(&own));
    let added: String = of_release
        .map(|line| line.replace(&own, &format!(" {release}-backports ")) + "\n")
        .collect();
    (!added.is_empty()).then(|| sources + &added)
}

/// The key file that the machine's own entry (`FILE:NUMBER`) names, else
/// Debian's.
fn signed_by(entry: &str) -> Option<String> {
    let file = entry.rsplit_once(':').map_or(entry, |(file, _)| file);
    let text = fs::read_to_string(file).unwrap_or_default();
    let named = text.lines().find_map(key_of_line);
    let debians = "/usr/share/keyrings/debian-archive-keyring.gpg";
    named.or_else(|| Path::new(debians).exists().then(|| debians.into()))
}

fn key_of_line(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let at = lower.find("signed-by")?;
    let value = line[at + "signed-by".len()..].trim_start_matches([':', '=', ' ']);
    let value = value.split([' ', ']', ',']).next()?;
    (value.starts_with('/') && !line.trim_start().starts_with('#')).then(|| value.into())
}

fn debian_release() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("VERSION_CODENAME="))?;
    Some(value.trim_matches('"').to_owned()).filter(|v| !v.is_empty())
}

/// Debian's name of this machine's architecture.
///
/// # Errors
/// [`ToolError`] if there is no dpkg.
pub fn host_architecture() -> Result<String, ToolError> {
    let mut command = Command::new("dpkg");
    command.arg("--print-architecture");
    let out = tool::run(&mut command, "asking for the architecture", Path::new("/"))?;
    Ok(String::from_utf8_lossy(&out).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_packages_stay_in_a_cache_that_is_too_small_until_they_are_unpacked() {
        let work = tempfile::tempdir().unwrap();
        let mut apt = of_a_folder(work.path());
        let cache = Cache::at(&work.path().join("cache"), 0).unwrap();
        apt.root = cache.root().join("apt/none-arm64");
        apt.cache = cache.clone();
        let file = apt.root.join("debs/miner_1_arm64.deb");
        fs::create_dir_all(apt.root.join("debs")).unwrap();
        fs::write(&file, "x").unwrap();
        let deb = Deb {
            file: "miner_1_arm64.deb".into(),
            size: 1,
            sha256: SHA256_OF_X.into(),
        };
        assert_eq!(apt.fetch(&[deb]).unwrap(), std::slice::from_ref(&file));
        let lock = cache.lock(&Progress::new(true)).unwrap();
        cache
            .publish(&lock, Path::new("layers-1/none/x"), |_| {
                Ok::<_, AptError>(())
            })
            .unwrap();
        assert!(file.exists());
    }

    #[test]
    fn apts_answers_are_read() {
        let deb = parse_uri(
            "'http://archive/pool/b/busybox-static_1.35_arm64.deb' busybox-static_1%3a1.35-4+b1_arm64.deb 822236 SHA256:0a",
        )
        .unwrap();
        assert_eq!(deb.exact().unwrap(), "busybox-static:arm64=1:1.35-4+b1");
        assert_eq!((deb.size, deb.sha256.as_str()), (822236, "0a"));
        let weak = parse_uri("'http://a/b.deb' b.deb 1 MD5Sum:00").unwrap();
        assert!(weak.sha256.is_empty(), "{weak:?}");
        assert_eq!(parse_uri("Reading package lists..."), None);
        assert_eq!(parse_uri("'x' ../../escape.deb 1 y"), None);
    }

    const SHA256_OF_X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

    /// apt whose archive is a folder with a program of OpenCL's and a platform.
    fn of_a_folder(root: &Path) -> Apt {
        let apt = Apt {
            cache: Cache::at(root, u64::MAX).unwrap(),
            root: root.into(),
            is_held: Cell::new(false),
            archs: vec!["arm64".into(), "armhf".into()],
            release: "none".into(),
            progress: Progress::new(true),
            partly_updated: Cell::new(false),
        };
        let entry = |name: &str, arch: &str, more: &str| {
            let about = "Version: 1\nMaintainer: x\nDescription: x\nSize: 1";
            let file = format!("Filename: {name}_{arch}.deb\nSHA256: {SHA256_OF_X}");
            format!("Package: {name}\nArchitecture: {arch}\n{about}\n{file}\n{more}\n\n")
        };
        let archive: String = ["arm64", "armhf"]
            .map(|arch| {
                entry("miner", arch, "Depends: opencl-icd")
                    + &entry("emulator", arch, "Provides: opencl-icd")
            })
            .concat();
        for folder in ["archive", "state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        let source = format!("deb [trusted=yes] file:{}/archive ./\n", root.display());
        for (name, text) in [
            ("archive/Packages", archive),
            ("archive/miner_arm64.deb", "x".into()),
            ("status", String::new()),
            ("sources.list", source),
            ("apt.conf", apt.settings().unwrap()),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        apt.call("apt-get", &["update", "--error-on=any"], &[])
            .unwrap();
        fs::write(root.join("updated"), "").unwrap();
        apt
    }

    #[test]
    fn the_boards_platforms_are_those_that_packages_depend_on() {
        let root = tempfile::tempdir().unwrap();
        let apt = of_a_folder(root.path());
        let needs = |package: &str, platforms| -> Vec<String> {
            let debs = apt.resolve(&[package.into()], platforms).unwrap();
            debs.into_iter().map(|deb| deb.file).collect()
        };
        for (package, arch) in [("miner", "arm64"), ("miner:armhf", "armhf")] {
            let [own, emulator] = ["miner", "emulator"].map(|name| format!("{name}_1_{arch}.deb"));
            assert_eq!(needs(package, Platforms::Board), std::slice::from_ref(&own));
            assert_eq!(needs(package, Platforms::Packages), [emulator, own]);
        }
    }

    #[test]
    fn a_cache_that_was_moved_is_used_where_it_is() {
        let work = tempfile::tempdir().unwrap();
        let (before, now) = (work.path().join("before"), work.path().join("now"));
        fs::create_dir(&before).unwrap();
        let mut apt = of_a_folder(&before);
        fs::rename(&before, &now).unwrap();
        apt.root = now;
        let debs = apt.resolve(&["miner".into()], Platforms::Board).unwrap();
        assert_eq!(debs[0].file, "miner_1_arm64.deb");
    }

    #[test]
    fn a_package_in_the_cache_is_taken_only_with_the_indexs_checksum() {
        let root = tempfile::tempdir().unwrap();
        let apt = of_a_folder(root.path());
        let debs = apt.resolve(&["miner".into()], Platforms::Board).unwrap();
        let cached = root.path().join("debs").join(&debs[0].file);
        fs::create_dir_all(root.path().join("debs")).unwrap();
        // As long as the right one.
        fs::write(&cached, "y").unwrap();
        assert_eq!(apt.fetch(&debs).unwrap(), std::slice::from_ref(&cached));
        assert_eq!(fs::read(&cached).unwrap(), b"x");
        fs::write(&cached, "y").unwrap();
        fs::write(root.path().join("archive/miner_arm64.deb"), "y").unwrap();
        assert!(apt.fetch(&debs).is_err());
        assert!(!cached.exists());
    }

    #[test]
    fn missing_packages_are_named() {
        let located = "E: Unable to locate package clinfoo";
        assert_eq!(missing_package(located), Some("clinfoo"));
        let candidate = "E: Package 'gone' has no installation candidate";
        assert_eq!(missing_package(candidate), Some("gone"));
        assert_eq!(missing_package("E: other"), None);
    }

    #[test]
    fn only_debians_own_suites_are_taken() {
        let line = |suite: &str, part: &str| {
            source_line(
                &format!("Packages|http://a/|{suite}|{part}|/none:1"),
                "bookworm",
            )
        };
        assert!(
            line("bookworm", "main")
                .unwrap()
                .ends_with("http://a/ bookworm main\n")
        );
        assert!(line("bookworm-security", "main").is_some());
        assert!(line("bookworm-backports", "main").is_none());
        assert!(line("bookworm", "contrib").is_none());
        assert!(line("nodistro", "main").is_none());
    }

    #[test]
    fn backports_lie_beside_the_release() {
        let sources =
            "deb [signed-by=/k] http://a/ bookworm main\ndeb http://b/ bookworm-security main\n";
        assert_eq!(
            add_backports(sources.into(), "bookworm").unwrap(),
            format!("{sources}deb [signed-by=/k] http://a/ bookworm-backports main\n")
        );
        assert_eq!(add_backports(sources.into(), "trixie"), None);
    }

    #[test]
    fn the_newest_version_is_read() {
        let root = tempfile::tempdir().unwrap();
        let apt = of_a_folder(root.path());
        assert_eq!(apt.candidate("miner").unwrap().as_deref(), Some("1"));
        assert_eq!(apt.candidate("nosuch").unwrap(), None);
    }

    #[test]
    fn keys_are_found_in_both_formats() {
        let deb822 = "Signed-By: /usr/share/keyrings/a.gpg";
        assert_eq!(key_of_line(deb822).unwrap(), "/usr/share/keyrings/a.gpg");
        let one_line = "deb [arch=amd64 signed-by=/k/b.gpg] http://a bookworm main";
        assert_eq!(key_of_line(one_line).unwrap(), "/k/b.gpg");
        assert_eq!(key_of_line("# Signed-By: /c.gpg"), None);
    }
}
