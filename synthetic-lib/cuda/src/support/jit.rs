//! The compiler's options of a load, and the program's places for what it tells.

use crate::generated::types::*;
use gil_cuda_common::jit::{
    self, ERROR_BYTES, ERROR_TEXT, INFO_BYTES, INFO_TEXT, LOG_MAX, TIME, Told,
};
use gil_guest::api::CallResult;
use std::ffi::c_void;

/// Most options.
const OPTIONS_MAX: u32 = jit::OPTIONS_MAX as u32;

/// The options of a load.
#[derive(Debug, Default)]
pub struct Options {
    /// Those of the compiler, as pairs of words.
    pub sent: Vec<u64>,
    /// Where the program has what it is told.
    pub places: Places,
}

/// A program's place for a text.
#[derive(Clone, Copy, Debug)]
struct Text {
    /// Null if it has none.
    buffer: *mut u8,
    /// The buffer's bytes.
    len: usize,
    /// The option's value, for how many bytes are filled; null if there is no such option.
    filled: *mut *mut c_void,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            buffer: std::ptr::null_mut(),
            len: 0,
            filled: std::ptr::null_mut(),
        }
    }
}

impl Text {
    /// Bytes that are asked for.
    fn asked(&self) -> u64 {
        match self.buffer.is_null() {
            true => 0,
            false => (self.len as u64).min(LOG_MAX),
        }
    }

    /// # Safety
    /// The places are the program's, as it said.
    unsafe fn write(&self, text: &[u8]) {
        let mut filled = 0;
        if !self.buffer.is_null() && self.len > 0 {
            filled = text.len().min(self.len - 1);
            // SAFETY: the caller's; the 0 is counted in.
            unsafe {
                text.as_ptr().copy_to_nonoverlapping(self.buffer, filled);
                self.buffer.add(filled).write(0);
            }
        }
        if !self.filled.is_null() {
            // SAFETY: the caller's.
            unsafe { self.filled.write(std::ptr::without_provenance_mut(filled)) };
        }
    }
}

/// The program's places for what it is told; none by default.
#[derive(Debug, Default)]
pub struct Places {
    time: Option<*mut *mut c_void>,
    info: Text,
    error: Text,
}

// SAFETY: the places are the program's, which says in the call's options who may write there.
unsafe impl Send for Places {}

impl Places {
    /// What the board is asked for: nothing, or the bytes of both texts.
    pub fn asked(&self) -> Vec<u64> {
        let sizes = [self.info.asked(), self.error.asked()];
        match self.time.is_none() && sizes == [0, 0] {
            true => Vec::new(),
            false => sizes.into(),
        }
    }

    /// Tells it to the program.
    ///
    /// # Safety
    /// The places are the program's, as it said in the call's options.
    pub unsafe fn write(&self, told: &Told) {
        // SAFETY: the caller's.
        unsafe {
            self.info.write(&told.info);
            self.error.write(&told.error);
            if let Some(time) = self.time {
                time.write(std::ptr::without_provenance_mut(told.time as usize));
            }
        }
    }
}

/// Reads the options of a load. From here on the places say that nothing was told.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, or `CUDA_ERROR_NOT_SUPPORTED` for what is no number.
///
/// # Safety
/// `names` and `values` name as many options and values; a text has as many bytes as it says.
pub unsafe fn read(
    count: u32,
    names: *mut CUjit_option,
    values: *mut *mut c_void,
) -> CallResult<Options> {
    if count > 0 && (names.is_null() || values.is_null()) || count > OPTIONS_MAX {
        return Err(CUDA_ERROR_INVALID_VALUE);
    }
    let mut options = Options::default();
    let Places { time, info, error } = &mut options.places;
    for n in 0..count as usize {
        // SAFETY: the caller's.
        let (name, place, value) = unsafe { (*names.add(n), values.add(n), *values.add(n)) };
        // A size is an unsigned int in the value's place.
        let len = value.addr() as u32 as usize;
        match name.cast_unsigned() {
            TIME => *time = Some(place),
            INFO_TEXT => info.buffer = value.cast(),
            INFO_BYTES => (info.len, info.filled) = (len, place),
            ERROR_TEXT => error.buffer = value.cast(),
            ERROR_BYTES => (error.len, error.filled) = (len, place),
            name if jit::is_number(name.into()) => {
                options.sent.extend([name.into(), value.addr() as u64]);
            }
            _ => return Err(CUDA_ERROR_NOT_SUPPORTED),
        }
    }
    // SAFETY: the caller's.
    unsafe { options.places.write(&Told::default()) };
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_space() {
        let mut text = [7u8; 5];
        let mut names = [0, 2, 3, 4, 6].map(|name: u32| name.cast_signed());
        let number = std::ptr::without_provenance_mut::<c_void>;
        let mut values = [
            number(32),
            number(0),
            text.as_mut_ptr().cast(),
            number(4),
            number(9),
        ];
        // SAFETY: the lists have as many entries, and the text as many bytes.
        let options = unsafe { read(5, names.as_mut_ptr(), values.as_mut_ptr()) }.unwrap();
        assert_eq!(options.sent, [0, 32]);
        assert_eq!(options.places.asked(), [4, 0]);
        assert_eq!(values[3].addr(), 0);
        let told = Told {
            time: 5,
            info: b"abcdef".into(),
            error: b"x".into(),
        };
        // SAFETY: as above.
        unsafe { options.places.write(&told) };
        assert_eq!(&text, b"abc\0\x07");
        assert_eq!([1, 3, 4].map(|at: usize| values[at].addr()), [5, 3, 0]);
        assert!(Places::default().asked().is_empty());
    }
}
