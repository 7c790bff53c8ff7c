//! Textures and renderbuffers whose pictures are EGL's images of the guest's buffers. What
//! is drawn to a framebuffer that has one comes into the buffer when the program flushes or
//! finishes; what is in the buffer goes to the board when the program binds the texture.
//!
//! Names are compared whatever share group they are of: one taken for another's costs a
//! transfer, and changes no picture.

use super::{Context, shadow};
use crate::generated::manual::Guest;
use crate::generated::stubs;
use crate::generated::types::*;
use gil_egl::generated::manual as egl;
use gil_egl::generated::types::EGLImage;
use gil_egl::support::image;
use gil_guest::Hold;
use gil_guest::api::CallResult;
use gil_wire::Op;
use gil_wire::generated::egl::Kind;
use gil_wire::generated::gles as wire;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An object of OpenGL ES by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A texture.
    Texture(u32),
    /// A renderbuffer.
    Renderbuffer(u32),
    /// A framebuffer.
    Framebuffer(u32),
}

/// An image that is in use: it lives on when the program has destroyed it.
type Used = Arc<Hold<egl::Guest>>;

/// Which objects have images of buffers.
#[derive(Debug, Default)]
struct Images {
    /// Textures and renderbuffers.
    siblings: HashMap<Name, Used>,
    /// By framebuffer and attachment.
    attached: HashMap<(u32, GLenum), Used>,
    /// Those that may be drawn to, or were since they last came into their buffers, by
    /// number.
    targets: HashMap<u64, Target>,
}

/// An image that is drawn to.
#[derive(Debug)]
struct Target {
    used: Used,
    /// The context in which a framebuffer that has it is bound.
    bound_in: Option<u64>,
    /// Drawn to since it last came into its buffer: it is the GPU's.
    is_drawn: bool,
}

/// What draws. Which of a program's contexts and framebuffers it draws to is not told.
const DRAWS: [Op; 19] = [
    wire::GL_CLEAR,
    wire::GL_CLEAR_BUFFERFI,
    wire::GL_CLEAR_BUFFERFV,
    wire::GL_CLEAR_BUFFERIV,
    wire::GL_CLEAR_BUFFERUIV,
    wire::GL_BLIT_FRAMEBUFFER,
    wire::GL_COPY_IMAGE_SUB_DATA,
    wire::GL_DISPATCH_COMPUTE,
    wire::GL_DISPATCH_COMPUTE_INDIRECT,
    wire::GL_DRAW_ARRAYS,
    wire::GL_DRAW_ARRAYS_INDIRECT,
    wire::GL_DRAW_ARRAYS_INSTANCED,
    wire::GL_DRAW_ELEMENTS,
    wire::GL_DRAW_ELEMENTS_BASE_VERTEX,
    wire::GL_DRAW_ELEMENTS_INDIRECT,
    wire::GL_DRAW_ELEMENTS_INSTANCED,
    wire::GL_DRAW_ELEMENTS_INSTANCED_BASE_VERTEX,
    wire::GL_DRAW_RANGE_ELEMENTS,
    wire::GL_DRAW_RANGE_ELEMENTS_BASE_VERTEX,
];

/// Something was drawn that [`DRAWS`] does not name.
static DREW: AtomicBool = AtomicBool::new(false);

/// Something is drawn by another function.
pub fn draws() {
    DREW.store(true, Ordering::Relaxed);
}

static IMAGES: Mutex<Option<Images>> = Mutex::new(None);

/// Whether there are any: most programs have none.
static ANY: AtomicBool = AtomicBool::new(false);

/// OpenGL ES 1.1 draws in more ways than [`DRAWS`] has.
fn draws_in_more_ways(current: &Context) {
    if ANY.load(Ordering::Relaxed) && shadow::of(current).fixed.is_some() {
        draws();
    }
}

/// Does something with the images; nothing if there are none.
fn with<T: Default>(work: impl FnOnce(&mut Images) -> T) -> T {
    if !ANY.load(Ordering::Relaxed) {
        return T::default();
    }
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    work(images.get_or_insert_default())
}

fn number(used: &Hold<egl::Guest>) -> u64 {
    used.object().number().0
}

/// EGL's image at an address.
///
/// # Errors
/// `GL_INVALID_VALUE` if there is none.
pub fn find(image: GLeglImageOES) -> CallResult<egl::Object> {
    let found = egl::Object::find(Kind::Image, image as EGLImage);
    found.map_err(|_| GL_INVALID_VALUE as i32)
}

/// The texture or renderbuffer that is bound to a target.
///
/// # Errors
/// `GL_INVALID_ENUM` for another target.
pub fn target(target: GLenum) -> CallResult<Name> {
    let binding = match target {
        GL_TEXTURE_2D => GL_TEXTURE_BINDING_2D,
        GL_TEXTURE_EXTERNAL_OES => GL_TEXTURE_BINDING_EXTERNAL_OES,
        GL_RENDERBUFFER => GL_RENDERBUFFER_BINDING,
        _ => return Err(GL_INVALID_ENUM as i32),
    };
    let mut bound = 0;
    // SAFETY: these names have one value.
    unsafe { stubs::glGetIntegerv(binding, &raw mut bound) };
    Ok(match target {
        GL_RENDERBUFFER => Name::Renderbuffer(bound.cast_unsigned()),
        _ => Name::Texture(bound.cast_unsigned()),
    })
}

/// A texture or renderbuffer becomes an image's: the buffer's picture goes to the board.
///
/// # Errors
/// The API's code.
pub fn targets(entry: u64, name: Name, object: &egl::Object) -> CallResult<()> {
    let Some(image) = image::of(object) else {
        return Ok(());
    };
    let used = object.hold().ok_or(GL_INVALID_VALUE as i32)?;
    ANY.store(true, Ordering::Relaxed);
    image::on_flush(drain_current);
    let is_drawn = with(|images| {
        let is_drawn = images.is_drawn(&used);
        images.siblings.insert(name, Arc::new(used));
        is_drawn
    });
    match is_drawn {
        true => Ok(()),
        false => image.fill(entry, object).map_err(|_| OUT_OF_MEMORY),
    }
}

const OUT_OF_MEMORY: i32 = GL_OUT_OF_MEMORY as i32;

/// A texture is bound: what the CPU drew since counts.
///
/// # Errors
/// The API's code.
pub fn sampled(entry: u64, name: Name) -> CallResult<()> {
    let used = with(|images| {
        let used = images.siblings.get(&name)?.clone();
        (!images.is_drawn(&used)).then_some(used)
    });
    fill(entry, used)
}

/// A framebuffer is bound: what it has may be drawn to, over what the CPU drew.
///
/// # Errors
/// The API's code.
pub fn bound(entry: u64, current: &Context, framebuffer: u32) -> CallResult<()> {
    draws_in_more_ways(current);
    let context = current.number().0;
    let new = with(|images| {
        images.note_draws();
        for target in images.targets.values_mut() {
            target.bound_in = target.bound_in.filter(|of| *of != context);
        }
        images
            .targets
            .retain(|_, target| target.is_drawn || target.bound_in.is_some());
        images.draw_to(context, framebuffer)
    });
    fill(entry, new)
}

/// What the CPU drew goes to the board.
fn fill(entry: u64, images: impl IntoIterator<Item = Used>) -> CallResult<()> {
    for used in images {
        if let Some(image) = image::of(used.object()) {
            let filled = image.fill(entry, used.object());
            filled.map_err(|_| OUT_OF_MEMORY)?;
        }
    }
    Ok(())
}

impl Images {
    /// What was drawn went to the images that are bound.
    fn note_draws(&mut self) {
        let others = DREW.swap(false, Ordering::Relaxed);
        if gil_guest::called_since(&DRAWS) || others {
            let bound = self.targets.values_mut();
            bound
                .filter(|target| target.bound_in.is_some())
                .for_each(|target| target.is_drawn = true);
        }
    }

    /// Whether what the CPU draws to an image is not to be sent.
    fn is_drawn(&mut self, used: &Hold<egl::Guest>) -> bool {
        self.note_draws();
        let target = self.targets.get(&number(used));
        target.is_some_and(|target| target.is_drawn)
    }

    /// From here on, what is drawn in a context goes to the framebuffer's images; those
    /// that nothing was drawn to.
    fn draw_to(&mut self, context: u64, framebuffer: u32) -> Vec<Used> {
        let all = self.attached.iter();
        let here = all.filter(|((of, _), _)| *of == framebuffer);
        let mut clean = Vec::new();
        for used in here.map(|(_, used)| used) {
            let target = self.targets.entry(number(used)).or_insert_with(|| Target {
                used: used.clone(),
                bound_in: None,
                is_drawn: false,
            });
            target.bound_in = Some(context);
            if !target.is_drawn {
                clean.push(used.clone());
            }
        }
        clean
    }

    /// The images that were drawn to, which are not any more.
    fn take_drawn(&mut self) -> Vec<Used> {
        self.note_draws();
        let all = self.targets.values_mut();
        let take = |target: &mut Target| {
            let is_drawn = std::mem::take(&mut target.is_drawn);
            is_drawn.then(|| target.used.clone())
        };
        let drawn = all.filter_map(take).collect();
        self.targets.retain(|_, target| target.bound_in.is_some());
        drawn
    }
}

/// Something is attached to the framebuffer that is bound.
///
/// # Errors
/// The API's code.
pub fn attached(
    entry: u64,
    current: &Context,
    (target, attachment): (GLenum, GLenum),
    name: Name,
) -> CallResult<()> {
    if target == GL_READ_FRAMEBUFFER || !ANY.load(Ordering::Relaxed) {
        return Ok(());
    }
    let framebuffer = shadow::of(current).framebuffer;
    let new = with(|images| {
        match images.siblings.get(&name).cloned() {
            Some(used) => images.attached.insert((framebuffer, attachment), used),
            None => images.attached.remove(&(framebuffer, attachment)),
        };
        images.note_draws();
        images.draw_to(current.number().0, framebuffer)
    });
    fill(entry, new)
}

/// Objects are deleted.
pub fn deleted(names: &[u32], kind: fn(u32) -> Name) {
    with(|images| {
        for &name in names {
            images.siblings.remove(&kind(name));
            if let Name::Framebuffer(framebuffer) = kind(name) {
                images.attached.retain(|(of, _), _| *of != framebuffer);
            }
        }
    });
}

/// What was drawn comes into the buffers. What is bound may be drawn to again.
///
/// # Errors
/// The API's code.
pub fn drain(entry: u64, current: &Context) -> CallResult<()> {
    draws_in_more_ways(current);
    for used in with(Images::take_drawn) {
        if let Some(image) = image::of(used.object()) {
            image
                .drain(entry, used.object())
                .map_err(|_| OUT_OF_MEMORY)?;
        }
    }
    Ok(())
}

/// As [`drain`], where EGL is what the program waits by.
fn drain_current(entry: u64) {
    if let Ok(current) = <Guest as gil_guest::api::Current>::current() {
        // A session that is lost says so by itself.
        let _ = drain(entry, &current);
    }
}
