//! OpenGL ES, a part of EGL's back end: its context is EGL's, and so is the session.
//!
//! | module | what |
//! |---|---|
//! | here | the session as OpenGL ES sees it |
//! | [`support`] | sizes that depend on the context's state |
//! | [`arrays`] | draws, and arrays of the program's memory |
//! | `manual` | the calls that are written by hand |

pub mod arrays;
pub mod generated;
mod manual;
pub mod support;

use crate::back_end::dispatch::Dispatch;
use crate::back_end::{Current, Objects, Refusal, Table};
use crate::egl::driver::Driver;
use crate::egl::session::{Data, Session};
use gil_wire::call::Handle;
use gil_wire::generated::egl::Kind;
use ref_cast::RefCast;
use std::collections::HashMap;

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
    /// The arrays of the program's memory, by attribute.
    pub arrays: HashMap<u32, arrays::Held>,
}

impl Gles {
    /// The same session.
    pub fn of(session: &mut Session) -> &mut Self {
        Self::ref_cast_mut(session)
    }

    /// What is kept of a context.
    ///
    /// # Errors
    /// [`Refusal::Table`] if there is no such context.
    pub fn state(&mut self, context: Handle) -> Result<&mut State, Refusal> {
        Ok(&mut self.0.context(context)?.gles)
    }
}

impl Objects for Gles {
    type Kind = Kind;
    type Data = Data;
    type Driver = Driver;
    type Functions = generated::Functions;

    fn driver(&self) -> &'static Driver {
        self.0.driver
    }

    fn functions(&self) -> &'static generated::Functions {
        &self.0.driver.gles
    }

    fn table(&self) -> &Table<Kind, Data> {
        &self.0.table
    }

    fn table_mut(&mut self) -> &mut Table<Kind, Data> {
        &mut self.0.table
    }
}

impl Current for Gles {
    fn make_current(&mut self, context: Handle) -> Result<(), Refusal> {
        self.0.resume(context)
    }

    /// Calls return none.
    fn last_error(&self) -> i32 {
        0
    }
}
