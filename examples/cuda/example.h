/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the CUDA examples share: inputs made from integers, checksums, times, and errors in
 * a sentence. C++ as CUDA has it, the runtime API, and POSIX.
 *
 * Each example understands
 *
 *     --time       do it once more, and say on standard error that this begins, and how long
 *                  it took by the program's clock, from the first call of CUDA to the last
 *     --times N    N times more; the time is that of one
 *     --pinned     have the inputs and outputs of copies in pinned memory
 *     --managed    have the device's memory as managed memory, and its results read there
 *
 * before its own arguments, which are numbers. Standard output is the same on every machine
 * on which the kernels run. Exit code: 0, 1 if the result is wrong, 2 if CUDA or the system
 * fails. Products and sums are rounded apart, on the device and here.
 */
/* It takes the place of ../common/example.h in what the OpenCL examples have, too. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#ifdef __clang__
#pragma clang fp contract(off)
#endif

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *example_name;
/* How often the work is done for the clock. */
static int repeats;
static int is_pinned, is_managed;

/* For calls of CUDA; exits with their name. */
#define CHECK(call) check(call, #call)

static inline void check(cudaError_t error, const char *call)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %.*s failed: %s, %s.\n", example_name, (int)strcspn(call, "("), call,
		cudaGetErrorName(error), cudaGetErrorString(error));
	exit(2);
}

/* Takes the options out of the arguments. */
static inline void example_begin(const char *name, int *argc, char **argv)
{
	int kept = 1;

	example_name = name;
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--time") == 0)
			repeats = 1;
		else if (strcmp(argv[i], "--times") == 0 && i + 1 < *argc)
			repeats = atoi(argv[++i]);
		else if (strcmp(argv[i], "--pinned") == 0)
			is_pinned = 1;
		else if (strcmp(argv[i], "--managed") == 0)
			is_managed = 1;
		else
			argv[kept++] = argv[i];
	}
	*argc = kept;
}

/* A whole number from `least` to `most`; `otherwise` where there is none. */
static inline int number(int argc, char **argv, int index, int least, int most, int otherwise)
{
	char *end;
	long value;

	if (index >= argc)
		return otherwise;
	value = strtol(argv[index], &end, 10);
	if (*end || end == argv[index] || value < least || value > most) {
		fprintf(stderr, "%s: argument %d is %s and must be from %d to %d.\n", example_name,
			index, argv[index], least, most);
		exit(2);
	}
	return (int)value;
}

/* An address that becomes any pointer, as C's do. */
struct anything {
	void *at;

	template <class T> operator T *() const
	{
		return (T *)at;
	}
};

/* Memory of the host, all zero. */
static inline anything allocate(size_t bytes)
{
	anything memory = {calloc(1, bytes)};

	if (!memory.at) {
		fprintf(stderr, "%s: there is no memory for %zu bytes.\n", example_name, bytes);
		exit(2);
	}
	return memory;
}

/* The same, for copies. */
template <class T> static T *host_memory(size_t count)
{
	T *memory = NULL;

	if (!is_pinned)
		return allocate(count * sizeof(T));
	CHECK(cudaMallocHost(&memory, count * sizeof(T)));
	memset(memory, 0, count * sizeof(T));
	return memory;
}

template <class T> static void host_free(T *memory)
{
	if (is_pinned)
		CHECK(cudaFreeHost(memory));
	else
		free(memory);
}

template <class T> static T *device_memory(size_t count)
{
	T *memory = NULL;

	if (is_managed)
		CHECK(cudaMallocManaged(&memory, count * sizeof(T)));
	else
		CHECK(cudaMalloc(&memory, count * sizeof(T)));
	return memory;
}

template <class T> static void to_device(T *to, const T *from, size_t count)
{
	CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
}

/* Waits for everything before. */
template <class T> static void from_device(T *to, const T *from, size_t count)
{
	CHECK(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyDeviceToHost));
}

/* Behind `<<<…>>>`. */
static inline void launched(const char *kernel)
{
	check(cudaGetLastError(), kernel);
}

/* Blocks of `each` for `count`. */
static inline unsigned blocks(size_t count, size_t each)
{
	return (unsigned)((count + each - 1) / each);
}

/* A linear congruential generator (Numerical Recipes' constants): the same numbers on every
 * machine. The low bits are poor: only the high ones are given out. */
static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* FNV-1a, 64 bits. */
static inline uint64_t checksum(const void *bytes, size_t count)
{
	const unsigned char *byte = (const unsigned char *)bytes;
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ byte[i]) * 0x100000001b3u;
	return sum;
}

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Does the work as often as the options say, between two lines for the clock. */
template <class Work> static void for_the_clock(Work work)
{
	int64_t start;

	if (repeats <= 0)
		return;
	fprintf(stderr, "time begins\n");
	start = now_ns();
	for (int i = 0; i < repeats; i++)
		work();
	start = now_ns() - start;
	fprintf(stderr, "time of %d: %.3f ms each\n", repeats, (double)start / 1e6 / repeats);
}

/* Does the work once, which is the warm-up of what is for the clock. */
template <class Work> static void timed(Work work)
{
	work();
	for_the_clock(work);
}

/* The last lines, and the exit code. */
static inline int verdict(int is_right, const void *bytes, size_t count)
{
	printf("%s: %zu bytes, checksum %016llx\n", example_name, count,
	       (unsigned long long)checksum(bytes, count));
	puts(is_right ? "The result is right." : "The result is wrong.");
	return is_right ? 0 : 1;
}

#endif
