/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the OpenCL test programs share: one line a test, and a first device. */
#ifndef CL_TEST_H
#define CL_TEST_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int failures;

/* Says that a condition does not hold, and where; the test goes on. */
#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("# %s:%d: %s\n", __FILE__, __LINE__,            \
			       #condition);                                    \
			failures++;                                            \
		}                                                              \
	} while (0)

/* An OpenCL result that should be another. */
#define EXPECT(call, wanted)                                                   \
	do {                                                                   \
		cl_int got_ = (call);                                          \
		if (got_ != (wanted)) {                                        \
			printf("# %s:%d: %s gave %d, not %d\n", __FILE__,      \
			       __LINE__, #call, got_, (int)(wanted));          \
			failures++;                                            \
		}                                                              \
	} while (0)

/* What the rest needs: without it the program ends. */
#define NEED(call)                                                             \
	do {                                                                   \
		cl_int got_ = (call);                                          \
		if (got_ != CL_SUCCESS) {                                      \
			printf("not ok: %s:%d: %s gave %d\n", __FILE__,        \
			       __LINE__, #call, got_);                         \
			exit(1);                                               \
		}                                                              \
	} while (0)

/* Nanoseconds of the clock that does not jump. */
static inline long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

struct gpu {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
};

static inline void run_test(const char *name, void (*test)(struct gpu *),
			    struct gpu *gpu)
{
	int before = failures;

	test(gpu);
	printf("%s %s\n", failures == before ? "ok" : "not ok", name);
	fflush(stdout);
}

static inline struct gpu first_gpu(void)
{
	struct gpu gpu;
	cl_int error;

	NEED(clGetPlatformIDs(1, &gpu.platform, NULL));
	NEED(clGetDeviceIDs(gpu.platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device,
			    NULL));
	gpu.context = clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &error);
	NEED(error);
	gpu.queue = clCreateCommandQueue(gpu.context, gpu.device,
					 CL_QUEUE_PROFILING_ENABLE, &error);
	NEED(error);
	return gpu;
}

static inline cl_program build(struct gpu *gpu, const char *source)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(gpu->context, 1, &source,
						       NULL, &error);
	NEED(error);
	NEED(clBuildProgram(program, 1, &gpu->device, "", NULL, NULL));
	return program;
}

static inline cl_kernel kernel_of(cl_program program, const char *name)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(program, name, &error);

	NEED(error);
	return kernel;
}

static inline cl_mem buffer_of(struct gpu *gpu, size_t size)
{
	cl_int error;
	cl_mem buffer = clCreateBuffer(gpu->context, CL_MEM_READ_WRITE, size,
				       NULL, &error);
	NEED(error);
	return buffer;
}

#endif
