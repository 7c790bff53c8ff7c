//! A window's pictures: the end of a frame, and the way of its picture into the buffer
//! that is shown.

use super::native::Place;
use super::window::{self, Window};
use super::{current, work};
use crate::generated::manual::{Guest, Object, Request};
use crate::generated::types::*;
use gil_gles_common::windows::{band_rows, bands};
use gil_guest::api::{Api, CallResult};
use gil_wire::envelope::Class;
use gil_wire::generated::egl as wire;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

/// `eglSwapBuffers`.
///
/// # Errors
/// The API's code.
pub fn swap(entry: u64, dpy: &Object, surface: &Object) -> CallResult<()> {
    let Some(window) = window::of(surface) else {
        return swap_pbuffer(entry, dpy, surface);
    };
    let drawn = current::draw().ok_or(EGL_BAD_SURFACE)?;
    if drawn.number() != surface.number() {
        return Err(EGL_BAD_SURFACE);
    }
    let buffer = window.native.dequeue()?;
    let presented = present(entry, surface, window, buffer);
    match presented {
        Ok((frame, changed)) => {
            window.native.queue(buffer, &changed)?;
            window.shown.store(frame, Relaxed);
            window::follow(entry, dpy, surface, window)
        }
        Err(code) => {
            window.native.cancel(buffer);
            Err(code)
        }
    }
}

fn swap_pbuffer(entry: u64, dpy: &Object, surface: &Object) -> CallResult<()> {
    let request: Request = match current::context() {
        Some(context) => work::handed_over(wire::EGL_SWAP_BUFFERS, entry, &context, false),
        None => Request::new(wire::EGL_SWAP_BUFFERS, Class::Sync, entry),
    };
    let args = wire::EglSwapBuffersArgs {
        dpy: dpy.number(),
        surface: surface.number(),
    };
    request.forward(&args, |reply| {
        let reply: wire::EglSwapBuffersReply = reply.decode()?;
        Guest::check(reply.result)
    })
}

/// Ends the frame on the board, which writes into the buffer what that does not have: its
/// number, and the rows in which it differs from the frame that is shown.
fn present(
    entry: u64,
    surface: &Object,
    window: &Window,
    buffer: usize,
) -> CallResult<(u32, Vec<Range<u32>>)> {
    let frames = || window.frames.lock().unwrap_or_else(PoisonError::into_inner);
    let (place, layout) = window.native.target(buffer)?;
    let rows = band_rows(layout.height);
    let context = current::context().ok_or(EGL_BAD_CONTEXT)?;
    if window.native.is_new(buffer) {
        frames()[buffer] = 0;
    }
    // Whoever shows the buffer finds the whole picture there.
    let mut request: Request = work::handed_over(wire::GIL_PRESENT, entry, &context, true);
    for band in bands(layout.height, rows) {
        let (offset, band) = window::band(&layout, &band);
        match &place {
            Place::Import(import) => request.output_rows_of(import, offset, band)?,
            // SAFETY: the buffer is this call's until it is queued or cancelled.
            Place::Memory(start) => unsafe {
                request.output_rows(start.byte_add(offset).cast(), band)?
            },
        };
    }
    let args = wire::GilPresentArgs {
        surface: surface.number(),
        format: layout.format.code,
        width: layout.width,
        height: layout.height,
        rows,
        seen: frames()[buffer],
        shown: window.shown.load(Relaxed),
    };
    // What is lost on the way leaves anything in the buffer.
    frames()[buffer] = 0;
    let (frame, changed) = request.forward(&args, |reply| {
        let reply: wire::GilPresentReply = reply.decode()?;
        Guest::check(reply.result)?;
        Ok((reply.frame, reply.changed))
    })?;
    frames()[buffer] = frame;
    Ok((frame, joined(changed, bands(layout.height, rows))))
}

/// The bands that have a bit; those that touch are one.
fn joined(bits: u64, bands: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
    let mut all: Vec<Range<u32>> = Vec::new();
    let chosen = bands.enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
    for (_, band) in chosen {
        match all.last_mut() {
            Some(last) if last.end == band.start => last.end = band.end,
            _ => all.push(band),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_that_touch_are_one() {
        let joined = |bits| joined(bits, bands(10, 3));
        assert_eq!(joined(0), []);
        assert_eq!(joined(0b1011), [0..6, 9..10]);
        let all = 0..10;
        assert_eq!(joined(u64::MAX), [all]);
    }
}
