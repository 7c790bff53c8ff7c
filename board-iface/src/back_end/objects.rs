//! A session's objects, as calls use, create and release them.

use super::refusal::Refusal;
use super::table::{Kind, Pointer, Table};
use gil_wire::call::{Handle, Property};
use std::ffi::c_void;
use std::fmt::Debug;

/// A driver that counts the references to its objects. Kinds that are not
/// counted are kept, and go, as the driver has it.
pub trait References: Debug {
    /// The kinds of object.
    type Kind: Kind;

    /// Takes one more reference to an object, which is alive.
    fn retain(&self, kind: Self::Kind, object: Pointer);

    /// Gives up a reference that the caller owns.
    fn release(&self, kind: Self::Kind, object: Pointer);
}

/// A reference to an object of a driver's, given up when it is dropped.
#[derive(Debug)]
pub struct Reference<D: References + 'static> {
    driver: &'static D,
    /// The object's kind.
    pub kind: D::Kind,
    /// The object.
    pub object: Pointer,
}

impl<D: References> Reference<D> {
    /// Takes one more reference to an object that is alive.
    pub fn new(driver: &'static D, kind: D::Kind, object: Pointer) -> Self {
        driver.retain(kind, object);
        Self {
            driver,
            kind,
            object,
        }
    }
}

impl<D: References> Clone for Reference<D> {
    fn clone(&self) -> Self {
        Self::new(self.driver, self.kind, self.object)
    }
}

impl<D: References> Drop for Reference<D> {
    fn drop(&mut self) {
        self.driver.release(self.kind, self.object);
    }
}

/// A session whose calls name objects. Generated dispatch calls these methods;
/// an API gives the first few, the others follow from its table.
pub trait Objects {
    /// The kinds of object.
    type Kind: Kind;
    /// The session's data about an object.
    type Data: From<Self::Kind>;
    /// Counts references.
    type Driver: References<Kind = Self::Kind> + 'static;
    /// The API's functions, as far as this board has them.
    type Functions: 'static;

    /// The driver.
    fn driver(&self) -> &'static Self::Driver;

    /// The driver's functions.
    fn functions(&self) -> &'static Self::Functions;

    /// The session's objects.
    fn table(&self) -> &Table<Self::Kind, Self::Data>;

    /// The same, to change them.
    fn table_mut(&mut self) -> &mut Table<Self::Kind, Self::Data>;

    /// Whether an object that a call made may be the guest's.
    ///
    /// # Errors
    /// [`Refusal`]: the object is released then.
    fn admit(&mut self, _kind: Self::Kind, _object: Pointer) -> Result<(), Refusal> {
        Ok(())
    }

    /// An object that a call made has its number; it is of this parent.
    ///
    /// # Errors
    /// [`Refusal`]; the object has its number all the same.
    fn entered(
        &mut self,
        _kind: Self::Kind,
        _number: Handle,
        _parent: Handle,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// The object with this number.
    ///
    /// # Errors
    /// [`Refusal::Table`] if it is NULL, unknown, or of another kind.
    fn get<T>(&self, kind: Self::Kind, handle: Handle) -> Result<*mut T, Refusal> {
        Ok(self.table().get(handle, kind)?.as_ptr().cast())
    }

    /// As [`get`](Self::get), and null for NULL.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    fn get_optional<T>(&self, kind: Self::Kind, handle: Handle) -> Result<*mut T, Refusal> {
        if handle.is_null() {
            return Ok(std::ptr::null_mut());
        }
        self.get(kind, handle)
    }

    /// The objects with these numbers.
    ///
    /// # Errors
    /// [`Refusal::Table`] for the first that is not there.
    fn list<T>(&self, kind: Self::Kind, handles: &[Handle]) -> Result<Vec<*mut T>, Refusal> {
        let object = |handle: &Handle| self.get(kind, *handle);
        handles.iter().map(object).collect()
    }

    /// Whether the guest may give a new object this number.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    fn can_bind(&self, number: Handle) -> Result<(), Refusal> {
        Ok(self.table().vacant(number)?)
    }

    /// Enters an object that the call made under the guest's number. The
    /// session owns the reference from here on.
    ///
    /// # Errors
    /// [`Refusal::Table`] if the number cannot be used, or as
    /// [`admit`](Self::admit) says: the object is released.
    fn bind<T>(
        &mut self,
        kind: Self::Kind,
        number: Handle,
        object: *mut T,
        parent: Handle,
    ) -> Result<(), Refusal> {
        self.bind_with(kind, number, object, kind.into())?;
        self.entered(kind, number, parent)
    }

    /// As [`bind`](Self::bind), with what is to be kept of the object.
    ///
    /// # Errors
    /// As [`bind`](Self::bind).
    fn bind_with<T>(
        &mut self,
        kind: Self::Kind,
        number: Handle,
        object: *mut T,
        data: Self::Data,
    ) -> Result<(), Refusal> {
        let Some(pointer) = Pointer::new(object.cast()) else {
            return Err(Refusal::parameter("new object", 0));
        };
        let mut bound = self.admit(kind, pointer);
        if bound.is_ok() {
            let entered = self.table_mut().insert(number, kind, pointer, data);
            bound = entered.map_err(Refusal::from);
        }
        if bound.is_err() {
            self.driver().release(kind, pointer);
        }
        bound
    }

    /// The number of an object that a query named; NULL for null, and when the
    /// session has too many objects.
    fn found<T>(&mut self, kind: Self::Kind, object: *mut T) -> Handle {
        let Some(pointer) = Pointer::new(object.cast()) else {
            return Handle::NULL;
        };
        let driver = self.driver();
        let retain = || driver.retain(kind, pointer);
        let number = self.table_mut().found(kind, pointer, retain);
        number.unwrap_or(Handle::NULL)
    }

    /// The board's number for an object that a call made, whose reference is the
    /// session's from here on; NULL as with [`found`](Self::found).
    fn made<T>(&mut self, kind: Self::Kind, object: *mut T) -> Handle {
        let Some(pointer) = Pointer::new(object.cast()) else {
            return Handle::NULL;
        };
        self.table_mut().made(kind, pointer).unwrap_or_else(|_| {
            self.driver().release(kind, pointer);
            Handle::NULL
        })
    }

    /// The guest's last reference is gone. What operations under way use, the
    /// driver or the operation itself keeps.
    ///
    /// # Errors
    /// [`Refusal::Table`].
    fn release(&mut self, kind: Self::Kind, number: Handle) -> Result<(), Refusal> {
        let (pointer, data) = self.table_mut().remove(number, kind)?;
        drop(data);
        self.driver().release(kind, pointer);
        Ok(())
    }

    /// Releases all objects; how many the guest had made.
    fn release_all(&mut self) -> usize {
        let driver = self.driver();
        let mut left = 0;
        for (number, object, data) in self.table_mut().drain() {
            drop(data);
            driver.release(object.kind, object.pointer);
            left += usize::from(!number.is_boards());
        }
        left
    }

    /// A property list for the driver: flat, terminated by 0.
    ///
    /// # Errors
    /// [`Refusal::Parameter`] for an object under a key that has none, or a
    /// number under one that has; [`Refusal::Table`].
    fn properties(
        &self,
        list: &Option<Vec<Property>>,
        kinds: &[(u64, Self::Kind)],
    ) -> Result<Option<Vec<u64>>, Refusal> {
        self.properties_until(0, list, kinds)
    }

    /// The same, terminated by another word.
    ///
    /// # Errors
    /// As [`properties`](Self::properties).
    fn properties_until(
        &self,
        end: u64,
        list: &Option<Vec<Property>>,
        kinds: &[(u64, Self::Kind)],
    ) -> Result<Option<Vec<u64>>, Refusal> {
        let Some(list) = list else { return Ok(None) };
        let kind_of = |key: u64| kinds.iter().find(|(k, _)| *k == key).map(|(_, kind)| *kind);
        let mut flat = Vec::new();
        for property in list {
            match property {
                Property::Word(key, word) if kind_of(*key).is_none() => flat.extend([*key, *word]),
                Property::Many(key, words) if kind_of(*key).is_none() => {
                    flat.push(*key);
                    flat.extend(words.iter().chain([&0]));
                }
                Property::Handle(key, handle) => {
                    let none = || Refusal::parameter("properties", *key);
                    let object = self.get::<c_void>(kind_of(*key).ok_or_else(none)?, *handle)?;
                    // With its sign, as all words of the list.
                    flat.extend([*key, object as isize as u64]);
                }
                Property::Word(key, _) | Property::Many(key, _) => {
                    return Err(Refusal::parameter("properties", *key));
                }
            }
        }
        flat.push(end);
        Ok(Some(flat))
    }
}

#[cfg(test)]
mod tests;
