//! Guest RAM through the simulator's own functions.

use super::{GuestMemory, MemoryError};
use gil_address_tables::{Extents, RamMap};
use gil_transport::vectored::Span;
use gil_uapi::{GuestAddress, GuestLength};

/// Copies from guest RAM to the buffer; whether it could.
pub type ReadGuest = Box<dyn Fn(GuestAddress, &mut [u8]) -> bool + Send + Sync>;
/// Copies to guest RAM from the buffer; whether it could.
pub type WriteGuest = Box<dyn Fn(GuestAddress, &[u8]) -> bool + Send + Sync>;

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

fn refused(gpa: GuestAddress, len: GuestLength) -> MemoryError {
    MemoryError::Refused { gpa, len }
}

impl GuestMemory for Callbacks {
    fn ram(&self) -> &RamMap {
        &self.ram
    }

    fn read(&self, gpa: GuestAddress, out: &mut [u8]) -> Result<(), MemoryError> {
        let len = GuestLength::of(out);
        self.ram.check(gpa, len)?;
        let done = out.is_empty() || (self.read)(gpa, out);
        done.then_some(()).ok_or_else(|| refused(gpa, len))
    }

    fn write(&self, gpa: GuestAddress, bytes: &[u8]) -> Result<(), MemoryError> {
        let len = GuestLength::of(bytes);
        self.ram.check(gpa, len)?;
        let done = bytes.is_empty() || (self.write)(gpa, bytes);
        done.then_some(()).ok_or_else(|| refused(gpa, len))
    }

    fn spans(
        &self,
        extents: &Extents,
        len: GuestLength,
    ) -> Result<Option<Vec<Span<'_>>>, MemoryError> {
        let mut left = len;
        for extent in extents.iter() {
            let now = left.min(extent.len);
            self.ram.check(extent.gpa, now)?;
            left = left.saturating_sub(now);
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
            gpa: GuestAddress(0x1000),
            len: GuestLength(16),
            offset: 0,
        };
        let ram = RamMap::new(vec![range]).unwrap();
        let read: ReadGuest = Box::new(|gpa, out| {
            out.fill(gpa.0 as u8);
            gpa != GuestAddress(0x1008)
        });
        let write: WriteGuest = Box::new(|gpa, _| gpa.0 >= 0x1000);
        let memory = Callbacks::new(ram, read, write);
        let mut out = [0; 4];
        memory.read(GuestAddress(0x1004), &mut out).unwrap();
        assert_eq!(out, [4; 4]);
        assert!(matches!(
            memory.read(GuestAddress(0x1008), &mut out),
            Err(MemoryError::Refused {
                gpa: GuestAddress(0x1008),
                len: GuestLength(4)
            })
        ));
        let write = |gpa, bytes: &[u8]| memory.write(GuestAddress(gpa), bytes);
        assert!(matches!(write(0, &[1]), Err(MemoryError::Ram(_))));
        assert!(matches!(write(0x100d, &[1; 4]), Err(MemoryError::Ram(_))));
        write(0x100c, &[1; 4]).unwrap();
    }
}
