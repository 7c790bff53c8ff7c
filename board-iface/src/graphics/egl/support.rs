//! EGL's calls that are written by hand.

pub use crate::graphics::session::Session;

use super::generated::dispatch::run;
use super::generated::manual::Manual;
use super::generated::types::*;
use crate::back_end::{self, Call, Objects, Output, Refusal};
use crate::graphics::{images, present, resize};
use crate::process::has_memory;
use gil_wire::call::{OutData, Property};
use gil_wire::generated::egl::{self as wire, Kind};

/// The calls whose bodies are written by hand.
#[derive(Clone, Copy, Debug)]
pub struct Board;

impl Manual for Board {
    /// Whatever the guest's display is: here it is the board's.
    fn egl_initialize(
        session: &mut Session,
        _: &mut Call,
        args: wire::EglInitializeArgs,
    ) -> Result<wire::EglInitializeReply, Refusal> {
        let driver = session.driver();
        if session.table().get(args.dpy, Kind::Display).is_err() {
            let data = Kind::Display.into();
            session
                .table_mut()
                .insert(args.dpy, Kind::Display, driver.display, data)?;
        }
        let (major, minor) = driver.version;
        Ok(wire::EglInitializeReply {
            result: EGL_SUCCESS,
            major,
            minor,
        })
    }

    fn egl_query_string(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglQueryStringArgs,
    ) -> Result<Vec<u8>, Refusal> {
        let display: EGLDisplay = session.get(Kind::Display, args.dpy)?;
        let found = session.functions().query_string(display, args.name);
        let result = match found {
            Some(_) => EGL_SUCCESS,
            None => session.driver().error(),
        };
        let mut room = call.output(args.text, 0)?;
        let text = text(call, &mut room, found.unwrap_or_default().as_bytes());
        back_end::encode(&wire::EglQueryStringReply { result, text })
    }

    /// Of OpenGL ES 1.1 if the board has its library.
    fn egl_get_config_attrib(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglGetConfigAttribArgs,
    ) -> Result<wire::EglGetConfigAttribReply, Refusal> {
        let mut reply = run::egl_get_config_attrib(session, call, &args)?;
        let is_of_apis = matches!(args.attribute, EGL_RENDERABLE_TYPE | EGL_CONFORMANT);
        if is_of_apis && session.driver().gles1.is_none() {
            reply.value &= !EGL_OPENGL_ES_BIT;
        }
        Ok(reply)
    }

    fn egl_create_context(
        session: &mut Session,
        call: &mut Call,
        mut args: wire::EglCreateContextArgs,
    ) -> Result<wire::EglCreateContextReply, Refusal> {
        let attributes = attributes(args.attrib_list.as_deref().unwrap_or_default())?;
        let is_fixed = is_fixed(&attributes);
        let word = |value: EGLint| i64::from(value).cast_unsigned();
        let list = attributes.into_iter();
        let list = list.map(|(name, value)| Property::Word(word(name), word(value)));
        args.attrib_list = Some(list.collect());
        if is_fixed && session.driver().gles1.is_none() {
            // As of a configuration without such contexts.
            let result = EGL_BAD_CONFIG;
            return Ok(wire::EglCreateContextReply { result });
        }
        if !has_memory() {
            let result = EGL_BAD_ALLOC;
            return Ok(wire::EglCreateContextReply { result });
        }
        let reply = run::egl_create_context(session, call, &args)?;
        if reply.result == EGL_SUCCESS {
            session.context(args.new)?.is_fixed = is_fixed;
        }
        Ok(reply)
    }

    fn egl_make_current(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglMakeCurrentArgs,
    ) -> Result<wire::EglMakeCurrentReply, Refusal> {
        let result = session.choose(call, &args)?;
        Ok(wire::EglMakeCurrentReply { result })
    }

    fn gil_destroy_context(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilDestroyContextArgs,
    ) -> Result<(), Refusal> {
        session.destroy_context(args.context)
    }

    fn gil_release_thread(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilReleaseThreadArgs,
    ) -> Result<(), Refusal> {
        session.release_thread(args.context)?;
        Ok(())
    }

    fn gil_present(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilPresentArgs,
    ) -> Result<wire::GilPresentReply, Refusal> {
        present::present(session, call, &args)
    }

    fn gil_resize(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilResizeArgs,
    ) -> Result<wire::GilResizeReply, Refusal> {
        let result = resize::resize(session, call, &args)?;
        Ok(wire::GilResizeReply { result })
    }

    fn gil_make_image(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilMakeImageArgs,
    ) -> Result<wire::GilMakeImageReply, Refusal> {
        let result = images::make(session, &args)?;
        Ok(wire::GilMakeImageReply { result })
    }

    fn gil_image_of(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilImageOfArgs,
    ) -> Result<wire::GilImageOfReply, Refusal> {
        let result = images::of_object(session, call, &args)?;
        Ok(wire::GilImageOfReply { result })
    }

    fn gil_fill_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilFillImageArgs,
    ) -> Result<wire::GilFillImageReply, Refusal> {
        let result = images::fill(session, call, &args)?;
        Ok(wire::GilFillImageReply { result })
    }

    fn gil_drain_image(
        session: &mut Session,
        call: &mut Call,
        args: wire::GilDrainImageArgs,
    ) -> Result<wire::GilDrainImageReply, Refusal> {
        images::drain(session, call, &args)
    }

    fn gil_destroy_image(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilDestroyImageArgs,
    ) -> Result<(), Refusal> {
        images::destroy(session, args.image)
    }

    fn egl_create_sync(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglCreateSyncArgs,
    ) -> Result<wire::EglCreateSyncReply, Refusal> {
        let result = session.create_fence(call, &args)?;
        Ok(wire::EglCreateSyncReply { result })
    }

    fn egl_client_wait_sync(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglClientWaitSyncArgs,
    ) -> Result<wire::EglClientWaitSyncReply, Refusal> {
        session.wait_for_fence(call, &args)
    }

    fn egl_wait_sync(
        session: &mut Session,
        call: &mut Call,
        args: wire::EglWaitSyncArgs,
    ) -> Result<(), Refusal> {
        session.wait_in_driver(call, &args)
    }

    fn gil_destroy_sync(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilDestroySyncArgs,
    ) -> Result<(), Refusal> {
        session.release(Kind::Sync, args.sync)?;
        Ok(())
    }

    fn gil_destroy_surface(
        session: &mut Session,
        _: &mut Call,
        args: wire::GilDestroySurfaceArgs,
    ) -> Result<(), Refusal> {
        session.release(Kind::Surface, args.surface)?;
        Ok(())
    }
}

/// `EGL_CONTEXT_OPENGL_NO_ERROR_KHR`, of `EGL_KHR_create_context_no_error`.
const NO_ERROR: EGLint = 0x31B3;

/// A context's attributes as the driver reads them. It checks calls of every context: what
/// a program says that makes no mistakes is left out.
///
/// # Errors
/// [`Refusal::Parameter`] for what the driver would read as other attributes.
fn attributes(list: &[Property]) -> Result<Vec<(EGLint, EGLint)>, Refusal> {
    let narrow = |word: u64| word as EGLint;
    let pair = |attribute: &Property| match attribute {
        Property::Word(name, value) if narrow(*name) != EGL_NONE => {
            Ok((narrow(*name), narrow(*value)))
        }
        Property::Word(name, _) | Property::Many(name, _) | Property::Handle(name, _) => {
            Err(Refusal::parameter("attrib_list", *name))
        }
    };
    let mut pairs = list.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
    pairs.retain(|(name, _)| *name != NO_ERROR);
    Ok(pairs)
}

/// Whether these attributes ask for a context of OpenGL ES 1.x.
fn is_fixed(attributes: &[(EGLint, EGLint)]) -> bool {
    let mut named = attributes.iter().rev();
    let version = named.find(|(name, _)| *name == EGL_CONTEXT_CLIENT_VERSION);
    version.is_none_or(|(_, version)| *version <= 1)
}

/// A text as an answer, as far as there is room for it.
pub fn text<'a>(call: &mut Call, room: &'a mut Output, text: &[u8]) -> OutData<'a> {
    let len = text.len().min(room.room());
    let place = room.as_mut_ptr();
    if len > 0 {
        // SAFETY: there is room for as many bytes, which nobody else uses.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place.cast(), len) };
    }
    room.data(call, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION: u64 = EGL_CONTEXT_CLIENT_VERSION as u64;

    #[test]
    fn a_contexts_version_is_what_the_driver_reads() {
        let is_fixed = |list: &[Property]| is_fixed(&attributes(list).unwrap());
        assert!(is_fixed(&[]));
        assert!(!is_fixed(&[Property::Word(VERSION, 2)]));
        let twice = [Property::Word(VERSION, 3), Property::Word(VERSION, 1)];
        assert!(is_fixed(&twice));
        assert!(is_fixed(&[Property::Word(VERSION, 1 << 32 | 1)]));
        assert!(is_fixed(&[Property::Word(
            VERSION,
            (-1i64).cast_unsigned()
        )]));
    }

    #[test]
    fn attributes_are_pairs_and_every_context_has_errors() {
        let list = [
            Property::Word(1 << 32 | NO_ERROR as u64, 1),
            Property::Word(VERSION, 2),
        ];
        assert_eq!(
            attributes(&list).unwrap(),
            [(EGL_CONTEXT_CLIENT_VERSION, 2)]
        );
        for hidden in [
            Property::Many(0x30FB, vec![0, VERSION, 1]),
            Property::Handle(VERSION, gil_wire::call::Handle(1)),
            Property::Word(EGL_NONE as u64, 0),
        ] {
            assert!(attributes(&[hidden]).is_err());
        }
    }
}
