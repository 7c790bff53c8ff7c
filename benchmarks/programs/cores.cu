/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kernels take on a part of an NVIDIA GPU: as many of its multiprocessors as the first
 * argument says, by a green context (CUDA 12.4 and later), or all for 0. Prints the device's
 * name and its multiprocessors, then for each program and repetition, as kernels.c does:
 *
 *     NAME WALL DEVICE OPERATIONS SUM
 *
 * The second argument is the number of repetitions. Build: nvcc -O2 -o cores cores.cu -lcuda */
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WARM 3
#define SIDE 2048
#define MOST (SIDE * SIDE)

#define NEED(call)                                                                       \
	do {                                                                             \
		int error = (int)(call);                                                 \
		if (error) {                                                             \
			fprintf(stderr, "cores.cu:%d: CUDA's error %d\n", __LINE__, error); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static CUdevResource whole, part;
static cudaStream_t stream;
static float *a, *b, *c;
static int *counts;
static int operations;

__global__ void add(const float *a, const float *b, float *c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	c[i] = a[i] + b[i];
}

__global__ void multiply(const float *a, const float *b, float *c, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int k = 0; k < n; k++)
		sum += a[y * n + k] * b[k * n + x];
	c[y * n + x] = sum;
}

__global__ void transpose(const float *a, float *b, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	b[x * n + y] = a[y * n + x];
}

__global__ void bodies(const float4 *a, float4 *b, int n)
{
	float4 me = a[blockIdx.x * blockDim.x + threadIdx.x], f = me;

	for (int k = 0; k < n; k++) {
		float4 it = a[k];
		float x = it.x - me.x, y = it.y - me.y, z = it.z - me.z;
		float r = rsqrtf(x * x + y * y + z * z + 1e-3f);
		float s = it.w * r * r * r;

		f.x += s * x, f.y += s * y, f.z += s * z;
	}
	b[blockIdx.x * blockDim.x + threadIdx.x] = f;
}

__global__ void mandel(int *a, int n, int most)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float u = 0, v = 0, p = 3.0f * x / n - 2, q = 3.0f * y / n - 1.5f;
	int k = 0;

	for (; k < most && u * u + v * v < 4; k++) {
		float t = u * u - v * v + p;

		v = 2 * u * v + q;
		u = t;
	}
	a[y * n + x] = k;
}

__global__ void stencil(const float *a, float *b, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	int i = y * n + x;

	b[i] = 0.2f * (a[i] + a[x > 0 ? i - 1 : i] + a[x < n - 1 ? i + 1 : i] +
		       a[y > 0 ? i - n : i] + a[y < n - 1 ? i + n : i]);
}

__global__ void histogram(const float *a, int *counts)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&counts[(int)(a[i] * 255) & 255], 1);
}

__global__ void options(const float *a, float *b)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float s = 10 + a[i];

	for (int n = 0; n < 64; n++) {
		float d = (logf(s / 12) + 0.03f) / 0.2f;

		s += 0.01f * (s / (1 + expf(-1.7f * d)) - 11.9f / (1 + expf(-1.7f * (d - 0.3f))));
	}
	b[i] = s;
}

__global__ void convolve(const float *a, float *b, int n, int r)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;

	for (int v = -r; v <= r; v++)
		for (int u = -r; u <= r; u++)
			sum += a[min(max(y + v, 0), n - 1) * n + min(max(x + u, 0), n - 1)];
	b[y * n + x] = sum;
}

static const dim3 tile(16, 16);

static dim3 tiles(int n)
{
	return dim3(n / 16, n / 16);
}

static void run_add(void)
{
	for (int n = 0; n < 8; n++, operations++)
		add<<<MOST / 256, 256, 0, stream>>>(a, b, c);
}

static void run_multiply(void)
{
	multiply<<<tiles(1024), tile, 0, stream>>>(a, b, c, 1024);
	operations++;
}

static void run_transpose(void)
{
	for (int n = 0; n < 8; n++, operations++)
		transpose<<<tiles(SIDE), tile, 0, stream>>>(a, c, SIDE);
}

static void run_bodies(void)
{
	bodies<<<32768 / 128, 128, 0, stream>>>((float4 *)a, (float4 *)c, 32768);
	operations++;
}

static void run_mandel(void)
{
	mandel<<<tiles(SIDE), tile, 0, stream>>>((int *)c, SIDE, 512);
	operations++;
}

static void run_stencil(void)
{
	for (int n = 0; n < 16; n++, operations++)
		stencil<<<tiles(SIDE), tile, 0, stream>>>(n % 2 ? c : a, n % 2 ? a : c, SIDE);
}

static void run_histogram(void)
{
	for (int n = 0; n < 4; n++, operations++)
		histogram<<<MOST / 256, 256, 0, stream>>>(a, counts);
}

static void run_options(void)
{
	options<<<MOST / 256, 256, 0, stream>>>(a, c);
	operations++;
}

static void run_convolve(void)
{
	convolve<<<tiles(SIDE), tile, 0, stream>>>(a, c, SIDE, 4);
	operations++;
}

/* Too few blocks for the GPU: more multiprocessors help no more. */
static void run_few(void)
{
	bodies<<<16, 128, 0, stream>>>((float4 *)a, (float4 *)c, 32768);
	operations++;
}

static void run_small(void)
{
	for (int n = 0; n < 64; n++, operations++)
		stencil<<<tiles(128), tile, 0, stream>>>(n % 2 ? c : a, n % 2 ? a : c, 128);
}

static const struct { const char *name; void (*body)(void); } programs[] = {
	{ "add", run_add }, { "multiply", run_multiply }, { "transpose", run_transpose },
	{ "bodies", run_bodies }, { "mandel", run_mandel }, { "stencil", run_stencil },
	{ "histogram", run_histogram }, { "options", run_options }, { "convolve", run_convolve },
	{ "few", run_few }, { "small", run_small },
};

static long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* A stream on so many of the GPU's multiprocessors. */
static void split(unsigned wanted)
{
	CUdevResourceDesc description;
	CUdevice device;
	CUgreenCtx green;
	CUcontext primary;
	unsigned groups = 1;
	CUstream made;

	NEED(cuDeviceGet(&device, 0));
	NEED(cuDevicePrimaryCtxRetain(&primary, device));
	NEED(cuCtxSetCurrent(primary));
	NEED(cuDeviceGetDevResource(device, &whole, CU_DEV_RESOURCE_TYPE_SM));
	part = whole;
	if (!wanted) {
		NEED(cudaStreamCreate(&stream));
		return;
	}
	NEED(cuDevSmResourceSplitByCount(&part, &groups, &whole, NULL, 0, wanted));
	NEED(cuDevResourceGenerateDesc(&description, &part, 1));
	NEED(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM));
	NEED(cuGreenCtxStreamCreate(&made, green, CU_STREAM_NON_BLOCKING, 0));
	stream = made;
}

int main(int argc, char **argv)
{
	int wanted = argc > 1 ? atoi(argv[1]) : 0, repetitions = argc > 2 ? atoi(argv[2]) : 0;
	struct cudaDeviceProp properties;
	cudaEvent_t from, to;
	float *host;

	if (wanted < 0 || repetitions < 1) {
		fprintf(stderr, "usage: cores MULTIPROCESSORS REPETITIONS\n");
		return 2;
	}
	NEED(cuInit(0));
	split(wanted);
	NEED(cudaGetDeviceProperties(&properties, 0));
	printf("%s, %u multiprocessors\n", properties.name, part.sm.smCount);
	host = (float *)malloc(MOST * sizeof(float));
	for (int n = 0; n < MOST; n++)
		host[n] = (n * 7919 % 1000) / 1000.0f;
	NEED(cudaMalloc(&a, MOST * sizeof(float)));
	NEED(cudaMalloc(&b, MOST * sizeof(float)));
	NEED(cudaMalloc(&c, MOST * sizeof(float)));
	NEED(cudaMalloc(&counts, 256 * sizeof(int)));
	NEED(cudaMemcpy(b, host, MOST * sizeof(float), cudaMemcpyHostToDevice));
	NEED(cudaEventCreate(&from));
	NEED(cudaEventCreate(&to));
	for (size_t n = 0; n < sizeof(programs) / sizeof(programs[0]); n++) {
		for (int r = -WARM; r < repetitions; r++) {
			long long began;
			float ms;

			NEED(cudaMemcpy(a, host, MOST * sizeof(float), cudaMemcpyHostToDevice));
			NEED(cudaDeviceSynchronize());
			operations = 0;
			began = now();
			NEED(cudaEventRecord(from, stream));
			programs[n].body();
			NEED(cudaEventRecord(to, stream));
			NEED(cudaStreamSynchronize(stream));
			began = now() - began;
			NEED(cudaGetLastError());
			NEED(cudaEventElapsedTime(&ms, from, to));
			if (r >= 0)
				printf("%s %lld %lld %d 0\n", programs[n].name, began,
				       (long long)(ms * 1e6), operations);
		}
	}
	return 0;
}
