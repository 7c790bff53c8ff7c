/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tensor maps, as the driver encodes them, and green contexts: parts of a device, with kernels that fill what
 * they have. For the guest and for this machine. Usage:
 *
 *     parts MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. The times are the medians of some turns. */
#include "common.h"

typedef struct {
	_Alignas(128) unsigned long long words[16];
} map;
typedef struct {
	int kind;
	unsigned char own[92];
	unsigned int count, rest[11];
} resource;
typedef struct opaque *handle;

result cuTensorMapEncodeTiled(map *to, int type, unsigned rank, void *address, const unsigned long long *dims,
			      const unsigned long long *strides, const unsigned *boxes, const unsigned *elements,
			      int interleave, int swizzle, int promotion, int fill);
result cuTensorMapEncodeIm2col(map *to, int type, unsigned rank, void *address, const unsigned long long *dims,
			       const unsigned long long *strides, const int *lower, const int *upper,
			       unsigned channels, unsigned pixels, const unsigned *elements, int interleave,
			       int swizzle, int promotion, int fill);
result cuTensorMapReplaceAddress(map *of, void *address);
result cuDeviceGetDevResource(int device, resource *to, int kind);
result cuDevSmResourceSplitByCount(resource *groups, unsigned *count, const resource *input, resource *rest,
				   unsigned flags, unsigned least);
result cuDevResourceGenerateDesc(handle *description, resource *resources, unsigned count);
result cuGreenCtxCreate(handle *context, handle description, int device, unsigned flags);
result cuGreenCtxStreamCreate(void **stream, handle context, unsigned flags, int priority);

#define HALVES 2
#define TURNS 9
#define ELEMENTS (1 << 22)
#define STEPS 2000

static void *streams[HALVES], *work;
static pointer memory[HALVES];
static float *values;

static void say(const char *name, result error, const map *it)
{
	printf("%s: %s", name, error ? name_of(error) : "");
	for (int n = 0; !error && n < 16; n++)
		printf(" %llx", it->words[n]);
	printf("\n");
}

static void maps(void)
{
	char *address = (char *)0x7f0000000000;
	unsigned long long dims[] = { 256, 64, 32, 8, 4 }, strides[] = { 1024, 65536, 2097152, 16777216 };
	unsigned boxes[] = { 32, 16, 8, 4, 2 }, ones[] = { 1, 1, 1, 1, 1 }, twos[] = { 1, 2, 2, 1, 1 };
	int lower[] = { -1, -1, 0 }, upper[] = { 1, 1, 0 };
	char name[32];
	map it;

	for (unsigned rank = 1; rank <= 5; rank++) {
		snprintf(name, sizeof(name), "tiled, %u dimensions", rank);
		say(name, cuTensorMapEncodeTiled(&it, 7, rank, address, dims, strides, boxes, ones, 0, 3, 2, 0), &it);
	}
	say("tiled, steps of 2", cuTensorMapEncodeTiled(&it, 6, 3, address, dims, strides, boxes, twos, 0, 2, 1, 1), &it);
	say("another address", cuTensorMapReplaceAddress(&it, address + 4096), &it);
	say("columns", cuTensorMapEncodeIm2col(&it, 7, 4, address, dims, strides, lower, upper, 32, 64, ones, 0, 3, 2, 0),
	    &it);
	say("an odd address", cuTensorMapEncodeTiled(&it, 7, 2, address + 1, dims, strides, boxes, ones, 0, 0, 0, 0), &it);
	boxes[0] = 512;
	say("a large box", cuTensorMapEncodeTiled(&it, 7, 2, address, dims, strides, boxes, ones, 0, 0, 0, 0), &it);
}

/* The device in halves, each with a stream. */
static void halve(void)
{
	resource all, half[HALVES], rest;
	unsigned count = HALVES;
	int device;

	NEED(cuDeviceGet(&device, 0));
	NEED(cuDeviceGetDevResource(device, &all, 1));
	NEED(cuDevSmResourceSplitByCount(half, &count, &all, &rest, 0, all.count / HALVES / 8 * 8));
	printf("%u multiprocessors: %u groups of %u and %u, and %u\n", all.count, count, half[0].count, half[1].count,
	       rest.count);
	for (int n = 0; n < HALVES; n++) {
		handle description, context;

		NEED(cuDevResourceGenerateDesc(&description, &half[n], 1));
		NEED(cuGreenCtxCreate(&context, description, device, 1));
		NEED(cuGreenCtxStreamCreate(&streams[n], context, STREAM_NON_BLOCKING, 0));
	}
}

/* A kernel that fills what its stream has. */
static void fill(int n, void *stream)
{
	int elements = ELEMENTS, steps = STEPS;
	void *parameters[] = { &memory[n], &elements, &steps };

	NEED(cuLaunchKernel(work, ELEMENTS / 256, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static int by_size(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;

	return (difference > 0) - (difference < 0);
}

static void measure(const char *name, void *first, void *second)
{
	double took[TURNS];

	for (int turn = -1; turn < TURNS; turn++) {
		double began = now();

		fill(0, first);
		if (second)
			fill(1, second);
		NEED(cuCtxSynchronize());
		if (turn >= 0)
			took[turn] = now() - began;
	}
	qsort(took, TURNS, sizeof(*took), by_size);
	printf("time: %s: %.3f ms\n", name, took[TURNS / 2] * 1e3);
}

int main(int argc, char **argv)
{
	void *plain;

	if (!begin(argv[1]) || argc > 2) {
		fprintf(stderr, "usage: parts MODULE\n");
		return 2;
	}
	maps();
	halve();
	work = function("work");
	NEED(cuStreamCreate(&plain, STREAM_NON_BLOCKING));
	values = malloc(ELEMENTS * sizeof(*values));
	for (int n = 0; n < HALVES; n++) {
		double sum = 0;

		memory[n] = on_device(ELEMENTS * sizeof(*values));
		for (int at = 0; at < ELEMENTS; at++)
			values[at] = at % 1000 + n;
		NEED(cuMemcpyHtoD_v2(memory[n], values, ELEMENTS * sizeof(*values)));
		fill(n, streams[n]);
		NEED(cuStreamSynchronize(streams[n]));
		NEED(cuMemcpyDtoH_v2(values, memory[n], ELEMENTS * sizeof(*values)));
		for (int at = 0; at < ELEMENTS; at++)
			sum += values[at];
		printf("half %d computes %.6g\n", n, sum);
	}
	measure("a kernel with the whole device", plain, NULL);
	measure("a kernel with a half", streams[0], NULL);
	measure("one with each half", streams[0], streams[1]);
	measure("two with one half", streams[0], streams[0]);
	return 0;
}
