//! What the board's driver is asked for of the current context, which the library did not
//! follow before.

use super::reach::{Bound, Name};
use super::{Context, shadow, texts};
use crate::generated::stubs;
use crate::generated::types::*;
use gil_guest::api::CallResult;

/// A value of the context's.
pub fn integer(name: GLenum) -> u32 {
    let mut value = 0;
    // SAFETY: the names that this is called with have one value.
    unsafe { stubs::glGetIntegerv(name, &raw mut value) };
    value.cast_unsigned()
}

/// What the context has bound. OpenGL ES 1.1 has framebuffers by an extension.
///
/// # Errors
/// The API's code.
pub fn bound_now(context: &Context) -> CallResult<Bound> {
    let unit = integer(GL_ACTIVE_TEXTURE);
    let is_fixed = shadow::of(context).fixed.is_some();
    let mut extensions = texts::extensions()?;
    if is_fixed && !extensions.any(|it| it == b"GL_OES_framebuffer_object") {
        return Ok(Bound {
            unit,
            ..Bound::default()
        });
    }
    let draw = integer(GL_FRAMEBUFFER_BINDING);
    let read = match texts::version()? {
        (3.., _) => integer(GL_READ_FRAMEBUFFER_BINDING),
        _ => draw,
    };
    Ok(Bound {
        unit,
        draw,
        read,
        renderbuffer: integer(GL_RENDERBUFFER_BINDING),
    })
}

/// What the framebuffer that is bound to a target has in front; name 0 if nothing.
pub fn attached_now(target: GLenum) -> Name {
    const POINT: GLenum = GL_COLOR_ATTACHMENT0;
    let ask = |name| {
        let mut value = 0;
        // SAFETY: these names have one value.
        unsafe {
            stubs::glGetFramebufferAttachmentParameteriv(target, POINT, name, &raw mut value);
        }
        value.cast_unsigned()
    };
    match ask(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE) {
        GL_TEXTURE => Name::Texture(ask(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME)),
        GL_RENDERBUFFER => Name::Renderbuffer(ask(GL_FRAMEBUFFER_ATTACHMENT_OBJECT_NAME)),
        _ => Name::Texture(0),
    }
}
