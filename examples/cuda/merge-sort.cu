/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sorts numbers: each block sorts its part in shared memory, then pairs of sorted parts are
 * merged, where each number finds its place by a binary search in the other part.
 *
 *     merge-sort [--time] [--pinned] [COUNT]      (default: 50000 numbers)
 */
#include "example.h"

/* Numbers that a block sorts, two a thread. */
enum { PART = 1024, THREADS = PART / 2 };

/* Bitonic: pairs that are ever farther apart. Behind the end are the greatest numbers. */
__global__ void sort_parts(uint32_t *numbers, int count)
{
	__shared__ uint32_t part[PART];
	int own = (int)threadIdx.x, first = (int)(blockIdx.x * PART);

	for (int i = own; i < PART; i += THREADS)
		part[i] = first + i < count ? numbers[first + i] : UINT32_MAX;
	for (int size = 2; size <= PART; size *= 2)
		for (int by = size / 2; by > 0; by /= 2) {
			int left = own / by * by * 2 + own % by, right = left + by;
			int is_up = (left & size) == 0;
			uint32_t a, b;

			__syncthreads();
			a = part[left];
			b = part[right];
			if ((a > b) == is_up) {
				part[left] = b;
				part[right] = a;
			}
		}
	__syncthreads();
	for (int i = own; i < PART; i += THREADS)
		if (first + i < count)
			numbers[first + i] = part[i];
}

/* How many of a sorted part come before this number: less, or also equal. */
static __device__ int before(const uint32_t *part, int count, uint32_t number, int or_equal)
{
	int low = 0;

	while (low < count) {
		int middle = low + (count - low) / 2;

		if (part[middle] < number || (or_equal && part[middle] == number))
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

__global__ void merge(const uint32_t *from, uint32_t *to, int count, int size)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	int first = i / (2 * size) * 2 * size, middle = min(first + size, count);
	int end = min(middle + size, count);

	if (i >= count)
		return;
	if (i < middle)
		to[i + before(from + middle, end - middle, from[i], 0)] = from[i];
	else
		to[i - middle + first + before(from + first, middle - first, from[i], 1)] = from[i];
}

static void sort_on_device(const uint32_t *in, uint32_t *out, int count)
{
	uint32_t *from = device_memory<uint32_t>(count), *to = device_memory<uint32_t>(count), *other;

	to_device(from, in, count);
	sort_parts<<<blocks(count, PART), THREADS>>>(from, count);
	launched("sort_parts");
	for (int size = PART; size < count; size *= 2) {
		merge<<<blocks(count, THREADS), THREADS>>>(from, to, count, size);
		launched("merge");
		other = from;
		from = to;
		to = other;
	}
	from_device(out, from, count);
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
}

static int compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	example_begin("merge-sort", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 25, 50000), code;
	uint32_t *in = host_memory<uint32_t>(count), *out = host_memory<uint32_t>(count), state = 1;

	/* Some are equal. */
	for (int i = 0; i < count; i++)
		in[i] = next_random(&state) >> (i % 8);
	timed([&] { sort_on_device(in, out, count); });
	qsort(in, (size_t)count, sizeof(*in), compare);
	printf("merge-sort: %d numbers, least %u, greatest %u\n", count, out[0], out[count - 1]);
	code = verdict(memcmp(in, out, count * sizeof(*in)) == 0, out, count * sizeof(*out));
	host_free(in);
	host_free(out);
	return code;
}
