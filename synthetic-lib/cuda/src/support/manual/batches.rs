//! Several copies at once, in any order: each is a copy of its own here.

use super::own_streams::own;
use super::*;
use crate::generated::manual::{Batches, Shared};

/// Where each run of copies with the same attributes begins: the first is the first copy's, and
/// each comes behind the one before.
///
/// # Safety
/// `firsts` is null or names `runs` numbers.
unsafe fn are_runs(firsts: *const usize, runs: usize, count: usize) -> bool {
    if firsts.is_null() || runs == 0 || runs > count {
        return false;
    }
    // SAFETY: the caller's.
    let firsts = unsafe { std::slice::from_raw_parts(firsts, runs) };
    firsts[0] == 0 && firsts.windows(2).all(|pair| pair[0] < pair[1]) && firsts[runs - 1] < count
}

/// A batch's lists.
struct Lists {
    to: *mut CUdeviceptr,
    from: *mut CUdeviceptr,
    sizes: *mut usize,
    count: usize,
    attributes: (*mut CUmemcpyAttributes, *mut usize, usize),
}

impl Lists {
    /// Copies all; the number of the one that failed, if one is to blame.
    ///
    /// # Safety
    /// As CUDA says of the lists.
    unsafe fn copy(&self, entry: u64, stream: CUstream) -> Result<(), (CUresult, usize)> {
        let (attributes, firsts, runs) = self.attributes;
        let is_missing = self.to.is_null() || self.from.is_null() || self.sizes.is_null();
        // SAFETY: the caller's.
        let are_runs = unsafe { are_runs(firsts, runs, self.count) };
        // The default stream that others wait for is not among those that CUDA takes.
        let is_one = !stream.is_null() && stream.addr() != 1;
        if is_missing || attributes.is_null() || !are_runs || !is_one {
            return Err((CUDA_ERROR_INVALID_VALUE, usize::MAX));
        }
        // SAFETY: the caller's: each list has as many entries.
        let asked = unsafe { std::slice::from_raw_parts(attributes, runs) };
        let orders = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM..=CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
        if asked.iter().any(|it| !orders.contains(&it.srcAccessOrder)) {
            return Err((CUDA_ERROR_INVALID_VALUE, usize::MAX));
        }
        (0..self.count).try_for_each(|n| {
            // SAFETY: likewise; the memory is the caller's promise.
            let copied = unsafe {
                let (to, from, bytes) = (*self.to.add(n), *self.from.add(n), *self.sizes.add(n));
                copy::any(entry, Some(stream), to, from, bytes)
            };
            copied.map_err(|code| (code, n))
        })
    }
}

impl Batches for Guest {
    unsafe fn cuMemcpyBatchAsync(
        entry: u64,
        dsts: *mut CUdeviceptr,
        srcs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes,
        attrsIdxs: *mut usize,
        numAttrs: usize,
        failIdx: *mut usize,
        hStream: CUstream,
    ) -> CUresult {
        let lists = Lists {
            to: dsts,
            from: srcs,
            sizes,
            count,
            attributes: (attrs, attrsIdxs, numAttrs),
        };
        // SAFETY: the caller's.
        match unsafe { lists.copy(entry, hStream) } {
            Ok(()) => CUDA_SUCCESS,
            Err((code, number)) => {
                if !failIdx.is_null() {
                    // SAFETY: the caller's.
                    unsafe { failIdx.write(number) };
                }
                code
            }
        }
    }

    unsafe fn cuMemcpyBatchAsync_v2(
        entry: u64,
        dsts: *mut CUdeviceptr,
        srcs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes,
        attrsIdxs: *mut usize,
        numAttrs: usize,
        hStream: CUstream,
    ) -> CUresult {
        let number = std::ptr::null_mut();
        // SAFETY: the caller's.
        unsafe {
            Self::cuMemcpyBatchAsync(
                entry, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, number, hStream,
            )
        }
    }

    unsafe fn cuMemcpyBatchAsync_ptsz(
        entry: u64,
        dsts: *mut CUdeviceptr,
        srcs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes,
        attrsIdxs: *mut usize,
        numAttrs: usize,
        failIdx: *mut usize,
        hStream: CUstream,
    ) -> CUresult {
        let stream = own(hStream);
        // SAFETY: the caller's.
        unsafe {
            Self::cuMemcpyBatchAsync(
                entry, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, failIdx, stream,
            )
        }
    }

    unsafe fn cuMemcpyBatchAsync_v2_ptsz(
        entry: u64,
        dsts: *mut CUdeviceptr,
        srcs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        attrs: *mut CUmemcpyAttributes,
        attrsIdxs: *mut usize,
        numAttrs: usize,
        hStream: CUstream,
    ) -> CUresult {
        let (number, stream) = (std::ptr::null_mut(), own(hStream));
        // SAFETY: the caller's.
        unsafe {
            Self::cuMemcpyBatchAsync(
                entry, dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, number, stream,
            )
        }
    }

    unsafe fn cuMemPrefetchBatchAsync(
        entry: u64,
        dptrs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: u64,
        hStream: CUstream,
    ) -> CUresult {
        let (firsts, runs) = (prefetchLocIdxs, numPrefetchLocs);
        // SAFETY: the caller's.
        let are_runs = unsafe { are_runs(firsts, runs, count) };
        let is_missing = dptrs.is_null() || sizes.is_null() || prefetchLocs.is_null();
        if is_missing || !are_runs || flags != 0 {
            return CUDA_ERROR_INVALID_VALUE;
        }
        // SAFETY: the caller's: each list has as many entries.
        let firsts = unsafe { std::slice::from_raw_parts(firsts, runs) };
        for n in 0..count {
            let run = firsts.partition_point(|first| *first <= n) - 1;
            // SAFETY: likewise.
            let moved = unsafe {
                let to = *prefetchLocs.add(run);
                Self::cuMemPrefetchAsync_v2(entry, *dptrs.add(n), *sizes.add(n), to, 0, hStream)
            };
            if moved != CUDA_SUCCESS {
                return moved;
            }
        }
        CUDA_SUCCESS
    }

    unsafe fn cuMemPrefetchBatchAsync_ptsz(
        entry: u64,
        dptrs: *mut CUdeviceptr,
        sizes: *mut usize,
        count: usize,
        prefetchLocs: *mut CUmemLocation,
        prefetchLocIdxs: *mut usize,
        numPrefetchLocs: usize,
        flags: u64,
        hStream: CUstream,
    ) -> CUresult {
        let stream = own(hStream);
        // SAFETY: the caller's.
        unsafe {
            Self::cuMemPrefetchBatchAsync(
                entry,
                dptrs,
                sizes,
                count,
                prefetchLocs,
                prefetchLocIdxs,
                numPrefetchLocs,
                flags,
                stream,
            )
        }
    }
}
