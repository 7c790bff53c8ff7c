//! Clocks of devices whose rates the kernel chooses by the devices' load.

use crate::Error;
use std::fs;
use std::io;
use std::path::Path;

/// Where the kernel has such devices.
const DEVICES: &str = "/sys/class/devfreq";

/// Keeps each at its highest rate, at which operations last as long as on the board, until
/// a program asks for less: in the file `min_freq` of the device.
///
/// # Errors
/// [`Error::Rate`].
pub fn keep_highest() -> Result<(), Error> {
    let Ok(devices) = fs::read_dir(DEVICES) else {
        return Ok(());
    };
    for device in devices.flatten() {
        keep(&device.path()).map_err(Error::Rate)?;
    }
    Ok(())
}

fn keep(device: &Path) -> io::Result<()> {
    let rates = fs::read_to_string(device.join("available_frequencies"))?;
    match highest(&rates) {
        Some(rate) => fs::write(device.join("min_freq"), rate.to_string()),
        None => Ok(()),
    }
}

fn highest(rates: &str) -> Option<u64> {
    let rates = rates.split_whitespace();
    rates.filter_map(|rate| rate.parse().ok()).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_kept() {
        let device = tempfile::tempdir().unwrap();
        let at = |name: &str| device.path().join(name);
        assert!(keep(device.path()).is_err());
        fs::write(at("available_frequencies"), "\n").unwrap();
        keep(device.path()).unwrap();
        assert!(!at("min_freq").exists());
        fs::write(
            at("available_frequencies"),
            "160000000 440000000 267000000 \n",
        )
        .unwrap();
        keep(device.path()).unwrap();
        assert_eq!(fs::read_to_string(at("min_freq")).unwrap(), "440000000");
    }
}
