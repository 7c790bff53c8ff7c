//! What a context's calls have the device do: its work, which ends with the next call
//! that hands it over (`eglSwapBuffers`, `glFlush`) or waits for it (`glFinish`,
//! `glReadPixels`). It is one operation of the host's timeline.
//!
//! How long it lasts: between two counters of the device, where the driver has them
//! (`GL_EXT_disjoint_timer_query`) and the program itself decides when to wait. Else as
//! long as `glFinish` takes behind the work's last call. A driver's time elapsed
//! (`GL_TIME_ELAPSED_EXT`) is not asked for: a context has one such query, which is the
//! program's.

use super::gles::generated::Functions;
use super::gles::generated::types::*;
use std::ffi::CStr;
use std::time::Instant;

/// `GL_TIMESTAMP_EXT`, of `GL_EXT_disjoint_timer_query`.
const TIMESTAMP: GLenum = 0x8E28;
/// `GL_QUERY_COUNTER_BITS_EXT`.
const COUNTER_BITS: GLenum = 0x8864;
/// `GL_QUERY_RESULT_EXT`.
const RESULT: GLenum = 0x8866;

/// Renderers on the CPU. They rasterize a frame part by part, and both of a part's
/// counters are read within it: llvmpipe's say 1 ms of a frame of 300 ms.
const ON_THE_CPU: [&str; 4] = ["llvmpipe", "softpipe", "swrast", "SwiftShader"];

/// A context's work since the call that ended the work before.
#[derive(Debug, Default)]
pub struct Work {
    timer: Timer,
    begun: Option<Instant>,
}

/// How a context's driver tells the time of its work.
#[derive(Debug, Default)]
enum Timer {
    /// Nobody has looked.
    #[default]
    Unknown,
    /// By a finish.
    None,
    /// By the counters of these queries.
    Counters { first: GLuint, last: GLuint },
}

impl Work {
    /// A call comes that may be the work's first. Its context is current here.
    pub fn begin(&mut self, gl: &Functions) {
        if self.begun.is_some() {
            return;
        }
        if let Timer::Unknown = self.timer {
            self.timer = Timer::of(gl);
        }
        if let Timer::Counters { first, .. } = self.timer {
            count(gl, first);
            self.begun = Some(Instant::now());
        }
    }

    /// Waits until the work is done; how many nanoseconds it took. Its context is current
    /// here.
    pub fn end(&mut self, gl: &Functions) -> u64 {
        let begun = self.begun.take();
        if let (Timer::Counters { last, .. }, Some(_)) = (&self.timer, begun) {
            count(gl, *last);
        }
        let finished = finish(gl);
        let counted = begun.and_then(|begun| {
            let counted = self.timer.between(gl)?;
            // A counter that was set anew, as by another clock rate, says anything.
            (counted <= nanos(begun)).then_some(counted)
        });
        counted.unwrap_or(finished)
    }
}

impl Timer {
    fn of(gl: &Functions) -> Self {
        Self::counters(gl).unwrap_or(Self::None)
    }

    fn counters(gl: &Functions) -> Option<Self> {
        gl.glQueryCounterEXT.and(gl.glGetQueryObjectui64vEXT)?;
        let (text, query, generate) = (gl.glGetString?, gl.glGetQueryiv?, gl.glGenQueries?);
        let error = gl.glGetError?;
        let is_there = |name, words: &[&str]| {
            // SAFETY: a text of the driver's, or null.
            let text = unsafe {
                let text = text(name);
                (!text.is_null()).then(|| CStr::from_ptr(text.cast()).to_string_lossy())
            };
            text.is_some_and(|text| words.iter().any(|word| text.contains(word)))
        };
        if !is_there(GL_EXTENSIONS, &["GL_EXT_disjoint_timer_query"])
            || is_there(GL_RENDERER, &ON_THE_CPU)
        {
            return None;
        }
        let (mut bits, mut names) = (0, [0; 2]);
        // SAFETY: there is space for one number, and for two.
        unsafe {
            query(TIMESTAMP, COUNTER_BITS, &mut bits);
            if bits > 0 {
                generate(2, names.as_mut_ptr());
            }
            // Nothing was called before in this context: it is none of the program's.
            error();
        }
        let [first, last] = names;
        (first != 0 && last != 0).then_some(Self::Counters { first, last })
    }

    /// Nanoseconds between the two counters.
    fn between(&self, gl: &Functions) -> Option<u64> {
        let Self::Counters { first, last } = *self else {
            return None;
        };
        let get = gl.glGetQueryObjectui64vEXT?;
        let value = |name| {
            let mut value = 0;
            // SAFETY: there is space for one number.
            unsafe { get(name, RESULT, &mut value) };
            value
        };
        value(last).checked_sub(value(first))
    }
}

fn count(gl: &Functions, name: GLuint) {
    if let Some(function) = gl.glQueryCounterEXT {
        // SAFETY: it takes any name.
        unsafe { function(name, TIMESTAMP) };
    }
}

/// Waits until all that the current context was asked for is done; for how many
/// nanoseconds.
pub fn finish(gl: &Functions) -> u64 {
    let began = Instant::now();
    if let Some(function) = gl.glFinish {
        // SAFETY: it has no conditions.
        unsafe { function() };
    }
    nanos(began)
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
