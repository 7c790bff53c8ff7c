//! How much of its device a launch needs: its blocks, of those that the device has room for (CUDA
//! C++ Programming Guide, occupancy).

/// Threads of a warp.
const WARP: u64 = 32;

/// What a device has room for of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Room {
    multiprocessors: u64,
    /// Bytes of shared memory of a multiprocessor, and what a block needs of them without what
    /// its launch asks for.
    shared: u64,
    reserved: u64,
    /// Blocks on a multiprocessor, by the warps of each, from 1.
    blocks: Box<[u64]>,
}

impl Room {
    /// From the board's words. None of them say that every launch needs all of the device.
    pub fn new(words: &[u64]) -> Self {
        match words {
            [multiprocessors, shared, reserved, blocks @ ..] => Self {
                multiprocessors: *multiprocessors,
                shared: *shared,
                reserved: *reserved,
                blocks: blocks.into(),
            },
            _ => Self::default(),
        }
    }

    /// Thousandths of the device that a launch needs, by its blocks, the threads of each, and the
    /// bytes of shared memory that it asks for; `None` for all of it.
    pub fn thousandths(&self, grid: [u32; 3], block: [u32; 3], shared: u32) -> Option<u16> {
        let product = |sizes: [u32; 3]| {
            let sizes = sizes.map(u64::from);
            sizes[0].checked_mul(sizes[1])?.checked_mul(sizes[2])
        };
        let (blocks, threads) = (product(grid)?, product(block)?);
        let warps = usize::try_from(threads.div_ceil(WARP)).ok()?;
        let mut room = *self.blocks.get(warps.checked_sub(1)?)?;
        if shared > 0 {
            let of_each = self.reserved.saturating_add(shared.into());
            room = room.min(self.shared / of_each);
        }
        let room = room
            .checked_mul(self.multiprocessors)
            .filter(|it| *it > 0)?;
        let thousandths = blocks.checked_mul(1000)?.div_ceil(room);
        u16::try_from(thousandths).ok().filter(|it| *it < 1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_blocks_of_those_that_have_room() {
        let mut words = vec![100, 64 << 10, 1 << 10];
        words.extend((1..=32).map(|warps| 64 / warps));
        let room = Room::new(&words);
        let of = |blocks, threads, shared| {
            let [grid, block] = [blocks, threads].map(|count| [count, 1, 1]);
            room.thousandths(grid, block, shared)
        };
        // 8 blocks of 256 threads on each of 100 multiprocessors.
        assert_eq!(of(8, 256, 0), Some(10));
        assert_eq!(of(799, 250, 0), Some(999));
        assert_eq!(of(800, 256, 0), None);
        // Two blocks have room beside each other.
        assert_eq!(of(100, 256, 31 << 10), Some(500));
        for none in [of(1, 1025, 0), of(1, 0, 0), of(1, 1, 64 << 10)] {
            assert_eq!(none, None);
        }
        assert_eq!(Room::new(&[]).thousandths([1; 3], [32, 1, 1], 0), None);
    }
}
