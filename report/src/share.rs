//! Shares of a whole that add up to it.

/// Tenths of a percent of a whole.
pub const WHOLE: u64 = 1000;

/// Each part's share of their sum in tenths of a percent: the nearest to it that add up to
/// 100.0 % (the largest remainders are rounded up). None of nothing.
pub fn shares(parts: &[u64]) -> Option<Vec<u64>> {
    let sum: u128 = parts.iter().map(|part| u128::from(*part)).sum();
    if sum == 0 {
        return None;
    }
    let scaled = |part: &u64| u128::from(*part) * u128::from(WHOLE);
    let mut shares: Vec<u64> = parts.iter().map(|it| (scaled(it) / sum) as u64).collect();
    let left = WHOLE - shares.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(scaled(&parts[at]) % sum));
    order
        .iter()
        .take(left as usize)
        .for_each(|&at| shares[at] += 1);
    Some(shares)
}

/// A share, with its unit.
pub fn percent(share: u64) -> String {
    format!("{}.{} %", share / 10, share % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn thirds_add_up() {
        assert_eq!(shares(&[1, 1, 1]), Some(vec![334, 333, 333]));
        assert_eq!(shares(&[0, 0]), None);
        assert_eq!(shares(&[]), None);
        assert_eq!(percent(1000), "100.0 %");
        assert_eq!(percent(7), "0.7 %");
    }

    proptest! {
        #[test]
        fn shares_add_up(parts in proptest::collection::vec(any::<u64>(), 1..200)) {
            let sum: u128 = parts.iter().map(|part| u128::from(*part)).sum();
            prop_assume!(sum > 0);
            let shares = shares(&parts).unwrap();
            prop_assert_eq!(shares.iter().sum::<u64>(), 1000);
            for (part, share) in parts.iter().zip(shares) {
                let exact = *part as f64 * 1000.0 / sum as f64;
                prop_assert!((share as f64 - exact).abs() <= 1.0);
            }
        }
    }
}
