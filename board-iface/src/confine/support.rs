//! What the kernel of this machine can enforce.

use serde::{Deserialize, Serialize};

/// Each of the two, and whether it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// Landlock, of Linux 5.19 at least: before, drivers could not move files
    /// between folders of their own.
    pub files: bool,
    /// Filters of system calls.
    pub calls: bool,
}

impl Support {
    /// Asks the kernel.
    pub fn here() -> Self {
        Self {
            files: has_landlock(),
            calls: has_filters(),
        }
    }

    /// What is missing, in one sentence.
    pub fn lack(self) -> Option<&'static str> {
        match (self.files, self.calls) {
            (true, true) => None,
            (false, true) => Some(
                "this kernel has no Landlock (Linux 5.19 and later, with landlock among CONFIG_LSM or lsm=): a session's process may use every file that the agent's user may; let only guests in that you trust, and say so by --no-confinement",
            ),
            (true, false) => Some(
                "there are no filters of system calls on this machine (seccomp, on 64-bit x86 and ARM): a session's process may make every system call; let only guests in that you trust, and say so by --no-confinement",
            ),
            (false, false) => Some(
                "this machine can confine no process (Landlock of Linux 5.19, seccomp on 64-bit x86 and ARM): a session may do all that the agent's user may; let only guests in that you trust, and say so by --no-confinement",
            ),
        }
    }
}

#[cfg(target_os = "linux")]
fn has_landlock() -> bool {
    use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V2));
    needed.is_ok_and(|ruleset| ruleset.create().is_ok())
}

#[cfg(not(target_os = "linux"))]
fn has_landlock() -> bool {
    false
}

fn has_filters() -> bool {
    let is_here = cfg!(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ));
    is_here && std::path::Path::new("/proc/sys/kernel/seccomp/actions_avail").exists()
}
