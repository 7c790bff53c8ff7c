//! Holds this process in the folders that it serves, by Landlock: whatever a guest has
//! it do, files outside can be neither read nor changed.

use crate::{Access, Folder};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, Scope,
};

/// The kernel does not confine this process.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A rule is refused.
    #[error("this process cannot be held in the shared folders: {0}")]
    Rules(#[from] landlock::RulesetError),
    /// A folder is gone.
    #[error("a shared folder cannot be opened: {0}")]
    Folder(#[from] landlock::PathFdError),
}

/// The rights of Linux 5.19, below which a file cannot move between folders.
const LEAST: ABI = ABI::V2;

/// Whether this kernel can do it.
pub fn is_possible() -> bool {
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST));
    needed.is_ok_and(|ruleset| ruleset.create().is_ok())
}

/// Confines this thread, the only one, if the kernel can.
///
/// # Errors
/// [`ConfineError`]: it must serve nobody.
pub fn enter(folders: &[Folder]) -> Result<(), ConfineError> {
    if !is_possible() {
        return Ok(());
    }
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V5))?
        .handle_access(AccessNet::from_all(ABI::V4))?
        .scope(Scope::from_all(ABI::V6))?
        .create()?;
    for folder in folders {
        let path = PathFd::new(&folder.path)?;
        rules = rules.add_rule(PathBeneath::new(path, rights(folder.access)))?;
    }
    rules.restrict_self()?;
    Ok(())
}

/// Plain files, folders and links; no devices, and nothing is started.
fn rights(access: Access) -> BitFlags<AccessFs> {
    use AccessFs::{Execute, IoctlDev, MakeBlock, MakeChar, MakeFifo, MakeSock, ReadDir, ReadFile};
    match access {
        Access::ReadOnly => ReadFile | ReadDir,
        Access::ReadWrite => {
            let special = Execute | IoctlDev | MakeBlock | MakeChar | MakeFifo | MakeSock;
            AccessFs::from_all(ABI::V5) & !special
        }
    }
}
