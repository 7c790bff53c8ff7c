//! Pictures of windows on their way to the guest: what a surface shows is read, compared
//! with what the guest has, and only rows that differ travel.
//!
//! OpenGL ES counts rows from the lowest one, a display from the highest: here they turn.

use super::egl::generated::types::*;
use super::gles::Gles;
use super::session::Session;
use crate::back_end::{Call, Objects, Refusal};
use crate::region::zeroed_bytes;
use gil_gles_common::windows::{Format, Order, bands};
use gil_transport::memory::OutOfMemory;
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

/// How a picture lies in the guest: rows one behind the other, as they travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Of its pixels.
    pub format: Format,
    /// Whether its pixels have no alpha.
    pub is_opaque: bool,
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Layout {
    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.width * self.format.bytes()
    }

    /// Width and height as OpenGL ES has them.
    pub fn size(&self) -> (i32, i32) {
        let side = |side| i32::try_from(side).unwrap_or(SIDE_MAX);
        (side(self.width), side(self.height))
    }
}

/// A call that describes no picture.
#[derive(Debug, thiserror::Error)]
#[error("a picture of {width} x {height} pixels in format {format:#x} is none")]
struct NoPicture {
    width: u32,
    height: u32,
    format: u32,
}

/// How a picture of this size and format lies, and its size for OpenGL ES.
///
/// # Errors
/// [`Refusal`] if there is no such picture.
pub fn layout((width, height): (u32, u32), code: u32) -> Result<(Layout, (i32, i32)), Refusal> {
    let side = |side: u32| {
        i32::try_from(side)
            .ok()
            .filter(|side| (1..=SIDE_MAX).contains(side))
    };
    let sides = side(width).zip(side(height));
    let Some((format, size)) = Format::of(code).zip(sides) else {
        let format = code;
        return Err(Refusal::Api(Box::new(NoPicture {
            width,
            height,
            format,
        })));
    };
    let layout = Layout {
        format,
        is_opaque: Format::is_opaque(code),
        width: width as usize,
        height: height as usize,
    };
    Ok((layout, size))
}

/// Bytes of a picture as it is read, four a pixel; none of one larger than memory can be.
pub fn read_bytes(width: usize, height: usize) -> Option<usize> {
    width.checked_mul(height)?.checked_mul(4)
}

/// Bytes of a picture, which are 0.
///
/// # Errors
/// [`OutOfMemory`].
pub fn zeroes(len: Option<usize>) -> Result<Vec<u8>, OutOfMemory> {
    let len = len.unwrap_or(usize::MAX);
    zeroed_bytes(len).ok_or(OutOfMemory(len))
}

/// Gives a picture so many bytes; those that it had stay.
///
/// # Errors
/// [`OutOfMemory`].
pub fn resize_to(picture: &mut Vec<u8>, len: Option<usize>) -> Result<(), OutOfMemory> {
    let len = len.ok_or(OutOfMemory(usize::MAX))?;
    OutOfMemory::reserve(picture, len.saturating_sub(picture.len()))?;
    picture.resize(len, 0);
    Ok(())
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
    let (layout, size) = layout((args.width, args.height), args.format)?;
    let surface = session.get(Kind::Surface, args.surface)?;
    // The picture takes no more memory here than the driver found for the surface.
    let result = match session.driver().covers(surface, size) {
        true => swap(session, call, surface),
        false => EGL_BAD_SURFACE,
    };
    if result != EGL_SUCCESS {
        return Ok(refused(result));
    }
    let mut read = std::mem::take(&mut session.shown(args.surface)?.read);
    let wanted = layout.format.order();
    let order = session.reading(args.surface, |session| {
        Gles::of(session).read_back(size, wanted, &mut read)
    })?;
    let shown = session.shown(args.surface)?;
    let Some(order) = order else {
        shown.read = read;
        return Ok(refused(EGL_BAD_SURFACE));
    };
    shown.take(layout, order, &read, true)?;
    shown.read = read;
    for (region, bytes) in shown.bands(args.rows, args.seen) {
        put(call, region, bytes)?;
    }
    Ok(wire::GilPresentReply {
        result: EGL_SUCCESS,
        frame: shown.frame,
        changed: shown.changed(args.rows, args.shown),
    })
}

const fn refused(result: EGLint) -> wire::GilPresentReply {
    wire::GilPresentReply {
        result,
        frame: 0,
        changed: 0,
    }
}

/// Ends the frame of a surface, one of the table's, for the driver.
fn swap(session: &Session, call: &mut Call, surface: EGLSurface) -> EGLint {
    let driver = session.driver();
    let Some(function) = driver.egl.eglSwapBuffers else {
        return EGL_BAD_MATCH;
    };
    // SAFETY: the surface is the table's, so it is alive.
    match call.timed(|| unsafe { function(driver.display(), surface) }) {
        EGL_TRUE => EGL_SUCCESS,
        _ => driver.error(),
    }
}

impl Shown {
    /// The last frame's number.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    /// The guest has these rows, from `first` on, by itself.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn has(&mut self, layout: Layout, first: usize, rows: &[u8]) -> Result<(), OutOfMemory> {
        self.begin(layout)?;
        let start = first.saturating_mul(layout.row());
        let place = self.picture.get_mut(start..).unwrap_or_default();
        let len = rows.len().min(place.len());
        let place = &mut place[..len];
        place.copy_from_slice(&rows[..len]);
        // What has no alpha is opaque where it is drawn to.
        if layout.is_opaque && layout.format.bytes() == 4 {
            let pixels = place.chunks_exact_mut(4);
            pixels.for_each(|pixel| pixel[3] = 0xff);
        }
        let changed = self.changed.get_mut(first..).unwrap_or_default();
        let filled = place.len() / layout.row().max(1);
        changed.iter_mut().take(filled).for_each(|it| *it = 0);
        Ok(())
    }

    /// Begins anew if the layout is another; no guest's buffer has anything of it then.
    fn begin(&mut self, layout: Layout) -> Result<(), OutOfMemory> {
        if self.layout != Some(layout) {
            self.picture = zeroes(layout.row().checked_mul(layout.height))?;
            self.layout = Some(layout);
            self.changed = vec![self.frame.wrapping_add(1); layout.height];
        }
        Ok(())
    }

    /// Takes the next frame's picture, as it was read; `turns`: the lowest row first.
    ///
    /// # Errors
    /// [`OutOfMemory`]; the picture is the last one then.
    pub fn take(
        &mut self,
        layout: Layout,
        order: Order,
        read: &[u8],
        turns: bool,
    ) -> Result<(), OutOfMemory> {
        self.begin(layout)?;
        // The guest has no buffer of the frame 0.
        self.frame = self.frame.checked_add(1).unwrap_or(1);
        let rows = 0..layout.height;
        let shown = self.picture.chunks_exact_mut(layout.row().max(1));
        let mut converted = vec![0; layout.row()];
        for ((at, shown), changed) in rows.zip(shown).zip(&mut self.changed) {
            let at = if turns { layout.height - 1 - at } else { at };
            let Some(row) = read.get(4 * layout.width * at..4 * layout.width * (at + 1)) else {
                break;
            };
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
        Ok(())
    }

    /// Those bands of so many rows that differ from what the guest has by itself, and
    /// their bytes.
    pub fn drawn(&self, rows: u32) -> impl Iterator<Item = (u32, &[u8])> {
        self.those(rows, |rows| {
            self.changed[rows].iter().any(|&frame| frame > 0)
        })
    }

    /// Those bands of so many rows that differ from a buffer with the frame `seen`, and
    /// their bytes.
    pub fn bands(&self, rows: u32, seen: u32) -> impl Iterator<Item = (u32, &[u8])> {
        self.those(rows, move |rows| self.is_new(&rows, seen))
    }

    fn those(
        &self,
        rows: u32,
        are_wanted: impl Fn(Range<usize>) -> bool,
    ) -> impl Iterator<Item = (u32, &[u8])> {
        let (row, height) = self.layout.map_or((0, 0), |it| (it.row(), it.height));
        let all = bands(u32::try_from(height).unwrap_or(u32::MAX), rows).enumerate();
        all.filter_map(move |(index, band)| {
            let rows = band.start as usize..band.end as usize;
            let region = u32::try_from(index).ok()?;
            let bytes = &self.picture[row * rows.start..row * rows.end];
            are_wanted(rows).then_some((region, bytes))
        })
    }

    /// The bits of those bands, of the first 64.
    fn changed(&self, rows: u32, seen: u32) -> u64 {
        let bits = self
            .bands(rows, seen)
            .map(|(band, _)| 1u64.checked_shl(band));
        bits.flatten().fold(0, |all, bit| all | bit)
    }

    /// Whether any of the rows changed behind that frame.
    fn is_new(&self, rows: &Range<usize>, seen: u32) -> bool {
        let is_unknown = seen == 0 || seen > self.frame;
        is_unknown || self.changed[rows.clone()].iter().any(|&frame| frame > seen)
    }
}

/// Writes a region of the call.
///
/// # Errors
/// [`Refusal`] if there is no such region, or it is too small.
pub fn put(call: &mut Call, region: u32, bytes: &[u8]) -> Result<(), Refusal> {
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
            is_opaque: true,
            width: 1,
            height: 2,
        };
        let mut shown = Shown::default();
        for frame in frames {
            shown.take(layout, Order::Rgba, frame, true).unwrap();
        }
        shown
    }

    #[test]
    fn rows_turn_and_bytes_are_in_the_windows_order() {
        let shown = shown(&[&[1, 2, 3, 4, 5, 6, 7, 8]]);
        assert_eq!(shown.picture, [7, 6, 5, 8, 3, 2, 1, 4]);
    }

    #[test]
    fn images_do_not_turn() {
        let (layout, _) = layout((1, 2), XRGB).unwrap();
        let mut shown = Shown::default();
        let read = [1, 2, 3, 4, 5, 6, 7, 8];
        shown.take(layout, Order::Rgba, &read, false).unwrap();
        assert_eq!(shown.picture, [3, 2, 1, 4, 7, 6, 5, 8]);
        let bands: Vec<_> = shown.bands(1, 0).collect();
        assert_eq!(bands, [(0, &[3, 2, 1, 4][..]), (1, &[7, 6, 5, 8][..])]);
        assert!(super::layout((0, 2), XRGB).is_err() && super::layout((1, 1), 7).is_err());
    }

    #[test]
    fn what_the_guest_drew_itself_is_compared_with() {
        let (layout, _) = layout((1, 2), XRGB).unwrap();
        let mut shown = Shown::default();
        let read = [1, 2, 3, 255, 5, 6, 7, 255];
        shown.take(layout, Order::Rgba, &read, false).unwrap();
        shown.has(layout, 1, &[0; 4]).unwrap();
        // The same again: the guest's second row is another now.
        shown.take(layout, Order::Rgba, &read, false).unwrap();
        let bands: Vec<_> = shown.bands(1, 1).collect();
        assert_eq!(bands, [(1, &[7, 6, 5, 255][..])]);
        shown.has(layout, 1, &[0; 8]).unwrap();
        shown.has(layout, 7, &[0; 4]).unwrap();
    }

    #[test]
    fn a_buffer_that_the_guest_filled_gets_what_was_drawn() {
        let (layout, _) = layout((1, 3), XRGB).unwrap();
        let mut shown = Shown::default();
        let filled = [3, 2, 1, 0, 7, 6, 5, 9];
        shown.has(layout, 0, &filled).unwrap();
        let read = [1, 2, 3, 255, 5, 6, 8, 255, 0, 0, 0, 0];
        shown.take(layout, Order::Rgba, &read, false).unwrap();
        let bands: Vec<_> = shown.drawn(1).collect();
        let last: &[u8] = &[0; 4];
        assert_eq!(bands, [(1, &[8, 6, 5, 255][..]), (2, last)]);
        assert_eq!(shown.bands(1, 0).count(), 3);
    }

    #[test]
    fn a_picture_without_memory_is_an_error_and_the_last_one_stays() {
        let mut shown = shown(&[&[1, 2, 3, 4, 5, 6, 7, 8]]);
        let layout = Layout {
            width: usize::MAX / 4,
            height: 4,
            ..shown.layout.unwrap()
        };
        assert!(shown.take(layout, Order::Rgba, &[], true).is_err());
        assert_eq!((shown.frame, shown.bands(2, 0).count()), (1, 1));
        assert_eq!(read_bytes(1 << 15, 1 << 15), 4usize.checked_mul(1 << 30));
        assert!(zeroes(read_bytes(usize::MAX, 2)).is_err());
        let mut picture = vec![7];
        assert!(resize_to(&mut picture, Some(usize::MAX)).is_err());
        assert_eq!(picture, [7]);
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
            let bits = u64::from(high) | u64::from(low) << 1;
            assert_eq!(shown.changed(1, seen), bits, "{seen}");
        }
    }
}
