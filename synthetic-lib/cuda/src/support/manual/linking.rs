//! The linker.

use super::*;
use crate::generated::manual::Linking;
use crate::support::link;

impl Linking for Guest {
    unsafe fn cuLinkCreate_v2(
        entry: u64,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
        stateOut: *mut CUlinkState,
    ) -> CUresult {
        let options = (numOptions, options, optionValues);
        // SAFETY: the caller's.
        unsafe { put(stateOut, || link::begin(entry, options)) }
    }

    unsafe fn cuLinkAddData_v2(
        entry: u64,
        state: CUlinkState,
        r#type: CUjitInputType,
        data: *mut c_void,
        size: usize,
        name: *const c_char,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    ) -> CUresult {
        let (data, options) = (
            (data.cast_const(), size),
            (numOptions, options, optionValues),
        );
        // SAFETY: the caller's.
        Self::returned(|| unsafe { link::add_data(entry, state, r#type, data, name, options) })
    }

    unsafe fn cuLinkAddFile_v2(
        entry: u64,
        state: CUlinkState,
        r#type: CUjitInputType,
        path: *const c_char,
        numOptions: c_uint,
        options: *mut CUjit_option,
        optionValues: *mut *mut c_void,
    ) -> CUresult {
        let options = (numOptions, options, optionValues);
        // SAFETY: the caller's.
        Self::returned(|| unsafe { link::add_file(entry, state, r#type, path, options) })
    }

    unsafe fn cuLinkComplete(
        entry: u64,
        state: CUlinkState,
        cubinOut: *mut *mut c_void,
        sizeOut: *mut usize,
    ) -> CUresult {
        Self::returned(|| {
            let to = place(cubinOut)?;
            let (linked, size) = link::complete(entry, state)?;
            // SAFETY: the caller's.
            unsafe {
                to.write(linked);
                if !sizeOut.is_null() {
                    sizeOut.write(size);
                }
            }
            Ok(())
        })
    }

    unsafe fn cuLinkDestroy(entry: u64, state: CUlinkState) -> CUresult {
        Self::returned(|| link::end(entry, state))
    }
}
