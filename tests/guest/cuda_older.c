/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Earlier forms of CUDA's driver API, and launches in several steps. */
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
	steps();
	links();
	OK(cuCtxDestroy(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
