//! A render node of this machine's, by the kernel's own calls.
//!
//! All `unsafe` of the back end is here. A driver's ioctl reads and writes its argument and
//! the memory that its pointers name; [`Raw`] is made of both as long as the driver's table
//! says, and the tables are compared with the kernel's headers. Structures of the kernel's
//! own calls are those of `drm.h` and `sync_file.h`.

use super::node::{End, Fence, Mapped, Node, Open, Performed, Raw, Version};
use gil_drivers::Access;
use gil_drivers::layout::Layout;
use gil_wire::identity::{DeviceIdentity, PciAddress};
use memmap2::{MmapOptions, MmapRaw};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::cell::OnceCell;
use std::ffi::{OsStr, c_int, c_ulong, c_void};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The kind of all of a driver's calls.
const DRM: u32 = b'd' as u32;
/// That of sync files'.
const SYNC: u32 = b'>' as u32;
/// The first call of a driver's own.
const COMMAND_BASE: u32 = 0x40;
/// How long a call is repeated that the kernel wants to be called again.
const AGAIN: Duration = Duration::from_secs(30);
/// Most fences of a job's sync file.
const FENCES_MOST: usize = 16;

/// `struct drm_version`.
#[repr(C)]
struct DrmVersion {
    major: c_int,
    minor: c_int,
    patch: c_int,
    name_len: usize,
    name: *mut u8,
    date_len: usize,
    date: *mut u8,
    desc_len: usize,
    desc: *mut u8,
}

/// `struct drm_gem_close`.
#[repr(C)]
struct GemClose {
    handle: u32,
    pad: u32,
}

/// `struct drm_prime_handle`.
#[repr(C)]
struct PrimeHandle {
    handle: u32,
    flags: u32,
    fd: i32,
}

/// `struct drm_syncobj_create`.
#[repr(C)]
struct SyncCreate {
    handle: u32,
    flags: u32,
}

/// `struct drm_syncobj_handle`.
#[repr(C)]
struct SyncHandle {
    handle: u32,
    flags: u32,
    fd: i32,
    pad: u32,
}

/// `DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE`.
const AS_SYNC_FILE: u32 = 1;

/// `struct sync_fence_info`.
#[repr(C)]
#[derive(Clone, Copy)]
struct FenceInfo {
    names: [u8; 64],
    status: i32,
    flags: u32,
    timestamp_ns: u64,
}

/// `struct sync_file_info`.
#[repr(C)]
struct SyncInfo {
    name: [u8; 32],
    status: i32,
    flags: u32,
    num_fences: u32,
    pad: u32,
    infos: u64,
}

const _: () = assert!(size_of::<FenceInfo>() == 80 && size_of::<SyncInfo>() == 56);

/// A call's number, as `_IOC` makes it.
fn request(access: Access, kind: u32, number: u32, size: usize) -> u32 {
    let direction = match access {
        Access::Write => 1,
        Access::Read => 2,
        Access::Both => 3,
    };
    direction << 30 | (size as u32) << 16 | kind << 8 | number
}

/// Calls, and again while the kernel wants that.
///
/// # Safety
/// `argument` is what the call of this number takes.
unsafe fn ioctl(file: BorrowedFd<'_>, request: u32, argument: *mut c_void) -> Result<i32, Errno> {
    let until = Instant::now() + AGAIN;
    loop {
        // C libraries differ in the number's type.
        let number = c_ulong::from(request) as _;
        // SAFETY: the caller's.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), number, argument) };
        match Errno::result(result) {
            Err(Errno::EINTR | Errno::EAGAIN) if Instant::now() < until => {}
            result => return result,
        }
    }
}

/// One of the kernel's own calls, with its structure.
///
/// # Safety
/// The structure is the call's, and pointers in it are to memory of the lengths beside
/// them.
unsafe fn control<T>(
    file: BorrowedFd<'_>,
    access: Access,
    (kind, number): (u32, u32),
    argument: &mut T,
) -> Result<(), Errno> {
    let request = request(access, kind, number, size_of::<T>());
    // SAFETY: the caller's.
    unsafe { ioctl(file, request, std::ptr::from_mut(argument).cast())? };
    Ok(())
}

/// A render node.
#[derive(Debug)]
pub struct RenderNode {
    path: PathBuf,
    version: Version,
    identity: DeviceIdentity,
}

impl RenderNode {
    /// The node at a path.
    ///
    /// # Errors
    /// The system's, if it does not open, or is none.
    pub fn at(path: &Path) -> io::Result<Self> {
        let file = open(path)?;
        let version = version(file.as_fd())?;
        let place = format!("{} {}", version.name, path.display());
        Ok(Self {
            path: path.into(),
            version,
            identity: DeviceIdentity {
                pci: pci(path),
                place,
                ..DeviceIdentity::default()
            },
        })
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// What a node's driver says of itself.
fn version(file: BorrowedFd<'_>) -> Result<Version, Errno> {
    let mut texts = [[0_u8; 128]; 3];
    let [name, date, desc] = &mut texts;
    let mut version = DrmVersion {
        major: 0,
        minor: 0,
        patch: 0,
        name_len: name.len(),
        name: name.as_mut_ptr(),
        date_len: date.len(),
        date: date.as_mut_ptr(),
        desc_len: desc.len(),
        desc: desc.as_mut_ptr(),
    };
    // SAFETY: the structure of DRM_IOCTL_VERSION; each text has its length.
    unsafe { control(file, Access::Both, (DRM, 0x00), &mut version)? };
    let lens = [version.name_len, version.date_len, version.desc_len];
    let text = |n: usize| {
        let text: &[u8] = &texts[n];
        let text = &text[..lens[n].min(text.len())];
        String::from_utf8_lossy(text).into_owned()
    };
    let numbers = [version.major, version.minor, version.patch];
    Ok(Version {
        name: text(0),
        numbers: numbers.map(c_int::cast_unsigned),
        date: text(1),
        description: text(2),
    })
}

/// Where on PCI the device of a node is, if it is there.
fn pci(node: &Path) -> Option<PciAddress> {
    let device = Path::new("/sys/class/drm").join(node.file_name()?);
    let device = device.join("device").canonicalize().ok()?;
    let mut parts: Vec<&OsStr> = device.iter().collect();
    parts.reverse();
    parts.into_iter().find_map(|part| address(part.to_str()?))
}

/// "0000:00:02.0".
fn address(text: &str) -> Option<PciAddress> {
    let (rest, function) = text.split_once('.')?;
    let [domain, bus, device] = <[&str; 3]>::try_from(rest.split(':').collect::<Vec<_>>()).ok()?;
    let number = |text| u32::from_str_radix(text, 16).ok();
    Some(PciAddress {
        domain: number(domain)?,
        bus: number(bus)?,
        device: number(device)?,
        function: number(function)?,
    })
}

impl Node for RenderNode {
    fn path(&self) -> &Path {
        &self.path
    }

    fn version(&self) -> &Version {
        &self.version
    }

    fn identity(&self) -> DeviceIdentity {
        self.identity.clone()
    }

    fn open(&self) -> Result<Box<dyn Open>, Errno> {
        let file = open(&self.path).map_err(|error| errno(&error))?;
        Ok(Box::new(RenderFile::of(file)))
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

/// An open file of a render node's.
struct RenderFile {
    file: File,
    /// Its sync object, which has the fence of the job that was started last.
    sync: OnceCell<u32>,
}

impl RenderFile {
    fn of(file: File) -> Self {
        let sync = OnceCell::new();
        Self { file, sync }
    }

    /// The file's sync object.
    fn sync(&self) -> Result<u32, Errno> {
        if let Some(handle) = self.sync.get() {
            return Ok(*handle);
        }
        let mut create = SyncCreate {
            handle: 0,
            flags: 0,
        };
        // SAFETY: the structure of DRM_IOCTL_SYNCOBJ_CREATE.
        unsafe { control(self.file.as_fd(), Access::Both, (DRM, 0xbf), &mut create)? };
        Ok(*self.sync.get_or_init(|| create.handle))
    }

    /// The fence that the sync object has.
    fn fence_of(&self, handle: u32) -> Result<OwnedFd, Errno> {
        let mut export = SyncHandle {
            handle,
            flags: AS_SYNC_FILE,
            fd: -1,
            pad: 0,
        };
        // SAFETY: the structure of DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD.
        unsafe { control(self.file.as_fd(), Access::Both, (DRM, 0xc1), &mut export)? };
        Self::owned(export.fd)
    }

    /// The fence of a job that was just started by a call with this argument.
    fn fence(&self, layout: &Layout, argument: &[u8]) -> Result<OwnedFd, Errno> {
        match layout.fence {
            Some(fence) => Self::owned(fence.descriptor.read(argument) as RawFd),
            None => self.fence_of(self.sync()?),
        }
    }

    /// The file of a sync object or a buffer that the kernel has just made.
    fn owned(fd: RawFd) -> Result<OwnedFd, Errno> {
        match fd {
            // SAFETY: a successful call put it there; nobody else has it.
            0.. => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
            _ => Err(Errno::EBADF),
        }
    }
}

impl Open for RenderFile {
    fn ioctl(&self, call: &mut Raw<'_>) -> Result<Performed, Errno> {
        let (layout, wants_fence) = (call.layout(), call.wants_fence());
        let number = COMMAND_BASE + call.number();
        let request = request(call.access(), DRM, number, layout.size);
        let sync = layout
            .sync_out
            .filter(|_| wants_fence && layout.fence.is_none());
        let (argument, memory) = call.parts_mut();
        if let Some(sync) = sync {
            sync.write(argument, self.sync()?.into());
        }
        for (pointer, memory) in layout.pointers.iter().zip(memory) {
            let address = match memory.is_empty() {
                true => 0,
                false => memory.as_mut_ptr().expose_provenance() as u64,
            };
            pointer.at.write(argument, address);
        }
        // SAFETY: the argument has the size that its number says; `Raw` saw that the memory
        // of each pointer is what the argument says.
        let result = unsafe { ioctl(self.file.as_fd(), request, argument.as_mut_ptr().cast()) };
        // Addresses of this process are nobody's business.
        for pointer in &layout.pointers {
            pointer.at.write(argument, 0);
        }
        let result = result?;
        let fence = match wants_fence {
            true => Some(self.fence(layout, argument)?),
            false => None,
        };
        Ok(Performed {
            result,
            fence: fence.map(|file| Box::new(SyncFile(file)) as Box<dyn Fence>),
        })
    }

    fn map(&self, offset: u64, len: usize) -> Result<Box<dyn Mapped>, Errno> {
        let mut options = MmapOptions::new();
        let mapped = options.offset(offset).len(len).map_raw(&self.file);
        Ok(Box::new(Mapping(mapped.map_err(|error| errno(&error))?)))
    }

    fn export(&self, handle: u32) -> Result<OwnedFd, Errno> {
        let flags = (libc::O_CLOEXEC | libc::O_RDWR).cast_unsigned();
        let fd = -1;
        let mut prime = PrimeHandle { handle, flags, fd };
        // SAFETY: the structure of DRM_IOCTL_PRIME_HANDLE_TO_FD.
        unsafe { control(self.file.as_fd(), Access::Both, (DRM, 0x2d), &mut prime)? };
        Self::owned(prime.fd)
    }

    fn import(&self, buffer: BorrowedFd<'_>) -> Result<u32, Errno> {
        let mut prime = PrimeHandle {
            handle: 0,
            flags: 0,
            fd: buffer.as_raw_fd(),
        };
        // SAFETY: the structure of DRM_IOCTL_PRIME_FD_TO_HANDLE.
        unsafe { control(self.file.as_fd(), Access::Both, (DRM, 0x2e), &mut prime)? };
        Ok(prime.handle)
    }

    fn close(&self, handle: u32) -> Result<(), Errno> {
        let mut close = GemClose { handle, pad: 0 };
        // SAFETY: the structure of DRM_IOCTL_GEM_CLOSE.
        unsafe { control(self.file.as_fd(), Access::Write, (DRM, 0x09), &mut close) }
    }
}

/// Memory of a buffer's, mapped.
struct Mapping(MmapRaw);

impl Mapped for Mapping {
    fn read(&self, bytes: &mut [u8]) {
        let len = bytes.len().min(self.0.len());
        // SAFETY: both have so many bytes, and the mapping lives. What the GPU writes
        // meanwhile are plain bytes, of which any mixture may be read.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), bytes.as_mut_ptr(), len) };
    }

    fn write(&mut self, at: usize, bytes: &[u8]) {
        let len = bytes.len().min(self.0.len().saturating_sub(at));
        if len == 0 {
            return;
        }
        // SAFETY: so many bytes are behind `at` in the mapping, and nothing in Rust refers
        // to them.
        unsafe {
            let to = self.0.as_mut_ptr().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, len);
        }
    }
}

/// A fence of the kernel's.
#[derive(Debug)]
struct SyncFile(OwnedFd);

impl Fence for SyncFile {
    fn wait(&self, within: Duration) -> Result<Option<End>, Errno> {
        let until = Instant::now() + within;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            // Up to the next millisecond: a wait is never cut short.
            let left = left.as_nanos().div_ceil(1_000_000);
            let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
            let mut files = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            match poll(&mut files, timeout) {
                Ok(0) if Instant::now() >= until => return Ok(None),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return self.end().map(Some),
                Err(error) => return Err(error),
            }
        }
    }
}

impl SyncFile {
    /// When its last fence signalled.
    fn end(&self) -> Result<End, Errno> {
        let empty = FenceInfo {
            names: [0; 64],
            status: 0,
            flags: 0,
            timestamp_ns: 0,
        };
        let mut fences = [empty; FENCES_MOST];
        let mut info = SyncInfo {
            name: [0; 32],
            status: 0,
            flags: 0,
            num_fences: FENCES_MOST as u32,
            pad: 0,
            infos: fences.as_mut_ptr().expose_provenance() as u64,
        };
        // SAFETY: the structure of SYNC_IOC_FILE_INFO, with as many fences as it says.
        unsafe { control(self.0.as_fd(), Access::Both, (SYNC, 4), &mut info)? };
        let all = fences.iter().take(info.num_fences as usize);
        Ok(End {
            ns: all.map(|it| it.timestamp_ns).max().unwrap_or(0),
            // 1 stands for success.
            status: info.status.min(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernels_headers() {
        let version = request(Access::Both, DRM, 0, size_of::<DrmVersion>());
        if size_of::<usize>() == 8 {
            assert_eq!(version, 0xc040_6400);
        }
        assert_eq!(request(Access::Write, DRM, 9, 8), 0x4008_6409);
        assert_eq!(request(Access::Both, DRM, 0x2d, 12), 0xc00c_642d);
        assert_eq!(request(Access::Both, DRM, 0xbf, 8), 0xc008_64bf);
        assert_eq!(request(Access::Both, DRM, 0xc1, 16), 0xc010_64c1);
        assert_eq!(request(Access::Both, SYNC, 4, 56), 0xc038_3e04);
        assert_eq!(request(Access::Read, DRM, 0x45, 8), 0x8008_6445);
    }

    #[test]
    fn what_is_no_node_is_none() {
        let null = RenderNode::at(Path::new("/dev/null")).unwrap_err();
        assert_eq!(null.raw_os_error(), Some(libc::ENOTTY));
        assert!(RenderNode::at(Path::new("/dev/dri/none")).is_err());
    }

    #[test]
    fn places_on_pci_are_read() {
        let found = address("0001:0a:02.3").unwrap();
        let PciAddress {
            domain,
            bus,
            device,
            function,
        } = found;
        assert_eq!((domain, bus, device, function), (1, 10, 2, 3));
        for other in ["virtio0", "drm", "fd00.gpu", "a:b.c", ""] {
            assert_eq!(address(other), None, "{other}");
        }
        assert_eq!(pci(Path::new("/dev/dri/none")), None);
    }

    #[test]
    fn memory_is_read_and_written_as_far_as_it_is_there() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let mut mapped = RenderFile::of(file).map(0, 4096).unwrap();
        mapped.write(4094, b"abc");
        mapped.write(5000, b"abc");
        let mut bytes = vec![9; 4097];
        mapped.read(&mut bytes);
        assert_eq!(bytes[4094..], [b'a', b'b', 9]);
    }
}
