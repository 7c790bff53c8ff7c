//! The machine: mounts, host name, loopback, the driver, power.

use crate::Error;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::stat::Mode;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// A file system of the kernel's own.
struct Mount {
    kind: &'static str,
    target: &'static str,
    options: &'static str,
    /// Only if nothing is there: the image's own files must not be hidden.
    if_empty: bool,
}

const fn mount_of(kind: &'static str, target: &'static str, options: &'static str) -> Mount {
    Mount {
        kind,
        target,
        options,
        if_empty: false,
    }
}

const fn scratch(target: &'static str, options: &'static str) -> Mount {
    Mount {
        if_empty: true,
        ..mount_of("tmpfs", target, options)
    }
}

const MOUNTS: [Mount; 7] = [
    mount_of("devtmpfs", "/dev", "mode=0755"),
    mount_of("proc", "/proc", ""),
    mount_of("sysfs", "/sys", ""),
    mount_of("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
    scratch("/dev/shm", "mode=1777"),
    scratch("/tmp", "mode=1777"),
    scratch("/run", "mode=0755"),
];

/// Names in `/dev` that programs expect and the kernel does not make.
const LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Makes of the bare image what programs expect of a Linux system. `seed`: of
/// its random numbers.
///
/// # Errors
/// [`Error::Mount`]. What is only convenient is left out where it fails.
pub fn prepare(seed: u64) -> Result<(), Error> {
    for mount in &MOUNTS {
        mount.apply()?;
    }
    for (to, from) in LINKS {
        let _ = std::os::unix::fs::symlink(to, from);
    }
    use_console();
    let _ = seed_randomness(seed);
    let _ = nix::unistd::sethostname("gil");
    let _ = raise_loopback();
    Ok(())
}

impl Mount {
    fn apply(&self) -> Result<(), Error> {
        let target = Path::new(self.target);
        let _ = std::fs::create_dir_all(target);
        if self.if_empty && has_entries(target) {
            return Ok(());
        }
        let flags = MsFlags::MS_NOSUID;
        match mount(
            Some(self.kind),
            target,
            Some(self.kind),
            flags,
            Some(self.options),
        ) {
            // Busy: the kernel mounted it itself.
            Ok(()) | Err(Errno::EBUSY) => Ok(()),
            Err(errno) => Err(Error::Mount {
                kind: self.kind,
                target: self.target,
                errno,
            }),
        }
    }
}

fn has_entries(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Makes the console this process's three streams: without `/dev/console` in
/// the image, the kernel starts init with none, and the next files opened
/// would take their numbers.
fn use_console() {
    let Ok(console) = File::options().read(true).write(true).open("/dev/console") else {
        return;
    };
    for stream in 0..3 {
        // SAFETY: `console` is open; the three numbers belong to no object of
        // this process but its standard streams.
        unsafe { libc::dup2(console.as_raw_fd(), stream) };
    }
    if console.as_raw_fd() < 3 {
        // It is itself one of the streams now, and stays open.
        std::mem::forget(console);
    }
}

/// `struct rand_pool_info` of `linux/random.h`, with room for one seed.
#[repr(C)]
struct RandomPool {
    entropy_bits: libc::c_int,
    size: libc::c_int,
    bytes: [u64; SEED_WORDS],
}

const SEED_WORDS: usize = 8;
const SEED_BYTES: usize = SEED_WORDS * size_of::<u64>();

/// Declares the kernel's random numbers ready, from a seed that is no secret.
///
/// A simulated machine has no entropy, and must not have any: the same run
/// gives the same times. But a kernel that waits for entropy hashes its pool
/// for every single random number, one of which goes into each system call
/// (the kernel stack's offset): 10 µs a call, which no real machine takes.
fn seed_randomness(seed: u64) -> Result<(), Errno> {
    let device = File::options().write(true).open("/dev/urandom");
    let device = device.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
    let pool = RandomPool {
        entropy_bits: SEED_BYTES as libc::c_int * 8,
        size: SEED_BYTES as libc::c_int,
        bytes: std::array::from_fn(|i| seed ^ i as u64),
    };
    // SAFETY: `pool` is laid out as RNDADDENTROPY reads it.
    unsafe { add_entropy(device.as_raw_fd(), &pool) }.map(drop)
}

nix::ioctl_write_ptr_bad!(
    /// `RNDADDENTROPY`, whose number says `int[2]` for what varies in length.
    add_entropy,
    nix::request_code_write!(b'R', 0x03, size_of::<[libc::c_int; 2]>()),
    RandomPool
);

fn raise_loopback() -> Result<(), Errno> {
    // SAFETY: takes plain numbers; the result is checked.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = Errno::result(socket)?;
    // SAFETY: `socket` was just opened and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: all zeroes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: `request` is an `ifreq` as SIOCSIFFLAGS reads it.
    Errno::result(unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) })?;
    Ok(())
}

/// Loads a module that takes no parameters.
///
/// # Errors
/// [`Error::ModuleRead`] and [`Error::ModuleLoad`].
pub fn load_module(path: &Path) -> Result<(), Error> {
    load_module_with(path, "")
}

/// Loads a module with these parameters, separated by spaces.
///
/// # Errors
/// As [`load_module`]; [`Error::Zero`].
pub fn load_module_with(path: &Path, parameters: &str) -> Result<(), Error> {
    let parameters = CString::new(parameters).map_err(|_| Error::Zero(parameters.into()))?;
    let module = File::open(path).map_err(|error| Error::ModuleRead {
        path: path.into(),
        error,
    })?;
    match finit_module(module, &parameters, ModuleInitFlags::empty()) {
        Ok(()) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(Error::ModuleLoad {
            path: path.into(),
            errno,
        }),
    }
}

/// Opens an empty input.
///
/// # Errors
/// Those of `open`.
pub fn empty_input() -> Result<OwnedFd, Errno> {
    nix::fcntl::open(
        "/dev/null",
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )
}

/// Ends the simulation.
pub fn power_off() -> ! {
    nix::unistd::sync();
    // The error, if there is one, is all this returns.
    let Err(errno) = reboot(RebootMode::RB_POWER_OFF);
    // The kernel panics when init ends, which stops the simulator too.
    panic!("cannot switch the guest off: {errno}");
}
