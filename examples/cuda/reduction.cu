/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sum, least and greatest of numbers: within warps by shuffles, within blocks by shared
 * memory, among blocks by atomic operations.
 *
 *     reduction [--time] [--pinned] [COUNT]      (default: 200000 numbers)
 */
#include "example.h"

enum { BLOCK = 256, WARP = 32, MOST_BLOCKS = 1024 };

struct totals {
	unsigned long long sum;
	unsigned int least, greatest;
};

__global__ void reduce(const uint32_t *numbers, int count, totals *out)
{
	__shared__ unsigned long long sums[BLOCK / WARP];
	__shared__ unsigned int leasts[BLOCK / WARP], greatests[BLOCK / WARP];
	unsigned long long sum = 0;
	unsigned int least = UINT32_MAX, greatest = 0, warp = threadIdx.x / WARP;

	for (int i = (int)(blockIdx.x * BLOCK + threadIdx.x); i < count; i += (int)(gridDim.x * BLOCK)) {
		sum += numbers[i];
		least = min(least, numbers[i]);
		greatest = max(greatest, numbers[i]);
	}
	for (int by = WARP / 2; by > 0; by /= 2) {
		unsigned int low = __shfl_down_sync(UINT32_MAX, (unsigned int)sum, by);
		unsigned int high = __shfl_down_sync(UINT32_MAX, (unsigned int)(sum >> 32), by);

		sum += (unsigned long long)high << 32 | low;
		least = min(least, __shfl_down_sync(UINT32_MAX, least, by));
		greatest = max(greatest, __shfl_down_sync(UINT32_MAX, greatest, by));
	}
	if (threadIdx.x % WARP == 0) {
		sums[warp] = sum;
		leasts[warp] = least;
		greatests[warp] = greatest;
	}
	__syncthreads();
	if (threadIdx.x != 0)
		return;
	for (int i = 1; i < BLOCK / WARP; i++) {
		sum += sums[i];
		least = min(least, leasts[i]);
		greatest = max(greatest, greatests[i]);
	}
	atomicAdd(&out->sum, sum);
	atomicMin(&out->least, least);
	atomicMax(&out->greatest, greatest);
}

static totals reduce_on_device(const uint32_t *numbers, int count)
{
	totals of = {0, UINT32_MAX, 0}, *out = device_memory<totals>(1);
	uint32_t *in = device_memory<uint32_t>(count);
	unsigned grid = blocks(count, BLOCK);

	to_device(in, numbers, count);
	to_device(out, &of, 1);
	reduce<<<grid < MOST_BLOCKS ? grid : MOST_BLOCKS, BLOCK>>>(in, count, out);
	launched("reduce");
	from_device(&of, out, 1);
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
	return of;
}

int main(int argc, char **argv)
{
	example_begin("reduction", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 27, 200000);
	uint32_t *numbers = host_memory<uint32_t>(count), state = 1;
	totals here = {0, UINT32_MAX, 0}, there;

	for (int i = 0; i < count; i++) {
		numbers[i] = next_random(&state) << 7;
		here.sum += numbers[i];
		here.least = numbers[i] < here.least ? numbers[i] : here.least;
		here.greatest = numbers[i] > here.greatest ? numbers[i] : here.greatest;
	}
	timed([&] { there = reduce_on_device(numbers, count); });
	host_free(numbers);
	printf("reduction: %d numbers, sum %llu, least %u, greatest %u\n", count, there.sum,
	       there.least, there.greatest);
	return verdict(memcmp(&here, &there, sizeof(here)) == 0, &there, sizeof(there));
}
