/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Three programs whose work is on one stream or on two, for the guest and for this machine: how long
 * it takes by the clock of the machine that it runs on. Usage:
 *
 *     streams MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. The times are the medians of some turns. */
#include "common.h"

#define STREAMS 2
#define TURNS 9
/* Kernels of a stream that leave most of the device free, and their cycles. */
#define KERNELS 10
#define CYCLES 2000000LL
/* Copies of pinned memory, and their bytes. */
#define COPIES 32
#define BYTES (16 << 20)
/* Steps of arithmetic for each element of a copy. */
#define STEPS 4000

static void *streams[STREAMS], *spin, *work;
static pointer small, large[STREAMS];
static float *pinned[2 * STREAMS];

static void spin_on(void *stream, long long cycles)
{
	void *parameters[] = { &small, &cycles };

	NEED(cuLaunchKernel(spin, 8, 1, 1, 128, 1, 1, 0, stream, parameters, NULL));
}

/* Small kernels on every stream. */
static void kernels(int number)
{
	for (int n = 0; n < STREAMS * KERNELS; n++)
		spin_on(streams[n % number], CYCLES);
}

/* A small kernel, and copies to the device. */
static void copies(int number)
{
	spin_on(streams[0], KERNELS * CYCLES);
	for (int n = 0; n < COPIES; n++)
		NEED(cuMemcpyHtoDAsync_v2(large[0], pinned[0], BYTES, streams[1 % number]));
}

/* Pieces that are copied to the device, computed with, and copied back. */
static void pieces(int number)
{
	int elements = BYTES / sizeof(float), steps = STEPS;

	for (int n = 0; n < COPIES; n++) {
		int at = n % number;
		void *parameters[] = { &large[at], &elements, &steps };

		NEED(cuMemcpyHtoDAsync_v2(large[at], pinned[at], BYTES, streams[at]));
		NEED(cuLaunchKernel(work, elements / 256, 1, 1, 256, 1, 1, 0, streams[at], parameters, NULL));
		NEED(cuMemcpyDtoHAsync_v2(pinned[STREAMS + at], large[at], BYTES, streams[at]));
	}
}

static int by_size(const void *one, const void *other)
{
	double difference = *(const double *)one - *(const double *)other;

	return (difference > 0) - (difference < 0);
}

static void measure(const char *name, void (*program)(int number))
{
	for (int number = 1; number <= STREAMS; number++) {
		double took[TURNS];

		for (int turn = -1; turn < TURNS; turn++) {
			double began = now();

			program(number);
			NEED(cuCtxSynchronize());
			if (turn >= 0)
				took[turn] = now() - began;
		}
		qsort(took, TURNS, sizeof(*took), by_size);
		printf("time: %s, streams %d: %.3f ms\n", name, number, took[TURNS / 2] * 1e3);
	}
}

int main(int argc, char **argv)
{
	if (!begin(argv[1]) || argc > 2) {
		fprintf(stderr, "usage: streams MODULE\n");
		return 2;
	}
	spin = function("spin");
	work = function("work");
	small = on_device(64);
	for (int n = 0; n < STREAMS; n++) {
		NEED(cuStreamCreate(&streams[n], 1));
		large[n] = on_device(BYTES);
	}
	for (int n = 0; n < 2 * STREAMS; n++)
		NEED(cuMemAllocHost_v2((void **)&pinned[n], BYTES));
	for (int n = 0; n < BYTES / (int)sizeof(float); n++)
		pinned[0][n] = pinned[1][n] = n;
	measure("kernels", kernels);
	measure("a kernel and copies", copies);
	measure("pieces", pieces);
	for (int n = 1; n < STREAMS; n++)
		if (memcmp(pinned[STREAMS], pinned[STREAMS + n], BYTES))
			printf("the pieces of streams differ\n");
	printf("the last element is %.9g\n", pinned[STREAMS][BYTES / sizeof(float) - 1]);
	return 0;
}
