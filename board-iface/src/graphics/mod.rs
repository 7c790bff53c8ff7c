//! The back end of EGL and OpenGL ES: what the two APIs' `generated` folders dispatch,
//! on the EGL that this machine has at run time.
//!
//! | module | what |
//! |---|---|
//! | here | how the driver is found, and what it has |
//! | [`driver`] | the libraries, and the board's one display |
//! | [`images`] | images of the guest's buffers |
//! | [`present`] | pictures of windows on their way to the guest |
//! | [`resize`] | surfaces of windows that change their size |
//! | [`work`] | what contexts have the device do, and how long that takes |
//! | [`session`] | one guest program's objects, and what is current in its threads |
//! | [`mod@egl`] | EGL's calls |
//! | [`gles`] | those of OpenGL ES |

pub mod driver;
pub mod egl;
pub mod gles;
pub mod images;
pub mod present;
pub mod resize;
pub mod session;
mod shield;
pub mod work;

use crate::back_end::{BackEnd, DriverOptions, GuestThreads, Needs, Registered, Selection};
use crate::board::{self, Board, BoardError, Guest};
use crate::process::bound_memory;
use crate::region::Budget;
use driver::{Driver, VARIABLE};
use gil_wire::generated as wire;
use gil_wire::identity::DeviceInfo;
use std::io;
use std::path::PathBuf;

/// The back end.
#[derive(Debug)]
pub struct Graphics;

impl BackEnd for Graphics {
    fn name(&self) -> &'static str {
        "graphics"
    }

    fn apis(&self) -> &'static [u16] {
        &[wire::egl::API, wire::gles::API]
    }

    /// EGL's own library finds the vendors'.
    fn registered(&self) -> Vec<Registered> {
        let library = Driver::file();
        vec![Registered {
            label: format!("EGL ({library})"),
            library: Some(library),
            file: None,
        }]
    }

    fn place(&self) -> Option<PathBuf> {
        None
    }

    fn needs(&self) -> Needs {
        Needs {
            variables: &[
                "EGL_",
                "__EGL_",
                "GIL_BOARD_",
                "MESA_",
                "GALLIUM_",
                "LIBGL_",
                "LP_",
                "LLVM_",
                "NVIDIA_",
                "__NV_",
                "__GL_",
                "MALI_",
            ],
            caches: &["MESA_SHADER_CACHE_DIR", "__GL_SHADER_DISK_CACHE_PATH"],
            read: &[
                "/usr/share/glvnd",
                "/etc/glvnd",
                "/usr/share/drirc.d",
                "/etc/drirc",
            ],
            installed: &["share/glvnd"],
            ..Needs::default()
        }
    }

    fn only(&self, drivers: &[&Registered]) -> io::Result<Selection> {
        let none = (VARIABLE.into(), "/nonexistent".into());
        Ok(Selection {
            env: Vec::from_iter(drivers.is_empty().then_some(none)),
            folder: None,
        })
    }

    fn load(&self, _options: DriverOptions) -> Result<Box<dyn Board>, BoardError> {
        let driver = Driver::load().map_err(|error| BoardError::Driver(Box::new(error)))?;
        Ok(Box::new(GraphicsBoard(Box::leak(Box::new(driver)))))
    }
}

/// The driver, loaded: its functions are there until the process ends.
#[derive(Debug)]
struct GraphicsBoard(&'static Driver);

impl Board for GraphicsBoard {
    fn devices(&self) -> Vec<DeviceInfo> {
        Vec::from_iter(self.0.device())
    }

    fn open<'b>(
        &'b self,
        guest: Guest,
        budget: &Budget,
    ) -> Result<Box<dyn board::Session + 'b>, BoardError> {
        if let Err(error) = bound_memory(budget.limit()) {
            tracing::warn!("the memory of pictures has no bound: {error}");
        }
        // Asked while no context is current here, as its own would replace that.
        self.0.identity();
        Ok(Box::new(GuestThreads::new(session::Session::new(
            self.0,
            guest.finish,
        ))))
    }
}
