//! What a library keeps with a context: a value for each key, and a function that is called
//! when the context is destroyed.

use super::super::{context, place};
use super::{Id, Table};
use crate::generated::manual::Guest;
use crate::generated::types::*;
use context::Context;
use gil_guest::api::{Api, CallResult};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) const ID: Id = [
    0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93,
];

/// Without its size.
pub(super) static TABLE: Table<4> = Table::of(&[
    (0, put as *const c_void),
    (1, delete as *const c_void),
    (2, get as *const c_void),
]);

/// A library's function: the context, the key, the value.
type End = unsafe extern "C" fn(CUcontext, *mut c_void, *mut c_void);

/// A value.
#[derive(Debug)]
struct Stored {
    key: usize,
    value: usize,
    end: Option<End>,
}

/// A context's values.
#[derive(Debug, Default)]
pub struct Storage(Mutex<Vec<Stored>>);

impl Storage {
    fn all(&self) -> MutexGuard<'_, Vec<Stored>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, new: Stored) {
        let mut all = self.all();
        all.retain(|known| known.key != new.key);
        all.push(new);
    }

    fn delete(&self, key: usize) {
        self.all().retain(|known| known.key != key);
    }

    fn get(&self, key: usize) -> CallResult<usize> {
        let all = self.all();
        let known = all.iter().find(|known| known.key == key);
        known.map(|it| it.value).ok_or(CUDA_ERROR_INVALID_HANDLE)
    }

    /// The context of this handle is destroyed: the library's functions are called.
    pub fn end(&self, context: CUcontext) {
        let all = std::mem::take(&mut *self.all());
        for stored in all {
            let (key, value) = (pointer(stored.key), pointer(stored.value));
            if let Some(end) = stored.end {
                // SAFETY: the library's promise: it is called with these.
                unsafe { end(context, key, value) };
            }
        }
    }
}

fn pointer(address: usize) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(address)
}

/// The context of a handle, or that of the thread for null.
fn of(handle: CUcontext) -> CallResult<Arc<Context>> {
    context::initialized()?;
    match handle.is_null() {
        true => context::with(|context| Ok(context.clone())),
        false => Ok(context::find(handle)?.1),
    }
}

/// As [`of`], where a context that is destroyed is an error.
fn of_live(handle: CUcontext) -> CallResult<Arc<Context>> {
    let context = of(handle)?;
    match context.is_destroyed() {
        true => Err(CUDA_ERROR_CONTEXT_IS_DESTROYED),
        false => Ok(context),
    }
}

/// Keeps a value, in the place of an earlier one of its key.
unsafe extern "C" fn put(
    context: CUcontext,
    key: *mut c_void,
    value: *mut c_void,
    end: Option<End>,
) -> CUresult {
    Guest::returned(|| {
        let context = of_live(context)?;
        context.storage.put(Stored {
            key: key.expose_provenance(),
            value: value.expose_provenance(),
            end,
        });
        Ok(())
    })
}

/// Forgets a value. Its function is not called.
unsafe extern "C" fn delete(context: CUcontext, key: *mut c_void) -> CUresult {
    Guest::returned(|| {
        of(context)?.storage.delete(key.addr());
        Ok(())
    })
}

/// The value of a key; `CUDA_ERROR_INVALID_HANDLE` if there is none.
unsafe extern "C" fn get(
    value: *mut *mut c_void,
    context: CUcontext,
    key: *mut c_void,
) -> CUresult {
    Guest::returned(|| {
        let to = place(value)?;
        let value = of_live(context)?.storage.get(key.addr())?;
        // SAFETY: the caller's place.
        unsafe { to.write(pointer(value)) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static ENDED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn ends(context: CUcontext, key: *mut c_void, value: *mut c_void) {
        let told = [context.addr(), key.addr(), value.addr()];
        assert_eq!(told, [7, 1, 20]);
        ENDED.fetch_add(1, Ordering::Relaxed);
    }

    #[test]
    fn values_are_kept_by_their_keys_until_the_context_ends() {
        let storage = Storage::default();
        let new = |key, value, end| Stored { key, value, end };
        storage.put(new(1, 10, None));
        storage.put(new(1, 20, Some(ends)));
        storage.put(new(2, 30, Some(ends)));
        assert_eq!((storage.get(1), storage.get(2)), (Ok(20), Ok(30)));
        storage.delete(2);
        assert_eq!(storage.get(2), Err(CUDA_ERROR_INVALID_HANDLE));
        storage.end(pointer(7).cast());
        assert_eq!(ENDED.load(Ordering::Relaxed), 1);
        assert_eq!(storage.get(1), Err(CUDA_ERROR_INVALID_HANDLE));
        storage.end(pointer(7).cast());
        assert_eq!(ENDED.load(Ordering::Relaxed), 1);
    }
}
