//! OpenGL ES, a part of EGL's back end: its context is EGL's, and so is the session.
//!
//! | module | what |
//! |---|---|
//! | here | the session as OpenGL ES sees it |
//! | [`support`] | sizes that depend on the context's state |
//! | [`pictures`] | pictures and `glPixelStorei` |
//! | [`mapping`] | buffers that the program maps |
//! | [`readback`] | pictures that are read for the guest's display |
//! | [`arrays`] | draws, and arrays of the program's memory |
//! | [`fixed`] | the arrays of OpenGL ES 1.1 |
//! | `manual` | the calls that are written by hand |

pub mod arrays;
pub mod fixed;
pub mod generated;
mod manual;
pub mod mapping;
pub mod pictures;
pub mod readback;
pub mod reads;
pub mod support;

use crate::back_end::dispatch::Dispatch;
use crate::back_end::{Current, Objects, Pointer, References, Refusal, Table};
use crate::graphics::driver::Driver;
use crate::graphics::session::Session;
use generated::types::GL_NO_ERROR;
use gil_wire::call::Handle;
use gil_wire::generated::gles::Kind;
use ref_cast::RefCast;
use std::collections::HashMap;
use std::sync::Arc;

/// What executes a call.
pub const DISPATCH: Dispatch<Gles> = Dispatch {
    function: generated::dispatch,
    failed: generated::dispatch::failed,
    code: |_, _| None,
    missing: generated::types::GL_INVALID_OPERATION as i32,
};

/// The session, with the functions of OpenGL ES.
#[derive(Debug, RefCast)]
#[repr(transparent)]
pub struct Gles(Session);

/// What is kept of a context.
#[derive(Debug, Default)]
pub struct State {
    /// An error that the guest's library found, not asked for yet.
    pub error: Option<u32>,
    /// Whether a primitive restarts at the largest index.
    pub restarts: bool,
    /// The arrays of the program's memory, by attribute.
    pub arrays: HashMap<u32, arrays::Held>,
    /// The memory that came last for them.
    pub block: Arc<[u8]>,
    /// How pictures lie.
    pub stored: pictures::Stored,
    /// Whether the driver knows vertex array objects in this context, once it was asked.
    pub knows_vertex_arrays: Option<bool>,
    /// How pictures are read for the guest's display, once that was asked for.
    pub reader: Option<readback::Reader>,
}

impl Gles {
    /// The same session.
    pub fn of(session: &mut Session) -> &mut Self {
        Self::ref_cast_mut(session)
    }

    /// The context that is current in this thread of the board.
    pub fn here(&self) -> Handle {
        self.0.here()
    }

    /// The error that the driver keeps, which it then forgets.
    pub fn driver_error(&self) -> u32 {
        let function = self.functions().glGetError;
        // SAFETY: it has no conditions.
        function.map_or(GL_NO_ERROR, |function| unsafe { function() })
    }

    /// Takes over the driver's error, if there is one, so that errors of calls that are not
    /// the program's can be dropped.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn hold_error(&mut self, context: Handle) -> Result<(), Refusal> {
        let first = self.driver_error();
        let kept = &mut self.state(context)?.error;
        if kept.is_none() && first != GL_NO_ERROR {
            *kept = Some(first);
        }
        Ok(())
    }

    /// Whether the driver accepts what `act` has it do; if not, the program finds its error.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn accepts(&mut self, context: Handle, act: impl FnOnce(&Self)) -> Result<bool, Refusal> {
        self.hold_error(context)?;
        act(self);
        let code = self.driver_error();
        if code != GL_NO_ERROR {
            self.state(context)?.error.get_or_insert(code);
        }
        Ok(code == GL_NO_ERROR)
    }

    /// Whether the call is one of OpenGL ES 1.1: no shaders, arrays of its own, and none of
    /// the state that later versions added.
    pub fn is_fixed(&self) -> bool {
        self.0.is_fixed
    }

    /// Keeps an error for `glGetError`, if the context has none yet.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn keep_error(&mut self, context: Handle, code: u32) -> Result<(), Refusal> {
        self.hold_error(context)?;
        self.state(context)?.error.get_or_insert(code);
        Ok(())
    }

    /// An image of EGL's, as the driver has it.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such image.
    pub fn image(&self, image: Handle) -> Result<usize, Refusal> {
        let found = self
            .0
            .table()
            .get(image, gil_wire::generated::egl::Kind::Image)?;
        Ok(found.as_ptr() as usize)
    }

    /// What is kept of a context.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn state(&mut self, context: Handle) -> Result<&mut State, Refusal> {
        Ok(&mut self.0.context(context)?.gles)
    }
}

/// Sync objects go with their contexts' share group, or by `glDeleteSync`.
#[derive(Debug, RefCast)]
#[repr(transparent)]
pub struct Syncs(Driver);

impl References for Syncs {
    type Kind = Kind;

    fn retain(&self, _: Kind, _: Pointer) {}

    fn release(&self, kind: Kind, object: Pointer) {
        let Kind::Sync = kind;
        if let Some(function) = self.0.gles.glDeleteSync {
            // SAFETY: the object is alive, and nothing else names it any more.
            unsafe { function(object.as_ptr().cast()) };
        }
    }
}

/// Nothing is kept of a sync object.
#[derive(Debug)]
pub struct Data;

impl From<Kind> for Data {
    fn from(_: Kind) -> Self {
        Self
    }
}

impl Objects for Gles {
    type Kind = Kind;
    type Data = Data;
    type Driver = Syncs;
    type Functions = generated::Functions;

    fn driver(&self) -> &'static Syncs {
        Syncs::ref_cast(self.0.driver)
    }

    /// Those of the version of the call's context: a driver may have others for OpenGL ES
    /// 1.1, also under equal names.
    fn functions(&self) -> &'static generated::Functions {
        let driver = self.0.driver;
        let fixed = driver.gles1.as_ref().filter(|_| self.is_fixed());
        fixed.unwrap_or(&driver.gles)
    }

    fn table(&self) -> &Table<Kind, Data> {
        &self.0.syncs
    }

    fn table_mut(&mut self) -> &mut Table<Kind, Data> {
        &mut self.0.syncs
    }
}

impl Current for Gles {
    fn make_current(&mut self, context: Handle) -> Result<(), Refusal> {
        self.0.resume(context)
    }

    /// Of a call that made nothing. The driver keeps its own for `glGetError`.
    fn last_error(&self) -> i32 {
        -1
    }
}
