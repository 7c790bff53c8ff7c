/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Prefix sums: each block scans its part, the blocks' sums are scanned alike, and each
 * block adds what is before it.
 *
 *     scan [--time] [--pinned] [COUNT]      (default: 100000 numbers)
 */
#include "example.h"

enum { BLOCK = 512 };

/* `sums` gets each block's sum. */
__global__ void scan_blocks(const uint32_t *in, uint32_t *out, uint32_t *sums, int count)
{
	__shared__ uint32_t part[BLOCK];
	int own = (int)threadIdx.x, i = (int)(blockIdx.x * BLOCK) + own;

	part[own] = i < count ? in[i] : 0;
	__syncthreads();
	for (int by = 1; by < BLOCK; by *= 2) {
		uint32_t before = own >= by ? part[own - by] : 0;

		__syncthreads();
		part[own] += before;
		__syncthreads();
	}
	if (i < count)
		out[i] = part[own];
	if (own == BLOCK - 1)
		sums[blockIdx.x] = part[own];
}

__global__ void add_before(uint32_t *out, const uint32_t *sums, int count)
{
	int i = (int)(blockIdx.x * BLOCK + threadIdx.x);

	if (blockIdx.x > 0 && i < count)
		out[i] += sums[blockIdx.x - 1];
}

/* Of numbers on the device, in place. */
static void scan_there(uint32_t *numbers, int count)
{
	unsigned grid = blocks(count, BLOCK);
	uint32_t *sums = device_memory<uint32_t>(grid);

	scan_blocks<<<grid, BLOCK>>>(numbers, numbers, sums, count);
	launched("scan_blocks");
	if (grid > 1) {
		scan_there(sums, (int)grid);
		add_before<<<grid, BLOCK>>>(numbers, sums, count);
		launched("add_before");
	}
	CHECK(cudaFree(sums));
}

static void scan_on_device(const uint32_t *in, uint32_t *out, int count)
{
	uint32_t *numbers = device_memory<uint32_t>(count);

	to_device(numbers, in, count);
	scan_there(numbers, count);
	from_device(out, numbers, count);
	CHECK(cudaFree(numbers));
}

int main(int argc, char **argv)
{
	example_begin("scan", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 27, 100000), is_right = 1, code;
	uint32_t *in = host_memory<uint32_t>(count), *out = host_memory<uint32_t>(count);
	uint32_t state = 1, sum = 0;

	for (int i = 0; i < count; i++)
		in[i] = next_random(&state);
	timed([&] { scan_on_device(in, out, count); });
	for (int i = 0; i < count; i++) {
		sum += in[i];
		is_right &= out[i] == sum;
	}
	printf("scan: %d numbers, the first sum %u, the last %u\n", count, out[0], out[count - 1]);
	code = verdict(is_right, out, count * sizeof(*out));
	host_free(in);
	host_free(out);
	return code;
}
