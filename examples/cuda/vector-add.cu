/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Adds two vectors of 32-bit integers.
 *
 *     vector-add [--time] [--pinned] [COUNT]      (default: 65537 numbers)
 */
#include "example.h"

enum { BLOCK = 256 };

__global__ void add(const uint32_t *a, const uint32_t *b, uint32_t *c, int count)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < count)
		c[i] = a[i] + b[i];
}

static void add_on_device(const uint32_t *a, const uint32_t *b, uint32_t *c, int count)
{
	uint32_t *in_a = device_memory<uint32_t>(count), *in_b = device_memory<uint32_t>(count),
		 *out = device_memory<uint32_t>(count);

	to_device(in_a, a, count);
	to_device(in_b, b, count);
	add<<<blocks(count, BLOCK), BLOCK>>>(in_a, in_b, out, count);
	launched("add");
	from_device(c, out, count);
	CHECK(cudaFree(in_a));
	CHECK(cudaFree(in_b));
	CHECK(cudaFree(out));
}

int main(int argc, char **argv)
{
	example_begin("vector-add", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 26, 65537), is_right = 1, code;
	uint32_t *a = host_memory<uint32_t>(count), *b = host_memory<uint32_t>(count),
		 *c = host_memory<uint32_t>(count), state = 1;

	for (int i = 0; i < count; i++) {
		a[i] = next_random(&state) << 8;
		b[i] = next_random(&state) << 8 ^ (uint32_t)i;
	}
	timed([&] { add_on_device(a, b, c, count); });
	for (int i = 0; i < count; i++)
		is_right &= c[i] == a[i] + b[i];
	printf("vector-add: %d numbers, the first %u, the last %u\n", count, c[0], c[count - 1]);
	code = verdict(is_right, c, count * sizeof(*c));
	host_free(a);
	host_free(b);
	host_free(c);
	return code;
}
