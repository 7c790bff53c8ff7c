//! This machine's devices, and why others are excluded. Drivers are queried in
//! processes of their own; one that crashes then is excluded. Where no back end has
//! more than one driver, one process asks them all first: they often share a compiler, whose
//! library takes longest to load. What it does not answer is asked again alone.

mod nodes;

use crate::back_end::{BackEnd, Registered, Selection};
use crate::process::{Found, Program, Setup, Task, Word, Worker};
use gil_wire::identity::DeviceInfo;
use nix::unistd::{AccessFlags, access};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a driver may take to say what it has.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);

/// This machine's devices and drivers.
#[derive(Debug, Default)]
pub struct Inventory {
    /// Devices that can be used.
    pub devices: Vec<DeviceInfo>,
    /// A sentence for each thing that cannot.
    pub left_out: Vec<String>,
    /// Files that drivers use.
    pub files: Vec<PathBuf>,
    /// Where drivers are registered.
    pub registered: Vec<PathBuf>,
    /// Variables for processes that use the devices.
    pub env: Vec<(OsString, OsString)>,
    /// The folders that the variables name.
    folders: Vec<tempfile::TempDir>,
}

/// Why a driver is not used.
#[derive(Debug, thiserror::Error)]
enum Fault {
    /// It says why itself.
    #[error("{0}")]
    Sentence(String),
    /// It did not live to say anything.
    #[error("it crashed when it was asked for its devices (the process {0}): update or remove it")]
    Crash(crate::process::End),
    /// It says nothing.
    #[error("it did not say within {} s what devices it has: update or remove it", .0.as_secs())]
    Slow(Duration),
    /// It could not be asked.
    #[error("it could not be asked: {0}")]
    System(#[from] std::io::Error),
}

impl Fault {
    /// Whether sessions have to be kept from it.
    fn is_dangerous(&self) -> bool {
        matches!(self, Self::Crash(_) | Self::Slow(_))
    }
}

type Answer = Result<Found, Fault>;

impl Inventory {
    /// Asks all drivers of all back ends, those of one at the same time.
    ///
    /// # Errors
    /// The system's, where processes or folders cannot be made.
    pub fn take(program: Program, setup: &Setup) -> std::io::Result<Self> {
        let asker = Asker { program, setup };
        let mut inventory = Self::default();
        let back_ends = program.back_ends.iter();
        let all: Vec<_> = back_ends.map(|one| (*one, one.registered())).collect();
        let mut together = asker.ask_together(&all).into_iter();
        for (back_end, drivers) in &all {
            let asked = (!drivers.is_empty()).then(|| together.next());
            let answers = match asked.flatten() {
                Some(found) => vec![Ok(found)],
                None => asker.ask_all(*back_end, drivers),
            };
            inventory.add(*back_end, drivers, answers)?;
        }
        inventory.left_out.extend(nodes::denied());
        Ok(inventory)
    }

    fn add(
        &mut self,
        back_end: &dyn BackEnd,
        drivers: &[Registered],
        answers: Vec<Answer>,
    ) -> std::io::Result<()> {
        let mut used = Vec::new();
        for (driver, answer) in drivers.iter().zip(answers) {
            match answer {
                // An API that is no loader of drivers says the same every time.
                Ok(found) => {
                    let new = found.devices.into_iter();
                    new.for_each(|device| push_new(&mut self.devices, device));
                    self.files.extend(found.files);
                    used.push(driver);
                }
                Err(fault) => {
                    self.left_out.push(format!("{}: {fault}", driver.label));
                    used.extend(Some(driver).filter(|_| !fault.is_dangerous()));
                }
            }
        }
        if used.len() == drivers.len() {
            self.registered.extend(back_end.place());
            return Ok(());
        }
        let Selection { env, folder } = back_end.only(&used)?;
        self.env.extend(env);
        let folder = folder.into_iter();
        folder.for_each(|folder| self.keep(folder));
        Ok(())
    }

    /// Sessions look there for drivers.
    fn keep(&mut self, folder: tempfile::TempDir) {
        self.registered.push(folder.path().into());
        self.folders.push(folder);
    }

    /// The whole list for people, a line each.
    pub fn lines(&self) -> Vec<String> {
        let device = |device: &DeviceInfo| {
            let (api, platform, version) = (&device.api, &device.platform, &device.version);
            format!("{api}: {platform}, {} ({version})", device.name)
        };
        let left_out = self.left_out.iter().map(|why| format!("left out: {why}"));
        self.devices.iter().map(device).chain(left_out).collect()
    }
}

/// Whether this user has a folder of their own, where drivers keep compiled
/// kernels: some have no devices without one. Services often have none.
fn has_home() -> bool {
    let named = ["XDG_CACHE_HOME", "HOME"].map(std::env::var_os);
    let is_usable =
        |path: OsString| access(Path::new(&path), AccessFlags::W_OK | AccessFlags::X_OK).is_ok();
    named.into_iter().flatten().any(is_usable)
}

struct Asker<'a> {
    program: Program,
    setup: &'a Setup,
}

/// A process that asks drivers, and the folders that its environment names.
struct Asked {
    worker: Worker,
    _folders: Vec<tempfile::TempDir>,
}

impl Asker<'_> {
    /// Each driver's answer.
    fn ask_all(&self, back_end: &dyn BackEnd, drivers: &[Registered]) -> Vec<Answer> {
        std::thread::scope(|scope| {
            let ask = |driver| scope.spawn(move || self.ask(back_end, driver));
            let threads: Vec<_> = drivers.iter().map(ask).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Answer>| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        })
    }

    /// What the only drivers of the first back ends that have any say to one process: the
    /// answers before one that is a failure.
    fn ask_together(&self, all: &[(&dyn BackEnd, Vec<Registered>)]) -> Vec<Found> {
        let only =
            all.iter()
                .filter(|(_, drivers)| !drivers.is_empty())
                .map(|(back_end, drivers)| match drivers.as_slice() {
                    [driver] => Some((*back_end, driver)),
                    _ => None,
                });
        let asked: Option<Vec<_>> = only.collect();
        let Some(asked) = asked.filter(|asked| asked.len() > 1) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut process = self.start(&asked).ok();
        for (back_end, driver) in asked {
            let said = process.and_then(|process| self.hear(process, back_end, driver).ok());
            let Some((one, still)) = said else { break };
            found.push(one);
            process = Some(still);
        }
        found
    }

    /// Asks one in a process of its own.
    fn ask(&self, back_end: &dyn BackEnd, driver: &Registered) -> Answer {
        let process = self.start(&[(back_end, driver)])?;
        Ok(self.hear(process, back_end, driver)?.0)
    }

    /// A process that finds these drivers alone.
    fn start(&self, drivers: &[(&dyn BackEnd, &Registered)]) -> Result<Asked, Fault> {
        let place = (!has_home()).then(tempfile::tempdir).transpose()?;
        let mut env = Vec::new();
        let mut folders = Vec::new();
        for (back_end, driver) in drivers {
            let only = back_end.only(&[*driver])?;
            env.extend(only.env);
            folders.extend(only.folder);
            if let Some(place) = &place {
                let names = back_end.needs().caches.iter();
                let variable = |name: &&str| (OsString::from(name), place.path().into());
                env.extend(names.map(variable));
            }
        }
        folders.extend(place);
        let worker = Worker::start(self.program, &env, self.setup)?;
        Ok(Asked {
            worker,
            _folders: folders,
        })
    }

    /// What a driver says, and the process for the next question.
    fn hear(
        &self,
        mut process: Asked,
        back_end: &dyn BackEnd,
        driver: &Registered,
    ) -> Result<(Found, Asked), Fault> {
        let query = Task::Query {
            back_end: back_end.name().into(),
            library: driver.library.clone(),
        };
        process.worker.begin(&query, &[])?;
        match process.worker.hear_within(ANSWER_WITHIN) {
            Some(Word::Found(Ok(found))) => Ok((found, process)),
            Some(Word::Found(Err(sentence))) => Err(Fault::Sentence(sentence)),
            Some(_) => Err(Fault::Crash(process.worker.end())),
            None => match process.worker.has_ended() {
                true => Err(Fault::Crash(process.worker.end())),
                false => Err(Fault::Slow(ANSWER_WITHIN)),
            },
        }
    }
}

fn push_new(devices: &mut Vec<DeviceInfo>, device: DeviceInfo) {
    if !devices.contains(&device) {
        devices.push(device);
    }
}
