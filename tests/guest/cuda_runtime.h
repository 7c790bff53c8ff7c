/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What tests use of CUDA's runtime, declared here: NVIDIA's headers and compiler are not needed. */
#ifndef CUDA_RUNTIME_H
#define CUDA_RUNTIME_H

#include "cuda_driver.h"

typedef int cudaError_t;
typedef struct { unsigned int x, y, z; } dim3;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef struct CUkern_st *cudaKernel_t;

/* The first fields; the whole has no more than these bytes. */
typedef union {
	struct {
		char name[256];
		unsigned char uuid[16];
		char luid[8];
		unsigned int luid_mask;
		size_t memory, shared;
		int registers, warp;
		size_t pitch;
		int threads, block[3], grid[3];
		size_t constant;
		int major, minor;
	};
	char all[1024];
} properties;

typedef union {
	struct {
		size_t shared, constant, local;
		int threads, registers, ptx, binary, cache, dynamic;
	};
	char all[256];
} attributes;

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(properties *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, int name, int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);
cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void **place, size_t bytes);
cudaError_t cudaMallocPitch(void **place, size_t *pitch, size_t width, size_t height);
cudaError_t cudaFree(void *place);
cudaError_t cudaMallocHost(void **place, size_t bytes);
cudaError_t cudaHostAlloc(void **place, size_t bytes, unsigned int flags);
cudaError_t cudaFreeHost(void *place);
cudaError_t cudaHostRegister(void *place, size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void *place);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			 int kind);
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
			      size_t height, int kind, cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset, int kind);
cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind);
cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset, int kind,
				    cudaStream_t stream);
cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
				      cudaStream_t stream);
cudaError_t cudaGetSymbolAddress(void **place, const void *symbol);
cudaError_t cudaGetSymbolSize(size_t *bytes, const void *symbol);
cudaError_t cudaMemset(void *place, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *place, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, int *status);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags);
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
			     cudaStream_t stream);
cudaError_t cudaFuncGetAttributes(attributes *attributes, const void *function);
cudaError_t cudaFuncSetAttribute(const void *function, int name, int value);
cudaError_t cudaFuncSetCacheConfig(const void *function, int config);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
							  size_t shared);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
								   size_t shared, unsigned int flags);
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **binary);
void __cudaUnregisterFatBinary(void **binary);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name, int threads, void *tid,
			    void *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **binary, char *host, char *device, const char *name, int is_extern, size_t bytes,
		       int is_constant, int is_global);
char __cudaInitModule(void **binary);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
			       cudaStream_t stream);

enum {
	cudaErrorInvalidValue = 1,
	cudaErrorInitializationError = 3,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInvalidPitchValue = 12,
	cudaErrorInvalidSymbol = 13,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorMissingConfiguration = 52,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorInvalidDevice = 101,
	cudaErrorInvalidKernelImage = 200,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorIllegalAddress = 700,
	cudaErrorNotSupported = 801,
};
enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, BY_ADDRESS };

/* What CUDA's compiler puts into a program: a wrapper, which has the address of a fat binary. */
typedef struct {
	int first, version;
	const void *data;
	void *file;
} wrapper;

/* A fat binary with one entry, which is PTX text. */
static __attribute__((unused)) void *fat_binary(const char *text)
{
	size_t bytes = (strlen(text) + 8) & ~(size_t)7;
	uint64_t *all = calloc(1, 32 + bytes);

	all[0] = 0xba55ed50u | (uint64_t)1 << 32 | (uint64_t)16 << 48;
	all[1] = 16 + bytes;
	all[2] = 1 | (uint64_t)0x101 << 16 | (uint64_t)16 << 32;
	all[3] = bytes;
	memcpy(all + 4, text, strlen(text));
	return all;
}

#endif
