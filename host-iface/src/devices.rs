//! The physical devices that a run's sessions use, numbered in the order of their
//! first use.

use gil_wire::identity::DeviceIdentity;

/// Most of them; what a board says beyond that has engines of its own in each
/// session.
const DEVICES_MAX: usize = 1024;

/// All that were met.
#[derive(Debug, Default)]
pub struct Devices(Vec<DeviceIdentity>);

impl Devices {
    /// The device's number, the same for all sessions and APIs; `None` if there
    /// are too many.
    pub fn number(&mut self, identity: DeviceIdentity) -> Option<u64> {
        let known = self.0.iter().position(|known| known.is_same(&identity));
        let number = known.unwrap_or(self.0.len());
        if known.is_none() {
            if number == DEVICES_MAX {
                return None;
            }
            self.0.push(identity);
        }
        u64::try_from(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(place: &str) -> DeviceIdentity {
        DeviceIdentity {
            place: place.into(),
            ..DeviceIdentity::default()
        }
    }

    #[test]
    fn a_device_has_one_number() {
        let mut devices = Devices::default();
        let numbers = ["a", "b", "a"].map(|place| devices.number(named(place)));
        assert_eq!(numbers, [Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn made_up_devices_are_bounded() {
        let mut devices = Devices::default();
        for n in 0..DEVICES_MAX {
            assert!(devices.number(named(&n.to_string())).is_some());
        }
        assert_eq!(devices.number(named("one more")), None);
        assert_eq!(devices.number(named("7")), Some(7));
    }
}
