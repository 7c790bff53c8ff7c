//! The physical device behind an API's device. A physical device has one set of
//! engines, through whatever API and from whichever process it is used.

use serde::{Deserialize, Serialize};

/// What is known of a device whatever the API.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Its UUID, if its driver knows one: what all APIs say of one GPU, as
    /// `VkPhysicalDeviceIDProperties::deviceUUID` has it.
    pub uuid: Option<[u8; 16]>,
    /// Its PCI address.
    pub pci: Option<PciAddress>,
    /// The driver's name, the device's, and its place among those of that name.
    pub place: String,
}

/// A place on PCI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PciAddress {
    /// The domain.
    pub domain: u32,
    /// The bus.
    pub bus: u32,
    /// The device on the bus.
    pub device: u32,
    /// The function of the device.
    pub function: u32,
}

impl DeviceIdentity {
    /// Whether both are of one device: what both know decides, first the UUID,
    /// then PCI, then the place.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self.uuid, other.uuid, self.pci, other.pci) {
            (Some(ours), Some(theirs), ..) => ours == theirs,
            (_, _, Some(ours), Some(theirs)) => ours == theirs,
            _ => self.place == other.place,
        }
    }
}

/// A device as `gil ping` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// The API through which it is reached: its title.
    pub api: String,
    /// The platform's name.
    pub platform: String,
    /// The device's name.
    pub name: String,
    /// The driver's version.
    pub version: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(uuid: Option<u8>, bus: Option<u32>, place: &str) -> DeviceIdentity {
        DeviceIdentity {
            uuid: uuid.map(|byte| [byte; 16]),
            pci: bus.map(|bus| PciAddress {
                domain: 0,
                bus,
                device: 0,
                function: 0,
            }),
            place: place.into(),
        }
    }

    #[test]
    fn what_both_know_decides() {
        let whole = identity(Some(1), Some(2), "a");
        for (other, same) in [
            (identity(Some(1), Some(3), "b"), true),
            (identity(Some(2), Some(2), "a"), false),
            (identity(None, Some(2), "b"), true),
            (identity(None, Some(3), "a"), false),
            (identity(None, None, "a"), true),
            (identity(None, None, "b"), false),
        ] {
            assert_eq!(whole.is_same(&other), same, "{other:?}");
            assert_eq!(other.is_same(&whole), same, "{other:?}");
        }
        let named = identity(Some(1), None, "a");
        assert!(
            named.is_same(&identity(None, Some(2), "a")),
            "no number in common"
        );
    }
}
