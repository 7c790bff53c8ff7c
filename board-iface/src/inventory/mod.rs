//! What this machine has, and why something is left out. Drivers are asked in
//! processes of their own: one that crashes then is left out.

mod icd;
mod nodes;

use crate::process::{Found, Program, Setup, Task, Word, Worker};
use gil_wire::message::DeviceInfo;
use icd::Icd;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a driver may take to say what it has.
const ANSWER_WITHIN: Duration = Duration::from_secs(40);

/// What this machine has.
#[derive(Debug)]
pub struct Inventory {
    /// Devices that can be used.
    pub devices: Vec<DeviceInfo>,
    /// A sentence for each thing that cannot.
    pub left_out: Vec<String>,
    /// Files that drivers use.
    pub files: Vec<PathBuf>,
    /// Where drivers are registered.
    pub registered: PathBuf,
    /// Variables for processes that use the devices.
    pub env: Vec<(OsString, OsString)>,
    /// Holds what the variables name.
    _vendors: Option<tempfile::TempDir>,
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
    /// Asks all drivers, at the same time.
    ///
    /// # Errors
    /// The system's, where processes or folders cannot be made.
    pub fn take(program: Program, setup: &Setup) -> std::io::Result<Self> {
        let asker = Asker { program, setup };
        let icds = icd::registered();
        let mut inventory = match icds.is_empty() {
            true => asker.whole(),
            false => asker.each(&icds)?,
        };
        inventory.left_out.extend(nodes::denied());
        Ok(inventory)
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

struct Asker<'a> {
    program: Program,
    setup: &'a Setup,
}

impl Asker<'_> {
    /// What the machine's OpenCL has where nothing is known of its drivers.
    fn whole(&self) -> Inventory {
        let (found, left_out) = match self.ask(&[], None) {
            Ok(found) => (found, Vec::new()),
            Err(fault) => (Found::default(), vec![none_registered(&fault)]),
        };
        Inventory {
            devices: found.devices,
            left_out,
            files: found.files,
            registered: icd::vendors(),
            env: Vec::new(),
            _vendors: None,
        }
    }

    fn each(&self, icds: &[Icd]) -> std::io::Result<Inventory> {
        let answers = std::thread::scope(|scope| {
            let ask = |icd| scope.spawn(move || self.icd(icd));
            let threads: Vec<_> = icds.iter().map(ask).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join();
            threads.into_iter().map(join).collect::<Vec<_>>()
        });
        let (mut devices, mut left_out, mut dangerous) = (Vec::new(), Vec::new(), Vec::new());
        let mut files = Vec::new();
        for (icd, answer) in icds.iter().zip(answers) {
            match answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                // An OpenCL that is no ICD loader says the same every time.
                Ok(found) => {
                    let new = found.devices.into_iter();
                    new.for_each(|device| push_new(&mut devices, device));
                    files.extend(found.files);
                }
                Err(fault) => {
                    left_out.push(format!("{icd}: {fault}"));
                    dangerous.extend(fault.is_dangerous().then(|| icd.file.clone()));
                }
            }
        }
        let vendors = match dangerous.is_empty() {
            true => None,
            false => Some(icd::folder_of(
                icds.iter().filter(|icd| !dangerous.contains(&icd.file)),
            )?),
        };
        Ok(Inventory {
            devices,
            left_out,
            files,
            registered: vendors
                .as_ref()
                .map_or_else(icd::vendors, |only| only.path().into()),
            env: vendors.iter().map(icd::only).collect(),
            _vendors: vendors,
        })
    }

    fn icd(&self, icd: &Icd) -> Answer {
        let folder = icd::folder_of([icd])?;
        self.ask(&[icd::only(&folder)], Some(icd.library.clone()))
    }

    fn ask(&self, env: &[(OsString, OsString)], library: Option<String>) -> Answer {
        let mut worker = Worker::start(self.program, env, self.setup)?;
        worker.begin(&Task::Query { library }, &[])?;
        match worker.hear_within(ANSWER_WITHIN) {
            Some(Word::Found(Ok(found))) => Ok(found),
            Some(Word::Found(Err(sentence))) => Err(Fault::Sentence(sentence)),
            Some(_) => Err(Fault::Crash(worker.end())),
            None => match worker.has_ended() {
                true => Err(Fault::Crash(worker.end())),
                false => Err(Fault::Slow(ANSWER_WITHIN)),
            },
        }
    }
}

fn none_registered(fault: &Fault) -> String {
    let vendors = icd::vendors();
    let vendors = vendors.display();
    format!("OpenCL, for which no driver is registered in {vendors}: {fault}")
}

fn push_new(devices: &mut Vec<DeviceInfo>, device: DeviceInfo) {
    if !devices.contains(&device) {
        devices.push(device);
    }
}
