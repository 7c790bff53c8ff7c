//! Windows of an X server, on a connection of this library's own: pictures in shared
//! memory (MIT-SHM), which the server copies to the window.

use super::{Native, Place, mapped};
use crate::generated::types::*;
use gil_gbm::buffer::Layout;
use gil_gbm::chain::BUFFERS_MAX;
use gil_gbm::format::Format;
use gil_guest::api::CallResult;
use memmap2::{MmapOptions, MmapRaw};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::shm::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    ChangeWindowAttributesAux, ConnectionExt as _, CreateGCAux, EventMask, ImageFormat, VisualClass,
};
use x11rb::rust_connection::RustConnection;

/// What the program calls its display.
#[derive(Clone, Copy, Debug)]
enum Program {
    /// The address of an Xlib `Display`.
    Xlib(usize),
    /// That of an xcb connection.
    Xcb(usize),
}

/// A program's display.
#[derive(Debug)]
pub struct Display {
    program: Program,
    server: OnceLock<Option<Arc<Server>>>,
}

/// A connection to the server.
#[derive(Debug)]
pub struct Server {
    connection: RustConnection,
    screen: usize,
}

/// A function of a library that the program has loaded.
fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: it looks a name up.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

impl Program {
    /// The server's name, if the program's library tells.
    fn name(self) -> Option<String> {
        let Self::Xlib(display) = self else {
            return None;
        };
        let function = function(c"XDisplayString").filter(|_| display != 0)?;
        // SAFETY: Xlib's function, on the program's display, which is open.
        unsafe {
            let function: unsafe extern "C" fn(*mut c_void) -> *const c_char =
                std::mem::transmute(function);
            let name = function(display as *mut c_void);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Has the server know all that the program asked of it so far: its windows.
    fn sync(self) {
        match self {
            Self::Xlib(display) if display != 0 => {
                if let Some(function) = function(c"XSync") {
                    // SAFETY: as in `name`; events stay.
                    unsafe {
                        let function: unsafe extern "C" fn(*mut c_void, c_int) -> c_int =
                            std::mem::transmute(function);
                        function(display as *mut c_void, 0);
                    }
                }
            }
            Self::Xcb(connection) if connection != 0 => sync_xcb(connection),
            _ => {}
        }
    }
}

/// A round trip on a connection of xcb's.
fn sync_xcb(connection: usize) {
    let functions = function(c"xcb_get_input_focus").zip(function(c"xcb_get_input_focus_reply"));
    if let Some((ask, answer)) = functions {
        // SAFETY: xcb's functions, on the program's connection; the answer is malloc's.
        unsafe {
            let ask: unsafe extern "C" fn(*mut c_void) -> u32 = std::mem::transmute(ask);
            let answer: unsafe extern "C" fn(*mut c_void, u32, *mut *mut c_void) -> *mut c_void =
                std::mem::transmute(answer);
            let connection = connection as *mut c_void;
            let asked = ask(connection);
            libc::free(answer(connection, asked, std::ptr::null_mut()));
        }
    }
}

impl Display {
    /// An Xlib `Display`'s, or the default one.
    pub fn of_xlib(display: usize) -> Self {
        Self::of(Program::Xlib(display))
    }

    /// An xcb connection's, or the default one.
    pub fn of_xcb(connection: usize) -> Self {
        Self::of(Program::Xcb(connection))
    }

    fn of(program: Program) -> Self {
        Self {
            program,
            server: OnceLock::new(),
        }
    }

    /// The connection, made at the first use; none if there is no server with shared memory.
    pub fn server(&self) -> Option<&Arc<Server>> {
        let connect = || Server::connect(self.program.name().as_deref()).map(Arc::new);
        self.server.get_or_init(connect).as_ref()
    }

    /// A visual of windows in a format.
    pub fn visual(&self, format: Format) -> Option<u32> {
        self.server()?.visual(format)
    }

    /// The number of a window.
    ///
    /// # Safety
    /// `window` is the address of an Xlib `Window` or of an `xcb_window_t`.
    pub unsafe fn number_at(&self, window: *mut c_void) -> usize {
        // SAFETY: the caller's.
        unsafe {
            match self.program {
                Program::Xlib(_) => window.cast::<libc::c_ulong>().read() as usize,
                Program::Xcb(_) => window.cast::<u32>().read() as usize,
            }
        }
    }

    /// A window of the program's.
    ///
    /// # Errors
    /// `EGL_BAD_NATIVE_WINDOW` if there is none.
    pub fn window(&self, native: usize) -> CallResult<Box<dyn Native>> {
        let server = self.server().ok_or(EGL_BAD_NATIVE_WINDOW)?;
        let number = u32::try_from(native).map_err(|_| EGL_BAD_NATIVE_WINDOW)?;
        self.program.sync();
        let window = Window::open(server, number).ok_or(EGL_BAD_NATIVE_WINDOW)?;
        Ok(Box::new(window))
    }
}

impl Server {
    fn connect(name: Option<&str>) -> Option<Self> {
        let (connection, screen) = RustConnection::connect(name).ok()?;
        let version = connection.shm_query_version().ok()?.reply().ok()?;
        // 1.2 takes memory by descriptors.
        let does = (version.major_version, version.minor_version) >= (1, 2);
        does.then_some(Self { connection, screen })
    }

    /// Bits of a pixel that count, for windows in a format.
    fn depth(format: Format) -> u32 {
        format.channels.iter().sum()
    }

    fn visual(&self, format: Format) -> Option<u32> {
        let screen = &self.connection.setup().roots[self.screen];
        let depth = Self::depth(format);
        if u32::from(screen.root_depth) == depth {
            return Some(screen.root_visual);
        }
        let depths = screen.allowed_depths.iter();
        let mut visuals = depths
            .filter(|allowed| u32::from(allowed.depth) == depth)
            .flat_map(|allowed| &allowed.visuals);
        let visual = visuals.find(|visual| visual.class == VisualClass::TRUE_COLOR)?;
        Some(visual.visual_id)
    }

    /// The format of windows of a depth.
    fn format(depth: u8) -> Option<Format> {
        let is_it = |format: &&Format| Self::depth(**format) == depth.into();
        gil_gbm::format::DRAWN.iter().find(is_it).copied()
    }
}

/// A picture that the server reads.
#[derive(Debug)]
struct Segment {
    number: shm::Seg,
    memory: MmapRaw,
    /// Whether the server still reads it.
    is_read: bool,
}

/// What changes of a window.
#[derive(Debug, Default)]
struct State {
    size: (u32, u32),
    /// The size that its buffers have from the next frame on.
    next: Option<(u32, u32)>,
    segments: [Option<Segment>; BUFFERS_MAX],
    is_gone: bool,
}

/// A window.
#[derive(Debug)]
struct Window {
    server: Arc<Server>,
    number: u32,
    context: u32,
    depth: u8,
    format: Format,
    state: Mutex<State>,
}

impl Window {
    fn open(server: &Arc<Server>, number: u32) -> Option<Self> {
        let connection = &server.connection;
        let events = ChangeWindowAttributesAux::new().event_mask(EventMask::STRUCTURE_NOTIFY);
        let chosen = connection.change_window_attributes(number, &events).ok()?;
        chosen.check().ok()?;
        let shape = connection.get_geometry(number).ok()?.reply().ok()?;
        let context = connection.generate_id().ok()?;
        let made = connection.create_gc(context, number, &CreateGCAux::new().graphics_exposures(0));
        made.ok()?.check().ok()?;
        Some(Self {
            server: server.clone(),
            number,
            context,
            depth: shape.depth,
            format: Server::format(shape.depth)?,
            state: Mutex::new(State {
                size: (shape.width.into(), shape.height.into()),
                ..State::default()
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stride(&self, width: u32) -> u32 {
        // Lines end at words, as the server's do.
        (width * self.format.bits / 8).next_multiple_of(4)
    }

    /// Memory of this window's size, which the server reads.
    fn segment(&self, (width, height): (u32, u32)) -> Option<Segment> {
        let connection = &self.server.connection;
        let len = u64::from(self.stride(width)) * u64::from(height);
        let file = memfd_create(c"gil-window", MFdFlags::MFD_CLOEXEC).ok()?;
        let file = File::from(file);
        file.set_len(len).ok()?;
        let memory = MmapOptions::new().map_raw(&file).ok()?;
        let number = connection.generate_id().ok()?;
        connection
            .shm_attach_fd(number, file, true)
            .ok()?
            .check()
            .ok()?;
        Some(Segment {
            number,
            memory,
            is_read: false,
        })
    }

    /// What the server said meanwhile; `waits` until it says something.
    fn listen(&self, state: &mut State, waits: bool) -> CallResult<()> {
        let connection = &self.server.connection;
        let lost = |_| EGL_BAD_NATIVE_WINDOW;
        let mut next = match waits {
            true => Some(connection.wait_for_event().map_err(lost)?),
            false => connection.poll_for_event().map_err(lost)?,
        };
        while let Some(event) = next {
            state.heard(&event, self.number);
            next = connection.poll_for_event().map_err(lost)?;
        }
        match state.is_gone {
            true => Err(EGL_BAD_NATIVE_WINDOW),
            false => Ok(()),
        }
    }
}

impl State {
    fn heard(&mut self, event: &Event, window: u32) {
        match event {
            Event::ShmCompletion(done) => {
                let segments = self.segments.iter_mut().flatten();
                for segment in segments.filter(|segment| segment.number == done.shmseg) {
                    segment.is_read = false;
                }
            }
            Event::ConfigureNotify(now) if now.window == window => {
                let size = (now.width.max(1).into(), now.height.max(1).into());
                self.next = (size != self.size).then_some(size);
            }
            Event::DestroyNotify(gone) if gone.window == window => self.is_gone = true,
            _ => {}
        }
    }
}

impl Native for Window {
    fn identity(&self) -> usize {
        self.number as usize
    }

    fn size(&self) -> (u32, u32) {
        self.state().size
    }

    fn format(&self) -> Format {
        self.format
    }

    fn dequeue(&self) -> CallResult<usize> {
        let mut state = self.state();
        self.listen(&mut state, false)?;
        loop {
            let is_free = |it: &Option<Segment>| it.as_ref().is_none_or(|it| !it.is_read);
            // Two do: the server copies one while the next is drawn.
            if let Some(free) = state.segments.iter().take(2).position(is_free) {
                if state.segments[free].is_none() {
                    let made = self.segment(state.size).ok_or(EGL_BAD_ALLOC)?;
                    state.segments[free] = Some(made);
                }
                return Ok(free);
            }
            self.listen(&mut state, true)?;
        }
    }

    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)> {
        let state = self.state();
        let segment = state.segments[buffer].as_ref().ok_or(EGL_BAD_ALLOC)?;
        let stride = self.stride(state.size.0);
        Ok(mapped(&segment.memory, state.size, self.format, stride))
    }

    fn queue(&self, buffer: usize, _: &[Range<u32>]) -> CallResult<()> {
        let mut state = self.state();
        let (width, height) = state.size;
        let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
        let (width, height) = (side(width), side(height));
        let segment = state.segments[buffer].as_mut().ok_or(EGL_BAD_ALLOC)?;
        let (number, connection) = (segment.number, &self.server.connection);
        let put = connection.shm_put_image(
            self.number,
            self.context,
            width,
            height,
            0,
            0,
            width,
            height,
            0,
            0,
            self.depth,
            ImageFormat::Z_PIXMAP.into(),
            true,
            number,
            0,
        );
        let shown = put.is_ok() && connection.flush().is_ok();
        segment.is_read = shown;
        match shown {
            true => Ok(()),
            false => Err(EGL_BAD_NATIVE_WINDOW),
        }
    }

    fn cancel(&self, _: usize) {}

    fn resized(&self) -> Option<(u32, u32)> {
        let mut state = self.state();
        // What was said since the frame began counts for the next.
        let _ = self.listen(&mut state, false);
        let size = state.next.take()?;
        state.size = size;
        // The server keeps what it still reads until it has.
        for segment in state.segments.iter_mut().filter_map(Option::take) {
            let _ = self.server.connection.shm_detach(segment.number);
        }
        Some(size)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let connection = &self.server.connection;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for segment in state.segments.iter_mut().filter_map(Option::take) {
            let _ = connection.shm_detach(segment.number);
        }
        let _ = connection.free_gc(self.context);
        let _ = connection.flush();
    }
}
