//! Device nodes of GPUs that this user may not open.

use nix::unistd::{AccessFlags, Gid, Group, access};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Nodes of their own: Arm's and Qualcomm's, NVIDIA's, AMD's.
const NODES: [&str; 5] = [
    "/dev/mali0",
    "/dev/mali",
    "/dev/nvidiactl",
    "/dev/kfd",
    "/dev/kgsl-3d0",
];
/// The folder with render nodes.
const RENDER: &str = "/dev/dri";

/// A sentence for each that may not be opened.
pub fn denied() -> Vec<String> {
    let nodes = NODES.iter().map(PathBuf::from).chain(render_nodes(RENDER));
    nodes.filter_map(|node| sentence(&node)).collect()
}

fn render_nodes(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_render = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("renderD")
    };
    let mut nodes: Vec<_> = entries.map(|e| e.path()).filter(is_render).collect();
    nodes.sort();
    nodes
}

fn sentence(node: &Path) -> Option<String> {
    let there = std::fs::metadata(node).ok()?;
    access(node, AccessFlags::R_OK | AccessFlags::W_OK).err()?;
    let group = Group::from_gid(Gid::from_raw(there.gid())).ok().flatten();
    let remedy = match group.filter(|_| there.mode() & 0o060 == 0o060) {
        Some(group) => format!(
            "add this user to its group (usermod -aG {} USER)",
            group.name
        ),
        None => "change its permissions by a udev rule".into(),
    };
    let node = node.display();
    Some(format!("{node}: no permission to use it: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn nodes_are_found_and_what_cannot_be_opened_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let node = folder.path().join("renderD128");
        for name in ["renderD128", "card0"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(
            render_nodes(folder.path().to_str().unwrap()),
            std::slice::from_ref(&node)
        );
        assert_eq!(sentence(&node), None);
        assert_eq!(sentence(&folder.path().join("none")), None);
        let none = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(&node, none).unwrap();
        // To root everything is allowed.
        if !nix::unistd::geteuid().is_root() {
            let sentence = sentence(&node).unwrap();
            assert!(sentence.contains("renderD128: no permission"), "{sentence}");
        }
    }
}
