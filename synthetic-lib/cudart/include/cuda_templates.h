/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The runtime API as C++ has it: memory of a type, variables and kernels by themselves. */
#ifndef GIL_CUDA_TEMPLATES_H
#define GIL_CUDA_TEMPLATES_H

/* What <<<…>>> calls. */
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared = 0,
						    cudaStream_t stream = 0);

template <class T> static inline cudaError_t cudaMalloc(T **place, size_t bytes)
{
	return ::cudaMalloc((void **)place, bytes);
}

template <class T>
static inline cudaError_t cudaMallocPitch(T **place, size_t *pitch, size_t width, size_t height)
{
	return ::cudaMallocPitch((void **)place, pitch, width, height);
}

template <class T>
static inline cudaError_t cudaMallocHost(T **place, size_t bytes, unsigned int flags = 0)
{
	return ::cudaHostAlloc((void **)place, bytes, flags);
}

template <class T>
static inline cudaError_t cudaHostAlloc(T **place, size_t bytes, unsigned int flags)
{
	return ::cudaHostAlloc((void **)place, bytes, flags);
}

template <class T>
static inline cudaError_t cudaMallocManaged(T **place, size_t bytes,
					    unsigned int flags = cudaMemAttachGlobal)
{
	return ::cudaMallocManaged((void **)place, bytes, flags);
}

template <class T>
static inline cudaError_t cudaHostGetDevicePointer(T **address, void *place, unsigned int flags)
{
	return ::cudaHostGetDevicePointer((void **)address, place, flags);
}

template <class T>
static inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T *place, size_t bytes = 0,
						   unsigned int flags = cudaMemAttachSingle)
{
	return ::cudaStreamAttachMemAsync(stream, (void *)place, bytes, flags);
}

template <class T>
static inline cudaError_t cudaMallocAsync(T **place, size_t bytes, cudaStream_t stream)
{
	return ::cudaMallocAsync((void **)place, bytes, stream);
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes,
					     size_t offset = 0,
					     cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
	return ::cudaMemcpyToSymbol((const void *)&symbol, from, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes,
					       size_t offset = 0,
					       cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
	return ::cudaMemcpyFromSymbol(to, (const void *)&symbol, bytes, offset, kind);
}

template <class T>
static inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes,
						  size_t offset = 0,
						  cudaMemcpyKind kind = cudaMemcpyHostToDevice,
						  cudaStream_t stream = 0)
{
	return ::cudaMemcpyToSymbolAsync((const void *)&symbol, from, bytes, offset, kind, stream);
}

template <class T>
static inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes,
						    size_t offset = 0,
						    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
						    cudaStream_t stream = 0)
{
	return ::cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, bytes, offset, kind, stream);
}

template <class T> static inline cudaError_t cudaGetSymbolAddress(void **place, const T &symbol)
{
	return ::cudaGetSymbolAddress(place, (const void *)&symbol);
}

template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol)
{
	return ::cudaGetSymbolSize(bytes, (const void *)&symbol);
}

template <class T>
static inline cudaError_t cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **arguments,
					   size_t shared = 0, cudaStream_t stream = 0)
{
	return ::cudaLaunchKernel((const void *)kernel, grid, block, arguments, shared, stream);
}

template <class T>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel)
{
	return ::cudaFuncGetAttributes(attributes, (const void *)kernel);
}

template <class T>
static inline cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute name, int value)
{
	return ::cudaFuncSetAttribute((const void *)kernel, name, value);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel,
									int threads, size_t shared)
{
	return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, (const void *)kernel,
							       threads, shared);
}

#endif
