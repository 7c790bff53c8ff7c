//! Launches. The compiler makes two calls of each: the configuration is pushed where the
//! program says it, and popped in the function that stands for the kernel.

use super::error::{Answer, driver};
use super::{binary, device};
use crate::generated::types::*;
use gil_cuda::generated::stubs::{cuDeviceGetAttribute, cuLaunchKernel};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};

/// A launch's configuration: blocks, threads of each, bytes of shared memory, the stream.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Blocks.
    pub grid: dim3,
    /// Threads of each.
    pub block: dim3,
    /// Bytes.
    pub shared: usize,
    /// The stream.
    pub stream: cudaStream_t,
}

thread_local! {
    static PUSHED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// Pushes a configuration; false in a thread that is ending.
pub fn push(configuration: Configuration) -> bool {
    let pushed = PUSHED.try_with(|all| all.borrow_mut().push(configuration));
    pushed.is_ok()
}

/// Pops the latest.
///
/// # Errors
/// `cudaErrorMissingConfiguration` if there is none.
pub fn pop() -> Answer<Configuration> {
    let last = PUSHED.try_with(|all| all.borrow_mut().pop());
    last.ok().flatten().ok_or(cudaErrorMissingConfiguration)
}

/// Most threads of a block, in all and in each dimension; most blocks in each: the numbers of
/// the device's attributes.
const THREADS: c_int = 1;
const BLOCK: [c_int; 3] = [2, 3, 4];
const GRID: [c_int; 3] = [5, 6, 7];

/// Launches the kernel that a program names by an address.
///
/// # Errors
/// `cudaErrorInvalidDeviceFunction`, `cudaErrorInvalidConfiguration`, or the driver's.
///
/// # Safety
/// As `cudaLaunchKernel` in CUDA's documentation.
#[inline]
pub unsafe fn launch(
    host: *const c_void,
    configuration: &Configuration,
    args: *mut *mut c_void,
) -> Answer {
    let function = binary::function(host)?;
    let Configuration {
        grid,
        block,
        shared,
        stream,
    } = *configuration;
    // More than any device has; what this one has is checked on the board.
    let shared = u32::try_from(shared).map_err(|_| cudaErrorInvalidValue)?;
    // SAFETY: the caller's.
    let code = unsafe {
        cuLaunchKernel(
            function,
            grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            shared,
            stream.cast(),
            args,
            std::ptr::null_mut(),
        )
    };
    match code {
        cudaErrorInvalidValue => Err(why(grid, block)),
        code => driver(code),
    }
}

/// The runtime's error for a value that the driver refused: whether it is one of the
/// configuration's.
#[cold]
pub fn why(grid: dim3, block: dim3) -> cudaError_t {
    let Ok(device) = device::current() else {
        return cudaErrorInvalidValue;
    };
    let exceeds = |value: u64, attribute: c_int| {
        let mut most = 0;
        // SAFETY: there is space for a number.
        let code = unsafe { cuDeviceGetAttribute(&mut most, attribute, device) };
        value == 0 || code == cudaSuccess && value > u64::try_from(most).unwrap_or(0)
    };
    let values = |it: dim3| [it.x, it.y, it.z].map(u64::from);
    let any = |it: dim3, most: [c_int; 3]| {
        let mut all = values(it).into_iter().zip(most);
        all.any(|(value, most)| exceeds(value, most))
    };
    let threads = values(block).into_iter().fold(1u64, u64::saturating_mul);
    match any(grid, GRID) || any(block, BLOCK) || exceeds(threads, THREADS) {
        true => cudaErrorInvalidConfiguration,
        false => cudaErrorInvalidValue,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_a_stack_of_the_thread() {
        let one = dim3 { x: 1, y: 1, z: 1 };
        let of = |shared| Configuration {
            grid: one,
            block: one,
            shared,
            stream: std::ptr::null_mut(),
        };
        assert!(push(of(1)) && push(of(2)));
        let other = std::thread::spawn(|| pop().map(|it| it.shared)).join();
        assert_eq!(other.unwrap(), Err(cudaErrorMissingConfiguration));
        assert_eq!(pop().map(|it| it.shared), Ok(2));
        assert_eq!(pop().map(|it| it.shared), Ok(1));
        assert_eq!(
            pop().map(|it| it.shared),
            Err(cudaErrorMissingConfiguration)
        );
    }
}
