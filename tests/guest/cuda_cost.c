/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What calls of CUDA's driver API cost in the guest, in instructions: QEMU's -icount shift=0
 * makes one instruction a nanosecond of the guest's counter. The board is one that reports no
 * times, so that nothing else passes.
 *
 * A line a row: kind, instructions a call, name. Kinds: `launch` and `batched` (travel in a
 * batch; of a thousand calls, with the doorbells that take them along), `answer` (has an
 * answer), `registered` (the same, with memory that the driver pinned once), `pages` (with
 * memory whose pages are found each time). */
#include "cuda_driver.h"

#define GROUPS 9 /* whose median counts */
#define CALLS 1000

static uint64_t counter_hz(void)
{
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

static uint64_t counter(void)
{
	uint64_t now;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now)::"memory");
	return now;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void row(const char *kind, const char *name, int calls, void (*call)(int))
{
	uint64_t ticks[GROUPS], begin;

	call(0);
	call(1);
	for (int group = 0; group < GROUPS; group++) {
		cuCtxSynchronize();
		begin = counter();
		for (int n = 0; n < calls; n++)
			call(n);
		ticks[group] = counter() - begin;
	}
	qsort(ticks, GROUPS, sizeof(ticks[0]), ascending);
	printf("%s %.0f %s\n", kind, ticks[GROUPS / 2] * 1e9 / counter_hz() / calls, name);
	fflush(stdout);
}

static CUfunction none, three, eight;
static CUstream stream;
static CUevent event;
static CUdeviceptr memory;
static unsigned char bytes[64];
static unsigned char *large; /* the bytes of a matrix */
#define LARGE (320 * 320 * sizeof(double))

static void launch(CUfunction function, void **params, CUstream on)
{
	if (cuLaunchKernel(function, 16, 1, 1, 128, 1, 1, 0, on, params, NULL) != CUDA_SUCCESS)
		abort();
}

static void launch_none(int n)
{
	(void)n;
	launch(none, NULL, stream);
}

static void launch_three(int n)
{
	unsigned char byte = n;
	void *params[] = { &memory, &n, &byte };

	launch(three, params, stream);
}

static void launch_three_default(int n)
{
	unsigned char byte = n;
	void *params[] = { &memory, &n, &byte };

	launch(three, params, NULL);
}

static void launch_eight(int n)
{
	unsigned char twelve[12] = { 1 };
	float point = n;
	void *params[] = { &memory, &memory, &memory, &memory, &n, &n, &point, twelve };

	launch(eight, params, stream);
}

static void record(int n)
{
	(void)n;
	if (cuEventRecord(event, stream) != CUDA_SUCCESS)
		abort();
}

static void copy_up(int n)
{
	(void)n;
	if (cuMemcpyHtoD_v2(memory, bytes, sizeof(bytes)) != CUDA_SUCCESS)
		abort();
}

static void large_up(int n)
{
	(void)n;
	if (cuMemcpyHtoD_v2(memory, large, LARGE) != CUDA_SUCCESS)
		abort();
}

static void large_down(int n)
{
	(void)n;
	if (cuMemcpyDtoH_v2(large, memory, LARGE) != CUDA_SUCCESS)
		abort();
}

static void synchronize(int n)
{
	launch_none(n);
	if (cuStreamSynchronize(stream) != CUDA_SUCCESS)
		abort();
}

int main(void)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuCtxCreate_v2(&context, 0, device) ||
	    cuModuleLoadData(&module, kernels) || cuModuleGetFunction(&none, module, "none") ||
	    cuModuleGetFunction(&three, module, "three") || cuModuleGetFunction(&eight, module, "eight") ||
	    cuStreamCreate(&stream, 1) || cuEventCreate(&event, 0) || cuMemAlloc_v2(&memory, LARGE))
		return 1;
	row("launch", "cuLaunchKernel, no parameter", CALLS, launch_none);
	row("launch", "cuLaunchKernel, 3 parameters", CALLS, launch_three);
	row("launch", "cuLaunchKernel, 3 parameters, default stream", CALLS, launch_three_default);
	row("large", "cuLaunchKernel, 8 parameters", CALLS, launch_eight);
	row("batched", "cuEventRecord", CALLS, record);
	row("answer", "cuMemcpyHtoD, 64 bytes", 100, copy_up);
	large = malloc(LARGE);
	memset(large, 1, LARGE);
	row("pages", "cuMemcpyHtoD, 819,200 bytes", 20, large_up);
	row("pages", "cuMemcpyDtoH, 819,200 bytes", 20, large_down);
	if (cuMemHostRegister_v2(large, LARGE, 0) != CUDA_SUCCESS)
		return 1;
	row("registered", "cuMemcpyHtoD, 819,200 bytes, registered", 20, large_up);
	row("registered", "cuMemcpyDtoH, 819,200 bytes, registered", 20, large_down);
	row("answer", "cuLaunchKernel and cuStreamSynchronize", 100, synchronize);
	return 0;
}
