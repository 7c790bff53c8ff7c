//! The driver of a GPU that the guest has instead of the GPU: gil's module answers its calls.

use crate::config::Driver;
use crate::{Error, system};
use std::path::Path;

/// Loads its modules.
///
/// # Errors
/// That of a module.
pub fn begin(driver: &Driver) -> Result<(), Error> {
    let Some((last, before)) = driver.modules.split_last() else {
        return Ok(());
    };
    for module in before {
        system::load_module(Path::new(module))?;
    }
    let outputs = u8::from(driver.outputs);
    let parameters = format!("driver={} outputs={outputs}", driver.name);
    system::load_module_with(Path::new(last), &parameters)
}
