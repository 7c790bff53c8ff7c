/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What CUDA's driver API promises, call by call, over a driver that runs no kernels. */
#include "cuda_driver.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
	char bytes[64];
} ipc_handle;

CUresult cuIpcGetEventHandle(ipc_handle *handle, CUevent event);
CUresult cuIpcOpenEventHandle(CUevent *event, ipc_handle handle);
CUresult cuIpcGetMemHandle(ipc_handle *handle, CUdeviceptr place);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *place, ipc_handle handle, unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr place);

static CUdevice device;
static CUcontext context;
static CUmodule module;

static void before_init(void)
{
	int number;
	CUcontext current;
	CUdeviceptr address;

	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&number));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&current));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&address, 16));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuInit(1));
	OK(cuDriverGetVersion(&number));
	IS(number == 13000);
	OK(cuInit(0));
	OK(cuInit(0));
}

static void devices(void)
{
	char text[64];
	unsigned char uuid[16];
	int number, minor;
	size_t bytes;
	CUdevice other;

	OK(cuDeviceGetCount(&number));
	IS(number == 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(NULL));
	OK(cuDeviceGet(&device, 0));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&other, 1));
	OK(cuDeviceGetName(text, sizeof(text), device));
	IS(strcmp(text, "Null device") == 0);
	OK(cuDeviceGetUuid_v2(uuid, device));
	IS(memcmp(uuid, "gil null device", 16) == 0);
	OK(cuDeviceTotalMem_v2(&bytes, device));
	IS(bytes == (size_t)1 << 30);
	OK(cuDeviceGetAttribute(&number, 10, device));
	IS(number == 32);
	/* Memory that both use at the same time: the board has it, and gil does not. */
	OK(cuDeviceGetAttribute(&number, 89, device));
	IS(number == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&number, 5000, device));
	OK(cuDeviceGetPCIBusId(text, sizeof(text), device));
	OK(cuDeviceGetByPCIBusId(&other, text));
	IS(other == device);
	OK(cuDeviceComputeCapability(&number, &minor, device));
	IS(number == 9 && minor == 0);
}

static void *elsewhere(void *unused)
{
	CUcontext current = (CUcontext)unused;

	OK(cuCtxGetCurrent(&current));
	IS(current == NULL);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	OK(cuCtxSetCurrent(context));
	OK(cuCtxSynchronize());
	return NULL;
}

static void contexts(void)
{
	CUcontext first, second, current, primary;
	CUdevice of;
	unsigned int flags, version;
	unsigned long long id, other;
	int active, least, greatest, config;
	size_t limit;
	pthread_t thread;
	CUstream stream;

	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&current));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2(&first, 0x100, device));
	GIVES(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2(&first, 0, 5));
	OK(cuCtxCreate_v2(&first, 4, device));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate_v4(&second, &first, 0, device));
	OK(cuCtxCreate_v4(&second, NULL, 0, device));
	OK(cuCtxGetCurrent(&current));
	IS(current == second);
	OK(cuCtxPopCurrent_v2(&current));
	IS(current == second);
	OK(cuCtxGetCurrent(&current));
	IS(current == first);
	OK(cuCtxGetFlags(&flags));
	IS(flags == 4);
	OK(cuCtxGetDevice(&of));
	IS(of == device);
	OK(cuCtxPushCurrent_v2(second));
	OK(cuStreamCreate(&stream, 0));
	OK(cuCtxDestroy_v2(second));
	OK(cuCtxGetCurrent(&current));
	IS(current == first);
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(stream));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2(second));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(second));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent((CUcontext)&limit));
	OK(cuCtxGetId(first, &id));
	OK(cuCtxGetId(NULL, &other));
	IS(id == other);
	OK(cuCtxGetApiVersion(first, &version));
	OK(cuCtxSetLimit(1, 1 << 16));
	OK(cuCtxGetLimit(&limit, 1));
	IS(limit == 1 << 16);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&limit, 50));
	OK(cuCtxSetCacheConfig(2));
	OK(cuCtxGetCacheConfig(&config));
	IS(config == 2);
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	IS(least == 0 && greatest == -5);
	OK(cuCtxDestroy_v2(first));

	OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	IS(flags == 0 && !active);
	OK(cuDevicePrimaryCtxSetFlags_v2(device, 1));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(device));
	OK(cuDevicePrimaryCtxRetain(&primary, device));
	OK(cuDevicePrimaryCtxRetain(&current, device));
	IS(current == primary);
	OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	IS(flags == 1 && active);
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(primary));
	OK(cuDevicePrimaryCtxRelease_v2(device));
	OK(cuCtxSetCurrent(primary));
	OK(cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRelease_v2(device));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRetain(&primary, device));
	OK(cuDevicePrimaryCtxReset_v2(device));
	OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	IS(!active);

	OK(cuCtxCreate_v2(&context, 0, device));
	pthread_create(&thread, NULL, elsewhere, NULL);
	pthread_join(thread, NULL);
}

/* What the null driver's compiler tells: a time and two texts, cut to the program's space. */
static void told(void)
{
	char info[64], error[64], small[8] = "1234567";
	int options[] = { 3, 4, 5, 6, 2, 0 };
	void *values[] = { info, (void *)64, error, (void *)64, NULL, (void *)32 };
	CUmodule module;
	float took;

	memset(info, 'x', sizeof(info));
	memset(error, 'x', sizeof(error));
	OK(cuModuleLoadDataEx(&module, kernels, 6, options, values));
	memcpy(&took, &values[4], 4);
	IS(strcmp(info, "null: 6 kernels") == 0 && error[0] == 0);
	IS(values[1] == (void *)15 && values[3] == NULL && took == 1.5f);
	OK(cuModuleUnload(module));
	values[1] = values[3] = (void *)64;
	GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&module, "no kernels", 6, options, values));
	IS(info[0] == 0 && strcmp(error, "null: this is no PTX that it knows") == 0);
	IS(values[1] == NULL && values[3] == (void *)strlen(error));
	values[0] = small;
	values[1] = (void *)6;
	OK(cuModuleLoadDataEx(&module, kernels, 2, options, values));
	IS(memcmp(small, "null:\0007", 8) == 0 && values[1] == (void *)5);
	OK(cuModuleUnload(module));
	/* A place without space, and space without a place. */
	values[1] = NULL;
	OK(cuModuleLoadDataEx(&module, kernels, 2, options, values));
	IS(memcmp(small, "null:\0007", 8) == 0 && values[1] == NULL);
	OK(cuModuleUnload(module));
	values[1] = (void *)64;
	OK(cuModuleLoadDataEx(&module, kernels, 1, options + 1, values + 1));
	IS(values[1] == NULL);
	OK(cuModuleUnload(module));
}

static void modules(void)
{
	CUmodule other, again;
	CUfunction function, same;
	CUdeviceptr address;
	size_t bytes, offset;
	const char *name;
	char log[16] = "text";
	int options[] = { 5, 6, 0 };
	void *values[] = { log, (void *)sizeof(log), (void *)32 };
	unsigned char elf[64] = { 0x7f, 'E', 'L', 'F', 2, 1 };
	struct {
		unsigned int magic, version;
		const void *data, *unused;
	} wrapper = { 0x466243b1, 1, kernels, NULL };
	int value;

	GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, kernels));
	GIVES(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, ""));
	GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, "no kernels"));
	GIVES(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 8.0\n.entry f(.param .u64"));
	GIVES(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&module, elf));
	GIVES(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/no/such/file"));
	OK(cuModuleLoadData(&module, kernels));
	OK(cuModuleLoadDataEx(&other, kernels, 3, options, values));
	told();
	GIVES(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&again, kernels, 3, NULL, NULL));
	OK(cuModuleLoadFatBinary(&again, &wrapper));
	OK(cuModuleUnload(again));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(again));

	GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "nothing"));
	OK(cuModuleGetFunction(&function, module, "eight"));
	OK(cuModuleGetFunction(&same, module, "eight"));
	IS(function == same);
	OK(cuFuncGetName(&name, function));
	IS(strcmp(name, "eight") == 0);
	OK(cuFuncGetModule(&again, function));
	IS(again == module);
	OK(cuFuncGetParamInfo(function, 7, &offset, &bytes));
	IS(offset == 44 && bytes == 12);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(function, 8, &offset, &bytes));
	OK(cuFuncGetAttribute(&value, 0, function));
	IS(value == 1024);
	OK(cuFuncSetAttribute(function, 8, 4096));
	OK(cuFuncGetAttribute(&value, 8, function));
	IS(value == 4096);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(function, 3, 1));
	OK(cuFuncSetCacheConfig(function, 1));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, function, 256, 0));
	IS(value == 8);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&value, function, 128, 0, 0));
	IS(value == 16);
	OK(cuModuleGetGlobal_v2(&address, &bytes, module, "counter"));
	IS(bytes == 4);
	OK(cuModuleGetGlobal_v2(NULL, &bytes, module, "null_params"));
	IS(bytes == 64);
	GIVES(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2(&address, &bytes, module, "nothing"));
	OK(cuModuleGetLoadingMode(&value));
	OK(cuModuleGetFunction(&function, other, "none"));
	OK(cuModuleUnload(other));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&value, 0, function));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void launches(void)
{
	CUfunction none, three, eight;
	CUdeviceptr params;
	unsigned char got[64];
	unsigned long long a = 0x1122334455667788ull, b = 2, c = 3, d = 4;
	unsigned int e = 5, f = 6;
	float g = 7;
	unsigned char h[12] = "twelve bytes", byte = 9;
	void *of_three[] = { &a, &e, &byte };
	void *of_eight[] = { &a, &b, &c, &d, &e, &f, &g, h };
	void *missing[] = { &a, NULL, &byte };
	CUstream stream;

	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuModuleGetFunction(&three, module, "three"));
	OK(cuModuleGetFunction(&eight, module, "eight"));
	OK(cuModuleGetGlobal_v2(&params, NULL, module, "null_params"));
	OK(cuStreamCreate(&stream, 1));
	OK(cuLaunchKernel(none, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	for (int n = 0; n < 3; n++) {
		a += n;
		OK(cuLaunchKernel(three, 2, 1, 1, 32, 1, 1, 0, stream, of_three, NULL));
		OK(cuStreamSynchronize(stream));
		OK(cuMemcpyDtoH_v2(got, params, sizeof(got)));
		IS(memcmp(got, &a, 8) == 0 && memcmp(got + 8, &e, 4) == 0 && got[12] == 9);
	}
	OK(cuLaunchKernel(eight, 2, 3, 4, 8, 4, 2, 128, NULL, of_eight, NULL));
	OK(cuMemcpyDtoH_v2(got, params, sizeof(got)));
	IS(memcmp(got + 24, &d, 8) == 0 && memcmp(got + 40, &g, 4) == 0 && memcmp(got + 44, h, 12) == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(three, 1, 1, 1, 1, 1, 1, 0, NULL, missing, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, missing));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(none, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(none, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel((CUfunction)module, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, (CUstream)module, NULL, NULL));
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, (CUstream)2, NULL, NULL));
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, (CUstream)1, NULL, NULL));
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy_v2(stream));
}

#define LARGE (300 * 1024)

/* How many bytes the null driver copied, by its variable of that name. */
static unsigned long long copied_bytes(const char *variable)
{
	unsigned long long bytes;
	CUdeviceptr count;
	CUfunction none;

	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuModuleGetGlobal_v2(&count, NULL, module, variable));
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuMemcpyDtoH_v2(&bytes, count, sizeof(bytes)));
	return bytes;
}

/* From and to pinned memory. */
static unsigned long long pinned_bytes(void)
{
	return copied_bytes("null_pinned");
}

/* From and to the memory that board and simulator share, which is pinned where it is. */
static unsigned long long shared_bytes(void)
{
	return copied_bytes("null_registered");
}

/* A child has the program's pages, but for those that are pinned: the copies are its own. */
static void forks_and_ends(void)
{
	pid_t child = fork();
	int status = 1;

	if (!child)
		_exit(0);
	waitpid(child, &status, 0);
	IS(status == 0);
}

/* The board copies from and to pinned memory what is pinned here, and nothing else. What has ended
 * as its call returns is copied from where the simulator put it. */
static void pinned_copies(unsigned char *pinned, unsigned char *got)
{
	unsigned long long before = pinned_bytes(), shared = shared_bytes();
	CUdeviceptr memory;
	CUstream stream;

	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&memory, LARGE));
	memset(pinned, 0, LARGE);
	OK(cuMemcpyHtoD_v2(memory, got, LARGE));
	IS(pinned_bytes() == before);
	OK(cuMemcpyDtoH_v2(pinned, memory, LARGE));
	IS(memcmp(pinned, got, LARGE) == 0);
	IS(pinned_bytes() == before + LARGE);
	IS(shared_bytes() == shared + LARGE);
	forks_and_ends();
	memset(pinned, 7, LARGE);
	OK(cuMemcpyHtoD_v2(memory, got, LARGE));
	OK(cuMemcpyDtoH_v2(got, memory, LARGE));
	IS(pinned_bytes() == before + LARGE);
	OK(cuMemcpyHtoD_v2(memory, pinned, LARGE));
	IS(shared_bytes() == shared + 2 * LARGE);
	OK(cuMemcpyDtoH_v2(pinned, memory, LARGE));
	IS(pinned[0] == 7 && pinned[LARGE - 1] == 7);
	memcpy(pinned, got, LARGE);
	OK(cuMemcpyHtoD_v2(memory, pinned, LARGE));
	before = pinned_bytes() - LARGE;
	pinned[LARGE - 1] ^= 1;
	OK(cuMemcpyHtoDAsync_v2(memory, pinned, LARGE, stream));
	OK(cuMemcpyDtoHAsync_v2(pinned, memory + 1, LARGE / 2, stream));
	OK(cuMemcpyDtoHAsync_v2(got, memory, LARGE, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[LARGE - 1] == pinned[LARGE - 1] && pinned[0] == got[1]);
	IS(memcmp(pinned, got + 1, LARGE / 2) == 0);
	IS(pinned_bytes() == before + 2 * LARGE + LARGE / 2);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(memory + 1, pinned, LARGE));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(pinned, 0x1000, LARGE));
	IS(pinned[0] == got[1]);
	OK(cuMemcpyHtoDAsync_v2(memory, pinned, LARGE, stream));
	OK(cuMemFree_v2(memory));
	OK(cuStreamDestroy_v2(stream));
}

static void memory(void)
{
	CUdeviceptr one, two, rows, base;
	size_t free_bytes, total, pitch, size;
	unsigned char *sent = malloc(LARGE), *got = calloc(1, LARGE);
	unsigned short words[4];
	void *pinned, *mapped;
	unsigned int flags;
	CUstream stream;

	for (int n = 0; n < LARGE; n++)
		sent[n] = n * 7;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2(&one, 0));
	GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2(&one, (size_t)1 << 40));
	OK(cuMemAlloc_v2(&one, LARGE));
	OK(cuMemAlloc_v2(&two, LARGE));
	OK(cuMemGetInfo_v2(&free_bytes, &total));
	IS(total == (size_t)1 << 30 && free_bytes <= total - 2 * LARGE);
	OK(cuMemGetAddressRange_v2(&base, &size, one + 100));
	IS(base == one && size == LARGE);
	GIVES(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, 12));
	OK(cuMemcpyHtoD_v2(one, sent, LARGE));
	OK(cuMemcpyDtoD_v2(two, one, LARGE));
	OK(cuMemcpyDtoH_v2(got, two, LARGE));
	IS(memcmp(sent, got, LARGE) == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(one, NULL, 4));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(NULL, one, 4));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(one, sent, LARGE + 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(0x1000, sent, 4));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD_v2(one + LARGE, two, 1));
	OK(cuMemcpyHtoD_v2(one, sent, 0));
	OK(cuMemsetD8_v2(one, 5, 10));
	OK(cuMemsetD16_v2(one + 2, 0x1234, 2));
	OK(cuMemsetD32_v2(two, 0xdeadbeef, 3));
	OK(cuMemcpyDtoH_v2(words, one, 8));
	IS(words[0] == 0x0505 && words[1] == 0x1234 && words[3] == 0x0505);
	OK(cuMemcpy((uintptr_t)got, two, 12));
	IS(memcmp(got + 8, "\xef\xbe\xad\xde", 4) == 0);
	OK(cuMemcpy(one, (uintptr_t)sent, 64));
	OK(cuMemcpy(two, one, 64));
	OK(cuMemcpy((uintptr_t)got, (uintptr_t)sent, 100));
	IS(memcmp(got, sent, 100) == 0);

	OK(cuStreamCreate(&stream, 0));
	memset(got, 0, LARGE);
	OK(cuMemcpyHtoDAsync_v2(one, sent, LARGE, stream));
	OK(cuMemcpyDtoDAsync_v2(two, one, LARGE, stream));
	OK(cuMemsetD8Async(two, 1, 1, stream));
	OK(cuMemsetD16Async(two + 2, 2, 1, stream));
	OK(cuMemsetD32Async(two + 4, 3, 1, stream));
	OK(cuMemcpyDtoHAsync_v2(got, two, LARGE, stream));
	OK(cuStreamSynchronize(stream));
	IS(got[0] == 1 && got[2] == 2 && got[4] == 3 && memcmp(got + 8, sent + 8, LARGE - 8) == 0);
	OK(cuMemcpyAsync(one, (uintptr_t)got, 64, stream));
	OK(cuMemcpyAsync((uintptr_t)got + 64, one, 64, stream));
	OK(cuStreamSynchronize(stream));
	IS(memcmp(got, got + 64, 64) == 0);
	OK(cuStreamDestroy_v2(stream));

	OK(cuMemAllocPitch_v2(&rows, &pitch, 100, 10, 4));
	IS(pitch >= 100);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2(&rows, &pitch, 100, 10, 3));
	OK(cuMemsetD8_v2(rows + 9 * pitch, 1, 100));
	OK(cuMemFree_v2(rows));
	OK(cuMemFree_v2(one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(one));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(two + 4));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(one, 1, 1));
	OK(cuMemFree_v2(0));
	OK(cuMemFree_v2(two));

	OK(cuMemAllocHost_v2(&pinned, 5000));
	OK(cuMemHostGetFlags(&flags, (char *)pinned + 100));
	IS(flags == 0);
	OK(cuMemFreeHost(pinned));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(pinned));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc(&mapped, 100, 8));
	OK(cuMemHostAlloc(&mapped, 100, 1));
	OK(cuMemFreeHost(mapped));
	OK(cuMemHostRegister_v2(sent, LARGE, 0));
	GIVES(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2(sent + 10, 10, 0));
	pinned_copies(sent, got);
	OK(cuMemHostUnregister(sent));
	GIVES(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(sent));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&flags, sent));
	free(sent);
	free(got);
}

#define BUSY 100000 /* blocks of a thousand threads */

static void streams_and_events(void)
{
	CUstream first, second;
	CUevent start, end, untimed;
	CUfunction none;
	CUcontext of;
	float took, other;
	unsigned int flags;
	int priority;

	OK(cuModuleGetFunction(&none, module, "none"));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&first, 8));
	OK(cuStreamCreateWithPriority(&first, 1, -20));
	OK(cuStreamGetPriority(first, &priority));
	IS(priority == -5);
	OK(cuStreamGetFlags(first, &flags));
	IS(flags == 1);
	OK(cuStreamGetCtx(first, &of));
	IS(of == context);
	OK(cuStreamGetFlags(NULL, &flags));
	IS(flags == 0);
	OK(cuStreamCreate(&second, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&start, 64));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuEventCreate(&start, 6));
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, 0));
	OK(cuEventCreate(&untimed, 2));
	OK(cuEventQuery(start));
	OK(cuEventSynchronize(start));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&took, start, end));

	/* So many threads take the null driver 6.255 ms, far longer than what is printed. */
	OK(cuEventRecord(start, first));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, first, NULL, NULL));
	OK(cuEventRecord(end, first));
	GIVES(CUDA_ERROR_NOT_READY, cuStreamQuery(first));
	GIVES(CUDA_ERROR_NOT_READY, cuEventQuery(end));
	GIVES(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&took, start, end));
	OK(cuEventSynchronize(end));
	OK(cuStreamQuery(first));
	OK(cuEventQuery(end));
	OK(cuEventElapsedTime(&took, start, end));
	IS(took > 6 && took < 8);
	OK(cuEventElapsedTime_v2(&other, start, end));
	IS(took == other);
	while (cuStreamQuery(second) == CUDA_ERROR_NOT_READY)
		;
	OK(cuEventRecord(untimed, first));
	OK(cuEventSynchronize(untimed));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&took, start, untimed));

	/* What one stream waits for, on another. */
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, first, NULL, NULL));
	OK(cuEventRecord(start, first));
	OK(cuStreamWaitEvent(second, start, 0));
	OK(cuEventRecord(end, second));
	OK(cuStreamSynchronize(second));
	OK(cuEventElapsedTime(&took, start, end));
	IS(took >= 0 && took < 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(second, start, 7));
	OK(cuEventDestroy_v2(untimed));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2(untimed));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(untimed, first));

	/* Polling ends. */
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, first, NULL, NULL));
	while (cuStreamQuery(first) == CUDA_ERROR_NOT_READY)
		;
	OK(cuStreamQuery(first));
	OK(cuStreamDestroy_v2(first));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(first));
	OK(cuStreamDestroy_v2(second));
	OK(cuEventDestroy_v2(start));
	OK(cuEventDestroy_v2(end));
}

/* Milliseconds between two records. */
static float between(CUevent start, CUevent end)
{
	float took = -1;

	OK(cuCtxSynchronize());
	OK(cuEventElapsedTime(&took, start, end));
	return took;
}

/* The default stream and streams that are not made otherwise wait for each other. */
static void default_stream(void)
{
	CUstream blocking, free_one;
	CUevent start, end;
	CUfunction none;
	float took;

	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuStreamCreate(&blocking, 0));
	OK(cuStreamCreate(&free_one, 1));
	OK(cuEventCreate(&start, 0));
	OK(cuEventCreate(&end, 0));

	OK(cuEventRecord(start, blocking));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, blocking, NULL, NULL));
	OK(cuEventRecord(end, NULL));
	took = between(start, end);
	IS(took > 6);

	OK(cuEventRecord(start, NULL));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL));
	OK(cuEventRecord(end, blocking));
	took = between(start, end);
	IS(took > 6);

	/* Nothing is printed between these: that takes time, too. */
	IS(cuEventRecord(start, NULL) == CUDA_SUCCESS &&
	   cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, NULL, NULL, NULL) == CUDA_SUCCESS &&
	   cuEventRecord(end, free_one) == CUDA_SUCCESS);
	took = between(start, end);
	IS(took < 3);

	/* Also behind a stream that is destroyed. */
	OK(cuEventRecord(start, blocking));
	OK(cuLaunchKernel(none, BUSY, 1, 1, 1000, 1, 1, 0, blocking, NULL, NULL));
	OK(cuStreamDestroy_v2(blocking));
	OK(cuEventRecord(end, NULL));
	took = between(start, end);
	IS(took > 6);
	OK(cuStreamDestroy_v2(free_one));
	OK(cuEventDestroy_v2(start));
	OK(cuEventDestroy_v2(end));
}

static void names(void)
{
	const char *text;
	void *function, *other;
	const void *table = &text;
	int status;
	CUdeviceptr address;

	OK(cuGetErrorName(700, &text));
	IS(strcmp(text, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
	OK(cuGetErrorString(0, &text));
	IS(strcmp(text, "no error") == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(12345, &text));
	IS(text == NULL);
	OK(cuGetProcAddress("cuMemAlloc", &function, 12000, 0));
	OK(cuGetProcAddress_v2("cuMemAlloc", &other, 13000, 0, &status));
	IS(function == other && status == 0);
	OK(((CUresult(*)(CUdeviceptr *, size_t))function)(&address, 16));
	OK(cuMemFree_v2(address));
	GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuMemAlloc", &other, 3000, 0, &status));
	IS(other == NULL && status == 2);
	GIVES(CUDA_ERROR_NOT_FOUND, cuGetProcAddress_v2("cuTexRefCreate", &other, 13000, 0, &status));
	IS(status == 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress(NULL, &function, 12000, 0));
	GIVES(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, "sixteen bytes..."));
	IS(table == NULL);
}

static void forked(void)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		CUdeviceptr address;
		CUcontext current;

		failures = 0;
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2(&address, 16));
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&current));
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuInit(0));
		GIVES(CUDA_ERROR_NOT_INITIALIZED, cuCtxDestroy_v2(context));
		fflush(stdout);
		_exit(failures);
	}
	waitpid(child, &status, 0);
	IS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A kernel that fails ends its context, and no other. */
static void lasting(const char *trap, CUresult wanted)
{
	CUcontext lost;
	CUmodule own;
	CUfunction function, none;
	CUdeviceptr address;
	CUstream stream;
	int byte;

	OK(cuCtxCreate_v2(&lost, 0, device));
	OK(cuModuleLoadData(&own, kernels));
	OK(cuModuleGetFunction(&function, own, trap));
	OK(cuModuleGetFunction(&none, own, "none"));
	OK(cuStreamCreate(&stream, 0));
	OK(cuMemAlloc_v2(&address, 16));
	OK(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	(void)cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
	GIVES(wanted, cuStreamSynchronize(stream));
	GIVES(wanted, cuStreamSynchronize(stream));
	GIVES(wanted, cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	GIVES(wanted, cuMemcpyDtoH_v2(&byte, address, 4));
	GIVES(wanted, cuMemAlloc_v2(&address, 16));
	GIVES(wanted, cuCtxSynchronize());
	OK(cuCtxDestroy_v2(lost));
	OK(cuCtxSynchronize());
}

/* Memory and events of other processes are not offered, as the device says. */
static void other_processes(void)
{
	ipc_handle handle = { { 0 } };
	CUdeviceptr place, there = 1;
	CUevent event, other;
	int number;

	OK(cuDeviceGetAttribute(&number, 125, 0));
	IS(number == 0);
	OK(cuMemAlloc_v2(&place, 64));
	OK(cuEventCreate(&event, 2));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetMemHandle(&handle, place));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenMemHandle_v2(&there, handle, 1));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcCloseMemHandle(place));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcGetEventHandle(&handle, event));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuIpcOpenEventHandle(&other, handle));
	OK(cuEventDestroy_v2(event));
	OK(cuMemFree_v2(place));
}

int main(void)
{
	before_init();
	devices();
	contexts();
	modules();
	launches();
	memory();
	streams_and_events();
	default_stream();
	names();
	other_processes();
	forked();
	lasting("trap_address", CUDA_ERROR_ILLEGAL_ADDRESS);
	lasting("trap_assert", CUDA_ERROR_ASSERT);
	lasting("trap_failure", CUDA_ERROR_LAUNCH_FAILED);
	OK(cuModuleUnload(module));
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
