//! Copies between the memory of a CPU and that of a GPU.

/// What a copy in one direction takes on the target, whatever it took on the board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    latency_ns: u64,
    bytes_per_s: f64,
}

/// Its bandwidth is never what differs from itself.
impl Eq for Transfer {}

impl Transfer {
    /// `None` unless the bandwidth is a finite number above 0.
    pub fn new(latency_ns: u64, bytes_per_s: f64) -> Option<Self> {
        let is_usable = bytes_per_s.is_finite() && bytes_per_s > 0.0;
        is_usable.then_some(Self {
            latency_ns,
            bytes_per_s,
        })
    }

    /// Of so many bytes.
    pub fn of(self, bytes: u64) -> u64 {
        // A float that is too great becomes the greatest number.
        let ns = (bytes as f64 / self.bytes_per_s * 1e9).round() as u64;
        self.latency_ns.saturating_add(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_its_latency_and_its_bytes() {
        let transfer = Transfer::new(1000, 2e9).unwrap();
        assert_eq!(
            [0, 1, 4096].map(|bytes| transfer.of(bytes)),
            [1000, 1001, 3048]
        );
        let slow = Transfer::new(5, 1e-9).unwrap();
        assert_eq!(slow.of(u64::MAX), u64::MAX);
        for bandwidth in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Transfer::new(0, bandwidth), None);
        }
    }
}
