/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The runtime API's flags, which its headers have as macros, and default values of
 * parameters, which C++ has. */
#ifndef GIL_CUDA_FLAGS_H
#define GIL_CUDA_FLAGS_H

#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaHostRegisterDefault 0
#define cudaHostRegisterPortable 1
#define cudaHostRegisterMapped 2
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#define cudaMemAttachSingle 4
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaStreamLegacy ((cudaStream_t)1)
#define cudaStreamPerThread ((cudaStream_t)2)
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2

#ifdef __cplusplus
extern "C" {
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
			    cudaStream_t stream = 0);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
			      size_t width, size_t height, cudaMemcpyKind kind,
			      cudaStream_t stream = 0);
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *copy, cudaStream_t stream = 0);
cudaError_t cudaMemsetAsync(void *place, int value, size_t bytes, cudaStream_t stream = 0);
cudaError_t cudaMemset2DAsync(void *place, size_t pitch, int value, size_t width, size_t height,
			      cudaStream_t stream = 0);
cudaError_t cudaMemPrefetchAsync(const void *place, size_t bytes, cudaMemLocation to,
				 unsigned int flags, cudaStream_t stream = 0);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
}
#endif

#endif
