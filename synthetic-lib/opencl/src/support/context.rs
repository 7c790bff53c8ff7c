//! Objects of one context.

use crate::generated::manual::Object;
use gil_wire::call::Handle;
use gil_wire::generated::opencl::Kind;

/// The number of the context that an object belongs to.
pub(super) fn context_of(object: &Object) -> Option<Handle> {
    object.ancestor(Kind::Context)
}

/// The live command queues of an object's context.
pub(super) fn queues_of(object: &Object) -> Vec<Object> {
    let Some(context) = context_of(object) else {
        return Vec::new();
    };
    let mut queues = Object::all(Kind::CommandQueue);
    queues.retain(|queue| context_of(queue) == Some(context));
    queues
}

/// Whether all of these are of one context.
pub(super) fn is_one(objects: &[Object]) -> bool {
    objects
        .windows(2)
        .all(|two| context_of(&two[0]) == context_of(&two[1]))
}
