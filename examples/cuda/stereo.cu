/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * How far things are, from a left and a right image: for each pixel the disparity whose
 * surroundings differ least.
 *
 *     stereo [--time] [--pinned] [WIDTH [HEIGHT [DISPARITIES]]]      (default: 160 120 16)
 */
#include "example.h"

/* Surroundings: so many pixels to each side. */
enum { RADIUS = 3, BLOCK = 16 };

static __host__ __device__ int within(int value, int count)
{
	return value < 0 ? 0 : value < count ? value : count - 1;
}

/* The sum of the differences of two surroundings. */
static __host__ __device__ int difference(const unsigned char *left, const unsigned char *right,
					  int width, int height, int x, int y, int disparity)
{
	int sum = 0;

	for (int j = -RADIUS; j <= RADIUS; j++)
		for (int i = -RADIUS; i <= RADIUS; i++) {
			int row = within(y + j, height) * width;
			int by = left[row + within(x + i, width)] -
				 right[row + within(x + i - disparity, width)];

			sum += by < 0 ? -by : by;
		}
	return sum;
}

static __host__ __device__ unsigned char best(const unsigned char *left, const unsigned char *right,
					      int width, int height, int x, int y, int disparities)
{
	int least = difference(left, right, width, height, x, y, 0), found = 0;

	for (int d = 1; d < disparities && least > 0; d++) {
		int sum = difference(left, right, width, height, x, y, d);

		if (sum < least) {
			least = sum;
			found = d;
		}
	}
	return (unsigned char)found;
}

__global__ void match(const unsigned char *left, const unsigned char *right, unsigned char *out,
		      int width, int height, int disparities)
{
	int x = (int)(blockIdx.x * BLOCK + threadIdx.x), y = (int)(blockIdx.y * BLOCK + threadIdx.y);

	if (x < width && y < height)
		out[y * width + x] = best(left, right, width, height, x, y, disparities);
}

static void match_on_device(const unsigned char *left, const unsigned char *right,
			    unsigned char *out, int width, int height, int disparities)
{
	size_t count = (size_t)width * height;
	unsigned char *in_left = device_memory<unsigned char>(count);
	unsigned char *in_right = device_memory<unsigned char>(count);
	unsigned char *to = device_memory<unsigned char>(count);
	dim3 grid(blocks(width, BLOCK), blocks(height, BLOCK));

	to_device(in_left, left, count);
	to_device(in_right, right, count);
	match<<<grid, dim3(BLOCK, BLOCK)>>>(in_left, in_right, to, width, height, disparities);
	launched("match");
	from_device(out, to, count);
	CHECK(cudaFree(in_left));
	CHECK(cudaFree(in_right));
	CHECK(cudaFree(to));
}

int main(int argc, char **argv)
{
	example_begin("stereo", &argc, argv);

	int width = number(argc, argv, 1, 1, 8192, 160), height = number(argc, argv, 2, 1, 8192, 120);
	int disparities = number(argc, argv, 3, 1, 255, 16), is_right = 1, true_ones = 0, code;
	size_t count = (size_t)width * height;
	unsigned char *left = host_memory<unsigned char>(count);
	unsigned char *right = host_memory<unsigned char>(count);
	unsigned char *out = host_memory<unsigned char>(count);
	uint32_t state = 1;

	/* Strips of the scene, each nearer than the one to its left. */
	for (size_t i = 0; i < count; i++)
		right[i] = (unsigned char)(next_random(&state) >> 12);
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			left[y * width + x] =
				right[y * width + within(x - x * disparities / width, width)];
	timed([&] { match_on_device(left, right, out, width, height, disparities); });
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			is_right &= out[y * width + x] ==
				    best(left, right, width, height, x, y, disparities);
			true_ones += out[y * width + x] == x * disparities / width;
		}
	printf("stereo: %dx%d, %d disparities, %d of 100 pixels are as far as they were drawn\n",
	       width, height, disparities, (int)((int64_t)true_ones * 100 / (int64_t)count));
	code = verdict(is_right, out, count);
	host_free(left);
	host_free(right);
	host_free(out);
	return code;
}
