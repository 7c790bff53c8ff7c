//! Handles: a program's, and whether they stand for anything.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Objects of one kind. A handle is a number that is never used again, so that
/// one that is dead stands for nothing.
#[derive(Debug)]
pub struct Handles<T>(Mutex<Option<Live<T>>>);

#[derive(Debug)]
struct Live<T> {
    objects: HashMap<usize, Arc<T>>,
    given: usize,
}

impl<T> Handles<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Live<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new object's handle.
    pub fn add(&self, object: T) -> *mut c_void {
        let mut lock = self.lock();
        let live = lock.get_or_insert_with(|| Live {
            objects: HashMap::new(),
            given: 0,
        });
        live.given += 1;
        let handle = live.given * 16;
        live.objects.insert(handle, Arc::new(object));
        std::ptr::without_provenance_mut(handle)
    }

    /// The live object behind a handle.
    pub fn get(&self, handle: *mut c_void) -> Option<Arc<T>> {
        let lock = self.lock();
        lock.as_ref()?.objects.get(&handle.addr()).cloned()
    }

    /// The same, whose handle is dead from here on.
    pub fn remove(&self, handle: *mut c_void) -> Option<Arc<T>> {
        self.lock().as_mut()?.objects.remove(&handle.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_handle_stands_for_nothing() {
        let handles = Handles::new();
        let (one, two) = (handles.add(1), handles.add(2));
        assert_eq!(handles.get(one).as_deref(), Some(&1));
        assert_eq!(handles.remove(one).as_deref(), Some(&1));
        assert!(handles.get(one).is_none() && handles.remove(one).is_none());
        assert_eq!(handles.get(two).as_deref(), Some(&2));
        assert_ne!(handles.add(3), one);
        assert!(handles.get(std::ptr::null_mut()).is_none());
    }
}
