//! The OpenCL back end: executes what `generated` dispatches, with the OpenCL library
//! that this machine has at run time.
//!
//! In strict mode the session waits for every operation at once, unless it is blocked by
//! something that the guest has yet to do ([`operations`](crate::back_end::operations)).

mod absolute;
mod arg_types;
mod build;
mod checkpoint;
mod driver;
mod enqueue;
mod event_info;
mod files;
mod first_launch;
pub mod generated;
mod icd;
mod identity;
mod image;
mod kept;
mod kernel_args;
mod manual;
mod memory;
mod migrate;
mod notices;
mod objects;
mod part;
mod printing;
mod probe;
mod programs;
mod queue;
pub mod refusal;
pub mod session;
mod shield;
mod staging;
pub mod subgroups;
pub mod support;
mod svm;
mod waits;
mod warm_up;
mod work;

pub use driver::{Driver, OpenClError};

use crate::back_end::{BackEnd, DriverOptions, Needs, Registered, Selection};
use crate::board::{Board, BoardError, Guest, Session};
use crate::region::Budget;
use gil_wire::generated::opencl::API;
use gil_wire::identity::DeviceInfo;
use std::io;
use std::path::PathBuf;

impl From<OpenClError> for BoardError {
    fn from(error: OpenClError) -> Self {
        Self::Driver(Box::new(error))
    }
}

/// The back end.
#[derive(Debug)]
pub struct OpenCl;

impl BackEnd for OpenCl {
    fn name(&self) -> &'static str {
        "opencl"
    }

    fn apis(&self) -> &'static [u16] {
        &[API]
    }

    fn registered(&self) -> Vec<Registered> {
        icd::registered()
    }

    fn place(&self) -> Option<PathBuf> {
        Some(icd::vendors())
    }

    fn needs(&self) -> Needs {
        icd::NEEDS
    }

    fn only(&self, drivers: &[&Registered]) -> io::Result<Selection> {
        icd::only(drivers)
    }

    fn load(&self, options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        Ok(Box::new(OpenClBoard::load(options)?))
    }
}

/// This machine's OpenCL devices.
#[derive(Debug)]
pub struct OpenClBoard {
    driver: &'static Driver,
}

impl OpenClBoard {
    /// Loads the ICD loader and looks for devices.
    ///
    /// # Errors
    /// [`OpenClError`] says what to install.
    pub fn load(options: DriverOptions) -> Result<Self, OpenClError> {
        let driver = Driver::load(options)?;
        Ok(Self { driver })
    }
}

impl Board for OpenClBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        self.driver.devices()
    }

    fn open<'b>(
        &'b self,
        guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn Session + 'b>, BoardError> {
        Ok(Box::new(session::Session::new(self.driver, guest, budget)))
    }
}
