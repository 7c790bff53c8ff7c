//! Values of uniforms.

use crate::generated::manual::{Guest, Request};
use crate::generated::types::*;
use gil_guest::api::{CallResult, Current};
use gil_wire::envelope::Class;
use gil_wire::generated::gles as wire;

/// More values than a uniform has: a 4 × 4 matrix.
const VALUES: usize = 16;
/// Bytes of one.
const BYTES: usize = 4;

/// A function that asks for values of one type.
macro_rules! query {
    ($(#[$doc:meta])* $name:ident, $value:ty, $op:ident, $args:ident, $reply:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// The API's code.
        ///
        /// # Safety
        /// There is space for the uniform's values, or for `bytes` bytes.
        pub unsafe fn $name(
            entry: u64,
            (program, location): (GLuint, GLint),
            bytes: Option<GLsizei>,
            params: *mut $value,
        ) -> CallResult<()> {
            let request = Request::new(wire::$op, Class::Query, entry);
            let args = wire::$args {
                current: Guest::current()?.number(),
                program,
                location,
            };
            request.forward(&args, |reply| {
                let reply: wire::$reply = reply.decode()?;
                // SAFETY: the caller's; the board's driver wrote as many.
                unsafe { write(&reply.values, bytes, params.cast()) }
            })
        }
    };
}

query!(
    /// `glGetUniformfv`, and `glGetnUniformfv` with the bytes that there are.
    floats, GLfloat, GL_GET_UNIFORMFV, GlGetUniformfvArgs, GlGetUniformfvReply
);
query!(
    /// `glGetUniformiv`, and `glGetnUniformiv` with the bytes that there are.
    integers, GLint, GL_GET_UNIFORMIV, GlGetUniformivArgs, GlGetUniformivReply
);
query!(
    /// `glGetUniformuiv`, and `glGetnUniformuiv` with the bytes that there are.
    unsigned, GLuint, GL_GET_UNIFORMUIV, GlGetUniformuivArgs, GlGetUniformuivReply
);

/// Writes values, if there is space for them.
///
/// # Safety
/// There is, or `bytes` says how much.
unsafe fn write(values: &[u64], bytes: Option<GLsizei>, to: *mut u32) -> CallResult<()> {
    let values = &values[..values.len().min(VALUES)];
    if let Some(bytes) = bytes {
        // Room for less than nothing holds nothing.
        let bytes = usize::try_from(bytes).unwrap_or(0);
        if bytes < values.len() * BYTES {
            return Err(GL_INVALID_OPERATION as i32);
        }
    }
    for (n, word) in values.iter().enumerate() {
        // SAFETY: the caller's; they came as 32 bits.
        unsafe { to.add(n).write(*word as u32) };
    }
    Ok(())
}
