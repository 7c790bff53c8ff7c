//! The guest's files: disks in memory that the simulator mapped, the last one with the run's
//! own files, under a layer that the program may write.

use crate::Error;
use crate::system::{load_module, load_module_with};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the image has what is needed; without it, the image is all that the
/// guest has.
const PLACE: &str = "/.gil";
/// The modules, in the order in which they are loaded. The last one makes the
/// disks; until it is loaded, the guest knows nothing of its run, and QEMU may
/// save it there (`synthetic-driver/pause.c`).
const ORDER: &str = "modules/order";
/// How the parameters of the last one begin on the kernel's command line.
const PARAMETERS: &str = "gil_disk.";

/// Makes a root of them, and makes it this process's.
///
/// # Errors
/// [`Error`] if one cannot be had.
pub fn enter() -> Result<(), Error> {
    let place = Path::new(PLACE);
    if !place.exists() {
        return Ok(());
    }
    let parameters = parameters(&command_line()?);
    load(place, &parameters.join(" "))?;
    let disks = mount_all(place)?;
    let root = place.join("root");
    mount_layers(place, &disks, &root)?;
    become_root(&root)
}

/// The kernel's.
fn command_line() -> Result<String, Error> {
    let at = folder(Path::new(PLACE).join("proc"))?;
    mount_kernels(&at, "proc")?;
    let path = at.join("cmdline");
    let text = fs::read_to_string(&path).map_err(|error| Error::Root { path, error });
    unmount(&at)?;
    text
}

/// The last module's, as the kernel would give them to it if it were its own.
fn parameters(command_line: &str) -> Vec<String> {
    let words = command_line.split_whitespace();
    let of_it = words.filter_map(|word| word.strip_prefix(PARAMETERS));
    of_it.map(str::to_owned).collect()
}

fn load(place: &Path, parameters: &str) -> Result<(), Error> {
    let path = place.join(ORDER);
    let order = fs::read_to_string(&path).map_err(|error| Error::Root { path, error })?;
    let mut names = order.lines().peekable();
    while let Some(name) = names.next() {
        let path = place.join("modules").join(name);
        match names.peek() {
            Some(_) => load_module(&path)?,
            None => load_module_with(&path, parameters)?,
        }
    }
    Ok(())
}

/// Mounts the disks; where.
fn mount_all(place: &Path) -> Result<Vec<String>, Error> {
    let devices = folder(place.join("dev"))?;
    mount_kernels(&devices, "devtmpfs")?;
    let mut mounted = Vec::new();
    loop {
        let number = mounted.len();
        let device = devices.join(format!("gildisk{number}"));
        if !device.exists() {
            break;
        }
        let at = folder(place.join(format!("disk{number}")))?;
        mount(
            Some(&device),
            &at,
            Some("erofs"),
            MsFlags::MS_RDONLY,
            None::<&str>,
        )
        .map_err(|errno| Error::Layer {
            at: at.clone(),
            errno,
        })?;
        mounted.push(at.display().to_string());
    }
    unmount(&devices)?;
    Ok(mounted)
}

/// The disks, the last one on top, above what every guest has; above all of them
/// what the program writes.
fn mount_layers(place: &Path, disks: &[String], root: &Path) -> Result<(), Error> {
    let upper = folder(place.join("upper"))?;
    let work = folder(place.join("work"))?;
    let skeleton = folder(place.join("skeleton"))?;
    let mut options = String::from("lowerdir=");
    for disk in disks.iter().rev() {
        let _ = write!(options, "{disk}:");
    }
    // Folders of packages can be renamed as any other.
    let _ = write!(
        options,
        "{},upperdir={},workdir={},redirect_dir=on",
        skeleton.display(),
        upper.display(),
        work.display()
    );
    let root = folder(root.into())?;
    let kind = Some("overlay");
    mount(kind, &root, kind, MsFlags::empty(), Some(options.as_str()))
        .map_err(|errno| Error::Layer { at: root, errno })
}

/// As switch_root(8) does.
fn become_root(root: &Path) -> Result<(), Error> {
    let failed = Error::system("enter the root of its packages");
    let enter = || {
        nix::unistd::chdir(root)?;
        mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>)?;
        nix::unistd::chroot(".")?;
        nix::unistd::chdir("/")
    };
    enter().map_err(failed)
}

fn mount_kernels(at: &Path, kind: &'static str) -> Result<(), Error> {
    mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>).map_err(|errno| {
        Error::Layer {
            at: at.into(),
            errno,
        }
    })
}

fn unmount(at: &Path) -> Result<(), Error> {
    umount2(at, MntFlags::empty()).map_err(|errno| Error::Layer {
        at: at.into(),
        errno,
    })
}

fn folder(path: PathBuf) -> Result<PathBuf, Error> {
    match fs::create_dir_all(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(Error::Root { path, error }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_parameters_are_those_with_its_name() {
        let line = "quiet gil_disk.at=0x80000000 gil_diskette=1\n";
        assert_eq!(parameters(line), ["at=0x80000000"]);
        assert!(parameters("quiet").is_empty());
    }
}
