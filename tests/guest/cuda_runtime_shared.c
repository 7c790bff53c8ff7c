/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Managed and mapped memory by CUDA's runtime: the same as the driver's, over a driver that runs one kernel. */
#include "cuda_runtime.h"
#include "cuda_shared.h"

typedef struct CUlib_st *cudaLibrary_t;

cudaError_t cudaLibraryLoadData(cudaLibrary_t *library, const void *code, int *jitOptions, void **jitOptionsValues,
	unsigned int numJitOptions, int *libraryOptions, void **libraryOptionValues, unsigned int numLibraryOptions);
cudaError_t cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name);
cudaError_t cudaMallocManaged(void **place, size_t bytes, unsigned int flags);
cudaError_t cudaHostGetDevicePointer(void **address, void *place, unsigned int flags);
cudaError_t cudaMemPrefetchAsync(const void *place, size_t bytes, location to, unsigned int flags, cudaStream_t stream);
cudaError_t cudaMemPrefetchAsync_ptsz(const void *place, size_t bytes, location to, unsigned int flags,
	cudaStream_t stream);
cudaError_t cudaMemAdvise(const void *place, size_t bytes, int advice, location where);
cudaError_t cudaMemRangeGetAttribute(void *data, size_t size, int attribute, const void *place, size_t bytes);
cudaError_t cudaMemRangeGetAttributes(void **data, size_t *sizes, int *attributes, size_t count, const void *place,
	size_t bytes);
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *place, size_t length, unsigned int flags);
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void *place, size_t length, unsigned int flags);

typedef struct {
	int type, device;
	void *device_pointer, *host_pointer;
	long reserved[8];
} pointer_attributes;

cudaError_t cudaPointerGetAttributes(pointer_attributes *attributes, const void *place);

static cudaKernel_t more;
static const location gpu = { 1, 0 }, cpu = { 2, 0 };

static cudaError_t add_one(void *words, unsigned int count, cudaStream_t stream)
{
	dim3 blocks = { (count + 255) / 256, 1, 1 }, threads = { 256, 1, 1 };
	void *values[] = { &words, &count };

	return cudaLaunchKernel((const void *)more, blocks, threads, values, 0, stream);
}

int main(void)
{
	cudaLibrary_t library;
	cudaStream_t stream;
	pointer_attributes known;
	void *place, *address, *lists[1];
	volatile unsigned int *words;
	int value, names[] = { 1 };
	size_t sizes[] = { 4 };
	unsigned int plain[8] = { 1, 2 };

	OK(cudaLibraryLoadData(&library, more_kernel, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryGetKernel(&more, library, "more"));
	OK(cudaStreamCreate(&stream));
	OK(cudaMallocManaged(&place, 4000, 1));
	OK(cudaPointerGetAttributes(&known, place));
	IS(known.type == 3 && known.device_pointer == place && known.host_pointer == place);
	words = place;
	words[0] = 4;
	words[999] = 5;
	OK(add_one(place, 1000, stream));
	OK(cudaStreamSynchronize(stream));
	IS(words[0] == 5 && words[1] == 1 && words[999] == 6);
	OK(cudaMemcpy(place, plain, 8, 1));
	IS(words[0] == 1 && words[1] == 2 && words[2] == 1);
	OK(cudaMemset(place, 0, 4));
	OK(cudaDeviceSynchronize());
	IS(words[0] == 0 && words[1] == 2);
	OK(cudaMemPrefetchAsync(place, 4000, gpu, 0, stream));
	OK(cudaMemPrefetchAsync_ptsz(place, 4000, cpu, 0, NULL));
	OK(cudaMemAdvise(place, 4000, 1, gpu));
	OK(cudaMemRangeGetAttribute(&value, 4, 1, place, 4000));
	IS(value == 1);
	value = 0;
	lists[0] = &value;
	OK(cudaMemRangeGetAttributes(lists, sizes, names, 1, place, 4000));
	IS(value == 1);
	OK(cudaStreamAttachMemAsync(stream, place, 0, 4));
	OK(cudaStreamAttachMemAsync_ptsz(NULL, place, 0, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cudaStreamAttachMemAsync(stream, plain, 0, 4));
	OK(cudaFree(place));
	GIVES(CUDA_ERROR_INVALID_VALUE, cudaMallocManaged(&place, 0, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cudaMemPrefetchAsync(plain, 4, gpu, 0, stream));

	OK(cudaHostAlloc(&place, 100, 2));
	OK(cudaHostGetDevicePointer(&address, place, 0));
	IS(address == place);
	OK(cudaPointerGetAttributes(&known, place));
	IS(known.type == 1 && known.device_pointer == place && known.host_pointer == place);
	words = place;
	words[0] = 8;
	OK(add_one(address, 2, stream));
	OK(cudaStreamSynchronize(stream));
	IS(words[0] == 9 && words[1] == 1);
	OK(cudaFreeHost(place));
	OK(cudaMallocHost(&place, 100));
	OK(cudaPointerGetAttributes(&known, place));
	IS(known.type == 1 && known.device_pointer == NULL && known.host_pointer == place);
	memset(place, 0, 100);
	words = place;
	words[3] = 8;
	OK(cudaHostGetDevicePointer(&address, place, 0));
	OK(cudaPointerGetAttributes(&known, (char *)address + 4));
	IS(known.type == 1 && known.device_pointer == (char *)address + 4 && known.host_pointer == (char *)place + 4);
	OK(add_one((char *)address + 12, 1, NULL));
	OK(cudaDeviceSynchronize());
	IS(words[3] == 9);
	OK(cudaFreeHost(place));
	GIVES(CUDA_ERROR_INVALID_VALUE, cudaHostGetDevicePointer(&address, place, 0));
	OK(cudaDeviceReset());
	printf("%d failures\n", failures);
	return failures != 0;
}
