//! The guest's display: one of the simulator's, with the kernel's driver for it.

use crate::config::Display;
use crate::{Error, system};
use std::fs;
use std::path::Path;

/// Where gil's module is told that the program has ended (`synthetic-driver/screen.c`).
const END: &str = "/sys/module/gil_screen/parameters/end";

/// Loads its modules.
///
/// # Errors
/// That of a module.
pub fn begin(display: &Display) -> Result<(), Error> {
    let Some((last, before)) = display.modules.split_last() else {
        return Ok(());
    };
    for module in before {
        system::load_module(Path::new(module))?;
    }
    let parameters = format!("every_us={}", display.every_us);
    system::load_module_with(Path::new(last), &parameters)
}

/// Where it is told that the program has ended, and others are about to be killed.
const LEAVE: &str = "/sys/module/gil_screen/parameters/leave";

/// Has the last picture taken now if others than the program have the display.
///
/// # Errors
/// [`Error::Display`].
pub fn leave() -> Result<(), Error> {
    fs::write(LEAVE, "1").map_err(Error::Display)
}

/// Has the last picture taken.
///
/// # Errors
/// [`Error::Display`].
pub fn end() -> Result<(), Error> {
    fs::write(END, "1").map_err(Error::Display)
}
