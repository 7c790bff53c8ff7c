/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Managed and mapped memory: what a kernel writes there is in the program's memory when the kernel
 * ends, and what the program writes is there for the next kernel. */
#include "cuda_shared.h"

static CUdevice device;
static CUcontext context;
static CUfunction more;
static CUstream stream, other;

typedef volatile unsigned int word;

static word *host(CUdeviceptr address)
{
	return (word *)(uintptr_t)address;
}

/* Each of so many words becomes one more, by as many threads or blocks of a thousand more. */
static CUresult add_one_of(CUdeviceptr words, unsigned int count, unsigned int blocks, CUstream on)
{
	void *values[] = { &words, &count };

	return cuLaunchKernel(more, blocks, 1, 1, 1024, 1, 1, 0, on, values, NULL);
}

static CUresult add_one(CUdeviceptr words, unsigned int count, CUstream on)
{
	return add_one_of(words, count, (count + 1023) / 1024, on);
}

static int all_are(word *words, unsigned int count, unsigned int first, unsigned int step)
{
	for (unsigned int n = 0; n < count; n++) {
		if (words[n] != first + n * step)
			return 0;
	}
	return 1;
}

/* The program looks at memory and makes no call; as long as it takes, at most some seconds. */
static int becomes(word *place, unsigned int value)
{
	for (unsigned long n = 0; n < 400000000ul; n++) {
		if (*place == value)
			return 1;
	}
	return 0;
}

#define MANY 100000u /* words */

static void managed(void)
{
	CUdeviceptr memory, base;
	size_t size;
	word *words;
	int number;

	OK(cuDeviceGetAttribute(&number, 19, device));
	IS(number == 1);
	OK(cuDeviceGetAttribute(&number, 83, device));
	IS(number == 1);
	OK(cuDeviceGetAttribute(&number, 89, device));
	IS(number == 0);
	OK(cuMemAllocManaged(&memory, MANY * 4, CU_MEM_ATTACH_GLOBAL));
	OK(cuMemGetAddressRange_v2(&base, &size, memory + 4));
	IS(base == memory && size == MANY * 4);
	words = host(memory);
	for (unsigned int n = 0; n < MANY; n++)
		words[n] = n;
	OK(add_one(memory, MANY, stream));
	OK(cuStreamSynchronize(stream));
	IS(all_are(words, MANY, 1, 1));

	/* Two kernels in a row, and what the program wrote between others. */
	OK(add_one(memory, MANY, stream));
	OK(add_one(memory, MANY, stream));
	OK(cuStreamSynchronize(stream));
	IS(all_are(words, MANY, 3, 1));
	words[7] = 1000;
	words[MANY - 1] = 2000;
	OK(add_one(memory, MANY, stream));
	OK(cuCtxSynchronize());
	IS(words[7] == 1001 && words[MANY - 1] == 2001 && words[6] == 10 && words[8] == 12);

	/* Kernels of two streams, one behind the other. */
	OK(add_one(memory, 4, stream));
	OK(cuStreamSynchronize(stream));
	OK(add_one(memory, 4, other));
	OK(cuStreamSynchronize(other));
	IS(all_are(words, 4, 6, 1));

	/* A kernel that writes what it does not change, and one that writes nothing. */
	OK(add_one_of(memory, 0, 1, stream));
	OK(cuStreamSynchronize(stream));
	IS(all_are(words, 4, 6, 1));
	OK(cuMemFree_v2(memory));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(memory));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&memory, 0, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&memory, 4, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(&memory, 4, CU_MEM_ATTACH_SINGLE));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged(NULL, 4, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&memory, (size_t)-8, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged(&memory, (size_t)1 << 40, CU_MEM_ATTACH_GLOBAL));
}

static word *seen_by_function;
static unsigned int seen;

static void look(void *data)
{
	(void)data;
	seen = *seen_by_function;
}

/* The program waits for nothing but the memory. */
static void seen_without_calls(void)
{
	CUdeviceptr memory, plain;
	word *words;

	OK(cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL));
	words = host(memory);
	words[0] = 4;
	words[1] = 40;
	words[2] = 400;
	OK(add_one_of(memory, 1, 20000, stream));
	IS(words[0] == 4); /* The kernel takes longer than that. */
	words[1] = 41; /* Beside what the kernel writes. */
	IS(becomes(&words[0], 5));
	IS(words[1] == 41 && words[2] == 400);
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 5 && words[1] == 41);
	OK(add_one(memory, 3, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 6 && words[1] == 42 && words[2] == 401);

	/* Kernels and a copy behind one that is under way: none waits for ever. */
	words[0] = 1;
	OK(add_one_of(memory, 3, 20000, stream));
	OK(add_one_of(memory, 3, 20000, stream));
	OK(add_one(memory, 3, stream));
	OK(cuMemcpyDtoH_v2(&seen, memory, 4));
	IS(seen == 1 || seen == 4); /* The stream does not wait for the default stream. */
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 4 && words[1] == 45 && words[2] == 404);
	words[0] = 6;

	/* The same with copies alone: what one brings, the next one takes. */
	OK(cuMemAlloc_v2(&plain, 8));
	OK(cuMemsetD32_v2(plain, 20, 2));
	OK(cuCtxSynchronize());
	OK(add_one_of(plain, 1, 20000, stream));
	OK(cuMemcpyDtoHAsync_v2(&seen, plain, 4, stream));
	OK(cuMemcpyHtoDAsync_v2(plain + 4, &seen, 4, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&seen, plain + 4, 4));
	IS(seen == 21);
	OK(cuMemFree_v2(plain));

	/* A function of the program's behind the kernel. */
	seen_by_function = words;
	OK(add_one_of(memory, 1, 20000, stream));
	OK(cuLaunchHostFunc(stream, look, NULL));
	OK(cuStreamSynchronize(stream));
	IS(seen == 7);
	OK(cuMemFree_v2(memory));
}

/* Copies and memory that is set, on either side. */
static void copies(void)
{
	CUdeviceptr memory, plain;
	unsigned int sent[300], got[300];
	word *words;

	for (unsigned int n = 0; n < 300; n++)
		sent[n] = 3 * n;
	OK(cuMemAllocManaged(&memory, sizeof(sent), CU_MEM_ATTACH_HOST));
	OK(cuMemAlloc_v2(&plain, sizeof(sent)));
	words = host(memory);
	OK(cuMemcpyHtoD_v2(memory, sent, sizeof(sent)));
	IS(all_are(words, 300, 0, 3));
	words[5] = 99;
	OK(cuMemcpyDtoH_v2(got, memory, sizeof(got)));
	IS(got[4] == 12 && got[5] == 99 && got[299] == 897);
	OK(cuMemcpyDtoD_v2(plain, memory, sizeof(got)));
	OK(cuMemcpyDtoH_v2(got, plain, sizeof(got)));
	IS(got[5] == 99 && got[299] == 897);
	OK(cuMemsetD32_v2(memory, 17, 10));
	OK(cuCtxSynchronize());
	IS(words[0] == 17 && words[9] == 17 && words[10] == 30);
	OK(cuMemsetD8Async(memory + 4, 1, 4, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 17 && words[1] == 0x01010101 && words[2] == 17);

	/* By addresses that say themselves whose they are, and as the program's memory. */
	OK(cuMemcpy(memory, plain, sizeof(got)));
	IS(words[0] == 0 && words[5] == 99);
	OK(cuMemcpyAsync((CUdeviceptr)(uintptr_t)got, memory, sizeof(got), stream));
	OK(cuStreamSynchronize(stream));
	IS(got[5] == 99 && got[6] == 18);
	OK(cuMemcpyHtoD_v2(plain, (void *)(uintptr_t)(memory + 20), 4));
	OK(cuMemcpyDtoH_v2((void *)(uintptr_t)(memory + 80), plain, 4));
	IS(words[20] == 99);
	OK(add_one(memory, 21, stream));
	OK(cuMemcpyDtoHAsync_v2(got, memory, sizeof(got), stream));
	OK(cuStreamSynchronize(stream));
	IS(got[20] == 100 && words[20] == 100 && got[21] == 63);
	OK(cuMemFree_v2(plain));
	OK(cuMemFree_v2(memory));
}

#define SMALL 3000

/* Small ones are beside each other, and apart. */
static void small_ones(void)
{
	static CUdeviceptr all[SMALL];
	int is_right = 1;

	for (unsigned int n = 0; n < SMALL; n++) {
		if (cuMemAllocManaged(&all[n], 8, CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS)
			is_right = 0;
		else
			*host(all[n]) = n;
	}
	IS(is_right);
	for (unsigned int n = 0; n < SMALL; n += 1000)
		OK(add_one(all[n], 1, stream));
	OK(cuStreamSynchronize(stream));
	for (unsigned int n = 0; n < SMALL; n++)
		is_right &= *host(all[n]) == n + (n % 1000 == 0);
	IS(is_right);
	for (unsigned int n = 0; n < SMALL; n += 2)
		is_right &= cuMemFree_v2(all[n]) == CUDA_SUCCESS;
	for (unsigned int n = 0; n < SMALL; n += 2)
		is_right &= cuMemAllocManaged(&all[n], 8, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS;
	for (unsigned int n = 1; n < SMALL; n += 2)
		is_right &= *host(all[n]) == n;
	for (unsigned int n = 0; n < SMALL; n++)
		is_right &= cuMemFree_v2(all[n]) == CUDA_SUCCESS;
	IS(is_right);
}

static void mapped(void)
{
	void *place, *plain = malloc(100000), *pinned;
	CUdeviceptr address, inside;
	unsigned int flags;
	word *words;

	/* At the same address for both. */
	OK(cuMemHostAlloc(&place, 4096, 2));
	OK(cuMemHostGetDevicePointer_v2(&address, place, 0));
	IS(address == (uintptr_t)place);
	OK(cuMemHostGetFlags(&flags, place));
	IS(flags == 2);
	words = place;
	words[0] = 1;
	words[1] = 10;
	OK(add_one_of(address, 1, 20000, stream));
	words[1] = 11;
	IS(becomes(&words[0], 2));
	IS(words[1] == 11);
	OK(cuMemHostGetDevicePointer_v2(&inside, &((char *)place)[4], 0));
	IS(inside == address + 4);
	OK(add_one(inside, 1, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 2 && words[1] == 12);
	OK(cuMemFreeHost(place));

	/* Memory of the program's own, which has another address for the device. */
	memset(plain, 0, 100000);
	OK(cuMemHostRegister_v2(plain, 100000, 2));
	OK(cuMemHostGetDevicePointer_v2(&address, plain, 0));
	OK(cuMemHostGetDevicePointer_v2(&inside, (char *)plain + 400, 0));
	IS(inside == address + 400);
	words = plain;
	words[100] = 7;
	OK(add_one(inside, 2, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[99] == 0 && words[100] == 8 && words[101] == 1 && words[102] == 0);
	OK(cuMemcpyDtoH_v2(&flags, inside, 4));
	IS(flags == 8);
	OK(cuMemHostUnregister(plain));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(&address, plain, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(&flags, inside, 4));
	OK(cuMemHostRegister_v2(plain, 100000, 2));
	OK(cuMemHostGetDevicePointer_v2(&address, plain, 0));
	OK(add_one(address, 1, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[0] == 1 && words[100] == 8);
	OK(cuMemHostUnregister(plain));
	free(plain);

	/* Memory that is not there is not registered, and keeps nothing else from it. */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2((void *)0x5000, 4096, 2));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2((void *)0x5000, 100000, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2((void *)0x5000, (size_t)1 << 40, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2((void *)-8192, 4096, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(&address, (void *)0x5000, 0));
	GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister((void *)0x5000));

	/* Pinned memory that is mapped when the program asks where it is. */
	OK(cuMemAllocHost_v2(&pinned, 100));
	memset(pinned, 0, 100);
	words = pinned;
	words[24] = 70;
	OK(cuMemHostGetDevicePointer_v2(&address, pinned, 0));
	OK(add_one(address + 96, 1, stream));
	OK(cuStreamSynchronize(stream));
	IS(words[24] == 71);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(&address, pinned, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(NULL, pinned, 0));
	OK(cuMemFreeHost(pinned));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2(&address, pinned, 0));
}

static void asked(void)
{
	CUdeviceptr memory, address;
	void *place;
	unsigned int number, kind;
	int managed_flag, values[4];
	location gpu = { 1, 0 }, cpu = { 2, 0 }, none = { 1, 5 };
	void *lists[2] = { &values[0], &values[1] };
	size_t sizes[2] = { 4, 4 };
	int names[2] = { 5, 6 };
	struct CUgraph_st *graph;

	OK(cuMemAllocManaged(&memory, 10000, CU_MEM_ATTACH_GLOBAL));
	OK(cuPointerGetAttribute(&managed_flag, 8, memory + 8));
	IS(managed_flag == 1);
	OK(cuPointerGetAttribute(&address, 3, memory + 8));
	IS(address == memory + 8);
	OK(cuPointerGetAttribute(&place, 4, memory + 8));
	IS((uintptr_t)place == memory + 8);
	OK(cuPointerGetAttribute(&kind, 2, memory));
	IS(kind == 2);
	OK(cuMemHostAlloc(&place, 100, 2));
	OK(cuPointerGetAttribute(&managed_flag, 8, (uintptr_t)place));
	OK(cuPointerGetAttribute(&kind, 2, (uintptr_t)place));
	OK(cuPointerGetAttribute(&address, 3, (uintptr_t)place));
	IS(managed_flag == 0 && kind == 1 && address == (uintptr_t)place);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync((uintptr_t)place, 100, device, stream));
	OK(cuMemFreeHost(place));

	/* What is advised. */
	OK(cuMemRangeGetAttribute(&number, 4, 1, memory, 10000));
	IS(number == 0);
	OK(cuMemAdvise(memory, 4000, 1, device));
	OK(cuMemRangeGetAttribute(&number, 4, 1, memory + 100, 200));
	IS(number == 1);
	OK(cuMemRangeGetAttribute(&number, 4, 1, memory, 10000));
	IS(number == 0);
	OK(cuMemAdvise(memory, 10000, 2, device));
	OK(cuMemRangeGetAttribute(&number, 4, 1, memory, 4000));
	IS(number == 0);
	OK(cuMemRangeGetAttribute(&number, 4, 2, memory, 10000));
	IS((int)number == -2);
	OK(cuMemAdvise(memory, 10000, 3, -1));
	OK(cuMemRangeGetAttribute(&number, 4, 2, memory, 10000));
	IS((int)number == -1);
	OK(cuMemAdvise_v2(memory, 10000, 3, gpu));
	OK(cuMemRangeGetAttributes(lists, sizes, names, 2, memory, 10000));
	IS(values[0] == 1 && values[1] == 0);
	OK(cuMemAdvise_v2(memory, 10000, 4, cpu));
	OK(cuMemRangeGetAttribute(&number, 4, 5, memory, 10000));
	IS(number == 0);
	OK(cuMemAdvise(memory, 10000, 5, device));
	OK(cuMemAdvise(memory, 5000, 5, -1));
	OK(cuMemRangeGetAttribute(values, 16, 3, memory, 10000));
	IS(values[0] == 0 && values[1] == -2 && values[3] == -2);
	OK(cuMemRangeGetAttribute(values, 8, 3, memory, 5000));
	IS(values[0] == -1 && values[1] == 0);
	OK(cuMemAdvise(memory, 10000, 6, device));
	OK(cuMemRangeGetAttribute(values, 4, 3, memory, 10000));
	IS(values[0] == -2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(memory, 10001, 1, device));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(memory, 0, 1, device));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAdvise(memory, 100, 99, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise(memory, 100, 3, 7));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise_v2(memory, 100, 5, none));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(values, 5, 3, memory, 100));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(values, 8, 1, memory, 100));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(NULL, 4, 1, memory, 100));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute(values, 4, 77, memory, 100));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttributes(lists, sizes, names, 0, memory, 100));

	/* Memory that is moved before it is used, and back. */
	*host(memory) = 5;
	OK(cuMemPrefetchAsync(memory, 10000, device, stream));
	OK(cuMemRangeGetAttribute(&number, 4, 4, memory, 10000));
	IS(number == 0);
	OK(add_one(memory, 1, stream));
	OK(cuMemPrefetchAsync(memory, 10000, -1, stream));
	OK(cuStreamSynchronize(stream));
	IS(*host(memory) == 6);
	OK(cuMemRangeGetAttribute(&number, 4, 4, memory, 10000));
	IS((int)number == -1);
	OK(cuMemPrefetchAsync_v2(memory, 100, gpu, 0, stream));
	OK(cuMemRangeGetAttribute(&number, 4, 4, memory, 10000));
	IS((int)number == -2);
	OK(cuMemRangeGetAttribute(&number, 4, 8, memory, 100));
	IS(number == 0);
	OK(cuMemRangeGetAttribute(&number, 4, 7, memory, 100));
	IS(number == 1);
	OK(cuMemPrefetchAsync_ptsz(memory, 10000, device, NULL));
	OK(cuMemPrefetchAsync_v2_ptsz(memory, 10000, cpu, 0, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2(memory, 100, gpu, 1, stream));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync(memory, 100, 3, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(memory + 9990, 11, device, stream));

	/* Memory that is attached: nothing else may be. */
	OK(cuStreamAttachMemAsync(stream, memory, 0, CU_MEM_ATTACH_SINGLE));
	OK(cuStreamAttachMemAsync(stream, memory, 10000, CU_MEM_ATTACH_HOST));
	OK(cuStreamAttachMemAsync_ptsz(NULL, memory, 0, CU_MEM_ATTACH_SINGLE));
	OK(cuStreamAttachMemAsync(stream, memory, 0, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(stream, memory + 4, 0, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(stream, memory, 40, CU_MEM_ATTACH_GLOBAL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(NULL, memory, 0, CU_MEM_ATTACH_SINGLE));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync(stream, memory, 0, 3));

	/* It is moved in the order of a stream, and is no node of a graph. */
	OK(cuStreamBeginCapture_v2(stream, 2));
	GIVES(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemPrefetchAsync(memory, 100, device, stream));
	GIVES(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuMemFree_v2(memory));
}

static void in_graphs(void)
{
	CUdeviceptr memory;
	struct CUgraph_st *graph;
	struct CUgraphExec_st *exec;

	OK(cuMemAllocManaged(&memory, 40, CU_MEM_ATTACH_GLOBAL));
	OK(cuStreamBeginCapture_v2(stream, 2));
	OK(add_one(memory, 2, stream));
	OK(cuMemsetD32Async(memory + 8, 9, 1, stream));
	OK(add_one(memory + 4, 2, stream));
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	host(memory)[0] = 1;
	host(memory)[1] = 2;
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(host(memory)[0] == 2 && host(memory)[1] == 4 && host(memory)[2] == 10);
	host(memory)[0] = 100;
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(host(memory)[0] == 101 && host(memory)[1] == 6 && host(memory)[2] == 10);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuMemFree_v2(memory));
}

/* Memory that its context leaves behind. */
static void contexts(void)
{
	CUcontext second;
	CUdeviceptr memory;
	CUmodule module;
	CUfunction function;
	unsigned int count = 1;
	void *values[] = { &memory, &count };

	OK(cuCtxCreate_v2(&second, 0, device));
	OK(cuModuleLoadData(&module, more_kernel));
	OK(cuModuleGetFunction(&function, module, "more"));
	OK(cuMemAllocManaged(&memory, 4 << 20, CU_MEM_ATTACH_GLOBAL));
	*host(memory + (4 << 20) - 4) = 3;
	*host(memory) = 3;
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuCtxSynchronize());
	IS(*host(memory) == 4);
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxSetCurrent(context));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(memory));
	OK(cuMemAllocManaged(&memory, 4, CU_MEM_ATTACH_GLOBAL));
	*host(memory) = 8;
	OK(add_one(memory, 1, stream));
	OK(cuCtxSynchronize());
	IS(*host(memory) == 9);
	OK(cuMemFree_v2(memory));
}

int main(void)
{
	CUmodule module;

	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	OK(cuModuleLoadData(&module, more_kernel));
	OK(cuModuleGetFunction(&more, module, "more"));
	OK(cuStreamCreate(&stream, 1));
	OK(cuStreamCreate(&other, 1));
	managed();
	seen_without_calls();
	copies();
	small_ones();
	mapped();
	asked();
	in_graphs();
	contexts();
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
