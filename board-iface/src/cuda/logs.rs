//! What the driver's compiler tells of a load: texts in buffers of the board's, which go to the guest.

use super::generated::types::*;
use gil_cuda_common::jit::{ERROR_BYTES, ERROR_TEXT, INFO_BYTES, INFO_TEXT, LOG_MAX, TIME, Told};
use std::ffi::c_void;

/// The buffers of a load. They stay in their place as long as the driver may write to them.
#[derive(Debug)]
pub(super) struct Logs {
    info: Vec<u8>,
    error: Vec<u8>,
}

impl Logs {
    /// Buffers of so many bytes, at most [`LOG_MAX`]; `None` if nothing is asked for.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is asked for in another way.
    pub(super) fn new(asked: &[u64]) -> Result<Option<Self>, CUresult> {
        let buffer = |len: u64| vec![0; usize::try_from(len.min(LOG_MAX)).unwrap_or(0)];
        match *asked {
            [] => Ok(None),
            [info, error] => Ok(Some(Self {
                info: buffer(info),
                error: buffer(error),
            })),
            _ => Err(CUDA_ERROR_INVALID_VALUE),
        }
    }

    /// The options that name them, with their values.
    pub(super) fn options(&mut self) -> Vec<(u32, *mut c_void)> {
        let mut all = vec![(TIME, std::ptr::null_mut())];
        let texts = [
            (INFO_TEXT, INFO_BYTES, &mut self.info),
            (ERROR_TEXT, ERROR_BYTES, &mut self.error),
        ];
        for (text, bytes, buffer) in texts {
            if !buffer.is_empty() {
                let len = std::ptr::without_provenance_mut(buffer.len());
                all.extend([(bytes, len), (text, buffer.as_mut_ptr().cast())]);
            }
        }
        all
    }

    /// What is in them now, after the driver wrote to the options' values.
    pub(super) fn told(&self, names: &[CUjit_option], values: &[*mut c_void]) -> Told {
        // The driver writes four bytes, of eight.
        let value = |name: u32| {
            let at = names.iter().position(|it| it.cast_unsigned() == name)?;
            Some(values.get(at)?.addr() as u32)
        };
        let filled = |name: u32, buffer: &[u8]| {
            let len = value(name).unwrap_or(0) as usize;
            let text = &buffer[..len.min(buffer.len())];
            // Whether the 0 behind a text counts, drivers see differently.
            let end = text.iter().position(|byte| *byte == 0);
            text[..end.unwrap_or(text.len())].to_vec()
        };
        Told {
            time: value(TIME).unwrap_or(0),
            info: filled(INFO_BYTES, &self.info),
            error: filled(ERROR_BYTES, &self.error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_within_its_buffer() {
        assert!(Logs::new(&[]).unwrap().is_none());
        assert_eq!(Logs::new(&[1]).unwrap_err(), CUDA_ERROR_INVALID_VALUE);
        let mut logs = Logs::new(&[4, u64::MAX]).unwrap().unwrap();
        let (names, mut values): (Vec<_>, Vec<_>) = logs.options().into_iter().unzip();
        let names: Vec<_> = names.into_iter().map(u32::cast_signed).collect();
        assert_eq!(names, [2, 4, 3, 6, 5]);
        assert_eq!(values[3].addr() as u64, LOG_MAX);
        logs.info.copy_from_slice(b"fine");
        logs.error[..2].copy_from_slice(b"no");
        for (at, value) in [(0, 7), (1, usize::MAX), (3, 3)] {
            values[at] = std::ptr::without_provenance_mut(value);
        }
        let told = logs.told(&names, &values);
        assert_eq!(
            (told.time, &told.info[..], &told.error[..]),
            (7, &b"fine"[..], &b"no"[..])
        );
        let mut none = Logs::new(&[0, 0]).unwrap().unwrap();
        assert_eq!(none.options().len(), 1);
    }
}
