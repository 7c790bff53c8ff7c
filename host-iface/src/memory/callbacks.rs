//! Guest RAM through the simulator's own functions.

use super::{GuestMemory, MemoryError};
use gil_address_tables::{Extents, RamMap};
use gil_transport::vectored::Span;

/// Copies from guest RAM to the buffer; whether it could.
pub type ReadGuest = Box<dyn Fn(u64, &mut [u8]) -> bool + Send + Sync>;
/// Copies to guest RAM from the buffer; whether it could.
pub type WriteGuest = Box<dyn Fn(u64, &[u8]) -> bool + Send + Sync>;

/// Guest RAM behind two functions, which are only called with addresses that
/// the table of ranges holds.
pub struct Callbacks {
    ram: RamMap,
    read: ReadGuest,
    write: WriteGuest,
}

impl Callbacks {
    /// Guest RAM as `ram` says, reached through `read` and `write`.
    pub fn new(ram: RamMap, read: ReadGuest, write: WriteGuest) -> Self {
        Self { ram, read, write }
    }
}

fn refused(gpa: u64, len: usize) -> MemoryError {
    MemoryError::Refused {
        gpa,
        len: len as u64,
    }
}

impl GuestMemory for Callbacks {
    fn ram(&self) -> &RamMap {
        &self.ram
    }

    fn read(&self, gpa: u64, out: &mut [u8]) -> Result<(), MemoryError> {
        self.ram.check(gpa, out.len() as u64)?;
        let done = out.is_empty() || (self.read)(gpa, out);
        done.then_some(()).ok_or_else(|| refused(gpa, out.len()))
    }

    fn write(&self, gpa: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.ram.check(gpa, bytes.len() as u64)?;
        let done = bytes.is_empty() || (self.write)(gpa, bytes);
        done.then_some(()).ok_or_else(|| refused(gpa, bytes.len()))
    }

    fn spans(&self, extents: &Extents, len: u64) -> Result<Option<Vec<Span<'_>>>, MemoryError> {
        let mut left = len;
        for extent in extents.iter() {
            let now = left.min(extent.len);
            self.ram.check(extent.gpa, now)?;
            left -= now;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gil_address_tables::RamRange;

    #[test]
    fn the_functions_only_see_ram() {
        let range = RamRange {
            gpa: 0x1000,
            len: 16,
            offset: 0,
        };
        let ram = RamMap::new(vec![range]).unwrap();
        let read: ReadGuest = Box::new(|gpa, out| {
            out.fill(gpa as u8);
            gpa != 0x1008
        });
        let write: WriteGuest = Box::new(|gpa, _| gpa >= 0x1000);
        let memory = Callbacks::new(ram, read, write);
        let mut out = [0; 4];
        memory.read(0x1004, &mut out).unwrap();
        assert_eq!(out, [4; 4]);
        assert!(matches!(
            memory.read(0x1008, &mut out),
            Err(MemoryError::Refused {
                gpa: 0x1008,
                len: 4
            })
        ));
        assert!(matches!(memory.write(0, &[1]), Err(MemoryError::Ram(_))));
        assert!(matches!(
            memory.write(0x100d, &[1; 4]),
            Err(MemoryError::Ram(_))
        ));
        memory.write(0x100c, &[1; 4]).unwrap();
    }
}
