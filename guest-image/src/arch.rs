//! The two architectures that programs in the guest may have: the kernel's own,
//! and its 32-bit one. Libraries of both live side by side, as Debian has it.

use serde::{Deserialize, Serialize};

/// Architecture of a program or a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Arch {
    /// 64-bit, as the guest's kernel.
    Arm64,
    /// 32-bit, with hardware floats.
    Armhf,
}

impl Arch {
    /// Debian's name.
    pub fn debian(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::Armhf => "armhf",
        }
    }

    /// The bits of its pointers.
    pub fn bits(self) -> u32 {
        match self {
            Self::Arm64 => 64,
            Self::Armhf => 32,
        }
    }

    /// Rust's target for the guest's libraries.
    pub fn target(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64-unknown-linux-gnu",
            Self::Armhf => "armv7-unknown-linux-gnueabihf",
        }
    }

    /// The C compiler for it.
    pub const fn compiler(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64-linux-gnu-gcc",
            Self::Armhf => "arm-linux-gnueabihf-gcc",
        }
    }

    /// Where Debian's packages put its libraries.
    pub fn library_folder(self) -> &'static str {
        match self {
            Self::Arm64 => "usr/lib/aarch64-linux-gnu",
            Self::Armhf => "usr/lib/arm-linux-gnueabihf",
        }
    }

    /// A package of this architecture as the guest's apt takes it: the kernel's
    /// own needs no suffix.
    pub fn package(self, name: &str) -> String {
        match self {
            Self::Arm64 => name.into(),
            Self::Armhf => format!("{name}:{}", self.debian()),
        }
    }

    /// Whether `package`, as the user named it, is one of this architecture
    /// by its suffix.
    pub fn is_of(self, package: &str) -> bool {
        package
            .rsplit_once(':')
            .is_some_and(|(_, arch)| arch == self.debian())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_as_debian_names_them() {
        assert_eq!(Arch::Arm64.package("libc6"), "libc6");
        assert_eq!(Arch::Armhf.package("libc6"), "libc6:armhf");
        assert!(Arch::Armhf.is_of("clinfo:armhf"));
        assert!(!Arch::Armhf.is_of("clinfo"));
        assert!(!Arch::Armhf.is_of("armhf"));
    }
}
