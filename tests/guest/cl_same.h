/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* For programs whose output must be the same in the guest and natively: they
 * print what each call answered. Nothing that differs from run to run, such as
 * an address or a time, and nothing whose size is a pointer's, is printed. */
#ifndef CL_SAME_H
#define CL_SAME_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_0_APIS
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_0_APIS
#define CL_USE_DEPRECATED_OPENCL_2_1_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prints a call and the code that it returned. */
#define SAY(call) printf("%s = %d\n", #call, (int)(call))

/* Prints a call that gives an object, and the code that it wrote to `error`;
 * the object is the value. */
#define MADE(call) made(#call, (void *)(call), &error)

/* Without it the program cannot go on. */
#define NEED(call)                                                             \
	do {                                                                   \
		cl_int got_ = (call);                                          \
		if (got_ != CL_SUCCESS) {                                      \
			printf("%s = %d, the program ends\n", #call, got_);    \
			exit(1);                                               \
		}                                                              \
	} while (0)

/* Prints a query's code, the value's size, and its bytes. */
#define INFO(function, object, name)                                           \
	do {                                                                   \
		unsigned char bytes_[4096];                                    \
		size_t size_ = 0;                                              \
		cl_int got_ = function(object, name, sizeof(bytes_), bytes_,   \
				       &size_);                                \
		told(#function " " #name, got_, bytes_, size_);                \
	} while (0)

/* The same for values as wide as a size_t, one or more. */
#define SIZES(function, object, name)                                          \
	do {                                                                   \
		size_t values_[64], size_ = 0;                                 \
		cl_int got_ = function(object, name, sizeof(values_), values_, \
				       &size_);                                \
		told_sizes(#function " " #name, got_, values_, size_);         \
	} while (0)

/* The same for objects: how many, and whether the first is `wanted`. */
#define HANDLES(function, object, name, wanted)                                \
	do {                                                                   \
		void *values_[64];                                             \
		size_t size_ = 0;                                              \
		cl_int got_ = function(object, name, sizeof(values_), values_, \
				       &size_);                                \
		printf("%s %s = %d: %u, %s\n", #function, #name, (int)got_,    \
		       got_ ? 0u : (unsigned)(size_ / sizeof(void *)),         \
		       got_ || !size_ ? "none"                                 \
		       : values_[0] == (void *)(wanted) ? "the same"           \
							: "another");          \
	} while (0)

static inline void *made(const char *call, void *object, cl_int *error)
{
	printf("%s: %s, %d\n", call, object ? "an object" : "NULL", (int)*error);
	*error = 0;
	return object;
}

static inline void told(const char *what, cl_int code, const unsigned char *bytes,
			size_t size)
{
	printf("%s = %d:", what, (int)code);
	if (code == CL_SUCCESS) {
		printf(" %u bytes", (unsigned)size);
		for (size_t n = 0; n < size && n < 64; n++)
			printf(" %02x", bytes[n]);
	}
	printf("\n");
}

static inline void told_sizes(const char *what, cl_int code,
			      const size_t *values, size_t size)
{
	printf("%s = %d:", what, (int)code);
	for (size_t n = 0; code == CL_SUCCESS && n < size / sizeof(*values); n++)
		printf(" %lu", (unsigned long)values[n]);
	printf("\n");
}

/* FNV-1a of some bytes. */
static inline unsigned checksum(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	unsigned hash = 2166136261u;

	for (size_t n = 0; n < size; n++)
		hash = (hash ^ bytes[n]) * 16777619u;
	return hash;
}

struct gpu {
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_command_queue queue;
};

/* A context and a queue on the first device. */
static inline struct gpu first_gpu(cl_command_queue_properties properties)
{
	struct gpu gpu;
	cl_int error;

	NEED(clGetPlatformIDs(1, &gpu.platform, NULL));
	NEED(clGetDeviceIDs(gpu.platform, CL_DEVICE_TYPE_ALL, 1, &gpu.device,
			    NULL));
	gpu.context = clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &error);
	NEED(error);
	gpu.queue = clCreateCommandQueue(gpu.context, gpu.device, properties,
					 &error);
	NEED(error);
	return gpu;
}

/* A built program. */
static inline cl_program built(struct gpu *gpu, const char *source,
			       const char *options)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(gpu->context, 1, &source,
						       NULL, &error);

	NEED(error);
	NEED(clBuildProgram(program, 1, &gpu->device, options, NULL, NULL));
	return program;
}

static inline void close_gpu(struct gpu *gpu)
{
	NEED(clReleaseCommandQueue(gpu->queue));
	NEED(clReleaseContext(gpu->context));
}

#endif
