//! What libgbm calls. Each structure that libgbm knows is the first field of one of
//! ours, whose address it is.

use crate::abi::{self, BoHandle, ImportFd, ImportFdModifier};
use crate::buffer::{Buffer, Layout};
use crate::chain::{BUFFERS_MAX, Chain};
use crate::device::Device as Driver;
use crate::format::Format;
use std::collections::HashMap;
use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const LINEAR: u64 = 0;
const INVALID: u64 = 0x00ff_ffff_ffff_ffff;

/// A device of the program's.
#[repr(C)]
struct Device {
    abi: abi::Device,
    driver: Arc<Driver>,
}

/// A buffer of the program's, or of a surface.
#[repr(C)]
struct Bo {
    abi: abi::Bo,
    buffer: Arc<Buffer>,
}

/// A surface of the program's.
#[repr(C)]
struct Surface {
    abi: abi::Surface,
    shared: Arc<Window>,
}

/// What EGL draws to: a surface's buffers, which live as long as either has them.
pub struct Window {
    driver: Arc<Driver>,
    /// Pixels of a row, and rows.
    pub size: (u32, u32),
    /// Of its pixels.
    pub format: Format,
    /// Who has which buffer.
    pub chain: Chain,
    is_gone: AtomicBool,
    buffers: [OnceLock<Arc<Buffer>>; BUFFERS_MAX],
    /// The structures that the program gets for them, once it asked.
    bos: Mutex<[Option<Handed>; BUFFERS_MAX]>,
}

/// A [`Bo`] that the program has.
struct Handed(*mut Bo);

// SAFETY: it is an address, used under the lock that keeps it.
unsafe impl Send for Handed {}

impl std::fmt::Debug for Window {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Window");
        shown
            .field("size", &self.size)
            .field("format", &self.format);
        shown.finish_non_exhaustive()
    }
}

impl Window {
    /// Whether the program has destroyed its surface.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// A buffer, made at its first use.
    ///
    /// # Errors
    /// The display driver's.
    pub fn buffer(&self, index: usize) -> io::Result<&Arc<Buffer>> {
        let place = &self.buffers[index];
        if let Some(buffer) = place.get() {
            return Ok(buffer);
        }
        let made = Buffer::create(&self.driver, self.size, self.format)?;
        Ok(place.get_or_init(|| Arc::new(made)))
    }
}

/// What a program has of this back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Device,
    Bo,
    Surface,
}

/// What is alive, by address: what a program gives EGL may be anything.
static LIVE: Mutex<Option<HashMap<usize, Kind>>> = Mutex::new(None);

fn live<T>(work: impl FnOnce(&mut HashMap<usize, Kind>) -> T) -> T {
    let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    work(live.get_or_insert_default())
}

/// Whether such an object is at an address.
fn is_live(address: *const c_void, kind: Kind) -> bool {
    live(|live| live.get(&(address as usize)) == Some(&kind))
}

/// The object at an address is alive until [`ends`]; null is none.
fn begins<T>(object: *mut T, kind: Kind) -> *mut T {
    if !object.is_null() {
        live(|live| live.insert(object as usize, kind));
    }
    object
}

/// Its program uses it no more.
fn ends<T>(object: *mut T) {
    live(|live| live.remove(&(object as usize)));
}

/// Whether that is a device of this back end.
pub fn is_device(device: *const c_void) -> bool {
    is_live(device, Kind::Device)
}

/// The open display driver behind a device of this back end.
pub fn device_of(device: *const c_void) -> Option<Arc<Driver>> {
    if !is_device(device) {
        return None;
    }
    // SAFETY: devices are among the live only from their making to their end, which the
    // program does not cause while it uses them.
    Some(unsafe { (*device.cast::<Device>()).driver.clone() })
}

/// What EGL draws to, of a surface of this back end.
pub fn surface_of(surface: *const c_void) -> Option<Arc<Window>> {
    if !is_live(surface, Kind::Surface) {
        return None;
    }
    // SAFETY: as of devices.
    Some(unsafe { (*surface.cast::<Surface>()).shared.clone() })
}

/// The buffer behind a `gbm_bo` of this back end.
pub fn buffer_of(bo: *const c_void) -> Option<Arc<Buffer>> {
    if !is_live(bo, Kind::Bo) {
        return None;
    }
    // SAFETY: as of devices.
    Some(unsafe { (*bo.cast::<Bo>()).buffer.clone() })
}

/// Sets `errno`, as libgbm's functions do.
fn failed(error: &io::Error) {
    nix::errno::Errno::set_raw(error.raw_os_error().unwrap_or(libc::EINVAL));
}

/// The result as a pointer; null, with `errno`, for an error.
fn pointer<T>(result: io::Result<Box<T>>) -> *mut T {
    match result {
        Ok(made) => Box::into_raw(made),
        Err(error) => {
            failed(&error);
            null_mut()
        }
    }
}

fn number<T>(result: io::Result<T>, good: impl FnOnce(T) -> c_int) -> c_int {
    match result {
        Ok(value) => good(value),
        Err(error) => {
            failed(&error);
            -1
        }
    }
}

fn refused(code: c_int) -> io::Error {
    io::Error::from_raw_os_error(code)
}

/// `gbmint_get_backend`, for which libgbm looks.
///
/// # Safety
/// As libgbm's interface says.
#[unsafe(export_name = "gil_gbmint_get_backend")]
pub unsafe extern "C" fn get_backend(_core: *const abi::Core) -> *const abi::Backend {
    static BACKEND: abi::Backend = abi::Backend {
        backend_version: abi::VERSION,
        backend_name: c"gil".as_ptr(),
        create_device,
    };
    &raw const BACKEND
}

unsafe extern "C" fn create_device(fd: c_int, version: u32) -> *mut abi::Device {
    if fd < 0 {
        failed(&refused(libc::EBADF));
        return null_mut();
    }
    // SAFETY: the program's descriptor is open during the call.
    let driver = Driver::of(unsafe { BorrowedFd::borrow_raw(fd) });
    let device = driver.map(|driver| {
        Box::new(Device {
            abi: functions(fd, version),
            driver,
        })
    });
    begins(pointer(device), Kind::Device).cast()
}

fn functions(fd: c_int, version: u32) -> abi::Device {
    abi::Device {
        dummy: null_mut(),
        backend_desc: null(),
        backend_version: version.min(abi::VERSION),
        fd,
        name: c"gil".as_ptr(),
        destroy,
        is_format_supported,
        get_format_modifier_plane_count,
        bo_create,
        bo_import,
        bo_map,
        bo_unmap,
        bo_write,
        bo_get_fd,
        bo_get_planes,
        bo_get_handle,
        bo_get_plane_fd,
        bo_get_stride,
        bo_get_offset,
        bo_get_modifier,
        bo_destroy,
        surface_create,
        surface_lock_front_buffer,
        surface_release_buffer,
        surface_has_free_buffers,
        surface_destroy,
        bo_blit: None,
    }
}

unsafe extern "C" fn destroy(device: *mut abi::Device) {
    ends(device);
    // SAFETY: `create_device` made it; the program uses it no more.
    drop(unsafe { Box::from_raw(device.cast::<Device>()) });
}

unsafe extern "C" fn is_format_supported(_: *mut abi::Device, format: u32, usage: u32) -> c_int {
    let drawn = usage & abi::USE_RENDERING != 0;
    let found = Format::of(format);
    c_int::from(found.is_some_and(|format| !drawn || format.is_drawn()))
}

unsafe extern "C" fn get_format_modifier_plane_count(
    _: *mut abi::Device,
    format: u32,
    modifier: u64,
) -> c_int {
    match Format::of(format) {
        Some(_) if modifier == LINEAR => 1,
        _ => -1,
    }
}

/// Whether one of the modifiers, if there are any, is what buffers here have.
///
/// # Safety
/// `modifiers` is null or names `count` values.
unsafe fn is_linear(modifiers: *const u64, count: c_uint) -> bool {
    if modifiers.is_null() || count == 0 {
        return true;
    }
    // SAFETY: the caller's.
    let modifiers = unsafe { std::slice::from_raw_parts(modifiers, count as usize) };
    modifiers.iter().any(|&it| it == LINEAR || it == INVALID)
}

/// What libgbm gets for a buffer; null, with `errno`, for an error.
fn handed_over(device: *mut abi::Device, buffer: io::Result<Arc<Buffer>>) -> *mut Bo {
    begins(pointer(buffer.map(|buffer| bo(device, buffer))), Kind::Bo)
}

fn bo(device: *mut abi::Device, buffer: Arc<Buffer>) -> Box<Bo> {
    let layout = buffer.layout;
    Box::new(Bo {
        abi: abi::Bo {
            gbm: device,
            v0: abi::BoV0 {
                width: layout.width,
                height: layout.height,
                stride: layout.stride,
                format: layout.format.code,
                handle: BoHandle {
                    u64: buffer.handle().into(),
                },
                user_data: null_mut(),
                destroy_user_data: None,
            },
        },
        buffer,
    })
}

/// # Safety
/// `device` is one of this back end's.
unsafe fn driver<'a>(device: *mut abi::Device) -> &'a Arc<Driver> {
    // SAFETY: the caller's.
    unsafe { &(*device.cast::<Device>()).driver }
}

unsafe extern "C" fn bo_create(
    device: *mut abi::Device,
    width: u32,
    height: u32,
    format: u32,
    _usage: u32,
    modifiers: *const u64,
    count: c_uint,
) -> *mut abi::Bo {
    let make = || {
        // SAFETY: the caller's.
        let is_linear = unsafe { is_linear(modifiers, count) };
        let format = Format::of(format).filter(|_| is_linear);
        let format = format.ok_or_else(|| refused(libc::EINVAL))?;
        // SAFETY: the same.
        let made = Buffer::create(unsafe { driver(device) }, (width, height), format)?;
        Ok(Arc::new(made))
    };
    handed_over(device, make()).cast()
}

/// What `gbm_bo_import` is given: a descriptor, and how the picture lies.
///
/// # Safety
/// `data` is what libgbm has for `kind`.
unsafe fn imported(kind: u32, data: *const c_void) -> io::Result<(c_int, Layout)> {
    let layout = |size: (u32, u32), format, stride, offset| {
        let format = Format::of(format).ok_or_else(|| refused(libc::EINVAL))?;
        Ok::<_, io::Error>(Layout {
            width: size.0,
            height: size.1,
            format,
            stride,
            offset,
        })
    };
    match kind {
        abi::IMPORT_FD => {
            // SAFETY: the caller's.
            let it = unsafe { &*data.cast::<ImportFd>() };
            Ok((
                it.fd,
                layout((it.width, it.height), it.format, it.stride, 0)?,
            ))
        }
        abi::IMPORT_FD_MODIFIER => {
            // SAFETY: the caller's.
            let it = unsafe { &*data.cast::<ImportFdModifier>() };
            if it.num_fds != 1 || ![LINEAR, INVALID].contains(&it.modifier) {
                return Err(refused(libc::EINVAL));
            }
            let wide = |value: c_int| u32::try_from(value).map_err(|_| refused(libc::EINVAL));
            let (stride, offset) = (wide(it.strides[0])?, wide(it.offsets[0])?);
            let size = (it.width, it.height);
            Ok((it.fds[0], layout(size, it.format, stride, offset)?))
        }
        _ => Err(refused(libc::ENOSYS)),
    }
}

unsafe extern "C" fn bo_import(
    device: *mut abi::Device,
    kind: u32,
    data: *mut c_void,
    _usage: u32,
) -> *mut abi::Bo {
    let make = || {
        // SAFETY: the caller's.
        let (fd, layout) = unsafe { imported(kind, data) }?;
        if fd < 0 {
            return Err(refused(libc::EBADF));
        }
        // SAFETY: the program's descriptor is open during the call.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        // SAFETY: the caller's.
        let buffer = Buffer::import(unsafe { driver(device) }, fd, layout)?;
        Ok(Arc::new(buffer))
    };
    handed_over(device, make()).cast()
}

/// # Safety
/// `bo` is one of this back end's.
unsafe fn buffer<'a>(bo: *mut abi::Bo) -> &'a Arc<Buffer> {
    // SAFETY: the caller's.
    unsafe { &(*bo.cast::<Bo>()).buffer }
}

unsafe extern "C" fn bo_map(
    bo: *mut abi::Bo,
    x: u32,
    y: u32,
    _width: u32,
    _height: u32,
    _flags: u32,
    stride: *mut u32,
    map_data: *mut *mut c_void,
) -> *mut c_void {
    // SAFETY: the caller's.
    let buffer = unsafe { buffer(bo) };
    let layout = buffer.layout;
    let row = u64::from(y) * u64::from(layout.stride);
    let at = u64::from(layout.offset) + row + u64::from(x) * u64::from(layout.format.bits / 8);
    let place = buffer.map(|bytes| {
        let at = usize::try_from(at).ok().filter(|at| *at < bytes.len());
        at.map(|at| bytes[at..].as_mut_ptr())
    });
    match place.and_then(|place| place.ok_or_else(|| refused(libc::EINVAL))) {
        Ok(place) => {
            // SAFETY: libgbm's caller has room for both.
            unsafe {
                stride.write(layout.stride);
                map_data.write(place.cast());
            }
            place.cast()
        }
        Err(error) => {
            failed(&error);
            null_mut()
        }
    }
}

unsafe extern "C" fn bo_unmap(bo: *mut abi::Bo, _map_data: *mut c_void) {
    // The mapping stays until the buffer's end: the program may have mapped it twice.
    let _ = bo;
}

unsafe extern "C" fn bo_write(bo: *mut abi::Bo, from: *const c_void, len: usize) -> c_int {
    // SAFETY: the caller's.
    let (buffer, from) = unsafe {
        (
            buffer(bo),
            std::slice::from_raw_parts(from.cast::<u8>(), len),
        )
    };
    let written = buffer.map(|bytes| match bytes.get_mut(..len) {
        Some(bytes) => {
            bytes.copy_from_slice(from);
            Ok(())
        }
        None => Err(refused(libc::EINVAL)),
    });
    number(written.and_then(|written| written), |()| 0)
}

unsafe extern "C" fn bo_get_fd(bo: *mut abi::Bo) -> c_int {
    // SAFETY: the caller's.
    number(unsafe { buffer(bo) }.export(), IntoRawFd::into_raw_fd)
}

unsafe extern "C" fn bo_get_planes(_: *mut abi::Bo) -> c_int {
    1
}

unsafe extern "C" fn bo_get_handle(bo: *mut abi::Bo, plane: c_int) -> BoHandle {
    match plane {
        // SAFETY: the caller's.
        0 => unsafe { (*bo).v0.handle },
        _ => {
            failed(&refused(libc::EINVAL));
            BoHandle { s64: -1 }
        }
    }
}

unsafe extern "C" fn bo_get_plane_fd(bo: *mut abi::Bo, plane: c_int) -> c_int {
    match plane {
        // SAFETY: the caller's.
        0 => unsafe { bo_get_fd(bo) },
        _ => number(Err::<(), _>(refused(libc::EINVAL)), |()| 0),
    }
}

unsafe extern "C" fn bo_get_stride(bo: *mut abi::Bo, plane: c_int) -> u32 {
    match plane {
        // SAFETY: the caller's.
        0 => unsafe { (*bo).v0.stride },
        _ => 0,
    }
}

unsafe extern "C" fn bo_get_offset(bo: *mut abi::Bo, _plane: c_int) -> u32 {
    // SAFETY: the caller's.
    unsafe { buffer(bo) }.layout.offset
}

unsafe extern "C" fn bo_get_modifier(_: *mut abi::Bo) -> u64 {
    LINEAR
}

unsafe extern "C" fn bo_destroy(bo: *mut abi::Bo) {
    ends(bo);
    // SAFETY: this back end made it, and the program uses it no more.
    drop(unsafe { Box::from_raw(bo.cast::<Bo>()) });
}

unsafe extern "C" fn surface_create(
    device: *mut abi::Device,
    width: u32,
    height: u32,
    format: u32,
    flags: u32,
    modifiers: *const u64,
    count: c_uint,
) -> *mut abi::Surface {
    // SAFETY: the caller's.
    let is_linear = unsafe { is_linear(modifiers, count) };
    let format = Format::of(format).filter(|it| is_linear && it.is_drawn());
    let Some(format) = format.filter(|_| width > 0 && height > 0) else {
        failed(&refused(libc::EINVAL));
        return null_mut();
    };
    let surface = Box::new(Surface {
        abi: abi::Surface {
            gbm: device,
            width,
            height,
            format: format.code,
            flags,
            modifiers: null_mut(),
            modifier_count: 0,
        },
        shared: Arc::new(Window {
            // SAFETY: the caller's.
            driver: unsafe { driver(device) }.clone(),
            size: (width, height),
            format,
            chain: Chain::default(),
            is_gone: AtomicBool::new(false),
            buffers: Default::default(),
            bos: Mutex::default(),
        }),
    });
    begins(Box::into_raw(surface), Kind::Surface).cast()
}

/// # Safety
/// `surface` is one of this back end's.
unsafe fn window<'a>(surface: *mut abi::Surface) -> &'a Arc<Window> {
    // SAFETY: the caller's.
    unsafe { &(*surface.cast::<Surface>()).shared }
}

unsafe extern "C" fn surface_lock_front_buffer(surface: *mut abi::Surface) -> *mut abi::Bo {
    // SAFETY: the caller's.
    let (window, device) = unsafe { (window(surface), (*surface).gbm) };
    let Some(front) = window.chain.take_front() else {
        failed(&refused(libc::EINVAL));
        return null_mut();
    };
    let mut bos = window.bos.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &bos[front] {
        return known.0.cast();
    }
    let made = handed_over(device, window.buffer(front).cloned());
    if !made.is_null() {
        bos[front] = Some(Handed(made));
    }
    made.cast()
}

unsafe extern "C" fn surface_release_buffer(surface: *mut abi::Surface, bo: *mut abi::Bo) {
    // SAFETY: the caller's.
    let window = unsafe { window(surface) };
    let bos = window.bos.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |handed: &Option<Handed>| handed.as_ref().is_some_and(|it| it.0.cast() == bo);
    if let Some(shown) = bos.iter().position(is_it) {
        window.chain.release(shown);
    }
}

unsafe extern "C" fn surface_has_free_buffers(surface: *mut abi::Surface) -> c_int {
    // SAFETY: the caller's.
    c_int::from(unsafe { window(surface) }.chain.has_free())
}

unsafe extern "C" fn surface_destroy(surface: *mut abi::Surface) {
    ends(surface);
    // SAFETY: `surface_create` made it, and the program uses it no more.
    let surface = unsafe { Box::from_raw(surface.cast::<Surface>()) };
    surface.shared.is_gone.store(true, Ordering::Relaxed);
    let mut bos = surface.shared.bos.lock();
    let bos = bos.as_deref_mut().map(std::mem::take).unwrap_or_default();
    for Handed(bo) in bos.into_iter().flatten() {
        // SAFETY: the program has given it back; what it keeps of it goes as it said.
        unsafe {
            if let Some(forget) = (*bo).abi.v0.destroy_user_data {
                forget(bo.cast(), (*bo).abi.v0.user_data);
            }
            bo_destroy(bo.cast());
        }
    }
}
