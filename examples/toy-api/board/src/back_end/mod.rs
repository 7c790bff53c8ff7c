//! The back end: how the driver is found, and what it has. [`driver`] is the
//! library, [`session`] one guest program's objects.

pub mod driver;
pub mod generated;
pub mod session;
pub mod support;

use driver::Driver;
use generated::types::*;
use gil_board::back_end::{BackEnd, DriverOptions, GuestThreads, Needs, Registered, Selection};
use gil_board::board::{self, Board, BoardError, Guest};
use gil_board::region::Budget;
use gil_wire::generated::toy::API;
use gil_wire::identity::DeviceInfo;
use std::io;
use std::path::PathBuf;

/// Names the driver, where it is not among the system's libraries.
pub const VARIABLE: &str = "TOY_DRIVER";

/// The toy API's back end.
#[derive(Debug)]
pub struct Toy;

impl BackEnd for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn apis(&self) -> &'static [u16] {
        &[API]
    }

    fn registered(&self) -> Vec<Registered> {
        let library = Driver::file();
        vec![Registered {
            label: format!("Toy ({library})"),
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
            variables: &["TOY_"],
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

    fn load(&self, _options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        let driver = Driver::load().map_err(|error| BoardError::Driver(Box::new(error)))?;
        Ok(Box::new(ToyBoard(Box::leak(Box::new(driver)))))
    }
}

/// The driver, loaded: its functions are there until the process ends.
#[derive(Debug)]
struct ToyBoard(&'static Driver);

impl Board for ToyBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        let device = |number| {
            let name = self.0.text(number, TOY_DEVICE_NAME)?;
            Some(DeviceInfo {
                api: "Toy".into(),
                platform: "libtoy".into(),
                name,
                version: env!("CARGO_PKG_VERSION").into(),
            })
        };
        (0..).map_while(device).collect()
    }

    fn open<'b>(
        &'b self,
        _guest: Guest,
        _budget: &Budget,
    ) -> Result<Box<dyn board::Session + 'b>, BoardError> {
        Ok(Box::new(GuestThreads::new(session::Session::new(self.0))))
    }
}
