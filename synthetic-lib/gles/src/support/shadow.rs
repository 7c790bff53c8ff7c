//! What the library knows of a context's state without asking: what the calls of this
//! process made it.

use super::Context;
use gil_egl::support::details::Details;
use gil_gles_common::arrays::Layout;
use gil_gles_common::pixels::Store;
use std::any::Any;
use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The state of one context.
#[derive(Debug, Default)]
pub struct Shadow {
    /// How pictures lie that the API reads.
    pub unpack: Store,
    /// How pictures lie that it writes.
    pub pack: Store,
    /// `GL_ARRAY_BUFFER`'s.
    pub array_buffer: u32,
    /// `GL_ELEMENT_ARRAY_BUFFER`'s.
    pub element_buffer: u32,
    /// By number, as far as the program used them.
    pub attributes: Vec<Attribute>,
    /// What `glGetString` gave.
    pub texts: HashMap<u32, &'static CStr>,
}

/// A vertex attribute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attribute {
    /// Whether draws read its array.
    pub is_enabled: bool,
    /// The buffer that has the array; 0: the program's memory.
    pub buffer: u32,
    /// Its address there, or the offset in the buffer.
    pub pointer: usize,
    /// What `glVertexAttribPointer` said of it; none before that.
    pub array: Option<Array>,
}

/// An array, as the program described it.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Its bytes.
    pub layout: Layout,
    /// Components.
    pub size: i32,
    /// Their type.
    pub ty: u32,
    /// Whether integers stand for fractions.
    pub normalized: u8,
    /// Bytes between elements, as the program said it.
    pub stride: i32,
}

/// More attributes than any board has.
const ATTRIBUTES_MAX: usize = 256;

impl Shadow {
    /// The attribute of this number; none if no board has so many.
    pub fn attribute(&mut self, index: u32) -> Option<&mut Attribute> {
        let at = usize::try_from(index)
            .ok()
            .filter(|at| *at < ATTRIBUTES_MAX)?;
        if self.attributes.len() <= at {
            self.attributes.resize(at + 1, Attribute::default());
        }
        self.attributes.get_mut(at)
    }

    /// A buffer is gone: what named it in this context names none.
    pub fn forget_buffer(&mut self, buffer: u32) {
        let bound = [&mut self.array_buffer, &mut self.element_buffer];
        for bound in bound.into_iter().filter(|bound| **bound == buffer) {
            *bound = 0;
        }
        for attribute in self.attributes.iter_mut().filter(|it| it.buffer == buffer) {
            *attribute = Attribute {
                is_enabled: attribute.is_enabled,
                ..Attribute::default()
            };
        }
    }
}

/// A context's state. No other thread has it: the context is current in this one.
pub fn of(context: &Context) -> MutexGuard<'_, Shadow> {
    let make = || Box::new(Mutex::new(Shadow::default())) as Box<dyn Any + Send + Sync>;
    let kept = match context.details() {
        Details::Context(kept) => kept.client.get_or_init(make),
        other => unreachable!("only contexts are current: {other:?}"),
    };
    let shadow: &Mutex<Shadow> = kept.downcast_ref().expect("only this library keeps it");
    shadow.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_buffer_is_bound_nowhere() {
        let mut shadow = Shadow {
            array_buffer: 3,
            element_buffer: 4,
            ..Shadow::default()
        };
        shadow.attribute(2).unwrap().buffer = 3;
        shadow.attribute(2).unwrap().is_enabled = true;
        shadow.forget_buffer(3);
        assert_eq!((shadow.array_buffer, shadow.element_buffer), (0, 4));
        let left = shadow.attributes[2];
        assert!(left.is_enabled && left.buffer == 0);
        assert!(shadow.attribute(u32::MAX).is_none());
    }
}
