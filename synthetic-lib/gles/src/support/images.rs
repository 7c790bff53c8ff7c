//! Textures and renderbuffers whose pictures are EGL's images of the guest's buffers. What
//! a context draws to one comes into the buffer when the program flushes or finishes in
//! that context; what the CPU drew goes to the board when the program binds the texture,
//! or a framebuffer that has it.
//!
//! Objects are those of a share group. What a context's calls reach is its own
//! ([`super::reach`]).

use super::asked::{attached_now, bound_now, integer};
use super::reach::{Attached, Name, Reach, binding};
use super::{Context, shadow};
use crate::generated::manual::Guest;
use crate::generated::types::*;
use foldhash::HashMap;
use gil_egl::generated::manual as egl;
use gil_egl::generated::types::EGLImage;
use gil_egl::support::details::Details;
use gil_egl::support::image;
use gil_guest::Hold;
use gil_guest::api::{CallResult, Current};
use gil_wire::generated::egl::Kind;
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An image that is in use: it lives on when the program has destroyed it.
pub type Used = Arc<Hold<egl::Guest>>;

/// The textures and renderbuffers of a share group that are images of buffers.
type Siblings = Mutex<HashMap<Name, Used>>;

/// An image that contexts drew to since it last came into its buffer: it is the GPU's.
#[derive(Debug)]
struct Drawn {
    used: Used,
    /// The numbers of those contexts.
    by: Vec<u64>,
}

/// The images that were drawn to, by number.
static DRAWN: Mutex<Option<HashMap<u64, Drawn>>> = Mutex::new(None);

/// Whether there are any images of buffers: most programs have none.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether the thread's context drew since it was last noted to what.
    static DREW: Cell<bool> = const { Cell::new(false) };
}

/// Something is drawn, or a shader runs.
#[inline]
pub fn draws() {
    if ANY.load(Ordering::Relaxed) {
        DREW.set(true);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the images that were drawn to; nothing if there can be none.
fn with<T: Default>(work: impl FnOnce(&mut HashMap<u64, Drawn>) -> T) -> T {
    if !ANY.load(Ordering::Relaxed) {
        return T::default();
    }
    work(locked(&DRAWN).get_or_insert_default())
}

fn siblings(context: &Context) -> &Siblings {
    let Details::Context(kept) = context.details() else {
        unreachable!("only contexts are current")
    };
    let make = || Box::<Siblings>::default() as Box<dyn Any + Send + Sync>;
    let kept = kept.group.client.get_or_init(make);
    kept.downcast_ref().expect("only this library keeps it")
}

fn image_of(context: &Context, attached: Attached) -> Option<Used> {
    match attached {
        Attached::Name(name) => locked(siblings(context)).get(&name).cloned(),
        Attached::Image(used) => Some(used),
    }
}

/// Images that the CPU may have drawn to, and no GPU.
fn clean(context: &Context, reached: impl IntoIterator<Item = Attached>) -> Vec<Used> {
    let images = reached.into_iter().filter_map(|it| image_of(context, it));
    let images: Vec<_> = images.collect();
    with(|drawn| {
        let is_clean = |used: &Used| !drawn.contains_key(&number(used));
        images.into_iter().filter(is_clean).collect()
    })
}

fn number(used: &Hold<egl::Guest>) -> u64 {
    used.object().number().0
}

/// A context's calls write to these.
fn written(context: &Context, reached: impl IntoIterator<Item = Attached>) {
    let by = context.number().0;
    for used in reached.into_iter().filter_map(|it| image_of(context, it)) {
        with(|drawn| {
            let new = || Drawn {
                used: used.clone(),
                by: Vec::new(),
            };
            let drawn = drawn.entry(number(&used)).or_insert_with(new);
            if !drawn.by.contains(&by) {
                drawn.by.push(by);
            }
        });
    }
}

/// Asks for what the context had bound before its calls were followed.
fn learn(context: &Context) {
    let is_learned = shadow::of(context).reach.is_learned();
    if !is_learned {
        // A context that is lost has nothing.
        let bound = bound_now(context).unwrap_or_default();
        shadow::of(context).reach.learn(bound);
    }
    // Only version 3 has a framebuffer for reading that is another.
    for target in [GL_FRAMEBUFFER, GL_READ_FRAMEBUFFER] {
        let lacks = shadow::of(context).reach.lacks_attached(target);
        if lacks {
            let name = attached_now(target);
            let mut shadow = shadow::of(context);
            shadow.reach.attach(target, GL_COLOR_ATTACHMENT0, name);
        }
    }
}

/// The texture or renderbuffer that is bound to a target; none if it has no images.
fn bound_to(context: &Context, target: GLenum) -> Option<Name> {
    learn(context);
    let known = shadow::of(context).reach.bound(target);
    if known.is_some() {
        return known;
    }
    let texture = integer(binding(target)?);
    let mut shadow = shadow::of(context);
    shadow.reach.bind_texture(target, texture);
    Some(Name::Texture(texture))
}

/// What the context drew went to what it reaches now. To be called before that changes.
fn note(context: &Context) {
    learn(context);
    let reached = {
        let shadow = shadow::of(context);
        // OpenGL ES 1.1 draws in more ways than those that say so.
        if !DREW.take() && shadow.fixed.is_none() {
            return;
        }
        shadow.reach.written()
    };
    written(context, reached);
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

const OUT_OF_MEMORY: i32 = GL_OUT_OF_MEMORY as i32;

/// Changes what the context reaches, if there are images. What the CPU drew to what `reads` then names goes to
/// the board.
fn changes<R: IntoIterator<Item = Attached>>(
    change: impl FnOnce(&mut Reach),
    reads: impl FnOnce(&Reach) -> R,
) -> CallResult<()> {
    if !ANY.load(Ordering::Relaxed) {
        return Ok(());
    }
    let context = <Guest as Current>::current()?;
    note(&context);
    let reached = {
        let mut shadow = shadow::of(&context);
        change(&mut shadow.reach);
        reads(&shadow.reach)
    };
    fill(gil_guest::entry(), clean(&context, reached))
}

/// A framebuffer is bound: what it has may be read, or drawn to over what the CPU drew.
///
/// # Errors
/// The API's code.
pub fn bound(target: GLenum, framebuffer: u32) -> CallResult<()> {
    changes(
        |reach| reach.bind_framebuffer(target, framebuffer),
        |reach| reach.attached(target),
    )
}

/// Something is attached to the framebuffer that is bound to a target.
///
/// # Errors
/// The API's code.
pub fn attached(target: GLenum, point: GLenum, name: Name) -> CallResult<()> {
    changes(
        |reach| reach.attach(target, point, name),
        |_| [Attached::Name(name)],
    )
}

/// A texture is bound to the active unit: what the CPU drew since counts.
///
/// # Errors
/// The API's code.
pub fn sampled(target: GLenum, texture: u32) -> CallResult<()> {
    changes(
        |reach| reach.bind_texture(target, texture),
        |_| [Attached::Name(Name::Texture(texture))],
    )
}

/// A texture is bound to an image unit. This is followed also before there are images.
///
/// # Errors
/// The API's code.
pub fn image_unit(unit: u32, texture: u32, access: GLenum) -> CallResult<()> {
    if !ANY.load(Ordering::Relaxed) {
        return shadow::with(|shadow| shadow.reach.bind_image(unit, texture, access));
    }
    changes(
        |reach| reach.bind_image(unit, texture, access),
        |_| [Attached::Name(Name::Texture(texture))],
    )
}

/// Another texture unit is active.
///
/// # Errors
/// The API's code.
pub fn activated(unit: GLenum) -> CallResult<()> {
    changes(|reach| reach.activate(unit), |_| None)
}

/// A renderbuffer is bound.
///
/// # Errors
/// The API's code.
pub fn bound_renderbuffer(renderbuffer: u32) -> CallResult<()> {
    changes(|reach| reach.bind_renderbuffer(renderbuffer), |_| None)
}

/// The texture or renderbuffer that is bound to a target; none if it is nothing with an
/// image.
fn sibling(context: &Context, target: GLenum) -> Option<Name> {
    let name = bound_to(context, target)?;
    locked(siblings(context))
        .contains_key(&name)
        .then_some(name)
}

/// A call writes to the texture that is bound to a target.
///
/// # Errors
/// The API's code.
pub fn writes(target: GLenum) -> CallResult<()> {
    if ANY.load(Ordering::Relaxed) {
        let context = <Guest as Current>::current()?;
        written(&context, sibling(&context, target).map(Attached::Name));
    }
    Ok(())
}

/// A call writes to an object by its name.
///
/// # Errors
/// The API's code.
pub fn writes_to(target: GLenum, name: u32) -> CallResult<()> {
    if ANY.load(Ordering::Relaxed) {
        let context = <Guest as Current>::current()?;
        let name = match target {
            GL_RENDERBUFFER => Name::Renderbuffer(name),
            _ => Name::Texture(name),
        };
        written(&context, [Attached::Name(name)]);
    }
    Ok(())
}

/// What is bound to a target gets memory of its own: it is no image any more.
///
/// # Errors
/// The API's code.
pub fn respecified(target: GLenum) -> CallResult<()> {
    if ANY.load(Ordering::Relaxed) {
        let context = <Guest as Current>::current()?;
        if let Some(name) = sibling(&context, target) {
            note(&context);
            locked(siblings(&context)).remove(&name);
        }
    }
    Ok(())
}

/// EGL's image at an address.
///
/// # Errors
/// `GL_INVALID_VALUE` if there is none.
pub fn find(image: GLeglImageOES) -> CallResult<egl::Object> {
    let found = egl::Object::find(Kind::Image, image as EGLImage);
    found.map_err(|_| GL_INVALID_VALUE as i32)
}

/// What is bound to a target becomes an image's: the buffer's picture goes to the board.
///
/// # Errors
/// The API's code; `GL_INVALID_ENUM` if the target has no images.
pub fn targets(
    entry: u64,
    context: &Context,
    target: GLenum,
    object: &egl::Object,
) -> CallResult<()> {
    let name = bound_to(context, target).ok_or(GL_INVALID_ENUM as i32)?;
    note(context);
    if image::of(object).is_none() {
        locked(siblings(context)).remove(&name);
        return Ok(());
    }
    let used = object.hold().ok_or(GL_INVALID_VALUE as i32)?;
    ANY.store(true, Ordering::Relaxed);
    image::on_flush(drain_by_egl);
    locked(siblings(context)).insert(name, Arc::new(used));
    fill(entry, clean(context, [Attached::Name(name)]))
}

/// Objects are deleted.
pub fn deleted(context: &Context, names: impl IntoIterator<Item = Name>) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    note(context);
    for name in names {
        let image = locked(siblings(context)).remove(&name);
        shadow::of(context).reach.delete(name, image.as_ref());
    }
}

/// Framebuffers are deleted.
pub fn deleted_framebuffers(context: &Context, framebuffers: &[u32]) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    note(context);
    let mut shadow = shadow::of(context);
    let framebuffers = framebuffers.iter();
    framebuffers.for_each(|it| shadow.reach.delete_framebuffer(*it));
}

/// The images that a context drew to, which are not its any more.
fn take_drawn(context: u64) -> Vec<Used> {
    with(|all| {
        let mut taken = Vec::new();
        for drawn in all.values_mut() {
            if let Some(at) = drawn.by.iter().position(|by| *by == context) {
                drawn.by.swap_remove(at);
                taken.push(drawn.used.clone());
            }
        }
        all.retain(|_, drawn| !drawn.by.is_empty());
        taken
    })
}

/// What the context drew comes into the buffers.
///
/// # Errors
/// The API's code.
pub fn drain(entry: u64, context: &Context) -> CallResult<()> {
    // In a forked child, a thread that it does not have may have the lock.
    if !ANY.load(Ordering::Relaxed) || gil_guest::process::is_forked() {
        return Ok(());
    }
    note(context);
    let mut all = Ok(());
    for used in take_drawn(context.number().0) {
        if let Some(image) = image::of(used.object()) {
            let drained = image.drain(entry, used.object());
            all = all.and(drained.map_err(|_| OUT_OF_MEMORY));
        }
    }
    all
}

/// As [`drain`], where EGL is what the program waits by.
fn drain_by_egl(entry: u64, context: &Context) {
    // A session that is lost says so by itself.
    let _ = drain(entry, context);
}

/// A context is gone: what it drew and did not flush is nobody's.
pub fn forget(context: u64) {
    drop(take_drawn(context));
}
