/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Edges of a grey image by Sobel's operator: how much the levels change across and down.
 *
 *     sobel [--time] [--pinned] [WIDTH [HEIGHT]]      (default: 640 480)
 */
#include "example.h"

enum { BLOCK = 16 };

static __host__ __device__ int size_of(int value)
{
	return value < 0 ? -value : value;
}

/* The border has no edges. */
static __host__ __device__ unsigned char edge(const unsigned char *in, int width, int height, int x,
					      int y)
{
	const unsigned char *p = in + y * width + x;
	int across, down, sum;

	if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
		return 0;
	across = p[1 - width] + 2 * p[1] + p[1 + width] - p[-1 - width] - 2 * p[-1] - p[-1 + width];
	down = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] -
	       p[-width + 1];
	sum = size_of(across) + size_of(down);
	return (unsigned char)(sum > 255 ? 255 : sum);
}

__global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height)
{
	int x = (int)(blockIdx.x * BLOCK + threadIdx.x), y = (int)(blockIdx.y * BLOCK + threadIdx.y);

	if (x < width && y < height)
		out[y * width + x] = edge(in, width, height, x, y);
}

static void sobel_on_device(const unsigned char *in, unsigned char *out, int width, int height)
{
	size_t count = (size_t)width * height;
	unsigned char *from = device_memory<unsigned char>(count);
	unsigned char *to = device_memory<unsigned char>(count);
	dim3 grid(blocks(width, BLOCK), blocks(height, BLOCK));

	to_device(from, in, count);
	sobel<<<grid, dim3(BLOCK, BLOCK)>>>(from, to, width, height);
	launched("sobel");
	from_device(out, to, count);
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
}

int main(int argc, char **argv)
{
	example_begin("sobel", &argc, argv);

	int width = number(argc, argv, 1, 1, 16384, 640), height = number(argc, argv, 2, 1, 16384, 480);
	size_t count = (size_t)width * height;
	unsigned char *in = host_memory<unsigned char>(count), *out = host_memory<unsigned char>(count);
	uint32_t state = 1;
	int is_right = 1, code;

	/* Rings, with noise. */
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			in[y * width + x] = (unsigned char)(((x - width / 2) * (x - width / 2) +
							     (y - height / 2) * (y - height / 2)) / 64 +
							    (next_random(&state) >> 12 & 7));
	timed([&] { sobel_on_device(in, out, width, height); });
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++)
			is_right &= out[y * width + x] == edge(in, width, height, x, y);
	printf("sobel: %dx%d, %d in the middle\n", width, height,
	       out[height / 2 * width + width / 2]);
	code = verdict(is_right, out, count);
	host_free(in);
	host_free(out);
	return code;
}
