//! Windows of a Wayland compositor, on the program's own connection: pictures in shared
//! memory (`wl_shm`), which the compositor reads. What the program loads of libwayland-client
//! is used, with a queue of events of this library's own.

use super::egl_window::EglWindow;
use super::{Native, Place, mapped};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::chain::BUFFERS_MAX;
use gil_gbm::format::Format;
use gil_guest::api::CallResult;
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::c_void;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use wayland_backend::client::{Backend, ObjectId};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::{
    wl_buffer, wl_callback, wl_registry, wl_shm, wl_shm_pool, wl_surface,
};
use wayland_client::{Connection, Dispatch, EventQueue, Proxy, QueueHandle, delegate_noop};

/// A program's display.
#[derive(Debug)]
pub struct Display {
    native: usize,
    server: OnceLock<Option<Arc<Server>>>,
}

/// A compositor.
#[derive(Debug)]
pub struct Server {
    connection: Connection,
    shm: wl_shm::WlShm,
}

/// Whether a native display is a connection of libwayland-client's: its first word is the
/// address of the interface's description.
///
/// # Safety
/// `native` is null or readable.
pub unsafe fn is_display(native: usize) -> bool {
    if native == 0 || !native.is_multiple_of(size_of::<usize>()) {
        return false;
    }
    // SAFETY: it looks a name up.
    let interface = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"wl_display_interface".as_ptr()) };
    // SAFETY: the caller's.
    !interface.is_null() && unsafe { (native as *const *mut c_void).read() } == interface
}

impl Display {
    /// A program's `wl_display`; 0: the compositor that the environment names, with a
    /// connection of the library's own, whose windows a program cannot have.
    pub fn new(native: usize) -> Self {
        Self {
            native,
            server: OnceLock::new(),
        }
    }

    /// The compositor, asked at the first use; none if it has no shared memory.
    pub fn server(&self) -> Option<&Arc<Server>> {
        let connect = || Server::connect(self.native).map(Arc::new);
        self.server.get_or_init(connect).as_ref()
    }

    /// A window of the program's, in a format.
    ///
    /// # Errors
    /// `EGL_BAD_NATIVE_WINDOW` if there is none.
    pub fn window(&self, native: usize, format: Format) -> CallResult<Box<dyn Native>> {
        let server = self.server().filter(|_| self.native != 0);
        let server = server.ok_or(EGL_BAD_NATIVE_WINDOW)?;
        let window = Window::open(server, native, format).ok_or(EGL_BAD_NATIVE_WINDOW)?;
        Ok(Box::new(window))
    }
}

/// The number by which `wl_shm` names a format that every compositor has.
/// Source: Wayland specification, `wl_shm.format`.
pub fn shm_format(format: Format) -> Option<wl_shm::Format> {
    match format.channels {
        [8, 8, 8, 0] => Some(wl_shm::Format::Xrgb8888),
        [8, 8, 8, 8] => Some(wl_shm::Format::Argb8888),
        _ => None,
    }
}

impl Server {
    fn connect(native: usize) -> Option<Self> {
        let connection = match native {
            0 => Connection::connect_to_env().ok()?,
            native => {
                let native = (native as *mut c_void).cast();
                // SAFETY: a `wl_display` of the program's, which stays open while EGL uses it.
                Connection::from_backend(unsafe { Backend::from_foreign_display(native) })
            }
        };
        let (globals, queue) = registry_queue_init::<Events>(&connection).ok()?;
        let shm = globals.bind(&queue.handle(), 1..=1, ()).ok()?;
        Some(Self { connection, shm })
    }
}

/// Memory that the compositor reads.
#[derive(Debug)]
struct Picture {
    buffer: wl_buffer::WlBuffer,
    memory: MmapRaw,
}

/// What the compositor says.
#[derive(Debug, Default)]
struct Events {
    /// Which pictures it still reads.
    is_read: [bool; BUFFERS_MAX],
    /// It has yet to say that a next frame is wanted.
    is_early: bool,
}

/// What changes of a window.
#[derive(Debug)]
struct State {
    size: (u32, u32),
    pictures: [Option<Picture>; BUFFERS_MAX],
    queue: EventQueue<Events>,
    events: Events,
}

/// A window.
#[derive(Debug)]
struct Window {
    server: Arc<Server>,
    of: EglWindow,
    surface: wl_surface::WlSurface,
    format: Format,
    /// Whether a frame waits for [`Events::is_early`].
    is_paced: AtomicBool,
    state: Mutex<State>,
}

impl Window {
    fn open(server: &Arc<Server>, native: usize, format: Format) -> Option<Self> {
        // SAFETY: what EGL asks the program for.
        let window = unsafe { EglWindow::open(native) }?;
        shm_format(format)?;
        let (size, surface) = (window.size()?, window.surface()?);
        // SAFETY: a proxy of the program's library.
        let id = unsafe { ObjectId::from_ptr(wl_surface::WlSurface::interface(), surface.cast()) };
        let id = id.ok()?;
        let surface = wl_surface::WlSurface::from_id(&server.connection, id).ok()?;
        Some(Self {
            server: server.clone(),
            of: window,
            surface,
            format,
            is_paced: AtomicBool::new(true),
            state: Mutex::new(State {
                size,
                pictures: Default::default(),
                queue: server.connection.new_event_queue(),
                events: Events::default(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks rows of the buffer. Before version 4, the compositor's pixels may have another
    /// size, which only the program knows.
    fn damage(&self, changed: &[Range<u32>]) {
        if self.surface.version() < wl_surface::REQ_DAMAGE_BUFFER_SINCE {
            return self.surface.damage(0, 0, i32::MAX, i32::MAX);
        }
        let row = |row: u32| i32::try_from(row).unwrap_or(i32::MAX);
        for rows in changed {
            let (first, count) = (row(rows.start), row(rows.end - rows.start));
            self.surface.damage_buffer(0, first, i32::MAX, count);
        }
    }

    fn stride(&self, width: u32) -> u32 {
        width * self.format.bits / 8
    }

    /// Memory of the window's size, in which the compositor finds picture `number`.
    fn picture(&self, state: &State, number: usize) -> Option<Picture> {
        let (width, height) = state.size;
        let stride = self.stride(width);
        let len = u64::from(stride) * u64::from(height);
        let file = memfd_create(c"gil-window", MFdFlags::MFD_CLOEXEC).ok()?;
        let file = File::from(file);
        file.set_len(len).ok()?;
        let memory = MmapOptions::new().map_raw(&file).ok()?;
        let handle = state.queue.handle();
        let side = |side: u32| i32::try_from(side).ok();
        let len = i32::try_from(len).ok()?;
        let pool = self.server.shm.create_pool(file.as_fd(), len, &handle, ());
        let buffer = pool.create_buffer(
            0,
            side(width)?,
            side(height)?,
            side(stride)?,
            shm_format(self.format)?,
            &handle,
            number,
        );
        pool.destroy();
        Some(Picture { buffer, memory })
    }
}

impl Native for Window {
    fn identity(&self) -> usize {
        self.of.address()
    }

    fn size(&self) -> (u32, u32) {
        self.state().size
    }

    fn format(&self) -> Format {
        self.format
    }

    fn dequeue(&self) -> CallResult<usize> {
        self.of.size().ok_or(EGL_BAD_NATIVE_WINDOW)?;
        let mut state = self.state();
        let State { queue, events, .. } = &mut *state;
        let lost = |_| EGL_BAD_NATIVE_WINDOW;
        queue.dispatch_pending(events).map_err(lost)?;
        // The compositor keeps a picture until it shows the next: three are enough.
        let free = loop {
            let free = events.is_read.iter().take(3).position(|is_read| !is_read);
            match free {
                Some(free) if !(events.is_early && self.is_paced.load(Relaxed)) => break free,
                _ => queue.blocking_dispatch(events).map_err(lost)?,
            };
        };
        if state.pictures[free].is_none() {
            let made = self.picture(&state, free).ok_or(EGL_BAD_ALLOC)?;
            state.pictures[free] = Some(made);
        }
        Ok(free)
    }

    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)> {
        let state = self.state();
        let picture = state.pictures[buffer].as_ref().ok_or(EGL_BAD_ALLOC)?;
        let stride = self.stride(state.size.0);
        Ok(mapped(&picture.memory, state.size, self.format, stride))
    }

    fn queue(&self, buffer: usize, changed: &[Range<u32>]) -> CallResult<()> {
        let mut state = self.state();
        let picture = state.pictures[buffer].as_ref().ok_or(EGL_BAD_ALLOC)?;
        self.surface.attach(Some(&picture.buffer), 0, 0);
        self.damage(changed);
        // One that is on its way already is enough: of a hidden window none may come.
        if !std::mem::replace(&mut state.events.is_early, true) {
            self.surface.frame(&state.queue.handle(), ());
        }
        self.surface.commit();
        state.events.is_read[buffer] = true;
        let sent = self.server.connection.flush();
        sent.map_err(|_| EGL_BAD_NATIVE_WINDOW)
    }

    fn cancel(&self, _: usize) {}

    fn set_paced(&self, is_paced: bool) {
        self.is_paced.store(is_paced, Relaxed);
    }

    fn resized(&self) -> Option<(u32, u32)> {
        let mut state = self.state();
        let size = self.of.size().filter(|size| *size != state.size)?;
        state.size = size;
        // The compositor keeps the memory of what it still reads.
        for picture in state.pictures.iter_mut().filter_map(Option::take) {
            picture.buffer.destroy();
        }
        state.events.is_read = Default::default();
        Some(size)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for picture in state.pictures.iter_mut().filter_map(Option::take) {
            picture.buffer.destroy();
        }
        let _ = self.server.connection.flush();
    }
}

impl Dispatch<wl_registry::WlRegistry, GlobalListContents> for Events {
    fn event(
        _: &mut Self,
        _: &wl_registry::WlRegistry,
        _: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
    }
}

impl Dispatch<wl_buffer::WlBuffer, usize> for Events {
    fn event(
        state: &mut Self,
        _: &wl_buffer::WlBuffer,
        event: wl_buffer::Event,
        number: &usize,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if matches!(event, wl_buffer::Event::Release) {
            state.is_read[*number] = false;
        }
    }
}

impl Dispatch<wl_callback::WlCallback, ()> for Events {
    fn event(
        state: &mut Self,
        _: &wl_callback::WlCallback,
        event: wl_callback::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if matches!(event, wl_callback::Event::Done { .. }) {
            state.is_early = false;
        }
    }
}

delegate_noop!(Events: ignore wl_shm::WlShm);
delegate_noop!(Events: wl_shm_pool::WlShmPool);
