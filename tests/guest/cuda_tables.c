/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tables of functions that NVIDIA's own runtime asks the driver's library for, slot by slot, as
 * docs/CUDA.md lists them. */
#include "cuda_driver.h"

typedef struct {
	unsigned char bytes[16];
} uuid;

static const uuid runtime_id = {{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd,
				 0x9d, 0xf9}};
static const uuid storage_id = {{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8,
				 0x95, 0x93}};
static const uuid callbacks_id = {{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c,
				   0x0a, 0x66}};
static const uuid threads_id = {{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a,
				 0xec, 0xdc}};
static const uuid checks_id = {{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d,
				0xfa, 0x7e}};
static const uuid validity_id = {{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66,
				  0xe1, 0xf2}};
static const uuid no_id = {{1}};

typedef CUresult (*plain)(void);

/* A table; its first word is its bytes, if it says that. */
static void *const *table(const uuid *id, size_t slots)
{
	const void *found = NULL;

	OK(cuGetExportTable(&found, id));
	IS(slots == 0 || *(const size_t *)found == slots * sizeof(void *));
	return found;
}

/* All other slots refuse. */
static void refuses(void *const *in, size_t from, size_t slots, unsigned int there)
{
	for (size_t n = from; n < slots; n++)
		if (!(there >> n & 1))
			GIVES(CUDA_ERROR_NOT_SUPPORTED, ((plain)in[n])());
}

static CUcontext ended_context;
static void *ended_key, *ended_value;
static int endings;

static void ends(CUcontext context, void *key, void *value)
{
	ended_context = context;
	ended_key = key;
	ended_value = value;
	endings++;
}

static void storage(CUcontext primary)
{
	void *const *in = table(&storage_id, 0);
	CUresult (*put)(CUcontext, void *, void *, void (*)(CUcontext, void *, void *)) = in[0];
	CUresult (*delete)(CUcontext, void *) = in[1];
	CUresult (*get)(void **, CUcontext, void *) = in[2];
	CUcontext other, current;
	void *value = NULL;
	int a, b;

	refuses(in, 0, 4, 7);
	/* A primary context that nobody uses, and none. */
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, put(primary, &a, &a, ends));
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, get(&value, primary, &a));
	OK(delete(primary, &a));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, get(&value, NULL, &a));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, put((CUcontext)&a, &a, &a, ends));
	OK(cuCtxCreate_v2(&other, 0, 0));
	GIVES(CUDA_ERROR_INVALID_HANDLE, get(&value, NULL, &a));
	GIVES(CUDA_ERROR_INVALID_VALUE, get(NULL, NULL, &a));
	OK(put(NULL, &a, &b, ends));
	OK(get(&value, NULL, &a));
	IS(value == &b);
	OK(put(other, &a, &a, ends));
	OK(put(other, &b, &b, ends));
	OK(get(&value, other, &a));
	IS(value == &a);
	OK(delete(NULL, &b));
	GIVES(CUDA_ERROR_INVALID_HANDLE, get(&value, other, &b));
	IS(endings == 0);
	OK(cuCtxDestroy_v2(other));
	IS(endings == 1 && ended_context == other && ended_key == &a && ended_value == &a);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, get(&value, other, &a));

	/* With a primary context, under its one handle. */
	OK(cuDevicePrimaryCtxRetain(&current, 0));
	IS(current == primary);
	GIVES(CUDA_ERROR_INVALID_HANDLE, get(&value, primary, &a));
	OK(put(primary, &a, &b, ends));
	OK(cuDevicePrimaryCtxReset_v2(0));
	IS(endings == 2 && ended_context == primary && ended_value == &b);
	OK(cuDevicePrimaryCtxRetain(&current, 0));
	IS(current == primary);
	GIVES(CUDA_ERROR_INVALID_HANDLE, get(&value, primary, &a));
	OK(cuDevicePrimaryCtxRelease_v2(0));
}

/* A primary context may be current before it is in use. */
static CUcontext contexts(void)
{
	void *const *in = table(&runtime_id, 13);
	CUresult (*primary_of)(CUcontext *, CUdevice) = in[2];
	CUcontext primary = NULL, same, current;
	unsigned int flags, version;
	CUdeviceptr memory;
	CUdevice device;
	int active;

	refuses(in, 1, 13, 1 << 1 | 1 << 2 | 1 << 6 | 1 << 8);
	GIVES(CUDA_ERROR_INVALID_VALUE, primary_of(NULL, 0));
	GIVES(CUDA_ERROR_INVALID_DEVICE, primary_of(&primary, 5));
	OK(primary_of(&primary, 0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	IS(!active);
	OK(cuCtxGetApiVersion(primary, &version));
	OK(cuCtxSetCurrent(primary));
	OK(cuCtxGetCurrent(&current));
	IS(current == primary);
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxGetDevice(&device));
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&memory, 16));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(primary));
	OK(cuDevicePrimaryCtxRetain(&same, 0));
	IS(same == primary);
	OK(cuCtxGetDevice(&device));
	OK(cuMemAlloc_v2(&memory, 16));
	OK(cuCtxGetCurrent(&current));
	IS(current == primary);
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuCtxSetCurrent(primary));
	GIVES(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree_v2(memory));
	OK(cuDevicePrimaryCtxRetain(&same, 0));
	OK(primary_of(&current, 0));
	IS(same == primary && current == primary);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(memory));
	OK(cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuCtxSetCurrent(NULL));
	return primary;
}

static void modules(void)
{
	void *const *in = table(&runtime_id, 13);
	CUresult (*load)(CUmodule *, const void *) = in[1];
	CUresult (*load_with)(CUmodule *, const void *, void *, void *, unsigned int) = in[6];
	CUresult (*load_from)(const void *, CUmodule *, void *, void *, unsigned int) = in[8];
	size_t bytes = (sizeof(kernels) + 7) & ~(size_t)7;
	uint64_t *binary = calloc(1, 32 + bytes);
	struct {
		int first, version;
		const void *data;
		void *file;
	} wrapper = {0x466243b1, 1, binary, NULL};
	CUmodule module;
	CUfunction function;
	CUcontext context;

	binary[0] = 0xba55ed50u | (uint64_t)1 << 32 | (uint64_t)16 << 48;
	binary[1] = 16 + bytes;
	binary[2] = 1 | (uint64_t)0x101 << 16 | (uint64_t)16 << 32;
	binary[3] = bytes;
	memcpy(binary + 4, kernels, sizeof(kernels));
	OK(cuCtxCreate_v2(&context, 0, 0));
	OK(load(&module, &wrapper));
	OK(cuModuleGetFunction(&function, module, "three"));
	OK(cuModuleUnload(module));
	GIVES(CUDA_ERROR_INVALID_VALUE, load(NULL, &wrapper));
	GIVES(CUDA_ERROR_INVALID_VALUE, load(&module, NULL));
	OK(load_with(&module, &wrapper, NULL, NULL, 0));
	OK(cuModuleGetFunction(&function, module, "three"));
	OK(cuModuleUnload(module));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, load_with(&module, &wrapper, &module, NULL, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, load_with(&module, &wrapper, NULL, &module, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, load_with(&module, &wrapper, NULL, NULL, 1));
	OK(load_from(binary, &module, NULL, NULL, 0));
	OK(cuModuleGetFunction(&function, module, "three"));
	OK(cuModuleUnload(module));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, load_from(binary, &module, &module, NULL, 0));
	OK(cuCtxDestroy_v2(context));
	free(binary);
}

static void tools(CUcontext primary)
{
	void *const *in = table(&callbacks_id, 7);
	void (*calls)(const unsigned int **, size_t *) = in[2], (*kinds)(const unsigned int **, size_t *) = in[6];
	void *const *checks = table(&checks_id, 4);
	CUresult (*of_context)(CUcontext, unsigned int *, const void **) = checks[2];
	unsigned int (*of_process)(void) = checks[3], set = 0, matter = 1;
	const unsigned int *words, *others;
	size_t count, more;

	refuses(in, 1, 7, 1 << 2 | 1 << 6);
	refuses(table(&threads_id, 4), 1, 4, 0);
	refuses(checks, 1, 4, 1 << 2 | 1 << 3);
	calls(&words, &count);
	kinds(&others, &more);
	IS(count == 1024 && more == 14 && words != others);
	for (size_t n = 0; n < count; n++)
		set |= words[n];
	for (size_t n = 0; n < more; n++)
		set |= others[n];
	IS(set == 0);
	OK(of_context(primary, &matter, NULL));
	IS(matter == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, of_context(primary, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, of_context((CUcontext)&set, &matter, NULL));
	IS(of_process() == 0);
}

/* What the code should be, only the runtime knows. */
static void validity(void)
{
	void *const *in = table(&validity_id, 3);
	CUresult (*answer)(unsigned int, uint64_t, uint64_t *) = in[1];
	uint64_t zero[2] = {0}, one[2] = {0}, first[2] = {0}, same[2], later[2], other[2];

	refuses(in, 1, 3, 1 << 1);
	OK(answer(13000, 1, zero));
	OK(answer(13001, 1, one));
	IS(zero[0] != one[0] && zero[0] != 0);
	OK(answer(13002, 1, first));
	OK(answer(13002, 1, same));
	IS(memcmp(first, same, sizeof(first)) == 0 && first[0] != 0);
	OK(answer(13002, 2, later));
	IS(memcmp(first, later, sizeof(first)) != 0);
	OK(answer(13003, 1, other));
	IS(memcmp(first, other, sizeof(first)) != 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, answer(13002, 1, NULL));
}

int main(void)
{
	const void *none = &no_id;
	CUcontext primary;

	GIVES(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&none, &no_id));
	IS(none == NULL);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(NULL, &runtime_id));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetExportTable(&none, NULL));
	OK(cuInit(0));
	primary = contexts();
	storage(primary);
	modules();
	tools(primary);
	validity();
	printf("%d failures\n", failures);
	return failures != 0;
}
