//! Watches: every call of a function of the kernel, of a kernel module, of a
//! program or of a shared library, with its arguments as values. They print as
//! a line for the user ([`Sighting`]).
//!
//! - A *kernel function* has the address that the Image contains ([`kernel_image`]);
//!   several static functions of one name are all watched.
//! - A *module's function* is found when the kernel loads the module: the argument of
//!   `do_init_module` leads to the module's name and symbols, by offsets from the
//!   kernel's BTF. This is before any of the module's code runs, and needs no help
//!   from the guest.
//! - A *process's function* is recognised by its page: the code has the same offset
//!   in a page as in its ELF file, and the same bytes around it, at whatever address
//!   the program or library is loaded, in every process that runs it. Two files with
//!   the same page cannot be distinguished, and are the same code.
//!
//! A simulator that translates code asks [`Watches::points`] about it. One that
//! compares addresses calls [`Watches::follow_mappings`], or [`Watches::mapped`] and
//! [`Watches::loaded_at`] if it maps files itself, and gets the addresses from
//! [`Watches::known`], whose list grows. Both call [`Watches::reach`] when a point is
//! reached; other code costs nothing.
//!
//! [`kernel_image`]: super::kernel_image

pub mod arguments;
pub mod ioctl;
pub mod job;
mod mapping;
mod module;
mod places;
mod process;
mod sighting;
mod spec;

pub use mapping::Mapping;
pub use sighting::{Call, Sighting, When};
pub use spec::{BYTES, Spec, SpecError};

use super::btf::{self, Btf, Parameter};
use super::kernel_image::{ImageError, KernelImage};
use super::marker::is_kernel_address;
use super::symbol::{self, SymbolError};
use arguments::{Arguments, Convention};
use gil_uapi::VirtualAddress;
use ioctl::Ioctls;
use job::Job;
use mapping::Mappings;
use module::Loader;
use process::ProcessCode;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{PoisonError, RwLock};

/// The kernel's function that every module passes, loaded and linked, before
/// its own code runs. Its argument is the module.
const LOADER: &str = "do_init_module";

/// The guest, at the entry of a function.
pub trait Guest {
    /// A general register: `x0` to `x30`, or `r0` to `r12`.
    fn register(&self, number: u8, convention: Convention) -> Option<u64>;
    /// The stack pointer.
    fn stack(&self, convention: Convention) -> Option<VirtualAddress>;
    /// The number of the process that runs, as the kernel counts them.
    fn process(&self) -> Option<u32>;
    /// Fills `out` from memory at a virtual address; whether it could.
    fn read(&self, address: VirtualAddress, out: &mut [u8]) -> bool;

    /// A word of memory.
    fn word(&self, address: VirtualAddress) -> Option<u64> {
        let mut bytes = [0; 8];
        let is_there = self.read(address, &mut bytes);
        is_there.then(|| u64::from_le_bytes(bytes))
    }
}

/// A place in the guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// The kernel has loaded a module.
    Loaded,
    /// The kernel has mapped a file for a process.
    Mapped,
    /// The entry of a watched function, by its number.
    Watched(usize),
}

/// Why something cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The kernel.
    #[error("--watch {spec}: {error}")]
    Kernel {
        /// The watch as the user wrote it.
        spec: String,
        /// What is wrong.
        error: ImageError,
    },
    /// No kernel is known.
    #[error("--watch {0}: gil needs the guest's kernel Image for it (kernel=PATH)")]
    NoKernel(String),
    /// The kernel does not describe its structures.
    #[error(
        "--watch {0}: to find what the guest loads, gil needs a kernel with CONFIG_DEBUG_INFO_BTF and CONFIG_KALLSYMS"
    )]
    NoTypes(String),
    /// No driver has such an ioctl.
    #[error(transparent)]
    Driver(#[from] SpecError),
    /// The program's or library's file.
    #[error("--watch {spec}: {}: {error}", file.display())]
    File {
        /// The watch as the user wrote it.
        spec: String,
        /// The ELF file.
        file: PathBuf,
        /// What is wrong.
        error: SymbolError,
    },
}

/// What is watched, and what became of it.
#[derive(Debug)]
struct Watch {
    spec: Spec,
    target: Target,
    parameters: Option<Vec<Parameter>>,
    /// The ioctls that it executes.
    ioctls: Option<Ioctls>,
    /// The job that it starts.
    job: Option<Job>,
    /// Calls seen.
    calls: AtomicU64,
    /// Places where the function was found.
    places: AtomicU64,
    /// The user knows that the module has no such function.
    is_told: AtomicBool,
}

#[derive(Debug)]
enum Target {
    Kernel,
    Module,
    Process(ProcessCode),
}

/// All watches of a simulation.
#[derive(Debug)]
pub struct Watches {
    watches: Vec<Watch>,
    loader: Option<Loader>,
    mappings: Option<Mappings>,
    /// Places in the kernel and its modules, and of processes where mappings
    /// are followed.
    places: RwLock<Vec<(VirtualAddress, Point)>>,
    /// Calls reported of each.
    limit: u64,
}

impl Watches {
    /// What `specs` ask for, of which at most `limit` calls each are reported.
    ///
    /// # Errors
    /// [`WatchError`] says what is not there.
    pub fn new(specs: &[Spec], kernel: Option<&Path>, limit: u64) -> Result<Self, WatchError> {
        let mut this = Self {
            watches: Vec::new(),
            loader: None,
            mappings: None,
            places: RwLock::default(),
            limit,
        };
        let needs_kernel = |spec: &&Spec| spec.file.is_none();
        let image = match (specs.iter().find(needs_kernel), kernel) {
            (None, _) => None,
            (Some(spec), None) => return Err(WatchError::NoKernel(spec.to_string())),
            (Some(spec), Some(path)) => Some(open(spec, path)?),
        };
        let types = image.as_ref().and_then(|image| Btf::find(image.bytes()));
        for spec in specs {
            this.add(spec, image.as_ref(), types.as_ref())?;
        }
        Ok(this)
    }

    fn add(
        &mut self,
        spec: &Spec,
        image: Option<&KernelImage>,
        types: Option<&Btf>,
    ) -> Result<(), WatchError> {
        let (mut parameters, mut job) = (None, None);
        let target = match (&spec.object, &spec.file, image) {
            (_, Some(file), _) => Target::Process(open_process(spec, file)?),
            (None, None, Some(image)) => {
                parameters = types.and_then(|types| types.parameters(&spec.function));
                let point = Point::Watched(self.watches.len());
                self.place(spec, image, &spec.function, point)?;
                Target::Kernel
            }
            (Some(_), None, Some(image)) => {
                let loader = types.and_then(Loader::new);
                self.loader = Some(loader.ok_or_else(|| WatchError::NoTypes(spec.to_string()))?);
                self.place(spec, image, LOADER, Point::Loaded)?;
                if let Some(types) = module_types(spec, types)? {
                    parameters = types.parameters(&spec.function);
                    let module = spec.object.as_deref().map(module::name);
                    job = module.and_then(|it| Job::of(&it, &spec.function, &types));
                }
                Target::Module
            }
            (_, None, None) => return Err(WatchError::NoKernel(spec.to_string())),
        };
        let places = match &target {
            Target::Kernel => 1,
            _ => 0,
        };
        self.watches.push(Watch {
            spec: spec.clone(),
            target,
            parameters,
            ioctls: Ioctls::of(spec)?,
            job,
            calls: AtomicU64::new(0),
            places: AtomicU64::new(places),
            is_told: AtomicBool::new(false),
        });
        Ok(())
    }

    /// A function of the kernel is a point.
    fn place(
        &mut self,
        spec: &Spec,
        image: &KernelImage,
        function: &str,
        point: Point,
    ) -> Result<(), WatchError> {
        let entries = image.function(function).map_err(|error| {
            let spec = spec.to_string();
            WatchError::Kernel { spec, error }
        })?;
        let entries = entries.into_iter().map(VirtualAddress);
        entries.for_each(|at| self.found(at, point));
        Ok(())
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        self.watches.is_empty()
    }

    /// Points among the guest's code at these addresses, which lie in one page
    /// or in two that follow each other. `read` reads guest code.
    pub fn points(
        &self,
        code: RangeInclusive<VirtualAddress>,
        read: impl Fn(VirtualAddress, &mut [u8]) -> bool,
    ) -> Vec<(VirtualAddress, Point)> {
        if is_kernel_address(*code.start()) {
            let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
            let inside = places.iter().filter(|(at, _)| code.contains(at));
            return inside.copied().collect();
        }
        let watches = self.watches.iter().enumerate();
        let found = watches.filter_map(|(number, watch)| {
            let Target::Process(process) = &watch.target else {
                return None;
            };
            let address = process.find(&code, &read)?;
            watch.places.fetch_add(1, Relaxed);
            Some((address, Point::Watched(number)))
        });
        found.collect()
    }

    /// The point at `address` is reached. What is seen there, if anything is to
    /// be reported.
    pub fn reach(
        &self,
        (address, point): (VirtualAddress, Point),
        guest: &dyn Guest,
        when: Option<When>,
    ) -> Option<Sighting<'_>> {
        match point {
            Point::Loaded => self.loaded(guest),
            Point::Mapped => {
                let mapping = self.mappings.as_ref()?.mapping(guest);
                mapping.iter().for_each(|mapping| self.mapped(mapping));
                None
            }
            Point::Watched(number) => {
                let watch = self.watches.get(number)?;
                self.is_it(watch, address, guest).then_some(())?;
                self.called(number, watch, guest, when)
            }
        }
    }

    /// The arguments of the watched function at whose entry the guest is,
    /// reported or not. `None` if the point is no such entry.
    pub fn arguments(
        &self,
        (address, point): (VirtualAddress, Point),
        guest: &dyn Guest,
    ) -> Option<Arguments<'_>> {
        let Point::Watched(number) = point else {
            return None;
        };
        let watch = self.watches.get(number)?;
        self.is_it(watch, address, guest)
            .then(|| watch.arguments(guest))
    }

    /// The GPU addresses at which the function's jobs may begin, at whose entry the guest
    /// is, if it is one that starts jobs.
    pub fn job(&self, point: Point, guest: &dyn Guest) -> Option<Vec<u64>> {
        let Point::Watched(number) = point else {
            return None;
        };
        let job = self.watches.get(number)?.job.as_ref()?;
        Some(job.addresses(guest))
    }

    /// An address that became known by a mapping may be another process's.
    fn is_it(&self, watch: &Watch, address: VirtualAddress, guest: &dyn Guest) -> bool {
        let Target::Process(process) = &watch.target else {
            return true;
        };
        let is_known = self.is_known(address);
        let is_it = !is_known || process.is_entry(address, |at, out| guest.read(at, out));
        if is_it && is_known {
            watch.places.fetch_max(1, Relaxed);
        }
        is_it
    }

    fn called<'a>(
        &self,
        number: usize,
        watch: &'a Watch,
        guest: &dyn Guest,
        when: Option<When>,
    ) -> Option<Sighting<'a>> {
        let is_reported = watch.calls.fetch_add(1, Relaxed) < self.limit;
        is_reported.then(|| {
            Sighting::Call(Call {
                watch: number,
                label: watch.spec.label(),
                when,
                process: guest.process(),
                arguments: watch.arguments(guest),
                ioctl: watch.ioctls.as_ref().map(|ioctls| ioctls.read(guest)),
            })
        })
    }

    /// A module is loaded: whether it is one that is waited for.
    fn loaded(&self, guest: &dyn Guest) -> Option<Sighting<'_>> {
        let loader = self.loader.as_ref()?;
        let module = loader.module(guest)?;
        let mut sighting = None;
        for (number, watch) in self.watches.iter().enumerate() {
            let is_it = watch.spec.object.as_deref().map(module::name) == Some(module.name.clone());
            if !is_it || !matches!(watch.target, Target::Module) {
                continue;
            }
            let entries = loader.function(guest, &module, &watch.spec.function);
            watch.places.fetch_max(entries.len() as u64, Relaxed);
            if entries.is_empty() && !watch.is_told.swap(true, Relaxed) {
                sighting = Some(Sighting::NoFunction {
                    module: module.name.clone(),
                    function: &watch.spec.function,
                });
            }
            let point = Point::Watched(number);
            entries.into_iter().for_each(|at| self.found(at, point));
        }
        sighting
    }

    /// At the end: what was not shown, and what was never called.
    pub fn summary(&self) -> Vec<String> {
        let line = |watch: &Watch| {
            let (label, calls) = (watch.spec.label(), watch.calls.load(Relaxed));
            let left_out = calls.saturating_sub(self.limit);
            match (calls, left_out) {
                // The same library may be there for both architectures.
                (0, _) if self.is_called(&label) => None,
                (0, _) => Some(format!("{label} was not called{}", watch.why())),
                (_, 0) => None,
                _ => Some(format!(
                    "{label} was called {calls} times, the last {left_out} are not shown"
                )),
            }
        };
        let plain = self.watches.iter().filter(|it| it.ioctls.is_none());
        plain.filter_map(line).chain(self.driver_calls()).collect()
    }

    /// What the functions of each driver's ioctls saw together, a line a driver.
    fn driver_calls(&self) -> Vec<String> {
        let mut drivers: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for watch in &self.watches {
            if let Some(ioctls) = &watch.ioctls {
                let calls = watch.calls.load(Relaxed);
                let (all, left_out) = drivers.entry(ioctls.driver()).or_default();
                *all += calls;
                *left_out += calls.saturating_sub(self.limit);
            }
        }
        let line = |(driver, counts)| match counts {
            (0, _) => format!("no call of the driver {driver} was seen: its module was not used"),
            (1, 0) => format!("the driver {driver} was called once"),
            (calls, 0) => format!("the driver {driver} was called {calls} times"),
            (calls, left_out) => format!(
                "the driver {driver} was called {calls} times, {left_out} of them not shown"
            ),
        };
        drivers.into_iter().map(line).collect()
    }

    /// Whether a function of that label was called in any file.
    fn is_called(&self, label: &str) -> bool {
        let is_it = |watch: &Watch| watch.spec.label() == label && watch.calls.load(Relaxed) > 0;
        self.watches.iter().any(is_it)
    }

    /// Calls of each watch, by its label.
    pub fn calls(&self) -> Vec<(String, u64)> {
        let calls = |watch: &Watch| (watch.spec.label(), watch.calls.load(Relaxed));
        self.watches.iter().map(calls).collect()
    }
}

impl Watch {
    fn parameters(&self) -> Option<&[Parameter]> {
        match &self.target {
            Target::Process(process) => process.parameters.as_deref(),
            _ => self.parameters.as_deref(),
        }
    }

    fn arguments(&self, guest: &dyn Guest) -> Arguments<'_> {
        let mut all = arguments::read(self.parameters(), self.convention(), guest);
        all.values
            .extend(self.job.iter().flat_map(|job| job.read(guest)));
        all
    }

    fn convention(&self) -> Convention {
        match &self.target {
            Target::Process(process) if process.is_32bit => Convention::Aarch32,
            _ => Convention::Aarch64,
        }
    }

    /// Why it was never called, where more is known.
    fn why(&self) -> &'static str {
        match (&self.target, self.places.load(Relaxed)) {
            (Target::Module, 0) => ": no module of that name with that function was loaded",
            (Target::Process(_), 0) => ": no process executed it",
            _ => "",
        }
    }
}

fn open(spec: &Spec, path: &Path) -> Result<KernelImage, WatchError> {
    KernelImage::open(path).map_err(|error| {
        let spec = spec.to_string();
        WatchError::Kernel { spec, error }
    })
}

/// The types of a module, in its file, which go on from the kernel's.
fn module_types(spec: &Spec, kernels: Option<&Btf>) -> Result<Option<Btf>, WatchError> {
    let (Some(path), Some(kernels)) = (&spec.types, kernels) else {
        return Ok(None);
    };
    let bytes = symbol::read(path).map_err(|error| WatchError::File {
        spec: spec.to_string(),
        file: path.clone(),
        error,
    })?;
    Ok(btf::in_module(&bytes).and_then(|types| kernels.with_module(types)))
}

fn open_process(spec: &Spec, file: &Path) -> Result<ProcessCode, WatchError> {
    let failed = |error| WatchError::File {
        spec: spec.to_string(),
        file: file.into(),
        error,
    };
    let bytes = symbol::read(file).map_err(failed)?;
    ProcessCode::parse(&bytes, &spec.function).map_err(failed)
}
