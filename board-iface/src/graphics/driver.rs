//! EGL's library, OpenGL ES's, and the board's one display, which needs no window
//! system.

use super::egl::generated::Functions;
use super::egl::generated::types::*;
use super::gles;
use super::gles::generated::functions::ALIASES;
use super::gles::generated::types::{GL_RENDERER, GL_VERSION};
use super::images;
use super::shield;
use crate::back_end::{Pointer, References, function, symbol};
use gil_wire::generated::egl::Kind;
use gil_wire::identity::{DeviceIdentity, DeviceInfo};
use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// Names EGL's library, where it is not among the system's by its usual name.
pub const VARIABLE: &str = "GIL_BOARD_EGL";

const EGL: &str = "libEGL.so.1";
const GLES: &str = "libGLESv2.so.2";
const GLES1: &str = "libGLESv1_CM.so.1";

/// `EGL_PLATFORM_DEVICE_EXT`, of `EGL_EXT_platform_device`.
const DEVICES: EGLenum = 0x313F;

/// For a context of OpenGL ES 2.0 and a surface of any kind.
pub(super) const CONFIG: [EGLint; 5] = [
    EGL_SURFACE_TYPE,
    EGL_PBUFFER_BIT,
    EGL_RENDERABLE_TYPE,
    EGL_OPENGL_ES2_BIT,
    EGL_NONE,
];
pub(super) const VERSION_2: [EGLint; 3] = [EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE];
pub(super) const ONE_PIXEL: [EGLint; 5] = [EGL_WIDTH, 1, EGL_HEIGHT, 1, EGL_NONE];

/// Functions that EGL has from 1.5 on, and before by extensions, which take what these do
/// without attributes.
const SYNCS: [(&CStr, &CStr); 4] = [
    (c"eglCreateSync", c"eglCreateSyncKHR"),
    (c"eglDestroySync", c"eglDestroySyncKHR"),
    (c"eglClientWaitSync", c"eglClientWaitSyncKHR"),
    (c"eglWaitSync", c"eglWaitSyncKHR"),
];

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub enum EglError {
    /// A library.
    #[error(
        "EGL and OpenGL ES cannot be loaded ({0}): install a driver for them (Debian: libegl1, libgles2, and libgles1 for OpenGL ES 1.1), or name its libEGL in {VARIABLE}"
    )]
    Library(#[source] libloading::Error),
    /// A library that is none.
    #[error("the board's libEGL has no {0}: name one with EGL 1.4 in {VARIABLE}")]
    Function(&'static str),
    /// No display.
    #[error(
        "the board's EGL gives no display without a window system (EGL error {0:#x}): look with `eglinfo` what it says"
    )]
    Display(EGLint),
}

/// The driver.
#[derive(Debug)]
pub struct Driver {
    /// EGL's functions.
    pub egl: Functions,
    /// Those of OpenGL ES from 2.0 on.
    pub gles: gles::generated::Functions,
    /// Those of OpenGL ES 1.1, if the board has its library.
    pub gles1: Option<gles::generated::Functions>,
    /// `glGetBufferPointerv`, whose answer is an address of this process: no call of a guest's.
    pub buffer_pointer: Option<gles::generated::types::glGetBufferPointerv_fn>,
    /// The display that all sessions draw on.
    pub display: Pointer,
    /// Its version.
    pub version: (EGLint, EGLint),
    /// Those of images, if there are any.
    pub images: Option<images::Functions>,
    get_error: unsafe extern "C" fn() -> EGLint,
    destroy_context: unsafe extern "C" fn(EGLDisplay, EGLContext) -> EGLBoolean,
    destroy_surface: unsafe extern "C" fn(EGLDisplay, EGLSurface) -> EGLBoolean,
    place: OnceLock<Option<String>>,
    destroy_sync: Option<eglDestroySync_fn>,
    _libraries: Vec<Library>,
}

type GetProcAddress = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type GetPlatformDisplay = unsafe extern "C" fn(EGLenum, *mut c_void, *const EGLint) -> EGLDisplay;
type QueryDevices = unsafe extern "C" fn(EGLint, *mut *mut c_void, *mut EGLint) -> EGLBoolean;

impl Driver {
    /// The file that is loaded.
    pub fn file() -> String {
        std::env::var(VARIABLE).unwrap_or_else(|_| EGL.into())
    }

    /// Loads it, and opens the display.
    ///
    /// # Errors
    /// [`EglError`].
    pub fn load() -> Result<Self, EglError> {
        // SAFETY: what a driver does as it is loaded is what its API promises.
        let (egl, gles, gles1) = unsafe {
            let egl = Library::new(Self::file()).map_err(EglError::Library)?;
            let gles = Library::new(GLES).map_err(EglError::Library)?;
            (egl, gles, Library::new(GLES1).ok())
        };
        /// A function that no board goes without.
        macro_rules! function {
            ($name:literal) => {{
                // SAFETY: the type is that of EGL's header, and of the place it goes to.
                let found = unsafe { egl.get($name) };
                *found.map_err(|_| EglError::Function(name($name)))?
            }};
        }
        let get_error: unsafe extern "C" fn() -> EGLint = function!(b"eglGetError");
        let get_proc: GetProcAddress = function!(b"eglGetProcAddress");
        let get_display: unsafe extern "C" fn(usize) -> EGLDisplay = function!(b"eglGetDisplay");
        let initialize: unsafe extern "C" fn(EGLDisplay, *mut EGLint, *mut EGLint) -> EGLBoolean =
            function!(b"eglInitialize");
        let (destroy_context, destroy_surface) = (
            function!(b"eglDestroyContext"),
            function!(b"eglDestroySurface"),
        );
        // SAFETY: the library is kept beside them.
        let functions = unsafe { Functions::load(|name| symbol(&egl, name)) };
        let extensions = functions.query_string(null_mut(), EGL_EXTENSIONS);
        let platforms = Platforms {
            extensions: extensions.unwrap_or_default(),
            get_proc,
        };
        let mut version = (0, 0);
        // SAFETY: the displays are EGL's own; there is space for two numbers.
        let display = unsafe {
            let all = platforms.displays().into_iter();
            let mut all = all.chain(std::iter::once_with(|| get_display(0)));
            all.find(|display| {
                let (major, minor) = (&mut version.0, &mut version.1);
                !display.is_null() && initialize(*display, major, minor) == EGL_TRUE
            })
        };
        let display = display.and_then(|display| Pointer::new(display.cast()));
        // SAFETY: it has no conditions.
        let display = display.ok_or_else(|| EglError::Display(unsafe { get_error() }))?;
        let load = |gles: &Library, find: fn(GetProcAddress, &CStr) -> *mut c_void| {
            let function = |name: &CStr| match symbol(gles, name) {
                exported if exported.is_null() => find(get_proc, name),
                exported => exported,
            };
            // SAFETY: the libraries are kept beside them.
            unsafe { gles::generated::Functions::load(function) }
        };
        let mut functions_of_gles = load(&gles, procedure);
        shield::guard::<{ shield::LATER }>(&mut functions_of_gles);
        let functions_of_gles1 = gles1.as_ref().map(|gles1| {
            let mut functions = load(gles1, of_extension);
            shield::guard::<{ shield::FIXED }>(&mut functions);
            functions
        });
        let buffer_pointer = match symbol(&gles, c"glGetBufferPointerv") {
            exported if exported.is_null() => procedure(get_proc, c"glGetBufferPointerv"),
            exported => exported,
        };
        let of_version = |name: &CStr| match SYNCS.iter().find(|(known, _)| *known == name) {
            Some((_, other)) if version < (1, 5) => procedure(get_proc, other),
            _ => symbol(&egl, name),
        };
        // SAFETY: the same; the type is that of EGL's header.
        let (functions, destroy_sync) = unsafe {
            let destroy_sync = function(of_version(c"eglDestroySync"));
            (Functions::load(of_version), destroy_sync)
        };
        Ok(Self {
            // SAFETY: the function of this name has this type, or is null.
            buffer_pointer: unsafe {
                std::mem::transmute::<
                    *mut c_void,
                    Option<gles::generated::types::glGetBufferPointerv_fn>,
                >(buffer_pointer)
            },
            egl: functions,
            gles: functions_of_gles,
            gles1: functions_of_gles1,
            images: images::Functions::load(|name| platforms.procedure(name)),
            display,
            version,
            get_error,
            destroy_context,
            destroy_surface,
            place: OnceLock::new(),
            destroy_sync,
            _libraries: [egl, gles].into_iter().chain(gles1).collect(),
        })
    }

    /// The display, as calls take it.
    pub fn display(&self) -> EGLDisplay {
        self.display.as_ptr().cast()
    }

    /// How this thread's last call ended.
    pub fn error(&self) -> EGLint {
        // SAFETY: it has no conditions.
        unsafe { (self.get_error)() }
    }

    /// What draws: the names that OpenGL ES gives in a context of the display.
    pub fn device(&self) -> Option<DeviceInfo> {
        let vendor = self.egl.query_string(self.display(), EGL_VENDOR)?;
        let (renderer, version) = self.renderer()?;
        Some(DeviceInfo {
            api: gil_wire::api::api(gil_wire::generated::gles::API)?
                .title
                .into(),
            platform: vendor,
            name: renderer,
            version,
        })
    }

    /// Which device that is, by its names. Asked for the first time, it leaves no context
    /// current in the thread.
    pub fn identity(&self) -> Option<DeviceIdentity> {
        let place = self.place.get_or_init(|| {
            let device = self.device()?;
            Some(format!("{}: {}", device.platform, device.name))
        });
        Some(DeviceIdentity {
            place: place.clone()?,
            ..DeviceIdentity::default()
        })
    }

    /// `GL_RENDERER` and `GL_VERSION`, of a context that is gone when they are known.
    fn renderer(&self) -> Option<(String, String)> {
        let egl = &self.egl;
        let choose = egl.eglChooseConfig?;
        let (create, surface) = (egl.eglCreateContext?, egl.eglCreatePbufferSurface?);
        let (current, get) = (egl.eglMakeCurrent?, self.gles.glGetString?);
        let display = self.display();
        let (mut config, mut count) = (null_mut(), 0);
        // SAFETY: lists that end with EGL_NONE, space for one configuration and a
        // number; the objects are made here, and used while they live.
        unsafe {
            let found = choose(display, CONFIG.as_ptr(), &mut config, 1, &mut count);
            if found != EGL_TRUE || count < 1 {
                return None;
            }
            let context = create(display, config, null_mut(), VERSION_2.as_ptr());
            let surface = surface(display, config, ONE_PIXEL.as_ptr());
            let text = |name| {
                let text = get(name);
                (!text.is_null()).then(|| CStr::from_ptr(text.cast()).to_string_lossy().into())
            };
            let names = match current(display, surface, surface, context) {
                EGL_TRUE => text(GL_RENDERER).zip(text(GL_VERSION)),
                _ => None,
            };
            current(display, null_mut(), null_mut(), null_mut());
            for (kind, object) in [
                (Kind::Context, context.cast()),
                (Kind::Surface, surface.cast()),
            ] {
                if let Some(object) = Pointer::new(object) {
                    self.release(kind, object);
                }
            }
            names
        }
    }
}

/// A function that no library exports.
fn procedure(get_proc: GetProcAddress, name: &CStr) -> *mut c_void {
    // SAFETY: a string.
    unsafe { get_proc(name.as_ptr()) }
}

/// A function that OpenGL ES 1.1 has by an extension alone, which may give it another
/// name than later versions. A loader may have functions for names that no driver knows.
fn of_extension(get_proc: GetProcAddress, name: &CStr) -> *mut c_void {
    let begin = ALIASES.partition_point(|(known, _)| *known < name);
    let others = ALIASES[begin..]
        .iter()
        .take_while(|(known, _)| *known == name);
    let mut all = others.map(|(_, other)| *other).chain([name]);
    let found = all.find_map(|name| Pointer::new(procedure(get_proc, name)));
    found.map_or(null_mut(), |found| found.as_ptr())
}

/// A function's name, of the bytes that name it.
fn name(bytes: &'static [u8]) -> &'static str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

impl Functions {
    /// A text of a display; of none for EGL's own.
    pub(crate) fn query_string(&self, display: EGLDisplay, name: EGLint) -> Option<String> {
        let query = self.eglQueryString?;
        // SAFETY: the display is EGL's; a text that it gives stays as long as that.
        unsafe {
            let text = query(display, name);
            let text = (!text.is_null()).then(|| CStr::from_ptr(text))?;
            Some(text.to_string_lossy().into_owned())
        }
    }
}

/// The displays that need no window system.
struct Platforms {
    extensions: String,
    get_proc: GetProcAddress,
}

impl Platforms {
    fn has(&self, extension: &str) -> bool {
        self.extensions.split(' ').any(|word| word == extension)
    }

    fn procedure(&self, name: &CStr) -> Option<Pointer> {
        // SAFETY: a string.
        Pointer::new(unsafe { (self.get_proc)(name.as_ptr()) })
    }

    /// Mesa's without a device's window system, then each device's.
    fn displays(&self) -> Vec<EGLDisplay> {
        let get = self.procedure(c"eglGetPlatformDisplayEXT");
        let Some(get) = get.filter(|_| self.has("EGL_EXT_platform_base")) else {
            return Vec::new();
        };
        // SAFETY: the function of this name has this type, by its extension.
        let get: GetPlatformDisplay = unsafe { std::mem::transmute(get.as_ptr()) };
        let mut found = Vec::new();
        if self.has("EGL_MESA_platform_surfaceless") {
            // SAFETY: this platform takes no native display.
            let display = unsafe { get(EGL_PLATFORM_SURFACELESS_MESA, null_mut(), null()) };
            found.push(display);
        }
        // SAFETY: the devices are EGL's.
        found.extend(
            self.devices()
                .map(|device| unsafe { get(DEVICES, device, null()) }),
        );
        found
    }

    fn devices(&self) -> impl Iterator<Item = *mut c_void> + use<> {
        const MOST: usize = 16;
        let query = self.procedure(c"eglQueryDevicesEXT");
        let query = query.filter(|_| self.has("EGL_EXT_platform_device"));
        let mut devices = [null_mut(); MOST];
        let mut count = 0;
        if let Some(query) = query {
            // SAFETY: the function of this name has this type, by its extension; there
            // is space for as many devices.
            unsafe {
                let query: QueryDevices = std::mem::transmute(query.as_ptr());
                query(MOST as EGLint, devices.as_mut_ptr(), &mut count);
            }
        }
        let count = usize::try_from(count).unwrap_or(0);
        devices.into_iter().take(count)
    }
}

/// EGL counts no references: an object has one, the session's, and lives on while it is
/// current.
impl References for Driver {
    type Kind = Kind;

    fn retain(&self, _: Kind, _: Pointer) {}

    fn release(&self, kind: Kind, object: Pointer) {
        let object_pointer = object;
        let object = object.as_ptr();
        // SAFETY: the object is alive and the session's.
        unsafe {
            match kind {
                Kind::Context => (self.destroy_context)(self.display(), object.cast()),
                Kind::Surface => (self.destroy_surface)(self.display(), object.cast()),
                Kind::Image => {
                    self.release_image(object_pointer);
                    EGL_TRUE
                }
                Kind::Sync => match self.destroy_sync {
                    Some(destroy) => destroy(self.display(), object.cast()),
                    None => EGL_FALSE,
                },
                Kind::Display | Kind::Config | Kind::ReusableSync => EGL_TRUE,
            }
        };
    }
}
