/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Green contexts of CUDA's driver API, on a device of 32 multiprocessors of which parts have at least 8. Each operation
 * takes ten milliseconds. */
#include "cuda_driver.h"
#include <time.h>

typedef struct {
	int kind;
	unsigned char own[92];
	unsigned int count, least, multiple, rest[9];
} resource;
typedef unsigned long long green;

CUresult cuDeviceGetDevResource(CUdevice device, resource *to, int kind);
CUresult cuCtxGetDevResource(CUcontext context, resource *to, int kind);
CUresult cuGreenCtxGetDevResource(green context, resource *to, int kind);
CUresult cuDevSmResourceSplitByCount(resource *groups, unsigned int *count, const resource *input, resource *rest,
				     unsigned int flags, unsigned int least);
CUresult cuDevResourceGenerateDesc(green *desc, resource *resources, unsigned int count);
CUresult cuGreenCtxCreate(green *context, green desc, CUdevice device, unsigned int flags);
CUresult cuGreenCtxDestroy(green context);
CUresult cuCtxFromGreenCtx(CUcontext *context, green of);
CUresult cuGreenCtxRecordEvent(green context, CUevent event);
CUresult cuGreenCtxWaitEvent(green context, CUevent event);
CUresult cuStreamGetGreenCtx(CUstream stream, green *context);
CUresult cuGreenCtxStreamCreate(CUstream *stream, green context, unsigned int flags, int priority);
CUresult cuGreenCtxGetId(green context, unsigned long long *id);
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, green *of);

enum { INVALID_RESOURCE_TYPE = 914, INVALID_RESOURCE_CONFIGURATION = 915 };

static CUfunction kernel;

/* A kernel that fills the device. */
static CUresult work(CUstream stream)
{
	return cuLaunchKernel(kernel, 4096, 1, 1, 1024, 1, 1, 0, stream, NULL, NULL);
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* Milliseconds that three kernels on each of two streams take, with both waits. */
static double both(CUstream first, CUstream second)
{
	double begin = now_ms();

	for (int n = 0; n < 3; n++) {
		OK(work(first));
		OK(work(second));
	}
	OK(cuStreamSynchronize(first));
	OK(cuStreamSynchronize(second));
	return now_ms() - begin;
}

int main(void)
{
	CUdevice device;
	CUcontext context, other;
	CUmodule module;
	CUstream plain[2], stream[3];
	CUevent event, last;
	resource all, groups[4], rest, part, made_up;
	green desc, second_desc, greens[2], known;
	unsigned long long ids[2];
	unsigned int count;
	double begin, took;

	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetDevResource(0, &all, 1));
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, kernels));
	OK(cuModuleGetFunction(&kernel, module, "none"));

	/* Resources. */
	OK(cuDeviceGetDevResource(device, &all, 1));
	IS(all.kind == 1 && all.count == 32 && all.least == 8 && all.multiple == 8);
	OK(cuCtxGetDevResource(context, &part, 1));
	IS(part.count == 32);
	GIVES(INVALID_RESOURCE_TYPE, cuDeviceGetDevResource(device, &part, 7));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDevResource(5, &part, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetDevResource(device, NULL, 1));
	OK(cuDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 9));
	IS(count == 2);
	count = 1;
	OK(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 16));
	IS(count == 1 && groups[0].count == 16 && rest.count == 16);
	count = 4;
	OK(cuDevSmResourceSplitByCount(groups, &count, &all, NULL, 0, 8));
	IS(count == 4 && groups[3].count == 8);
	count = 2;
	OK(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 10));
	IS(count == 2 && groups[0].count == 16 && groups[1].count == 16 && rest.count == 0);
	GIVES(INVALID_RESOURCE_CONFIGURATION, cuDevSmResourceSplitByCount(groups + 2, &count, groups, NULL, 0, 8));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(groups + 2, &count, &all, NULL, 0, 33));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(groups, NULL, &all, NULL, 0, 8));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(groups, &count, NULL, NULL, 0, 8));
	/* What the driver did not write is none of its resources. */
	made_up = all;
	made_up.own[5]++;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(groups + 2, &count, &made_up, NULL, 0, 8));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&desc, &made_up, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&desc, groups, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&desc, NULL, 1));
	OK(cuDevResourceGenerateDesc(&desc, &groups[0], 1));
	OK(cuDevResourceGenerateDesc(&second_desc, &groups[1], 1));

	/* Green contexts. */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&greens[0], 12345, device, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate(&greens[0], desc, device, 0));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuGreenCtxCreate(&greens[0], desc, 5, 1));
	OK(cuGreenCtxCreate(&greens[0], desc, device, 1));
	OK(cuGreenCtxCreate(&greens[1], second_desc, device, 1));
	OK(cuGreenCtxGetDevResource(greens[1], &part, 1));
	IS(part.count == 16);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxGetDevResource(12345, &part, 1));
	OK(cuGreenCtxGetId(greens[0], &ids[0]));
	OK(cuGreenCtxGetId(greens[1], &ids[1]));
	IS(ids[0] != ids[1]);
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuCtxFromGreenCtx(&other, greens[0]));

	/* Their streams are the primary context's. */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&stream[0], greens[0], 0, 0));
	OK(cuGreenCtxStreamCreate(&stream[0], greens[0], 1, 0));
	OK(cuGreenCtxStreamCreate(&stream[1], greens[1], 1, 0));
	OK(cuStreamCreate(&plain[0], 1));
	OK(cuStreamCreate(&plain[1], 1));
	OK(cuStreamGetGreenCtx(stream[1], &known));
	IS(known == greens[1]);
	OK(cuStreamGetGreenCtx(plain[0], &known));
	IS(known == 0);
	OK(cuStreamGetCtx_v2(stream[0], &other, &known));
	IS(other == context && known == greens[0]);
	OK(cuStreamGetCtx_v2(NULL, &other, &known));
	IS(other == context && known == 0);

	/* Kernels that fill the device take turns, those of its halves run at the same time. */
	took = both(plain[0], plain[1]);
	IS(took > both(stream[0], stream[1]) + 9.5);

	/* An event for all of a green context's streams, and one that all wait for. */
	OK(cuGreenCtxStreamCreate(&stream[2], greens[0], 1, 0));
	OK(cuEventCreate(&event, 0));
	OK(cuEventCreate(&last, 0));
	begin = now_ms();
	OK(work(stream[0]));
	OK(work(stream[2]));
	OK(cuGreenCtxRecordEvent(greens[0], event));
	GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(event));
	OK(cuGreenCtxWaitEvent(greens[1], event));
	OK(work(stream[1]));
	OK(cuStreamSynchronize(stream[1]));
	OK(cuEventQuery(event));
	took = now_ms() - begin;
	IS(took > 19.5);
	begin = now_ms();
	OK(work(stream[0]));
	OK(cuGreenCtxRecordEvent(greens[0], event));
	OK(cuGreenCtxWaitEvent(greens[1], event));
	/* Also one that is made later. */
	OK(cuStreamDestroy_v2(stream[2]));
	OK(cuGreenCtxStreamCreate(&stream[2], greens[1], 1, 0));
	OK(cuEventRecord(last, stream[2]));
	OK(cuEventSynchronize(last));
	took = now_ms() - begin;
	IS(took > 9.5);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxRecordEvent(12345, event));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxWaitEvent(12345, event));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuGreenCtxRecordEvent(greens[0], NULL));

	/* What is on its streams ends before it goes, and they go with it. */
	begin = now_ms();
	OK(work(stream[0]));
	OK(cuGreenCtxDestroy(greens[0]));
	took = now_ms() - begin;
	IS(took > 9.5);
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, work(stream[0]));
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamDestroy_v2(stream[0]));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(greens[0]));
	OK(work(stream[1]));
	/* It keeps the primary context. */
	OK(cuDevicePrimaryCtxRelease_v2(device));
	OK(cuStreamSynchronize(stream[1]));
	OK(cuGreenCtxDestroy(greens[1]));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	printf("%d failures\n", failures);
	return failures != 0;
}
