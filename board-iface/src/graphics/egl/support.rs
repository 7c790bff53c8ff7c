//! EGL's calls that are written by hand.

pub use crate::graphics::session::Session;

use super::generated::dispatch::run;
use super::generated::manual::Manual;
use super::generated::types::*;
use crate::back_end::{self, Call, Objects, Output, Refusal};
use crate::graphics::{images, present, resize};
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
        args: wire::EglCreateContextArgs,
    ) -> Result<wire::EglCreateContextReply, Refusal> {
        let is_fixed = is_fixed(args.attrib_list.as_deref().unwrap_or_default());
        if is_fixed && session.driver().gles1.is_none() {
            // As of a configuration without such contexts.
            let result = EGL_BAD_CONFIG;
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
        session.release(Kind::Context, args.context)?;
        Ok(())
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
        session.release(Kind::Image, args.image)?;
        Ok(())
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

/// Whether these attributes ask for a context of OpenGL ES 1.x.
fn is_fixed(attributes: &[Property]) -> bool {
    const VERSION: u64 = EGL_CONTEXT_CLIENT_VERSION as u64;
    let mut version = attributes.iter().filter_map(|attribute| match attribute {
        Property::Word(VERSION, version) => Some(version.cast_signed()),
        _ => None,
    });
    version.next_back().is_none_or(|version| version <= 1)
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
