//! What the library knows of a context's state without asking: what the calls of this
//! process made it.

use super::fixed::Fixed;
use super::reach::Reach;
use super::{Context, debug, images};
use crate::generated::types::*;
use foldhash::HashMap;
use gil_egl::support::current;
use gil_egl::support::details::Details;
use gil_gles_common::arrays::Layout;
use gil_gles_common::fixed;
use gil_gles_common::pixels::Store;
use gil_guest::api::CallResult;
use gil_wire::call::Handle;
use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The state of one context.
#[derive(Debug, Default)]
pub struct Shadow {
    /// How pictures lie that the API reads.
    pub unpack: Store,
    /// How pictures lie that it writes.
    pub pack: Store,
    /// Whether a primitive restarts at the largest index.
    pub restarts: bool,
    /// The buffers that are bound, by target; not that of indices.
    buffers: Vec<(u32, u32)>,
    /// The vertex array that is bound.
    vertex_array: u32,
    /// That which has no number.
    no_array: VertexArray,
    /// Vertex arrays, by number.
    vertex_arrays: HashMap<u32, VertexArray>,
    /// Buffers that the program has in its memory, by number.
    pub mapped: HashMap<u32, Mapped>,
    /// Which textures and renderbuffers its calls reach.
    pub reach: Reach,
    /// Its number, by which [`super::images`] knows what it drew to.
    number: u64,
    /// Who gets the driver's messages.
    pub debug: debug::Receiver,
    /// Those that were in the driver's log before anybody got them.
    pub debug_log: VecDeque<debug::log::Message>,
    /// Whether before the call returns that they are about.
    pub debugs_at_once: bool,
    /// While they are delivered.
    pub is_delivering: bool,
    /// Of a context of OpenGL ES 1.1, what others do not have.
    pub fixed: Option<Fixed>,
    /// What `glGetString` gave.
    pub texts: HashMap<u32, &'static CStr>,
}

/// A vertex array: attributes, and a buffer of indices.
#[derive(Debug, Default)]
pub struct VertexArray {
    /// `GL_ELEMENT_ARRAY_BUFFER`'s.
    pub element_buffer: u32,
    /// By number, as far as the program used them: vertex attributes, or the arrays of
    /// OpenGL ES 1.1.
    pub attributes: Vec<Attribute>,
}

/// A part of a buffer that the program has in its memory.
#[derive(Debug)]
pub struct Mapped {
    /// What the program may do with it.
    pub access: u32,
    /// The memory.
    pub bytes: Box<[u8]>,
}

/// A vertex attribute, or an array of OpenGL ES 1.1.
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
    /// So many instances have an element; 0: each vertex has one.
    pub divisor: u32,
}

impl Attribute {
    /// Whether draws read its array in the program's memory.
    pub fn is_in_memory(&self) -> bool {
        self.is_enabled && self.buffer == 0 && self.pointer != 0
    }
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
    /// Whether integers stay integers: `glVertexAttribIPointer`.
    pub is_integer: bool,
    /// Bytes between elements, as the program said it.
    pub stride: i32,
}

/// More targets of buffers than any API has.
const TARGETS_MAX: usize = 64;
/// More attributes than any board has.
const ATTRIBUTES_MAX: usize = 256;

impl Shadow {
    /// The buffer that is bound to a target.
    pub fn buffer(&self, target: u32) -> u32 {
        match target {
            GL_ELEMENT_ARRAY_BUFFER => self.current_array().map_or(0, |it| it.element_buffer),
            _ => {
                let bound = self.buffers.iter().find(|(one, _)| *one == target);
                bound.map_or(0, |(_, buffer)| *buffer)
            }
        }
    }

    /// Whether a buffer has the pictures of this target. OpenGL ES 1.1 knows no such
    /// buffers.
    pub fn has_pixel_buffer(&self, target: u32) -> bool {
        self.fixed.is_none() && self.buffer(target) != 0
    }

    /// Binds a buffer to a target.
    pub fn bind_buffer(&mut self, target: u32, buffer: u32) {
        let has_room = self.buffers.len() < TARGETS_MAX;
        match target {
            GL_ELEMENT_ARRAY_BUFFER => self.array().element_buffer = buffer,
            _ => match self.buffers.iter_mut().find(|(one, _)| *one == target) {
                Some((_, bound)) => *bound = buffer,
                // No board has more targets: what is none is not kept.
                None if has_room => self.buffers.push((target, buffer)),
                None => {}
            },
        }
    }

    /// Whether a vertex array of the program's own is bound: its attributes are never in
    /// the program's memory.
    pub fn has_vertex_array(&self) -> bool {
        self.vertex_array != 0
    }

    /// Binds a vertex array.
    pub fn bind_vertex_array(&mut self, array: u32) {
        self.vertex_array = array;
    }

    /// A vertex array is gone.
    pub fn forget_vertex_array(&mut self, array: u32) {
        self.vertex_arrays.remove(&array);
        if self.vertex_array == array {
            self.vertex_array = 0;
        }
    }

    fn current_array(&self) -> Option<&VertexArray> {
        match self.vertex_array {
            0 => Some(&self.no_array),
            array => self.vertex_arrays.get(&array),
        }
    }

    /// The vertex array that is bound.
    pub fn array(&mut self) -> &mut VertexArray {
        match self.vertex_array {
            0 => &mut self.no_array,
            array => self.vertex_arrays.entry(array).or_default(),
        }
    }

    /// Its attribute of this number; none if no board has so many, or in OpenGL ES 1.1.
    pub fn attribute(&mut self, index: u32) -> Option<&mut Attribute> {
        match self.fixed {
            None => self.place(index),
            Some(_) => None,
        }
    }

    /// Its array of OpenGL ES 1.1; none in another context.
    pub fn fixed_array(&mut self, array: fixed::Array) -> Option<&mut Attribute> {
        self.fixed?;
        self.place(array.number())
    }

    fn place(&mut self, index: u32) -> Option<&mut Attribute> {
        let at = usize::try_from(index)
            .ok()
            .filter(|at| *at < ATTRIBUTES_MAX)?;
        let attributes = &mut self.array().attributes;
        if attributes.len() <= at {
            attributes.resize(at + 1, Attribute::default());
        }
        attributes.get_mut(at)
    }

    /// Whether draws read arrays in the program's memory.
    pub fn reads_memory(&self) -> bool {
        !self.has_vertex_array() && self.no_array.attributes.iter().any(Attribute::is_in_memory)
    }

    /// Draws read an attribute's array from now on, or its constant.
    pub fn enable(&mut self, index: u32, is_enabled: bool) {
        if let Some(attribute) = self.attribute(index) {
            attribute.is_enabled = is_enabled;
        }
    }

    /// A buffer is gone: what names it in this context, and in its vertex array, names
    /// none.
    pub fn forget_buffer(&mut self, buffer: u32) {
        self.buffers.retain(|(_, bound)| *bound != buffer);
        self.mapped.remove(&buffer);
        let array = self.array();
        if array.element_buffer == buffer {
            array.element_buffer = 0;
        }
        for attribute in array.attributes.iter_mut().filter(|it| it.buffer == buffer) {
            *attribute = Attribute {
                is_enabled: attribute.is_enabled,
                divisor: attribute.divisor,
                ..Attribute::default()
            };
        }
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        images::forget(self.number);
    }
}

/// A context's state, shared by the context and the threads that it was current in.
type Shared = Arc<Mutex<Shadow>>;

thread_local! {
    /// The state that the thread used last, and the number of its context: those of most
    /// calls. A context's number is never given again.
    static LAST: RefCell<Option<(Handle, Shared)>> = const { RefCell::new(None) };
}

/// Has `use_it` use the state of the thread's context.
///
/// # Errors
/// The API's code if there is none, as in a thread that is ending.
#[inline(always)]
pub fn with<R>(use_it: impl FnOnce(&mut Shadow) -> R) -> CallResult<R> {
    let number = current::number();
    let used = LAST.try_with(|last| {
        if last.borrow().as_ref().is_none_or(|(of, _)| *of != number) {
            find(last)?;
        }
        // Here once, so that it is no function: most calls are this.
        let last = last.borrow();
        let (_, shadow) = last.as_ref().ok_or(GL_INVALID_OPERATION as i32)?;
        Ok(use_it(&mut locked(shadow)))
    });
    used.unwrap_or(Err(GL_INVALID_OPERATION as i32))
}

/// Finds the state of the thread's context, where it used another's last.
#[cold]
fn find(last: &RefCell<Option<(Handle, Shared)>>) -> CallResult<()> {
    let shadow = current::with(|context| shared(context).clone());
    let shadow = shadow.ok_or(GL_INVALID_OPERATION as i32)?;
    let before = last.replace(Some((current::number(), shadow)));
    drop(before);
    Ok(())
}

/// A context's state. No other thread has it: the context is current in this one.
pub fn of(context: &Context) -> MutexGuard<'_, Shadow> {
    locked(shared(context))
}

fn locked(shadow: &Shared) -> MutexGuard<'_, Shadow> {
    shadow.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared(context: &Context) -> &Shared {
    let make = |version: (i32, i32)| {
        let mut shadow = Shadow::default();
        shadow.fixed = (version.0 <= 1).then(Fixed::default);
        shadow.number = context.number().0;
        Box::new(Arc::new(Mutex::new(shadow))) as Box<dyn Any + Send + Sync>
    };
    let kept = match context.details() {
        Details::Context(kept) => kept.client.get_or_init(|| make(kept.version)),
        other => unreachable!("only contexts are current: {other:?}"),
    };
    kept.downcast_ref().expect("only this library keeps it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_buffer_is_bound_nowhere() {
        let mut shadow = Shadow::default();
        shadow.bind_buffer(GL_ARRAY_BUFFER, 3);
        shadow.bind_buffer(GL_ELEMENT_ARRAY_BUFFER, 4);
        shadow.attribute(2).unwrap().buffer = 3;
        shadow.attribute(2).unwrap().is_enabled = true;
        shadow.forget_buffer(3);
        assert_eq!(shadow.buffer(GL_ARRAY_BUFFER), 0);
        assert_eq!(shadow.buffer(GL_ELEMENT_ARRAY_BUFFER), 4);
        let left = shadow.array().attributes[2];
        assert!(left.is_enabled && left.buffer == 0);
        assert!(shadow.attribute(u32::MAX).is_none());
    }

    #[test]
    fn arrays_are_those_of_the_contexts_version() {
        let mut shadow = Shadow::default();
        assert!(shadow.fixed_array(fixed::Array::Color).is_none());
        shadow.fixed = Some(Fixed::default());
        assert!(shadow.attribute(2).is_none());
        shadow.fixed_array(fixed::Array::Color).unwrap().is_enabled = true;
        assert!(shadow.array().attributes[2].is_enabled);
    }

    #[test]
    fn indices_and_attributes_belong_to_the_vertex_array() {
        let mut shadow = Shadow::default();
        shadow.bind_buffer(GL_ELEMENT_ARRAY_BUFFER, 4);
        shadow.bind_vertex_array(7);
        assert_eq!(shadow.buffer(GL_ELEMENT_ARRAY_BUFFER), 0);
        shadow.attribute(0).unwrap().is_enabled = true;
        shadow.forget_vertex_array(7);
        assert!(!shadow.has_vertex_array());
        assert!(!shadow.attribute(0).unwrap().is_enabled);
        assert_eq!(shadow.buffer(GL_ELEMENT_ARRAY_BUFFER), 4);
    }
}
