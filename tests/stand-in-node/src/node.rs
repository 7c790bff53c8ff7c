//! A node, by its driver.

use crate::device::Device;
use crate::file::OpenFile;
use crate::script::Script;
use crate::{lima, panfrost, sample_gpu};
use gil_board::drivers::node::{Executes, Mapped, Node, Open, Performed, Raw, Version};
use gil_wire::identity::DeviceIdentity;
use nix::errno::Errno;
use std::cell::RefCell;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// A driver that a node stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// Mali-400.
    Lima,
    /// Mali-T628.
    Panfrost,
    /// The sample.
    SampleGpu,
}

impl Driver {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lima => "lima",
            Self::Panfrost => "panfrost",
            Self::SampleGpu => "sample_gpu",
        }
    }

    /// As Linux 6.1 reports it.
    fn version(self) -> Version {
        let (numbers, date) = match self {
            Self::Lima => ([1, 1, 0], "20191231"),
            Self::Panfrost => ([1, 2, 0], "20180908"),
            Self::SampleGpu => ([1, 0, 0], "0"),
        };
        let name = self.name();
        Version {
            name: name.into(),
            numbers,
            date: date.into(),
            description: format!("{name} DRM"),
        }
    }

    fn addresses(self) -> std::ops::Range<u64> {
        match self {
            Self::Lima => lima::ADDRESSES,
            Self::Panfrost => panfrost::ADDRESSES,
            Self::SampleGpu => sample_gpu::ADDRESSES,
        }
    }
}

/// A node.
#[derive(Debug)]
pub struct StandIn {
    pub(crate) driver: Driver,
    version: Version,
    pub(crate) device: Arc<Device>,
}

impl StandIn {
    /// One whose jobs take these times.
    pub fn new(driver: Driver, script: Script) -> Self {
        Self {
            driver,
            version: driver.version(),
            device: Arc::new(Device::new(script)),
        }
    }
}

impl Node for StandIn {
    fn path(&self) -> &Path {
        Path::new("stand-in")
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn identity(&self) -> DeviceIdentity {
        DeviceIdentity {
            place: format!("{} stand-in", self.version.name),
            ..DeviceIdentity::default()
        }
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        let driver = self.driver;
        let file = OpenFile::new(driver.name(), self.device.clone(), driver.addresses());
        Ok(Box::new(Opened {
            driver,
            file: RefCell::new(file),
        }))
    }

    fn gpu(&self) -> Option<&dyn Executes> {
        match self.driver {
            Driver::Lima | Driver::Panfrost => Some(self),
            Driver::SampleGpu => None,
        }
    }
}

/// A file as the agent has it.
struct Opened {
    driver: Driver,
    file: RefCell<OpenFile>,
}

impl Open for Opened {
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno> {
        let mut file = self.file.borrow_mut();
        match self.driver {
            Driver::Lima => lima::ioctl(&mut file, call),
            Driver::Panfrost => panfrost::ioctl(&mut file, call),
            Driver::SampleGpu => sample_gpu::ioctl(&mut file, call),
        }
    }

    fn map(&self, offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno> {
        Ok(Box::new(self.file.borrow().map(offset, len as u64)?))
    }

    fn export(&self, handle: u32) -> Result<OwnedFd, Errno> {
        self.file.borrow().export(handle)
    }

    fn import(&self, buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        self.file.borrow_mut().import(buffer)
    }

    fn close(&self, handle: u32) -> Result<(), Errno> {
        self.file.borrow_mut().space.remove(handle)
    }
}
