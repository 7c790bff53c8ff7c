//! Android's windows: queues of buffers that are dma-bufs, which the board's pictures come
//! into. Whoever connects EGL to a window, Android's own libEGL, does that before this
//! library gets it.

use super::{Native, Place};
use crate::generated::types::*;
use crate::support::android::abi::{Dequeued, Hooks, question};
use crate::support::android::buffer::{self, Found, Identity};
use crate::support::android::refusal::Refusal;
use crate::support::native_fences;
use gil_gbm::buffer::{Layout, SIDE_MAX};
use gil_gbm::chain::BUFFERS_MAX;
use gil_gbm::format::Format;
use gil_guest::Import;
use gil_guest::api::CallResult;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What buffers are for: a GPU draws to them and the CPU may write them, so that a gralloc
/// lays their rows one behind the other. Source: `GRALLOC_USAGE_HW_RENDER` and
/// `GRALLOC_USAGE_SW_WRITE_OFTEN` of Android's `hardware/gralloc.h`.
const USAGE: u32 = 0x200 | 0x30;

/// A buffer that the window gave before.
#[derive(Debug)]
struct Known {
    identity: Identity,
    import: Arc<Import>,
    layout: Layout,
    /// The frame that it was last drawn in, by count.
    frame: u64,
}

/// The buffer that is drawn to now.
#[derive(Debug)]
struct Drawn {
    buffer: Dequeued,
    is_new: bool,
}

/// What changes of a window.
#[derive(Debug, Default)]
struct State {
    size: (u32, u32),
    known: [Option<Known>; BUFFERS_MAX],
    drawn: Option<Drawn>,
    frames: u64,
}

/// A window.
#[derive(Debug)]
struct Window {
    hooks: Hooks,
    format: Format,
    state: Mutex<State>,
}

/// The window at an address, of which a configuration draws `drawn`.
///
/// # Errors
/// `EGL_BAD_NATIVE_WINDOW` if there is none, or none that can have such buffers.
pub fn window(native: usize, drawn: Format) -> CallResult<Box<dyn Native>> {
    let window = Window::open(native, drawn);
    // A window that will not have the buffers is as good as none.
    let window = window.map_err(|refusal| {
        refusal.noted(EGL_BAD_NATIVE_WINDOW);
        EGL_BAD_NATIVE_WINDOW
    })?;
    Ok(Box::new(window))
}

impl Window {
    fn open(native: usize, format: Format) -> Result<Self, Refusal> {
        // SAFETY: what EGL asks the program for.
        let hooks = unsafe { Hooks::of(native) }?;
        let size = size(&hooks)?;
        hooks.set_usage(USAGE);
        hooks.set_format(buffer::number(format))?;
        hooks.set_size(size)?;
        let state = State {
            size,
            ..State::default()
        };
        Ok(Self {
            hooks,
            format,
            state: Mutex::new(state),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a buffer that the window gave, and whether it has it anew.
    fn number(&self, buffer: &Dequeued) -> Result<(usize, bool), Refusal> {
        // SAFETY: the window's buffer, until it is queued or cancelled.
        let found = unsafe { buffer::find(buffer.address()) }?;
        let mut state = self.state();
        found.is_drawn_by(self.format, state.size)?;
        state.find(&found)
    }

    /// Ends the drawing to a buffer.
    fn take(&self) -> Option<Dequeued> {
        self.state().drawn.take().map(|drawn| drawn.buffer)
    }
}

/// The size that the window's buffers have from now on.
fn size(hooks: &Hooks) -> Result<(u32, u32), Refusal> {
    let side = |what| hooks.query(what).unwrap_or(0);
    let (width, height) = (
        side(question::DEFAULT_WIDTH),
        side(question::DEFAULT_HEIGHT),
    );
    let possible = |side: i32| {
        u32::try_from(side)
            .ok()
            .filter(|it| (1..SIDE_MAX).contains(it))
    };
    let found = possible(width).zip(possible(height));
    found.ok_or(Refusal::Sides {
        width: width.into(),
        height: height.into(),
        stride: width.into(),
        most: SIDE_MAX - 1,
    })
}

impl Found {
    /// Whether a frame of this format and size is drawn to it.
    fn is_drawn_by(&self, format: Format, wanted: (u32, u32)) -> Result<(), Refusal> {
        if !self.layout.format.is_drawn_as(format) {
            return Err(Refusal::Format(self.layout.format.code));
        }
        let found = (self.layout.width, self.layout.height);
        match found == wanted {
            true => Ok(()),
            false => Err(Refusal::Size { found, wanted }),
        }
    }
}

impl State {
    /// The number of a buffer, and whether it has it anew.
    fn find(&mut self, found: &Found) -> Result<(usize, bool), Refusal> {
        self.frames += 1;
        let frame = self.frames;
        let (identity, layout) = (found.memory.identity, found.layout);
        let is_it = |known: &Known| known.identity == identity && known.layout == layout;
        let mut all = self.known.iter_mut().enumerate();
        let known = all.find_map(|(number, known)| {
            let known = known.as_mut().filter(|known| is_it(known))?;
            known.frame = frame;
            Some(number)
        });
        if let Some(number) = known {
            return Ok((number, false));
        }
        let number = self.oldest();
        self.known[number] = Some(Known {
            identity,
            import: Arc::new(found.import()?),
            layout,
            frame,
        });
        Ok((number, true))
    }

    /// The number that no buffer has, or the one that was not drawn to for longest.
    fn oldest(&self) -> usize {
        let frame = |known: &Option<Known>| known.as_ref().map_or(0, |known| known.frame);
        let numbers = 0..self.known.len();
        numbers
            .min_by_key(|&number| frame(&self.known[number]))
            .unwrap_or(0)
    }
}

impl Native for Window {
    fn identity(&self) -> usize {
        self.hooks.address()
    }

    fn size(&self) -> (u32, u32) {
        self.state().size
    }

    fn format(&self) -> Format {
        self.format
    }

    fn dequeue(&self) -> CallResult<usize> {
        let (buffer, fence) = self
            .hooks
            .dequeue()
            .map_err(|it| it.noted(EGL_BAD_SURFACE))?;
        // Who had it before may read it still.
        native_fences::wait_for(fence);
        match self.number(&buffer) {
            Ok((number, is_new)) => {
                self.state().drawn = Some(Drawn { buffer, is_new });
                Ok(number)
            }
            Err(refusal) => {
                self.hooks.cancel(buffer);
                Err(refusal.noted(EGL_BAD_SURFACE))
            }
        }
    }

    fn target(&self, buffer: usize) -> CallResult<(Place, Layout)> {
        let state = self.state();
        let known = state.known[buffer].as_ref().ok_or(EGL_BAD_ALLOC)?;
        Ok((Place::Import(known.import.clone()), known.layout))
    }

    fn is_new(&self, _: usize) -> bool {
        let state = self.state();
        state.drawn.as_ref().is_some_and(|drawn| drawn.is_new)
    }

    fn queue(&self, _: usize, _: &[Range<u32>]) -> CallResult<()> {
        // The picture is in the buffer: there is nothing to wait for.
        let queued = self.hooks.queue(self.take().ok_or(EGL_BAD_SURFACE)?);
        queued.map_err(|refusal| refusal.noted(EGL_BAD_SURFACE))
    }

    fn cancel(&self, _: usize) {
        if let Some(buffer) = self.take() {
            self.hooks.cancel(buffer);
        }
    }

    fn set_paced(&self, is_paced: bool) {
        self.hooks.set_swap_interval(is_paced.into());
    }

    fn resized(&self) -> Option<(u32, u32)> {
        let size = size(&self.hooks).ok()?;
        if size == self.state().size {
            return None;
        }
        self.hooks.set_size(size).ok()?;
        let mut state = self.state();
        state.size = size;
        state.known = Default::default();
        Some(size)
    }
}
