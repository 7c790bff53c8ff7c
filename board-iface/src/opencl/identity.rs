//! The physical device behind an OpenCL device.

use super::driver::Driver;
use crate::back_end::Pointer;
use gil_wire::identity::{DeviceIdentity, PciAddress};

/// `CL_DEVICE_UUID_KHR` of the extension `cl_khr_device_uuid`: 16 bytes.
const UUID: u32 = 0x106a;
/// `CL_DEVICE_PCI_BUS_INFO_KHR` of the extension `cl_khr_pci_bus_info`: domain,
/// bus, device and function, 32 bits each.
const PCI: u32 = 0x410f;

impl Driver {
    /// What is known of a device that was listed; not of one that was made by
    /// partition.
    pub fn identity(&self, device: Pointer) -> Option<DeviceIdentity> {
        let (platform, name, index) = self.place(device)?;
        Some(DeviceIdentity {
            uuid: self.device_bytes(device, UUID).and_then(uuid),
            pci: self.device_bytes(device, PCI).and_then(pci),
            place: format!("{platform}: {name}, {index}"),
        })
    }
}

/// Drivers that have none say zeroes.
fn uuid(bytes: Vec<u8>) -> Option<[u8; 16]> {
    let uuid: [u8; 16] = bytes.try_into().ok()?;
    (uuid != [0; 16]).then_some(uuid)
}

fn pci(bytes: Vec<u8>) -> Option<PciAddress> {
    let bytes: [u8; 16] = bytes.try_into().ok()?;
    let word = |at: usize| {
        let word = bytes[at..at + 4].try_into();
        word.map_or(0, u32::from_ne_bytes)
    };
    Some(PciAddress {
        domain: word(0),
        bus: word(4),
        device: word(8),
        function: word(12),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_none() {
        assert_eq!(uuid(vec![0; 16]), None);
        assert_eq!(uuid(vec![7; 15]), None);
        assert_eq!(uuid(vec![7; 16]), Some([7; 16]));
        assert_eq!(pci(vec![0; 8]), None);
        let words = [0u32, 0x41, 2, 1];
        let bytes = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let found = pci(bytes).map(|at| [at.domain, at.bus, at.device, at.function]);
        assert_eq!(found, Some(words));
    }
}
