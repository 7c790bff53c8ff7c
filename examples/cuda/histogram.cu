/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counts how often each byte occurs: atomic operations in shared memory, then in the
 * device's.
 *
 *     histogram [--time] [--pinned] [BYTES]      (default: 300000)
 */
#include "example.h"

enum { BINS = 256, BLOCK = 256, MOST_BLOCKS = 512 };

__global__ void count_bytes(const unsigned char *bytes, int count, unsigned int *bins)
{
	__shared__ unsigned int own[BINS];

	own[threadIdx.x] = 0;
	__syncthreads();
	for (int i = (int)(blockIdx.x * BLOCK + threadIdx.x); i < count; i += (int)(gridDim.x * BLOCK))
		atomicAdd(&own[bytes[i]], 1u);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

static void count_on_device(const unsigned char *bytes, int count, unsigned int *bins)
{
	unsigned char *in = device_memory<unsigned char>(count);
	unsigned int *out = device_memory<unsigned int>(BINS), grid = blocks(count, BLOCK);

	to_device(in, bytes, count);
	CHECK(cudaMemset(out, 0, BINS * sizeof(*out)));
	count_bytes<<<grid < MOST_BLOCKS ? grid : MOST_BLOCKS, BLOCK>>>(in, count, out);
	launched("count_bytes");
	from_device(bins, out, BINS);
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

int main(int argc, char **argv)
{
	example_begin("histogram", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 28, 300000);
	unsigned char *bytes = host_memory<unsigned char>(count);
	unsigned int *bins = host_memory<unsigned int>(BINS), here[BINS] = {0};
	uint32_t state = 1;
	int code;

	/* Small bytes are more frequent. */
	for (int i = 0; i < count; i++) {
		uint32_t random = next_random(&state);

		bytes[i] = (unsigned char)((random >> 16 & 255) * (random >> 8 & 255) >> 8);
		here[bytes[i]]++;
	}
	timed([&] { count_on_device(bytes, count, bins); });
	printf("histogram: %d bytes, %u are 0, %u are 100\n", count, bins[0], bins[100]);
	code = verdict(memcmp(bins, here, sizeof(here)) == 0, bins, sizeof(here));
	host_free(bytes);
	host_free(bins);
	return code;
}
