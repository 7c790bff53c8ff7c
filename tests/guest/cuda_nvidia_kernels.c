/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NVIDIA's own runtime, shared or static, over gil's library of the driver API and a driver that
 * runs no kernels: a program with a fat binary, as the compiler would emit it. */
#include "cuda_runtime.h"

/* The program's side of the module's variables; only their addresses count. */
static char null_params[64];
static int counter;
static wrapper whole = {0x466243b1, 1, NULL, NULL};
static void **binary;
static const dim3 one = {1, 1, 1};

static void three(void)
{
}

static void not_there(void)
{
}

static void unregister(void)
{
	__cudaUnregisterFatBinary(binary);
}

__attribute__((constructor)) static void registers(void)
{
	whole.data = fat_binary(kernels);
	binary = __cudaRegisterFatBinary(&whole);
	__cudaRegisterFunction(binary, (char *)three, "three", "three", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(binary, null_params, "null_params", "null_params", 0, sizeof(null_params), 0, 0);
	__cudaRegisterVar(binary, (char *)&counter, "counter", "counter", 0, sizeof(counter), 0, 0);
	__cudaRegisterFatBinaryEnd(binary);
	atexit(unregister);
}

static void launches(void)
{
	void *a = (void *)0x1122334455667788;
	unsigned int b = 0x99aabbcc;
	unsigned char c = 0xdd, values[64] = {0};
	void *args[] = {&a, &b, &c};
	cudaKernel_t kernel;
	cudaStream_t stream;
	attributes known;
	int blocks;

	OK(cudaLaunchKernel((void *)three, one, one, args, 0, NULL));
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpyFromSymbol(values, null_params, 64, 0, DEVICE_TO_HOST));
	IS(memcmp(values, &a, 8) == 0 && memcmp(values + 8, &b, 4) == 0 && values[12] == c);
	b = 5;
	OK(cudaStreamCreate(&stream));
	OK(__cudaGetKernel(&kernel, (void *)three));
	OK(__cudaLaunchKernel(kernel, one, one, args, 0, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaMemcpyFromSymbol(values, null_params, 64, 0, DEVICE_TO_HOST));
	IS(memcmp(values + 8, &b, 4) == 0);
	OK(cudaStreamDestroy(stream));
	/* The runtime takes what it does not know for a handle, and has the driver refuse it. */
	GIVES(cudaErrorInvalidResourceHandle, cudaLaunchKernel((void *)not_there, one, one, args, 0, NULL));
	GIVES(cudaErrorInvalidResourceHandle, cudaGetLastError());
	OK(cudaGetLastError());
	OK(cudaFuncGetAttributes(&known, (void *)three));
	IS(known.threads == 1024);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (void *)three, 64, 0));
	IS(blocks > 0);
}

static void variables(void)
{
	int value = 42, back = 0;
	void *place = NULL;

	OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, HOST_TO_DEVICE));
	OK(cudaMemcpyFromSymbol(&back, &counter, 4, 0, DEVICE_TO_HOST));
	IS(back == 42);
	OK(cudaGetSymbolAddress(&place, &counter));
	back = 0;
	OK(cudaMemcpy(&back, place, 4, DEVICE_TO_HOST));
	IS(back == 42);
}

int main(void)
{
	launches();
	variables();
	OK(cudaDeviceReset());
	launches();
	printf("%d failures\n", failures);
	return failures != 0;
}
