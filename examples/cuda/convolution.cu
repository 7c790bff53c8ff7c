/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Convolves an image with a mask of 7x7, which is in constant memory; blocks share the pixels
 * that they read. Pixels and weights are whole numbers: every sum is exact.
 *
 *     convolution [--time] [--pinned] [WIDTH [HEIGHT]]      (default: 320 240)
 */
#include "example.h"

enum { RADIUS = 3, MASK = 2 * RADIUS + 1, TILE = 16, SHARED = TILE + 2 * RADIUS };

__constant__ float mask[MASK * MASK];

/* Outside the image there is its border. */
static __host__ __device__ int within(int value, int count)
{
	return value < 0 ? 0 : value < count ? value : count - 1;
}

__global__ void convolve(const float *in, float *out, int width, int height)
{
	__shared__ float pixels[SHARED][SHARED];
	int left = (int)blockIdx.x * TILE - RADIUS, top = (int)blockIdx.y * TILE - RADIUS;
	int x = (int)(blockIdx.x * TILE + threadIdx.x), y = (int)(blockIdx.y * TILE + threadIdx.y);
	float sum = 0;

	for (int j = threadIdx.y; j < SHARED; j += TILE)
		for (int i = threadIdx.x; i < SHARED; i += TILE)
			pixels[j][i] = in[within(top + j, height) * width + within(left + i, width)];
	__syncthreads();
	if (x >= width || y >= height)
		return;
	for (int j = 0; j < MASK; j++)
		for (int i = 0; i < MASK; i++)
			sum += mask[j * MASK + i] * pixels[threadIdx.y + j][threadIdx.x + i];
	out[y * width + x] = sum;
}

static void convolve_on_device(const float *weights, const float *in, float *out, int width,
			       int height)
{
	size_t count = (size_t)width * height;
	float *from = device_memory<float>(count), *to = device_memory<float>(count);
	dim3 grid(blocks(width, TILE), blocks(height, TILE));

	CHECK(cudaMemcpyToSymbol(mask, weights, sizeof(mask)));
	to_device(from, in, count);
	convolve<<<grid, dim3(TILE, TILE)>>>(from, to, width, height);
	launched("convolve");
	from_device(out, to, count);
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
}

static float pixel_here(const float *weights, const float *in, int width, int height, int x, int y)
{
	float sum = 0;

	for (int j = 0; j < MASK; j++)
		for (int i = 0; i < MASK; i++)
			sum += weights[j * MASK + i] *
			       in[within(y + j - RADIUS, height) * width +
				  within(x + i - RADIUS, width)];
	return sum;
}

int main(int argc, char **argv)
{
	example_begin("convolution", &argc, argv);

	int width = number(argc, argv, 1, 1, 8192, 320), height = number(argc, argv, 2, 1, 8192, 240);
	size_t count = (size_t)width * height;
	float *in = host_memory<float>(count), *out = host_memory<float>(count);
	float weights[MASK * MASK];
	uint32_t state = 1;
	int is_right = 1, code;

	for (float &weight : weights)
		weight = (float)((int)(next_random(&state) >> 12 & 31) - 8);
	for (size_t i = 0; i < count; i++)
		in[i] = (float)(next_random(&state) >> 12 & 255);
	timed([&] { convolve_on_device(weights, in, out, width, height); });
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			is_right &= out[y * width + x] ==
				    pixel_here(weights, in, width, height, x, y);
	printf("convolution: %dx%d, the first pixel %g, the last %g\n", width, height, out[0],
	       out[count - 1]);
	code = verdict(is_right, out, count * sizeof(*out));
	host_free(in);
	host_free(out);
	return code;
}
