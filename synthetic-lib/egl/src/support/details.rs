//! What the library keeps of objects.

use super::image::Image;
use super::native_fences::Native;
use super::platform::Platform;
use super::syncs::{Fence, Reusable};
use super::window::Surface;
use crate::generated::types::EGLint;
use std::any::Any;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

/// What the library keeps of an object.
#[derive(Debug, Default)]
pub enum Details {
    /// Nothing.
    #[default]
    None,
    /// Of a display.
    Display(Display),
    /// Of a context.
    Context(Context),
    /// Of a surface.
    Surface(Surface),
    /// Of an image of a buffer.
    Image(Image),
    /// Of a fence.
    Fence(Fence),
    /// Of a native fence.
    Native(Native),
    /// Of a reusable sync object.
    Reusable(Reusable),
}

/// A display of the program's. The board has one for all of them.
#[derive(Debug, Default)]
pub struct Display {
    /// Whose windows it has.
    pub platform: Platform,
    /// Between `eglInitialize` and `eglTerminate`.
    pub is_initialized: AtomicBool,
}

/// A context.
#[derive(Debug, Default)]
pub struct Context {
    /// The version of OpenGL ES that the program asked for.
    pub version: (EGLint, EGLint),
    /// What it shares with other contexts.
    pub group: Arc<Group>,
    /// What the library of its client API keeps of it.
    pub client: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// Contexts that share their objects.
#[derive(Debug, Default)]
pub struct Group {
    /// What the library of their client API keeps of them.
    pub client: OnceLock<Box<dyn Any + Send + Sync>>,
}
