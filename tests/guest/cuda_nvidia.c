/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* NVIDIA's own runtime, shared or static, over gil's library of the driver API and a driver that
 * runs no kernels: a program without kernels. */
#include "cuda_runtime.h"
#include <pthread.h>

static void devices(void)
{
	static properties known;
	int number;

	OK(cudaGetDeviceCount(&number));
	IS(number == 1);
	OK(cudaDriverGetVersion(&number));
	IS(number == 13000);
	OK(cudaRuntimeGetVersion(&number));
	IS(number == 13000);
	OK(cudaGetDeviceProperties(&known, 0));
	IS(strcmp(known.name, "Null device") == 0);
	IS(known.memory == (size_t)1 << 30 && known.warp == 32);
	IS(known.major == 9 && known.minor == 0);
	GIVES(cudaErrorInvalidDevice, cudaSetDevice(5));
	GIVES(cudaErrorInvalidDevice, cudaGetLastError());
	OK(cudaGetLastError());
	OK(cudaSetDevice(0));
	OK(cudaGetDevice(&number));
	IS(number == 0);
}

static void memory(void)
{
	enum { BYTES = 1 << 20 };
	unsigned char *up = malloc(BYTES), *down = malloc(BYTES), *pinned = NULL;
	char *place = NULL, *other = NULL;
	size_t available, total;

	for (size_t n = 0; n < BYTES; n++)
		up[n] = (unsigned char)(n * 7 + (n >> 8));
	OK(cudaMalloc((void **)&place, BYTES));
	OK(cudaMalloc((void **)&other, BYTES));
	OK(cudaMemcpy(place, up, BYTES, HOST_TO_DEVICE));
	OK(cudaMemcpy(other, place, BYTES, DEVICE_TO_DEVICE));
	OK(cudaMemcpy(down, other, BYTES, DEVICE_TO_HOST));
	IS(memcmp(up, down, BYTES) == 0);
	OK(cudaMemcpy(down, other, BYTES, BY_ADDRESS));
	OK(cudaMemset(other + 10, 0x5a, 20));
	OK(cudaMemcpy(down, other, 64, DEVICE_TO_HOST));
	IS(down[9] == up[9] && down[10] == 0x5a && down[29] == 0x5a && down[30] == up[30]);
	OK(cudaMemcpy2D(down, 8, place, 16, 8, 4, DEVICE_TO_HOST));
	IS(memcmp(down + 8, up + 16, 8) == 0 && memcmp(down + 24, up + 48, 8) == 0);
	OK(cudaMallocHost((void **)&pinned, 4096));
	OK(cudaMemcpy(pinned, place, 4096, DEVICE_TO_HOST));
	IS(memcmp(pinned, up, 4096) == 0);
	OK(cudaFreeHost(pinned));
	OK(cudaMemGetInfo(&available, &total));
	IS(total == (size_t)1 << 30 && available < total);
	GIVES(cudaErrorInvalidValue, cudaMemcpy(down, other + BYTES, 64, DEVICE_TO_HOST));
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	GIVES(2, cudaMalloc((void **)&pinned, (size_t)1 << 40));
	GIVES(2, cudaGetLastError());
	OK(cudaFree(other));
	GIVES(cudaErrorInvalidValue, cudaFree(other));
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaFree(place));
	free(up);
	free(down);
}

static void streams(void)
{
	cudaStream_t stream;
	cudaEvent_t start, end;
	float milliseconds = -1;
	int least, greatest, number;
	void *place;
	char bytes[64] = "by a stream", back[64] = "";

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	IS(least == 0 && greatest == -5);
	OK(cudaStreamCreateWithPriority(&stream, 1, greatest));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaMalloc(&place, 64));
	OK(cudaEventRecord(start, stream));
	OK(cudaMemcpyAsync(place, bytes, 64, HOST_TO_DEVICE, stream));
	OK(cudaMemcpyAsync(back, place, 64, DEVICE_TO_HOST, stream));
	OK(cudaEventRecord(end, stream));
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamQuery(stream));
	number = 7;
	OK(cudaStreamIsCapturing(stream, &number));
	IS(number == 0);
	OK(cudaEventQuery(end));
	IS(memcmp(bytes, back, 64) == 0);
	OK(cudaEventElapsedTime(&milliseconds, start, end));
	IS(milliseconds > 0);
	OK(cudaStreamWaitEvent(NULL, end, 0));
	OK(cudaDeviceSynchronize());
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(end));
	OK(cudaStreamDestroy(stream));
	OK(cudaFree(place));
}

/* Another thread has the device's context, too. */
static void *elsewhere(void *place)
{
	int value = 0;

	OK(cudaMemcpy(&value, place, sizeof(value), DEVICE_TO_HOST));
	IS(value == 42);
	return NULL;
}

static void threads(void)
{
	int value = 42;
	pthread_t thread;
	void *place;

	OK(cudaMalloc(&place, sizeof(value)));
	OK(cudaMemcpy(place, &value, sizeof(value), HOST_TO_DEVICE));
	pthread_create(&thread, NULL, elsewhere, place);
	pthread_join(thread, NULL);
	OK(cudaDeviceReset());
	GIVES(cudaErrorInvalidValue, cudaFree(place));
	GIVES(cudaErrorInvalidValue, cudaGetLastError());
	OK(cudaMalloc(&place, sizeof(value)));
	OK(cudaMemcpy(place, &value, sizeof(value), HOST_TO_DEVICE));
	elsewhere(place);
}

int main(void)
{
	devices();
	memory();
	streams();
	threads();
	printf("%d failures\n", failures);
	return failures != 0;
}
