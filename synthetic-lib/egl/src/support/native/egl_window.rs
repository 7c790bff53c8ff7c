//! `wl_egl_window`: the structure of libwayland-egl by which a program names its window.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The structure. Source: `wayland-egl-backend.h`, version 3.
#[repr(C)]
struct Layout {
    version: isize,
    width: c_int,
    height: c_int,
    dx: c_int,
    dy: c_int,
    attached_width: c_int,
    attached_height: c_int,
    driver_private: *mut c_void,
    resize_callback: Option<unsafe extern "C" fn(*mut Layout, *mut c_void)>,
    destroy_window_callback: Option<unsafe extern "C" fn(*mut c_void)>,
    surface: *mut c_void,
}

/// The version that the structure has.
const VERSION: isize = 3;

/// Whether the program still has a window; locked while its structure is used.
type IsThere = Mutex<bool>;

/// A program's window, which the program may destroy at any time.
#[derive(Debug)]
pub struct EglWindow {
    address: usize,
    is_there: Arc<IsThere>,
    /// Whether the structure names `is_there`: of two that are opened with it the first.
    is_named: bool,
}

impl EglWindow {
    /// The window at an address; none if there is no such structure.
    ///
    /// # Safety
    /// `address` is 0 or a window of the program's.
    pub unsafe fn open(address: usize) -> Option<Self> {
        let window = address as *mut Layout;
        if window.is_null() || !window.is_aligned() {
            return None;
        }
        // SAFETY: the caller's.
        let window = unsafe { &mut *window };
        if window.version != VERSION {
            return None;
        }
        let is_there = Arc::new(Mutex::new(true));
        let is_named = window.driver_private.is_null();
        if is_named {
            window.driver_private = Arc::into_raw(is_there.clone()).cast_mut().cast();
            window.destroy_window_callback = Some(destroyed);
        }
        Some(Self {
            address,
            is_there,
            is_named,
        })
    }

    /// Where it is.
    pub fn address(&self) -> usize {
        self.address
    }

    /// The proxy of its `wl_surface`; none if the window is gone.
    pub fn surface(&self) -> Option<*mut c_void> {
        self.with(|window| window.surface)
    }

    /// The size that the program wants from the next frame on; none if the window is gone.
    pub fn size(&self) -> Option<(u32, u32)> {
        let side = |side: c_int| u32::try_from(side).unwrap_or(0).max(1);
        self.with(|window| (side(window.width), side(window.height)))
    }

    fn with<R>(&self, use_it: impl FnOnce(&mut Layout) -> R) -> Option<R> {
        let is_there = locked(&self.is_there);
        // SAFETY: the program still has it, and its end waits for the lock.
        is_there.then(|| use_it(unsafe { &mut *(self.address as *mut Layout) }))
    }
}

impl Drop for EglWindow {
    fn drop(&mut self) {
        if !self.is_named {
            return;
        }
        let named = self.with(|window| {
            window.destroy_window_callback = None;
            std::mem::replace(&mut window.driver_private, null_mut())
        });
        if let Some(named) = named {
            // SAFETY: `open` made it, and the structure names it no more.
            drop(unsafe { Arc::from_raw(named.cast::<IsThere>().cast_const()) });
        }
    }
}

/// The program destroys the window.
unsafe extern "C" fn destroyed(named: *mut c_void) {
    // SAFETY: `open` made it; the structure that named it is gone after this.
    let is_there = unsafe { Arc::from_raw(named.cast::<IsThere>().cast_const()) };
    *locked(&is_there) = false;
}

fn locked(is_there: &IsThere) -> MutexGuard<'_, bool> {
    is_there.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Box<Layout> {
        Box::new(Layout {
            version: VERSION,
            width: 30,
            height: -1,
            dx: 0,
            dy: 0,
            attached_width: 0,
            attached_height: 0,
            driver_private: null_mut(),
            resize_callback: None,
            destroy_window_callback: None,
            surface: 8 as *mut c_void,
        })
    }

    fn open(window: &mut Layout) -> Option<EglWindow> {
        // SAFETY: it is one.
        unsafe { EglWindow::open(std::ptr::from_mut(window) as usize) }
    }

    #[test]
    fn a_window_that_is_destroyed_is_used_no_more() {
        let mut window = window();
        let opened = open(&mut window).unwrap();
        assert_eq!(opened.size(), Some((30, 1)));
        let (ends, with) = (window.destroy_window_callback, window.driver_private);
        // SAFETY: as libwayland-egl does it.
        unsafe { ends.unwrap()(with) };
        window.width = 40;
        assert_eq!((opened.size(), opened.surface()), (None, None));
        drop(opened);
        assert_eq!(window.driver_private, with);
    }

    #[test]
    fn a_window_may_be_opened_again_once_its_surface_is_gone() {
        let mut window = window();
        let first = open(&mut window).unwrap();
        let second = open(&mut window).unwrap();
        drop(second);
        assert!(window.destroy_window_callback.is_some());
        drop(first);
        assert!(window.driver_private.is_null() && window.destroy_window_callback.is_none());
        assert!(open(&mut window).is_some());
    }

    #[test]
    fn what_is_no_window_is_none() {
        let mut window = window();
        window.version = 2;
        assert!(open(&mut window).is_none());
        // SAFETY: neither is read.
        let none = [0, 1].map(|address| unsafe { EglWindow::open(address) }.is_none());
        assert_eq!(none, [true, true]);
    }
}
