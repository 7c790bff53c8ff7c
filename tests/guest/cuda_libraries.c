/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Libraries and their kernels, with and without a current context, over a driver that runs no kernels. */
#include "cuda_libraries.h"
#include <pthread.h>
#include <unistd.h>

/* An attribute of a function: most bytes of shared memory that a launch may ask for. */
#define MAX_DYNAMIC_SHARED 8
#define DYNAMIC_SHARED (40 << 10)

static CUdevice device;

static CUresult load(CUlibrary *library, const void *code)
{
	return cuLibraryLoadData(library, code, NULL, NULL, 0, NULL, NULL, 0);
}

static int is_active(void)
{
	unsigned int flags;
	int active = -1;

	OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	return active;
}

/* Launches a kernel in the current context, by its own handle; what the library's module then has in a variable. */
static int launched(CUlibrary library, CUkernel kernel, unsigned long long value)
{
	unsigned int b = 5;
	unsigned char c = 9, bytes[13] = { 0 };
	void *values[] = { &value, &b, &c };
	CUdeviceptr params;

	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuLibraryGetGlobal(&params, NULL, library, "null_params"));
	OK(cuMemcpyDtoH_v2(bytes, params, 13));
	return memcmp(bytes, &value, 8) == 0 && bytes[8] == 5 && bytes[12] == 9;
}

/* What a function's cache is for, in the current context. */
static int cache_of(CUlibrary library, CUkernel none)
{
	CUdeviceptr cache;
	int is = -1;

	OK(cuLaunchKernel((CUfunction)none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuLibraryGetGlobal(&cache, NULL, library, "null_cache"));
	OK(cuMemcpyDtoH_v2(&is, cache, 4));
	return is;
}

static void loads(void)
{
	char garbage[] = "\1\2\3\0", text[] = ".version 8.0\n.entry", *name = "/tmp/gil-library.ptx";
	int preserved[] = { 1, 1 }, table[] = { 0 }, unknown[] = { 2 }, registers[] = { 0 };
	int pointer[] = { 17 };
	void *values[] = { (void *)32 };
	CUlibrary library = NULL, second;
	FILE *file = fopen(name, "w");

	IS(file && fputs(library_kernels, file) > 0 && fclose(file) == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, load(NULL, library_kernels));
	GIVES(CUDA_ERROR_INVALID_VALUE, load(&library, NULL));
	GIVES(CUDA_ERROR_INVALID_IMAGE, load(&library, garbage + 3));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData(&library, library_kernels, NULL, NULL, 1, NULL, NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData(&library, library_kernels, NULL, NULL, 0, NULL, NULL, 1));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLibraryLoadData(&library, library_kernels, NULL, NULL, 0, table, values, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData(&library, library_kernels, NULL, NULL, 0, unknown, values, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuLibraryLoadData(&library, library_kernels, NULL, NULL, 0, preserved, values, 77));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLibraryLoadData(&library, library_kernels, pointer, values, 1, NULL, NULL, 0));
	GIVES(CUDA_ERROR_FILE_NOT_FOUND, cuLibraryLoadFromFile(&library, "/nonexistent", NULL, NULL, 0, NULL, NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadFromFile(&library, name, NULL, NULL, 0, preserved, values, 1));
	IS(library == NULL);
	OK(cuLibraryLoadData(&library, library_kernels, registers, values, 1, preserved, values, 1));
	OK(cuLibraryLoadFromFile(&second, name, NULL, NULL, 0, NULL, NULL, 0));
	IS(library && second && library != second);
	OK(cuLibraryUnload(library));
	OK(cuLibraryUnload(second));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(NULL));
	OK(cuDevicePrimaryCtxGetState(device, &(unsigned int){ 0 }, &preserved[0]));
	IS(preserved[0] == 0);

	/* What is wrong with a text comes out where something of it is used first. */
	OK(load(&library, text));
	GIVES(CUDA_ERROR_INVALID_PTX, cuLibraryGetKernel((CUkernel *)&second, library, "none"));
	OK(cuLibraryUnload(library));
}

/* No context is current: a primary context is asked, and nobody sees that it is there. */
static void without_a_context(void)
{
	CUlibrary library, of = NULL;
	CUkernel none, three, again, all[4] = { NULL };
	CUfunction function;
	CUmodule module;
	CUdeviceptr address;
	CUcontext context = (CUcontext)1;
	const char *name;
	unsigned int count = 0, flags;
	size_t offset, size;
	void *pointer;
	int value;

	OK(load(&library, library_kernels));
	OK(cuLibraryGetKernel(&none, library, "none"));
	OK(cuLibraryGetKernel(&three, library, "three"));
	OK(cuLibraryGetKernel(&again, library, "three"));
	IS(again == three && none != three);
	GIVES(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&again, library, "four"));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernel(&again, library, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernel(NULL, library, "none"));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel(&again, (CUlibrary)three, "none"));
	OK(cuLibraryGetKernelCount(&count, library));
	IS(count == 2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernelCount(NULL, library));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernelCount(&count, NULL));
	OK(cuLibraryEnumerateKernels(all, 1, library));
	IS(all[0] == none && !all[1]);
	OK(cuLibraryEnumerateKernels(all, 4, library));
	IS(all[0] == none && all[1] == three && !all[2]);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryEnumerateKernels(NULL, 4, library));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryEnumerateKernels(all, 4, (CUlibrary)three));
	OK(cuKernelGetName(&name, three));
	IS(strcmp(name, "three") == 0);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, (CUkernel)library));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelGetName(NULL, three));
	OK(cuKernelGetLibrary(&of, three));
	IS(of == library);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetLibrary(&of, NULL));
	OK(cuKernelGetParamInfo(three, 1, &offset, &size));
	IS(offset == 8 && size == 4);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(three, 3, &offset, &size));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetParamInfo((CUkernel)library, 0, &offset, &size));
	OK(cuKernelGetAttribute(&value, 0, three, device));
	IS(value == 1024);
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute(&value, 0, three, 77));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetAttribute(&value, 0, (CUkernel)library, device));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelGetAttribute(NULL, 0, three, device));

	/* These are of a context. */
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuLibraryGetModule(&module, library));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&function, three));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuLibraryGetGlobal(&address, NULL, library, "null_params"));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuLaunchKernel((CUfunction)none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&address, &size, library, "null_params"));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetManaged(NULL, NULL, library, "null_params"));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetManaged(&address, &size, NULL, "null_params"));
	GIVES(CUDA_ERROR_NOT_FOUND, cuLibraryGetUnifiedFunction(&pointer, library, "none"));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetUnifiedFunction(&pointer, library, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetUnifiedFunction(&pointer, NULL, "none"));
	OK(cuDeviceGetAttribute(&value, 129, device));
	IS(value == 0);

	/* The primary context is not the program's until it retains it, with the flags that it set by then. */
	IS(is_active() == 0);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(device));
	OK(cuCtxGetCurrent(&context));
	IS(context == NULL);
	OK(cuDevicePrimaryCtxSetFlags_v2(device, 4));
	IS(is_active() == 0);
	OK(cuDevicePrimaryCtxRetain(&context, device));
	IS(is_active() == 1);
	OK(cuCtxSetCurrent(context));
	OK(cuCtxGetFlags(&flags));
	IS(flags == 4);
	IS(launched(library, three, 11));
	OK(cuDevicePrimaryCtxRelease_v2(device));
	IS(is_active() == 0);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction(&function, three));
	OK(cuCtxSetCurrent(NULL));
	OK(cuLibraryUnload(library));
}

static void in_contexts(void)
{
	CUlibrary library;
	CUkernel none, three, stale;
	CUfunction function, other_function, found;
	CUmodule module, again, of;
	CUcontext first, second;
	CUdeviceptr params, other_params;
	CUlaunchConfig plain = { 4, 1, 1, 32, 1, 1, 0, NULL, NULL, 0 };
	CUlaunchAttribute list[1] = { { .id = 4 } };
	CUlaunchConfig with = { 4, 1, 1, 32, 1, 1, 0, NULL, list, 1 };
	unsigned long long a = 1;
	unsigned int b = 5, cluster[3] = { 2, 1, 1 };
	unsigned char c = 9;
	void *values[] = { &a, &b, &c };
	const char *name;
	char text[64] = "x";
	int told[] = { 3, 4 }, preserved[] = { 1 };
	void *told_values[] = { text, (void *)64 };
	size_t size;
	int value, blocks, threads;

	memcpy(list[0].value.pad, cluster, sizeof(cluster));
	OK(cuCtxCreate_v2(&first, 0, device));
	OK(load(&library, library_kernels));
	OK(cuLibraryGetKernel(&none, library, "none"));
	OK(cuLibraryGetKernel(&three, library, "three"));
	OK(cuLibraryGetModule(&module, library));
	OK(cuLibraryGetModule(&again, library));
	IS(module == again);
	OK(cuModuleGetFunction(&function, module, "three"));
	OK(cuKernelGetFunction(&found, three));
	IS(found == function);
	OK(cuFuncGetModule(&of, function));
	IS(of == module);
	/* A library's module goes with the library alone. */
	GIVES(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetModule(&module, (CUlibrary)module));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetModule(NULL, library));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&found, (CUkernel)function));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelGetFunction(NULL, three));
	OK(cuLibraryGetGlobal(&params, &size, library, "null_params"));
	IS(params != 0 && size == 64);
	OK(cuLibraryGetGlobal(NULL, &size, library, "null_cache"));
	IS(size == 4);
	GIVES(CUDA_ERROR_NOT_FOUND, cuLibraryGetGlobal(&params, &size, library, "none"));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetGlobal(&params, &size, library, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLibraryGetGlobal(NULL, NULL, library, "null_params"));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetGlobal(&params, &size, (CUlibrary)three, "null_params"));

	/* A kernel in a function's place. */
	IS(launched(library, three, 21));
	IS(launched(library, three, 22));
	IS(launched(library, three, 23));
	OK(cuLaunchKernelEx(&plain, (CUfunction)three, values, NULL));
	OK(cuLaunchKernelEx(&with, (CUfunction)three, values, NULL));
	OK(cuMemcpyDtoH_v2(&a, params, 8));
	IS(a == 1);
	a = 2;
	OK(cuLaunchCooperativeKernel((CUfunction)three, 2, 1, 1, 1024, 1, 1, 0, NULL, values));
	OK(cuMemcpyDtoH_v2(&a, params, 8));
	IS(a == 2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel((CUfunction)three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)library, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuFuncGetAttribute(&value, 0, (CUfunction)three));
	IS(value == 1024);
	OK(cuFuncGetName(&name, (CUfunction)three));
	IS(strcmp(name, "three") == 0);
	OK(cuFuncLoad((CUfunction)none));
	OK(cuFuncIsLoaded(&value, (CUfunction)none));
	IS(value == 1);
	OK(cuFuncSetCacheConfig((CUfunction)none, 0));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (CUfunction)none, 512, 0));
	IS(blocks == 4);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (CUfunction)none, 1024, 0, 0));
	IS(blocks == 2);
	OK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, (CUfunction)none, NULL, 0, 0));
	IS(blocks == 2 && threads == 1024);
	OK(cuOccupancyAvailableDynamicSMemPerBlock(&size, (CUfunction)none, 4, 128));
	IS(size == 12 << 10);
	OK(cuOccupancyMaxPotentialClusterSize(&value, (CUfunction)none, &plain));
	IS(value == 8);
	with.blockDimX = 512;
	OK(cuOccupancyMaxActiveClusters(&value, (CUfunction)none, &with));
	IS(value == 2);

	/* What is set of a kernel, every context of the device has. */
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuLaunchKernel((CUfunction)none, 1, 1, 1, 1, 1, 1, DYNAMIC_SHARED * 2, NULL, NULL, NULL));
	OK(cuKernelSetAttribute(MAX_DYNAMIC_SHARED, DYNAMIC_SHARED, none, device));
	OK(cuKernelGetAttribute(&value, MAX_DYNAMIC_SHARED, none, device));
	IS(value == DYNAMIC_SHARED);
	OK(cuKernelGetFunction(&found, none));
	OK(cuFuncGetAttribute(&value, MAX_DYNAMIC_SHARED, found));
	IS(value == DYNAMIC_SHARED);
	OK(cuKernelSetCacheConfig(none, 2, device));
	IS(cache_of(library, none) == 2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelSetAttribute(MAX_DYNAMIC_SHARED, -1, none, device));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelSetAttribute(MAX_DYNAMIC_SHARED, 1, (CUkernel)library, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuKernelSetAttribute(MAX_DYNAMIC_SHARED, 1, none, -1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuKernelSetCacheConfig(none, 77, device));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelSetCacheConfig((CUkernel)library, 1, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuKernelSetCacheConfig(none, 1, 77));

	OK(cuCtxCreate_v2(&second, 0, device));
	OK(cuKernelGetFunction(&other_function, three));
	IS(other_function != function);
	OK(cuLibraryGetGlobal(&other_params, NULL, library, "null_params"));
	IS(other_params != params);
	IS(launched(library, three, 31));
	OK(cuKernelGetFunction(&found, none));
	OK(cuFuncGetAttribute(&value, MAX_DYNAMIC_SHARED, found));
	IS(value == DYNAMIC_SHARED);
	IS(cache_of(library, none) == 2);
	OK(cuKernelSetAttribute(MAX_DYNAMIC_SHARED, 1 << 10, none, device));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	OK(cuCtxPopCurrent_v2(NULL));
	IS(launched(library, three, 32));
	OK(cuKernelGetFunction(&found, none));
	OK(cuFuncGetAttribute(&value, MAX_DYNAMIC_SHARED, found));
	IS(value == 1 << 10);

	/* A context takes what the library became in it, and not the library. */
	OK(cuCtxDestroy_v2(first));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncGetModule(&of, function));
	OK(cuCtxSetCurrent(second));
	IS(launched(library, three, 41));
	OK(cuLibraryGetModule(&module, library));
	OK(cuLibraryUnload(library));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, module, "three"));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncGetModule(&of, other_function));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)three, 1, 1, 1, 1, 1, 1, 0, NULL, values, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&function, three));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName(&name, three));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel(&stale, library, "three"));
	GIVES(CUDA_ERROR_INVALID_PTX, load(&library, ".version 8.0\n.entry"));

	/* What the compiler tells, where a library is loaded at once and where it is not. */
	OK(cuLibraryLoadData(&library, library_kernels, told, told_values, 2, NULL, NULL, 0));
	IS(strcmp(text, "null: 2 kernels") == 0 && told_values[1] == (void *)15);
	OK(cuLibraryUnload(library));
	told_values[1] = (void *)64;
	OK(cuLibraryLoadData(&library, library_kernels, told, told_values, 2, preserved, NULL, 1));
	IS(text[0] == 0 && told_values[1] == NULL);
	OK(cuLibraryGetKernel(&stale, library, "three"));
	IS(text[0] == 0);
	OK(cuLibraryUnload(library));
	OK(cuCtxDestroy_v2(second));
}

/* Threads that use one kernel first in one context find one function. */
static CUcontext shared_context;
static CUkernel shared_kernel;

static void *finds(void *to)
{
	CUfunction *function = to;

	if (cuCtxSetCurrent(shared_context) || cuKernelGetFunction(function, shared_kernel))
		*function = NULL;
	return NULL;
}

static void in_threads(void)
{
	pthread_t threads[4];
	CUfunction functions[4];
	CUlibrary library;
	int n, preserved[] = { 1 };

	OK(cuCtxCreate_v2(&shared_context, 0, device));
	OK(cuLibraryLoadData(&library, library_kernels, NULL, NULL, 0, preserved, NULL, 1));
	OK(cuLibraryGetKernel(&shared_kernel, library, "three"));
	for (n = 0; n < 4; n++)
		pthread_create(&threads[n], NULL, finds, &functions[n]);
	for (n = 0; n < 4; n++)
		pthread_join(threads[n], NULL);
	IS(functions[0] && functions[0] == functions[1] && functions[0] == functions[2] && functions[0] == functions[3]);
	/* The library outlives its context. */
	OK(cuCtxDestroy_v2(shared_context));
	OK(cuLibraryUnload(library));
}

int main(void)
{
	CUlibrary library;

	/* What a program that stops had come to. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	GIVES(CUDA_ERROR_NOT_INITIALIZED, load(&library, library_kernels));
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	loads();
	without_a_context();
	in_contexts();
	in_threads();
	printf("%d failures\n", failures);
	return failures != 0;
}
