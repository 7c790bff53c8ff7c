//! The back end of CUDA's driver API: executes what `generated` dispatches, with the
//! driver's library that this machine has at run time.
//!
//! | module | what |
//! |---|---|
//! | here | whether a driver is installed, and how it is loaded |
//! | [`driver`] | the library: its functions, its devices |
//! | [`session`] | one guest program's objects |
//! | `operations` | operations under way: what they use, and how long they take |
//! | [`memory`] | the device's memory that a session has |
//! | `rectangles` | rectangles of the device's memory: copied, and set |
//! | `arrays`, `textures` | arrays; textures and surfaces |
//! | `copies` | copies, and memory that is set |
//! | `allocations` | the calls that allocate, and those of pools |
//! | `pools` | stream-ordered memory, and the pools that it comes from |
//! | `manual` | the calls that are written by hand |
//!
//! Contexts of the guest are contexts of the driver, and its streams the driver's. Its events
//! are operations on the timeline: an operation is measured by two events of the driver's,
//! in front of it and behind it on its stream.

mod allocations;
mod arrays;
mod copies;
pub mod driver;
#[allow(non_snake_case, reason = "the names of the API's structures")]
pub mod generated;
mod green;
mod launches;
mod linker;
mod logs;
mod manual;
pub mod memory;
mod occupancy;
mod operations;
mod pinned;
mod pools;
mod rectangles;
pub mod session;
mod shared;
pub mod support;
mod tensor_maps;
mod textures;
mod virtual_memory;

use crate::back_end::{BackEnd, DriverOptions, Needs, Registered, Selection};
use crate::board::{self, Board, BoardError, Guest};
use crate::region::Budget;
use driver::{Driver, LIBRARY, VARIABLE};
use gil_wire::generated::cuda::API;
use gil_wire::identity::DeviceInfo;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The back end.
#[derive(Debug)]
pub struct Cuda;

/// Where distributions, containers and the driver's own installer put its library.
const FOLDERS: [&str; 10] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",
    "/usr/lib/aarch64-linux-gnu/nvidia",
    "/usr/lib/aarch64-linux-gnu/tegra",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/nvidia/lib64",
    "/usr/local/cuda/compat",
    "/usr/lib/wsl/lib",
];

/// Whether this library of the driver's is there. A machine without it has no CUDA and no NVML,
/// which is no fault: nothing is said of it.
pub fn is_installed(library: &str) -> bool {
    let named = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|folder| folder.is_absolute());
    let usual = FOLDERS.iter().map(PathBuf::from);
    named
        .chain(usual)
        .any(|folder| Path::is_file(&folder.join(library)))
}

impl BackEnd for Cuda {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn apis(&self) -> &'static [u16] {
        &[API]
    }

    fn registered(&self) -> Vec<Registered> {
        let named = std::env::var_os(VARIABLE).is_some();
        if !named && !is_installed(LIBRARY) {
            return Vec::new();
        }
        let library = Driver::file();
        vec![Registered {
            label: format!("CUDA ({library})"),
            library: Some(library),
            file: None,
        }]
    }

    /// The library is found by its name: there is no such place.
    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn needs(&self) -> Needs {
        Needs {
            variables: &["CUDA_", "NVIDIA_", "NV_", "__GL_", "GIL_CUDA_"],
            caches: &["CUDA_CACHE_PATH"],
            ..Needs::default()
        }
    }

    /// There is one driver; a process without it has none.
    fn only(&self, drivers: &[&Registered]) -> io::Result<Selection> {
        let none = (VARIABLE.into(), "/nonexistent".into());
        Ok(Selection {
            env: Vec::from_iter(drivers.is_empty().then_some(none)),
            folder: None,
        })
    }

    fn is_of_some_machines(&self) -> bool {
        true
    }

    fn load(&self, _options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        Ok(Box::new(CudaBoard::load(Driver::file())?))
    }
}

/// The driver, loaded: its functions are there until the process ends.
#[derive(Debug)]
pub struct CudaBoard(&'static Driver);

impl CudaBoard {
    /// Loads the driver of this file, or of this name.
    ///
    /// # Errors
    /// [`BoardError::Driver`] says what to do.
    pub fn load(file: impl AsRef<OsStr>) -> Result<Self, BoardError> {
        let driver = Driver::load(file).map_err(|error| BoardError::Driver(Box::new(error)))?;
        Ok(Self(Box::leak(Box::new(driver))))
    }
}

impl Board for CudaBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        let device = |device| {
            Some(DeviceInfo {
                api: "CUDA".into(),
                platform: "NVIDIA CUDA".into(),
                name: self.0.name(device)?,
                version: self.0.version(),
            })
        };
        (0..self.0.device_count()).filter_map(device).collect()
    }

    fn open<'b>(
        &'b self,
        _guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn board::Session + 'b>, BoardError> {
        Ok(Box::new(session::Session::new(self.0, budget.clone())))
    }
}
