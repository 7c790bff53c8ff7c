//! The driver of a GPU that Mesa draws by: gil's module, which answers its calls instead of a
//! GPU, or the kernel's own.

use crate::config::Driver;
use crate::{Error, rates, system};
use std::path::Path;

/// Loads its modules.
///
/// # Errors
/// That of a module, or [`Error::Rate`].
pub fn begin(driver: &Driver) -> Result<(), Error> {
    let Some((last, before)) = driver.modules.split_last() else {
        return Ok(());
    };
    for module in before {
        system::load_module(Path::new(module))?;
    }
    let outputs = u8::from(driver.outputs);
    let name = driver.name.iter();
    let parameters = name.map(|name| format!("driver={name} outputs={outputs}"));
    system::load_module_with(Path::new(last), &parameters.collect::<String>())?;
    rates::keep_highest()
}
