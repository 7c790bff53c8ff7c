/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Managed memory that comes and goes in several threads, while others' kernels are launched. */
#include "cuda_shared.h"

#include <pthread.h>

static CUcontext context;
static CUfunction more;
static CUstream stream;

typedef volatile unsigned int word;

static word *host(CUdeviceptr address)
{
	return (word *)(uintptr_t)address;
}

static CUresult add_one(CUdeviceptr words, unsigned int count)
{
	void *values[] = { &words, &count };

	return cuLaunchKernel(more, 1, 1, 1, 32, 1, 1, 0, stream, values, NULL);
}

#define THREADS 6
#define ROUNDS 12

/* Allocates, launches and frees while others do: how often something went wrong. */
static void *comes_and_goes(void *own)
{
	uintptr_t wrong = cuCtxSetCurrent(context) != CUDA_SUCCESS;

	for (int round = 0; round < ROUNDS; round++) {
		size_t size = (2u << 20) + 4096 * (uintptr_t)own;
		CUdeviceptr memory;

		if (cuMemAllocManaged(&memory, size, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS) {
			wrong++;
			continue;
		}
		*host(memory) = round;
		wrong += add_one(memory, 1) != CUDA_SUCCESS;
		wrong += cuStreamSynchronize(stream) != CUDA_SUCCESS || *host(memory) != (unsigned int)round + 1;
		wrong += cuMemFree_v2(memory) != CUDA_SUCCESS;
	}
	return (void *)wrong;
}

int main(void)
{
	CUdevice device;
	CUmodule module;
	pthread_t all[THREADS];
	uintptr_t wrong = 0;
	void *one;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	OK(cuModuleLoadData(&module, more_kernel));
	OK(cuModuleGetFunction(&more, module, "more"));
	OK(cuStreamCreate(&stream, 1));
	for (uintptr_t n = 0; n < THREADS; n++)
		pthread_create(&all[n], NULL, comes_and_goes, (void *)n);
	for (int n = 0; n < THREADS; n++) {
		pthread_join(all[n], &one);
		wrong += (uintptr_t)one;
	}
	IS(wrong == 0);
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
