//! Debian's stock arm64 kernel, and the files needed to build a module for it.

use crate::apt::{self, Apt, AptError};
use crate::arch::Arch;
use crate::unpacked;
use gil_run_support::cache::{At, Cache, CacheError};
use gil_run_support::progress::Progress;
use gil_run_support::tool;
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel in the cache.
pub struct Kernel {
    /// Its release, as `uname -r` in the guest prints it.
    pub release: String,
    /// The bootable image.
    pub image: PathBuf,
    /// The folder for kbuild's `KDIR`.
    pub build: PathBuf,
}

/// The kernel that Debian's `linux-image-arm64` names, from the cache or the
/// archive.
///
/// # Errors
/// [`AptError`] if it is not in the cache and cannot be had.
pub fn ensure(cache: &Cache, progress: &Progress) -> Result<Kernel, AptError> {
    let apt = Apt::open(cache, &["arm64"], progress)?;
    let folder = Path::new("kernel").join(apt.release());
    let place = cache.root().join(&folder);
    if !cache.is_used(&place) {
        let lock = cache.lock(progress)?;
        if !cache.is_used(&place) {
            progress.say("fetching Debian's arm64 kernel");
            let sources = fetch(cache, &apt, progress)?;
            cache.publish_files(&lock, &folder, |at| build(at, &place, &sources, progress))?;
        }
    }
    open(&place)
}

/// Modules of the kernel that serve one end, in the order in which they are
/// loaded.
pub struct Modules {
    /// Of the cache's folder.
    name: &'static str,
    /// Without `.ko`, from the folder of all modules.
    paths: &'static [&'static str],
}

/// What a machine with a network of QEMU's needs.
pub const NETWORK: Modules = Modules {
    name: "network",
    paths: &[
        "drivers/virtio/virtio_mmio",
        "net/core/failover",
        "drivers/net/net_failover",
        "drivers/net/virtio_net",
    ],
};

/// What a machine with a display of QEMU's needs.
pub const DISPLAY: Modules = Modules {
    name: "display",
    paths: &[
        "drivers/virtio/virtio_pci_legacy_dev",
        "drivers/virtio/virtio_pci_modern_dev",
        "drivers/virtio/virtio_pci",
        "drivers/gpu/drm/drm",
        "drivers/gpu/drm/drm_kms_helper",
        "drivers/gpu/drm/drm_shmem_helper",
        "drivers/virtio/virtio_dma_buf",
        "drivers/gpu/drm/virtio/virtio-gpu",
    ],
};

/// What a driver of a GPU needs, which the guest has instead of the GPU.
pub const DRIVER: Modules = Modules {
    name: "driver",
    paths: &[
        "drivers/gpu/drm/drm",
        "drivers/gpu/drm/drm_kms_helper",
        "drivers/gpu/drm/drm_shmem_helper",
    ],
};

/// What the kernel's driver of a Mali-T628 needs, and itself.
pub const PANFROST: Modules = Modules {
    name: "panfrost-typed",
    paths: &[
        "drivers/gpu/drm/drm",
        "drivers/gpu/drm/scheduler/gpu-sched",
        "drivers/gpu/drm/drm_kms_helper",
        "drivers/gpu/drm/drm_shmem_helper",
        "drivers/gpu/drm/panfrost/panfrost",
    ],
};

/// What the kernel's driver of a Mali-400 needs, and itself.
pub const LIMA: Modules = Modules {
    name: "lima-typed",
    paths: &[
        "drivers/gpu/drm/drm",
        "drivers/gpu/drm/scheduler/gpu-sched",
        "drivers/gpu/drm/drm_kms_helper",
        "drivers/gpu/drm/drm_shmem_helper",
        "drivers/gpu/drm/lima/lima",
    ],
};

/// Who chooses the rate of a GPU's clock: by its load, as drivers ask for, or by what a
/// program writes. They are there before the GPU's driver.
pub const GOVERNORS: Modules = Modules {
    name: "governors",
    paths: &[
        "drivers/devfreq/governor_simpleondemand",
        "drivers/devfreq/governor_userspace",
    ],
};

/// What that driver needs for a display of QEMU's, which is its own then.
pub const OUTPUTS: Modules = Modules {
    name: "outputs",
    paths: &[
        "drivers/virtio/virtio_pci_legacy_dev",
        "drivers/virtio/virtio_pci_modern_dev",
        "drivers/virtio/virtio_pci",
    ],
};

/// What a root of read-only disks and a layer above them needs.
pub const LAYERS: Modules = Modules {
    name: "layers",
    paths: &[
        "crypto/crc32c_generic",
        "lib/libcrc32c",
        "fs/erofs/erofs",
        "fs/overlayfs/overlay",
    ],
};

/// What folders of this machine in the guest need.
pub const SHARES: Modules = Modules {
    name: "shares",
    paths: &["fs/fuse/fuse"],
};

impl Modules {
    /// Their files, from the cache or the archive.
    ///
    /// # Errors
    /// [`AptError`] if they are not in the cache and cannot be had.
    pub fn ensure(
        &self,
        cache: &Cache,
        kernel: &Kernel,
        progress: &Progress,
    ) -> Result<Vec<PathBuf>, AptError> {
        let folder = Path::new("kernel-modules").join(format!("{}-{}", self.name, kernel.release));
        let place = cache.root().join(&folder);
        if !cache.is_used(&place) {
            let lock = cache.lock(progress)?;
            if !cache.is_used(&place) {
                progress.say("fetching the kernel's modules");
                let apt = Apt::open(cache, &["arm64"], progress)?;
                let package = one(&apt, format!("linux-image-{}", kernel.release))?;
                cache.publish_files(&lock, &folder, |at| self.take(at, &package))?;
            }
        }
        Ok(self.files(&place))
    }

    /// Those that lie in this folder: a kernel has none of what is built into it.
    fn files(&self, place: &Path) -> Vec<PathBuf> {
        let files = self.paths.iter().map(|path| place.join(file_name(path)));
        files.filter(|file| file.exists()).collect()
    }

    /// As they are loaded soonest: not compressed, which Debian's are since
    /// 13, and with type information, which the kernel would look through, under a name
    /// that is not the kernel's: `--watch` reads it.
    fn take(&self, at: &Path, package: &Path) -> Result<(), AptError> {
        let built_in = built_in(at, package)?;
        let paths = self.paths.iter().filter(|path| !built_in.contains(**path));
        let patterns = paths.clone().map(|path| format!("*/kernel/{path}.ko*"));
        let patterns: Vec<_> = patterns.collect();
        if patterns.is_empty() {
            return Ok(());
        }
        take(at, package, &patterns)?;
        for name in paths.map(|path| file_name(path)) {
            let packed = at.join(format!("{name}.xz"));
            if packed.exists() {
                let mut command = Command::new("xz");
                command.arg("--decompress").arg(&packed);
                tool::run(&mut command, "unpacking a module of the kernel", at)?;
            }
            let mut command = Command::new("aarch64-linux-gnu-objcopy");
            command.args(["--strip-debug", "--rename-section", ".BTF=.gil.types"]);
            command.arg(at.join(name));
            tool::run(&mut command, "taking a module of the kernel", at)?;
        }
        Ok(())
    }
}

fn file_name(path: &str) -> String {
    format!("{}.ko", path.rsplit('/').next().unwrap_or_default())
}

/// What the kernel of this package has built in, by the paths that the modules
/// would have: Debian 13's has FUSE, Debian 12's a module of it.
fn built_in(at: &Path, package: &Path) -> Result<HashSet<String>, AptError> {
    take(at, package, &["*/modules.builtin".into()])?;
    let list = at.join("modules.builtin");
    let text = fs::read_to_string(&list).at(&list)?;
    let paths = text.lines().filter_map(|line| line.strip_prefix("kernel/"));
    let paths = paths.filter_map(|path| path.strip_suffix(".ko"));
    Ok(paths.map(str::to_owned).collect())
}

/// Package files of one kernel.
struct Sources {
    release: String,
    image: PathBuf,
    headers: Vec<PathBuf>,
}

fn fetch(cache: &Cache, apt: &Apt, progress: &Progress) -> Result<Sources, AptError> {
    let image = apt.dependency("linux-image-arm64", "linux-image-")?;
    let release = image.trim_start_matches("linux-image-").to_owned();
    let headers = format!("linux-headers-{release}");
    let common = apt.dependency(&headers, "linux-headers-")?;
    let kbuild = apt.dependency(&headers, "linux-kbuild-")?;
    let image = one(apt, image)?;
    let host = Apt::open(cache, &[&apt::host_architecture()?], progress)?;
    let headers = vec![one(apt, headers)?, one(apt, common)?, one(&host, kbuild)?];
    Ok(Sources {
        release,
        image,
        headers,
    })
}

fn one(apt: &Apt, package: String) -> Result<PathBuf, AptError> {
    let debs = apt.alone(std::slice::from_ref(&package))?;
    let file = apt.fetch(&debs)?.into_iter().next();
    file.ok_or_else(|| AptError::NoPackage {
        name: package,
        arch: "arm64".into(),
        release: apt.release().into(),
    })
}

/// `at` is where it is made, `place` where it will be: the headers' makefiles
/// name each other by absolute paths.
fn build(at: &Path, place: &Path, sources: &Sources, progress: &Progress) -> Result<(), AptError> {
    progress.say("unpacking Debian's arm64 kernel");
    take_image(at, sources)?;
    let headers = at.join("headers");
    unpacked::unpack(&sources.headers, &headers, progress)?;
    let build = headers.join(build_folder(&sources.release));
    relocate(&build, &place.join("headers"))?;
    fs::write(at.join("release"), &sources.release).at(at)?;
    Ok(())
}

/// Of the kernel's package, the bootable image alone: its modules are many.
fn take_image(at: &Path, sources: &Sources) -> Result<(), AptError> {
    let name = format!("vmlinuz-{}", sources.release);
    take(at, &sources.image, &[format!("*/boot/{name}")])?;
    let taken = at.join(name);
    fs::rename(&taken, at.join("vmlinuz")).at(&taken)?;
    Ok(())
}

/// Puts the files of a package whose paths are like these patterns into a
/// folder, without the folders they lie in.
fn take(at: &Path, package: &Path, patterns: &[String]) -> Result<(), AptError> {
    // tar is the process that ends with us, and dpkg-deb ends with it.
    let script = "deb=$1; at=$2; shift 2; \
                  exec tar -x -C \"$at\" --wildcards --transform='s|.*/||' \"$@\" \
                  < <(dpkg-deb --fsys-tarfile \"$deb\")";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash"]);
    command.arg(package).arg(at).args(patterns);
    tool::run(&mut command, "unpacking the kernel's package", at)?;
    Ok(())
}

fn build_folder(release: &str) -> String {
    format!("usr/src/linux-headers-{release}")
}

/// Points the makefiles of the unpacked headers at where they are, or are now.
fn relocate(build: &Path, root: &Path) -> Result<(), CacheError> {
    let to = root.display().to_string();
    for name in ["Makefile", ".kernelvariables"] {
        let path = build.join(name);
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let found = named_root(&text);
        if found.is_some_and(|found| found != to) {
            let old = found.filter(|old| old.starts_with('/')).unwrap_or_default();
            let from = format!("{old}{SOURCES}");
            let text = text.replace(&from, &format!("{to}{SOURCES}"));
            fs::write(&path, text).at(&path)?;
        }
    }
    Ok(())
}

/// Where the headers' packages lie, from their root.
const SOURCES: &str = "/usr/src/";

/// The root that a makefile names: as Debian has it, the machine's own, which is empty.
fn named_root(text: &str) -> Option<&str> {
    let (before, _) = text.split_once(SOURCES)?;
    // No path of a cache has these, but for the last.
    let is_end = |c: char| c.is_whitespace() || "\"'():;=".contains(c);
    before.rsplit(is_end).next()
}

/// Makes the headers usable where they are now, if the cache was moved. The caller has it
/// locked.
///
/// # Errors
/// [`CacheError::File`].
pub fn settle(kernel: &Kernel) -> Result<(), CacheError> {
    match kernel.build.ancestors().nth(3) {
        Some(root) => relocate(&kernel.build, root),
        None => Ok(()),
    }
}

fn open(place: &Path) -> Result<Kernel, AptError> {
    let path = place.join("release");
    let release = fs::read_to_string(&path).at(&path)?;
    Ok(Kernel {
        image: place.join("vmlinuz"),
        build: place.join("headers").join(build_folder(&release)),
        release,
    })
}

/// How kbuild is called for a module in `source`.
pub fn kbuild(kernel: &Kernel, source: &Path) -> Command {
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(source)
        .arg(format!("KDIR={}", kernel.build.display()))
        .args(["ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-"]);
    // As they would be without an outer make or cargo.
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    command
}

/// Which cross compiler this machine has: another one makes another module. It is not
/// started for that, which would take each run some milliseconds.
///
/// # Errors
/// [`ToolError::Missing`](tool::ToolError::Missing) if there is none.
pub fn compiler() -> Result<String, tool::ToolError> {
    let name = Arch::Arm64.compiler();
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let identity = |path: PathBuf| {
        // Debian's is a link, which says the version.
        let file = fs::canonicalize(path).ok()?;
        let data = fs::metadata(&file).ok()?;
        Some(format!(
            "{} {} {}",
            file.display(),
            data.len(),
            data.mtime()
        ))
    };
    let found = paths.find_map(identity);
    found.ok_or_else(|| tool::ToolError::Missing { tool: name.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: Modules = Modules {
        name: "test",
        paths: &["fs/inside/inside", "lib/beside"],
    };

    fn run(command: &mut Command) {
        assert!(command.status().unwrap().success(), "{command:?}");
    }

    /// A kernel's package of `fs/inside` built in and `lib/beside` as a module.
    fn package(at: &Path) -> PathBuf {
        let tree = at.join("tree");
        let modules = tree.join("usr/lib/modules/1-test");
        fs::create_dir_all(modules.join("kernel/lib")).unwrap();
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = "Package: linux-test\nVersion: 1\nArchitecture: arm64\n\
                       Maintainer: nobody <nobody@localhost>\nDescription: test\n";
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let list = "kernel/fs/inside/inside.ko\n";
        fs::write(modules.join("modules.builtin"), list).unwrap();
        let module = modules.join("kernel/lib/beside.ko");
        let mut compiler = Command::new("aarch64-linux-gnu-gcc");
        run(compiler
            .args(["-c", "-x", "c", "/dev/null", "-o"])
            .arg(module));
        let package = at.join("linux-test.deb");
        let mut builder = Command::new("dpkg-deb");
        run(builder
            .args(["--root-owner-group", "--build"])
            .arg(&tree)
            .arg(&package));
        package
    }

    #[test]
    fn headers_that_were_moved_name_each_other_where_they_are() {
        let work = tempfile::tempdir().unwrap();
        let at = |name: &str| work.path().join(name);
        let build = format!("headers/{}", build_folder("6.1"));
        fs::create_dir_all(at("one").join(&build)).unwrap();
        let makefile = "include /usr/src/linux-headers-6.1-common/Makefile\nx=/usr/src/y\n";
        fs::write(at("one").join(&build).join("Makefile"), makefile).unwrap();
        relocate(&at("one").join(&build), &at("one/headers")).unwrap();
        fs::rename(at("one"), at("two")).unwrap();
        let kernel = Kernel {
            release: "6.1".into(),
            image: at("two/vmlinuz"),
            build: at("two").join(&build),
        };
        for _ in 0..2 {
            settle(&kernel).unwrap();
            let text = fs::read_to_string(kernel.build.join("Makefile")).unwrap();
            let root = at("two/headers").display().to_string();
            assert_eq!(
                text,
                makefile.replace("/usr/src/", &format!("{root}/usr/src/"))
            );
        }
    }

    #[test]
    fn what_the_kernel_has_built_in_is_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let package = package(folder.path());
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        MODULES.take(&taken, &package).unwrap();
        assert_eq!(MODULES.files(&taken), [taken.join("beside.ko")]);
    }

    #[test]
    fn a_kernel_may_have_all_of_them_built_in() {
        let folder = tempfile::tempdir().unwrap();
        let package = package(folder.path());
        let inside = Modules {
            name: "inside",
            paths: &["fs/inside/inside"],
        };
        inside.take(folder.path(), &package).unwrap();
        assert!(inside.files(folder.path()).is_empty());
    }

    #[test]
    fn a_module_that_the_kernel_lacks_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let package = package(folder.path());
        let missing = Modules {
            name: "missing",
            paths: &["fs/missing"],
        };
        let error = missing.take(folder.path(), &package).unwrap_err();
        assert!(error.to_string().contains("fs/missing"), "{error}");
    }
}
