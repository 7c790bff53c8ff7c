/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* CUDA's runtime, call by call, over a driver that runs no kernels. What the compiler would
 * emit is written out here. */
#include "cuda_runtime.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program's side of the module's variables; only their addresses count. */
static char null_params[64];
static int counter, of_no_module;
static wrapper whole = {0x466243b1, 1, NULL, NULL};
static void **binary;
static const dim3 one = {1, 1, 1};

/* The functions that stand for kernels, as today's compiler writes them, */
static void three(void *a, unsigned int b, unsigned char c)
{
	static cudaKernel_t kernel;
	void *args[] = {&a, &b, &c};
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;

	if (!kernel)
		OK(__cudaGetKernel(&kernel, (void *)three));
	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) != 0)
		return;
	__cudaLaunchKernel(kernel, grid, block, args, shared, stream);
}

/* and as older ones did. */
static void none(void)
{
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;

	if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0)
		cudaLaunchKernel((void *)none, grid, block, NULL, shared, stream);
}

static void trap(void)
{
}

static void not_there(void)
{
}

static void unregister(void)
{
	__cudaUnregisterFatBinary(binary);
}

static void function(void **of, void (*host)(void), char *name)
{
	__cudaRegisterFunction(of, (char *)host, name, name, -1, NULL, NULL, NULL, NULL, NULL);
}

__attribute__((constructor)) static void registers(void)
{
	whole.data = fat_binary(kernels);
	binary = __cudaRegisterFatBinary(&whole);
	function(binary, (void (*)(void))three, "three");
	function(binary, none, "none");
	function(binary, trap, "trap_address");
	function(binary, not_there, "not_there");
	__cudaRegisterVar(binary, null_params, "null_params", "null_params", 0, sizeof(null_params), 0, 0);
	__cudaRegisterVar(binary, (char *)&counter, "counter", "counter", 0, sizeof(counter), 0, 0);
	__cudaRegisterFatBinaryEnd(binary);
	atexit(unregister);
}

static void devices(void)
{
	static properties known;
	int number, greatest;

	OK(cudaGetLastError());
	OK(cudaRuntimeGetVersion(&number));
	IS(number == 13000);
	OK(cudaDriverGetVersion(&number));
	IS(number == 13000);
	OK(cudaGetDeviceCount(&number));
	IS(number == 1);
	OK(cudaGetDevice(&number));
	IS(number == 0);
	GIVES(cudaErrorInvalidDevice, cudaSetDevice(1));
	GIVES(cudaErrorInvalidDevice, cudaSetDevice(-1));
	OK(cudaSetDevice(0));
	OK(cudaGetDeviceProperties(&known, 0));
	IS(strcmp(known.name, "Null device") == 0);
	IS(memcmp(known.uuid, "gil null device", 16) == 0);
	IS(known.memory == (size_t)1 << 30 && known.warp == 32);
	IS(known.threads == 1024 && known.block[2] == 64 && known.grid[1] == 65535);
	IS(known.major == 9 && known.minor == 0);
	OK(cudaGetDeviceProperties(&known, 0));
	GIVES(cudaErrorInvalidDevice, cudaGetDeviceProperties(&known, 1));
	GIVES(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
	OK(cudaDeviceGetAttribute(&number, 10, 0));
	IS(number == 32);
	OK(cudaDeviceGetStreamPriorityRange(&number, &greatest));
	IS(number == 0 && greatest == -5);
}

static void errors(void)
{
	int number;

	OK((cudaGetLastError(), 0));
	GIVES(cudaErrorInvalidDevice, cudaSetDevice(7));
	GIVES(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
	OK(cudaGetDeviceCount(&number));
	GIVES(cudaErrorInvalidValue, cudaPeekAtLastError());
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaGetLastError());
	IS(strcmp(cudaGetErrorName(0), "cudaSuccess") == 0);
	IS(strcmp(cudaGetErrorName(98), "cudaErrorInvalidDeviceFunction") == 0);
	IS(strcmp(cudaGetErrorString(0), "no error") == 0);
	IS(strcmp(cudaGetErrorString(1), "invalid argument") == 0);
	IS(strcmp(cudaGetErrorString(98), "invalid device function") == 0);
	IS(strcmp(cudaGetErrorName(-5), cudaGetErrorString(12345)) == 0);
}

static void memory(void)
{
	void *place, *other, *pinned;
	size_t pitch, left, total;
	char *known;

	OK(cudaFree(NULL));
	OK(cudaMalloc(&place, 0));
	IS(place == NULL);
	OK(cudaMalloc(&place, 4096));
	IS(place != NULL);
	GIVES(cudaErrorInvalidValue, cudaMalloc(NULL, 16));
	GIVES(2, cudaMalloc(&other, (size_t)1 << 40));
	OK(cudaMallocPitch(&other, &pitch, 100, 8));
	IS(pitch >= 100);
	GIVES(cudaErrorInvalidValue, cudaMallocPitch(&pinned, NULL, 100, 8));
	OK(cudaMemGetInfo(&left, &total));
	IS(left < total);
	OK(cudaFree(other));
	OK(cudaFree(place));
	GIVES(cudaErrorInvalidValue, cudaFree(place));
	OK(cudaMallocHost(&pinned, 64));
	OK(cudaFreeHost(pinned));
	OK(cudaFreeHost(NULL));
	OK(cudaHostAlloc(&pinned, 64, 1));
	OK(cudaFreeHost(pinned));
	GIVES(cudaErrorInvalidValue, cudaHostAlloc(&pinned, 64, 8));
	known = malloc(8192);
	OK(cudaHostRegister(known, 8192, 0));
	OK(cudaHostUnregister(known));
	free(known);
}

static void copies(void)
{
	unsigned char from[64], to[64];
	char *place, *rows;
	size_t pitch;
	cudaStream_t stream;
	int n, right;

	for (n = 0; n < 64; n++)
		from[n] = (unsigned char)(n + 1);
	OK(cudaMalloc((void **)&place, 128));
	OK(cudaMemcpy(place, from, 64, HOST_TO_DEVICE));
	OK(cudaMemcpy(place + 64, place, 64, DEVICE_TO_DEVICE));
	OK(cudaMemcpy(to, place + 64, 64, DEVICE_TO_HOST));
	IS(memcmp(from, to, 64) == 0);
	memset(to, 0, 64);
	OK(cudaMemcpy(to, from, 64, HOST_TO_HOST));
	IS(memcmp(from, to, 64) == 0);
	OK(cudaMemset(place, 0x1ff, 64));
	OK(cudaMemcpy(to, place, 64, BY_ADDRESS));
	IS(to[0] == 0xff && to[63] == 0xff);
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(to, place, 64, 5));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy(to, place, 64, -1));
	GIVES(cudaErrorInvalidValue, cudaMemcpy(NULL, place, 64, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidValue, cudaMemcpy(to, NULL, 64, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidValue, cudaMemcpy(to, place + 100, 64, DEVICE_TO_HOST));
	OK(cudaMemcpy(NULL, NULL, 0, HOST_TO_DEVICE));
	OK(cudaStreamCreate(&stream));
	OK(cudaMemcpyAsync(place, from, 64, HOST_TO_DEVICE, stream));
	OK(cudaMemsetAsync(place + 8, 0, 8, stream));
	OK(cudaMemcpyAsync(to, place, 64, DEVICE_TO_HOST, stream));
	OK(cudaStreamSynchronize(stream));
	IS(to[7] == 8 && to[8] == 0 && to[15] == 0 && to[16] == 17);

	OK(cudaMallocPitch((void **)&rows, &pitch, 8, 8));
	OK(cudaMemcpy2D(rows, pitch, from, 8, 8, 8, HOST_TO_DEVICE));
	memset(to, 0, 64);
	OK(cudaMemcpy2D(to, 8, rows, pitch, 4, 8, DEVICE_TO_HOST));
	for (n = 0, right = 1; n < 64; n++)
		right &= to[n] == (n % 8 < 4 ? from[n] : 0);
	IS(right);
	OK(cudaMemcpy2DAsync(to, 8, rows, pitch, 8, 8, DEVICE_TO_HOST, stream));
	OK(cudaStreamSynchronize(stream));
	IS(memcmp(from, to, 64) == 0);
	GIVES(cudaErrorInvalidPitchValue, cudaMemcpy2D(to, 4, rows, pitch, 8, 8, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpy2D(to, 8, rows, pitch, 8, 8, 9));
	OK(cudaMemcpy2D(to, 8, rows, pitch, 8, 0, DEVICE_TO_HOST));
	OK(cudaStreamDestroy(stream));
	OK(cudaFree(rows));
	OK(cudaFree(place));
}

static void variables(void)
{
	void *place;
	size_t bytes;
	int value = 42, back = 0;

	OK(cudaGetSymbolAddress(&place, &counter));
	OK(cudaGetSymbolSize(&bytes, &counter));
	IS(place != NULL && bytes == 4);
	OK(cudaGetSymbolSize(&bytes, null_params));
	IS(bytes == 64);
	GIVES(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&place, &of_no_module));
	GIVES(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(NULL, &value, 4, 0, HOST_TO_DEVICE));
	OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, HOST_TO_DEVICE));
	OK(cudaMemcpyFromSymbol(&back, &counter, 4, 0, DEVICE_TO_HOST));
	IS(back == 42);
	back = 0;
	OK(cudaMemcpyFromSymbolAsync((char *)&back + 1, &counter, 1, 0, BY_ADDRESS, NULL));
	OK(cudaMemcpyToSymbolAsync(&counter, &value, 2, 2, HOST_TO_DEVICE, NULL));
	OK(cudaDeviceSynchronize());
	IS(back == 42 << 8);
	GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(&counter, &value, 4, 1, HOST_TO_DEVICE));
	GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(&counter, &value, 4, (size_t)-1, HOST_TO_DEVICE));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(&counter, &value, 4, 0, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(&back, &counter, 4, 0, HOST_TO_DEVICE));
}

/* What `three<<<grid, block, shared, stream>>>(…)` is. */
static void launch(dim3 grid, dim3 block, cudaStream_t stream)
{
	if (__cudaPushCallConfiguration(grid, block, 0, stream) == 0)
		three((void *)0x1122334455667788, 0x99aabbcc, 0xdd);
}

static void kernels_run(void)
{
	static attributes known;
	dim3 grid = {4, 2, 1}, nothing = {1, 0, 1}, wide = {2048, 1, 1};
	unsigned char values[64], again[64];
	unsigned int b = 0;
	cudaStream_t stream;
	cudaKernel_t kernel;
	void *missing[] = {NULL, NULL, NULL};
	int number;
	size_t shared;

	OK((cudaGetLastError(), 0));
	launch(grid, one, NULL);
	OK(cudaGetLastError());
	OK(cudaMemcpyFromSymbol(values, null_params, 64, 0, DEVICE_TO_HOST));
	IS(values[0] == 0x88 && values[7] == 0x11 && values[8] == 0xcc && values[11] == 0x99 && values[12] == 0xdd);
	OK(cudaStreamCreateWithFlags(&stream, 1));
	for (number = 0; number < 5; number++)
		launch(grid, one, stream);
	OK(cudaGetLastError());
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemcpyFromSymbol(again, null_params, 64, 0, DEVICE_TO_HOST));
	IS(memcmp(values, again, 13) == 0);
	OK(__cudaPushCallConfiguration(one, one, 0, NULL));
	none();
	OK(cudaGetLastError());
	GIVES(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &grid, &shared, &stream));
	launch(nothing, one, NULL);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	launch(one, wide, NULL);
	GIVES(cudaErrorInvalidConfiguration, cudaGetLastError());
	GIVES(cudaErrorInvalidValue, cudaLaunchKernel((void *)three, one, one, NULL, 0, NULL));
	GIVES(cudaErrorInvalidValue, cudaLaunchKernel((void *)three, one, one, missing, 0, NULL));
	GIVES(cudaErrorInvalidValue, cudaLaunchKernel((void *)none, one, one, NULL, (size_t)1 << 40, NULL));
	GIVES(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void *)none, one, one, NULL, 0, (void *)&b));
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)launch, one, one, NULL, 0, NULL));
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(NULL, one, one, NULL, 0, NULL));
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)not_there, one, one, NULL, 0, NULL));
	GIVES(cudaErrorInvalidDeviceFunction, __cudaGetKernel(&kernel, (void *)launch));
	OK(cudaFuncGetAttributes(&known, (void *)three));
	IS(known.threads == 1024 && known.registers == 32 && known.ptx == 90);
	GIVES(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&known, (void *)launch));
	OK(cudaFuncSetAttribute((void *)three, 8, 1024));
	OK(cudaFuncGetAttributes(&known, (void *)three));
	IS(known.dynamic == 1024);
	OK(cudaFuncSetCacheConfig((void *)three, 1));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&number, (void *)three, 128, 0));
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&number, (void *)three, 128, 0, 0));
	IS(number > 0);
	OK(cudaStreamDestroy(stream));
	(void)b;
}

static void streams_and_events(void)
{
	cudaStream_t stream, other;
	cudaEvent_t start, end, untimed;
	unsigned int flags;
	int priority;
	float passed = -1;

	OK(cudaStreamCreateWithPriority(&stream, 1, -1));
	OK(cudaStreamGetPriority(stream, &priority));
	IS(priority == -1);
	OK(cudaStreamGetFlags(stream, &flags));
	IS(flags == 1);
	OK(cudaStreamCreate(&other));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventCreateWithFlags(&untimed, 2));
	OK(cudaEventRecord(start, stream));
	launch(one, one, stream);
	OK(cudaEventRecord(end, stream));
	OK(cudaStreamWaitEvent(other, end, 0));
	OK(cudaEventSynchronize(end));
	OK(cudaEventQuery(start));
	OK(cudaEventElapsedTime(&passed, start, end));
	IS(passed > 0);
	OK(cudaEventRecord(untimed, other));
	OK(cudaStreamSynchronize(other));
	OK(cudaStreamQuery(other));
	GIVES(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&passed, start, untimed));
	OK(cudaEventDestroy(untimed));
	OK(cudaEventDestroy(end));
	OK(cudaEventDestroy(start));
	GIVES(cudaErrorInvalidResourceHandle, cudaEventRecord(start, stream));
	OK(cudaStreamDestroy(other));
	OK(cudaStreamDestroy(stream));
	GIVES(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
}

/* A binary of its own, whose wrapper, or the bytes behind it, are wrong. */
static void refused(const char *what, wrapper *wrong, cudaError_t error)
{
	void **handle = __cudaRegisterFatBinary(wrong);
	int code;

	function(handle, (void (*)(void))launch, "none");
	__cudaRegisterFatBinaryEnd(handle);
	code = cudaLaunchKernel((void *)launch, one, one, NULL, 0, NULL);
	printf("%s: %d\n", what, code);
	IS(code == error);
	IS(__cudaInitModule(handle) == 0);
	__cudaUnregisterFatBinary(handle);
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)launch, one, one, NULL, 0, NULL));
}

static void binaries(void)
{
	wrapper wrong = whole;
	uint64_t *bytes = fat_binary(kernels);
	void **handle;

	IS(__cudaInitModule(binary) == 1);
	wrong.first++;
	refused("another first word", &wrong, cudaErrorInvalidKernelImage);
	wrong = whole;
	wrong.data = NULL;
	refused("no fat binary", &wrong, cudaErrorInvalidKernelImage);
	wrong.data = kernels;
	refused("a text in place of one", &wrong, cudaErrorInvalidKernelImage);
	wrong.data = bytes;
	bytes[1] -= 64;
	refused("an entry beyond the end", &wrong, cudaErrorInvalidKernelImage);
	bytes[1] = 8;
	refused("half an entry", &wrong, cudaErrorInvalidKernelImage);
	bytes[1] = 0;
	refused("nothing", &wrong, cudaErrorInvalidKernelImage);
	bytes[1] = (uint64_t)-8;
	refused("longer than memory", &wrong, cudaErrorInvalidKernelImage);
	wrong.data = fat_binary("no PTX");
	refused("another text", &wrong, CUDA_ERROR_INVALID_PTX);
	/* Unknown handles do nothing. */
	__cudaUnregisterFatBinary((void **)&wrong);
	IS(__cudaInitModule((void **)&wrong) == 0);
	OK((cudaGetLastError(), 0));
	/* One that is right, and goes. */
	handle = __cudaRegisterFatBinary(&whole);
	function(handle, (void (*)(void))launch, "none");
	OK(cudaLaunchKernel((void *)launch, one, one, NULL, 0, NULL));
	__cudaUnregisterFatBinary(handle);
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernel((void *)launch, one, one, NULL, 0, NULL));
	OK(cudaLaunchKernel((void *)none, one, one, NULL, 0, NULL));
	free(bytes);
}

static void *elsewhere(void *place)
{
	int device = -1;
	char byte = 7;

	/* Its own last error, and the same context. */
	OK(cudaGetLastError());
	OK(cudaGetDevice(&device));
	IS(device == 0);
	OK(cudaMemcpy(place, &byte, 1, HOST_TO_DEVICE));
	launch(one, one, NULL);
	OK(cudaDeviceSynchronize());
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	void *place;
	char byte = 0;

	OK(cudaMalloc(&place, 16));
	GIVES(cudaErrorInvalidValue, cudaMalloc(NULL, 16));
	pthread_create(&thread, NULL, elsewhere, place);
	pthread_join(thread, NULL);
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaMemcpy(&byte, place, 1, DEVICE_TO_HOST));
	IS(byte == 7);
	OK(cudaFree(place));
}

static void beside_the_driver_api(void)
{
	CUcontext primary, own, current;
	void *place;
	int value = 1;

	OK(cuCtxGetCurrent(&current));
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	IS(current == primary);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	/* The program's own context is used, and has the binary loaded once more. */
	OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, HOST_TO_DEVICE));
	OK(cuCtxCreate_v2(&own, 0, 0));
	OK(cudaMalloc(&place, 16));
	launch(one, one, NULL);
	OK(cudaGetLastError());
	value = 2;
	OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, HOST_TO_DEVICE));
	OK(cuCtxDestroy_v2(own));
	OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, DEVICE_TO_HOST));
	IS(value == 1);
	GIVES(cudaErrorInvalidValue, cudaFree(place));
	launch(one, one, NULL);
	OK((cudaGetLastError(), 0));
}

static void lasting(void)
{
	void *place;

	/* The launch may say so itself. */
	cudaLaunchKernel((void *)trap, one, one, NULL, 0, NULL);
	GIVES(cudaErrorIllegalAddress, cudaDeviceSynchronize());
	GIVES(cudaErrorIllegalAddress, cudaMalloc(&place, 16));
	launch(one, one, NULL);
	GIVES(cudaErrorIllegalAddress, cudaGetLastError());
	OK(cudaDeviceReset());
	OK(cudaMalloc(&place, 16));
	launch(one, one, NULL);
	OK(cudaDeviceSynchronize());
	OK(cudaFree(place));
	OK(cudaDeviceReset());
	OK(cudaDeviceReset());
	OK(cudaFree(NULL));
}

static void in_a_child(void)
{
	int status;
	void *place;

	fflush(stdout);
	if (fork() == 0)
		_exit(cudaMalloc(&place, 16) == cudaErrorInitializationError &&
			      cudaLaunchKernel((void *)none, one, one, NULL, 0, NULL) == cudaErrorInitializationError
			      ? 0
			      : 1);
	wait(&status);
	IS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	devices();
	errors();
	memory();
	copies();
	variables();
	kernels_run();
	streams_and_events();
	binaries();
	threads();
	beside_the_driver_api();
	lasting();
	in_a_child();
	printf("%d failures\n", failures);
	return failures != 0;
}
