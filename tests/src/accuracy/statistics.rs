//! Numbers about numbers.

/// A mean and a deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of a sample.
    pub deviation: f64,
}

impl Moments {
    /// Of two numbers or more.
    pub fn of(numbers: &[f64]) -> Self {
        let count = numbers.len() as f64;
        let mean = numbers.iter().sum::<f64>() / count;
        let squares = numbers.iter().map(|it| (it - mean).powi(2));
        Self {
            mean,
            deviation: (squares.sum::<f64>() / (count - 1.0)).sqrt(),
        }
    }
}

/// Numbers that rise.
#[derive(Clone, Debug)]
pub struct Sorted(Vec<f64>);

impl Sorted {
    /// These.
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        Self(numbers)
    }

    /// The greatest; 0 of none.
    pub fn most(&self) -> f64 {
        self.0.last().copied().unwrap_or(0.0)
    }

    /// What this share of them does not exceed; 0 of none.
    pub fn not_exceeded_by(&self, share: f64) -> f64 {
        let count = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(count.saturating_sub(1)).copied().unwrap_or(0.0)
    }
}

/// What lies between times that follow each other.
pub fn gaps(times: &[u64]) -> Vec<f64> {
    let pairs = times.windows(2);
    pairs.map(|pair| pair[1] as f64 - pair[0] as f64).collect()
}

/// How far each is from its reference, as a share of that.
///
/// # Panics
/// If they are not as many.
pub fn differences(seen: &[f64], reference: &[f64]) -> Vec<f64> {
    assert_eq!(seen.len(), reference.len());
    let both = seen.iter().zip(reference);
    both.map(|(seen, reference)| (seen - reference).abs() / reference)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_shares_and_differences() {
        let moments = Moments::of(&[2.0, 4.0, 4.0, 6.0]);
        assert_eq!(moments.mean, 4.0);
        assert!((moments.deviation - (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let sorted = Sorted::of((1..=200).rev().map(f64::from).collect());
        assert_eq!(
            (sorted.most(), sorted.not_exceeded_by(0.99)),
            (200.0, 198.0)
        );
        assert_eq!(Sorted::of(Vec::new()).not_exceeded_by(0.99), 0.0);
        assert_eq!(gaps(&[5, 7, 20]), [2.0, 13.0]);
        assert_eq!(differences(&[11.0, 9.0], &[10.0, 10.0]), [0.1, 0.1]);
    }
}
