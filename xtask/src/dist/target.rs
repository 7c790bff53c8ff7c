//! The machines that the agent is packed for.

/// A machine's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Rust's name.
    pub triple: &'static str,
    /// Debian's name.
    pub debian: &'static str,
    /// What it is packed for, for people.
    pub boards: &'static str,
    /// What an ELF file for it says: 32 or 64 bits.
    pub bits: u32,
    /// The same: `e_machine`.
    pub machine: object::elf::Machine,
}

/// All of them.
pub const TARGETS: [Target; 2] = [
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        boards: "64-bit ARM boards",
        bits: 64,
        machine: object::elf::EM_AARCH64,
    },
    Target {
        triple: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        boards: "32-bit ARMv7 boards, such as those with an Exynos 4412, 5250 or 5422",
        bits: 32,
        machine: object::elf::EM_ARM,
    },
];

/// What the agent is checked for, but not packed.
pub const ANDROID: &str = "aarch64-linux-android";

/// A version of the GNU C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc(pub u32, pub u32);

/// Debian 12's: what the packed agent may need at most.
pub const BASELINE: Glibc = Glibc(2, 36);

impl std::fmt::Display for Glibc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Glibc {
    /// Of a symbol's version: `GLIBC_2.34`. `None` for other libraries'.
    pub fn of_symbol(version: &str) -> Option<Self> {
        let mut numbers = version.strip_prefix("GLIBC_")?.split('.').map(str::parse);
        Some(Self(numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}
