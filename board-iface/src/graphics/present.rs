//! Pictures of windows on their way to the guest: what a surface shows is read, compared
//! with what the guest has, and only rows that differ travel.
//!
//! OpenGL ES counts rows from the lowest one, a display from the highest: here they turn.

use super::egl::generated::types::*;
use super::gles::Gles;
use super::session::Session;
use crate::back_end::{Call, Objects, Refusal};
use gil_gles_common::windows::{Format, Order, bands};
use gil_wire::call::OutRoom;
use gil_wire::generated::egl::{self as wire, Kind};
use std::ops::Range;

/// A surface's picture as the guest's buffers have it, more or less of it each.
#[derive(Debug, Default)]
pub struct Shown {
    /// Its format and size.
    layout: Option<Layout>,
    /// The highest row first.
    picture: Vec<u8>,
    /// For each row, the frame that last changed it.
    changed: Vec<u32>,
    /// The last frame's number; the first one's is 1.
    frame: u32,
    /// The last picture as it was read.
    read: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    format: Format,
    width: usize,
    height: usize,
}

impl Layout {
    fn row(&self) -> usize {
        self.width * self.format.bytes()
    }
}

/// A call that describes no window.
#[derive(Debug, thiserror::Error)]
#[error(
    "a window of {width} x {height} pixels, format {format:#x}, in bands of {rows} rows, is none"
)]
struct NoWindow {
    width: u32,
    height: u32,
    format: u32,
    rows: u32,
}

fn layout(args: &wire::GilPresentArgs) -> Result<(Layout, (i32, i32)), Refusal> {
    let side = |side: u32| {
        i32::try_from(side)
            .ok()
            .filter(|side| (1..=SIDE_MAX).contains(side))
    };
    let sides = side(args.width).zip(side(args.height));
    let format = Format::of(args.format).filter(|_| args.rows > 0);
    match (format, sides) {
        (Some(format), Some(size)) => {
            let (width, height) = (args.width as usize, args.height as usize);
            let layout = Layout {
                format,
                width,
                height,
            };
            Ok((layout, size))
        }
        _ => Err(Refusal::Api(Box::new(NoWindow {
            width: args.width,
            height: args.height,
            format: args.format,
            rows: args.rows,
        }))),
    }
}

/// No driver has larger surfaces.
const SIDE_MAX: i32 = 1 << 15;

/// Ends a frame of a window, and writes what of it the guest's buffer does not have.
///
/// # Errors
/// [`Refusal`].
pub fn present(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilPresentArgs,
) -> Result<wire::GilPresentReply, Refusal> {
    let (layout, size) = layout(args)?;
    let result = swap(session, call, args)?;
    if result != EGL_SUCCESS {
        return Ok(wire::GilPresentReply { result, frame: 0 });
    }
    let mut read = std::mem::take(&mut session.shown(args.surface)?.read);
    let wanted = layout.format.order();
    let order = session.reading(args.surface, |session| {
        Gles::of(session).read_back(size, wanted, &mut read)
    })?;
    let shown = session.shown(args.surface)?;
    let Some(order) = order else {
        shown.read = read;
        let result = EGL_BAD_SURFACE;
        return Ok(wire::GilPresentReply { result, frame: 0 });
    };
    shown.take(layout, order, &read);
    shown.read = read;
    shown.write(call, args)?;
    Ok(wire::GilPresentReply {
        result: EGL_SUCCESS,
        frame: shown.frame,
    })
}

/// Ends the frame for the driver.
fn swap(
    session: &mut Session,
    call: &mut Call,
    args: &wire::GilPresentArgs,
) -> Result<EGLint, Refusal> {
    let driver = session.driver();
    let surface = session.get(Kind::Surface, args.surface)?;
    let Some(function) = driver.egl.eglSwapBuffers else {
        return Ok(EGL_BAD_MATCH);
    };
    // SAFETY: the surface is the table's, so it is alive.
    match call.timed(|| unsafe { function(driver.display(), surface) }) {
        EGL_TRUE => Ok(EGL_SUCCESS),
        _ => Ok(driver.error()),
    }
}

impl Shown {
    /// Takes the next frame's picture, as it was read: the lowest row first.
    fn take(&mut self, layout: Layout, order: Order, read: &[u8]) {
        if self.layout != Some(layout) {
            self.layout = Some(layout);
            self.picture = vec![0; layout.row() * layout.height];
            self.changed = vec![self.frame.wrapping_add(1); layout.height];
        }
        // The guest has no buffer of the frame 0.
        self.frame = self.frame.checked_add(1).unwrap_or(1);
        let rows = read.chunks_exact(4 * layout.width).rev();
        let shown = self.picture.chunks_exact_mut(layout.row().max(1));
        let mut converted = vec![0; layout.row()];
        for ((row, shown), changed) in rows.zip(shown).zip(&mut self.changed) {
            let row = match layout.format.is_read_as(order) {
                true => row,
                false => {
                    layout.format.convert(order, row, &mut converted);
                    &converted
                }
            };
            if row != shown {
                shown.copy_from_slice(row);
                *changed = self.frame;
            }
        }
    }

    /// Writes those bands that differ from a buffer with the frame `args.seen`.
    fn write(&self, call: &mut Call, args: &wire::GilPresentArgs) -> Result<(), Refusal> {
        let Some(layout) = self.layout else {
            return Ok(());
        };
        for (index, band) in bands(args.height, args.rows).enumerate() {
            let region = u32::try_from(index).unwrap_or(u32::MAX);
            let rows = band.start as usize..band.end as usize;
            if self.is_new(&rows, args.seen) {
                let bytes = &self.picture[layout.row() * rows.start..layout.row() * rows.end];
                put(call, region, bytes)?;
            }
        }
        Ok(())
    }

    /// Whether any of the rows changed behind that frame.
    fn is_new(&self, rows: &Range<usize>, seen: u32) -> bool {
        let is_unknown = seen == 0 || seen > self.frame;
        is_unknown || self.changed[rows.clone()].iter().any(|&frame| frame > seen)
    }
}

/// Writes a region of the call.
fn put(call: &mut Call, region: u32, bytes: &[u8]) -> Result<(), Refusal> {
    let mut room = call.output(OutRoom::Region(region), bytes.len())?;
    let place: *mut u8 = room.as_mut_ptr().cast();
    // SAFETY: there is room for as many bytes, which nobody else uses.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    room.note(call, bytes.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const XRGB: u32 = 0x3432_5258;

    fn shown(frames: &[&[u8]]) -> Shown {
        let layout = Layout {
            format: Format::of(XRGB).unwrap(),
            width: 1,
            height: 2,
        };
        let mut shown = Shown::default();
        for frame in frames {
            shown.take(layout, Order::Rgba, frame);
        }
        shown
    }

    #[test]
    fn rows_turn_and_bytes_are_in_the_windows_order() {
        let shown = shown(&[&[1, 2, 3, 4, 5, 6, 7, 8]]);
        assert_eq!(shown.picture, [7, 6, 5, 8, 3, 2, 1, 4]);
    }

    #[test]
    fn only_what_changed_since_a_buffers_frame_is_new() {
        let shown = shown(&[
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &[1, 2, 3, 4, 9, 6, 7, 8],
            &[1, 2, 3, 4, 9, 6, 7, 8],
        ]);
        assert_eq!(shown.frame, 3);
        for (seen, high, low) in [
            (0, true, true),
            (1, true, false),
            (2, false, false),
            (3, false, false),
            (4, true, true),
        ] {
            assert_eq!(shown.is_new(&(0..1), seen), high, "{seen}");
            assert_eq!(shown.is_new(&(1..2), seen), low, "{seen}");
        }
    }
}
