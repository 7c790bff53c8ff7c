//! Files, by Landlock. Each rule allows some access to some files; everything else,
//! including network and signals, is denied.

use super::{ConfineError, Confinement};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use std::path::{Path, PathBuf};

/// Nodes that every program may open.
const NODES: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/urandom"];
/// Where the kernel has the names of this process's threads.
const THREADS: &str = "/proc/self/task";

/// Confines this thread and those that it starts.
pub fn confine(allowed: &Confinement, own: &Path) -> Result<(), ConfineError> {
    let mut rules = Rules(
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V2))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V5))?
            .handle_access(AccessNet::from_all(ABI::V4))?
            .scope(Scope::from_all(ABI::V6))?
            .create()?,
    );
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let nodes = NODES.map(PathBuf::from);
    rules.add(&allowed.read, read)?;
    rules.add(&allowed.run, AccessFs::ReadFile | AccessFs::Execute)?;
    rules.add(&allowed.devices, device)?;
    rules.add(&nodes, AccessFs::ReadFile | AccessFs::WriteFile)?;
    if allowed.has_cuda() {
        let write = AccessFs::WriteFile | AccessFs::Truncate;
        rules.add(&[THREADS.into()], write)?;
    }
    rules.add(&[own.to_owned()], all_but_special())?;
    rules.add(allowed.shared_cache.as_slice(), all_but_special())?;
    rules.0.restrict_self()?;
    Ok(())
}

/// Plain files and folders may be made, read and written, but not started.
fn all_but_special() -> BitFlags<AccessFs> {
    use AccessFs::{Execute, IoctlDev, MakeBlock, MakeChar, MakeFifo, MakeSock};
    let special = Execute | IoctlDev | MakeBlock | MakeChar | MakeFifo | MakeSock;
    AccessFs::from_all(ABI::V5) & !special
}

struct Rules(RulesetCreated);

impl Rules {
    /// A file that is not there needs no rule.
    fn add(&mut self, paths: &[PathBuf], access: BitFlags<AccessFs>) -> Result<(), ConfineError> {
        for path in paths {
            let Ok(file) = PathFd::new(path) else {
                continue;
            };
            let access = match path.is_dir() {
                true => access,
                false => access & AccessFs::from_file(ABI::V5),
            };
            (&mut self.0).add_rule(PathBeneath::new(&file, access))?;
            // A file of /proc has its rule as long as somebody has it open.
            if path.starts_with("/proc") {
                std::mem::forget(file);
            }
        }
        Ok(())
    }
}
