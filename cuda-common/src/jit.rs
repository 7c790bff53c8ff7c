//! Options of the compiler in the driver: `CUjit_option` of CUDA's driver API.

/// Options whose values are numbers, in the order of their own numbers: from the most registers (0) to the kind
/// of cache (14). The values of others are addresses of the caller's, or are told to it.
const NUMBERS: [u64; 10] = [0, 1, 7, 8, 9, 10, 11, 12, 13, 14];

/// Whether the value of this option is a number. Only those go from a guest to a board: the driver
/// writes to the addresses that others are.
pub fn is_number(option: u64) -> bool {
    NUMBERS.contains(&option)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_a_number() {
        // Texts of the compiler's log, names of symbols and their addresses.
        let addresses = [3, 5, 17, 18, 25, 27];
        assert!(!addresses.into_iter().any(is_number));
        // A number that is an option's only in its lower half.
        assert!(!is_number(1 << 32) && is_number(0) && is_number(7));
    }
}
