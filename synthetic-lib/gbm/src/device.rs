//! A display driver, open, and its numbers of buffers. The driver has one number for a buffer
//! in an open file, however often it is imported, and one close ends that.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The display driver, open.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    /// How often each number is in use.
    uses: Mutex<HashMap<u32, usize>>,
}

/// Those in use.
static OPEN: Mutex<Vec<Weak<Device>>> = Mutex::new(Vec::new());

impl Device {
    /// Shares the program's open device: of several descriptors of one open file, it is one.
    ///
    /// # Errors
    /// The operating system's.
    pub fn of(fd: BorrowedFd<'_>) -> io::Result<Arc<Self>> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|device| device.strong_count() > 0);
        let mut known = open.iter().filter_map(Weak::upgrade);
        if let Some(device) = known.find(|device| is_same_file(device.fd(), fd)) {
            return Ok(device);
        }
        let device = Arc::new(Self {
            fd: fd.try_clone_to_owned()?,
            uses: Mutex::default(),
        });
        open.push(Arc::downgrade(&device));
        Ok(device)
    }

    /// Its descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// One more use of the number that `find` gets from the driver.
    ///
    /// # Errors
    /// That of `find`.
    pub fn handle(
        self: &Arc<Self>,
        find: impl FnOnce(BorrowedFd<'_>) -> io::Result<u32>,
    ) -> io::Result<Handle> {
        // Nobody closes the number before it is counted.
        let mut uses = self.uses();
        let number = find(self.fd())?;
        *uses.entry(number).or_default() += 1;
        Ok(Handle {
            device: self.clone(),
            number,
        })
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<u32, usize>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One use less; whether it was the last.
    fn is_unused(uses: &mut HashMap<u32, usize>, number: u32) -> bool {
        let Some(count) = uses.get_mut(&number) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            uses.remove(&number);
        }
        is_last
    }
}

/// A use of the display driver's number of a buffer.
#[derive(Debug)]
pub struct Handle {
    device: Arc<Device>,
    number: u32,
}

impl Handle {
    /// The number.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whose number it is.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut uses = self.device.uses();
        if Device::is_unused(&mut uses, self.number) {
            // The memory goes with the last of its users. An error here has no remedy.
            let _ = drm_ffi::gem::close(self.device.fd(), self.number);
        }
    }
}

/// Whether two descriptors are of one open file. If the kernel does not say, they are not.
fn is_same_file(a: BorrowedFd<'_>, b: BorrowedFd<'_>) -> bool {
    /// `KCMP_FILE` of `linux/kcmp.h`.
    const FILE: libc::c_long = 0;
    let (a, b) = (a.as_raw_fd(), b.as_raw_fd());
    // SAFETY: the call takes numbers only.
    a == b
        || unsafe { libc::syscall(libc::SYS_kcmp, libc::getpid(), libc::getpid(), FILE, a, b) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn descriptors_of_one_open_file_are_one_device() {
        let file = File::open("/dev/null").unwrap();
        let (again, other) = (file.try_clone().unwrap(), File::open("/dev/null").unwrap());
        let device = Device::of(file.as_fd()).unwrap();
        assert!(Arc::ptr_eq(&device, &Device::of(again.as_fd()).unwrap()));
        assert!(!Arc::ptr_eq(&device, &Device::of(other.as_fd()).unwrap()));
    }

    #[test]
    fn a_number_is_in_use_until_its_last_use_ends() {
        let device = Device::of(File::open("/dev/null").unwrap().as_fd()).unwrap();
        let uses = [7, 7, 8].map(|number| device.handle(|_| Ok(number)).unwrap());
        assert!(device.handle(|_| Err(io::ErrorKind::Other.into())).is_err());
        let [first, second, other] = uses;
        drop(first);
        assert_eq!(*device.uses(), HashMap::from([(7, 1), (8, 1)]));
        drop((second, other));
        assert!(device.uses().is_empty());
    }
}
