//! What the drivers of this machine need: learnt at the agent's start from processes
//! that load them and serve no session, and from installed files.

use super::{Confinement, Support};
use crate::back_end::{BackEnd, Needs};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Libraries of packages, and what the system says of itself. Nothing of a
/// user's is there.
const READ: [&str; 26] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/system/lib64",
    "/vendor/lib64",
    "/usr/share/libdrm",
    "/usr/share/drirc.d",
    "/usr/share/nvidia",
    "/usr/share/locale",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/drirc",
    "/etc/localtime",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/version",
    "/proc/self",
    "/proc/sys/vm/mmap_min_addr",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
];
/// What drivers of GPUs ask of the system besides.
const READ_FOR_GPUS: [&str; 10] = [
    "/etc/nvidia",
    "/proc/devices",
    "/proc/modules",
    "/proc/driver/nvidia",
    "/sys/bus/pci",
    "/sys/class/drm",
    "/sys/class/kfd",
    "/sys/dev/char",
    "/sys/devices",
    "/sys/module",
];
/// Where GPUs' nodes are, and how their names begin.
const NODES: [(&str, &[&str]); 3] = [
    (
        "/dev",
        &[
            "nvidia", "mali", "kfd", "kgsl-3d", "galcore", "pvr", "dxg", "ion",
        ],
    ),
    ("/dev/dri", &["renderD"]),
    ("/dev/dma_heap", &[""]),
];
/// How deep links are looked for in the places that drivers read.
const LINKS_DEPTH: usize = 2;
/// Folders of packages: their libraries' neighbours are theirs, too.
const PACKAGES: [&str; 5] = ["/usr", "/opt", "/lib", "/system", "/vendor"];

/// The files that this process has mapped or open, by their paths.
pub fn used() -> Vec<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapped = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| line[at..].into()));
    let open = fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten();
    let open = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let all: BTreeSet<PathBuf> = mapped.chain(open).filter(|path| path.exists()).collect();
    all.into_iter().collect()
}

impl Confinement {
    /// For sessions of these back ends' drivers, which use these files, and are
    /// registered in these places.
    pub fn learn(used: &[PathBuf], registered: &[PathBuf], back_ends: &[&dyn BackEnd]) -> Self {
        let needs: Vec<Needs> = back_ends.iter().map(|back_end| back_end.needs()).collect();
        let (nodes, files): (Vec<_>, Vec<_>) = used
            .iter()
            .cloned()
            .partition(|path| path.starts_with("/dev"));
        let mut devices: BTreeSet<_> = gpu_nodes().collect();
        devices.extend(nodes.into_iter().filter(|node| is_gpu(node)));
        let mut read: BTreeSet<PathBuf> = READ.map(PathBuf::from).into();
        if !devices.is_empty() {
            read.extend(READ_FOR_GPUS.map(PathBuf::from));
        }
        read.extend(registered.iter().cloned());
        let places = needs.iter().flat_map(|needs| needs.read).map(Path::new);
        read.extend(places.clone().flat_map(|place| linked(place, LINKS_DEPTH)));
        read.extend(places.map(Path::to_owned));
        read.extend(files.iter().flat_map(|file| beside(file, &needs)));
        let mut run: BTreeSet<PathBuf> = needs
            .iter()
            .flat_map(|needs| needs.starts)
            .filter(|starts| {
                files
                    .iter()
                    .any(|file| name(file).starts_with(starts.library))
            })
            .flat_map(|starts| found(starts.programs))
            .collect();
        if !run.is_empty() {
            run.extend(files.iter().filter(|file| is_loader(file)).cloned());
        }
        Self {
            support: Support::here(),
            read: there(read),
            run: there(run),
            devices: there(devices),
            folders: std::env::temp_dir(),
            shared_cache: None,
        }
    }
}

fn there(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    paths.into_iter().filter(|path| path.exists()).collect()
}

fn name(file: &Path) -> &str {
    file.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The files that links in a place lead to: a driver that is installed elsewhere is
/// registered by them.
fn linked(place: &Path, depth: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_symlink() => {
                let file = path.canonicalize().ok().filter(|target| target.is_file());
                Vec::from_iter(file)
            }
            Ok(kind) if kind.is_dir() && depth > 1 => linked(&path, depth - 1),
            _ => Vec::new(),
        }
    });
    found.collect()
}

/// A driver's file, and of a package what is installed with it.
fn beside(file: &Path, needs: &[Needs]) -> Vec<PathBuf> {
    let mut all = vec![file.to_owned()];
    let Some(folder) = file.parent().filter(|_| name(file).contains(".so")) else {
        return all;
    };
    if PACKAGES.iter().any(|place| folder.starts_with(place)) {
        all.push(folder.to_owned());
    }
    // Wherever it is installed.
    for prefix in folder.ancestors().skip(1).take(2) {
        let installed = needs.iter().flat_map(|needs| needs.installed);
        all.extend(installed.map(|place| prefix.join(place)));
    }
    all
}

/// The program that starts programs.
fn is_loader(file: &Path) -> bool {
    name(file).starts_with("ld-")
}

/// Programs of these names, where the search path has them.
fn found(names: &[&str]) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = folders
        .iter()
        .flat_map(|folder| names.iter().map(|name| folder.join(name)));
    all.filter_map(|program| program.canonicalize().ok())
        .collect()
}

fn is_gpu(node: &Path) -> bool {
    NODES.iter().any(|(folder, starts)| {
        let inside = node.strip_prefix(folder).ok();
        let first = inside.and_then(|inside| inside.iter().next()?.to_str());
        first.is_some_and(|first| starts.iter().any(|start| first.starts_with(start)))
    })
}

fn gpu_nodes() -> impl Iterator<Item = PathBuf> {
    let folders = NODES
        .iter()
        .filter_map(|(folder, _)| fs::read_dir(folder).ok());
    let nodes = folders.flatten().flatten().map(|entry| entry.path());
    nodes.filter(|node| is_gpu(node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_gpus_are_told_from_others() {
        for node in [
            "/dev/nvidia0",
            "/dev/nvidia-uvm",
            "/dev/nvidia-caps/nvidia-cap1",
            "/dev/dri/renderD128",
            "/dev/mali0",
            "/dev/dma_heap/system",
        ] {
            assert!(is_gpu(Path::new(node)), "{node}");
        }
        for node in [
            "/dev/sda",
            "/dev/dri/card0",
            "/dev/mem",
            "/dev/pts/0",
            "/dev",
        ] {
            assert!(!is_gpu(Path::new(node)), "{node}");
        }
    }

    #[test]
    fn a_drivers_neighbours_are_read_in_a_packages_folder_only() {
        let needs = [Needs {
            installed: &["share/driver"],
            ..Needs::default()
        }];
        let beside = |file: &str| beside(Path::new(file), &needs);
        let all = beside("/opt/driver/lib/libdriver.so.1");
        assert!(all.contains(&"/opt/driver/lib".into()));
        assert!(all.contains(&"/opt/driver/share/driver".into()));
        let all = beside("/home/user/lib/libdriver.so");
        assert!(!all.contains(&"/home/user/lib".into()));
        assert_eq!(beside("/usr/bin/gil"), [PathBuf::from("/usr/bin/gil")]);
    }

    #[test]
    fn a_driver_may_be_registered_by_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("place/vendors/deep/deeper")).unwrap();
        for name in ["driver.json", "other.json"] {
            fs::write(at(name), "{}").unwrap();
        }
        std::os::unix::fs::symlink(at("driver.json"), at("place/vendors/a")).unwrap();
        std::os::unix::fs::symlink(at("gone"), at("place/b")).unwrap();
        std::os::unix::fs::symlink(at("place"), at("place/vendors/c")).unwrap();
        std::os::unix::fs::symlink(at("other.json"), at("place/vendors/deep/d")).unwrap();
        assert_eq!(linked(&at("place"), LINKS_DEPTH), [at("driver.json")]);
    }

    #[test]
    fn this_process_uses_itself() {
        let me = std::env::current_exe().unwrap();
        assert!(used().contains(&me.canonicalize().unwrap()));
    }
}
