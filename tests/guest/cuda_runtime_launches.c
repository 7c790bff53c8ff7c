/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The runtime's launches with attributes, functions of the program's on streams and default streams of
 * threads, over a driver that runs no kernels. */
#include "cuda_runtime_launches.h"
#include <pthread.h>

static char null_params[64], null_attributes[64];
static wrapper whole = { 0x466243b1, 1, NULL, NULL };
static const dim3 one = { 1, 1, 1 };
/* The null driver takes 6.255 ms for them. */
static const dim3 busy = { 100000, 1, 1 }, thousand = { 1000, 1, 1 };

static void three(void)
{
}

static void none(void)
{
}

static void stranger(void)
{
}

__attribute__((constructor)) static void registers(void)
{
	void **binary;

	whole.data = fat_binary(launch_kernels);
	binary = __cudaRegisterFatBinary(&whole);
	__cudaRegisterFunction(binary, (char *)three, "three", "three", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterFunction(binary, (char *)none, "none", "none", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(binary, null_params, "null_params", "null_params", 0, 64, 0, 0);
	__cudaRegisterVar(binary, null_attributes, "null_attributes", "null_attributes", 0, 64, 0, 0);
	__cudaRegisterFatBinaryEnd(binary);
}

static void launches(void)
{
	unsigned long long a = 11;
	unsigned int b = 5, got[8];
	unsigned char c = 9;
	void *values[] = { &a, &b, &c };
	cudaLaunchAttribute list[1] = { { .id = 4, .val.pad = { 2, 0, 0, 0, 1, 0, 0, 0, 1 } } };
	cudaLaunchConfig_t it = { { 4, 1, 1 }, { 512, 1, 1 }, 0, NULL, list, 1 };
	int value;
	size_t offset, bytes;
	const char *name;

	OK(cudaLaunchKernelExC(&it, three, values));
	OK(cudaMemcpyFromSymbol(got, null_params, 8, 0, DEVICE_TO_HOST));
	IS(got[0] == 11);
	OK(cudaMemcpyFromSymbol(got, null_attributes, 16, 0, DEVICE_TO_HOST));
	IS(got[0] == 4 && got[1] == 2 && got[2] == 1 && got[3] == 1);
	OK(cudaOccupancyMaxActiveClusters(&value, three, &it));
	IS(value == 2);
	OK(cudaOccupancyMaxPotentialClusterSize(&value, three, &it));
	IS(value == 4);
	GIVES(cudaErrorInvalidDeviceFunction, cudaOccupancyMaxActiveClusters(&value, stranger, &it));
	GIVES(cudaErrorInvalidValue, cudaOccupancyMaxPotentialClusterSize(&value, three, NULL));
	GIVES(cudaErrorInvalidDeviceFunction, cudaLaunchKernelExC(&it, stranger, values));
	GIVES(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, three, values));
	it.blockDim.x = 4096;
	GIVES(cudaErrorInvalidConfiguration, cudaLaunchKernelExC(&it, three, values));
	OK(cudaLaunchCooperativeKernel(three, one, one, values, 0, NULL));
	OK(cudaMemcpyFromSymbol(got, null_attributes, 8, 0, DEVICE_TO_HOST));
	IS(got[0] == 2 && got[1] == 1);
	GIVES(720, cudaLaunchCooperativeKernel(three, busy, one, values, 0, NULL));
	OK(cudaFuncGetName(&name, three));
	IS(strcmp(name, "three") == 0);
	OK(cudaFuncGetParamInfo(three, 1, &offset, &bytes));
	IS(offset == 8 && bytes == 4);
	GIVES(cudaErrorInvalidValue, cudaFuncGetParamInfo(three, 3, &offset, &bytes));
	OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, three, 2, 64));
	IS(bytes == 24 << 10);
}

static struct {
	int calls;
	cudaError_t status, permitted;
	cudaStream_t stream;
} seen;

static void called(void *data)
{
	void *memory;

	seen.permitted = cudaMalloc(&memory, 16);
	*(int *)data = ++seen.calls;
}

static void called_with(cudaStream_t stream, cudaError_t status, void *data)
{
	seen.stream = stream;
	seen.status = status;
	called(data);
}

static void streams(void)
{
	cudaStream_t stream, other;
	cudaEvent_t start, end;
	cudaLaunchAttributeValue value = { { 2 } };
	unsigned long long id, second;
	int device = -1, order = 0;
	float took;

	OK(cudaStreamCreateWithFlags(&stream, 1));
	OK(cudaStreamCreate(&other));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecordWithFlags(start, stream, 0));
	OK(cudaLaunchKernel(none, busy, thousand, NULL, 0, stream));
	OK(cudaLaunchHostFunc(stream, called, &order));
	OK(cudaEventRecord(end, stream));
	IS(order == 0);
	OK(cudaStreamSynchronize(stream));
	IS(order == 1 && seen.permitted == 800);
	OK(cudaEventElapsedTime(&took, start, end));
	IS(took > 6);
	OK(cudaStreamAddCallback(stream, called_with, &order, 0));
	OK(cudaStreamSynchronize(stream));
	IS(order == 2 && seen.stream == stream && seen.status == 0);
	GIVES(cudaErrorInvalidValue, cudaLaunchHostFunc(stream, NULL, NULL));
	GIVES(cudaErrorInvalidValue, cudaStreamAddCallback(stream, called_with, NULL, 9));
	OK(cudaStreamGetId(stream, &id));
	OK(cudaStreamGetId(other, &second));
	IS(id != second);
	OK(cudaStreamGetDevice(stream, &device));
	IS(device == 0);
	OK(cudaStreamSetAttribute(stream, 3, &value));
	OK(cudaStreamCopyAttributes(other, stream));
	memset(&value, 0, sizeof(value));
	OK(cudaStreamGetAttribute(other, 3, &value));
	IS(value.pad[0] == 2);
	GIVES(cudaErrorInvalidValue, cudaStreamSetAttribute(stream, 3, NULL));
	GIVES(cudaErrorInvalidValue, cudaEventRecordWithFlags(start, stream, 2));
	OK(cudaStreamDestroy(stream));
	OK(cudaStreamDestroy(other));
}

#define OWN ((cudaStream_t)2)

static void *in_thread(void *place)
{
	unsigned long long *id = place;

	IS(cudaStreamGetId_ptsz(NULL, &id[0]) == 0 && cudaStreamGetId(OWN, &id[1]) == 0);
	return NULL;
}

static void own_streams(void)
{
	unsigned long long mine, its[2];
	unsigned int flags = 5, got[4] = { 0 }, sent[4] = { 1, 2, 3, 4 };
	int status;
	int priority = 5, device = -1, order = 0;
	cudaLaunchAttributeValue value = { { 1 } };
	cudaLaunchConfig_t it = { { 1, 1, 1 }, { 1, 1, 1 }, 0, NULL, NULL, 0 };
	cudaEvent_t start, end;
	cudaStream_t free_one;
	cudaKernel_t kernel;
	pthread_t thread;
	float took;
	char *memory;

	OK(cudaStreamGetId(OWN, &mine));
	pthread_create(&thread, NULL, in_thread, its);
	pthread_join(thread, NULL);
	IS(its[0] == its[1] && its[0] != mine);
	OK(cudaStreamCreateWithFlags(&free_one, 1));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecord_ptsz(start, NULL));
	OK(cudaLaunchKernel_ptsz(none, busy, thousand, NULL, 0, NULL));
	GIVES(600, cudaStreamQuery_ptsz(NULL));
	OK(cudaEventRecordWithFlags_ptsz(end, NULL, 0));
	OK(cudaStreamSynchronize_ptsz(NULL));
	OK(cudaStreamQuery_ptsz(NULL));
	OK(cudaEventElapsedTime(&took, start, end));
	IS(took > 6);
	OK(cudaStreamWaitEvent_ptsz(NULL, end, 0));
	OK(cudaStreamGetFlags_ptsz(NULL, &flags));
	status = 7;
	OK(cudaStreamIsCapturing_ptsz(NULL, &status));
	IS(status == 0);
	status = 7;
	OK(cudaStreamIsCapturing(OWN, &status));
	IS(status == 0);
	IS(cudaStreamIsCapturing(NULL, NULL) == 1 && cudaStreamIsCapturing_ptsz(NULL, NULL) == 1);
	OK(cudaStreamGetPriority_ptsz(NULL, &priority));
	OK(cudaStreamGetDevice_ptsz(NULL, &device));
	IS(flags == 0 && priority == 0 && device == 0);
	OK(cudaLaunchKernelExC_ptsz(&it, none, NULL));
	GIVES(cudaErrorInvalidValue, cudaLaunchKernelExC_ptsz(NULL, none, NULL));
	OK(cudaLaunchCooperativeKernel_ptsz(none, one, one, NULL, 0, NULL));
	OK(__cudaGetKernel(&kernel, none));
	OK(__cudaLaunchKernel_ptsz(kernel, one, one, NULL, 0, NULL));
	OK(cudaLaunchHostFunc_ptsz(NULL, called, &order));
	OK(cudaStreamSynchronize(OWN));
	IS(order == 3);
	OK(cudaStreamAddCallback_ptsz(NULL, called_with, &order, 0));
	OK(cudaStreamSynchronize(OWN));
	IS(order == 4 && seen.stream == OWN);
	OK(cudaStreamSetAttribute_ptsz(NULL, 3, &value));
	OK(cudaStreamCopyAttributes_ptsz(free_one, NULL));
	memset(&value, 0, sizeof(value));
	OK(cudaStreamGetAttribute_ptsz(NULL, 3, &value));
	IS(value.pad[0] == 1);

	OK(cudaMalloc((void **)&memory, 64));
	OK(cudaMemset_ptds(memory, 1, 64));
	OK(cudaMemcpy_ptds(memory, sent, 16, HOST_TO_DEVICE));
	OK(cudaMemcpy2D_ptds(memory + 16, 8, memory, 8, 8, 2, DEVICE_TO_DEVICE));
	OK(cudaMemcpy_ptds(got, memory + 16, 16, DEVICE_TO_HOST));
	IS(memcmp(got, sent, 16) == 0);
	OK(cudaMemcpyToSymbol_ptds(null_params, sent, 8, 8, HOST_TO_DEVICE));
	OK(cudaMemcpyFromSymbol_ptds(got, null_params, 4, 12, DEVICE_TO_HOST));
	IS(got[0] == 2);
	OK(cudaMemsetAsync_ptsz(memory, 3, 4, NULL));
	OK(cudaMemcpyAsync_ptsz(got, memory, 8, DEVICE_TO_HOST, NULL));
	OK(cudaMemcpyToSymbolAsync_ptsz(null_params, sent, 16, 0, HOST_TO_DEVICE, NULL));
	OK(cudaMemcpyFromSymbolAsync_ptsz(got + 2, null_params, 4, 12, DEVICE_TO_HOST, NULL));
	OK(cudaMemcpy2DAsync_ptsz(memory + 32, 4, sent, 4, 4, 2, HOST_TO_DEVICE, NULL));
	OK(cudaStreamSynchronize(OWN));
	IS(got[0] == 0x03030303 && got[1] == 2 && got[2] == 4);
	OK(cudaMemcpy(got, memory + 32, 8, DEVICE_TO_HOST));
	IS(got[0] == 1 && got[1] == 2);
	OK(cudaFree(memory));
	OK(cudaStreamDestroy(free_one));
}

int main(void)
{
	launches();
	streams();
	own_streams();
	printf("%d failures\n", failures);
	return failures != 0;
}
