//! Copies between the memory of a CPU and that of a GPU.

/// What a copy in one direction takes on the target, whatever it took on the board.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer(Shape);

/// No number in it is what differs from itself.
impl Eq for Transfer {}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Line {
        latency_ns: u64,
        bytes_per_s: f64,
    },
    /// Bytes and nanoseconds, by rising bytes; one at least.
    Points(Vec<(u64, u64)>),
}

impl Transfer {
    /// By a latency and a bandwidth; `None` unless the bandwidth is a finite number above 0.
    pub fn new(latency_ns: u64, bytes_per_s: f64) -> Option<Self> {
        let is_usable = bytes_per_s.is_finite() && bytes_per_s > 0.0;
        is_usable.then_some(Self(Shape::Line {
            latency_ns,
            bytes_per_s,
        }))
    }

    /// As one was measured of so many bytes.
    pub fn measured(bytes: u64, ns: u64) -> Self {
        Self(Shape::Points(vec![(bytes, ns)]))
    }

    /// Another was measured, of more bytes; `None` if they are not more, or it has a bandwidth.
    pub fn add(&mut self, bytes: u64, ns: u64) -> Option<()> {
        match &mut self.0 {
            Shape::Points(points) if points.last().is_some_and(|last| last.0 < bytes) => {
                points.push((bytes, ns));
                Some(())
            }
            _ => None,
        }
    }

    /// Of so many bytes.
    pub fn of(&self, bytes: u64) -> u64 {
        match &self.0 {
            Shape::Line {
                latency_ns,
                bytes_per_s,
            } => {
                // A float that is too great becomes the greatest number.
                let ns = (bytes as f64 / bytes_per_s * 1e9).round() as u64;
                latency_ns.saturating_add(ns)
            }
            Shape::Points(points) => between(points, bytes),
        }
    }
}

/// Straight lines between the points, and beyond the last as between the last two. Fewer
/// bytes than the first has take as long.
fn between(points: &[(u64, u64)], bytes: u64) -> u64 {
    let after = points.partition_point(|point| point.0 < bytes);
    let pair = match after {
        0 => return points.first().map_or(0, |first| first.1),
        _ => after.min(points.len() - 1).max(1) - 1,
    };
    let &[(from, from_ns), (to, to_ns), ..] = &points[pair..] else {
        return points[pair].1;
    };
    let slope = (to_ns as f64 - from_ns as f64) / (to - from) as f64;
    (from_ns as f64 + slope * (bytes as f64 - from as f64)).round() as u64
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

    #[test]
    fn between_what_was_measured_are_straight_lines() {
        let mut one = Transfer::measured(4, 10);
        assert_eq!([0, 4, 900].map(|bytes| one.of(bytes)), [10; 3]);
        one.add(104, 110).unwrap();
        one.add(204, 120).unwrap();
        assert_eq!(
            [0, 4, 54, 104, 154, 204, 304].map(|bytes| one.of(bytes)),
            [10, 10, 60, 110, 115, 120, 130]
        );
        assert_eq!((one.add(204, 130), one.add(3, 130)), (None, None));
        let mut line = Transfer::new(1, 1.0).unwrap();
        assert_eq!(line.add(1, 1), None);
        let mut falling = Transfer::measured(0, 10);
        falling.add(10, 5).unwrap();
        assert_eq!(falling.of(100), 0);
    }
}
