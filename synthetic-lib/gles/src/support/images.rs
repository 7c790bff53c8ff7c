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
use gil_wire::generated::egl::Kind;
use std::collections::{HashMap, HashSet};
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
    /// Drawn to since they last came into their buffers, by number.
    drawn: HashMap<u64, Used>,
    /// Images that are ever drawn to: what is in their buffers is the GPU's.
    targets: HashSet<u64>,
}

static IMAGES: Mutex<Option<Images>> = Mutex::new(None);

/// Whether there are any: most programs have none.
static ANY: AtomicBool = AtomicBool::new(false);

/// Does something with the images; nothing if there are none.
fn with<T: Default>(work: impl FnOnce(&mut Images) -> T) -> T {
    if !ANY.load(Ordering::Relaxed) {
        return T::default();
    }
    let mut images = IMAGES.lock().unwrap_or_else(PoisonError::into_inner);
    work(images.get_or_insert_default())
}

fn number(used: &Used) -> u64 {
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
    with(|images| {
        images.siblings.insert(name, Arc::new(used));
    });
    image.fill(entry, object).map_err(|_| OUT_OF_MEMORY)
}

const OUT_OF_MEMORY: i32 = GL_OUT_OF_MEMORY as i32;

/// A texture is bound: what the CPU drew since counts.
///
/// # Errors
/// The API's code.
pub fn sampled(entry: u64, name: Name) -> CallResult<()> {
    let used = with(|images| {
        let used = images.siblings.get(&name)?;
        let is_gpus = images.targets.contains(&number(used));
        (!is_gpus).then(|| used.clone())
    });
    let Some(used) = used else {
        return Ok(());
    };
    match image::of(used.object()) {
        Some(image) => image.fill(entry, used.object()).map_err(|_| OUT_OF_MEMORY),
        None => Ok(()),
    }
}

/// A framebuffer is bound: what it has may be drawn to.
pub fn bound(framebuffer: u32) {
    with(|images| images.draw_to(framebuffer));
}

impl Images {
    fn draw_to(&mut self, framebuffer: u32) {
        let here = self
            .attached
            .iter()
            .filter(|((of, _), _)| *of == framebuffer);
        for used in here.map(|(_, used)| used) {
            self.targets.insert(number(used));
            self.drawn.insert(number(used), used.clone());
        }
    }
}

/// Something is attached to the framebuffer that is bound.
pub fn attached(current: &Context, (target, attachment): (GLenum, GLenum), name: Name) {
    if target == GL_READ_FRAMEBUFFER || !ANY.load(Ordering::Relaxed) {
        return;
    }
    let framebuffer = shadow::of(current).framebuffer;
    with(|images| {
        match images.siblings.get(&name).cloned() {
            Some(used) => images.attached.insert((framebuffer, attachment), used),
            None => images.attached.remove(&(framebuffer, attachment)),
        };
        images.draw_to(framebuffer);
    });
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

/// What was drawn comes into the buffers. What is bound still may be drawn to again.
///
/// # Errors
/// The API's code.
pub fn drain(entry: u64, current: &Context) -> CallResult<()> {
    let framebuffer = match ANY.load(Ordering::Relaxed) {
        true => shadow::of(current).framebuffer,
        false => return Ok(()),
    };
    let drawn = with(|images| {
        let drawn = std::mem::take(&mut images.drawn);
        images.draw_to(framebuffer);
        drawn
    });
    for used in drawn.values() {
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
