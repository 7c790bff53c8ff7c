/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Earlier and later forms of CUDA's driver API, launches in several steps, and batches of copies. */
#include "cuda_memory.h"
#include "cuda_shared.h"

typedef struct CUlinkState_st *CUlinkState;

typedef struct {
	side3 from;
	side3 to;
	size_t width, height, depth;
} copy_peer;

typedef struct {
	int threads, block[3], grid[3], shared, constant, warp, pitch, registers, clock, alignment;
} device_properties;

CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *context, void *params, int count, unsigned int flags, CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxAttach(CUcontext *context, unsigned int flags);
CUresult cuCtxDetach(CUcontext context);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuEventDestroy(CUevent event);
CUresult cuMemHostRegister(void *place, size_t bytes, unsigned int flags);
CUresult cuLinkCreate(unsigned int count, int *options, void **values, CUlinkState *state);
CUresult cuLinkAddData(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned int count,
		       int *options, void **values);
CUresult cuLinkAddFile(CUlinkState state, int type, const char *path, unsigned int count, int *options, void **values);
CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuDeviceGetProperties(device_properties *properties, CUdevice device);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, unsigned long long value, unsigned int flags);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, unsigned long long value, unsigned int flags);
CUresult cuMemcpy3DPeer(const copy_peer *copy);
CUresult cuMemcpy3DPeerAsync(const copy_peer *copy, CUstream stream);
CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes);
CUresult cuParamSetSize(CUfunction function, unsigned int bytes);
CUresult cuParamSeti(CUfunction function, int offset, unsigned int value);
CUresult cuParamSetf(CUfunction function, int offset, float value);
CUresult cuParamSetv(CUfunction function, int offset, void *place, unsigned int bytes);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchGrid(CUfunction function, int width, int height);
CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuStreamBeginCapture_ptsz(CUstream stream);
CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, unsigned int value, unsigned int flags);
CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, unsigned int value, unsigned int flags);
CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, unsigned long long value, unsigned int flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, unsigned long long value,
				      unsigned int flags);

typedef struct {
	int order;
	location from, to;
	unsigned int flags;
} copy_attributes;

CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
			    copy_attributes *attributes, size_t *firsts, size_t runs, size_t *failed, CUstream stream);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
			       copy_attributes *attributes, size_t *firsts, size_t runs, CUstream stream);
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
				 copy_attributes *attributes, size_t *firsts, size_t runs, size_t *failed,
				 CUstream stream);
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
				    copy_attributes *attributes, size_t *firsts, size_t runs, CUstream stream);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *places, size_t *sizes, size_t count, location *to, size_t *firsts,
				 size_t runs, unsigned long long flags, CUstream stream);
CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *places, size_t *sizes, size_t count, location *to, size_t *firsts,
				      size_t runs, unsigned long long flags, CUstream stream);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuCtxGetSharedMemConfig(int *config);
CUresult cuCtxSetSharedMemConfig(int config);
CUresult cuFuncSetSharedMemConfig(CUfunction function, int config);
CUresult cuCtxResetPersistingL2Cache(void);

static CUdevice device;
static CUcontext context;

static void contexts(void)
{
	CUcontext other, current;
	device_properties known;
	int number;

	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStart());
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxAttach(&other, 0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxResetPersistingL2Cache());
	OK(cuCtxCreate(&context, 0, device));
	OK(cuCtxGetCurrent(&current));
	IS(current == context);
	OK(cuCtxCreate_v3(&other, NULL, 0, 0, device));
	IS(other != context);
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate_v3(&other, &known, 1, 0, device));
	OK(cuCtxDestroy(other));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(other));
	OK(cuCtxSetCurrent(context));

	/* A context that is attached has to be detached as often. */
	OK(cuCtxCreate(&other, 0, device));
	OK(cuCtxAttach(&current, 0));
	IS(current == other);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxAttach(&current, 1));
	OK(cuCtxDetach(other));
	OK(cuCtxSynchronize());
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(context));
	OK(cuCtxDetach(other));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach(other));
	OK(cuCtxSetCurrent(context));
	OK(cuProfilerStart());
	OK(cuProfilerStop());
	OK(cuCtxGetDevice_v2(&number, context));
	IS(number == device);
	number = 7;
	OK(cuCtxGetDevice_v2(&number, NULL));
	IS(number == device);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice_v2(&number, other));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize_v2(other));
	{
		unsigned int flags;

		OK(cuCtxSetFlags(4));
		OK(cuCtxGetFlags(&flags));
		IS(flags == 4);
		GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxSetFlags(3));
		OK(cuCtxSetFlags(0));
		OK(cuCtxGetFlags(&flags));
		IS(flags == 0);
	}

	OK(cuDeviceGetProperties(&known, device));
	OK(cuDeviceGetAttribute(&number, 4, device));
	IS(known.block[2] == number && known.warp == 32);
	OK(cuDeviceGetAttribute(&number, 13, device));
	IS(known.clock == number);
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetProperties(&known, 9));

	OK(cuCtxSetSharedMemConfig(2));
	OK(cuCtxGetSharedMemConfig(&number));
	IS(number == 2);
	OK(cuCtxSetSharedMemConfig(1));
	OK(cuCtxGetSharedMemConfig(&number));
	IS(number == 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxSetSharedMemConfig(3));
	OK(cuCtxSetCacheConfig(2));
	OK(cuCtxResetPersistingL2Cache());
	OK(cuCtxGetCacheConfig(&number));
	IS(number == 0); /* So the null driver shows it. */
}

static void memory(void)
{
	CUdeviceptr one, two;
	CUstream stream;
	CUevent event;
	unsigned int sent[64], got[64];
	unsigned long long long_one;
	copy_peer copy = { 0 };
	int is_refused = 1;

	for (unsigned int n = 0; n < 64; n++)
		sent[n] = n + 100;
	OK(cuMemHostRegister(sent, sizeof(sent), 0));
	GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister(sent, sizeof(sent), 0));
	OK(cuMemHostUnregister(sent));
	OK(cuMemAlloc_v2(&one, sizeof(sent)));
	OK(cuMemAlloc_v2(&two, sizeof(sent)));
	OK(cuMemcpyHtoD_v2(one, sent, sizeof(sent)));
	OK(cuMemsetD32_v2(two, 0, 64));
	OK(cuStreamCreate(&stream, 1));
	OK(cuEventCreate(&event, 0));

	/* Two rows of four words, to other places of rows of eight. */
	copy.from = (side3){ .kind = DEVICE, .device = one, .pitch = 32, .height = 2, .reserved = context };
	copy.to = (side3){ .kind = DEVICE, .device = two, .x = 8, .y = 1, .pitch = 32, .height = 4, .reserved = context };
	copy.width = 16;
	copy.height = 2;
	copy.depth = 1;
	OK(cuMemcpy3DPeer(&copy));
	OK(cuMemcpyDtoH_v2(got, two, sizeof(got)));
	IS(got[10] == 100 && got[13] == 103 && got[18] == 108 && got[9] == 0 && got[14] == 0);
	copy.to.y = 2;
	OK(cuMemcpy3DPeerAsync(&copy, stream));
	OK(cuEventRecord(event, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(got, two, sizeof(got)));
	IS(got[26] == 108 && got[18] == 100);
	copy.from.reserved = stream;
	for (int n = 0; n < 2; n++)
		is_refused &= (n ? cuMemcpy3DPeerAsync(&copy, stream) : cuMemcpy3DPeer(&copy)) != CUDA_SUCCESS;
	IS(is_refused);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DPeer(NULL));

	OK(cuStreamWriteValue64(stream, one, 0x123456789abcdef0ull, 0));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&long_one, one, 8));
	IS(long_one == 0x123456789abcdef0ull);
	OK(cuStreamWriteValue64_v2(stream, one + 8, 77ull << 40, 1));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&long_one, one + 8, 8));
	IS(long_one == 77ull << 40);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64(stream, one + 4, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2(stream, one, 1, 8));
	OK(cuEventDestroy(event));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy(event));
	OK(cuStreamDestroy(stream));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(stream));
	OK(cuMemFree_v2(one));
	OK(cuMemFree_v2(two));
}

static void batches(void)
{
	CUdeviceptr memory, managed, to[3], from[3];
	size_t sizes[] = { 8, 4, 8 }, firsts[] = { 0, 2 }, failed = 9;
	copy_attributes how[2] = { { .order = 1 }, { .order = 3 } };
	location places[2] = { { 1, 0 }, { 2, 0 } };
	unsigned int sent[2] = { 11, 12 }, got[2] = { 0 };
	int number;
	CUstream stream;

	OK(cuStreamCreate(&stream, 1));
	OK(cuMemAlloc_v2(&memory, 64));
	OK(cuMemsetD32_v2(memory, 5, 16));
	to[0] = memory;
	from[0] = (uintptr_t)sent;
	to[1] = memory + 16;
	from[1] = memory + 32;
	to[2] = (uintptr_t)got;
	from[2] = memory;
	OK(cuMemcpyBatchAsync(to, from, sizes, 3, how, firsts, 2, &failed, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[0] == 11 && got[1] == 12 && failed == 9);
	sent[0] = 21;
	OK(cuMemcpyBatchAsync_v2(to, from, sizes, 3, how, firsts, 2, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[0] == 21);
	sent[0] = 31;
	OK(cuMemcpyBatchAsync_ptsz(to, from, sizes, 3, how, firsts, 2, &failed, NULL));
	OK(cuCtxSynchronize());
	IS(got[0] == 31);
	sent[0] = 41;
	OK(cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, 3, how, firsts, 1, NULL));
	OK(cuCtxSynchronize());
	IS(got[0] == 41);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync(to, from, sizes, 3, how, firsts, 2, &failed, NULL));
	IS(failed == (size_t)-1);
	to[1] = 16;
	from[1] = memory;
	IS(cuMemcpyBatchAsync(to, from, sizes, 3, how, firsts, 4, &failed, stream) == CUDA_ERROR_INVALID_VALUE);
	firsts[1] = 0;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, sizes, 3, how, firsts, 2, stream));
	how[0].order = 0;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2_ptsz(to, from, sizes, 3, how, firsts, 1, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_ptsz(to, from, sizes, 3, NULL, firsts, 1, NULL, NULL));

	OK(cuMemAllocManaged(&managed, 64, 1));
	to[0] = managed;
	to[1] = managed + 32;
	sizes[0] = sizes[1] = 32;
	firsts[1] = 1;
	OK(cuMemPrefetchBatchAsync(to, sizes, 2, places, firsts, 2, 0, stream));
	OK(cuMemRangeGetAttribute(&number, 4, 4, managed, 32));
	IS(number == 0);
	OK(cuMemRangeGetAttribute(&number, 4, 4, managed + 32, 32));
	IS(number == -1);
	places[1].kind = 1;
	OK(cuMemPrefetchBatchAsync_ptsz(to, sizes, 2, places, firsts, 2, 0, NULL));
	OK(cuMemRangeGetAttribute(&number, 4, 4, managed, 64));
	IS(number == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync(to, sizes, 2, places, firsts, 2, 1, stream));
	to[1] = memory;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync_ptsz(to, sizes, 2, places, firsts, 2, 0, NULL));
	OK(cuMemFree_v2(managed));

	OK(cuStreamWriteValue32_ptsz(NULL, memory, 70, 0));
	OK(cuStreamWriteValue32_v2_ptsz(NULL, memory + 4, 71, 0));
	OK(cuCtxSynchronize_v2(context));
	OK(cuMemcpyDtoH_v2(got, memory, 8));
	IS(got[0] == 70 && got[1] == 71);
	OK(cuStreamWriteValue64_ptsz(NULL, memory, 1ull << 32 | 2, 0));
	OK(cuCtxSynchronize_v2(NULL));
	OK(cuMemcpyDtoH_v2(got, memory, 8));
	IS(got[0] == 2 && got[1] == 1);
	OK(cuStreamWriteValue64_v2_ptsz(NULL, memory, 3ull << 32 | 4, 0));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(got, memory, 8));
	IS(got[0] == 4 && got[1] == 3);
	OK(cuStreamBeginCapture_ptsz(NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_ptsz(NULL, memory + 1, 70, 0));
	{
		struct CUgraph_st *graph;

		OK(cuStreamEndCapture((CUstream)2, &graph));
		OK(cuGraphDestroy(graph));
	}
	OK(cuStreamDestroy(stream));
	OK(cuMemFree_v2(memory));
}

static void steps(void)
{
	CUmodule module;
	CUfunction more;
	CUdeviceptr words;
	CUstream stream;
	unsigned int got[4], count = 3;

	OK(cuModuleLoadData(&module, more_kernel));
	OK(cuModuleGetFunction(&more, module, "more"));
	OK(cuStreamCreate(&stream, 1));
	OK(cuMemAlloc_v2(&words, 16));
	OK(cuMemsetD32_v2(words, 5, 4));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunch(more)); /* Without parameters. */
	OK(cuFuncSetBlockShape(more, 4, 1, 1));
	OK(cuFuncSetSharedSize(more, 16));
	OK(cuParamSetv(more, 0, &words, 8));
	OK(cuParamSeti(more, 8, 2));
	OK(cuParamSetSize(more, 12));
	OK(cuLaunch(more));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(got, words, 16));
	IS(got[0] == 6 && got[1] == 6 && got[2] == 5);
	OK(cuParamSetv(more, 8, &count, 4));
	OK(cuLaunchGrid(more, 2, 1));
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(got, words, 16));
	IS(got[0] == 7 && got[2] == 6 && got[3] == 5);
	OK(cuParamSetf(more, 8, 5.605193857299268e-45f)); /* The bits of 4. */
	OK(cuLaunchGridAsync(more, 1, 1, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(got, words, 16));
	IS(got[0] == 8 && got[3] == 6);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid(more, 0, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchGridAsync(more, -1, 1, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape(more, 0, 1, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuParamSeti(more, -4, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuParamSeti(more, 4095, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuParamSetv(more, 0, NULL, 8));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuParamSetSize(more, 5000));
	OK(cuFuncSetBlockShape(more, 4096, 1, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunch(more));
	OK(cuFuncSetBlockShape(more, 4, 1, 1));
	OK(cuFuncSetSharedSize(more, 1 << 20));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunch(more));
	OK(cuFuncSetSharedMemConfig(more, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncSetSharedMemConfig(more, 9));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncSetSharedSize((CUfunction)stream, 1));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuParamSetf((CUfunction)stream, 0, 1));
	OK(cuStreamDestroy(stream));
	OK(cuMemFree_v2(words));
	OK(cuModuleUnload(module));
}

static void links(void)
{
	CUlinkState state;
	CUmodule module;
	CUfunction function;
	void *cubin;
	size_t size;

	OK(cuLinkCreate(0, NULL, NULL, &state));
	OK(cuLinkAddData(state, 1, (void *)more_kernel, sizeof(more_kernel), "more", 0, NULL, NULL));
	GIVES(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile(state, 1, "/nonexistent", 0, NULL, NULL));
	OK(cuLinkComplete(state, &cubin, &size));
	OK(cuModuleLoadData(&module, cubin));
	OK(cuModuleGetFunction(&function, module, "more"));
	OK(cuModuleUnload(module));
	OK(cuLinkDestroy(state));
}

int main(void)
{
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	contexts();
	memory();
	batches();
	steps();
	links();
	OK(cuCtxDestroy(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
