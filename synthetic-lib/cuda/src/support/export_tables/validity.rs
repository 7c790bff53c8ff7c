//! The self-test by which the runtime establishes that it and the driver are valid
//! (`cudaErrorSoftwareValidityNotEstablished`): a code of what both know, with a key. How it is
//! computed is public by the ZLUDA project, which says how NVIDIA's driver answers.
//!
//! It is answered here so that the runtime works on NVIDIA's GPU and driver, which are on the
//! board. The answer says that this library knows the test, and nothing about the board's driver.

use super::super::place;
use super::{Id, Table, md2, runtime};
use crate::generated::manual::Guest;
use crate::generated::stubs;
use crate::generated::types::*;
use gil_guest::api::{Api, CallResult};
use std::ffi::{c_int, c_uint, c_void};

pub const ID: Id = [
    0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2,
];

pub static TABLE: Table<3> = Table::sized(&[(1, answer as *const c_void)]);

const KEY: md2::Digest = [
    0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52, 0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f,
];

/// The answers if the last digit of the question is 0 or 1, which depend on nothing.
const FIXED: [[u64; 2]; 2] = [
    [0x3341_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
    [0x1841_181c_03cb_675c, 0x8ed3_83aa_1f4c_d1e8],
];

/// The attributes of a device that are its address: domain, bus and number.
const PCI: [CUdevice_attribute; 3] = [50, 33, 34];

/// What a device is known by.
#[derive(Debug, Default)]
struct Device {
    uuid: [u8; 16],
    /// As [`PCI`].
    pci: [c_int; 3],
}

/// What the code is computed over.
#[derive(Debug)]
struct Message {
    driver: c_int,
    question: c_uint,
    process: u32,
    thread: u32,
    /// The runtime's table, this one, and its function.
    addresses: [usize; 3],
    seconds: u64,
    devices: Vec<Device>,
}

impl Message {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let words = [
            self.driver.cast_unsigned(),
            self.question,
            self.process,
            self.thread,
        ];
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let addresses = self.addresses.iter().map(|address| *address as u64);
        bytes.extend(addresses.flat_map(u64::to_le_bytes));
        bytes.extend(self.seconds.to_le_bytes());
        for device in &self.devices {
            bytes.extend(device.uuid);
            bytes.extend(device.pci.iter().flat_map(|word| word.to_le_bytes()));
        }
        bytes
    }
}

fn checked(result: CUresult) -> CallResult<()> {
    match result {
        CUDA_SUCCESS => Ok(()),
        error => Err(error),
    }
}

fn device(device: CUdevice) -> CallResult<Device> {
    let mut known = Device::default();
    // SAFETY: there is space for each.
    unsafe {
        let uuid = (&raw mut known.uuid).cast::<CUuuid>();
        checked(stubs::cuDeviceGetUuid_v2(uuid, device))?;
        for (value, attribute) in known.pci.iter_mut().zip(PCI) {
            checked(stubs::cuDeviceGetAttribute(value, attribute, device))?;
        }
    }
    Ok(known)
}

fn message(question: c_uint, seconds: u64) -> CallResult<Message> {
    let (mut driver, mut count) = (0, 0);
    // SAFETY: there is space for each; the thread's own number.
    let thread = unsafe {
        checked(stubs::cuDriverGetVersion(&mut driver))?;
        checked(stubs::cuDeviceGetCount(&mut count))?;
        libc::pthread_self()
    };
    Ok(Message {
        driver,
        question,
        process: std::process::id(),
        thread: thread as u32,
        addresses: [
            runtime::TABLE.address().addr(),
            TABLE.address().addr(),
            TABLE.0[1].addr(),
        ],
        seconds,
        devices: (0..count).map(device).collect::<CallResult<_>>()?,
    })
}

/// Answers a question: the runtime's version and a last digit, at a time.
unsafe extern "C" fn answer(question: c_uint, seconds: u64, code: *mut [u64; 2]) -> CUresult {
    Guest::returned(|| {
        let to = place(code)?;
        let answer = match FIXED.get((question % 10) as usize) {
            Some(fixed) => *fixed,
            None => {
                let code =
                    u128::from_le_bytes(md2::code(&KEY, &message(question, seconds)?.bytes()));
                [code as u64, (code >> 64) as u64]
            }
        };
        // SAFETY: the caller's place.
        unsafe { to.write_unaligned(answer) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_what_both_know_in_its_order() {
        let message = Message {
            driver: 1,
            question: 2,
            process: 3,
            thread: 4,
            addresses: [5, 6, 7],
            seconds: 8,
            devices: vec![Device {
                uuid: [9; 16],
                pci: [10, 11, 12],
            }],
        };
        let mut bytes = vec![0; 76];
        for (n, at) in [0, 4, 8, 12, 16, 24, 32, 40].into_iter().enumerate() {
            bytes[at] = n as u8 + 1;
        }
        bytes[48..64].fill(9);
        for (n, at) in [64, 68, 72].into_iter().enumerate() {
            bytes[at] = n as u8 + 10;
        }
        assert_eq!(message.bytes(), bytes);
    }
}
