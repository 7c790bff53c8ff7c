/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernels of program.c. */

extern "C" __global__ void multiply(const double *a, const double *b, double *c, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	double sum = 0;

	if (x >= n || y >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[y * n + k] * b[k * n + x];
	c[y * n + x] = sum;
}

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void nothing(int *a)
{
}

/* Keeps its processors busy for so many cycles. */
extern "C" __global__ void spin(int *a, long long cycles)
{
	long long from = clock64();

	while (clock64() - from < cycles)
		;
	if (threadIdx.x == 0 && blockIdx.x == 0)
		a[0]++;
}

/* Some arithmetic on every element. */
extern "C" __global__ void work(float *a, int n, int times)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float it;

	if (i >= n)
		return;
	it = a[i];
	for (int time = 0; time < times; time++)
		it = it * 0.5f + 1.0f;
	a[i] = it;
}

/* Nothing is at this address. */
extern "C" __global__ void illegal(int *a)
{
	*(volatile int *)16 = 1;
}

/* Of textures.c: a number for each element of a grid, of what a texture or a surface shows. */

extern "C" __global__ void sampled(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	/* Beyond the edges, too. */
	out[y * side + x] = tex2D<float>(texture, (x * 1.7f - 20) / side, (y * 1.3f - 9) / side);
}

extern "C" __global__ void unnormalized(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	out[y * side + x] = tex2D<float>(texture, x + 0.25f, y + 0.75f);
}

extern "C" __global__ void layered(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
	float4 seen = tex2DLayered<float4>(texture, x + 0.3f, y + 0.6f, z);

	out[(z * side + y) * side + x] = seen.x + 2 * seen.y + 3 * seen.z + 4 * seen.w;
}

extern "C" __global__ void boxed(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;

	out[(z * side + y) * side + x] = tex3D<float>(texture, x + 0.3f, y + 0.6f, z + 0.9f);
}

extern "C" __global__ void levels(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float4 seen = tex2DLod<float4>(texture, (x + 0.5f) / side, (y + 0.5f) / side, y * 4.5f / side);

	out[y * side + x] = seen.x + 2 * seen.y + 3 * seen.z + 4 * seen.w;
}

extern "C" __global__ void line(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float4 seen = tex1Dfetch<float4>(texture, y * side + x);

	out[y * side + x] = seen.x + 2 * seen.y + 3 * seen.z + 4 * seen.w;
}

extern "C" __global__ void integers(cudaTextureObject_t texture, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

	out[y * side + x] = __uint_as_float(tex2D<unsigned>(texture, x + 0.5f, y + 0.5f) & 0x3fffffff);
}

/* Each element becomes another, and comes out as it was. */
extern "C" __global__ void surface(cudaSurfaceObject_t surface, float *out, int side)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	unsigned was = surf2Dread<unsigned>(surface, x * 4, y);

	out[y * side + x] = __uint_as_float(was & 0x3fffffff);
	surf2Dwrite(was * 2654435761u + x, surface, x * 4, y);
}

/* Of shared.c: memory that the program and its kernels share. */

#include <stdio.h>

struct node {
	struct node *next;
	int value;
};

/* Each node's value becomes its own and all before it. */
extern "C" __global__ void running(struct node *node)
{
	int sum = 0;

	for (; node; node = node->next) {
		sum += node->value;
		node->value = sum;
	}
}

/* Keeps its processor busy for so many cycles, and says what the program wrote, and that it is done. */
extern "C" __global__ void answers(volatile int *words, long long cycles)
{
	long long from = clock64();

	while (clock64() - from < cycles)
		;
	words[1] = words[0] + 1;
	words[2] = 1;
}

extern "C" __global__ void says(int times)
{
	for (int n = 0; n < times; n++)
		printf("kernel: line %d, %.2f, %s\n", n, n / 4.0, "text");
}
