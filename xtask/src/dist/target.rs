//! The machines that are packed for.

/// A machine's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Rust's name.
    pub triple: &'static str,
    /// Debian's name.
    pub debian: &'static str,
    /// Its kind, for people.
    pub machines: &'static str,
    /// What an ELF file for it says: 32 or 64 bits.
    pub bits: u32,
    /// The same: `e_machine`.
    pub machine: object::elf::Machine,
}

/// Boards, for the agent.
pub const TARGETS: [Target; 2] = [
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        machines: "64-bit ARM boards",
        bits: 64,
        machine: object::elf::EM_AARCH64,
    },
    Target {
        triple: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        machines: "32-bit ARMv7 boards, such as those with an Exynos 4412, 5250 or 5422",
        bits: 32,
        machine: object::elf::EM_ARM,
    },
];

/// Simulators' machines, for the command `gil`. It is packed for the kind that it is
/// built on.
pub const HOSTS: [Target; 2] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        debian: "amd64",
        machines: "x86-64 computers",
        bits: 64,
        machine: object::elf::EM_X86_64,
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        debian: "arm64",
        machines: "64-bit ARM computers",
        bits: 64,
        machine: object::elf::EM_AARCH64,
    },
];

impl Target {
    /// This machine's kind, if it is one of [`HOSTS`].
    pub fn of_this_machine() -> Option<&'static Self> {
        let is_this = |target: &&Self| target.triple.starts_with(std::env::consts::ARCH);
        HOSTS.iter().find(is_this)
    }
}

/// What the agent is checked for, but not packed.
pub const ANDROID: &str = "aarch64-linux-android";

/// A version of the GNU C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc(pub u32, pub u32);

/// Debian 12's: what packed programs may need at most.
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
