/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the examples share: one device, one queue, inputs made from integers,
 * checksums, and output bytes in a file. Plain OpenCL 1.2 and C99 with POSIX.
 *
 * Each example understands
 *
 *     --out FILE    write the output's bytes to FILE; with -, print them on
 *                   standard output as hexadecimal text
 *
 * before its own arguments. Exit code: 0, 1 if the result is wrong, 2 if
 * OpenCL or the system fails.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct device {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	char name[256];
};

static inline void check(cl_int status, const char *call)
{
	if (status == CL_SUCCESS)
		return;
	fprintf(stderr, "%s failed with OpenCL error %d\n", call, status);
	exit(2);
}

static inline void *allocate(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory) {
		fprintf(stderr, "no memory for %zu bytes\n", bytes);
		exit(2);
	}
	return memory;
}

/* The first device of the first platform. */
static inline void device_open(struct device *d)
{
	cl_platform_id platform;
	cl_int status;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL), "clGetDeviceIDs");
	check(clGetDeviceInfo(d->id, CL_DEVICE_NAME, sizeof(d->name), d->name, NULL),
	      "clGetDeviceInfo");
	d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
	check(status, "clCreateContext");
	d->queue = clCreateCommandQueue(d->context, d->id, 0, &status);
	check(status, "clCreateCommandQueue");
}

static inline void device_close(struct device *d)
{
	check(clReleaseCommandQueue(d->queue), "clReleaseCommandQueue");
	check(clReleaseContext(d->context), "clReleaseContext");
}

static inline cl_program build(struct device *d, const char *source)
{
	static char log[16384];
	cl_int status;
	cl_program program = clCreateProgramWithSource(d->context, 1, &source, NULL, &status);

	check(status, "clCreateProgramWithSource");
	status = clBuildProgram(program, 1, &d->id, "", NULL, NULL);
	if (status != CL_SUCCESS) {
		clGetProgramBuildInfo(program, d->id, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
				      NULL);
		fprintf(stderr, "the kernels do not build:\n%s\n", log);
	}
	check(status, "clBuildProgram");
	return program;
}

static inline cl_kernel kernel_of(cl_program program, const char *name)
{
	cl_int status;
	cl_kernel kernel = clCreateKernel(program, name, &status);

	check(status, "clCreateKernel");
	return kernel;
}

/* A buffer; with the bytes at `from`, unless that is NULL. */
static inline cl_mem buffer(struct device *d, cl_mem_flags flags, size_t bytes, void *from)
{
	cl_int status;
	cl_mem made;

	if (from)
		flags |= CL_MEM_COPY_HOST_PTR;
	made = clCreateBuffer(d->context, flags, bytes, from, &status);
	check(status, "clCreateBuffer");
	return made;
}

static inline void argument(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
	check(clSetKernelArg(kernel, index, size, value), "clSetKernelArg");
}

/* Puts a kernel on the queue; `local` may be NULL. */
static inline void run(struct device *d, cl_kernel kernel, cl_uint dimensions,
		       const size_t *global, const size_t *local)
{
	check(clEnqueueNDRangeKernel(d->queue, kernel, dimensions, NULL, global, local, 0, NULL,
				     NULL),
	      "clEnqueueNDRangeKernel");
}

/* Waits for everything before, and reads. */
static inline void read_back(struct device *d, cl_mem from, size_t bytes, void *to)
{
	check(clEnqueueReadBuffer(d->queue, from, CL_TRUE, 0, bytes, to, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
}

/* The largest work-group that the kernel can have, up to `wanted`. */
static inline size_t group_size(struct device *d, cl_kernel kernel, size_t wanted)
{
	size_t most;

	check(clGetKernelWorkGroupInfo(kernel, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof(most),
				       &most, NULL),
	      "clGetKernelWorkGroupInfo");
	return most < wanted ? most : wanted;
}

/* A linear congruential generator (Numerical Recipes' constants): the same
 * numbers on every machine. The low bits are poor: only the high ones are
 * given out. */
static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* FNV-1a, 64 bits. */
static inline uint64_t checksum(const void *bytes, size_t count)
{
	const unsigned char *byte = bytes;
	uint64_t sum = 0xcbf29ce484222325u;

	for (size_t i = 0; i < count; i++)
		sum = (sum ^ byte[i]) * 0x100000001b3u;
	return sum;
}

/* Nanoseconds of the clock that programs measure with. */
static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Takes `--out FILE` out of the arguments; NULL if it is not there. */
static inline const char *output_option(int *argc, char **argv)
{
	const char *path = NULL;

	if (*argc >= 3 && strcmp(argv[1], "--out") == 0) {
		path = argv[2];
		memmove(&argv[1], &argv[3], (size_t)(*argc - 2) * sizeof(*argv));
		*argc -= 2;
	}
	return path;
}

static inline void print_hex(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%02x%s", bytes[i], i % 32 == 31 || i + 1 == count ? "\n" : "");
}

/* Writes the output's bytes where `--out` says. */
static inline void write_output(const char *path, const void *bytes, size_t count)
{
	FILE *file;

	if (!path)
		return;
	if (strcmp(path, "-") == 0) {
		print_hex(bytes, count);
		return;
	}
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
		perror(path);
		exit(2);
	}
}

/* A whole number from `least` to `most`; `otherwise` where there is none. */
static inline long number(int argc, char **argv, int index, long least, long most, long otherwise)
{
	char *end;
	long value;

	if (index >= argc)
		return otherwise;
	value = strtol(argv[index], &end, 10);
	if (*end || end == argv[index] || value < least || value > most) {
		fprintf(stderr, "%s: argument %d is %s and must be from %ld to %ld\n", argv[0],
			index, argv[index], least, most);
		exit(2);
	}
	return value;
}

/* The last line, and the exit code. */
static inline int verdict(const char *name, int is_right, const void *bytes, size_t count)
{
	printf("%s: %s, %zu bytes, checksum %016" PRIx64 "\n", name, is_right ? "PASS" : "FAIL",
	       count, checksum(bytes, count));
	return is_right ? 0 : 1;
}

#endif
