//! The machine's devices, which are its OpenCL's.

use crate::error::{Error, NO_DEVICE};
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::platform::{Platform, get_platforms};

/// One of them.
#[derive(Debug)]
pub struct Found {
    platform: Platform,
    device: Device,
    /// How many of the platform's devices are listed before it.
    index: usize,
}

impl Found {
    /// The device of this number, in the order in which the loader lists them.
    ///
    /// # Errors
    /// [`NO_DEVICE`].
    pub fn numbered(number: u32) -> Result<Self, Error> {
        let platforms = get_platforms().map_err(|_| Error(NO_DEVICE))?;
        let devices = platforms.into_iter().flat_map(|platform| {
            // A platform without devices says so with an error.
            let ids = platform.get_devices(CL_DEVICE_TYPE_ALL).unwrap_or_default();
            let found = move |(index, id)| Self {
                platform,
                device: Device::new(id),
                index,
            };
            ids.into_iter().enumerate().map(found)
        });
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        devices.into_iter().nth(number).ok_or(Error(NO_DEVICE))
    }

    /// As OpenCL knows it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its name.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn name(&self) -> Result<String, Error> {
        Ok(self.device.name()?)
    }

    /// Where it is among the machine's.
    ///
    /// # Errors
    /// OpenCL's.
    pub fn place(&self) -> Result<String, Error> {
        let platform = self.platform.name()?;
        Ok(format!("{platform}: {}, {}", self.name()?, self.index))
    }

    /// Its UUID; zeroes if the driver knows none.
    pub fn uuid(&self) -> [u8; 16] {
        self.device.uuid_khr().unwrap_or_default()
    }
}
