//! Launches in several steps, as CUDA's first versions had them: a function keeps its block, its
//! shared memory and its parameters from call to call.

use super::*;
use crate::generated::manual::{Object, PlainLaunches};
use crate::support::Details;
use gil_wire::generated::cuda::Kind;

/// Most bytes of parameters (`CUDA C++ Programming Guide`, before 12.1).
const PARAMS_MAX: usize = 4096;

/// What the next launch of a function has.
#[derive(Debug)]
pub struct Steps {
    block: [u32; 3],
    shared: u32,
    params: Vec<u8>,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            block: [1; 3],
            shared: 0,
            params: Vec::new(),
        }
    }
}

impl Steps {
    /// Puts bytes at their place.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for places that there are not.
    fn put(&mut self, offset: c_int, bytes: &[u8]) -> CallResult<()> {
        let from = usize::try_from(offset).map_err(|_| CUDA_ERROR_INVALID_VALUE)?;
        let end = from
            .checked_add(bytes.len())
            .filter(|end| *end <= PARAMS_MAX);
        let end = end.ok_or(CUDA_ERROR_INVALID_VALUE)?;
        if self.params.len() < end {
            self.params.resize(end, 0);
        }
        self.params[from..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// Does something with what a function's next launch has.
fn with<R>(function: CUfunction, work: impl FnOnce(&mut Steps) -> CallResult<R>) -> CallResult<R> {
    context::with(|context| {
        let object = Object::find(Kind::Function, function)?;
        match object.details() {
            Details::Function(known) if std::ptr::eq(&*known.context, &**context) => {
                work(&mut known.steps())
            }
            Details::Function(_) => Err(CUDA_ERROR_INVALID_CONTEXT),
            _ => Err(CUDA_ERROR_INVALID_HANDLE),
        }
    })
}

/// What the names in a list of `cuLaunchKernel`'s are.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

fn launched(
    entry: u64,
    function: CUfunction,
    grid: (c_int, c_int),
    stream: CUstream,
) -> CallResult<()> {
    let size = |n: c_int| u32::try_from(n).map_err(|_| CUDA_ERROR_INVALID_VALUE);
    let grid = [size(grid.0)?, size(grid.1)?, 1];
    let (geometry, mut params) = with(function, |steps| {
        let geometry = Geometry {
            grid,
            block: steps.block,
            shared: steps.shared,
        };
        Ok((geometry, steps.params.clone()))
    })?;
    let mut len = params.len();
    let name = std::ptr::without_provenance_mut::<c_void>;
    let mut extra = [
        name(BUFFER),
        params.as_mut_ptr().cast(),
        name(BUFFER_SIZE),
        (&raw mut len).cast(),
        name(END),
    ];
    let extra = match params.is_empty() {
        true => std::ptr::null_mut(),
        false => extra.as_mut_ptr(),
    };
    let values = (std::ptr::null_mut(), extra);
    // SAFETY: the buffer has as many bytes; the launch takes them before it returns.
    unsafe { launch::launch(entry, function, &geometry, stream, values) }
}

impl PlainLaunches for Guest {
    unsafe fn cuFuncSetBlockShape(
        _: u64,
        hfunc: CUfunction,
        x: c_int,
        y: c_int,
        z: c_int,
    ) -> CUresult {
        Self::returned(|| {
            let size = |n: c_int| match u32::try_from(n) {
                Ok(n @ 1..) => Ok(n),
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            };
            let block = [size(x)?, size(y)?, size(z)?];
            with(hfunc, |steps| {
                steps.block = block;
                Ok(())
            })
        })
    }

    unsafe fn cuFuncSetSharedSize(_: u64, hfunc: CUfunction, bytes: c_uint) -> CUresult {
        Self::returned(|| {
            with(hfunc, |steps| {
                steps.shared = bytes;
                Ok(())
            })
        })
    }

    unsafe fn cuParamSetSize(_: u64, hfunc: CUfunction, numbytes: c_uint) -> CUresult {
        Self::returned(|| {
            with(hfunc, |steps| match numbytes as usize {
                len @ ..=PARAMS_MAX => {
                    steps.params.resize(len, 0);
                    Ok(())
                }
                _ => Err(CUDA_ERROR_INVALID_VALUE),
            })
        })
    }

    unsafe fn cuParamSeti(_: u64, hfunc: CUfunction, offset: c_int, value: c_uint) -> CUresult {
        Self::returned(|| with(hfunc, |steps| steps.put(offset, &value.to_le_bytes())))
    }

    unsafe fn cuParamSetf(_: u64, hfunc: CUfunction, offset: c_int, value: f32) -> CUresult {
        Self::returned(|| with(hfunc, |steps| steps.put(offset, &value.to_le_bytes())))
    }

    unsafe fn cuParamSetv(
        _: u64,
        hfunc: CUfunction,
        offset: c_int,
        ptr: *mut c_void,
        numbytes: c_uint,
    ) -> CUresult {
        Self::returned(|| {
            let len = numbytes as usize;
            if ptr.is_null() || len > PARAMS_MAX {
                return Err(CUDA_ERROR_INVALID_VALUE);
            }
            // SAFETY: the caller's: as many bytes.
            let bytes = unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len) };
            with(hfunc, |steps| steps.put(offset, bytes))
        })
    }

    unsafe fn cuLaunch(entry: u64, f: CUfunction) -> CUresult {
        Self::returned(|| launched(entry, f, (1, 1), std::ptr::null_mut()))
    }

    unsafe fn cuLaunchGrid(
        entry: u64,
        f: CUfunction,
        grid_width: c_int,
        grid_height: c_int,
    ) -> CUresult {
        let grid = (grid_width, grid_height);
        Self::returned(|| launched(entry, f, grid, std::ptr::null_mut()))
    }

    unsafe fn cuLaunchGridAsync(
        entry: u64,
        f: CUfunction,
        grid_width: c_int,
        grid_height: c_int,
        hStream: CUstream,
    ) -> CUresult {
        Self::returned(|| launched(entry, f, (grid_width, grid_height), hStream))
    }
}
