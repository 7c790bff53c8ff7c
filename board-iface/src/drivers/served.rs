//! A node and its driver's table.

use super::DriversError;
use super::node::{Node, Version};
use gil_drivers::layout::Layout;
use gil_drivers::{Does, Ioctl, Table};
use gil_wire::driver::IOCTLS;
use std::collections::BTreeMap;

/// An ioctl that the table has.
#[derive(Debug)]
pub struct Known {
    /// The ioctl.
    pub ioctl: Ioctl,
    /// Its argument.
    pub layout: Layout,
}

/// A node of a driver whose calls are known.
#[derive(Debug)]
pub struct Served {
    /// The node.
    pub node: Box<dyn Node>,
    /// The driver's table.
    pub table: Table,
    /// The calls, by entry.
    calls: BTreeMap<u16, Known>,
}

impl Served {
    /// With the table of the node's driver.
    ///
    /// # Errors
    /// [`DriversError`] if there is none, or if it is of another driver.
    pub fn of(node: Box<dyn Node>) -> Result<Self, DriversError> {
        let Version { name, numbers, .. } = node.version();
        let table = gil_drivers::table(name)?;
        let path = node.path().to_owned();
        if table.version[0] != numbers[0] {
            return Err(DriversError::Version {
                driver: table.driver,
                path,
                theirs: *numbers,
                ours: table.version,
            });
        }
        let calls: BTreeMap<_, _> = table.ioctls().filter_map(|it| known(&table, it)).collect();
        let mut starts = calls.values().filter(|it| it.ioctl.does == Does::Start);
        let says_its_end = |it: &Layout| it.fence.is_some() || it.sync_out.is_some();
        if !starts.all(|it| says_its_end(&it.layout)) {
            let driver = table.driver;
            return Err(DriversError::Jobs { driver, path });
        }
        Ok(Self { node, table, calls })
    }

    /// The call of this entry.
    pub fn known(&self, entry: u16) -> Option<&Known> {
        self.calls.get(&entry)
    }

    /// The call that says where a buffer's memory is mapped.
    pub fn maps(&self) -> Option<&Known> {
        let has_place = |it: &&Known| it.layout.mmap_offset.is_some();
        let mut maps = self.calls.values().filter(has_place);
        maps.find(|it| it.ioctl.does == Does::Map && it.layout.buffers.len() == 1)
    }

    /// The call that waits for a buffer's jobs.
    pub fn waits(&self) -> Option<&Known> {
        let mut waits = self.calls.values();
        waits.find(|it| it.ioctl.does == Does::Wait && it.layout.buffers.len() == 1)
    }
}

fn known(table: &Table, ioctl: &Ioctl) -> Option<(u16, Known)> {
    let entry = u16::try_from(ioctl.number).ok()?.checked_add(IOCTLS)?;
    let layout = table.layout(ioctl);
    let ioctl = ioctl.clone();
    Some((entry, Known { ioctl, layout }))
}
