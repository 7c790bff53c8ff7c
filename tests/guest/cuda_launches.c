/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Launches with attributes, functions of the program's on streams, default streams of threads, and
 * what streams have, over a driver that runs no kernels. */
#include "cuda_launches.h"
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static CUdevice device;
static CUcontext context;
static CUmodule module;
static CUfunction none, three;
static CUdeviceptr params, attributes;

/* Blocks of a thousand threads: the null driver takes 6.255 ms for them, far longer than what is printed. */
#define BUSY 100000
#define BUSY_MS 6 /* and what its launch takes of it */

static CUlaunchAttribute attribute(int id, unsigned int x, unsigned int y, unsigned int z)
{
	CUlaunchAttribute it = { .id = id };
	unsigned int value[3] = { x, y, z };

	memcpy(it.value.pad, value, sizeof(value));
	return it;
}

static CUlaunchConfig config(unsigned int blocks, unsigned int threads, CUlaunchAttribute *list, unsigned int count)
{
	CUlaunchConfig it = { blocks, 1, 1, threads, 1, 1, 0, NULL, list, count };

	return it;
}

static void launches(void)
{
	unsigned long long a = 0x1122334455667788ull;
	unsigned int b = 5, got[8], sent[4] = { 1, 2, 3, 4 };
	unsigned char c = 9, bytes[16];
	void *values[] = { &a, &b, &c };
	struct {
		unsigned long long a;
		unsigned int b;
		unsigned char c;
	} packed = { 77, 6, 8 };
	size_t len = 13, small = 12;
	void *extra[] = { (void *)1, &packed, (void *)2, &len, NULL };
	void *short_extra[] = { (void *)1, &packed, (void *)2, &small, NULL };
	void *wrong_extra[] = { (void *)7, &packed, NULL };
	CUlaunchAttribute list[8] = { attribute(4, 2, 1, 1), attribute(8, -3, 0, 0) };
	CUlaunchConfig plain = config(4, 32, NULL, 0), with = config(4, 32, list, 2), bad = config(4, 32, NULL, 1);

	/* Values in one buffer. */
	OK(cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH_v2(bytes, params, 16));
	IS(memcmp(bytes, &packed, 13) == 0);
	OK(cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	packed.a = 78;
	OK(cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
	OK(cuMemcpyDtoH_v2(bytes, params, 16));
	IS(memcmp(bytes, &packed, 13) == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, short_extra));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, wrong_extra));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, values, extra));

	/* A structure with and without attributes. */
	OK(cuLaunchKernelEx(&plain, three, values, NULL));
	OK(cuMemcpyDtoH_v2(bytes, params, 16));
	IS(memcmp(bytes, &a, 8) == 0);
	a = 42;
	OK(cuLaunchKernelEx(&with, three, values, NULL));
	OK(cuMemcpyDtoH_v2(bytes, params, 16));
	IS(memcmp(bytes, &a, 8) == 0);
	OK(cuMemcpyDtoH_v2(got, attributes, sizeof(got)));
	IS(got[0] == 4 && got[1] == 2 && got[2] == 1 && got[3] == 1);
	IS(got[4] == 8 && got[5] == (unsigned int)-3);
	list[1] = attribute(0, 1, 1, 1);
	OK(cuLaunchKernelEx(&with, three, NULL, extra));
	OK(cuMemcpyDtoH_v2(bytes, params, 16));
	IS(memcmp(bytes, &packed, 13) == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(NULL, three, values, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&bad, three, values, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&with, three, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernelEx(&with, (CUfunction)module, values, NULL));
	list[0] = attribute(4, 3, 1, 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&with, three, values, NULL));
	list[0] = attribute(4, 16, 1, 1);
	with.gridDimX = 16;
	GIVES(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuLaunchKernelEx(&with, three, values, NULL));
	list[0] = attribute(7, 1, 0, 0);
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLaunchKernelEx(&with, three, values, NULL));
	list[0] = attribute(99, 1, 0, 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&with, three, values, NULL));

	OK(cuLaunchCooperativeKernel(three, 2, 1, 1, 1024, 1, 1, 0, NULL, values));
	OK(cuMemcpyDtoH_v2(got, attributes, 8));
	IS(got[0] == 2 && got[1] == 1);
	GIVES(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
	      cuLaunchCooperativeKernel(three, 3, 1, 1, 1024, 1, 1, 0, NULL, values));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernel(three, 2, 1, 1, 1024, 1, 1, 0, NULL, NULL));
	(void)sent;
}

static size_t shared_of(int threads)
{
	return (size_t)threads * 4;
}

static void questions(void)
{
	CUfunction all[16] = { NULL }, one;
	CUlaunchAttribute list[1] = { attribute(4, 2, 1, 1) };
	CUlaunchConfig it = config(8, 512, list, 1), plain = config(8, 512, NULL, 0);
	unsigned int count;
	int value, blocks, threads;
	size_t bytes;
	const char *name;

	OK(cuModuleGetFunctionCount(&count, module));
	IS(count == 4);
	OK(cuModuleEnumerateFunctions(all, 2, module));
	IS(all[0] && all[1] && !all[2]);
	OK(cuModuleEnumerateFunctions(all, 16, module));
	IS(all[2] && all[3] && !all[4]);
	OK(cuFuncGetName(&name, all[1]));
	IS(strcmp(name, "three") == 0 && all[1] == three);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleEnumerateFunctions(NULL, 2, module));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleEnumerateFunctions(all, 2, (CUmodule)none));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunctionCount(&count, (CUmodule)none));

	OK(cuModuleGetFunction(&one, module, "trap_failure"));
	OK(cuFuncIsLoaded(&value, one));
	IS(value == 0);
	OK(cuFuncLoad(one));
	OK(cuFuncIsLoaded(&value, one));
	IS(value == 1);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad((CUfunction)module));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncIsLoaded(&value, (CUfunction)module));

	/* 2048 threads are on its one multiprocessor. */
	OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, none, NULL, 0, 0));
	IS(blocks == 2 && threads == 1024);
	OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&blocks, &threads, none, shared_of, 0, 100, 0));
	IS(blocks == 32 && threads == 64);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialBlockSize(NULL, &threads, none, NULL, 0, 0));
	GIVES(CUDA_ERROR_INVALID_HANDLE,
	      cuOccupancyMaxPotentialBlockSize(&blocks, &threads, (CUfunction)module, NULL, 0, 0));
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, none, 4, 128));
	IS(bytes == 12 << 10);
	OK(cuOccupancyMaxPotentialClusterSize(&value, none, &plain));
	IS(value == 4);
	OK(cuOccupancyMaxActiveClusters(&value, none, &it));
	IS(value == 2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveClusters(&value, none, &plain));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialClusterSize(&value, none, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuOccupancyMaxActiveClusters(&value, (CUfunction)module, &it));
	OK(cuDeviceGetAttribute(&value, 95, device));
	IS(value == 1);
}

static void streams(void)
{
	CUstream one, other;
	CUlaunchAttributeValue value = { { 0 } };
	unsigned long long id, second;
	CUdevice of = -1;
	int number;

	OK(cuStreamCreate(&one, 0));
	OK(cuStreamCreate(&other, 0));
	OK(cuStreamGetId(one, &id));
	OK(cuStreamGetId(other, &second));
	IS(id != second);
	OK(cuStreamGetId(NULL, &second));
	IS(id != second);
	number = 7;
	OK(cuStreamIsCapturing(one, &number));
	IS(number == 0);
	number = 7;
	OK(cuStreamIsCapturing_ptsz(NULL, &number));
	IS(number == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamIsCapturing(one, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamIsCapturing_ptsz(one, NULL));
	OK(cuStreamGetDevice(one, &of));
	IS(of == device);
	number = 2;
	memcpy(value.pad, &number, 4);
	OK(cuStreamSetAttribute(one, 3, &value));
	number = 1;
	memcpy(value.pad, &number, 4);
	OK(cuStreamSetAttribute(one, 10, &value));
	memset(&value, 1, sizeof(value));
	OK(cuStreamGetAttribute(one, 3, &value));
	memcpy(&number, value.pad, 4);
	IS(number == 2 && value.pad[4] == 0 && value.pad[63] == 0);
	OK(cuStreamGetAttribute(other, 3, &value));
	memcpy(&number, value.pad, 4);
	IS(number == 0);
	OK(cuStreamCopyAttributes(other, one));
	OK(cuStreamGetAttribute(other, 10, &value));
	memcpy(&number, value.pad, 4);
	IS(number == 1);
	OK(cuStreamGetAttribute(NULL, 3, &value));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuStreamSetAttribute(one, 1, &value));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(one, 4, &value));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(one, 3, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute(one, 77, &value));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamGetAttribute((CUstream)module, 3, &value));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamCopyAttributes(one, (CUstream)module));
	OK(cuStreamDestroy_v2(other));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamGetId(other, &id));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamIsCapturing(other, &number));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamIsCapturing_ptsz(other, &number));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamGetDevice(other, &of));
	OK(cuStreamDestroy_v2(one));
}

/* What a function of the program's saw. */
static struct {
	atomic_int calls;
	CUresult status, permitted[4];
	pthread_t thread;
	CUstream stream;
	int read;
} seen;

static int page[1024];
static CUevent behind;

static void called(void *data)
{
	CUcontext current;
	int *order = data;

	seen.read = page[0];
	seen.thread = pthread_self();
	seen.permitted[0] = cuCtxSynchronize();
	seen.permitted[1] = cuCtxSetCurrent(context);
	seen.permitted[2] = cuStreamSynchronize(NULL);
	seen.permitted[3] = cuCtxGetCurrent(&current);
	page[1] = 4711;
	*order = ++seen.calls;
}

static void called_with(CUstream stream, CUresult status, void *data)
{
	seen.stream = stream;
	seen.status = status;
	called(data);
}

static void sleeps(void *data)
{
	usleep(20000);
	*(int *)data = 1;
}

static void asks(void *data)
{
	usleep(20000);
	*(CUresult *)data = cuEventQuery(behind);
}

static void functions(void)
{
	CUstream stream, other;
	CUevent start, end, record;
	CUdeviceptr memory;
	int first = 0, second = 0, value = 17, slept = 0;
	float took = 0;

	OK(cuStreamCreate(&stream, 1));
	OK(cuStreamCreate(&other, 1));
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuEventCreate(&record, 0));
	OK(cuMemAlloc_v2(&memory, sizeof(page)));
	OK(cuMemcpyHtoD_v2(memory, &value, 4));

	/* Behind a kernel and a copy to the program's memory; in front of one from there. */
	OK(cuEventRecordWithFlags(start, stream, 0));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, stream, NULL, NULL));
	OK(cuMemcpyDtoHAsync_v2(page, memory, 4, stream));
	OK(cuLaunchHostFunc(stream, called, &first));
	OK(cuStreamAddCallback(stream, called_with, &second, 0));
	IS(seen.calls == 0);
	GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
	OK(cuMemcpyHtoDAsync_v2(memory, page, 8, stream));
	OK(cuEventRecord(end, stream));
	OK(cuStreamSynchronize(stream));
	IS(seen.calls == 2 && first == 1 && second == 2);
	IS(seen.read == 17 && !pthread_equal(seen.thread, pthread_self()));
	IS(seen.status == CUDA_SUCCESS && seen.stream == stream);
	IS(seen.permitted[0] == CUDA_ERROR_NOT_PERMITTED && seen.permitted[1] == CUDA_ERROR_NOT_PERMITTED);
	IS(seen.permitted[2] == CUDA_ERROR_NOT_PERMITTED && seen.permitted[3] == CUDA_ERROR_NOT_PERMITTED);
	OK(cuEventElapsedTime(&took, start, end));
	IS(took > BUSY_MS);
	value = 0;
	OK(cuMemcpyDtoH_v2(&value, memory + 4, 4));
	IS(value == 4711);

	/* What a function asks of an event does not wait for the thread that waits for that. */
	CUresult asked = CUDA_SUCCESS;
	behind = end;
	OK(cuLaunchHostFunc(stream, asks, &asked));
	OK(cuEventRecord(end, stream));
	OK(cuEventSynchronize(end));
	IS(asked == CUDA_ERROR_NOT_PERMITTED);

	/* What is behind it takes as long as it does; another stream goes on, unless it waits. */
	OK(cuEventRecord(start, stream));
	OK(cuLaunchHostFunc(stream, sleeps, &slept));
	OK(cuEventRecord(end, stream));
	OK(cuEventRecord(record, other));
	OK(cuEventSynchronize(record));
	IS(slept == 0);
	GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(end));
	OK(cuStreamWaitEvent(other, end, 0));
	page[0] = 0;
	OK(cuMemcpyHtoDAsync_v2(memory, &slept, 4, other));
	OK(cuMemcpyDtoHAsync_v2(page, memory, 4, other));
	OK(cuStreamSynchronize(other));
	IS(slept == 1 && page[0] == 1);
	OK(cuEventElapsedTime(&took, start, end));
	IS(took >= 20);

	/* The default stream and streams that are not made otherwise. */
	slept = 0;
	OK(cuLaunchHostFunc(NULL, sleeps, &slept));
	OK(cuStreamDestroy_v2(other));
	OK(cuStreamCreate(&other, 0));
	OK(cuEventRecord(record, other));
	OK(cuEventSynchronize(record));
	IS(slept == 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, NULL, NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, called_with, &first, 1));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchHostFunc((CUstream)module, called, &first));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamAddCallback((CUstream)module, called_with, &first, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(start, stream, 2));
	IS(seen.calls == 2);
	OK(cuStreamDestroy_v2(stream));
	OK(cuStreamDestroy_v2(other));
	OK(cuMemFree_v2(memory));
}

/* A function behind a kernel that fails is not called; a callback is, with the error. */
static void behind_errors(void)
{
	CUcontext lost;
	CUmodule own;
	CUfunction trap, busy;
	CUstream stream;
	int first = 0, second = 0;

	OK(cuCtxCreate_v2(&lost, 0, device));
	OK(cuModuleLoadData(&own, launch_kernels));
	OK(cuModuleGetFunction(&trap, own, "trap_failure"));
	OK(cuStreamCreate(&stream, 1));
	OK(cuModuleGetFunction(&busy, own, "none"));
	OK(cuLaunchKernel(busy, BUSY, 1, 1, 1000, 1, 1, 0, stream, NULL, NULL));
	(void)cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
	(void)cuLaunchHostFunc(stream, called, &first);
	(void)cuStreamAddCallback(stream, called_with, &second, 0);
	GIVES(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
	/* It is called at the same time. */
	for (int n = 0; n < 1000 && seen.calls < 3; n++)
		usleep(1000);
	IS(seen.calls == 3 && first == 0 && second == 3 && seen.status == CUDA_ERROR_LAUNCH_FAILED);
	OK(cuCtxDestroy_v2(lost));
	OK(cuCtxSynchronize());
}

#define OWN ((CUstream)2)

static void *in_thread(void *place)
{
	unsigned long long *id = place;

	IS(cuCtxSetCurrent(context) == CUDA_SUCCESS && cuStreamGetId(OWN, &id[0]) == CUDA_SUCCESS);
	IS(cuStreamGetId_ptsz(NULL, &id[1]) == CUDA_SUCCESS);
	IS(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, OWN, NULL, NULL) == CUDA_SUCCESS);
	return NULL;
}

static void own_streams(void)
{
	pthread_t thread;
	unsigned long long mine, again, its[2] = { 0 }, next[2] = { 0 };
	CUevent start, end;
	CUstream free_one;
	CUcontext of = NULL, other;
	CUdevice on = -1;
	CUdeviceptr memory;
	unsigned int words[4] = { 1, 2, 3, 4 }, got[4] = { 0 }, flags = 7;
	int priority = 7, order = 0;
	void *function;
	float took;
	CUlaunchConfig it = config(1, 1, NULL, 0);
	CUlaunchAttributeValue value = { { 2 } };

	OK(cuStreamGetId(OWN, &mine));
	OK(cuStreamGetId(OWN, &again));
	IS(mine == again);
	OK(cuStreamGetId(NULL, &again));
	IS(mine != again);
	OK(cuStreamGetId_ptsz((CUstream)1, &its[0]));
	IS(its[0] == again);
	pthread_create(&thread, NULL, in_thread, its);
	pthread_join(thread, NULL);
	IS(its[0] == its[1] && its[0] != mine && its[0] != again);
	/* The next thread gets the stream of one that ended. */
	pthread_create(&thread, NULL, in_thread, next);
	pthread_join(thread, NULL);
	IS(next[0] == its[0]);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(OWN));
	OK(cuStreamGetFlags_ptsz(NULL, &flags));
	IS(flags == 0);
	OK(cuStreamGetPriority_ptsz(NULL, &priority));
	IS(priority == 0);
	OK(cuStreamGetCtx_ptsz(NULL, &of));
	IS(of == context);
	OK(cuStreamGetDevice_ptsz(NULL, &on));
	IS(on == device);

	/* In order of its own, beside a stream that waits for none; behind the default stream. */
	OK(cuStreamCreate(&free_one, 1));
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, 0));
	IS(cuEventRecord_ptsz(start, NULL) == CUDA_SUCCESS &&
	   cuLaunchKernel_ptsz(none, BUSY, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS &&
	   cuLaunchKernel_ptsz(none, BUSY, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS &&
	   cuStreamQuery_ptsz(NULL) == CUDA_ERROR_NOT_READY && cuEventRecord(end, free_one) == CUDA_SUCCESS);
	OK(cuStreamSynchronize(free_one));
	OK(cuEventElapsedTime(&took, start, end));
	IS(took < BUSY_MS);
	OK(cuEventRecordWithFlags_ptsz(end, NULL, 0));
	OK(cuStreamSynchronize_ptsz(NULL));
	OK(cuEventElapsedTime(&took, start, end));
	IS(took > 2 * BUSY_MS);
	OK(cuEventRecord(start, NULL));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL));
	OK(cuEventRecord(end, OWN));
	OK(cuEventSynchronize(end));
	OK(cuEventElapsedTime(&took, start, end));
	IS(took > BUSY_MS);
	OK(cuStreamWaitEvent_ptsz(NULL, end, 0));
	OK(cuLaunchKernelEx_ptsz(&it, none, NULL, NULL));
	OK(cuLaunchCooperativeKernel_ptsz(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx_ptsz(NULL, none, NULL, NULL));
	order = 0;
	OK(cuLaunchHostFunc_ptsz(NULL, called, &order));
	OK(cuStreamSynchronize(OWN));
	IS(order == seen.calls && order > 0);
	order = 0;
	OK(cuStreamAddCallback_ptsz(NULL, called_with, &order, 0));
	OK(cuStreamSynchronize(OWN));
	IS(order == seen.calls && seen.stream == OWN);
	OK(cuStreamSetAttribute_ptsz(NULL, 3, &value));
	memset(&value, 0, sizeof(value));
	OK(cuStreamGetAttribute_ptsz(NULL, 3, &value));
	IS(value.pad[0] == 2);
	OK(cuStreamCopyAttributes_ptsz(free_one, NULL));
	OK(cuStreamGetAttribute(free_one, 3, &value));
	IS(value.pad[0] == 2);

	OK(cuMemAlloc_v2(&memory, 64));
	OK(cuMemsetD8_v2_ptds(memory, 1, 64));
	OK(cuMemcpyHtoD_v2_ptds(memory, words, 16));
	OK(cuMemcpyDtoD_v2_ptds(memory + 16, memory, 16));
	OK(cuMemsetD16_v2_ptds(memory, 0x0202, 2));
	OK(cuMemsetD32_v2_ptds(memory + 32, 9, 1));
	OK(cuMemcpyDtoH_v2_ptds(got, memory + 16, 16));
	IS(memcmp(got, words, 16) == 0);
	OK(cuMemcpy_ptds((uintptr_t)got, memory, 16));
	IS(got[0] == 0x02020202 && got[1] == 2);
	OK(cuMemcpyHtoDAsync_v2_ptsz(memory, words, 16, NULL));
	OK(cuMemcpyDtoDAsync_v2_ptsz(memory + 16, memory, 8, NULL));
	OK(cuMemsetD8Async_ptsz(memory, 7, 1, NULL));
	OK(cuMemsetD16Async_ptsz(memory + 2, 7, 1, NULL));
	OK(cuMemsetD32Async_ptsz(memory + 4, 7, 1, NULL));
	OK(cuMemcpyDtoHAsync_v2_ptsz(got, memory, 16, NULL));
	OK(cuMemcpyAsync_ptsz((uintptr_t)words, memory + 32, 4, NULL));
	OK(cuStreamSynchronize(OWN));
	IS(got[0] == 0x00070007 && got[1] == 7 && got[2] == 3 && words[0] == 9);
	OK(cuMemFree_v2(memory));

	/* By name, with and without the flag. */
	OK(cuStreamGetId(NULL, &its[0]));
	OK(cuGetProcAddress("cuStreamGetId", &function, 13000, 2));
	OK(((CUresult(*)(CUstream, unsigned long long *))function)(NULL, &again));
	IS(again == mine);
	OK(cuGetProcAddress("cuStreamGetId", &function, 13000, 1));
	OK(((CUresult(*)(CUstream, unsigned long long *))function)(NULL, &again));
	IS(again == its[0]);
	OK(cuGetProcAddress("cuMemAlloc", &function, 13000, 2));

	/* In another context it is another one, which goes with it. */
	OK(cuCtxCreate_v2(&other, 0, device));
	OK(cuStreamGetId(OWN, &again));
	IS(mine != again);
	OK(cuCtxDestroy_v2(other));
	OK(cuStreamGetId(OWN, &again));
	IS(mine == again);
	OK(cuStreamDestroy_v2(free_one));
}

#define ROUNDS 10

/* Milliseconds of ROUNDS launches on each of two streams. */
static float on_two_streams(CUfunction kernel, unsigned int blocks, unsigned int threads)
{
	CUstream streams[2];
	CUevent start, ends[2];
	float took, longest = 0;

	OK(cuEventCreate(&start, 0));
	for (int n = 0; n < 2; n++) {
		OK(cuStreamCreate(&streams[n], 1));
		OK(cuEventCreate(&ends[n], 0));
	}
	OK(cuEventRecord(start, streams[0]));
	for (int round = 0; round < ROUNDS; round++)
		for (int n = 0; n < 2; n++)
			OK(cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, 0, streams[n], NULL, NULL));
	for (int n = 0; n < 2; n++)
		OK(cuEventRecord(ends[n], streams[n]));
	for (int n = 0; n < 2; n++) {
		OK(cuEventSynchronize(ends[n]));
		OK(cuEventElapsedTime(&took, start, ends[n]));
		longest = took > longest ? took : longest;
		OK(cuStreamDestroy_v2(streams[n]));
		OK(cuEventDestroy_v2(ends[n]));
	}
	OK(cuEventDestroy_v2(start));
	return longest;
}

/* Kernels of two streams run together if the device has room for both. */
static void together(void)
{
	CUfunction kernel;
	int multiprocessors, blocks;
	float one, both;

	OK(cuModuleGetFunction(&kernel, module, "long_one"));
	OK(cuDeviceGetAttribute(&multiprocessors, 16, 0));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1024, 0));
	blocks *= multiprocessors;
	both = on_two_streams(kernel, blocks / 2, 1024);
	one = on_two_streams(kernel, blocks / 2 + 1, 1024);
	IS(both > 0 && one > both * 1.5);
}

int main(void)
{
	/* What a program that stops had come to. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	OK(cuModuleLoadData(&module, launch_kernels));
	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuModuleGetFunction(&three, module, "three"));
	OK(cuModuleGetGlobal_v2(&params, NULL, module, "null_params"));
	OK(cuModuleGetGlobal_v2(&attributes, NULL, module, "null_attributes"));
	launches();
	questions();
	streams();
	together();
	functions();
	behind_errors();
	own_streams();
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
