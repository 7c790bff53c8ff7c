//! The physical devices that a run's sessions use, numbered in the order of their
//! first use.

use gil_wire::identity::DeviceIdentity;

/// Most of them; what a board says beyond that has engines of its own in each
/// session.
const DEVICES_MAX: usize = 1024;

/// All that were met.
#[derive(Debug, Default)]
pub struct Devices(Vec<(usize, DeviceIdentity)>);

impl Devices {
    /// The number of the device of a board, the same for all sessions and APIs;
    /// `None` if there are too many. Devices of two boards are one if their UUIDs
    /// say so: places and PCI addresses are a machine's own.
    pub fn number(&mut self, board: usize, identity: DeviceIdentity) -> Option<u64> {
        let is_it = |(at, known): &(usize, DeviceIdentity)| match *at == board {
            true => known.is_same(&identity),
            false => known.uuid.is_some() && known.uuid == identity.uuid,
        };
        let known = self.0.iter().position(is_it);
        let number = known.unwrap_or(self.0.len());
        if known.is_none() {
            if number == DEVICES_MAX {
                return None;
            }
            self.0.push((board, identity));
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
        let numbers = ["a", "b", "a"].map(|place| devices.number(0, named(place)));
        assert_eq!(numbers, [Some(0), Some(1), Some(0)]);
    }

    #[test]
    fn devices_of_two_boards_are_one_by_their_uuids_only() {
        let with = |uuid: Option<u8>| DeviceIdentity {
            uuid: uuid.map(|byte| [byte; 16]),
            ..named("a")
        };
        let mut devices = Devices::default();
        let all = [
            (0, None),
            (1, None),
            (0, Some(1)),
            (1, Some(1)),
            (1, Some(2)),
        ];
        let numbers = all.map(|(board, uuid)| devices.number(board, with(uuid)));
        // What names no UUID is told apart by its place on its board.
        assert_eq!(numbers, [Some(0), Some(1), Some(0), Some(1), Some(1)]);
        let mut devices = Devices::default();
        let all = [(0, Some(1)), (1, Some(1)), (1, Some(2)), (1, None)];
        let numbers = all.map(|(board, uuid)| devices.number(board, with(uuid)));
        assert_eq!(numbers, [Some(0), Some(0), Some(1), Some(1)]);
    }

    #[test]
    fn made_up_devices_are_bounded() {
        let mut devices = Devices::default();
        for n in 0..DEVICES_MAX {
            assert!(devices.number(0, named(&n.to_string())).is_some());
        }
        assert_eq!(devices.number(0, named("one more")), None);
        assert_eq!(devices.number(0, named("7")), Some(7));
    }
}
