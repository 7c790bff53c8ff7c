//! The back end of NVML, NVIDIA's management library: executes what `generated` dispatches,
//! with the library that this machine has at run time.
//!
//! | module | what |
//! |---|---|
//! | here | whether a library is installed, and how it is loaded |
//! | [`driver`] | the library: its functions, its devices |
//! | [`session`] | one guest program's devices |
//! | `manual` | the calls that are written by hand: the start, and lists |
//!
//! Nothing here changes a device, and nothing is told of other processes of this machine:
//! `api/nvml.toml` has no such call that is forwarded.

pub mod driver;
#[allow(non_snake_case, reason = "the names of the API's structures")]
pub mod generated;
mod manual;
pub mod session;
pub mod support;
#[cfg(test)]
#[allow(non_snake_case, reason = "the names of the API's functions")]
mod tests;

use crate::back_end::{BackEnd, DriverOptions, Needs, Registered, Selection};
use crate::board::{self, Board, BoardError, Guest};
use crate::cuda;
use crate::region::Budget;
use driver::{Driver, LIBRARY, VARIABLE};
use gil_wire::generated::nvml::API;
use gil_wire::identity::DeviceInfo;
use std::io;
use std::path::PathBuf;

/// The back end.
#[derive(Debug)]
pub struct Nvml;

impl BackEnd for Nvml {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn apis(&self) -> &'static [u16] {
        &[API]
    }

    fn registered(&self) -> Vec<Registered> {
        let named = std::env::var_os(VARIABLE).is_some();
        if !named && !cuda::is_installed(LIBRARY) {
            return Vec::new();
        }
        let library = Driver::file();
        vec![Registered {
            label: format!("NVML ({library})"),
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
            variables: &["NVIDIA_", "NV_", "GIL_NVML_"],
            ..Needs::default()
        }
    }

    /// There is one library; a process without it has none.
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
        let driver = Driver::load().map_err(|error| BoardError::Driver(Box::new(error)))?;
        Ok(Box::new(NvmlBoard(Box::leak(Box::new(driver)))))
    }
}

/// The library, loaded: its functions are there until the process ends.
#[derive(Debug)]
pub struct NvmlBoard(&'static Driver);

impl Board for NvmlBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        let device = |index| {
            Some(DeviceInfo {
                api: "NVML".into(),
                platform: "NVIDIA".into(),
                name: self.0.name(self.0.device(index)?)?,
                version: self.0.version(),
            })
        };
        (0..self.0.device_count()).filter_map(device).collect()
    }

    fn open<'b>(
        &'b self,
        _guest: Guest,
        _budget: &Budget,
    ) -> Result<Box<dyn board::Session + 'b>, BoardError> {
        Ok(Box::new(session::Session::new(self.0)))
    }
}
