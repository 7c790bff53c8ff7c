//! A job on its way through what it names at GPU addresses, whoever has the memory there:
//! an open file's buffers, or the pages that the guest's own driver mapped.

use crate::buffer::PAGE;
use crate::words::word;

/// Most pages that a job looks at: what names more does not end.
const MOST: u64 = 1 << 24;

/// What is wrong at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is there to read.
    Reads,
    /// Nothing is there to write.
    Writes,
    /// What is there has no type.
    NoType,
    /// It does not end.
    NoEnd,
}

/// A GPU address at which there is not what a job wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {what} at GPU address {address:#x}")]
pub struct Fault {
    /// The address.
    pub address: u64,
    /// What should be there.
    pub what: &'static str,
    /// What is wrong.
    pub kind: Kind,
}

/// Memory at GPU addresses.
pub trait Addresses {
    /// Whether so many bytes are there.
    fn has(&self, address: u64, len: u64) -> bool;

    /// Whether they may be code.
    fn has_code(&self, address: u64, len: u64) -> bool {
        self.has(address, len)
    }

    /// Whether they are a heap, which may grow when the GPU first touches it.
    fn has_heap(&self, address: u64, len: u64) -> bool {
        self.has(address, len)
    }

    /// Copies bytes from there; false if they are not there.
    fn read(&self, address: u64, bytes: &mut [u8]) -> bool;

    /// Writes bytes there; false, and none are written, if they are not there.
    fn write(&mut self, address: u64, bytes: &[u8]) -> bool;
}

/// A job on its way through what it names.
pub struct Walk<'m> {
    memory: Box<dyn Addresses + 'm>,
    /// What was found.
    pub found: u64,
    /// Where the job descriptor is that is executed; 0: there is none.
    pub descriptor: u64,
    pages: u64,
}

impl<'m> Walk<'m> {
    /// One that has found nothing yet.
    pub fn new(memory: impl Addresses + 'm) -> Self {
        Self {
            memory: Box::new(memory),
            found: 0,
            descriptor: 0,
            pages: 0,
        }
    }

    /// Something is looked for.
    fn step(&mut self, fault: Fault, len: u64) -> Result<(), Fault> {
        self.pages = self.pages.saturating_add(1 + len / PAGE);
        match self.pages > MOST {
            true => Err(Fault {
                kind: Kind::NoEnd,
                ..fault
            }),
            false => Ok(()),
        }
    }

    /// It was found, or not.
    fn see(&mut self, fault: Fault, is_there: bool) -> Result<(), Fault> {
        self.found += u64::from(is_there);
        is_there.then_some(()).ok_or(fault)
    }

    /// So many bytes are there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn has(&mut self, address: u64, len: u64, what: &'static str) -> Result<(), Fault> {
        let (fault, len) = (reads(address, what), len.max(1));
        self.step(fault, len)?;
        let is_there = self.memory.has(address, len);
        self.see(fault, is_there)
    }

    /// Shader code of so many bytes is there, where code may be.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn has_code(&mut self, address: u64, len: u64, what: &'static str) -> Result<(), Fault> {
        let (fault, len) = (reads(address, what), len.max(1));
        self.step(fault, len)?;
        let is_there = self.memory.has_code(address, len);
        self.see(fault, is_there)
    }

    /// A heap of so many bytes is there, or grows when it is used.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn has_heap(&mut self, address: u64, len: u64, what: &'static str) -> Result<(), Fault> {
        let is_there = self.memory.has_heap(address, len);
        self.see(reads(address, what), is_there)
    }

    /// The bytes there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn bytes(&mut self, address: u64, len: u64, what: &'static str) -> Result<Vec<u8>, Fault> {
        let fault = reads(address, what);
        self.step(fault, len)?;
        // No more is allocated than is there.
        let is_there = self.memory.has(address, len);
        self.see(fault, is_there)?;
        let mut bytes = vec![0; len as usize];
        self.memory.read(address, &mut bytes);
        Ok(bytes)
    }

    /// So many numbers of 32 bits there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn words(
        &mut self,
        address: u64,
        count: u64,
        what: &'static str,
    ) -> Result<Vec<u32>, Fault> {
        let bytes = self.bytes(address, count * 4, what)?;
        Ok((0..count as usize).map(|n| word(&bytes, n * 4)).collect())
    }

    /// Writes bytes there.
    ///
    /// # Errors
    /// [`Fault`]; then nothing is written.
    pub fn write(&mut self, address: u64, bytes: &[u8], what: &'static str) -> Result<(), Fault> {
        let kind = Kind::Writes;
        let fault = Fault {
            kind,
            ..reads(address, what)
        };
        self.step(fault, bytes.len() as u64)?;
        let is_there = self.memory.write(address, bytes);
        self.see(fault, is_there)
    }
}

fn reads(address: u64, what: &'static str) -> Fault {
    Fault {
        address,
        what,
        kind: Kind::Reads,
    }
}
